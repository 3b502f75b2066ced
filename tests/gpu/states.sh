# What is said and kept where a GPU is missing, too old, too small or lost, and which kernels are
# launched: with a program whose CUDA run-time library is a stand-in (standin.c).
#   METE=build-standin/mete bash tests/gpu/states.sh
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/../cli/same_results.sh.inc"
with() { # STATE COMMAND...
    METE_STANDIN=$1 "${@:2}"
}
speed="$METE speed --device cuda --bench omniglot:5w-1s --query 1 --seconds 0.02"

refuses "no driver" 1 "no NVIDIA driver is installed" with none $speed
refuses "an old driver" 1 "the NVIDIA driver is for CUDA 11.4, this build needs" with old $speed
refuses "an old GPU" 1 "has compute capability 8.0, 9.0 or newer is needed" with capability=8 $speed
refuses "too little shared memory" 1 "has 99 kB of shared memory for a block" with shared=99 $speed
with none "$METE" list devices >"$tmp/devices"
same "devices are listed all the same" 0 $?
ok "and why one is of no use" grep -q "cuda .*not usable here: no NVIDIA driver" "$tmp/devices"

batch="--method maml --set train.meta_batch=128"
refuses "a meta-batch that does not fit" 1 "is the largest that fits" with memory=200 $speed $batch
largest=$(sed -n 's/.*train.meta_batch=\([0-9]*\) is the largest.*/\1/p' "$tmp/err")
batch="--method maml --set train.meta_batch=$largest"
ok "the largest does" with memory=200 $speed $batch
batch="--method maml --set train.meta_batch=$((largest + 1))"
refuses "one more does not" 1 "train.meta_batch=$largest is the largest" with memory=200 $speed $batch
refuses "a task that does not fit" 1 "that one task of this size needs" with memory=3 $speed $batch

# Whatever fits to be trained is validated and tested, in smaller pieces.
little="$METE train glyphs:5w-1s@2K --device cuda --set train.steps=2 --set train.validate_every=1"
little="$little --set train.val_tasks=128 --set test.tasks=128 --set train.meta_batch"
refuses "little memory: a meta-batch that does not fit" 1 "train.meta_batch=4 is the largest" with memory=36 $little=8 -o "$tmp/little"
ok "little memory: one that does, and 128 tasks to validate" with memory=36 $little=4 -o "$tmp/little"
# Validation comes first and keeps what it took, so with 48 MB too little is left for the pools.
ok "little memory: and pools to choose from" with memory=64 $little=4 --labels entropy -o "$tmp/entropy"
# Its kernels do nothing, so no pool is clustered.
refuses "clusters that a device does not make" 1 "cuda did not cluster" $little=4 --labels active -o "$tmp/active"

# A GPU that is lost: nothing but what was under way is to do again.
if command -v sqlite3 >/dev/null; then
    suite="$METE run tests/suites/tiny.yaml --device cuda --only labels=random"
    statuses() { sqlite3 "$1" "SELECT count(*) FROM runs WHERE status = '$2'"; }
    ok "a whole suite" $suite --db "$tmp/whole.db"
    results_of "$tmp/whole.db" >"$tmp/whole"
    same "all of it" 6 "$(statuses "$tmp/whole.db" done)"
    for how in "" "--threads 4 --together 2"; do
        db=$tmp/lost${how:+.together}.db
        for lost in 200 1000 4000 9000; do
            with lost=$lost $suite $how --db "$db" >/dev/null 2>"$tmp/why"
            same "lost at call $lost $how: exit status" 1 $?
            ok "lost at call $lost $how: why" grep -q "GPU 0 .*: uncorrectable ECC error" "$tmp/why"
            same "lost at call $lost $how: no run has failed" 0 "$(statuses "$db" failed)"
        done
        ok "the same command goes on $how" $suite $how --db "$db"
        results_of "$db" >"$tmp/again"
        ok "to the results of an undisturbed one $how" cmp "$tmp/whole" "$tmp/again"
    done
    # memory for some of the methods: the others go on
    for ((mb = 10; mb < 20; mb++)); do
        with memory=$mb $suite --set train.meta_batch=16 --db "$tmp/$mb.db" >/dev/null 2>"$tmp/why"
        status=$?
        [ "$(statuses "$tmp/$mb.db" done)" -gt 0 ] && break
    done
    same "memory for some: exit status" 1 $status
    # Memory may be there another time: such runs are put off, and not marked as failed.
    same "memory for some: no run has failed" 0 "$(statuses "$tmp/$mb.db" failed)"
    same "memory for some: all others are still planned" 12 $(($(statuses "$tmp/$mb.db" done) + $(statuses "$tmp/$mb.db" planned)))
    ok "memory for some: what it needs" grep -q "warning: .* MB" "$tmp/why"
else
    skip "no sqlite3"
fi

# Which kernels a pass is: forward, loss, backward.
launches() { # NAME KERNELS ARGUMENTS...: the first of those after the pictures are gathered
    local name=$1 want=$2
    rm -f "$tmp/log"
    METE_STANDIN_LOG=$tmp/log $speed "${@:3}" >/dev/null 2>&1
    same "$name" "$want" "$(sed -n '/^gather/,$p' "$tmp/log" | sed -n "2,$(($(wc -w <<<"$want") + 1))p" | sed 's/_kernel$//' | tr '\n' ' ' | sed 's/ $//')"
}
maml="--method maml --set first_order=yes --set train.meta_batch"
launches "one run's pass" "first_forward group_forward group_forward group_forward fused_head product product group_product first_backward" $maml=32
launches "many tasks' pass" "first_many_forward second_forward group_forward last small_product second_products first_many" $maml=128
launches "a forward pass whose head does not come" "first_many_forward second_forward group_forward group_forward proto small_product small_product second_products first_many" --method protonet --set train.meta_batch=128
# Predicting, the head comes after the last conv layer, though both were noted.
rm -f "$tmp/log"
METE_STANDIN_LOG=$tmp/log ok "training, validating and testing" "$METE" train glyphs:5w-1s@30K --device cuda -o "$tmp/run" \
    --set train.meta_batch=128 --set train.steps=2 --set train.validate_every=1 --set train.val_tasks=128 --set test.tasks=128
tr '\n' ' ' <"$tmp/log" | sed 's/_kernel//g' >"$tmp/line"
ok "a prediction" grep -q "first_many_forward second_forward group_forward group_forward head" "$tmp/line"
same "in this order always" "" "$(grep -o "first_many_forward second_forward group_forward head" "$tmp/line")"
same "ten steps of adapting after pictures are gathered once" 10 \
    "$(sed 's/gather_moments/\n/g' "$tmp/line" | awk '{ n = gsub(/ last /, " "); if (n > most) most = n } END { print most }')"
# fp16 outputs become floats for whoever asks for a first layer's output, and once: of many tasks alone, and
# among others.
rm -f "$tmp/log"
METE_STANDIN_LOG=$tmp/log METE_TEST_LIGHT=1 METE_TEST_SET=cuda ok "tasks beside others" "$(dirname "$METE")/test_kernels" a_task_does
same "floats of fp16 values" "fp16_to_float rows fp16_to_float rows" \
    "$(sed 's/_kernel$//' "$tmp/log" | grep -A1 "^fp16_to_float" | grep -v '^--' | tr '\n' ' ' | sed 's/ $//')"
finish
