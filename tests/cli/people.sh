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
finish
