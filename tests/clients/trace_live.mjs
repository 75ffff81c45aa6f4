// trace_live.mjs ADDRESS TOP GROW: opens a served trace and walks it with keys; TOP is what `trace
// top --json` prints. Then runs GROW, and waits until the page has followed. Prints what is wrong.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';

const [address, topFile, grow] = process.argv.slice(2);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'live-'));
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, userDataDir: profile,
    args: ['--no-sandbox', '--disable-gpu'],
});
const wrong = [];
const check = (holds, text) => { if (!holds) wrong.push(text); };
const plain = text => text.replace(/\s/g, '');

try {
    const page = await browser.newPage();
    await page.setViewport({width: 1400, height: 900});
    page.on('pageerror', error => wrong.push('error: ' + error));
    page.on('console', said => { if (said.type() === 'error') wrong.push('said: ' + said.text()); });
    await page.goto(address);
    // A key changes the address at once, and what is shown later: both have to be the same.
    const drawn = id => page.waitForFunction(wanted => hs.at && hs.at.id === wanted
        && document.body.dataset.shown === location.hash
        && (wanted === 'trace' || document.querySelector('[data-state=drawn]')), {timeout: 30000}, id);
    await drawn('when');
    await page.keyboard.press('w');
    const screens = await page.$$eval('nav button', all => all.map(one => one.dataset.id));
    check(screens.join() === 'when,calls,places,lives,trace', 'screens: ' + screens);
    for (let i = 0; i < screens.length; i++) {
        await page.keyboard.press(String(i + 1));
        await drawn(screens[i]);
        check((await page.$eval('main', main => main.innerText)).length > 40, `${screens[i]} is empty`);
        check(await page.$('main .error') === null, `${screens[i]} has an error`);
    }
    await page.keyboard.press('3');
    await drawn('places');
    await page.waitForFunction(() => document.querySelector('main tbody tr'));
    const rows = await page.$$eval('main tbody tr', lines => lines.map(line => [...line.cells].map(cell => cell.innerText)));
    JSON.parse(fs.readFileSync(topFile)).rows.forEach((row, i) =>
        check(rows[i][0] === row.name && plain(rows[i][1]) === String(row.words), `row ${i}: ${rows[i]}`));
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => document.querySelector('table.bars'), {timeout: 30000});
    await page.keyboard.press('f');
    await page.type('dialog input[aria-label="born"]', 'soon');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /soon/.test(document.querySelector('main .error')?.innerText || ''), {timeout: 30000});
    await page.evaluate(() => setFilter({allocated: ''}));
    wrong.splice(0, wrong.length, ...wrong.filter(text => !/ 400 /.test(text))); // what was asked wrong
    execFileSync('sh', ['-c', grow]);
    await page.waitForFunction(() => document.body.dataset.followed, {timeout: 30000});
} finally {
    await browser.close();
    fs.rmSync(profile, {recursive: true, force: true});
}
for (const each of wrong) console.log('wrong: ' + each);
process.exit(wrong.length === 0 ? 0 : 1);
