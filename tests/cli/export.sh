# What mete predict says, an exported model says too: OpenCV reads the ONNX file, gcc and clang
# compile the C file (tests/golden/exports.py).
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
case $METE in /*) ;; *) METE=$PWD/$METE ;; esac
cd "$tmp" || exit 1
export METE_DATA=
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy, onnx, cv2' 2>/dev/null && break
    python=
done
models=()
model() { # NAME DATA USER BENCH METHOD NET SETTING...
    local name=$1 data=$2 user=$3 bench=$4 method=$5 net=$6 set=() s
    shift 6
    for s; do set+=(--set "$s"); done
    ok "$name is trained" "$METE" train "$bench" --method "$method" --net "$net" --threads 1 -o "runs/$name" \
        --set test.repeats=1 "${set[@]}"
    for format in safetensors onnx c; do
        ok "$name as $format" "$METE" adapt "runs/$name" "$data" --user "$user" -o "$name.$format"
    done
    models+=("$name.safetensors")
}
"$here/people_table" people.csv --people 30 --rows 20 --known 0.5
ok "a table of people" "$METE" data import table people.csv --label activity --user person -o data/people
for method in maml reptile protonet fedavg; do
    model "conv4_$method" glyphs-users 3 glyphs-users:1s@300 $method conv4 net.filters=16 train.steps=10
    model "mlp_$method" data/people p007 people:6s@300 $method mlp train.steps=30
    model "linear_$method" data/people p007 people:6s@300 $method linear train.steps=30
done
model prior data/people p007 people:6s@300 protonet mlp train.steps=30 method.absent=prior-mean
ok "a model for all needs no task" "$METE" export runs/mlp_maml -o all.onnx
refuses "prototypes do" 2 "adapt it to a few labels" "$METE" export runs/mlp_protonet -o x.onnx
refuses "another format" 2 "expected one that ends in .onnx" "$METE" export runs/mlp_maml -o x.pt
refuses "batch statistics" 2 "set net.bn=running" "$METE" export runs/conv4_maml --set net.bn=batch -o x.onnx
refuses "no such folder" 1 "cannot write no/x.c" "$METE" export runs/mlp_maml -o no/x.c
same "nothing is half written" "" "$(ls x.* 2>/dev/null)"
if [ -z "$python" ]; then
    skip "no judge of ONNX: python3-onnx, python3-opencv or python3-numpy is not installed"
    finish
fi
ok "all of them agree" "$python" "$here/golden/exports.py" "$METE" "${models[@]}"
cat out >&2
finish
