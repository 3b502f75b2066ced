# What an older mete left (tests/old, made by the make.sh there) opens, means the same, and goes on.
. "$(dirname "$0")/lib.sh"
METE=$(realpath "$METE")
repository=$PWD
old=$PWD/tests/old
cp -r "$old" "$tmp/old"
cd "$tmp/old" || exit 1
export METE_DATA=$tmp/old/data
small="--net mlp --set net.hidden=1 --set net.units=4 --set train.meta_batch=4 --set val_tasks=8 --set test.tasks=12 --set test.shots=1,2"

# a data set, tasks and a model
ok "a data set" "$METE" data info cups --check
ok "a model" "$METE" eval model.safetensors
same "at both its shots" "1 2" "$(awk 'NR > 1 { print $2 }' "$tmp/out" | xargs)"
ok "tasks" "$METE" eval model.safetensors --tasks tasks.json

# checkpoints: they do not say whose they are, so they are taken for what is asked
resumes() { # FOLDER WORDS...
    local folder=$1
    shift
    "$METE" train "$@" $small --set train.steps=20000 --set validate_every=50 --threads 1 -o "$folder"
}
[ -f killed/collection.safetensors ] && [ -f killed-classical/checkpoint.safetensors ] || bad "the corpus" "incomplete"
ok "a checkpoint" resumes killed cups:3w-1s@60 --method reptile
same "with a warning" 1 "$(grep -c 'older mete' "$tmp/err")"
same "goes on behind its first validation" 50 "$(head -n 1 killed/metrics.jsonl | grep -o '"step": [0-9]*' | cut -d' ' -f2)"
same "with its ten tasks" 60 "$(grep -cE ',(support|query)$' killed/ledger.csv)"
refuses "another setting than there was then" 2 "method.absent is origin there and left-out here" \
    resumes killed-classical cups:3w-1s --method protonet
ok "a classical one" resumes killed-classical cups:3w-1s --method protonet --set method.absent=origin
same "goes on, too" 50 "$(head -n 1 killed-classical/metrics.jsonl | grep -o '"step": [0-9]*' | cut -d' ' -f2)"

# a database
if ! command -v sqlite3 >/dev/null || ! "$METE" results results.db >"$tmp/table" 2>/dev/null; then skip "no SQLite"; finish; fi
query() { sqlite3 results.db "$1"; }
same "its table" 1 "$(grep -c '^cups  *3w-1s  *60  *.*89\.6 ' "$tmp/table")"
query "SELECT id, variant, control FROM runs WHERE bench = 'cups:3w-1s@60' ORDER BY run" >"$tmp/before"
query "SELECT run, started FROM times ORDER BY run" >"$tmp/started"
again() { "$METE" run old.yaml --db results.db --threads 1 "$@"; }
ok "its suite" again
same "has nothing to do" "6|6" "$(query "SELECT count(*), sum(status = 'done') FROM runs")"
ok "and repeats nothing" diff "$tmp/started" <(query "SELECT run, started FROM times ORDER BY run")
ok "ids are what they were" diff "$tmp/before" <(query "SELECT id, variant, control FROM runs WHERE bench = 'cups:3w-1s@60' ORDER BY run")
same "other spellings are today's" "cups:3w-1s@100 cups:3w-1s@60 glyphs:classes=60,drawers=4:3w-1s@1K" \
    "$(query "SELECT DISTINCT bench FROM runs ORDER BY bench" | xargs)"
"$METE" results results.db >"$tmp/after"
ok "the table is the same" diff <(sed 's/=0*60/=60/; s/  */ /g' "$tmp/table") <(sed 's/  */ /g' "$tmp/after")
ok "a third seed" again --seeds 3
same "joins the old cells" "3 3 3" "$(query "SELECT seeds FROM accuracy_seeds WHERE model = 'best' AND test_shots = 1" | xargs)"
same "on the same tests" 2 "$(query "SELECT count(DISTINCT tasks_hash) FROM tests WHERE run IN (SELECT run FROM runs WHERE bench = 'cups:3w-1s@60')")"
awk 'BEGIN { FS = OFS = "," } NR > 1 { $4 = -$4 } 1' cups.csv.txt >cups.csv
ok "another data set of its name" "$METE" data import table cups.csv --label cup --force -o data/cups
ok "on the old database" again --seeds 1
same "has cells of its own" "3 3 3 1 1" "$(query "SELECT seeds FROM accuracy_seeds WHERE model = 'best' AND test_shots = 1 ORDER BY seeds DESC" | xargs)"
same "under a name of its own" 2 "$(query "SELECT count(*) FROM runs WHERE dataset GLOB 'cups#????????'")"

# the databases of the repository keep their ids when they are written to
for db in "$repository"/results/*.db; do
    name=$(basename "$db")
    cp "$db" "$tmp/$name"
    sqlite3 "$tmp/$name" "SELECT run, id, variant, control, bench, dataset FROM runs ORDER BY run" >"$tmp/ids"
    ok "$name is written to" "$METE" run old.yaml --db "$tmp/$name" --threads 1 --seeds 1
    ok "$name keeps its ids" diff "$tmp/ids" <(sqlite3 "$tmp/$name" "SELECT run, id, variant, control, bench, dataset FROM runs WHERE bench NOT LIKE 'cups%' AND bench NOT LIKE 'glyphs:classes%' ORDER BY run")
done
finish
