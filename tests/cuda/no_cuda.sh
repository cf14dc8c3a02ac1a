#!/bin/bash
# no_cuda.sh FILE...: checks that the files of a build without CUDA have no symbols of CUDA and need no library of it.
set -euo pipefail
status=0
for file in "$@"; do
  [ -n "$file" ] || continue
  symbols=$(nm -C "$file" 2>/dev/null)
  if [ -z "$symbols" ]; then
    echo "$file: nm finds no symbols"
    status=1
  elif found=$(grep -iE 'cuda|cublas' <<<"$symbols"); then
    printf '%s: symbols of CUDA\n%s\n' "$file" "$found"
    status=1
  fi
  if readelf -d "$file" 2>/dev/null | grep -iE 'NEEDED.*(cuda|cublas)'; then status=1; fi
done
exit $status
