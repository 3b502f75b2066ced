"""check_theory.py DB PAGE [FOLDER] - opens the report of studies in Chromium and holds its
figures against the database: every point, interval and fitted shape is worked out here again.

Every check is a sentence; screenshots go to FOLDER where one is given."""
import math
import os
import sqlite3
import sys

from check_page import check, check_charts, check_reading, failures
from chrome import Chrome

TABLES = """Object.fromEntries([...document.querySelectorAll('figure')].map(f => [f.dataset.chart,
    [...f.querySelectorAll('tr')].map(r => [...r.cells].map(c => c.textContent))]))"""


def show(x):
    return '–' if x is None else f'{x:.0f}' if abs(x) >= 100 else f'{x:.3g}'


def studies(db, wanted):
    """{run: {'method': ..., 'labels': ..., measure: (value, half), ...}} of runs that have `wanted`."""
    runs = {}
    for run, method, labels, name, value, half in db.execute(
            'SELECT r.run, method, labels, name, value, half FROM runs r JOIN measures USING (run)'
            ' ORDER BY r.run'):
        runs.setdefault(run, {'method': method, 'labels': labels})[name] = (value, half)
    return [r for r in runs.values() if wanted in r]


def over_seeds(runs, key, name):
    """{key(run): (mean, half over tasks, half over seeds)}"""
    groups = {}
    for r in runs:
        if r[name][0] is not None:
            groups.setdefault(key(r), []).append(r[name])
    out = {}
    for k, pairs in groups.items():
        values = [v for v, _ in pairs]
        mean = sum(values) / len(values)
        halves = [h for _, h in pairs]
        tasks = None if None in halves else math.sqrt(sum(h * h for h in halves)) / len(halves)
        out[k] = (mean, tasks, None)  # two seeds are too few for an interval
    return out


def solve(a, b):
    m = [row[:] + [x] for row, x in zip(a, b)]
    for p in range(len(b)):
        m[p] = [x / m[p][p] for x in m[p]]
        for i in range(len(b)):
            if i != p:
                m[i] = [x - m[i][p] * y for x, y in zip(m[i], m[p])]
    return [row[-1] for row in m]


def shape(runs, name):
    """a, b, c of a + b/sqrt(n) + c/m, by least squares."""
    x = [[1, 1 / math.sqrt(r['n'][0]), 1 / r['m'][0]] for r in runs]
    y = [r[name][0] for r in runs]
    return solve([[sum(r[i] * r[j] for r in x) for j in range(3)] for i in range(3)],
                 [sum(r[i] * v for r, v in zip(x, y)) for i in range(3)])


def close(a, b):
    return a is not None and b is not None and abs(a - b) <= 1e-6 * max(1e-6, abs(b))


def check_points(chart, name, expected):
    """expected: {(panel, line, x): (y, half or None)}"""
    shown = {(r['panel'], r['line'], r['x']): r for r in chart['rows']}
    check(f'{name} shows every point and no other', shown.keys() == expected.keys(),
          set(shown) ^ set(expected))
    for key, (y, half) in expected.items():
        r = shown.get(key, {})
        check(f'{name} shows what was measured', close(r.get('y'), y), (key, r, y))
        check(f'{name} shows its interval', r.get('hi') is None if half is None else
              close(r.get('hi'), y + half) and close(r['hi'] - r['y'], r['y'] - r['lo']), (key, r, half))


def against(runs, measure, x, other):
    """A measure and its shape along x, for labels bought as in the first run."""
    plain = [r for r in runs if r['labels'] == runs[0]['labels']]
    expected = {}
    for (method, n, m), (y, tasks, _) in over_seeds(
            plain, lambda r: (r['method'], r['n'][0], r['m'][0]), measure).items():
        at = {'n': n, 'm': m}
        a, b, c = shape([r for r in plain if r['method'] == method], measure)
        panel = f'{other} = {at[other]:.0f}'
        expected[panel, method, at[x]] = (y, tasks)
        expected[panel, method + ', fitted', at[x]] = (a + b / math.sqrt(n) + c / m, None)
    return expected


def constants(runs):
    others = {r['n'][0] for r in runs if r['labels'] != runs[0]['labels']}
    expected = {}
    for name, title in (('outer_L', 'L′'), ('outer_gamma', 'γ′')):
        for (method, labels, n, m), (y, _, seeds) in over_seeds(
                runs, lambda r: (r['method'], r['labels'], r['n'][0], r['m'][0]), name).items():
            if n in others:
                expected[f'{title}, n = {n:.0f}', f'{method}, {labels}', m] = (y, seeds)
    return expected


def drift(runs, measure, line=''):
    expected = {}
    for (trained, lr, steps), (y, tasks, seeds) in over_seeds(
            runs, lambda r: (r['trained'][0], r['lr'][0], r['steps'][0]), measure).items():
        panel = 'trained weights' if trained else 'initial weights'
        expected[panel, f'T = {steps:.0f}{line}', lr] = (y, tasks if tasks is not None else seeds)
    return expected


def drift_bound(runs):
    both = {**drift(runs, 'summed'), **drift(runs, 'bound', ', appendix')}
    return {k: (y, None) for k, (y, _) in both.items() if y > 0 and not k[1].startswith('T = 1,')
            and k[1] != 'T = 1'}


def expected_charts(db):
    gaps, drifts = studies(db, 'gap'), studies(db, 'cosine')
    check('there are studies of both kinds', gaps and drifts, (len(gaps), len(drifts)))
    check('strategies are compared', len({r['labels'] for r in gaps}) > 1)
    check('drift is measured at initial and at trained weights',
          {r['trained'][0] for r in drifts} == {0, 1}, len(drifts))
    return {'gap-n': against(gaps, 'gap', 'n', 'm'), 'gap-m': against(gaps, 'gap', 'm', 'n'),
            'beta-outer': against(gaps, 'outer_beta', 'n', 'm'),
            'beta-inner': against(gaps, 'inner_beta', 'm', 'n'), 'constants': constants(gaps),
            'drift-cosine': drift(drifts, 'cosine'), 'drift-deviation': drift(drifts, 'deviation'),
            'drift-bound': drift_bound(drifts)}


def drawn(figures):
    """{figure: rows} as the marks on the paper have them."""
    return {f['name']: {'rows': [{'panel': p['title'], 'line': m['line'], 'x': m['x'], 'y': m['y'],
                                  'lo': m['lo'], 'hi': m['hi']} for p in f['panels'] for m in p['marks']
                                 if m['kind'] == 'm']}
            for f in figures}


def check_lines(figures):
    """Each line of each panel is on the paper."""
    for f in figures:
        for p in f['panels']:
            lines = {m['line'] for m in p['marks']}
            check('every line is drawn', p['lines'] == len(lines), (f['name'], p['title'], p['lines'], lines))


def check_tables(chrome, db, expected):
    """The numbers stand in the tables: gaps with both intervals, and the shapes."""
    tables = chrome.run(TABLES)
    for name in expected:
        check('every figure has a table of its points', len(tables.get(name, [])) > 1, name)
    gaps = studies(db, 'gap')
    plain = [r for r in gaps if r['labels'] == gaps[0]['labels']]
    rows = {tuple(r[:3]): r for r in tables['gap-n']}
    for (method, n, m), (y, tasks, seeds) in over_seeds(
            plain, lambda r: (r['method'], r['n'][0], r['m'][0]), 'gap').items():
        row = rows.get((method, f'{n:.0f}', f'{m:.0f}'), [])
        check('the table of gaps matches the database',
              row[3:6] == [show(y), '±' + show(tasks), '±' + show(seeds) if seeds is not None else '–'],
              (method, n, m, row))
    order = [(r[0], int(r[2]), int(r[1])) for r in tables['gap-n'][1:]]
    check('the table of gaps is in order', order == sorted(order), order)
    fits = {(r[1], r[3]): r for r in tables['gap-parts'] if r[2] == plain[0]['labels']}
    for method in {r['method'] for r in plain}:
        row = fits.get((method, 'gap'), [])
        fitted = shape([r for r in plain if r['method'] == method], 'gap')
        check('the shapes stand in a table', [c.split(' ')[0] for c in row[5:8]] == [show(x) for x in fitted],
              (method, row, fitted))


def main():
    db, page = sqlite3.connect(sys.argv[1]), sys.argv[2]
    folder = sys.argv[3] if len(sys.argv) > 3 else None
    chrome = Chrome()
    try:
        expected = expected_charts(db)
        for name, width, dark in (('desktop', 1400, False), ('dark', 1400, True), ('phone', 400, False)):
            chrome.open(page, width=width, dark=dark)
            figures = check_charts(chrome, width, len(expected))
            charts = drawn(figures)
            for chart, points in expected.items():
                check_points(charts.get(chart, {'rows': []}), chart, points)
            check_lines(figures)
            check_reading(chrome, name)
            check(f'no complaints ({name})', not chrome.complaints(), chrome.complaints())
            if folder:
                chrome.screenshot(os.path.join(folder, f'theory {name}.png'))
        chrome.open(page, width=400, scripts=False)
        check_tables(chrome, db, expected)
        wide = chrome.run('document.documentElement.scrollWidth')
        check('without scripts it does not scroll sideways', wide <= 400, wide)
    finally:
        chrome.close()
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
