# Identity is content: spellings of one run are one run; another data set, split or price file is
# another run; and what belongs to another run is refused by a sentence.
. "$(dirname "$0")/lib.sh"
export METE_DATA=$tmp/data
old=$PWD/tests/old
METE=$(realpath "$METE")
awk 'BEGIN { FS = OFS = "," } NR > 1 { $4 = -$4 } 1' "$old/cups.csv.txt" >"$tmp/other.csv" # other weights
cp "$old/cups.csv.txt" "$tmp/cups.csv"
import() { "$METE" data import table "$tmp/$1.csv" --label cup --force -o "$tmp/data/cups" 2>/dev/null; }
import cups || { skip "no tables"; finish; }
small="--net mlp --set net.hidden=1 --set net.units=4 --set meta_batch=4 --set val_tasks=6 --set test.tasks=8 --set test.shots=1,2"
train() { "$METE" train $small --threads 1 "$@"; }

# ---- one run, however its settings are spelled ----
folder_of() { (cd "$tmp" && train "$@" --set train.steps=2 2>&1 >/dev/null) | grep -o 'runs/.*'; }
# The same folder, and so the same id.
spelled_alike() { # NAME WORDS... -- WORDS...
    local name=$1 a=()
    shift
    while [ "$1" != -- ]; do a+=("$1"); shift; done
    shift
    local one other
    one=$(folder_of "${a[@]}") other=$(folder_of "$@")
    if [ -n "$one" ]; then same "$name" "$one" "$other"; else bad "$name" "no folder"; fi
}
spelled_alike "a budget" cups:3w-1s@1000 --method protonet -- cups:3w-1s@1K --method protonet
spelled_alike "a budget with a fraction" cups:3w-1s@100 --method protonet -- cups:3w-1s@0.1K --method protonet
spelled_alike "ways and shots" cups:3w-1s@100 -- cups:03w-01s@0100
spelled_alike "a generator's settings" glyphs:classes=60,drawers=4:3w-1s@60 --method protonet -- \
    glyphs:drawers=04,classes=060:3w-1s@60 --method protonet
spelled_alike "a generator's defaults" glyphs:drawers=4,classes=60,seed=0:3w-1s@60 --method protonet -- \
    glyphs:drawers=4,classes=60:3w-1s@60 --method protonet
spelled_alike "test shots" cups:3w-1s@100 -- cups:3w-1s@100 --set test.shots=01,2
spelled_alike "test shots in another order" cups:3w-1s@100 -- cups:3w-1s@100 --set test.shots=2,1
spelled_alike "a price" cups:3w-1s@100 --set budget.cost=1 -- cups:3w-1s@100 --set budget.cost=1.000
spelled_alike "counts of a split" cups:3w-1s@100 --set data.split=18/4/8 -- cups:3w-1s@100 --set data.split=018/4/08
refuses "shots twice" 2 "test.shots" train cups:3w-1s@100 --set test.shots=1,1 -o "$tmp/twice"
refuses "shots twice in two spellings" 2 "twice" train cups:3w-1s@100 --set test.shots=1,05,5 -o "$tmp/twice"
ok "and nothing was trained" test ! -e "$tmp/twice"

# ---- a checkpoint of another run ----
killed() { # FOLDER WORDS...: trains until there is a checkpoint, then is killed
    local folder=$1
    shift
    "$METE" train "$@" $small --threads 1 --set train.steps=20000 --set validate_every=50 -o "$folder" >/dev/null 2>&1 &
    local pid=$!
    for ((wait = 0; wait < 500; wait++)); do
        [ -f "$folder/checkpoint.safetensors" ] && break
        sleep 0.01
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    ok "a checkpoint in ${folder##*/}" test -f "$folder/checkpoint.safetensors"
}
resumed() { # FOLDER WORDS...
    local folder=$1
    shift
    train "$@" --set train.steps=20000 --set validate_every=50 -o "$folder"
}
killed "$tmp/k" cups:3w-1s@60 --method reptile
cp -r "$tmp/k" "$tmp/kept"
refuses "another method" 2 "method is reptile there and fedavg here" resumed "$tmp/k" cups:3w-1s@60 --method fedavg
refuses "another seed" 2 "seed is 1 there and 2 here" resumed "$tmp/k" cups:3w-1s@60 --method reptile --seed 2
refuses "another benchmark" 2 "bench is cups:3w-1s@60 there and cups:3w-1s@66 here" resumed "$tmp/k" cups:3w-1s@66 --method reptile
refuses "another setting" 2 "inner.lr is" resumed "$tmp/k" cups:3w-1s@60 --method reptile --set inner.lr=0.25
refuses "and says what to do" 2 "give another folder" resumed "$tmp/k" cups:3w-1s@60 --method reptile --seed 3
ok "the checkpoint is left alone" diff -r "$tmp/k" "$tmp/kept"
import other
refuses "another data set of the same name" 2 "the content of cups" resumed "$tmp/k" cups:3w-1s@60 --method reptile
ok "which leaves the checkpoint alone, too" diff -r "$tmp/k" "$tmp/kept"
import cups
ok "the very run goes on" resumed "$tmp/k" cups:3w-1s@60 --method reptile
ok "undisturbed" resumed "$tmp/whole" cups:3w-1s@60 --method reptile
ok "to the same bytes" cmp "$tmp/k/last.safetensors" "$tmp/whole/last.safetensors"

# ---- a folder in which another run has ended ----
cp -r "$tmp/k" "$tmp/kept.ended"
refuses "over another seed" 2 "holds the models of another run: seed is 1 there and 2 here" \
    resumed "$tmp/k" cups:3w-1s@60 --method reptile --seed 2
refuses "over another method" 2 "method is reptile there and fedavg here; give another folder" \
    resumed "$tmp/k" cups:3w-1s@60 --method fedavg
import other
refuses "over another data set of the same name" 2 "the content of cups is not what it was" \
    resumed "$tmp/k" cups:3w-1s@60 --method reptile
import cups
ok "what ended there is left alone" diff -r "$tmp/k" "$tmp/kept.ended"
ok "the very run may be made again" resumed "$tmp/k" cups:3w-1s@60 --method reptile
ok "with the same model" cmp "$tmp/k/best.safetensors" "$tmp/kept.ended/best.safetensors"

# the content of a file that a setting names
mkdir "$tmp/split"
part() { for ((c = $1; c <= $2; c++)); do printf 'cup%02d\n' $c; done; }
splits() { part 0 $(($1 - 1)) >"$tmp/split/train.txt"; part "$1" 21 >"$tmp/split/val.txt"; part 22 29 >"$tmp/split/test.txt"; }
prices() { for ((c = 0; c < 30; c++)); do printf 'cup%02d,%s\n' $c "$1"; done >"$tmp/prices"; }
splits 18
prices 1
filed() { resumed "$1" cups:3w-1s@60 --method reptile --set data.split="$tmp/split" --set budget.cost=class:"$tmp/prices"; }
killed "$tmp/f" cups:3w-1s@60 --method reptile --set data.split="$tmp/split" --set budget.cost=class:"$tmp/prices"
splits 16
refuses "another split in the same folder" 2 "data.split" filed "$tmp/f"
splits 18
prices 2
refuses "other prices in the same file" 2 "budget.cost" filed "$tmp/f"
prices 1
ok "the files as they were" filed "$tmp/f"
ok "to the bytes of an undisturbed run" filed "$tmp/g"
ok "with files" cmp "$tmp/f/last.safetensors" "$tmp/g/last.safetensors"

# ---- cells of a database ----
if ! command -v sqlite3 >/dev/null || "$METE" run --help 2>&1 | grep -q 'needs SQLite'; then skip "no SQLite"; finish; fi
suite() { # BENCH SEEDS [SETTING...]
    local bench=$1 seeds=$2
    shift 2
    printf '%s\n' "name: s" "base:" "  method: protonet" "  net: mlp" "  net.hidden: 1" "  net.units: 4" "  train.steps: 2" \
        "  train.meta_batch: 4" "  train.val_tasks: 6" "  test.tasks: 8" "  test.shots: \"1,2\"" "${@/#/  }" \
        "axes:" "  bench: [\"$bench\"]" "seeds: $seeds" \
        "tables:" "  - {title: T, rows: [dataset, test_shots], columns: [method]}" >"$tmp/suite.yaml"
}
query() { sqlite3 "$tmp/r.db" "$1"; }
runs() { ok "$1" "$METE" run "$tmp/suite.yaml" --db "$tmp/r.db" --threads 1; }
suite cups:3w-1s@100 2
runs "two seeds"
suite cups:3w-1s@0.1K 2
runs "the same two, spelled otherwise"
same "are the same runs" "2|1" "$(query 'SELECT count(*), count(DISTINCT variant) FROM runs')"
import other
suite cups:3w-1s@100 3
runs "three seeds of another data set of that name"
same "are three more runs" "5|2" "$(query 'SELECT count(*), count(DISTINCT variant) FROM runs')"
same "in a cell of their own" "2 3" "$(query "SELECT seeds FROM accuracy_best WHERE model = 'best' AND test_shots = 1 ORDER BY seeds" | xargs)"
same "never compared in pairs with the others" 0 "$(query "SELECT count(*) FROM task_pairs p JOIN runs a ON a.run = p.run JOIN runs b ON b.run = p.other_run WHERE a.variant <> b.variant")"
same "nor taken for the same tasks" 4 "$(query "SELECT count(DISTINCT tasks_hash) FROM tests")"
ok "the tables of the suite" "$METE" results "$tmp/r.db"
same "show the one at hand, by a name of its own" 1 "$(grep -c "^cups#" "$tmp/out")"
import cups
suite cups:3w-1s@100 3
runs "the first data set again"
same "goes to the first cell" "3 3" "$(query "SELECT seeds FROM accuracy_best WHERE model = 'best' AND test_shots = 1 ORDER BY seeds" | xargs)"

# an array changed in place is another data set, however its meta.json reads
cp -r "$tmp/data/cups" "$tmp/data/mended"
suite mended:3w-1s@100 1
runs "before a change"
printf '\x42' | dd of="$tmp/data/mended/x.npy" bs=1 seek=3967 conv=notrunc 2>/dev/null # the last number's sign and exponent
runs "after it"
same "is another run" "2|2" "$(query "SELECT count(*), count(DISTINCT variant) FROM runs WHERE bench LIKE 'mended%'")"

# the content of files is part of the id as well
splits 18
suite cups:3w-1s@100 1 "data.split: $tmp/split"
runs "a split"
splits 16
runs "another in its place"
same "are two runs" 2 "$(query "SELECT count(*) FROM runs JOIN settings USING (run) WHERE key = 'data.split' AND value LIKE '%/split'")"
prices 1
suite cups:3w-1s@100 1 "budget.cost: class:$tmp/prices"
runs "prices"
prices 2
runs "others in their place"
same "two runs as well" 2 "$(query "SELECT count(*) FROM runs JOIN settings USING (run) WHERE key = 'budget.cost' AND value LIKE '%/prices'")"
finish
