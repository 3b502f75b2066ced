// live.js - the runs of a results database as they go.  The server sends the whole state whenever
// it changes; the browser opens a lost connection again by itself.

const $ = (id) => document.getElementById(id);
const node = (name, attributes, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
  e.append(...children);
  return e;
};
const count = (n) => Math.round(n).toLocaleString('en-US');
const percent = (x) => (100 * x).toFixed(1) + ' %';
const time = (s) => s < 100 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;

let state = null, chosen = null, drawn = null, drawing = false;

function tiles() {
  const all = state.planned + state.running + state.stopped + state.done + state.failed;
  const open = all - state.done - state.failed;
  const left = open === 0 ? ['nothing', 'every run has ended']
    : state.running === 0 ? ['nobody works', `${open} to go; run the same mete run again`]
    : state.left == null ? ['not known yet', 'no run has ended to go by']
    : [`about ${time(state.left)}`, `by ${state.timed} runs done; ${state.running} at a time`];
  const list = [
    ['Runs done', `${state.done} of ${all}`, [state.running && `${state.running} running`, state.planned && `${state.planned} planned`,
      state.stopped && `${state.stopped} stopped`, state.failed && `${state.failed} failed`].filter(Boolean).join(', ')],
    ['Time left', left[0], left[1]],
    ['Labels bought', count(state.labels), state.cap ? `of ${count(state.cap)} that all runs may buy` : 'no cap'],
    ['Failed', String(state.failed), state.failed ? 'their sentences are below' : ''],
  ];
  $('tiles').replaceChildren(...list.map(([name, value, more]) =>
    node('div', {}, node('dt', {}, name), node('dd', {}, value), node('dd', { class: 'more' }, more))));
}

const spent = (r) => r.spent ?? r.labels ?? 0;

function words(r) {
  if (r.status === 'done') return r.test != null ? percent(r.test) : 'done';
  if (r.status === 'failed') return 'failed';
  if (r.status === 'planned') return 'planned';
  return r.step == null || !r.steps ? r.status : `${r.status} ${Math.floor(100 * r.step / r.steps)} %`;
}

function sentence(v, r) {
  const parts = [`${v.bench} · ${v.method} · ${v.labels} · seed ${r.seed}: ${r.status}`];
  if (r.message) parts.push(r.message);
  if (r.step != null && r.steps) parts.push(`step ${count(r.step)} of ${count(r.steps)}`);
  if (r.labels != null) parts.push(`${count(r.labels)} labels` + (r.budget ? `; ${count(spent(r))} of ${count(r.budget)} charged` : ''));
  if (r.valid != null) parts.push(`validation ${percent(r.valid)}`);
  if (r.test != null) parts.push(`test ${percent(r.test)}`);
  if (r.seconds != null) parts.push(time(r.seconds));
  return parts.join(' · ');
}

function cell(v, r) {
  const label = sentence(v, r);
  const button = node('button', { type: 'button', class: `run ${r.status}`, title: label, 'data-run': r.id, 'aria-pressed': String(r.id === chosen) }, words(r));
  button.addEventListener('click', () => { chosen = r.id === chosen ? null : r.id; show(); });
  if (r.budget) {
    const share = Math.min(1, spent(r) / r.budget);
    button.append(node('span', { class: 'spent', style: `--share:${(100 * share).toFixed(1)}%`, 'aria-hidden': 'true' }));
  }
  return node('td', {}, button);
}

function grid() {
  const seeds = [...new Set(state.variants.flatMap((v) => v.runs.map((r) => r.seed)))].sort((a, b) => a - b);
  const focused = document.activeElement?.dataset?.run;
  const columns = ['method', 'labels', 'shots', ...seeds.map((s) => `seed ${s}`)];
  const head = node('tr', {}, ...columns.map((t) => node('th', { scope: 'col' }, t)));
  let bench = null;
  const rows = state.variants.flatMap((v) => {
    const cells = seeds.map((s) => v.runs.find((r) => r.seed === s)).map((r) => (r ? cell(v, r) : node('td', {})));
    const row = node('tr', {}, node('th', { scope: 'row' }, v.method),
      node('td', {}, v.apart ? `${v.labels}, ${v.apart}` : v.labels), node('td', { class: 'n' }, String(v.shots)), ...cells);
    if (v.bench === bench) return [row];
    bench = v.bench;
    return [node('tr', { class: 'group' }, node('th', { colspan: String(columns.length), scope: 'colgroup' }, bench)), row];
  });
  $('grid').tHead.replaceChildren(head);
  $('grid').tBodies[0].replaceChildren(...rows);
  if (focused) document.querySelector(`[data-run="${focused}"]`)?.focus();
}

function detail() {
  const lines = [];
  for (const v of state.variants)
    for (const r of v.runs) {
      if (r.id === chosen) lines.unshift(node('p', {}, sentence(v, r)));
      else if (r.status === 'failed') lines.push(node('p', { class: 'failure' }, sentence(v, r)));
    }
  $('detail').replaceChildren(...lines);
}

function show() {
  $('error').hidden = !state.error;
  $('error').textContent = state.error ?? '';
  if (state.error) return;
  tiles();
  grid();
  detail();
}

// The charts take the server longer than the state, so they are asked for one at a time.
async function charts(version) {
  if (drawing || drawn === version) return;
  drawing = true;
  try {
    const answer = await fetch('charts');
    if (answer.ok) {
      const open = [...$('charts').querySelectorAll('figure > details[open]')].map((d) => d.parentElement.dataset.chart);
      $('charts').innerHTML = await answer.text();
      enableFigures($('charts'));
      for (const id of open) { const d = document.querySelector(`figure[data-chart="${id}"] > details`); if (d) d.open = true; }
      drawn = version;
      $('charts').dataset.version = version;
    }
  } catch { /* the connection: events say so */ }
  setTimeout(() => { drawing = false; if (latest !== drawn) charts(latest); }, 3000);
}

let latest = null;
const events = new EventSource('events');
events.onopen = () => { $('link').textContent = 'live'; $('link').className = 'made'; };
events.onerror = () => {
  $('link').textContent = events.readyState === EventSource.CLOSED ? 'this server is gone: open the address of the new one' : 'connection lost; trying again …';
  $('link').className = 'made lost';
};
events.onmessage = (e) => {
  state = JSON.parse(e.data);
  latest = e.lastEventId;
  show();
  charts(latest);
};
if (location.search) history.replaceState(null, '', location.pathname); // the cookie has the token now
