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

small="--net mlp --set net.hidden=4 --set train.steps=4 --set train.meta_batch=2 --set train.val_tasks=4 --threads 1"
export METE_DATA=$tmp
for i in $(seq 240); do echo "$((i * 7 % 11)),$((i * 5 % 13)),k$((i % 24))"; done | sed '1i a,b,class' >"$tmp/many.csv"
ok "a table" "$METE" data import table "$tmp/many.csv" --label class -o "$tmp/many"

# names of folders are used whole or refused
long=$tmp
for _ in $(seq 8); do long=$long/$(printf 'x%.0s' $(seq 200)); done
ok "a folder with a long name" "$METE" train many:2w-1s@40 $small --set test.tasks=4 -o "$long"
ok "has its models" test -e "$long/best.safetensors"
for _ in $(seq 20); do long=$long/$(printf 'y%.0s' $(seq 200)); done
refuses "a longer one" 2 "at most 4000 bytes" "$METE" train many:2w-1s@40 $small --set test.tasks=4 -o "$long"

# a model that is none
ok "a model" "$METE" train many:2w-1s@40 $small --set test.tasks=1 -o "$tmp/model" --json
same "an interval of one task is no number" 4 "$(grep -c '"half": null' "$tmp/out")"
same "and no JSON has nan" 0 "$(grep -ci 'nan' "$tmp/out")"
cp "$tmp/model/best.safetensors" "$tmp/nan.safetensors"
printf '\0\0\300\177' | dd of="$tmp/nan.safetensors" bs=1 conv=notrunc seek=$(($(stat -c %s "$tmp/nan.safetensors") - 4)) 2>/dev/null
refuses "weights that are no numbers" 1 "not finite" "$METE" eval "$tmp/nan.safetensors"
refuses "more fresh tasks than users" 2 "too few" "$METE" stability glyphs-users:users=20:1s@200 --fresh 64

# what a folder of images holds that is no image is named, not dropped
mkdir -p "$tmp/photos/a" "$tmp/photos/b"
ln -s nowhere.png "$tmp/photos/a/gone.png"
refuses "a link to nothing" 1 "gone.png is a link to nothing" "$METE" data import folder "$tmp/photos" -o "$tmp/no"
rm "$tmp/photos/a/gone.png"
mkfifo "$tmp/photos/a/pipe.png"
refuses "a pipe" 1 "pipe.png is no file that can be read" "$METE" data import folder "$tmp/photos" -o "$tmp/no"

# what an array says of itself is read before the rest of it, and memory is asked for as data arrives
python3 - "$tmp" <<'PY'
import sys, zipfile
def npy(descr, shape):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (117 - len(text)) + "\n"
    return b"\x93NUMPY\x01\x00" + bytes([118, 0]) + text.encode()
def make(name, header, zeros):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.npz", "w", zipfile.ZIP_DEFLATED) as z:
        with z.open("x.npy", "w") as f:
            f.write(header)
            for _ in range(zeros):
                f.write(bytes(1 << 20))
make("bomb", npy("<c8", (40000000, 1)), 400)
make("liar", npy("|u1", (1000000, 100, 100)), 1)
make("flat", npy("|u1", (400 << 20,)), 400)
PY
(
    ulimit -v 400000
    "$METE" data import arrays "$tmp/bomb.npz" -o "$tmp/no" 2>"$tmp/bomb"
    "$METE" data import arrays "$tmp/liar.npz" -o "$tmp/no" 2>"$tmp/liar"
    "$METE" data import arrays "$tmp/flat.npz" -o "$tmp/no" 2>"$tmp/flat"
)
if grep -q "needs libarchive" "$tmp/bomb"; then
    skip "built without libarchive"
elif grep -q AddressSanitizer "$tmp/bomb"; then
    skip "no limits of memory under a sanitizer"
else
    same "an array of another type is not unpacked" 1 "$(grep -c "'<c8' are not read" "$tmp/bomb")"
    same "an array of another shape is not unpacked" 1 "$(grep -c 'cannot be items' "$tmp/flat")"
    same "an array with less data than it says asks for no more" 1 "$(grep -c 'needs 10000000000 bytes of data, the file has' "$tmp/liar")"
fi
{ echo "name: x"; echo "base:"; seq 5000 | sed 's/.*/  k&: 1/'; } >"$tmp/keys.yaml"
if "$METE" run "$tmp/keys.yaml" --db "$tmp/no.db" 2>&1 | grep -q "needs lib"; then
    skip "built without libyaml"
else
    refuses "a map of too many keys" 2 "more than 4096 keys" "$METE" run "$tmp/keys.yaml" --db "$tmp/no.db"
    long_name() { # LETTERS: a suite about a dataset with a name of so many
        printf 'name: x\naxes:\n  method: [maml]\n  bench: ["'
        head -c "$1" /dev/zero | tr '\0' n
        printf ':2w-1s@40"]\n'
    }
    long_name 6000000 >"$tmp/name.yaml"
    refuses "a dataset's name of 6 MB" 1 "larger than the 1048576 bytes" "$METE" run "$tmp/name.yaml" --db "$tmp/no.db"
    long_name 900000 >"$tmp/name.yaml"
    refuses "a dataset's name of 900 KB" 2 "at most 511 letters" "$METE" run "$tmp/name.yaml" --db "$tmp/no.db"
fi

if "$METE" run tests/suites/tiny.yaml --db "$tmp/no.db" --only method=none 2>&1 | grep -q "needs"; then
    skip "built without SQLite or libyaml"
    finish
fi
cat >"$tmp/suite.yaml" <<'YAML'
name: robust
base: {net: mlp, net.hidden: "4", train.steps: 4, train.meta_batch: 2, train.val_tasks: 4, test.tasks: 4}
axes:
  bench: ["many:2w-1s@40"]
  method: [maml, protonet]
YAML
# another machine has claimed a run and fell silent 57 s ago; it is waited for, and then not
"$METE" run "$tmp/suite.yaml" --db "$tmp/lease.db" --only method=maml >/dev/null 2>&1
if command -v sqlite3 >/dev/null; then
    sqlite3 "$tmp/lease.db" "UPDATE runs SET status = 'running' WHERE method = 'protonet';
        INSERT INTO claims SELECT run, 'elsewhere', 1, 1, 1, unixepoch('now') - 57 FROM runs WHERE method = 'protonet'"
    ok "a run that another machine has" "$METE" run "$tmp/suite.yaml" --db "$tmp/lease.db"
    same "is done when the command ends" "done done" "$(sqlite3 "$tmp/lease.db" "SELECT group_concat(status, ' ') FROM runs")"
else
    skip "no sqlite3"
fi

# faults at every mmap of a run: want of memory fails no run for ever
if [ -x "$(dirname "$METE")/mete_faults" ]; then
    BUILD=$(cd "$(dirname "$METE")" && pwd) tests/faults all run mmap >"$tmp/out" 2>&1
    same "want of memory is not for ever" "0 failed, 0 skipped" "$(tail -n 1 "$tmp/out" | cut -d' ' -f3-)"
else
    skip "no mete_faults in this build"
fi
finish
