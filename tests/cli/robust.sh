# What goes wrong around mete: full disks, names that are too long, other machines that fell silent.
. "$(dirname "$0")/lib.sh"

# standard output that cannot be written, for every kind of command
if [ -c /dev/full ]; then
    full() {
        local name=$1
        shift
        "$@" >/dev/full 2>"$tmp/err"
        same "$name fails on a full disk" 1 $?
        same "$name says so" 1 "$(grep -c '^mete: cannot write the output: No space left on device$' "$tmp/err")"
    }
    full list "$METE" list
    full show "$METE" show maml
    full help "$METE" --help
    full "help of a command" "$METE" train --help
    full version "$METE" version
    full "help of another" "$METE" bound --help
    full tasks "$METE" tasks glyphs:classes=60:5w-1s --n 2
    full "the settings of a run" "$METE" train glyphs:classes=60:5w-1s@500 --print-config
else
    skip "no /dev/full"
fi
"$METE" list >&- 2>"$tmp/err"
same "a closed output" 1 $?
printf 'a,b,k\n1,2,x\n3,4,y\n' >"$tmp/rows.csv"
"$METE" data import table "$tmp/rows.csv" --label k -o "$tmp/rows" >&- 2>"$tmp/err"
ok "no file takes the place of a closed output" "$METE" data info "$tmp/rows" --check

finish
