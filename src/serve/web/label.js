// label.js - one item at a time.  What is said of an item goes into an outbox that survives a
// reload, and from there to the server, in order; the next item is shown at once.  The same said
// twice changes nothing, so whatever was not confirmed is said again.

const $ = (id) => document.getElementById(id);
const node = (name, attributes, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
  e.append(...children);
  return e;
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const count = (n) => (Math.round(n * 100) / 100).toLocaleString('en-US');
const percent = (x) => (x > 0.995 ? 'over 99' : Math.round(100 * x)) + ' %';

const CLASS_KEYS = '123456789abcdefhijklmnopqrstuvwxy'; // not g and z, which do other things
let about = null;   // the data
let classes = [];   // {name, examples}
let me = null;      // {who, user, second}; an object of its own each time somebody begins
let view = null;    // what the server said last
let items = [];     // the one at hand, and the next
let shown = null;   // the item on the screen
let said = null;    // when something was said of the one before
let past = [];      // what was said of items, to undo
let outbox = [];    // what the server has not confirmed
let sending = false, guessing = false;
let round = null;   // the items of a round that are shown together; null: one at a time
const answers = new Map(); // what was said of items here, in words
let looking = null; // for whom
const pictures = new Map(); // loaded ahead

// ---- talking to the server ----

const store = () => sessionStorage.setItem('mete-unsent-' + about.name, JSON.stringify(outbox));

async function ask(path, body) {
  const answer = await fetch(path, body ? { method: 'POST', body: JSON.stringify(body) } : {});
  if (answer.status === 403) throw new Error('this server is gone: open the address of the new one');
  const said = await answer.json();
  return { ok: answer.ok, again: answer.status >= 500, said };
}

function say(path, more) {
  outbox.push({ path, body: { ...me, ...(round && { ahead: together() }), ...more } });
  store();
  send();
}

async function send() {
  if (sending) return;
  sending = true;
  while (outbox.length) {
    $('saved').textContent = `saving ${outbox.length} …`;
    let got, why = null;
    try {
      got = await ask(outbox[0].path, outbox[0].body);
      if (got.again) why = got.said.error;
    } catch (e) { why = e instanceof TypeError || e instanceof SyntaxError ? 'connection lost' : e.message; }
    if (why) {
      $('saved').textContent = `${outbox.length} not saved yet; trying again …`;
      complain(why);
      await sleep(1000);
      continue;
    }
    const { path, body } = outbox.shift();
    store();
    complain(got.ok ? '' : got.said.error);
    if (!got.ok) past = past.filter((q) => q.item !== body.item); // there is nothing to undo
    if (!isMe(body)) continue; // somebody else sits here now
    if (got.ok) {
      $('saved').textContent = path === 'skip' ? 'skipped' : path === 'undo' ? 'undone' : `saved: ${body.label ?? 'not sure'}`;
      if (path === 'undo') shown = null;
      take(got.said);
    } else if (!outbox.length) look();
  }
  sending = false;
  if (me && !view) look();
}

const isMe = (body) => me && body.who === me.who && body.user === me.user && body.second === me.second;

async function look(again) {
  if (!me || looking === me) return;
  const asked = looking = me;
  const to = new URLSearchParams({ who: asked.who, user: asked.user ?? '' });
  if (asked.second) to.set('second', '1');
  if (again) to.set('again', '1');
  if (round) to.set('ahead', together());
  let got = null;
  while (!got && me === asked) {
    try {
      got = await ask('next?' + to);
    } catch (e) {
      if (me === asked) complain(e instanceof TypeError ? 'connection lost; trying again …' : e.message);
      await sleep(1000);
    }
  }
  if (me !== asked) return; // the answer is for somebody who has left
  looking = null;
  complain(got.ok ? '' : got.said.error);
  if (got.ok) take(got.said);
}

function complain(text) {
  $('error').textContent = text;
  $('error').hidden = !text;
}

// What was said here and is not confirmed counts as said.
function take(said) {
  view = said;
  const settled = new Map(outbox.map((o) => [o.body.item, o.path !== 'undo']));
  items = said.items.filter((q) => !settled.get(q.item));
  const at = items.findIndex((q) => q.item === shown);
  if (at > 0) items.unshift(...items.splice(at, 1));
  load();
  show();
}

// ---- the item ----

function picture(q) {
  const image = pictures.get(q.item) ?? new Image();
  if (!pictures.has(q.item)) {
    image.src = `item/${q.item}.bmp`;
    image.alt = q.file ? `item ${q.item}, ${q.file}` : `item ${q.item}`;
    image.width = about.width;
    image.height = about.height;
    image.className = Math.max(about.width, about.height) < 256 ? 'coarse' : '';
    pictures.set(q.item, image);
  }
  return image;
}

function load() {
  if (!about.pictures) return;
  for (const item of [...pictures.keys()]) if (![...items, ...(round ?? [])].some((q) => q.item === item)) pictures.delete(item);
  items.forEach(picture);
}

const svg = (name, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};

// Numbers without names: their shape.
function drawing(values) {
  const low = Math.min(...values), high = Math.max(...values), w = 640, h = 160;
  const at = values.map((v, i) => `${(w * (i + 0.5) / values.length).toFixed(1)},${(h - 4 - (h - 8) * (high > low ? (v - low) / (high - low) : 0.5)).toFixed(1)}`);
  const box = svg('svg', { viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': `${values.length} numbers from ${count(low)} to ${count(high)}` });
  box.append(svg('polyline', { class: 'l k0', points: at.join(' ') }));
  return node('div', { class: 'panel' }, box);
}

function table(pairs) {
  const rows = pairs.map(([name, value]) => node('tr', {}, node('th', { scope: 'row' }, name), node('td', { class: 'n' }, value === null ? '–' : String(value))));
  return node('table', { class: pairs.length > 12 ? 'many' : '' }, node('tbody', {}, ...rows));
}

function body(q) {
  if (about.pictures) return [picture(q)];
  if (q.fields) return [table(Object.entries(q.fields))];
  const all = table(q.values.map((v, i) => [String(i), Number(v.toPrecision(4))]));
  return [drawing(q.values), node('details', {}, node('summary', {}, 'the numbers'), all)];
}

function where(q) {
  return [q.user !== undefined && q.user !== '' ? `${q.user}’s` : '', `item ${q.item}`, q.line ? `line ${q.line}` : '', q.file ?? ''].filter(Boolean).join(' · ');
}

const nothing = {
  none: 'Every item has an answer.',
  skipped: 'Only items are left that you skipped.',
  others: 'What is left is being asked of others now.',
  budget: 'The budget is spent. mete label status --budget raises it.',
};

// ---- a round at once ----

const together = () => Math.min(Math.max(about.round, 2), 20);
const isOpen = (q) => items.some((o) => o.item === q.item);

// Those answered stay where they are until the last one is; the one at hand has a frame.
function card(q) {
  const open = isOpen(q), what = about.pictures ? picture(q) : body(q)[0];
  const b = node('button', { type: 'button', 'data-card': q.item, 'aria-current': String(q.item === items[0].item), 'aria-label': [where(q), open ? '' : answers.get(q.item)].filter(Boolean).join(': ') }, ...(about.pictures ? [what] : [node('span', {}, where(q))]),
    node('span', { class: 'said' }, open ? '' : answers.get(q.item) ?? ''));
  b.disabled = !open;
  b.addEventListener('click', (e) => { if (e.detail) b.blur(); items.unshift(...items.splice(items.findIndex((o) => o.item === q.item), 1)); show(); });
  return about.pictures ? b : node('div', {}, b, what);
}

function showRound() {
  if (!round.some(isOpen)) round = [];
  for (const q of items) if (round.length < together() && !round.some((o) => o.item === q.item)) round.push(q);
  $('item').replaceChildren(node('div', { class: 'round', role: 'group', 'aria-label': 'the items of this round' }, ...round.map(card)));
}

function showTogether() {
  round = round ? null : [];
  $('together').setAttribute('aria-pressed', String(round !== null));
  shown = null;
  if (!view) return;
  show();
  look();
}

function show() {
  const q = items[0];
  if (!q) {
    shown = null;
    const waits = view.left === 'some';
    const button = node('button', { type: 'button', class: 'button' }, 'Look again');
    button.addEventListener('click', () => look(true));
    $('item').replaceChildren(node('p', {}, waits ? 'Choosing the next …' : nothing[view.left]), ...(waits ? [] : [button]));
    if (waits && !outbox.length) look();
  } else if (q.item !== shown || round) {
    const other = q.item !== shown;
    shown = q.item;
    $('item').dataset.item = q.item;
    if (round) showRound();
    else $('item').replaceChildren(...body(q), node('p', { class: 'made' }, where(q)));
    if (other) measure();
  }
  for (const b of document.querySelectorAll('#classes button, #unknown, #skip')) b.disabled = !q;
  $('undo').disabled = past.length === 0 && view.last === null;
  const left = view.budget > 0 ? ` of ${count(view.budget)}` : '';
  $('price').textContent = `${count(view.spent)}${left} labels spent`;
  $('progress').textContent = `· ${view.answered} answered, ${view.open} open · ${view.mine} by you`;
  $('guess').hidden = !guessing || !q || q.guess === undefined;
  if (q?.guess !== undefined) $('guess').textContent = `The model guesses ${q.guess} (${percent(q.sure)}).`;
  sureness();
}

function sureness() {
  const m = view.model;
  $('sure').hidden = !m || m.sure === null;
  if (!m || m.sure === null) return;
  const whose = m.user ? `${m.user}’s open items` : 'the open items';
  $('sure').textContent = `The model is ${percent(m.sure)} sure of ${whose}` + (m.before === m.sure ? '.' : ` (${percent(m.before)} at first).`);
}

// ---- what is said ----

// Time from a key or a tap to the next item on the screen, chosen and drawn.
function measure() {
  const start = said;
  if (start === null) return;
  said = null;
  const image = $('item').querySelector('img');
  const drawn = () => requestAnimationFrame(() => setTimeout(() => performance.measure('next', { start })));
  if (image && !image.complete) image.addEventListener('load', drawn, { once: true });
  else drawn();
}

function settle(path, more, event) {
  const q = items.shift();
  if (!q) return;
  past.push(q);
  answers.set(q.item, path === 'skip' ? 'skipped' : more.label ?? 'not sure');
  said = event.timeStamp;
  show();
  say(path, { item: q.item, ...more });
}

const answer = (label, event) => settle('answer', { label }, event);

function undo() {
  const q = past.pop(), item = q ? q.item : view?.last ?? null;
  if (item === null) return;
  if (q) {
    items.unshift(q);
    shown = null;
    show();
  }
  say('undo', { item });
}

function showGuess() {
  if (!view) return;
  guessing = about.model && !guessing;
  $('ask').setAttribute('aria-pressed', String(guessing));
  show();
}

// They are asked for again and again; buttons that are the same stay, with the focus on them.
function showClasses(all) {
  if (JSON.stringify(all) === JSON.stringify(classes)) return;
  const focused = document.activeElement?.dataset?.class;
  classes = all;
  const buttons = classes.map((c, i) => {
    const key = CLASS_KEYS[i];
    const b = node('button', { type: 'button', 'data-class': c.name }, ...(key ? [node('kbd', {}, key.toUpperCase())] : []), node('span', {}, c.name),
      ...(about.pictures ? c.examples.map((e) => node('img', { src: `item/${e}.bmp`, alt: '', class: 'coarse' })) : []));
    b.addEventListener('click', (e) => { if (e.detail) b.blur(); answer(c.name, e); }); // by pointer: keys stay free
    return b;
  });
  $('classes').replaceChildren(...buttons);
  $('find-one').hidden = classes.length <= CLASS_KEYS.length;
  find();
  for (const b of buttons) {
    b.disabled = view !== null && !items.length;
    if (b.dataset.class === focused) b.focus();
  }
}

async function loadClasses() {
  const got = await ask('classes');
  if (got.ok) showClasses(got.said.classes);
}

const found = () => [...$('classes').children].filter((b) => !b.hidden);
function find() {
  const text = $('find').value.trim().toLowerCase();
  for (const b of $('classes').children) b.hidden = !b.dataset.class.toLowerCase().includes(text);
}

async function addClass(name) {
  const got = await ask('class', { who: me.who, label: name });
  complain(got.ok ? '' : got.said.error);
  if (got.ok) showClasses(got.said.classes);
  if (view) show();
}

function onKey(e) {
  if (e.repeat || e.ctrlKey || e.metaKey || e.altKey || !me || document.querySelector('dialog[open]')) return;
  const at = e.target.closest?.('input, select, textarea');
  if (at) {
    if (at.id === 'find' && e.key === 'Enter' && found().length) { answer(found()[0].dataset.class, e); at.value = ''; find(); at.blur(); }
    return;
  }
  const key = e.key.toLowerCase(), n = CLASS_KEYS.indexOf(key);
  const pressed = e.target.closest?.('button, a, summary'); // Space and Enter press it
  if (key === ' ' && !pressed) settle('skip', {}, e);
  else if (key === '0') answer(null, e);
  else if (key === 'z' || key === 'backspace') undo();
  else if (key === 'g' && about.model) showGuess();
  else if (key === '+') $('new').showModal();
  else if (key === '#') showTogether();
  else if (key === '/' && !$('find-one').hidden) $('find').focus();
  else if (key === '?') $('keys').showModal();
  else if (key.length === 1 && n >= 0 && n < classes.length) answer(classes[n].name, e);
  else return;
  e.preventDefault();
}

// ---- who is here ----

// In the address, so that a reload goes on and each window may be somebody else's.
function remember() {
  const to = new URLSearchParams(me ? { who: me.who, ...(me.user && { user: me.user }), ...(me.second && { second: '1' }) } : {});
  history.replaceState(null, '', location.pathname + (me ? '#' + to : ''));
}

function recall() {
  const from = new URLSearchParams(location.hash.slice(1));
  return from.get('who') ? { who: from.get('who'), user: from.get('user'), second: from.has('second') } : null;
}

function enter(somebody) {
  me = somebody;
  remember();
  $('begin').hidden = true;
  $('desk').hidden = false;
  $('item').replaceChildren(node('p', {}, 'Choosing the first …'));
  past = [];
  items = [];
  view = shown = said = null;
  if (round) round = [];
  outbox.length ? send() : look();
}

function leave() {
  me = null;
  remember();
  $('desk').hidden = true;
  $('begin').hidden = false;
  $('saved').textContent = '';
  $('who').focus();
}

async function start() {
  const got = await ask('about');
  about = got.said;
  document.title = `mete: labels of ${about.name}`;
  $('title').textContent = `Label ${about.name}`;
  $('ask').hidden = !about.model;
  $('whose').hidden = about.users.length === 0;
  $('users').append(...about.users.map((u) => node('option', { value: u })));
  outbox = JSON.parse(sessionStorage.getItem('mete-unsent-' + about.name) ?? '[]');
  await loadClasses();
  $('who').value = localStorage.getItem('mete-who') ?? '';
  const somebody = recall();
  if (somebody) enter(somebody);
  else leave();
}

$('begin').addEventListener('submit', (e) => {
  e.preventDefault();
  const user = $('user').value.trim();
  if (user && !about.users.includes(user)) { complain(`There is nobody called ${user}.`); return; }
  complain('');
  localStorage.setItem('mete-who', $('who').value.trim());
  enter({ who: $('who').value.trim(), user: user || null, second: $('second').checked });
});
$('leave').addEventListener('click', leave);
$('unknown').addEventListener('click', (e) => { if (e.detail) e.currentTarget.blur(); answer(null, e); });
$('skip').addEventListener('click', (e) => { if (e.detail) e.currentTarget.blur(); settle('skip', {}, e); });
$('undo').addEventListener('click', (e) => { if (e.detail) e.currentTarget.blur(); undo(); });
$('ask').addEventListener('click', showGuess);
$('together').addEventListener('click', showTogether);
$('add').addEventListener('click', () => $('new').showModal());
$('help').addEventListener('click', () => $('keys').showModal());
$('find').addEventListener('input', find);
$('new').addEventListener('close', () => {
  const name = $('new-name').value.trim();
  $('new-name').value = '';
  if ($('new').returnValue === 'add' && name) addClass(name);
});
document.addEventListener('keydown', onKey);
setInterval(() => { if (me && !document.hidden) loadClasses().catch(() => {}); }, 20000); // new examples and classes
start().catch((e) => complain(e.message));
