# Functions for scripts that work in steps, such as apps/quickstart.sh. A script sources this file and sets `log` to the
# file for the output of logged commands.

step() {  # step TEXT...: begins a step; TEXT is its headline
  if [ -t 1 ]; then printf '\n\033[1m%s\033[0m\n' "$*"; else printf '\n%s\n' "$*"; fi
}

show() {  # show COMMAND...: prints the command line, then runs it
  printf '$ %s\n' "$*"
  "$@"
}

logged() {  # logged COMMAND...: as show, but appends the command's output to $log, and ends the script if it fails
  printf '$ %s\n' "$*"
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    echo "This failed: $* (everything that it printed is in $log)" >&2
    exit 1
  fi
}
