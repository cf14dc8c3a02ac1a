#!/bin/sh
# check.sh EXPECTED... -- LIBRARY PROGRAM...
# Checks that the programs have the protections which make faults harder to exploit. LIBRARY is one of the archives that
# the programs are linked from. EXPECTED names protections: relro, stack, fortify, cet.
command -v readelf >/dev/null || { echo "readelf is missing"; exit 77; }
expected=
while [ "$1" != -- ]; do expected="$expected $1"; shift; done
library=$2
shift 2
faults=0
# says WHAT NAME PATTERN COMMAND...: if the command's output matches PATTERN, NAME has WHAT; otherwise that is a fault.
says() {
  what=$1 name=$2 pattern=$3
  shift 3
  if "$@" 2>/dev/null | grep -Eq "$pattern"; then
    echo "$name: $what"
  else
    echo "$name: $what is MISSING"
    faults=$((faults + 1))
  fi
}
for program in "$@"; do
  name=$(basename "$program")
  says "position-independent" "$name" 'Type: *DYN' readelf -hW "$program"
  for what in $expected; do
    case $what in
      relro)
        says "read-only relocations" "$name" GNU_RELRO readelf -lW "$program"
        says "bound at the start" "$name" 'BIND_NOW|FLAGS_1.* NOW' readelf -dW "$program"
        ;;
      stack) says "stack protector" "$name" '__stack_chk_fail' readelf --dyn-syms -W "$program" ;;
      fortify) says "FORTIFY" "$name" '__(read|memcpy|vfprintf|printf|fprintf|snprintf|memset)_chk' \
        readelf --dyn-syms -W "$program" ;;
      cet)
        if readelf -nW "$program" | grep -q 'x86 feature: IBT, SHSTK'; then
          echo "$name: noted for IBT and shadow stacks"
        else
          # The linker adds the note only if every object has it, and objects of the C library may lack it.
          echo "$name: no note for IBT and shadow stacks, which not all of its objects have"
        fi
        ;;
    esac
  done
done
case $expected in
  *cet*) says "compiled for IBT and shadow stacks" "$(basename "$library")" 'x86 feature: IBT, SHSTK' \
    readelf -nW "$library" ;;
esac
exit $((faults > 0))
