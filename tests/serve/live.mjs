// live.mjs DB - the page of a results database, while runs are made, stop and fail.
import { execFileSync } from 'node:child_process';
import { check, finish, looks, open, serve, until } from './browser.mjs';

const [db] = process.argv.slice(2);
const sql = (text) => JSON.parse(execFileSync('sqlite3', ['-cmd', '.timeout 5000', '-json', db, text], { encoding: 'utf8' }) || '[]');
let server = await serve(db, '--port', '0');
const ready = (page) => page.waitForSelector('#charts[data-version] figure svg');
await looks(server.address, 'serve-live', ready);

const page = await open(server.address);
await ready(page);
check('the token leaves the address', !page.url().includes('token'), page.url());
const tile = (n) => page.locator('#tiles > div').nth(n).locator('dd').first().textContent();
const [{ n }] = sql('SELECT count(*) AS n FROM runs');
check('every run is counted', (await tile(0)) === `${n} of ${n}`, await tile(0));
check('every run has its place', (await page.locator('#grid button.run').count()) === n);
check('a chart has its numbers', (await page.locator('figure[data-chart=curves] [data-at]').count()) > 10);

// A run that fails, one that is under way, one whose process is gone.
const ids = sql('SELECT run, id FROM runs ORDER BY run LIMIT 3');
sql(`UPDATE runs SET status = 'failed', message = 'the loss of step 7 is <nan>' WHERE run = ${ids[0].run}`);
for (const [i, age] of [[1, 0], [2, 1000]]) {
  sql(`UPDATE runs SET status = 'running' WHERE run = ${ids[i].run};
       INSERT OR REPLACE INTO claims VALUES (${ids[i].run}, 'h', 1, 1, 1, ${Date.now() / 1000 - age})`);
}
const status = (i) => page.locator(`[data-run="${ids[i].id}"]`).textContent();
check('a failure shows by itself', await until(async () => (await status(0)) === 'failed'), await status(0));
check('with its sentence, as text', (await page.locator('.failure').textContent()).includes('the loss of step 7 is <nan>'));
check('a run under way', await until(async () => (await status(1)).startsWith('running')), await status(1));
check('a run whose process is silent', await until(async () => (await status(2)).startsWith('stopped')), await status(2));
check('time left is a number', await until(async () => /^about \d+/.test(await tile(1))), await tile(1));
await page.locator(`[data-run="${ids[0].id}"]`).focus();
await page.keyboard.press('Enter');
check('a run is chosen by the keyboard', (await page.locator('#detail p').first().textContent()).includes('failed'));

const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
check('the report is saved', download.suggestedFilename() === 'report.html');

// The server goes, and another comes at the same port: the page finds out by itself.
const port = server.port;
await server.kill();
check('a lost connection is said', await until(async () => (await page.locator('#link').textContent()).includes('connection lost')));
sql(`UPDATE runs SET status = 'done' WHERE run = ${ids[0].run}`);
server = await serve(db, '--port', port);
await page.goto(server.address);
check('and the page goes on', await until(async () => /%/.test(await status(0))), await status(0));
check('nothing else in the console', page.complaints.every((c) => /ERR_|403/.test(c)), page.complaints);
await server.kill();
await finish();
