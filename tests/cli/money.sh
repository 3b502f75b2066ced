# Money: what would buy for ever or overflow is refused; labels of every kind are counted, and
# only what is to be charged is.
. "$(dirname "$0")/lib.sh"
METE=$(realpath "$METE")
small="--net mlp --set net.hidden=1 --set net.units=4 --set meta_batch=4 --set val_tasks=6 --set test.tasks=8 --set test.shots=1,2 --set train.steps=4"
train() { "$METE" train "$@" $small --method protonet --threads 1; }
glyphs=glyphs:classes=30,drawers=4,size=16
users=glyphs-users:users=40,classes=3,images=12,size=16

# ---- refusals, each before any work ----
refuses "labels for nothing" 2 "would never be spent" train $glyphs:3w-1s@60 --set budget.cost=0 -o "$tmp/no"
refuses "less than a millionth" 2 "at most 6 decimals" train $glyphs:3w-1s@60 --set budget.cost=1e-9 -o "$tmp/no"
refuses "almost nothing" 2 "buys some" train $glyphs:3w-1s@1M --set budget.cost=0.000001 -o "$tmp/no"
refuses "a budget past counting" 2 "up to 1e12" train $glyphs:3w-1s@9.3e12 -o "$tmp/no"
refuses "in millions" 2 "up to 1e12" train $glyphs:3w-1s@2000000M -o "$tmp/no"
refuses "as a setting" 2 "budget.labels" train $glyphs:3w-1s --set budget.labels=9.3e12 -o "$tmp/no"
refuses "more labels than a run can hold" 2 "at most 2147483647" train $glyphs:3w-1s@1e12 -o "$tmp/no"
for ((c = 0; c < 30; c++)); do echo "$c,0"; done >"$tmp/free"
refuses "free by a file" 2 "would never be spent" train $glyphs:3w-1s@60 --set budget.cost=class:"$tmp/free" -o "$tmp/no"
sed -i 's/^7,0/7,-0.5/' "$tmp/free"
refuses "a price below nothing" 1 "free:8: expected a cost" train $glyphs:3w-1s@60 --set budget.cost=class:"$tmp/free" -o "$tmp/no"
ok "and nothing was begun" test ! -e "$tmp/no"
ok "without a budget a label may be free" train $glyphs:3w-1s --set budget.cost=0 -o "$tmp/free-run"
ok "free labels of users" train $users:1s@60 --set budget.cost=0 --set data.split=20/8/8 -o "$tmp/free-users"
same "each is asked once" "20 tasks" "$(grep -o '[0-9]* tasks' "$tmp/err")"
ok "more money than users have labels" train $users:1s@5000 --set budget.unit=unique --set data.split=20/8/8 -o "$tmp/all-users"
all=$(grep -o 'charged [0-9]*' "$tmp/err")
ok "ends when all is bought" train $users:1s@4000 --set budget.unit=unique --set data.split=20/8/8 -o "$tmp/all-users-less"
same "which costs what it costs" "$all" "$(grep -o 'charged [0-9]*' "$tmp/err")"

# ---- what is printed ----
said() { grep -o "$1" "$tmp/err" | head -n 1; }
rows() { awk -F, -v kind="$2" 'NR > 1 && $7 == kind' "$1/ledger.csv"; }
items() { rows "$1" "$2" | cut -d, -f2 | sort -u | wc -l; }
ok "a run" train $glyphs:3w-1s@60 -o "$tmp/a"
same "its labels" "10 tasks, 60 labels of $( (rows "$tmp/a" support; rows "$tmp/a" query) | cut -d, -f2 | sort -u | wc -l) items: 30 support, 30 query; charged 60" "$(said '10 tasks.*')"
same "those of validation" "validation saw $(rows "$tmp/a" validation | wc -l) labels of $(items "$tmp/a" validation) items" "$(said 'validation saw [0-9]* labels of [0-9]* items')"
same "which cost nothing" 0 "$(rows "$tmp/a" validation | awk -F, '{ s += $5 } END { print s }')"
# 6 tasks of 3 ways: a query item of each class, and supports of 1 and of 2 shots
labels=$(rows "$tmp/a" validation | wc -l)
ok "each is there once" test "$labels" = "$(rows "$tmp/a" validation | cut -d, -f1,2 | sort -u | wc -l)"
ok "as many as there can be" test "$labels" -ge 54 -a "$labels" -le 72
ok "a label drawn again is free" train $glyphs:3w-1s@60 --set budget.unit=unique -o "$tmp/u"
charged=$(said 'charged [0-9]*' | cut -d' ' -f2)
drawn=$(said '[0-9]* labels of' | cut -d' ' -f1)
ok "charged and drawn are told apart" test "$charged" -le 60 -a "$drawn" -gt "$charged"
same "charged is what was charged" "$charged" "$(tail -n 1 "$tmp/u/ledger.csv" | cut -d, -f6)"
same "once for each item" "$charged" "$(awk -F, 'NR > 1 && $7 != "validation" { print $2 }' "$tmp/u/ledger.csv" | sort -u | wc -l)"

# ---- validation charged, too ----
ok "a budget for all labels" train $glyphs:3w-1s@120 --set budget.charge=support+query+validation -o "$tmp/v"
tasks=$(((120 - labels) / 6))
same "what validation leaves is for training" "$tasks tasks" "$(said '[0-9]* tasks')"
same "charged" $((6 * tasks + labels)) "$(said 'charged [0-9]*' | cut -d' ' -f2)"
same "a label each" "$labels" "$(rows "$tmp/v" validation | awk -F, '{ s += $5 } END { print s }')"
ok "each item once" train $glyphs:3w-1s@60 --set budget.charge=support+query+validation --set budget.unit=unique --set data.split=20/5/5 -o "$tmp/vu"
same "in validation" "$(items "$tmp/vu" validation)" "$(rows "$tmp/vu" validation | awk -F, '{ s += $5 } END { print s }')"
refuses "too small a budget" 2 "lower train.val_tasks" train $glyphs:3w-1s@50 --set budget.charge=support+query+validation -o "$tmp/no"
refuses "supports that are chosen later" 2 "chooses its labels later" train $glyphs:3w-1s@500 \
    --set budget.charge=support+query+validation --set test.support=active -o "$tmp/no"
ok "which can be counted" train $glyphs:3w-1s@60 --set test.support=active -o "$tmp/active"
ok "once each" test "$(rows "$tmp/active" validation | wc -l)" = "$(rows "$tmp/active" validation | cut -d, -f1,2 | sort -u | wc -l)"

# ---- after a kill ----
killed() { # FOLDER WORDS...
    local folder=$1
    shift
    "$METE" train "$@" $small --method protonet --set train.steps=20000 --set validate_every=50 --threads 1 -o "$folder" >/dev/null 2>&1 &
    local pid=$!
    for ((wait = 0; wait < 500; wait++)); do
        [ -f "$folder/checkpoint.safetensors" ] && break
        sleep 0.01
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    ok "a checkpoint in ${folder##*/}" test -f "$folder/checkpoint.safetensors"
}
resumed() { # NAME WORDS...: the ledger and what is printed are those of a run that was not killed
    local name=$1 whole
    shift
    killed "$tmp/$name" "$@"
    ok "$name goes on" "$METE" train "$@" $small --method protonet --set train.steps=20000 --set validate_every=50 --threads 1 -o "$tmp/$name"
    whole=$(grep 'labels' "$tmp/err")
    ok "$name undisturbed" "$METE" train "$@" $small --method protonet --set train.steps=20000 --set validate_every=50 --threads 1 -o "$tmp/$name-whole"
    same "$name says the same" "$(grep 'labels' "$tmp/err")" "$whole"
    ok "$name has the same ledger" cmp "$tmp/$name/ledger.csv" "$tmp/$name-whole/ledger.csv"
}
resumed bought $glyphs:3w-1s@60
resumed classical $glyphs:3w-1s
resumed charged $glyphs:3w-1s@60 --set budget.charge=support+query+validation --set budget.unit=unique --set data.split=20/5/5
resumed seen $glyphs:3w-1s@60 --set test.support=active
finish
