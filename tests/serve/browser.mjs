// browser.mjs - what the tests of the served pages share: a server, Chromium through
// playwright-core, and checks of names, contrast and overflow.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

// playwright-core is wherever $PLAYWRIGHT says: a folder that npm installed it into.
const { chromium } = createRequire(process.env.PLAYWRIGHT + '/')('playwright-core');

let passed = 0, failed = 0;
export function check(name, holds, got) {
  if (holds) passed++;
  else { failed++; console.log(`FAILED ${name}${got === undefined ? '' : ': ' + JSON.stringify(got).slice(0, 600)}`); }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export async function until(holds, ms = 15000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(20)) if (await holds()) return true;
  return false;
}

const servers = [];
export async function serve(...words) {
  const child = spawn(process.env.METE, ['serve', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  servers.push(child);
  let said = '';
  child.stderr.on('data', (d) => { said += d; });
  const address = await new Promise((done) => {
    createInterface(child.stdout).once('line', done);
    child.once('exit', () => done(''));
  });
  if (!address) throw new Error('mete serve ended: ' + said);
  const ended = new Promise((done) => child.once('exit', done));
  return { address, child, ended, said: () => said, port: new URL(address).port,
    kill: async (signal = 'SIGTERM') => { child.kill(signal); await ended; } };
}

let browser = null;
export async function open(address, options = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) page.complaints.push(m.text()); });
  page.on('pageerror', (e) => page.complaints.push(String(e)));
  page.on('request', (r) => { if (!/^(data|blob):/.test(r.url()) && new URL(r.url()).host !== new URL(address).host) page.complaints.push('asked ' + r.url()); });
  await page.goto(address);
  return page;
}

export async function finish() {
  await browser?.close();
  for (const s of servers) s.kill('SIGKILL');
  console.log(`${passed} passed, ${failed} failed, 0 skipped`);
  process.exit(failed > 0 ? 1 : 0);
}

// What a screen reader or weak eyes would miss: controls and images without a name, fields
// without a label, ids twice, text under 4.5:1 (large text 3:1), targets under 24 px, a page wider than
// its window.
export const problems = (page) => page.evaluate(() => {
  const found = [], seen = new Set();
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== 'hidden' && !e.closest('[aria-hidden=true]');
  const called = (e) => (e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').map((i) => document.getElementById(i)?.textContent).join('')
    || [...(e.labels || [])].map((l) => l.textContent).join('') || e.getAttribute('alt') || e.textContent || e.getAttribute('title') || '').trim();
  const what = (e) => e.outerHTML.slice(0, 90);
  if (!document.documentElement.lang || !document.title) found.push('no language or title');
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
  for (const e of document.querySelectorAll('[id]')) { if (seen.has(e.id)) found.push('id twice: ' + e.id); seen.add(e.id); }
  for (const e of document.querySelectorAll('button, a, input, select, textarea, [role=button], [role=img], [role=region], dialog'))
    if (shown(e) && !called(e)) found.push('no name: ' + what(e));
  for (const e of document.querySelectorAll('img')) if (shown(e) && !e.hasAttribute('alt')) found.push('no alt: ' + what(e));
  for (const e of document.querySelectorAll('button, a.button, select'))
    if (shown(e)) { const b = e.getBoundingClientRect(); if ((b.width < 24 || b.height < 24) && !e.closest('.legend')) found.push(`small target ${b.width}x${b.height}: ` + what(e)); }
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = (e) => { const all = []; for (let at = e; at; at = at.parentElement) all.unshift(parse(getComputedStyle(at).backgroundColor));
    return all.reduce((under, c) => over(c, under), [255, 255, 255, 1]); };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !shown(e) || e.closest('svg, script, style') || e.disabled) continue;
    const style = getComputedStyle(e), back = paper(e), front = over(parse(style.color), back);
    const [a, b] = [light(front), light(back)], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ` + what(e));
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  return [...new Set(found)];
});

// Light and dark, wide and narrow; screenshots where $SHOTS names a folder.
export async function looks(address, name, ready) {
  for (const [look, options] of Object.entries({
    light: {}, dark: { colorScheme: 'dark' },
    phone: { viewport: { width: 400, height: 800 }, hasTouch: true, isMobile: true } })) {
    const page = await open(address, options);
    await ready(page);
    const wrong = await problems(page);
    check(`${name}, ${look}: names, contrast, width`, wrong.length === 0, wrong);
    check(`${name}, ${look}: nothing in the console`, page.complaints.length === 0, page.complaints);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${look}.png` });
    await page.context().close();
  }
}
