# The command itself: help, the manual page, completions, and being asked wrongly.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
ok "help" "$METE" --help
ok "version" "$METE" --version
commands=$("$METE" help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
table=$(grep -o '&command_[a-z_]*' "$(dirname "$0")/../../src/cli/commands.c" | sort -u | wc -l)
same "every row of the table is listed" "$table" "$(wc -l <<<"$commands")"
while read -r command; do
    # shellcheck disable=SC2086 # one word or two
    ok "help of $command" "$METE" $command --help
    same "$command says how it is used" "usage: mete $command" "$(head -n 1 "$tmp/out" | cut -c "-$((12 + ${#command}))")"
    same "its help fits 80 columns" "" "$(awk 'length > 80' "$tmp/out")"
    # shellcheck disable=SC2086
    same "'mete help $command' is the same" "$(cat "$tmp/out")" "$("$METE" help $command)"
done <<<"$commands"

# what is near to what was written
refuses "no command" 2 "no command 'trian'; did you mean 'train'?" "$METE" trian
refuses "two words" 2 "no command 'lable'; did you mean 'label next'?" "$METE" lable next
refuses "the first of two words" 2 "no command 'lable'; did you mean 'label'?" "$METE" lable
refuses "a command like no other" 2 "no command 'xyzzy'; 'mete --help' lists them" "$METE" xyzzy
refuses "no second word" 2 "data: expected import, info, sheet or fetch, got 'imprt'; did you mean 'import'?" "$METE" data imprt
refuses "a command without its second word" 2 "data: expected import, info, sheet or fetch, got 'nothing'" "$METE" data
refuses "help of no command" 2 "did you mean 'train'" "$METE" help trian
refuses "no option" 2 "run has no option '--treads'; did you mean '--threads'?" "$METE" run --treads 3
refuses "an option with its value" 2 "did you mean '--format'?" "$METE" results x.db --fromat=csv
refuses "an option like no other" 2 "'mete run --help' lists them" "$METE" run --xyzzy
refuses "no choice" 2 "expected table, summary, paper, csv, json, latex or markdown, got 'jsn'; did you mean 'json'?" "$METE" results x.db --format jsn
refuses "no number" 2 "--threads: expected a whole number of 0 or more, got '-1'" "$METE" train glyphs:5w-1s@500 --threads -1
refuses "half a number" 2 "--seconds: expected a number, got '2x'" "$METE" speed --seconds 2x
refuses "no value" 2 "--db needs a value: --db DB" "$METE" run --db
refuses "a value too many" 2 "--dry-run takes no value" "$METE" run --dry-run=yes
refuses "too few words" 2 "train takes BENCH, got nothing; for example: mete train" "$METE" train
refuses "too many words" 2 "eval takes MODEL [BENCH], got 3 arguments" "$METE" eval a b c
refuses "words where none are taken" 2 "speed takes options only, got 'glyphs'" "$METE" speed glyphs
refuses "part of the name of a plug-in" 2 "did you mean 'protonet'" "$METE" show proto
refuses "a plug-in in capitals" 2 "did you mean 'maml'" "$METE" show MAML
if ! "$METE" list devices | grep -q '^cuda'; then
    refuses "a GPU without CUDA" 1 "this mete was built without CUDA" "$METE" train glyphs:5w-1s@500 --device cuda -o "$tmp/no"
fi
refuses "a device" 2 "no device or kernel set named 'portble'; did you mean 'portable'?" "$METE" train glyphs:5w-1s@500 --device portble -o "$tmp/no"
mkdir -p "$tmp/sets/people" && touch "$tmp/sets/people/meta.json"
for wrong in "glyhs:5w-1s@500 glyphs" "peple:5w-1s@500 people"; do
    read -r bench right <<<"$wrong"
    refuses "a dataset like $right" 2 "no dataset '${bench%%:*}'; did you mean '$right'?" env METE_DATA="$tmp/sets" "$METE" train $bench
done
for wrong in "glyphs:5w1s@30K glyphs:5w-1s@30K" "glyphs:5way-1shot@30k glyphs:5w-1s@30K" "glyphs:20-5 glyphs:20w-5s" "glyphs:5w_1s@2m glyphs:5w-1s@2M"; do
    read -r bench right <<<"$wrong"
    refuses "a benchmark like $right" 2 "did you mean '$right'?" "$METE" train $bench
done
# a place is blamed only if the value stood there
refuses "a method" 2 "mete: --method: no method named 'mamll'; did you mean 'maml'?" "$METE" train glyphs:5w-1s@500 --method mamll
refuses "a strategy" 2 "mete: --labels: no label strategy named 'activ'; did you mean 'active'?" "$METE" train glyphs:5w-1s@500 --labels activ
refuses "ways" 2 "mete: glyphs: 500 ways" "$METE" train glyphs:500w-1s@5M
refuses "a setting" 2 "mete: --set: no setting named 'train.stepps'; did you mean 'train.steps'?" "$METE" train glyphs:5w-1s@500 --set train.stepps=3
refuses "a value" 2 "mete: --set: train.reuse: expected epochs|draw, got 'epoch'; did you mean 'epochs'?" "$METE" train glyphs:5w-1s@500 --set train.reuse=epoch
same "where settings come from" "command line|--method|--set" "$("$METE" train glyphs:5w-1s@500 --method protonet --set train.steps=3 \
    --print-config | awk -F'# ' '/^(bench|method|train.steps) /{ printf "%s%s", n++ ? "|" : "", $2 }')"

# the manual page
"$METE" help --man >"$tmp/mete.1"
same "every command has a section" "$table" "$(grep -c '^\.SS "mete ' "$tmp/mete.1")"
same "every option is in it" "$(while read -r c; do "$METE" help $c; done <<<"$commands" | grep -cE '^  --?[a-zA-Z]')" \
    "$(grep -c '^\.TP' <(sed '/^\.SH EXIT/,$d' "$tmp/mete.1"))"
if command -v groff >/dev/null; then
    groff -man -Tutf8 -K utf8 -ww "$tmp/mete.1" >"$tmp/page" 2>"$tmp/err"
    same "troff has nothing to complain of" "" "$(cat "$tmp/err")"
    same "the page shows an option" yes "$(grep -q -- '--dry-run' "$tmp/page" && echo yes)"
else
    skip "no groff to print the manual page with"
fi

# completion in bash: complete WORD... prints what the last word can become
"$METE" help --bash >"$tmp/mete.bash"
complete_in_bash() {
    METE_DATA=$tmp/sets bash -c '. "$0"; COMP_WORDS=(mete "$@") COMP_CWORD=$#; _mete; printf "%s " "${COMPREPLY[@]}"' \
        "$tmp/mete.bash" "$@"
}
ok "bash reads it" bash -n "$tmp/mete.bash"
same "commands" "train tasks " "$(complete_in_bash t)"
same "the second word" "import info " "$(complete_in_bash data i)"
same "a command that is also a first word" "fit " "$(complete_in_bash stability f)"
same "options" "--db --device --dry-run " "$(complete_in_bash run --d)"
same "options of two words" "--force " "$(complete_in_bash data import table --f)"
same "choices" "csv " "$(complete_in_bash results --format c)"
same "methods" "protonet " "$(complete_in_bash train --method prot)"
same "settings" "inner.lr= inner.loss= " "$(complete_in_bash train --set inner.l)"
same "benchmarks" "glyphs: glyphs-users: " "$(complete_in_bash train gl)"
same "datasets" "people " "$(complete_in_bash data info p)"
same "after an option" "glyphs: glyphs-users: " "$(complete_in_bash train --seed 2 gl)"
same "kinds of import" "table " "$(complete_in_bash data import ta)"
same "files" "$tmp/mete.bash " "$(complete_in_bash report "$tmp/mete.b")"
if command -v zsh >/dev/null; then
    "$METE" help --zsh >"$tmp/_mete"
    ok "zsh reads its completion" zsh -n "$tmp/_mete"
    if command -v python3 >/dev/null; then
        cat >"$tmp/.zshrc" <<ZSH
PS1='> '; fpath=($tmp \$fpath); autoload -Uz compinit && compinit -u -D
ZSH
        complete_in_zsh() { python3 "$here/zsh_complete.py" "$tmp" "$1"; }
        same "commands in zsh" "mete results " "$(complete_in_zsh "mete resu")"
        same "options in zsh" "mete run --dry-run " "$(complete_in_zsh "mete run --dry")"
        same "methods in zsh" "mete train --method protonet " "$(complete_in_zsh "mete train --method prot")"
        same "kinds of import in zsh" "mete data import table " "$(complete_in_zsh "mete data import tab")"
        same "settings in zsh" "mete train --set inner.steps=" "$(complete_in_zsh "mete train --set inner.st")"
    fi
else
    skip "no zsh"
fi

# installed beside the command
if command -v cmake >/dev/null && [ -e "$(dirname "$METE")/cmake_install.cmake" ]; then
    ok "install" cmake --install "$(dirname "$METE")" --prefix "$tmp/usr"
    for file in bin/mete share/man/man1/mete.1 share/bash-completion/completions/mete share/zsh/site-functions/_mete; do
        same "$file is installed" yes "$([ -s "$tmp/usr/$file" ] && echo yes)"
    done
else
    skip "no cmake to install with"
fi
finish
