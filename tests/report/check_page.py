"""check_page.py DB PAGE [FOLDER] - opens the report in Chromium and says what does not hold.

Every check is a sentence; screenshots go to FOLDER where one is given."""
import os
import sqlite3
import sys

from chrome import Chrome

failures = []


def check(name, holds, detail=''):
    if not holds:
        failures.append(name)
        print(f'FAILED {name}: {detail}', file=sys.stderr)


FIGURES = """[...document.querySelectorAll('figure[data-chart]')].map(f => ({
    name: f.dataset.chart, error: f.dataset.error ?? '', drawn: +f.dataset.drawn,
    views: [...f.querySelectorAll('.view')].map(v => {
        const svg = v.querySelector('svg');
        const marks = svg ? [...svg.querySelectorAll('.mark-symbol path, .mark-line path, .mark-rect path, .mark-rule line')] : [];
        const box = svg ? svg.getBoundingClientRect() : {};
        return {marks: marks.length, width: box.width, height: box.height, right: box.right};
    }),
    open: f.querySelector(':scope > details').open}))"""

# The first table as {row labels: {column: text}}; a blank label repeats the one above.
TABLE = """(() => {
    const t = document.querySelector('table.results');
    const heads = [...t.querySelectorAll('thead tr')].map(r => [...r.querySelectorAll('th.group, th.value')]
        .flatMap(h => Array(h.colSpan).fill(h.textContent)));
    const names = heads[0].map((_, j) => heads.map(h => h[j]).join(' '));
    const out = {}, above = [];
    for (const r of t.querySelectorAll('tbody tr')) {
        const labels = [...r.querySelectorAll('th')].map(h => h.textContent);
        const paper = r.classList.contains('paper');
        if (!paper) labels.forEach((l, i) => { if (l) above[i] = l; });
        out[(paper ? 'paper ' : '') + above.join(' ')] =
            Object.fromEntries([...r.querySelectorAll('td')].map((d, j) => [names[j], d.textContent]));
    }
    return out;
})()"""


def count(n):
    if n is None:
        return 'no cap'
    return f'{n // 1000}K' if n >= 1000 and n % 1000 == 0 else str(n)


def check_table(chrome, db):
    table = chrome.run(TABLE)
    cells = 0
    for dataset, ways, shots, budget, method, labels, accuracy, seeds, half, half_tasks in db.execute(
            "SELECT dataset, ways, test_shots, budget, method, labels, accuracy, seeds, half_seeds,"
            " half_tasks FROM accuracy_best WHERE model = 'best'"):
        row = f'{dataset} {ways}w-{shots}s {count(budget)}'
        half = half if seeds > 1 else half_tasks
        expected = f'{100 * accuracy:.1f}' + (f' ±{100 * half:.1f}' if half is not None else '')
        shown = table.get(row, {}).get(f'{method} {labels}')
        check('the table matches the database', shown == expected,
              f'{row}, {method} {labels}: {shown!r}, not {expected!r}')
        cells += 1
    check('the table has cells', cells > 0)
    paper = table.get('paper omniglot 5w-1s 30K', {})
    check("the paper's numbers stand below ours", paper.get('maml random') == '83.3', paper)


def check_charts(chrome, width, least=8):
    check(f'the charts are drawn at {width} px', chrome.wait("document.documentElement.dataset.ready == 'yes'"))
    figures = chrome.run(FIGURES)
    check('there are figures', len(figures) >= least, len(figures))
    for f in figures:
        check('every chart draws', not f['error'] and f['drawn'] == len(f['views']) > 0, f)
        check('every panel shows marks', all(v['marks'] > 0 and v['height'] > 50 for v in f['views']), f)
        check(f'charts fit into {width} px', all(v['right'] <= width + 1 for v in f['views']), f)
        check('the numbers fold away when the chart is there', not f['open'], f['name'])
    wide = chrome.run('document.documentElement.scrollWidth')
    check(f'the page does not scroll sideways at {width} px', wide <= width, wide)


def luminance(colour):
    r, g, b = (int(x) for x in colour[colour.index('(') + 1:-1].split(',')[:3])
    return (r + g + b) / 3


def check_ink(chrome, name, dark):
    paper = chrome.run('getComputedStyle(document.body).backgroundColor')
    ink = chrome.run("getComputedStyle(document.querySelector('.view svg .role-axis-label text')).fill")
    check(f'ink and paper ({name})', (luminance(paper) < 80 < luminance(ink)) if dark
          else (luminance(ink) < 80 < luminance(paper)), (paper, ink))


def main():
    db, page = sqlite3.connect(sys.argv[1]), sys.argv[2]
    folder = sys.argv[3] if len(sys.argv) > 3 else None
    chrome = Chrome()
    try:
        for name, width, dark in (('desktop', 1280, False), ('dark phone', 400, True)):
            chrome.open(page, width=width, dark=dark)
            check_charts(chrome, width)
            check_table(chrome, db)
            check(f'no complaints ({name})', not chrome.complaints(), chrome.complaints())
            check_ink(chrome, name, dark)
            if folder:
                chrome.screenshot(os.path.join(folder, name + '.png'))
        chrome.open(page, width=400, scripts=False)
        check_table(chrome, db)
        check('without scripts the numbers are open',
              chrome.run("[...document.querySelectorAll('figure > details')].every(d => d.open)"))
        check('without scripts every figure has a table',
              chrome.run("[...document.querySelectorAll('figure')].every(f => f.querySelector('table td'))"))
        check('without scripts it says so', 'Scripts are off' in chrome.run('document.body.innerText'))
        wide = chrome.run('document.documentElement.scrollWidth')
        check('without scripts it does not scroll sideways', wide <= 400, wide)
        check('it prints', len(chrome.pdf()) > 20000)
    finally:
        chrome.close()
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
