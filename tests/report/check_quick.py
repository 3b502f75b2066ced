"""check_quick.py METE FOLDER [OPTIONS] - runs ./quickstart in a terminal of 80 columns and reads
what it prints.  Without options all of it is run, and what it should show is checked, too."""
import fcntl
import math
import os
import pty
import re
import sqlite3
import struct
import sys
import termios

failures = []


def check(name, holds, detail=''):
    if not holds:
        failures.append(name)
        print(f'FAILED {name}: {detail}', file=sys.stderr)


def run_in_terminal(command, environment, columns=80):
    """What the command writes to a terminal, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, **environment})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))
    text = b''
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def lines_of(text):
    """The lines as they stood on the screen: progress is written over."""
    for line in text.replace('\r\n', '\n').split('\n'):
        for part in re.sub('\x1b\\[[0-9;?]*[A-Za-z]', '', line).split('\r'):
            yield part


STUDENT = {2: 4.302652730, 3: 3.182446305, 4: 2.776445105}  # 97.5 %, by degrees of freedom


def interval(values):
    mean = sum(values) / len(values)
    spread = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return mean, STUDENT[len(values) - 1] * math.sqrt(spread / len(values))


def accuracies(db):
    """{(method, labels): {shots: {seed: per cent}}}"""
    out = {}
    for method, labels, shots, seed, accuracy in db.execute(
            "SELECT method, labels, t.shots, seed, accuracy FROM tests t JOIN runs USING (run) WHERE model = 'best'"):
        out.setdefault((method, labels), {}).setdefault(shots, {})[seed] = 100 * accuracy
    return out


def check_rows(lines, cells):
    """A row for each method and strategy: both accuracies; for active the paired differences."""
    names = {'protonet': 'ProtoNets', 'maml': 'MAML', 'reptile': 'Reptile'}
    method, rows = None, {}
    for line in lines:
        found = re.match(r'(ProtoNets|MAML|Reptile)? +(random|active) +(\d.*)', line)
        if found:
            method = found[1] or method
            rows[method, found[2]] = [(float(a), float(h)) for a, h in
                                      re.findall(r'([+-]?\d+\.\d) ±(\d+\.\d)', found[3])]
    check('a row for each method and strategy', len(rows) == 6, rows)
    for (m, labels), by_shots in cells.items():
        row = rows.get((names[m], labels), [])
        expected = [interval(list(by_shots[s].values())) for s in (1, 5)]
        check('the row has the accuracies', len(row) >= 2 and all(
            abs(a - b) < 0.051 and abs(g - h) < 0.051 for (a, g), (b, h) in zip(row, expected)), (m, labels, row, expected))
        if labels == 'active' and len(row) == 4:
            for s, (d, half) in zip((1, 5), row[2:]):
                pairs = [v - cells[m, 'random'][s][seed] for seed, v in by_shots[s].items()]
                mean, over_seeds = interval(pairs)
                check('the difference is paired', abs(d - mean) < 0.051, (m, s, d, mean))
                check('its interval is no narrower than over seeds', half > over_seeds - 0.051, (m, s, half, over_seeds))
        check('active has its difference, random has none', len(row) == (4 if labels == 'active' else 2), (m, labels, row))
    return rows


def check_verdict(text, rows):
    """What it says of a method is what the table's interval says."""
    verdict = ' '.join(text.split())
    said = re.search(r'Active labels(.*?); 5w-1s at 5K', verdict)
    check('there is a verdict on active labels', said, verdict[-400:])
    if not said:
        return
    for method in ('ProtoNets', 'MAML', 'Reptile'):
        difference, half = rows[method, 'active'][2]
        expected = 'undecided' if abs(difference) <= half else 'help' if difference > 0 else 'hurt'
        found = re.search(rf'(help|hurt|undecided for)(?:(?!help|hurt|undecided).)*{method} \(([+-]\d+\.\d) ±(\d+\.\d)\)', said[1])
        check('the verdict agrees with the table', found and found[1].startswith(expected) and
              (float(found[2]), float(found[3])) == (difference, half), (method, difference, half, said[0]))
    best = max(rows.items(), key=lambda r: r[1][0][0])
    check('it begins with the best', best[0][0] in verdict[verdict.index('At 5K labels'):][:60], (best, verdict[-500:]))


def check_full(db, cells):
    for (method, labels), by_shots in cells.items():
        for shots, by_seed in by_shots.items():
            half = interval(list(by_seed.values()))[1]
            check('an interval is less than 12 points wide', 2 * half < 12, (method, labels, shots, half))
    for method, first, best in db.execute(
            'SELECT method, 100 * avg((SELECT accuracy FROM checkpoints k WHERE k.run = r.run AND step = 0)),'
            ' 100 * avg(best_accuracy) FROM runs r JOIN outcomes USING (run) GROUP BY method'):
        check('validation rises by 8 points', best - first >= 8, (method, first, best))


def main():
    mete, folder, options = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    text, status = run_in_terminal(['./quickstart', *options], {'METE': mete, 'OUT': folder})
    check('it ends well', status == 0, text[-800:])
    lines = list(lines_of(text))
    own = [x for x in lines if mete not in x and folder not in x]  # here these paths are long
    wide = [x for x in own if len(x) > 80]
    check('nothing is wider than 80 columns', not wide, wide[:3])
    check('it says how long it takes', 'minutes' in text[:300], text[:300])
    db = sqlite3.connect(os.path.join(folder, 'quick.db'))
    runs = db.execute("SELECT count(*) FROM runs WHERE status = 'done'").fetchone()[0]
    finished = [x for x in lines if re.match(r'\w+ · \w+ · seed \d+ +\d+\.\d % +[\d,]+ labels +\d+ s$', x)]
    check('a line for each finished run', len(finished) == runs >= 18, (len(finished), runs))
    cells = accuracies(db)
    rows = check_rows(lines, cells)
    check_verdict(text, rows)
    check('three commands to try next', text[text.index('Next:'):].count(mete + ' ') == 3)
    check('it says once what is next', text.count('Next:') == 1, text[-1500:])
    check('the report is there', os.path.exists(os.path.join(folder, 'report.html')) and 'report.html' in text)
    check('no step is skipped at the start of a curve', db.execute(
        'SELECT count(*) FROM runs WHERE run NOT IN (SELECT run FROM checkpoints WHERE step = 0)').fetchone()[0] == 0)
    if not options:
        check_full(db, cells)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
