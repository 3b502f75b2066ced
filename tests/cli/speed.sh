# mete speed and the dry run: the work is counted by hand, and the rates belong together.
. "$(dirname "$0")/lib.sh"
if ! command -v python3 >/dev/null; then
    skip "python3 does the sums, and is not here"
    finish
fi
conv="--net conv4 --set net.filters=4 --seconds 0.05"
# shellcheck disable=SC2086 # $conv is several words
speed() { "$METE" speed --bench omniglot:5w-1s $conv "$@" --json; }
cat >"$tmp/sums.py" <<'PY'
import json, sys
said = [json.loads(line) for line in open(sys.argv[1])]
taps = [41, 20, 10, 5]  # of 28, 14, 7 and 4 pixels, three wide, every second one, inside the image
forward = [2 * c * 4 * t * t for c, t in zip([1, 4, 4, 4], taps)]
both = 3 * sum(forward) - forward[0]  # the first layer hands nothing back
for s, (images, batch, threads, runs) in zip(said, [(10, 2, 1, 1), (20, 3, 2, 1), (20, 3, 2, 2)]):
    assert abs(s["gflop_per_task"] - images * both / 1e9) < 1e-9, s
    assert s["meta_batch"] == batch and s["threads"] == threads, s
    assert s["tasks_per_s"] > 0 and s["peak_gflops"] > 0 and s["bytes_planned"] > 0, s
    assert abs(s["gflops"] / (s["tasks_per_s"] * s["gflop_per_task"]) - 1) < 1e-3, s
    assert abs(s["fraction_of_peak"] - s["gflops"] / s["peak_gflops"] / threads) < 1e-3, s
    assert s["fraction_of_peak"] < 2, s
assert len(said) == 3
PY
{
    speed --method protonet --set train.meta_batch=2
    speed --method protonet --set train.meta_batch=3 --query 3 --threads 2
    speed --method protonet --set train.meta_batch=3 --query 3 --runs 2
} >"$tmp/speed" 2>/dev/null
ok "the sums are right" python3 "$tmp/sums.py" "$tmp/speed"
refuses "no ways" 2 "how many ways" "$METE" speed --bench omniglot:1s
refuses "together without a GPU" 2 "on a GPU" "$METE" speed --runs 2 --together 2

if ! "$METE" run suites/quick.yaml --print-config 2>&1 | grep -q "build again"; then
    cat >"$tmp/x.yaml" <<'YAML'
name: x
base: {net.filters: 4, train.steps: 10, train.meta_batch: 4, train.validate_every: 3, train.val_tasks: 4, test.tasks: 5}
axes: {bench: ["glyphs:classes=60,drawers=10:5w-1s@200", "glyphs:classes=60,drawers=10:5w-2s", "glyphs:classes=60,drawers=10:5w-1s@30"], method: [protonet]}
seeds: 2
YAML
    cat >"$tmp/dry.py" <<'PY'
import json, sys
said = [json.loads(line) for line in open(sys.argv[1])]
taps = [41, 20, 10, 5]
forward = [2 * c * 4 * t * t for c, t in zip([1, 4, 4, 4], taps)]
both = 3 * sum(forward) - forward[0]
for i, s in enumerate(said):
    tasks, labels, images, batch = [(20, 200, 10, 4), (40, 600, 15, 4), (3, 30, 10, 3)][i // 2]
    assert s["seed"] == 1 + i % 2 and s["tasks"] == tasks, s
    assert s["n_labels"] == labels, s
    assert abs(s["gflop"] - 10 * batch * images * both / 1e9) < 1e-6, s
    assert s["seconds"] > 0, s
assert len(said) == 6
PY
    ok "a dry run" "$METE" run "$tmp/x.yaml" --dry-run --json
    cp "$tmp/out" "$tmp/dry"
    ok "a dry run counts tasks, labels and work" python3 "$tmp/dry.py" "$tmp/dry"
fi
finish
