# Every suite that is shipped runs to its end, with its tables and its page: one seed, two steps,
# a tiny net, on small images of noise.
. "$(dirname "$0")/lib.sh"
if "$METE" run suites/quick.yaml --print-config 2>&1 | grep -q "build again"; then
    skip "built without libyaml"
    finish
fi
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { skip "no NumPy to make the data with"; finish; }
mkdir "$tmp/data"
export METE_DATA=$tmp/data
ok "noise is made" /usr/bin/python3 tests/suites/stand_ins.py "$tmp"
ok "as Omniglot" "$METE" data import arrays "$tmp/omniglot-x.npy" "$tmp/omniglot-y.npy" -o "$tmp/data/omniglot"
ok "as mini-ImageNet" "$METE" data import arrays "$tmp/miniimagenet-x.npy" "$tmp/miniimagenet-y.npy" -o "$tmp/data/miniimagenet"
ok "as federated EMNIST" "$METE" data import arrays "$tmp/femnist-x.npy" "$tmp/femnist-y.npy" "$tmp/femnist-user.npy" -o "$tmp/data/femnist"
ok "a table of people" /usr/bin/python3 perf/people_table "$tmp/wear.csv"
ok "is imported" "$METE" data import table "$tmp/wear.csv" --label activity --user person --set standardise=yes -o "$tmp/data/wear"

# A suite's steps are cut for all, and a part of the grid taken where its size is elsewhere.
small="--seeds 1 --threads 1 --set train.steps=2 --set train.validate_every=1 --set train.meta_batch=2
    --set train.val_tasks=2 --set test.tasks=2 --set budget.grow_tasks=4"
cut() {
    case $1 in
    people) echo "--set net.units=2" ;;
    figure1) echo "--set net.filters=2 --only bench=*0" ;; # the others buy up to 15 million labels
    figure[23] | recipe-femnist) echo "--set net.filters=2 --only shots=1" ;;
    *) echo "--set net.filters=2" ;;
    esac
}
for path in suites/*.yaml; do
    name=$(basename "$path" .yaml)
    case $name in
    theory*) continue ;; # tests/cli/theory.sh
    esac
    # shellcheck disable=SC2046,SC2086
    set -f
    ok "$name runs" "$METE" run "$path" --db "$tmp/$name.db" $small $(cut "$name")
    set +f
    cat "$tmp/out" "$tmp/err" >"$tmp/said"
    ok "$name: all of it is done" grep -qE '([0-9]+) of \1 runs done' "$tmp/said"
    ok "$name has tables" "$METE" results "$tmp/$name.db"
    ok "$name has a page" "$METE" report "$tmp/$name.db" -o "$tmp/page.html"
done
finish
