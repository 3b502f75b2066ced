// label.mjs PEOPLE SHAPES ASK.csv - the labelling page: by keys, by touch, by two at once.
// ASK.csv has the questions of `mete label next` to the first person.
import { readFileSync } from 'node:fs';
import { check, finish, looks, open, problems, serve, sleep, until } from './browser.mjs';

const [people, shapes, asked] = process.argv.slice(2);

// What stands in a ledger: rows of labels, of "not known" and of seconds that nobody took back.
function ledger(data) {
  let rows = [];
  try { rows = readFileSync(data + '/answers.log', 'utf8').split('\n').slice(1).map((l) => l.split('\t')).filter((r) => r[0] && r[0] !== 'end'); } catch { /* nobody has answered */ }
  for (const [kind, , , number] of rows) if (kind === 'undo') rows[Number(number)].undone = true;
  return rows.filter((r) => !r.undone && ['label', 'unknown', 'second'].includes(r[0]))
    .map((r) => ({ kind: r[0], who: r[2], item: Number(r[3]), klass: r[0] === 'unknown' ? null : r[4] }));
}
const item = (page) => page.locator('#item').getAttribute('data-item').then(Number);
const saved = (page) => until(async () => !/saving|not saved/.test(await page.locator('#saved').textContent()));
const next = (page, before) => until(async () => (await item(page)) !== before);
const address = (server, who, more = '') => `${server.address}#who=${who}${more}`;
async function sit(server, who, more, options) {
  const page = await open(address(server, who, more), options);
  await page.waitForSelector('#item[data-item]');
  return page;
}
const quiet = (name, page) => check(`${name}: nothing in the console`, page.complaints.length === 0, page.complaints);

// ---- by keys ----
let server = await serve(people, '--port', '0');
let page = await open(server.address);
await page.waitForSelector('#begin:not([hidden])');
check('the form: names, contrast', (await problems(page)).length === 0, await problems(page));
await page.keyboard.type('ann');
await page.keyboard.press('Enter');
await page.waitForSelector('#item[data-item]');
check('the token leaves the address', !page.url().includes('token'), page.url());
const classes = await page.locator('#classes button').evaluateAll((all) => all.map((b) => b.dataset.class));
check('a button for each class', classes.join() === 'climb,cycle,run,sit,walk', classes);
check('a row as a table', (await page.locator('#item th').allTextContents()).join() === 'device,s0,s1,s2,s3,s4,s5,s6,s7');

const given = [];
for (let i = 0; i < 20; i++) {
  const at = await item(page), k = i % 5;
  given.push({ item: at, klass: classes[k] });
  await page.keyboard.press(String(k + 1));
  check('the next item', await next(page, at), at);
  await sleep(60); // a very quick person
}
await saved(page);
const first = readFileSync(asked, 'utf8').trim().split('\n').slice(1).map((l) => Number(l.split(',')[0]));
check('the first questions are those of mete label next', given.slice(0, first.length).map((g) => g.item).join() === first.join(), [given, first]);
check('20 items by keys are in the ledger', JSON.stringify(ledger(people)) === JSON.stringify(given.map((g) => ({ kind: 'label', who: 'ann', ...g }))), ledger(people));
check('and on the page', /^20 labels spent/.test(await page.locator('#price').textContent()), await page.locator('#price').textContent());

let at = await item(page);
await page.keyboard.press('z');
check('undo brings the item back', await until(async () => (await item(page)) === given[19].item));
await saved(page);
check('and takes it out of the ledger', ledger(people).length === 19);
await page.keyboard.press('1');
check('then the one that was at hand', await until(async () => (await item(page)) === at));
await saved(page);
check('another answer', ledger(people)[19].klass === 'climb');
await page.keyboard.press('Space');
check('skip', await next(page, at));
await saved(page);
check('is no answer', ledger(people).length === 20);
await page.keyboard.press('z');
check('undo of a skip', await until(async () => (await item(page)) === at));
await page.keyboard.press('0');
check('not sure', await next(page, at));
await saved(page);
check('is an answer', ledger(people)[20]?.klass === null && ledger(people)[20].item === at, ledger(people)[20]);
await page.keyboard.press('?');
check('help', await page.locator('#keys').isVisible());
check('help: names, contrast', (await problems(page)).length === 0);
await page.keyboard.press('1');
await page.keyboard.press('Escape');
check('a key in it is no answer', ledger(people).length === 21);
await page.locator('#skip').focus();
at = await item(page);
await page.keyboard.press('Space');
check('Space on a button presses it once', await next(page, at));
await saved(page);

// ---- a reload in the middle ----
at = await item(page);
await page.reload();
await page.waitForSelector('#item[data-item]');
check('a reload shows the same item', (await item(page)) === at, [at, await item(page)]);
await page.keyboard.press('z');
check('and knows the last answer', await until(() => ledger(people).length === 20));
await saved(page);
await page.keyboard.press('0');
check('which is given again', await until(() => ledger(people).length === 21));
await saved(page);
await page.route('**/answer', (r) => r.abort());
const lost = [];
for (const k of ['1', '2', '3']) { lost.push(await item(page)); await page.keyboard.press(k); await next(page, lost.at(-1)); }
check('what is not saved is said', await until(async () => /not saved/.test(await page.locator('#saved').textContent())));
check('and is not counted', /^21 labels/.test(await page.locator('#price').textContent()));
await page.unroute('**/answer');
await page.reload();
check('it is saved after a reload', await until(() => ledger(people).length === 24), ledger(people));
check('all of it', lost.every((i, n) => ledger(people).some((r) => r.item === i && r.klass === classes[n])), [lost, ledger(people).slice(21)]);
await page.waitForSelector('#item[data-item]');
check('and not asked again', !lost.includes(await item(page)));
check('nothing else in the console', page.complaints.every((c) => /ERR_FAILED/.test(c)), page.complaints);
await page.context().close();

// ---- two at once ----
const both = await Promise.all([sit(server, 'ann'), sit(server, 'bob')]);
const seen = await Promise.all(both.map(async (p, i) => {
  const mine = [];
  for (let n = 0; n < 20; n++) {
    const now = await item(p);
    mine.push(now);
    await p.keyboard.press(String(1 + (n + i) % 5));
    await next(p, now);
  }
  await saved(p);
  return mine;
}));
check('two at once never have the same item', new Set(seen.flat()).size === 40, seen);
const after = ledger(people);
check('nothing is charged twice', new Set(after.map((r) => r.item)).size === after.length && after.length === 64, after.length);
check('each has their own', seen[1].every((i) => after.find((r) => r.item === i)?.who === 'bob'));
for (const p of both) { quiet('two at once', p); await p.context().close(); }
page = await sit(server, 'bob', '&second=1');
const second = [];
for (let n = 0; n < 5; n++) { second.push(await item(page)); await page.keyboard.press('4'); await next(page, second[n]); }
await saved(page);
check('a second opinion is of what somebody else labelled', second.every((i) => after.some((r) => r.item === i && r.who === 'ann' && r.klass)), second);
check('and is counted', ledger(people).filter((r) => r.kind === 'second' && r.who === 'bob').length === 5);
quiet('seconds', page);
await page.context().close();

// ---- somebody else at the same desk, while the first waits for an item, and without a connection ----
page = await sit(server, 'cem');
await page.route('**/next?who=dora*', (r) => r.abort());
const change = async (who) => { await page.click('#leave'); await page.fill('#who', who); await page.click('#begin button[type=submit]'); };
at = await item(page);
await change('dora');
check('who comes has none of the other’s items', /Choosing the first/.test(await page.locator('#item').textContent()));
await page.keyboard.press('1');
await sleep(100);
check('and answers none of them', !ledger(people).some((r) => r.item === at), ledger(people).at(-1));
check('a lost connection is said', await until(async () => /connection lost/.test(await page.locator('#error').textContent())));
await change('emil');
check('the next comes in all the same', await until(async () => /^emil|item/.test(await page.locator('#item .made').first().textContent().catch(() => ''))));
const emils = await item(page);
await page.keyboard.press('1');
check('and answers as themselves', await until(() => ledger(people).some((r) => r.item === emils && r.who === 'emil')), ledger(people).at(-1));
await saved(page);
await page.keyboard.press('z');
check('and takes it back', await until(() => !ledger(people).some((r) => r.item === emils)));
await saved(page);
check('nothing else in the console', page.complaints.every((c) => /ERR_FAILED/.test(c)), page.complaints);
await page.context().close();

// ---- classes are asked for again and again; the focus stays where it is ----
page = await open(address(server, 'fay'));
await page.clock.install();
await page.reload();
await page.waitForSelector('#item[data-item]');
await page.locator('[data-class=run]').focus();
await page.evaluate(() => { document.querySelector('[data-class=run]').marked = true; });
const asks = page.waitForResponse('**/classes');
await page.clock.fastForward(21000);
await asks;
await sleep(100);
check('a button that is the same stays', await page.evaluate(() => document.activeElement.marked === true && document.activeElement.dataset.class === 'run'));
await page.context().close();

// ---- one person's, until nothing is left ----
page = await sit(server, 'p039', '&user=p039');
const ended = async () => /Every item has an answer/.test(await page.locator('#item').textContent());
for (let n = 0; n < 24; n++) {
  const now = await item(page);
  await page.keyboard.press('1');
  await until(async () => ((await item(page)) !== now && (await page.locator('#skip').isEnabled())) || (await ended()));
}
check('the end is said', await until(ended), await page.locator('#item').textContent());
check('of 24 items', ledger(people).filter((r) => r.who === 'p039').length === 24);
quiet('one person', page);
await page.context().close();
await server.kill();

// ---- by touch ----
server = await serve(shapes, '--port', '0');
const phone = { viewport: { width: 400, height: 800 }, hasTouch: true, isMobile: true };
page = await sit(server, 'eve', '', phone);
for (const name of ['disc', 'ring', 'square', 'triangle']) {
  await page.tap('#add');
  await page.fill('#new-name', name);
  await page.tap('#new button[value=add]');
  check('a new class', await until(async () => (await page.locator(`[data-class=${name}]`).count()) === 1), name);
}
check('a picture with a name', /^item \d+, unlabelled/.test(await page.locator('#item img').getAttribute('alt')));
const touched = [];
for (let i = 0; i < 20; i++) {
  const now = await item(page);
  touched.push(now);
  await page.locator('#classes button').nth(i % 4).tap();
  check('the next picture', await next(page, now), now);
}
await saved(page);
check('20 items by touch are in the ledger', ledger(shapes).map((r) => r.item).join() === touched.join() && ledger(shapes)[5].klass === 'ring', ledger(shapes));
await page.tap('#undo');
check('undo by touch', await until(async () => (await item(page)) === touched[19]));
await saved(page);
await page.tap('#skip');
check('skip by touch', await next(page, touched[19]));
await saved(page);
check('19 are left', ledger(shapes).length === 19);
await page.tap('#unknown');
check('not sure by touch', await until(() => ledger(shapes).length === 20));
await saved(page);
check('touch: names, contrast, width', (await problems(page)).length === 0, await problems(page));
const [download] = await Promise.all([page.waitForEvent('download'), page.click('a[href="answers.csv"]')]);
check('answers as CSV', readFileSync(await download.path(), 'utf8').split('\n').length === 22);
const took = (await page.evaluate(() => performance.getEntriesByName('next').map((e) => e.duration))).sort((a, b) => a - b);
const median = took[took.length >> 1];
console.log(`next picture: median ${median.toFixed(0)} ms, longest ${took.at(-1).toFixed(0)} ms of ${took.length}`);
check('the next picture within 100 ms, median', took.length > 20 && median < 100, took);
quiet('touch', page);
await page.context().close();

// ---- a round at once ----
page = await sit(server, 'gil');
const cards = () => page.locator('[data-card]').evaluateAll((all) => all.map((b) => ({ item: Number(b.dataset.card), open: !b.disabled, said: b.querySelector('.said').textContent, here: b.getAttribute('aria-current') === 'true' })));
const held = async (n) => until(async () => (await cards()).filter((c) => c.open).length === n);
await until(async () => (await page.locator('#price').textContent()) !== '');
await page.keyboard.press('#');
check('five items of a round', await until(async () => (await cards()).length === 5), await cards());
const circle = (await cards()).map((c) => c.item);
await page.keyboard.press('2');
await held(4);
check('what was said stands at the item', (await cards())[0].said === 'ring' && (await cards())[1].here, await cards());
await page.click(`[data-card="${circle[3]}"]`);
check('another is taken first', (await cards())[3].here && (await item(page)) === circle[3]);
check('a round: names, contrast, width', (await problems(page)).length === 0, await problems(page));
if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/serve-round-light.png` });
await page.keyboard.press('3');
await held(3);
await saved(page);
check('and is answered', ledger(shapes).some((r) => r.item === circle[3] && r.klass === 'square' && r.who === 'gil'), ledger(shapes).slice(-3));
await page.keyboard.press('z');
await held(4);
check('and taken back', (await cards())[3].here && (await cards())[3].said === '', await cards());
await page.keyboard.press('4');
for (const left of [3, 2, 1]) { await held(left); await page.keyboard.press('4'); }
check('the next round', await until(async () => { const all = await cards(); return all.length >= 3 && all.every((c) => c.open && !circle.includes(c.item)); }), await cards());
await saved(page);
check('all five are in the ledger', circle.every((i) => ledger(shapes).filter((r) => r.item === i && r.who === 'gil').length === 1));
await page.keyboard.press('#');
check('one at a time again', (await page.locator('[data-card]').count()) === 0 && (await page.locator('#item img').count()) === 1);
quiet('a round', page);
await page.context().close();

await looks(address(server, 'judge'), 'serve-label', async (p) => {
  await p.waitForSelector('#item img');
  await p.waitForSelector('#classes img');
});
await server.kill();
await finish();
