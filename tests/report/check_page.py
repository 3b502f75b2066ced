"""check_page.py DB PAGE [FOLDER] - opens the report in Chromium and says what does not hold.

Every check is a sentence; screenshots go to FOLDER where one is given.  With - for DB only
what holds for any page is checked."""
import math
import os
import re
import sqlite3
import sys

from chrome import Chrome

failures = []


def check(name, holds, detail=''):
    if not holds:
        failures.append(name)
        print(f'FAILED {name}: {detail}', file=sys.stderr)


# The drawings that are shown, with their marks, and the ticks of the y axis.
FIGURES = """[...document.querySelectorAll('figure[data-chart]')].map(f => ({
    name: f.dataset.chart, open: f.querySelector(':scope > details').open,
    panels: [...f.querySelectorAll('.panel')].map(p => {
        const svgs = [...p.querySelectorAll('svg')].filter(s => s.getClientRects().length);
        const svg = svgs[0], box = svg ? svg.getBoundingClientRect() : {};
        const number = t => parseFloat(t.replace(/,/g, '')) * ({K: 1e3, M: 1e6}[t.slice(-1)] ?? 1);
        return {title: p.querySelector('h4')?.textContent ?? '', shown: svgs.length, width: box.width,
            height: box.height, right: box.right, scale: svg ? box.width / svg.viewBox.baseVal.width : 0,
            label: svg?.getAttribute('aria-label') ?? '', log: svg?.dataset.scale === 'log',
            lines: svg ? svg.querySelectorAll('.l').length : 0,
            ticks: svg ? [...svg.querySelectorAll('text[text-anchor=end]')].map(t =>
                [number(t.textContent), +t.getAttribute('y') - 4]).filter(([v]) => !isNaN(v)) : [],
            marks: svg ? [...svg.querySelectorAll('[data-at]')].map(m => ({
                line: m.parentElement.dataset.line, at: m.dataset.at.split(' ').map(Number),
                x: m.dataset.x === undefined ? null : +m.dataset.x, y: m.dataset.y === undefined ? null : +m.dataset.y,
                lo: m.dataset.lo === undefined ? null : +m.dataset.lo, hi: m.dataset.hi === undefined ? null : +m.dataset.hi,
                says: m.querySelector('title')?.textContent ?? '', kind: m.getAttribute('class')})) : []};
    })}))"""

# The first table as {row labels: {column: [text, bold]}}; a blank label repeats the one above.
TABLE = """(() => {
    const t = document.querySelector('table.results');
    const heads = [...t.querySelectorAll('thead tr')].map(r => [...r.querySelectorAll('th.group, th.value')]
        .flatMap(h => Array(h.colSpan).fill(h.textContent)));
    const names = heads[0].map((_, j) => heads.map(h => h[j]).join(' '));
    const out = {}, above = [];
    for (const r of t.querySelectorAll('tbody tr')) {
        const labels = [...r.querySelectorAll('th')].map(h => h.textContent);
        const paper = r.classList.contains('paper');
        if (!paper) labels.forEach((l, i) => { if (l) above[i] = l.replace('†', ''); });
        out[(paper ? 'paper ' : '') + above.join(' ')] = Object.fromEntries([...r.querySelectorAll('td')]
            .map((d, j) => [names[j], [d.textContent, d.classList.contains('best')]]));
    }
    return out;
})()"""

# Every text that is shown with its contrast against what is behind it, worst first.
CONTRAST = """(() => {
    const parse = c => { const n = c.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
    const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c[3] > 0.99) return c;
        }
        return [255, 255, 255, 1];
    };
    const texts = [], lines = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const e = walk.currentNode.parentElement;
        if (!walk.currentNode.textContent.trim() || !e.getClientRects().length || ['SCRIPT', 'title'].includes(e.tagName)) continue;
        const s = getComputedStyle(e), ink = parse(e.namespaceURI.endsWith('svg') ? s.fill : s.color);
        texts.push([ratio(ink, behind(e)), e.tagName + ': ' + walk.currentNode.textContent.trim().slice(0, 40)]);
    }
    for (const e of document.querySelectorAll('svg .l, svg .i'))
        if (e.getClientRects().length) lines.push([ratio(parse(getComputedStyle(e).stroke), behind(e)), e.closest('g, svg').getAttribute('class')]);
    const first = a => a.sort((x, y) => x[0] - y[0])[0];
    return {text: first(texts), line: first(lines), texts: texts.length, lines: lines.length};
})()"""

# What can be reached by keyboard and has no name.
NAMELESS = """[...document.querySelectorAll('a, button, summary, input, select, [tabindex], [role=img]')]
    .filter(e => e.getClientRects().length && !(e.getAttribute('aria-label') || e.textContent).trim())
    .map(e => e.outerHTML.slice(0, 80))"""

# Of the verdict the whole, of the first chart the top must be on the first screen.
FIRST = """(() => {
    const verdict = document.querySelector('.verdict').getBoundingClientRect();
    const svg = [...document.querySelectorAll('figure svg')].find(s => s.getClientRects().length && !s.classList.contains('key'));
    const box = svg.getBoundingClientRect();
    return {verdict: verdict.bottom, top: box.top, bottom: box.bottom, height: innerHeight};
})()"""


def count(n):
    if n is None:
        return 'no cap'
    return f'{n // 1000}K' if n >= 1000 and n % 1000 == 0 else str(n)


def cells(db):
    """{(row, column): (accuracy, half)} of the best models; intervals over seeds from three on."""
    return {(f'{dataset} {ways}w-{shots}s {count(budget)}', f'{method} {labels}'):
            (100 * accuracy, None if half is None else 100 * half)
            for dataset, ways, shots, budget, method, labels, accuracy, half in db.execute(
                'SELECT dataset, ways, test_shots, budget, method, labels, accuracy,'
                ' iif(seeds >= 3, half_seeds, half_tasks) FROM accuracy_best WHERE model = \'best\'')}


def check_table(chrome, db):
    table, expected = chrome.run(TABLE), cells(db)
    check('the table has cells', len(expected) > 0)
    for (row, column), (accuracy, half) in expected.items():
        wanted = f'{accuracy:.1f}' + (f' ±{half:.1f}' if half is not None else '')
        shown = table.get(row, {}).get(column, ['', None])
        check('the table matches the database', shown[0] == wanted, (row, column, shown, wanted))
        best, spread = max((a, h or 0) for (r, _), (a, h) in expected.items() if r == row)
        tied = round(10 * best) == round(10 * accuracy) or best - accuracy <= math.hypot(spread, half or 0)
        check('bold is what cannot be told apart from the best', shown[1] == tied, (row, column, shown, best))
    paper = table.get('paper omniglot 5w-1s 30K', {})
    check("the paper's numbers stand below ours", paper.get('maml random', [''])[0] == '83.3', paper)


def check_marks(figure, panel):
    """A mark is where the axis has its number: the pixels between the outer ticks say where."""
    ticks = sorted(panel['ticks'])
    if len(ticks) < 2 or any(m['y'] is None for m in panel['marks']):
        return
    (v0, p0), (v1, p1) = ticks[0], ticks[-1]
    f = math.log if panel['log'] else (lambda v: v)
    for m in panel['marks']:
        at = p0 + (p1 - p0) * (f(m['y']) - f(v0)) / (f(v1) - f(v0))
        check('a mark is where its number is', abs(at - m['at'][1]) < 0.75, (figure, panel['title'], m, at))


def check_charts(chrome, width, least=4, scripts=True):
    if scripts:
        check(f'the script ran at {width} px', chrome.wait("document.documentElement.dataset.ready == 'yes'"))
    figures = chrome.run(FIGURES)
    check('there are figures', len(figures) >= least, len(figures))
    for f in figures:
        check('every figure has panels', len(f['panels']) > 0, f['name'])
        for p in f['panels']:
            check('every panel is drawn once', p['shown'] == 1, (f['name'], p['title'], p['shown']))
            check('every panel shows marks', p['marks'] and p['height'] > 40, (f['name'], p['title']))
            check('every mark says what it is', all(m['says'] for m in p['marks']), (f['name'], p['title']))
            check(f'charts fit into {width} px', p['right'] <= width + 1, (f['name'], p['right']))
            check('text in charts has the size of text', 0.72 < p['scale'] < 1.45, (f['name'], p['title'], p['scale']))
            check('labels have no long numbers', not re.search(r'\d\.\d{4}', p['label']), p['label'])
            check_marks(f['name'], p)
        check('the numbers fold away with scripts and are open without', f['open'] != scripts, f['name'])
    wide = chrome.run('document.documentElement.scrollWidth')
    check(f'the page does not scroll sideways at {width} px', wide <= width, wide)
    return figures


def check_reading(chrome, name):
    worst = chrome.run(CONTRAST)
    check(f'text has a contrast of 4.5 ({name})', worst['texts'] > 20 and worst['text'][0] >= 4.5, worst['text'])
    check(f'lines have a contrast of 3 ({name})', worst['lines'] == 0 or worst['line'][0] >= 3, worst['line'])
    nameless = chrome.run(NAMELESS)
    check(f'every control has a name ({name})', not nameless, nameless)


def check_first_screen(chrome, name):
    first = chrome.run(FIRST)
    check(f'the first screen holds the verdict ({name})', first['verdict'] <= first['height'], first)
    part = (first['height'] - first['top']) / (first['bottom'] - first['top'])
    check(f'the first screen holds the chart ({name})', part >= (1 if name == 'desktop' else 0.5), first)


def check_verdict(chrome, db):
    """The sentence begins with the best of the first test at its least budget."""
    text = chrome.run("document.querySelector('.verdict').textContent")
    found = re.match(r'At (\S+) labels .*? (\d+w-\d+s)(?: with|:) (\d+\.\d) ', text)
    check('the verdict names a budget, a test and an accuracy', found, text)
    if found:
        best = max(a for (row, _), (a, _) in cells(db).items() if row.endswith(f'{found[2]} {found[1]}'))
        check('its accuracy is the best there', found[3] == f'{best:.1f}', (text, best))


def press(chrome, key):
    for kind in ('keyDown', 'keyUp'):
        chrome.call('Input.dispatchKeyEvent', type=kind, key=key, code=key)


def check_keyboard(chrome):
    chrome.run("document.querySelector('figure .panels').focus()")
    said = []
    for key in ('ArrowRight', 'ArrowRight', 'ArrowLeft'):
        press(chrome, key)
        said.append(chrome.run("document.querySelector('figure .readout').textContent"))
    check('arrow keys read the points', said[0] and said[1] and said[0] != said[1] and said[2] == said[0], said)
    press(chrome, 'Escape')
    check('Escape ends it', not chrome.run("document.querySelector('figure .readout').textContent"))
    line = chrome.run("(b => (b.click(), b.parentElement.dataset.line))(document.querySelector('.legend button'))")
    dim = chrome.run("""[...document.querySelectorAll('g.s')].filter(g => g.classList.contains('dim') ===
        (g.dataset.line === %r)).length""" % line)
    others = chrome.run("document.querySelectorAll('g.s.dim').length")
    check('a click in a legend leaves one line', others > 0 and dim < chrome.run(
        "document.querySelectorAll('g.s').length") and not chrome.run(
        "[...document.querySelectorAll('g.s.dim')].some(g => g.dataset.line === %r)" % line), (line, dim, others))
    chrome.run("document.querySelector('.legend button').click()")
    check('a second click brings them back', chrome.run("document.querySelectorAll('g.s.dim').length") == 0)


def check_print(chrome):
    chrome.call('Emulation.setEmulatedMedia', media='print')
    check_reading(chrome, 'print')
    check('a printed page has its charts', chrome.run(
        "[...document.querySelectorAll('.panel')].every(p => [...p.querySelectorAll('svg')].filter(s => s.getClientRects().length).length === 1)"))
    check('it prints', len(chrome.pdf()) > 20000)
    chrome.call('Emulation.setEmulatedMedia', media='')


def main():
    db = sqlite3.connect(sys.argv[1]) if sys.argv[1] != '-' else None
    page, folder = sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
    chrome = Chrome()
    try:
        for name, width, height, dark in (('desktop', 1400, 1000, False), ('dark', 1400, 1000, True),
                                          ('phone', 400, 800, False), ('dark phone', 400, 800, True)):
            chrome.open(page, width=width, height=height, dark=dark)
            check_charts(chrome, width)
            if db:
                check_table(chrome, db)
                check_verdict(chrome, db)
            check_reading(chrome, name)
            check_first_screen(chrome, 'desktop' if width > 400 else name)
            check_keyboard(chrome)
            check(f'no complaints ({name})', not chrome.complaints(), chrome.complaints())
            if folder:
                chrome.screenshot(os.path.join(folder, name + '.png'))
        for width in (1400, 400):
            chrome.open(page, width=width, scripts=False)
            check_charts(chrome, width, scripts=False)
            if db:
                check_table(chrome, db)
            check_reading(chrome, 'no scripts')
            check('without scripts there is no button', chrome.run("document.querySelectorAll('button').length") == 0)
        chrome.open(page, width=800)
        check_print(chrome)
    finally:
        chrome.close()
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
