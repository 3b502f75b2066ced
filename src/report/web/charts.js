// charts.js - draws the page's charts from the data it carries.
//
// The page holds <script type="application/json" id="charts"> with one entry for
// every <figure data-chart="NAME">: its kind, titles and rows.  A figure is split
// into panels, each a Vega-Lite view as wide as its box, so that the page works at
// any width.  Text and axes are drawn in currentColor: light, dark and print need no
// second drawing.  Colours and dashes mean the same in every figure.
import embed from 'vega-embed';

// After Okabe and Ito's colours, told apart by everybody: no yellow, too pale on white, and a
// lighter blue, too dark on black.
const COLOURS = ['#1F83C4', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#8C6BB1', '#777777'];
const DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 6], [1, 3]];
const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'triangle-down'];

const config = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: 'currentColor', titleColor: 'currentColor', domainColor: 'currentColor',
    tickColor: 'currentColor', gridColor: 'currentColor', gridOpacity: 0.15,
    labelFontSize: 11, titleFontSize: 11, titleFontWeight: 'normal', titlePadding: 8, labelOverlap: true,
  },
  text: { color: 'currentColor' },
};

const distinct = (rows, key) => [...new Set(rows.map((r) => r[key]))];

// Methods and strategies everybody meets come first, so that they look alike on every page.
const USUAL = ['reptile', 'maml', 'protonet', 'fedavg', 'random', 'active', 'stratified'];
const usualFirst = (values) => [...USUAL.filter((v) => values.includes(v)), ...values.filter((v) => !USUAL.includes(v))];

// Every value of colour and dash on the page.
function scales(charts) {
  const rows = Object.values(charts).flatMap((c) => c.rows);
  const colour = usualFirst(distinct(rows.filter((r) => r.colour !== undefined), 'colour'));
  const dash = usualFirst(distinct(rows.filter((r) => r.dash), 'dash'));
  return {
    colour: new Map(colour.map((v, i) => [v, COLOURS[i % COLOURS.length]])),
    dash: new Map([...dash.map((v, i) => [v, DASHES[i % DASHES.length]]), ['', DASHES[0]]]),
    shape: new Map([...dash.map((v, i) => [v, SHAPES[i % SHAPES.length]]), ['', SHAPES[0]]]),
  };
}

const channel = (field, map, rows) => {
  const domain = distinct(rows, field);
  return { field, type: 'nominal', scale: { domain, range: domain.map((v) => map.get(v)) }, legend: null };
};

// 30k where numbers are large, 1,500 where they are not.
const numbers = (values) => {
  if (Math.max(...values) >= 10000) return '~s';
  return values.every(Number.isInteger) ? ',d' : '~g';
};

function xAxis(chart, rows) {
  const values = distinct(rows, 'x').sort((a, b) => a - b);
  const log = chart.log && values.length > 1 && values[0] > 0;
  const few = values.length <= 8;
  return {
    field: 'x', type: 'quantitative', title: chart.x,
    scale: log ? { type: 'log', nice: false, padding: 12 } : { zero: false, nice: !few, padding: few ? 12 : 0 },
    axis: { grid: false, format: numbers(values), ...(few ? { values } : {}) },
  };
}

// Percentages to a tenth, small numbers (losses, gaps) to three digits.
const places = (chart) => (chart.logY || Math.max(...chart.rows.map((r) => Math.abs(r.y))) < 10 ? '.3~g' : '.1f');

// Nothing is below 0 on a logarithmic axis: an interval that reaches there ends at its foot.
function aboveZero(rows) {
  const above = rows.filter((r) => r.y > 0), foot = Math.min(...above.map((r) => r.y)) / 2;
  return above.map((r) => (Number.isFinite(r.lo) ? { ...r, lo: Math.max(r.lo, foot) } : r));
}

const tooltip = (chart, more = []) => [
  { field: 'line', title: 'line' },
  { field: 'x', title: chart.x, type: 'quantitative', format: ',' },
  { field: 'y', title: chart.y, type: 'quantitative', format: places(chart) },
  ...more,
];

// Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where these are few.
function decades(rows) {
  const all = rows.flatMap((r) => [r.y, r.lo, r.hi]).filter((v) => v > 0);
  const from = Math.floor(Math.log10(Math.min(...all))), to = Math.ceil(Math.log10(Math.max(...all)));
  const steps = to - from > 2 ? [1] : [1, 2, 5];
  return Array.from({ length: to - from + 1 }, (_, i) => steps.map((s) => Number(`${s}e${from + i}`))).flat()
    .filter((v) => v >= Math.min(...all) && v <= Math.max(...all));
}

// A mean with its interval, against something.
function lines(chart, rows, s) {
  const interval = [{ field: 'lo', title: '95 % from', type: 'quantitative', format: places(chart) },
    { field: 'hi', title: 'to', type: 'quantitative', format: places(chart) },
    ...(rows.some((r) => r.note) ? [{ field: 'note', title: 'chosen' }] : [])];
  const base = { x: xAxis(chart, rows), detail: { field: 'line' } };
  const colour = channel('colour', s.colour, rows);
  const scale = chart.logY ? { type: 'log', nice: false, padding: 8 } : { zero: false };
  // An interval may reach beyond 0 or 100 %, the axis need not.
  if (/accuracy, %/.test(chart.y)) {
    if (rows.some((r) => r.hi > 100)) Object.assign(scale, { domainMax: 100, clamp: true });
    if (rows.some((r) => r.lo < 0)) Object.assign(scale, { domainMin: 0, clamp: true });
  }
  const axis = chart.logY ? { values: decades(rows), format: '~g' } : {};
  const y = (field) => ({ field, type: 'quantitative', title: chart.y, scale, axis });
  const points = !chart.curve && rows.length <= 80;
  const band = rows.some((r) => Number.isFinite(r.lo));
  const crowded = distinct(rows, 'line').length > 4;
  return {
    encoding: base,
    layer: [
      ...(band && !(crowded && chart.logY) ? [{ transform: [{ filter: 'isValid(datum.lo)' }],
        mark: { type: 'area', opacity: crowded ? 0.06 : 0.15 },
        encoding: { y: y('lo'), y2: { field: 'hi' }, color: colour } }] : []),
      ...(band && points ? [{ transform: [{ filter: 'isValid(datum.lo)' }],
        mark: { type: 'rule', opacity: crowded ? 0.35 : 0.6 },
        encoding: { y: y('lo'), y2: { field: 'hi' }, color: colour } }] : []),
      { mark: { type: 'line', strokeWidth: 2 },
        encoding: { y: y('y'), color: colour, strokeDash: channel('dash', s.dash, rows) } },
      { mark: { type: 'point', filled: true, size: points ? 45 : 8, opacity: 1 },
        encoding: { y: y('y'), color: colour,
          shape: channel('dash', s.shape, rows), tooltip: tooltip(chart, interval) } },
    ],
  };
}

// Shares by a small whole number, strategies side by side.
function bars(chart, rows, s) {
  return {
    mark: { type: 'bar' },
    encoding: {
      x: { field: 'x', type: 'ordinal', title: chart.x, axis: { labelAngle: 0 } },
      xOffset: { field: 'line' },
      y: { field: 'y', type: 'quantitative', title: chart.y },
      color: channel('colour', s.colour, rows),
      tooltip: tooltip(chart),
    },
  };
}

// Each user before and after: above the diagonal adaptation helped.
function users(chart, rows, s) {
  return {
    layer: [
      { data: { values: [{ x: 0, y: 0 }, { x: 100, y: 100 }] },
        mark: { type: 'line', strokeDash: [4, 4], opacity: 0.5, stroke: 'currentColor' },
        encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } } },
      { mark: { type: 'point', filled: true, size: 28, opacity: 0.55 },
        encoding: {
          x: { field: 'x', type: 'quantitative', title: chart.x, scale: { domain: [0, 100] }, axis: { tickCount: 5 } },
          y: { field: 'y', type: 'quantitative', title: chart.y, scale: { domain: [0, 100] }, axis: { tickCount: 5 } },
          color: channel('colour', s.colour, rows),
          shape: channel('dash', s.shape, rows),
          tooltip: [{ field: 'user' }, { field: 'line' }, { field: 'x', title: 'before', format: '.1f' },
            { field: 'y', title: 'after', format: '.1f' }],
        } },
    ],
  };
}

// How often the model is right when it says it is sure.
function calibration(chart, rows, s) {
  return {
    layer: [
      { data: { values: [{ x: 0, y: 0 }, { x: 100, y: 100 }] },
        mark: { type: 'line', strokeDash: [4, 4], opacity: 0.5, stroke: 'currentColor' },
        encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } } },
      { mark: { type: 'line', strokeWidth: 2, point: { filled: true, size: 30 } },
        encoding: {
          x: { field: 'x', type: 'quantitative', title: chart.x, scale: { domain: [0, 100] }, axis: { tickCount: 5 } },
          y: { field: 'y', type: 'quantitative', title: chart.y, scale: { domain: [0, 100] }, axis: { tickCount: 5 } },
          color: channel('colour', s.colour, rows),
          strokeDash: channel('dash', s.dash, rows),
          detail: { field: 'line' },
          tooltip: [...tooltip(chart), { field: 'n', title: 'predictions', type: 'quantitative', format: ',' }],
        } },
    ],
  };
}

// Differences with their intervals, one below the other.
function forest(chart, rows, s) {
  const y = { field: 'label', type: 'ordinal', title: null, sort: null, axis: { grid: false, labelLimit: 190 } };
  const colour = channel('colour', s.colour, rows);
  return {
    height: 17 * distinct(rows, 'label').length + 45,
    layer: [
      { data: { values: [{ x: 0 }] }, mark: { type: 'rule', strokeDash: [4, 4], opacity: 0.6, stroke: 'currentColor' },
        encoding: { x: { field: 'x', type: 'quantitative' } } },
      { mark: { type: 'rule', strokeWidth: 2 },
        encoding: { y, x: { field: 'lo', type: 'quantitative', title: chart.x }, x2: { field: 'hi' }, color: colour } },
      { mark: { type: 'point', filled: true, size: 50, opacity: 1 },
        encoding: { y, x: { field: 'x', type: 'quantitative' }, color: colour, shape: channel('dash', s.shape, rows),
          tooltip: [{ field: 'label', title: 'run' }, { field: 'x', title: 'difference', format: '+.1f' },
            { field: 'lo', title: '95 % from', format: '+.1f' }, { field: 'hi', title: 'to', format: '+.1f' },
            { field: 'note', title: 'verdict' }] } },
    ],
  };
}

const KINDS = { lines, bars, forest, users, calibration };

// The legend is HTML: one for all panels, and it wraps on a phone.
function legend(figure, chart, s) {
  const list = document.createElement('ul');
  list.className = 'legend';
  const seen = new Map(chart.rows.map((r) => [r.line, r]));
  for (const [line, r] of seen) {
    const item = document.createElement('li');
    const dash = chart.kind === 'bars' ? '' : (s.dash.get(r.dash) ?? [1, 0]).join(' ');
    item.innerHTML = '<svg width="26" height="8" aria-hidden="true"><line x1="0" y1="4" x2="26" y2="4"/></svg>';
    const stroke = item.querySelector('line');
    stroke.setAttribute('stroke', s.colour.get(r.colour) ?? 'currentColor');
    stroke.setAttribute('stroke-width', chart.kind === 'bars' ? '8' : '3');
    stroke.setAttribute('stroke-dasharray', dash);
    item.append(' ' + line);
    list.append(item);
  }
  figure.querySelector('.panels').before(list);
}

async function drawPanel(box, chart, name, rows, s) {
  const panel = document.createElement('div');
  panel.className = 'panel';
  if (name) {
    const title = document.createElement('h4');
    title.textContent = name;
    panel.append(title);
  }
  const view = document.createElement('div');
  view.className = 'view';
  view.setAttribute('role', 'img');
  view.setAttribute('aria-label', `${chart.title}${name ? ', ' + name : ''}; the numbers are in the table below`);
  panel.append(view);
  box.append(panel);
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    data: { values: rows }, width: 'container', height: chart.kind === 'users' ? 260 : 220,
    autosize: { type: 'fit', contains: 'padding', resize: true }, config,
    ...KINDS[chart.kind](chart, rows, s),
  };
  await embed(view, spec, {
    renderer: 'svg',
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: `${chart.title} ${name}`.trim().replace(/[^\w.-]+/g, '-'),
  });
}

async function drawFigure(figure, chart, s) {
  const box = figure.querySelector('.panels');
  let panels = distinct(chart.rows, 'panel');
  const rowsOf = (name) => {
    const rows = chart.rows.filter((r) => r.panel === name);
    return chart.logY ? aboveZero(rows) : rows;
  };
  if (chart.kind === 'lines') { // one place on the axis is no line
    const long = panels.filter((name) => distinct(rowsOf(name), 'x').length > 1);
    panels = long.length ? long : panels;
  }
  if (chart.kind !== 'forest') legend(figure, chart, s);
  for (const name of panels)
    await drawPanel(box, chart, name ?? '', rowsOf(name), s);
  figure.dataset.drawn = panels.length;
  const table = figure.querySelector(':scope > details');
  if (table) table.open = false; // without scripts the numbers stay open
}

async function drawAll() {
  const charts = JSON.parse(document.getElementById('charts').textContent);
  const s = scales(charts);
  for (const figure of document.querySelectorAll('figure[data-chart]')) {
    const chart = charts[figure.dataset.chart];
    try {
      await drawFigure(figure, chart, s);
    } catch (error) {
      figure.dataset.error = String(error);
      console.error(figure.dataset.chart, error);
    }
  }
  document.documentElement.dataset.ready = 'yes';
}

window.addEventListener('DOMContentLoaded', drawAll);
