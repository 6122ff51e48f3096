#!/bin/sh
# Shows what Amber does, on the recorded sessions in examples/. Needs `amber` in the PATH (make demo sees to that); the
# memory is made in a temporary folder and removed at the end.
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d "${TMPDIR:-/tmp}/amber-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

AMBER_DB=$folder/atlas.db
export AMBER_DB
unset AMBER_SPACE AMBER_ACTOR || true

say() { printf '\n# %s\n' "$*"; }

# Writes a command as one would type it, then runs it.
run() {
    printf '\n$ amber'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./:=+-]* | '') printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    amber "$@"
}

say "Six recorded sessions of two coding agents come in; a second time there is nothing new."
run import examples
run import examples

say "What was said comes back verbatim, whatever the language. No model is asked, nothing leaves the computer."
run recall --limit 2 --type prompt "what is the rate limit of the fare API?"
run recall --limit 1 "may tests use mocks for the database?"
run recall --limit 1 "why did we choose advisory locks for the scheduler?"
run recall --limit 1 "em que dia saem os deploys?"
run recall --limit 1 "京都の運賃"

say "A passage names its place: a session and the number of a message. What was said around it:"
run sessions
run show 9bd5f3dd:8 -C 1

say "A fact that changes: the old value stays, dated. Said again, it is a mention and no second copy."
run put --sender ana --key city Lisbon
before=$(amber stats --json | sed 's/.*"position": *\([0-9]*\).*/\1/')
run put --sender ana --key city lisbon
run put --sender ana --key city --reason "moved house" Porto
run facts --sender ana --key city --all

say "Every change is in the log, and can be taken back."
run log --limit 3
run undo
run facts --sender ana
run redo
run at "$before" --sender ana
run diff "$before"

run stats
run verify
