# train.patience: when training stops, what is kept, and that a kill changes nothing.
. "$(dirname "$0")/lib.sh"
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }

# Weights that do not move: no validation is better than the first, before any step.
cat >"$tmp/still.yaml" <<END
name: still
base: {bench: 'glyphs:5w-1s@500', net.filters: 4, method: protonet, outer.optimiser: sgd, outer.lr: 1e-30,
  train.steps: 60, train.validate_every: 5, train.val_tasks: 10, test.tasks: 10}
axes: {train.patience: [0, 1, 3, 12, 13]}
seeds: 1
END
ok "weights that stay" "$METE" run "$tmp/still.yaml" --db "$tmp/still.db" --threads 2
steps() {
    sqlite3 "$1" "SELECT group_concat(steps, ' ') FROM (SELECT steps FROM outcomes JOIN settings USING (run)
        WHERE key = 'train.patience' ORDER BY CAST(value AS INT))"
}
same "a patience of 0, 1, 3, 12 and 13 validations of 5 steps" "60 5 15 60 60" "$(steps "$tmp/still.db")"

# Labels that come late: validations count from when all are there.  30 tasks, 5 every 10 steps,
# are bought before step 50; that the budget is spent shows at step 60.
sed -e 's/\[0, 1, 3, 12, 13\]/[2]/' -e 's/train.steps: 60/train.steps: 200, budget.grow: schedule, budget.grow_tasks: 5, budget.grow_every: 10/' \
    -e 's/@500/@300/' "$tmp/still.yaml" >"$tmp/late.yaml"
ok "labels that come late" "$METE" run "$tmp/late.yaml" --db "$tmp/late.db" --threads 2
same "all of them are bought" 300 "$(sqlite3 "$tmp/late.db" "SELECT labels_used FROM outcomes")"
same "and then two validations are waited for" 65 "$(steps "$tmp/late.db")"

train() { # FOLDER [SETTING...]
    local folder=$1
    shift
    "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.validate_every=4 --set train.val_tasks=20 \
        --set test.tasks=20 --set train.steps=400 --threads 1 "$@" -o "$tmp/$folder"
}
weights() { tail -c 1500 "$tmp/$1.safetensors" | cksum; }
ok "a patience" train short --set train.patience=6
# 6 validations of 4 steps after the best
best=$(sed -n 's/.*best at step \([0-9]*\);.*/\1/p' "$tmp/out" "$tmp/err")
ok "just as long as that" train exact --set train.steps=$((best + 24))
for model in best last; do
    same "it stops there: $model" "$(weights exact/$model)" "$(weights short/$model)"
done

# kill -9 at random moments
for ((i = 0; i < 6; i++)); do
    train killed --set train.patience=6 >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
ok "it goes on" train killed --set train.patience=6
for model in best last; do
    same "to the same bytes: $model" "$(weights short/$model)" "$(weights killed/$model)"
done
finish
