# lib.sh - checks for the command line.  Source it; end the script with `finish`.
#   ok NAME COMMAND...          the command succeeds
#   refuses NAME STATUS TEXT COMMAND...   it exits with STATUS and says TEXT on stderr, in one line
set -u
METE=${METE:-build/mete}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED $1: $2" >&2; }
skip() { skipped=$((skipped + 1)); echo "skipped: $1" >&2; }
ok() {
    local name=$1
    shift
    if "$@" >"$tmp/out" 2>"$tmp/err"; then pass; else bad "$name" "exit $?: $(cat "$tmp/err")"; fi
}
refuses() {
    local name=$1 status=$2 text=$3 rc
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    if [ $rc -ne "$status" ]; then
        bad "$name" "exit $rc, not $status: $(cat "$tmp/err")"
    elif ! grep -qF -- "$text" "$tmp/err"; then
        bad "$name" "'$text' is not in: $(cat "$tmp/err")"
    elif [ "$(wc -l <"$tmp/err")" -gt 1 ]; then
        bad "$name" "more than one line: $(cat "$tmp/err")"
    else
        pass
    fi
}
same() { # NAME EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then pass; else bad "$1" "is '$3', not '$2'"; fi
}
lasting() { # SECONDS COMMAND...: how many training steps it takes so long for on this machine
    local seconds=$1 begun took
    shift
    begun=$(date +%s%N)
    "$@" --set train.steps=300 >/dev/null 2>&1
    took=$((($(date +%s%N) - begun) / 1000000))
    echo $((300000 * seconds / (took > 0 ? took : 1) + 50))
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    exit $((failed > 0))
}
