# grad.sh - mete grad on good and on bad input: one sentence, the right status, and
# no output left behind.
. tests/cli/lib.sh
golden=tests/golden/maml.safetensors
task=$tmp/task.safetensors out=$tmp/result/grad.safetensors
mkdir "$tmp/result"

# Edits of a copy of the golden file.  A header keeps its length, so the data stays in place.
header_length() { od -An -t u8 -N 8 "$task" | tr -d ' '; }
data_at() { # NAME: where the tensor's bytes begin in the file
    local length begin
    length=$(header_length)
    begin=$(head -c $((8 + length)) "$task" | tail -c "$length" |
        grep -aoE "\"$1\": \{[^}]*\}" | sed -E 's/.*data_offsets": \[([0-9]+),.*/\1/')
    echo $((8 + length + begin))
}
put() { # OFFSET BYTES (as printf writes them)
    printf '%b' "$2" | dd of="$task" bs=1 seek="$1" conv=notrunc status=none
}
edit() { # SED: an edit of the header that keeps its length
    LC_ALL=C sed -i -E "1$1" "$task"
}
fresh() { cp "$golden" "$task"; }

grad() { "$METE" grad --method maml --in "$task" --out "$out" "$@"; }
bad_task() { # NAME TEXT [ARGUMENT...]: exit 1, and nothing written
    local name=$1 text=$2
    shift 2
    refuses "$name" 1 "$text" grad "$@"
    same "$name leaves no file" "" "$(ls -A "$tmp/result")"
    rm -f "$out"
    fresh
}
bad_flag() { # the same for a wrong flag: exit 2
    local name=$1 text=$2
    shift 2
    refuses "$name" 2 "$text" "$@"
    same "$name leaves no file" "" "$(ls -A "$tmp/result")"
}

fresh
ok "a good task" grad
same "its output is there" "grad.safetensors" "$(ls -A "$tmp/result")"
before=$(cksum <"$out")
ok "the same again" grad
same "the same bytes" "$before" "$(cksum <"$out")"
rm "$out"

edit 's/"conv2.weight"/"conv9.weight"/'
bad_task "a missing weight" "there is no tensor 'conv2.weight'"
edit 's/"support.y"/"support.z"/'
bad_task "missing labels" "there is no tensor 'support.y'"
edit 's/("bn1.bias": \{"dtype": ")F32/\1I32/'
bad_task "weights of integers" "bn1.bias: expected F64 or F32 (8), got I32 (8)"
edit 's/("query.y": \{"dtype": ")I64/\1F64/'
bad_task "labels of reals" "query.y: expected I64 or I32 (5), got F64 (5)"
edit 's/("head.weight": \{[^}]*\[)5, 32\]/\132, 5]/'
bad_task "a head the wrong way round" "head.weight: expected"
edit 's/("conv1.weight": \{[^}]*\[)8, 8, 3, 3\]/\18, 3, 8, 3]/'
bad_task "a kernel of a wrong shape" "conv1.weight: expected F64 or F32 (8, 8, 3, 3), got F32 (8, 3, 8, 3)"
edit 's/("query.x": \{[^}]*\[5, 1, )28, 28\]/\114, 56]/'
bad_task "a query of another size" "query.x: expected F64 or F32 (any, 1, 28, 28), got F32 (5, 1, 14, 56)"
edit 's/("support.x": \{[^}]*\[)5, 1, 28, 28\]/\11, 5, 28, 28]/'
bad_task "a support of other images" "query.x: expected F64 or F32 (any, 5, 28, 28), got F32 (5, 1, 28, 28)"

edit 's/("(support|query).x": \{[^}]*\[5, 1, )28, 28\]/\1 8, 98]/g'
bad_task "images that are too small" "support.x: conv4 needs images of 16x16"
cp tests/golden/maml-eps.safetensors "$task"
edit 's/("conv0.weight": \{[^}]*)\[16, 3, 3, 3\]/\1[432, 1, 1,1]/'
bad_task "too many filters" "conv0.weight: net.filters: expected 0..256, got '432'"

put "$(($(data_at support.x) + 400))" '\0000\0000\0300\0177'
bad_task "a NaN in the support" "support.x: element 100 is NaN"
put "$(($(data_at query.x) + 4))" '\0000\0000\0200\0377'
bad_task "an infinity in the query" "query.x: element 1 is infinite"
put "$(data_at conv3.weight)" '\0000\0000\0300\0177'
bad_task "a NaN in the weights" "conv3.weight: element 0 is NaN"
put "$(data_at support.y)" '\0005'
bad_task "a label past the ways" "support.y: label 5 of image 0, expected 0..4"
put "$(($(data_at query.y) + 8))" '\0377\0377\0377\0377\0377\0377\0377\0377'
bad_task "a negative label" "query.y: label -1 of image 1, expected 0..4"

for part in 0 7 8 100 3000 59000; do
    head -c "$part" "$golden" >"$task"
    bad_task "a file cut at $part bytes" "task.safetensors"
done
printf 'x' >>"$task"
bad_task "a byte too many" "1 bytes follow the last tensor"
put 0 '\0377\0377\0377\0377\0377\0377\0377\0177'
bad_task "a header longer than the file" "it announces a header of"
edit 's/("bn0.bias": \{[^}]*)\[8\]/\1[9]/'
bad_task "a shape larger than its data" "bn0.bias: F32 (9) needs 36 bytes"
edit 's/"bn0.bias"/"bn1.bias"/'
bad_task "a tensor twice" "two tensors are named 'bn1.bias'"
printf '\020\0\0\0\0\0\0\0{"a": [[[[[[[[[[' >"$task"
bad_task "a broken header" "header:1:"
rm "$task"
bad_task "no such file" "cannot read"
huge='\0346\0261\0141\0177' # 3e38
put "$(data_at head.weight)" "$huge$huge$huge$huge$huge$huge$huge$huge"
bad_task "a loss that overflows" "try a smaller inner.lr"

bad_flag "no such method" "mamll" "$METE" grad --method mamll --in "$task" --out "$out"
bad_flag "no such net" "conv5" "$METE" grad --net conv5 --in "$task" --out "$out"
bad_flag "no such setting" "inner.lr" grad --set inner.lrr=1
bad_flag "a setting out of range" "inner.steps" grad --set inner.steps=0
bad_flag "no such flag" "--inn" "$METE" grad --inn "$task" --out "$out"
bad_flag "no input named" "--in" "$METE" grad --out "$out"
bad_flag "no such device" "abacus" grad --device abacus
refuses "a folder that is not there" 1 "no/such/grad.safetensors" \
    "$METE" grad --in "$task" --out "$tmp/no/such/grad.safetensors"
refuses "an output that is no file" 1 "not a regular file" "$METE" grad --in "$task" --out /dev/null
finish
