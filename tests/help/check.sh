#!/bin/bash
# check.sh man|bash|zsh|fish LINFORMER LINFORMER_CONVERT WORK
# Writes man pages or completions with the programs, and reads them with man or the shell that they are for. The exit
# code is 77 if man or the shell is missing.
set -euo pipefail
what=$1 linformer=$2 convert=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
fail() {
  echo "$*"
  exit 1
}
need() { command -v "$1" >/dev/null || { echo "skipped: $1 is not installed"; exit 77; }; }

case $what in
  man)
    command -v man >/dev/null || command -v groff >/dev/null || need mandoc
    "$linformer" --help-format man >"$work/linformer.1"
    "$convert" --help-format man >"$work/linformer-convert.1"
    for command in classify encode embed fill-mask tag answer rerank search perplexity tokenize inspect compare spectrum bench; do
      "$linformer" $command --help-format man >"$work/linformer-$command.1"
    done
    for page in "$work"/*.1; do
      name=$(basename "$page" .1)
      if command -v groff >/dev/null; then
        warnings=$(groff -man -Tascii -ww -z "$page" 2>&1)
        [ -z "$warnings" ] || fail "groff: $warnings"
      fi
      if command -v mandoc >/dev/null; then
        # The pages have no date on purpose, so that every build writes the same pages.
        warnings=$(mandoc -T lint -W warning "$page" 2>&1 | grep -v "missing date" || true)
        [ -z "$warnings" ] || fail "mandoc: $warnings"
      fi
      if command -v man >/dev/null && man -l "$page" >/dev/null 2>&1; then
        warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >"$work/$name.txt")
        [ -z "$warnings" ] || fail "man: $warnings"
        grep -q "${name//-/.}" "$work/$name.txt" || fail "man shows nothing of $name"
      fi
      echo "$name: read"
    done
    ;;

  bash)
    mkdir "$work/completions"
    "$linformer" --help-format bash >"$work/completions/linformer"
    "$convert" --help-format bash >"$work/completions/linformer-convert"
    bash -n "$work/completions/linformer"
    bash -n "$work/completions/linformer-convert"
    cd "$work"
    touch "a model.lnfr" texts.csv
    . "$work/completions/linformer"
    # completed FUNCTION WORDS... sets `offered` to the completions of the last word, each between two spaces.
    completed() {
      local function=$1
      shift
      COMP_WORDS=("$@")
      COMP_CWORD=$(($# - 1))
      "$function" || true  # its exit status has no meaning
      offered=" ${COMPREPLY[*]} "
    }
    offers() { case $offered in *" $1 "*) ;; *) fail "${COMP_WORDS[*]} offers '$offered' without $1" ;; esac }
    refuses() { case $offered in *" $1 "*) fail "${COMP_WORDS[*]} offers $1" ;; esac }
    completed _linformer linformer cl
    [ "$offered" = " classify " ] || fail "cl became $offered"
    completed _linformer linformer ''
    for name in classify convert help version --help-all; do offers $name; done
    completed _linformer linformer classify --to
    [ "$offered" = " --top-k " ] || fail "--to became $offered"
    completed _linformer linformer fill-mask model.lnfr --
    offers --table
    refuses --what
    completed _linformer linformer classify m.lnfr --format ''
    for name in text jsonl csv tsv; do offers $name; done
    completed _linformer linformer classify m.lnfr --format = t
    offers text
    offers tsv
    refuses csv
    completed _linformer linformer classify m.lnfr --format =
    offers csv
    completed _linformer linformer classify ''
    [ "${#COMPREPLY[@]}" -ge 2 ] || fail "no files: $offered"
    offers "a model.lnfr"
    completed _linformer linformer embed a.lnfr --input te
    [ "$offered" = " texts.csv " ] || fail "--input te became $offered"
    completed _linformer linformer embed a.lnfr --batch ''
    [ "$offered" = "  " ] || fail "--batch offers $offered"
    completed _linformer linformer help cl
    [ "$offered" = " classify " ] || fail "help cl became $offered"
    completed _linformer linformer convert --list-d
    [ "$offered" = " --list-dialects " ] || fail "convert --list-d became $offered"
    . "$work/completions/linformer-convert"
    completed _linformer_convert linformer-convert x.pt --tok
    [ "$offered" = " --tokenizer " ] || fail "--tok became $offered"
    complete -p linformer linformer-convert
    ;;

  zsh)
    need zsh
    "$linformer" --help-format zsh >"$work/_linformer"
    "$convert" --help-format zsh >"$work/_linformer-convert"
    zsh -n "$work/_linformer"
    zsh -n "$work/_linformer-convert"
    zsh -f -c "fpath=($work \$fpath); autoload -Uz compinit; compinit -u -D; [[ \$_comps[linformer] = _linformer ]]"
    ;;

  fish)
    need fish
    "$linformer" --help-format fish >"$work/linformer.fish"
    "$convert" --help-format fish >"$work/linformer-convert.fish"
    fish --no-execute "$work/linformer.fish"
    fish --no-execute "$work/linformer-convert.fish"
    offered=$(HOME=$work fish --no-config -c "source $work/linformer.fish; complete -C 'linformer classify --to'")
    case $offered in --top-k*) ;; *) fail "--to became $offered" ;; esac
    offered=$(HOME=$work fish --no-config -c "source $work/linformer.fish; complete -C 'linformer cl'")
    case $offered in classify*) ;; *) fail "cl became $offered" ;; esac
    ;;

  *) fail "unknown check '$what'" ;;
esac
