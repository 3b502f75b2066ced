# Users as tasks: folds test everybody once, and intervals are over users.
. "$(dirname "$0")/lib.sh"
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }
"$METE" run --help 2>/dev/null | grep -q SUITE || { skip "no suites"; finish; }
query() { sqlite3 "$tmp/f.db" "$1"; }
cat >"$tmp/folds.yaml" <<'YAML'
name: folds
base:
  bench: glyphs-users:classes=4,users=12,images=24:1s@200
  net: mlp
  net.hidden: 1
  net.units: 8
  train.steps: 6
  train.meta_batch: 3
  data.folds: 3
  test.labels: "3,8"
  test.support: random
  test.repeats: 2
axes:
  method: [protonet, fedavg]
seeds: 2
tables:
  - {title: Folds, rows: [test_shots], columns: [method]}
YAML
ok "a suite of folds" "$METE" run "$tmp/folds.yaml" --db "$tmp/f.db"
same "a run for each fold" "12|3|2" \
    "$(query "SELECT count(*), count(DISTINCT value), count(DISTINCT seed) FROM runs JOIN settings USING (run) WHERE key = 'data.fold'")"
same "everybody is tested, with two supports" "12|24|24" \
    "$(query "SELECT min(u), min(n), max(n) FROM (SELECT count(DISTINCT user) u, count(*) n FROM runs JOIN tests t USING (run) JOIN task_results USING (run, test) GROUP BY method, seed, model, t.shots)" | awk -F'|' '{print}')"
same "folds are no seeds" "2|2" "$(query "SELECT min(seeds), max(seeds) FROM accuracy_seeds")"
same "supports of 3 and 8 labels in all" "-8 -3" "$(query "SELECT DISTINCT shots FROM tests ORDER BY 1" | xargs)"
same "labels are paid once" 0 \
    "$(query "SELECT count(*) FROM (SELECT sum(cost) c FROM ledger GROUP BY run, item) WHERE c > 1")"
# the interval over users, computed again
wanted=$(query "SELECT y FROM (SELECT avg(x.accuracy) y FROM runs JOIN tests t USING (run) JOIN task_results x USING (run, test) WHERE method = 'fedavg' AND model = 'best' AND t.shots = -8 GROUP BY user)" |
    awk '{n++; s += $1; q += $1 * $1} END {v = (q - s * s / n) / (n - 1); printf "%.6f", 2.200985 * sqrt(v / n)}')
same "an interval over 12 users" "$wanted" \
    "$(query "SELECT printf('%.6f', half_tasks) FROM accuracy_seeds WHERE method = 'fedavg' AND model = 'best' AND test_shots = -8")"
ok "a table" "$METE" results "$tmp/f.db"
same "its rows say how many labels" 2 "$(grep -cE '^ *(3|8) labels' "$tmp/out")"
same "its note says over whom" 1 "$(grep -c 'over users' "$tmp/out")"
ok "its page" "$METE" report "$tmp/f.db" -o "$tmp/f.html"
ok "one run is all folds" "$METE" train glyphs-users:classes=4,users=12,images=24:1s@200 --method protonet --net mlp \
    --set train.steps=2 --set data.folds=3 --set test.shots=1 -o "$tmp/run"
same "tests of all of them" 2 "$(grep -cE ' 12 +[0-9.]+ ±' "$tmp/out")"
same "a model of each" 3 "$(ls "$tmp"/run/fold-*/best.safetensors | wc -l)"

# different tests are different rows
sed 's/data.folds: 3/test.holdout: 0.2/; s/^name: folds/name: apart/; s/axes:/axes:\n  test.repeats: [1, 3]/; /test.repeats: 2/d' \
    "$tmp/folds.yaml" >"$tmp/apart.yaml"
ok "tests of two kinds" "$METE" run "$tmp/apart.yaml" --db "$tmp/a.db" --seeds 1
ok "their table" "$METE" results "$tmp/a.db"
same "never side by side" 4 "$(grep -cE "^ *((3|8) labels)? +[13] +[*0-9]" "$tmp/out")"

# baselines beside every method: the same labels, the same tests
sed 's/^name: folds/name: beside\nbaselines: yes/; s/data.folds: 3/data.folds: 0/' "$tmp/folds.yaml" >"$tmp/beside.yaml"
ok "baselines" "$METE" run "$tmp/beside.yaml" --db "$tmp/b.db" --seeds 1
same "five of them, once" "fedavg local majority nearest pooled protonet tuned" \
    "$(sqlite3 "$tmp/b.db" "SELECT method FROM runs ORDER BY 1" | xargs)"
same "on the same tests" 2 "$(sqlite3 "$tmp/b.db" "SELECT count(DISTINCT tasks_hash) FROM tests WHERE model = 'best'")"
same "from the same labels" 1 "$(sqlite3 "$tmp/b.db" "SELECT count(DISTINCT items) FROM (SELECT group_concat(item) AS items FROM (SELECT DISTINCT run, item FROM ledger ORDER BY run, item) GROUP BY run)")"
ok "their table" "$METE" results "$tmp/b.db"
same "it says who does not beat them" 1 "$(grep -c -e 'Not ahead of the best baseline' -e 'Every method is ahead' "$tmp/out")"
sed 's/baselines: yes/baselines: maybe/' "$tmp/beside.yaml" >"$tmp/maybe.yaml"
refuses "baselines by another word" 2 "expected yes or no" "$METE" run "$tmp/maybe.yaml" --db "$tmp/x.db"
refuses "one model for classes that change" 2 "different classes, which it cannot share" \
    "$METE" train glyphs:classes=40:5w-1s@500 --method pooled
# FedAvg has test.steps in common with Reptile, and takes none
idle() { refuses "$1" 2 "test.steps: method fedavg does not adapt at test time, so it would change nothing" "${@:2}"; }
idle "steps that FedAvg does not take" "$METE" train glyphs-users:1s@200 --method fedavg --set train.steps=2 --set test_steps=5
ok "a model of FedAvg" "$METE" train glyphs-users:classes=4,users=12,images=24:1s@200 --method fedavg --net linear \
    --set train.steps=2 --set test.labels=8 -o "$tmp/fedavg"
idle "nor does it when it is tested again" "$METE" eval "$tmp/fedavg" --set test.steps=5
idle "nor for one person" "$METE" adapt "$tmp/fedavg" glyphs-users:classes=4,users=12,images=24 --user 1 --set test.steps=5 -o "$tmp/me.safetensors"
ok "its settings" "$METE" show fedavg
same "say so" 1 "$(grep -c '^test.steps .*not used: FedAvg does not adapt' "$tmp/out")"
cat >"$tmp/both.yaml" <<'YAML'
name: both
base: {bench: "glyphs-users:classes=4,users=12,images=24:1s@200", net: linear, train.steps: 2, test.labels: "8", test.steps: 3}
axes: {method: [fedavg, reptile]}
YAML
ok "a suite of both may set it for both" "$METE" run "$tmp/both.yaml" --db "$tmp/both.db"
same "as their ids say" "3 3" "$(sqlite3 "$tmp/both.db" "SELECT value FROM settings WHERE key = 'test.steps'" | xargs)"
refuses "a baseline's gradient" 2 "it has no meta-gradient" "$METE" speed --method local
cat >"$tmp/few.yaml" <<'YAML'
name: few
baselines: yes
base: {bench: "glyphs:classes=40:5w-1s@200", net: linear, train.steps: 4, test.tasks: 5, train.val_tasks: 5}
axes: {method: [protonet]}
YAML
ok "few-shot tasks" "$METE" run "$tmp/few.yaml" --db "$tmp/few.db"
same "have those that need no common classes" "local nearest protonet" \
    "$(sqlite3 "$tmp/few.db" "SELECT method FROM runs ORDER BY 1" | xargs)"

# who keeps the model for all
sed 's/^name: folds/name: keep/; s/data.folds: 3/data.folds: 0/; s/axes:/axes:\n  test.keep: [always, by-support]/;
    s/method: .*/method: [reptile, maml]/; s/train.steps: 6/train.steps: 60/; s/  net: mlp/  inner.lr: 2\n&/; s/rows: .test_shots./rows: [test_shots, test.keep]/' \
    "$tmp/folds.yaml" >"$tmp/keep.yaml"
ok "keeping the model for all" "$METE" run "$tmp/keep.yaml" --db "$tmp/k.db" --seeds 1
of() { sqlite3 "$tmp/k.db" "SELECT $1 FROM tests t JOIN runs r USING (run) JOIN settings s USING (run) WHERE s.key = 'test.keep' AND s.value = '$2' AND method = 'reptile' ORDER BY t.model, t.shots"; }
same "adapted they are as good as without the question" "$(of "printf('%.9f %.9f', accuracy, worse_share)" always)" \
    "$(of "printf('%.9f %.9f', adapted_accuracy, adapted_worse_share)" by-support)"
same "which nobody was asked there" 4 "$(of 'kept_share IS NULL' always | grep -c 1)"
same "some keep it" 1 "$(sqlite3 "$tmp/k.db" "SELECT max(kept_share) > 0 FROM tests")"
same "who keeps it is not made worse" 0 "$(sqlite3 "$tmp/k.db" "SELECT count(*) FROM tests WHERE worse_share > adapted_worse_share + 1e-9")"
ok "their table" "$METE" results "$tmp/k.db"
same "says how many are made worse, and would be" 1 "$(grep -c 'Users made worse' "$tmp/out")"
ok "their CSV" "$METE" results "$tmp/k.db" --format csv
same "has both shares" 1 "$(head -n 1 "$tmp/out" | grep -c 'worse_share,kept_share,adapted_accuracy,adapted_worse_share$')"
ok "their page" "$METE" report "$tmp/k.db" -o "$tmp/k.html"
same "has them too" 1 "$(grep -c 'worse if all adapt' "$tmp/k.html")"
ok "one model" "$METE" train glyphs-users:classes=4,users=12,images=24:1s@200 --method protonet --net mlp \
    --set train.steps=2 --set test.labels=8 --set test.keep=by-support -o "$tmp/kept"
same "says it too" 2 "$(grep -c 'keep the model for all' "$tmp/out")"
ok "and when it is tested again" "$METE" eval "$tmp/kept/best.safetensors" --json
same "as numbers" 1 "$(grep -c '"kept": 0\.' "$tmp/out")"
refuses "classes that change" 2 "leave it at always" \
    "$METE" train glyphs:classes=40:5w-1s@500 --set test.keep=by-support

# odd people: one class, one point, no test part, a class that only they have, no labels
for p in 0 1 2 3 4 5 6 7 8 9; do for i in 0 1 2 3 4 5 6 7 8 9; do
    echo "p$p,c$((p == 0 ? 0 : (p + i) % 3)),$((p + i * 3 % 7)).5,$((i * i % 5)).25"
done; done >"$tmp/rows"
{ echo u,y,a,b; cat "$tmp/rows"; echo one,c0,1.5,2; echo late,c9,1,2; echo late,c9,2,2; echo late,c9,3,1; } >"$tmp/odd.csv"
{ echo u,y,a,b,part; sed 's/$/,train/' "$tmp/rows"; } >"$tmp/parts.csv"
sed 's/,c[0-9]*,/,,/' "$tmp/odd.csv" >"$tmp/none.csv"
train_odd() { rm -rf "$tmp/odd-run"; "$METE" train "$tmp/$1:1s@200" --net mlp --set net.units=8 --set train.steps=3 --set test.shots=1 "${@:2}" -o "$tmp/odd-run"; }
ok "a table of odd people" "$METE" data import table "$tmp/odd.csv" --label y --user u -o "$tmp/odd"
for method in protonet maml tuned; do
    ok "$method on odd people" train_odd odd --method $method --set data.folds=6
    same "$method tests all but the one with a single point" 2 "$(grep -cE '^(best|last).* 11 +[0-9.]+ ±' "$tmp/out")"
done
ok "people without a test part" "$METE" data import table "$tmp/parts.csv" --label y --user u --set part=part -o "$tmp/parts"
refuses "make no tasks" 2 "train users has items for pool and query" train_odd parts
ok "a table without labels" "$METE" data import table "$tmp/none.csv" --label y --user u -o "$tmp/none"
same "and says so" 1 "$(grep -c "none: 104 of 104 items have no label" "$tmp/err")"
refuses "and makes no tasks" 2 "none has no labels yet" train_odd none

# labels of a person in all, half of them query; tests on the validation part
ok "5 labels a person" "$METE" train glyphs-users:classes=4,users=30,images=24:1s@50 --method protonet --net mlp \
    --set train.steps=2 --set task.labels=5 --set test.part=val --set test.shots=1 -o "$tmp/each"
same "10 people give 5 labels each" "10 tasks, 50 labels of 50 items: 30 support, 20 query; charged 50" \
    "$(grep -m 1 charged "$tmp/err")"
same "the 5 people of validation are tested" 5 "$(awk '$1 == "best" {print $5}' "$tmp/out")"
refuses "a task of classes gives no labels" 2 "task.labels is what a person gives" "$METE" train glyphs:5w-1s@100 --set task.labels=5
refuses "one label is too few" 2 "2 or more" "$METE" train glyphs-users:1s@100 --set task.labels=1
refuses "repeats of few-shot tasks" 2 "raise test.tasks" "$METE" train glyphs:5w-1s@100 --method protonet --set test.repeats=2 -o "$tmp/x"
finish
