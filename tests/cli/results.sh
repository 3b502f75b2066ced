# mete results: the tables of a database, and being asked wrongly.
. "$(dirname "$0")/lib.sh"
fixture=$(dirname "$METE")/fixture_db
if ! "$fixture" "$tmp/x.db" 2>"$tmp/err"; then
    skip "no results without SQLite: $(cat "$tmp/err")"
    finish
fi
ok "help" "$METE" results --help
ok "a table" "$METE" results "$tmp/x.db"
same "the paper's line is there" 1 "$(grep -c 'paper  *73.3  *77.2' "$tmp/out")"
ok "beside the paper" "$METE" results "$tmp/x.db" --paper
same "its numbers and ours" 1 "$(grep -cE '^omniglot 5w-1s 30K +Reptile +random +[0-9.]+ ±[0-9.]+ +73\.3 +[-+][0-9.]+  (above|near|below)$' "$tmp/out")"
above=$(grep -c '  above$' "$tmp/out") near=$(grep -c '  near$' "$tmp/out") below=$(grep -c '  below$' "$tmp/out")
same "its sentence counts its lines" 1 "$(tr '\n' ' ' <"$tmp/out" |
    grep -cE "Of $((above + near + below)) cells that the paper has, $above (is|are) above its number, $near within .* and $below further below")"
same "nothing is wider than 80 columns" "" "$(grep -E '^.{81}' "$tmp/out")"
ok "csv" "$METE" results "$tmp/x.db" --format csv
same "csv lines" 117 "$(wc -l <"$tmp/out")"
ok "the last model" "$METE" results "$tmp/x.db" --last --format json
if command -v python3 >/dev/null; then
    ok "a table in a terminal" python3 "$(dirname "$0")/terminal.py" 80 "$METE" results "$tmp/x.db"
    tr -d '\r' <"$tmp/out" | sed 's/\x1b\[[0-9;]*m//g' >"$tmp/narrow"
    same "keeps to its width" "" "$(LC_ALL=C.UTF-8 grep -E '.{81}' "$tmp/narrow")"
    "$METE" results "$tmp/x.db" >"$tmp/wide"
    numbers() { tr -d '*' <"$1" | grep -oE '[0-9.]+ ±[0-9.]+' | sort; }
    same "and has every number" "$(numbers "$tmp/wide" | cksum)" "$(numbers "$tmp/narrow" | cksum)"
fi
ok "a narrow table" "$METE" results "$tmp/x.db" --width 60
same "has lines of 60 columns" "" "$(LC_ALL=C.UTF-8 grep -E '.{61}' "$tmp/out")"
refuses "no database" 1 "No such file" "$METE" results "$tmp/y.db"
refuses "no argument" 2 "results takes DB, got nothing; for example: mete results results.db" "$METE" results
refuses "unknown format" 2 "expected table, summary, paper, csv, json, latex or markdown" "$METE" results "$tmp/x.db" --format xls
refuses "unknown suite" 2 "has no suite 'quick'" "$METE" results "$tmp/x.db" --suite quick
echo "not a database, but long enough to look at as one" >"$tmp/z.db"
refuses "no database at all" 1 "not a results database" "$METE" results "$tmp/z.db"
finish
