// speedscope.mjs RELEASE FILE: opens FILE in speedscope, in a browser without a network, and prints
// what it is called there.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';

const [release, file] = process.argv.slice(2);
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'speedscope-'));
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    userDataDir: path.join(place, 'profile'),
    args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
        '--enable-unsafe-swiftshader', '--allow-file-access-from-files'],
});
const wrong = [];
try {
    fs.cpSync(release, place, {recursive: true});
    const bytes = fs.readFileSync(file).toString('base64');
    const name = JSON.stringify(path.basename(file));
    fs.writeFileSync(path.join(place, 'profile.js'),
        `speedscope.loadFileFromBase64(${name}, "${bytes}")`);
    const page = await browser.newPage();
    page.on('pageerror', error => wrong.push(String(error)));
    page.on('request', request => {
        if (/^https?:/.test(request.url())) wrong.push(request.url());
    });
    page.on('dialog', dialog => { wrong.push(dialog.message()); dialog.dismiss(); });
    await page.goto(`file://${place}/index.html#localProfilePath=${place}/profile.js`);
    await page.waitForFunction(
        () => document.title !== 'speedscope' || /Something went wrong/.test(document.body.innerText),
        {timeout: 60000});
    console.log('title: ' + await page.title());
    console.log('text: ' + (await page.evaluate(() => document.body.innerText)).replace(/\s+/g, ' '));
} finally {
    await browser.close();
    fs.rmSync(place, {recursive: true, force: true});
}
for (const each of wrong) console.log('wrong: ' + each);
process.exit(wrong.length === 0 ? 0 : 1);
