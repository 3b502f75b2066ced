# mete report: the page in a browser, event files read back, and being asked wrongly.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")/../report
fixture=$(dirname "$METE")/fixture_db
if ! "$fixture" "$tmp/x.db" 2>"$tmp/err"; then
    skip "no report without SQLite: $(cat "$tmp/err")"
    finish
fi
ok "help" "$METE" report --help
ok "a page and event files" "$METE" report "$tmp/x.db" -o "$tmp/report.html" --tensorboard "$tmp/tb"
same "its name is printed" "$tmp/report.html" "$(cat "$tmp/out")"
same "nothing of the network is in it" 0 "$(grep -cE '(src|href)="https?:' "$tmp/report.html")"
refuses "no database" 1 "No such file" "$METE" report "$tmp/y.db" -o "$tmp/y.html"
refuses "no argument" 2 "report takes DB, got nothing" "$METE" report
refuses "nowhere to write" 1 "nowhere" "$METE" report "$tmp/x.db" -o "$tmp/nowhere/y.html"
refuses "unknown suite" 2 "has no suite 'quick'" "$METE" report "$tmp/x.db" --suite quick -o "$tmp/y.html"
if ! command -v python3 >/dev/null; then
    skip "python3 reads the event files and drives the browser, and is not here"
    finish
fi
ok "event files read back" python3 "$here/read_events.py" "$tmp/x.db" "$tmp/tb"
if ! command -v chromium >/dev/null; then
    skip "chromium is not here to open the page"
else
    ok "the page in a browser" python3 "$here/check_page.py" "$tmp/x.db" "$tmp/report.html"
    cp results/table1-omniglot.db "$tmp/table1.db"
    ok "a page of Table 1" "$METE" report "$tmp/table1.db" -o "$tmp/table1.html"
    ok "it holds, too" python3 "$here/check_page.py" "$tmp/table1.db" "$tmp/table1.html"
    cp results/resplit.db "$tmp/resplit.db"
    ok "a page of a setting that varies" "$METE" report "$tmp/resplit.db" -o "$tmp/resplit.html"
    ok "and this one" python3 "$here/check_page.py" - "$tmp/resplit.html"
    cp results/theory.db "$tmp/theory.db"
    ok "a page of the theory" "$METE" report "$tmp/theory.db" -o "$tmp/theory.html"
    ok "its figures are what was measured" python3 "$here/check_theory.py" "$tmp/theory.db" "$tmp/theory.html"
fi
finish
