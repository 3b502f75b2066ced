#!/bin/sh
# gpu_check.sh - what to run on a machine with a GPU.
#
#   perf/gpu_check.sh [BUILD] [part...]     BUILD: build-cuda; parts: all of
#     kernels    every operation against the specification, fp32 and TF32
#     golden     meta-gradients against PyTorch's in float64
#     sanitize   compute-sanitizer over the kernel tests and meta-steps, where it is installed
#     repeat     two runs with one seed, byte for byte
#     speed      tasks per second of every method, and of eight runs
#     profile    time and instructions of every kernel of a pass, where ncu is installed
#
# From the repository's root.  A part that runs past its time is stopped and counts as
# failed.  Exit 1 if one failed.
build=build-cuda
if [ -d "$1" ]; then
    build=$1
    shift
fi
[ $# -gt 0 ] || set -- kernels golden sanitize repeat speed profile
failed=0

# within SECONDS COMMAND...
within() {
    limit=$1
    shift
    timeout "$limit" "$@"
    status=$?
    [ $status -eq 0 ] && return 0
    [ $status -eq 124 ] && echo "stopped after $limit s"
    echo "FAILED ($status): $*"
    failed=1
}

kernels() {
    for test in test_kernels test_proto test_vectors test_selection; do
        echo "== $test"
        within 120 "$build/$test"
    done
}

golden() {
    echo "== test_golden"
    within 120 "$build/test_golden"
}

sanitize() {
    if ! command -v compute-sanitizer > /dev/null; then
        echo "no compute-sanitizer here"
        return
    fi
    for tool in memcheck racecheck initcheck; do
        unset METE_TEST_LIGHT
        [ $tool = racecheck ] && export METE_TEST_LIGHT=1 # it takes 0.2 s for a launch
        for test in test_kernels test_proto test_vectors test_selection; do
            echo "== $tool $test"
            METE_TEST_SET=cuda within 900 compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$build/$test"
        done
        for method in protonet maml reptile; do
            echo "== $tool, meta-steps of $method"
            within 300 compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/mete" speed \
                --device cuda --bench omniglot:5w-1s --method "$method" --seconds 0.1
        done
    done
}

repeat() {
    echo "== two runs, one seed"
    work=$(mktemp -d)
    for i in 1 2; do
        within 60 "$build/mete" run suites/quick.yaml --device cuda --db "$work/$i.db" > /dev/null
        "$build/mete" results "$work/$i.db" --format csv > "$work/$i.csv" || failed=1
    done
    if cmp "$work/1.csv" "$work/2.csv"; then
        echo same
    else
        failed=1
    fi
    rm -r "$work"
}

# rate BENCH NAME ARGUMENTS...
rate() {
    bench=$1 name=$2
    shift 2
    printf '%-20s %-8s ' "$bench" "$name"
    within 30 "$build/mete" speed --device cuda --bench "$bench" --seconds 1.2 --query 1 \
        --set train.meta_batch=32 "$@" 2> /dev/null | grep "tasks per second"
}

speed() {
    for bench in omniglot:5w-1s miniimagenet:5w-1s omniglot:5w-5s omniglot:20w-1s; do
        rate $bench proto --method protonet --set joint=yes
        rate $bench fomaml --method maml --set first_order=yes
        rate $bench maml --method maml --set first_order=no
        rate $bench reptile --method reptile
    done
    for how in "" "--together 4" "--together 8"; do
        rate omniglot:5w-1s "8 runs $how" --method maml --set first_order=yes --runs 8 $how
    done
}

profile() {
    if ! command -v ncu > /dev/null; then
        echo "no ncu here"
        return
    fi
    for bench in omniglot:5w-1s miniimagenet:5w-1s; do
        echo "== $bench, a pass of first-order MAML"
        within 120 ncu --clock-control none --cache-control none --graph-profiling node \
            --launch-skip 34 --launch-count 17 \
            --metrics gpu__time_duration.sum,smsp__inst_executed.sum \
            "$build/mete" speed --device cuda --bench "$bench" --method maml --seconds 0.1 \
            --query 1 --set first_order=yes --set train.meta_batch=32
    done
}

for part; do
    case $part in
    kernels | golden | sanitize | repeat | speed | profile) $part ;;
    *)
        echo "what is '$part'?"
        exit 2
        ;;
    esac
done
exit $failed
