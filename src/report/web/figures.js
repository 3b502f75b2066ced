// figures.js - what the page gains by scripts: a legend that isolates a line in every figure,
// and a readout of the points of a chart, by pointer or by arrow keys.  The drawings and the
// numbers are there without it.
'use strict';

let isolated = null;

function isolate(line) {
  isolated = line === isolated ? null : line;
  for (const figure of document.querySelectorAll('figure')) {
    const groups = [...figure.querySelectorAll('g.s')];
    const known = groups.some((g) => g.dataset.line === isolated);
    for (const g of groups) g.classList.toggle('dim', isolated !== null && known && g.dataset.line !== isolated);
  }
  for (const b of document.querySelectorAll('.legend button'))
    b.setAttribute('aria-pressed', String(b.parentElement.dataset.line === isolated));
}

// Entries of a legend become buttons.
function enableLegends(root) {
  for (const item of root.querySelectorAll('.legend li')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('aria-pressed', 'false');
    button.append(...item.childNodes);
    button.addEventListener('click', () => isolate(item.dataset.line));
    item.append(button);
  }
}

const sentence = (mark) => mark.querySelector('title')?.textContent ?? '';

function select(figure, mark) {
  figure.querySelector('.on')?.classList.remove('on');
  mark?.classList.add('on');
  figure.querySelector('.readout').textContent = mark ? sentence(mark) : '';
}

// The mark next to the pointer, within a finger's width.
function nearest(svg, event) {
  const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  let best = null, least = 22;
  for (const mark of svg.querySelectorAll('[data-at]')) {
    const [mx, my] = mark.dataset.at.split(' ').map(Number);
    const far = Math.hypot(mx - x, my - y);
    if (far < least && !mark.parentElement.classList.contains('dim')) [best, least] = [mark, far];
  }
  return best;
}

function step(figure, event) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') select(figure, null);
  if (!by) return;
  const marks = [...figure.querySelectorAll('[data-at]')].filter((m) => m.getClientRects().length);
  const at = marks.indexOf(figure.querySelector('.on'));
  select(figure, marks[(at + by + marks.length) % marks.length]);
  event.preventDefault();
}

function enableReadout(figure) {
  const panels = figure.querySelector('.panels');
  if (!panels) return;
  const readout = document.createElement('p');
  readout.className = 'readout';
  readout.setAttribute('aria-live', 'polite');
  panels.after(readout);
  panels.tabIndex = 0;
  panels.setAttribute('role', 'group');
  panels.setAttribute('aria-label', `${figure.querySelector('h3').textContent}: arrow keys read the points`);
  panels.addEventListener('keydown', (e) => step(figure, e));
  for (const svg of panels.querySelectorAll('svg')) {
    svg.addEventListener('pointermove', (e) => select(figure, nearest(svg, e)));
    svg.addEventListener('pointerdown', (e) => select(figure, nearest(svg, e)));
  }
}

function enableFigures(root) {
  enableLegends(root);
  for (const figure of root.querySelectorAll('figure')) {
    enableReadout(figure);
    const table = figure.querySelector(':scope > details');
    if (table && figure.querySelector('svg')) table.open = false; // without scripts it stays open
  }
}

enableFigures(document);
document.documentElement.dataset.ready = 'yes';
