# Functions of scripts that work in steps, such as apps/quickstart.sh. A script sources this file and sets `log`.

step() {  # step TEXT...: begins a step; TEXT is its headline
  if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

show() {  # show COMMAND...: prints the command as one would type it, then runs it
  printf '$ %s\n' "$*"
  "$@"
}

logged() {  # logged COMMAND...: the same, with what the command prints in the file $log; ends the script if it fails
  printf '$ %s\n' "$*"
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    echo "This failed: $* (everything that it printed is in $log)" >&2
    exit 1
  fi
}
