# Spellings of one run are one run.
. "$(dirname "$0")/lib.sh"
export METE_DATA=$tmp/data
old=$PWD/tests/old
METE=$(realpath "$METE")
cp "$old/cups.csv.txt" "$tmp/cups.csv"
import() { "$METE" data import table "$tmp/$1.csv" --label cup --force -o "$tmp/data/cups" 2>/dev/null; }
import cups || { skip "no tables"; finish; }
small="--net mlp --set net.hidden=1 --set net.units=4 --set meta_batch=4 --set val_tasks=6 --set test.tasks=8 --set test.shots=1,2"
train() { "$METE" train "$@" $small --threads 1; }

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

finish
