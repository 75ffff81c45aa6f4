// report.mjs PAGE DIRECTORY [real]: opens PAGE and walks it with keys; DIRECTORY has what info, roots
// and the others print, as JSON. Prints what is wrong, and ends with 1 then. Of a real program the
// page may have fewer rows than the commands, and has the screens that there is something for.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import {useAll} from './controls.mjs';

const [file, directory, kind] = process.argv.slice(2);
const isReal = kind === 'real';
const read = name => JSON.parse(fs.readFileSync(path.join(directory, name + '.json'), 'utf8'));
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'report-'));
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, userDataDir: profile,
    args: ['--no-sandbox', '--disable-gpu'],
});
const wrong = [];
const check = (holds, text) => { if (!holds) wrong.push(text); };
const plain = text => text.replace(/\s/g, '');

async function open(width, height) {
    const page = await browser.newPage();
    const requests = [];
    await page.setViewport({width, height});
    page.on('pageerror', error => wrong.push('error: ' + error));
    page.on('console', said => { if (said.type() === 'error') wrong.push('said: ' + said.text()); });
    page.on('dialog', dialog => { wrong.push('dialog: ' + dialog.message()); dialog.dismiss(); });
    page.on('request', request => requests.push(request.url()));
    await page.goto('file://' + file);
    await page.waitForFunction(() => document.body.dataset.ready === 'yes', {timeout: 60000});
    return {page, requests};
}

const cells = page => page.$$eval('main tbody tr', lines =>
    lines.map(line => [...line.cells].map(cell => cell.innerText)));
const chosen = page => page.evaluate(() => document.querySelector('nav [aria-selected=true]').dataset.id);

// In the page: a picture of one large key and 4000 that are 40 % together. What was written, how much
// of what is below the whole is not blank, in how many boxes.
function drawMany(mode) {
    const n = 4002, fill = (first, second, other) => Array.from({length: n}, (_, i) => i === 0 ? first : i === 1 ? second : other);
    const words = fill(10000, 6000, 1), texts = [];
    const tree = treeCanvas(buildKeys({names: ['', 'large', 'small'], parent: fill(0, 0, 0), name: fill(0, 1, 2),
        form: fill(0, 1, 1), words, own_words: fill(0, 6000, 1), objects: words, set: fill(0, 0, 0)}), () => {}, () => {}, [mode]);
    const pen = tree.element.getContext('2d'), write = pen.fillText, height = mode === 'treemap' ? 420 : 38;
    tree.element.style.width = '800px';
    document.body.append(tree.element);
    pen.fillText = function (text, ...rest) { texts.push(text); write.call(this, text, ...rest); };
    tree.show(0);
    const ratio = devicePixelRatio, top = 19, bytes = pen.getImageData(0, top * ratio, 800 * ratio, (height - top) * ratio).data;
    let filled = 0;
    for (let i = 3; i < bytes.length; i += 4) filled += bytes[i] > 0;
    tree.element.remove();
    return {texts, part: 4 * filled / bytes.length, boxes: tree.count()};
}

try {
    const {page, requests} = await open(1400, 900);
    const info = read('info'), roots = read('roots'), types = read('types'), leaks = read('leaks');
    check((await page.title()).startsWith('heapsnap: '), 'the title');
    await page.keyboard.press('w'); // words, as the commands' JSON has them

    const screens = await page.$$eval('nav button', all => all.map(one => one.dataset.id));
    const expected = ['overview', 'roots', 'tree', 'types', 'leaks', 'about',
        ...(isReal ? [] : ['shared', 'growth'])];
    check(expected.every(id => screens.includes(id)), 'screens: ' + screens);
    for (let i = 0; i < screens.length; i++) {
        await page.keyboard.press(String(i + 1));
        await page.waitForFunction(id => document.querySelector('nav [aria-selected=true]')
            .dataset.id === id, {timeout: 30000}, screens[i]);
        check((await page.$eval('main', main => main.innerText)).length > 40, `${screens[i]} is empty`);
    }
    const to = async id => {
        await page.keyboard.press(String(screens.indexOf(id) + 1));
        await page.waitForFunction(wanted => document.querySelector('nav [aria-selected=true]')
            .dataset.id === wanted, {timeout: 30000}, id);
    };

    await to('overview');
    const sentences = await page.$$eval('ol.suspects code', all => all.map(one => one.innerText));
    const told = read('suspects').suspects.filter(one => one.list !== 'memory');
    check(sentences.join() === told.map(one => one.command).join(),
        'commands of suspects: ' + sentences);
    const {headline, verdict} = read('suspects');
    const balance = await page.$$eval('p.balance, p.verdict', all => all.map(one => one.innerText));
    check(balance.join() === [headline, verdict].filter(text => text !== null).join(),
        'the balance: ' + balance);
    const owned = await page.evaluate(() => Array.from(hs.keys.own_words).slice(1).filter(n => n > 0)
        .sort((a, b) => b - a).slice(0, 12));
    const table = await page.$$eval('canvas + table tbody tr', lines =>
        lines.map(line => [...line.cells].map(cell => cell.innerText)));
    check(table.map(row => Number(plain(row[1]))).join() === owned.join(),
        `the largest boxes in words: ${table.map(row => row[1])}, not ${owned}`);
    check(table.every(row => row[0].length > 0), 'a box without a name');
    const picture = await page.$eval('main canvas', canvas => canvas.getBoundingClientRect().toJSON());
    check(picture.top < 300, `the first screen has no picture: it begins at ${picture.top} of 900`);

    await to('roots');
    const rows = await cells(page);
    check(rows.length === roots.roots.length || (isReal && rows.length >= 50 && rows.length < roots.roots.length),
        `${rows.length} roots of ${roots.roots.length}`);
    roots.roots.slice(0, rows.length).forEach((root, i) => {
        check(plain(rows[i][2]) === String(root.retained_words), `retained of ${i}: ${rows[i][2]}`);
        check(plain(rows[i][4]) === String(root.reachable_words), `reachable of ${i}: ${rows[i][4]}`);
    });
    await page.keyboard.press('ArrowDown');
    const said = await page.$eval('#command', code => code.innerText);
    check(said.endsWith(`--to '${roots.roots[0].id}'`) || said.endsWith(`--to ${roots.roots[0].id}`),
        'the command of the first root: ' + said);
    check(await page.evaluate(() => document.activeElement.tagName === 'TR'
        && document.activeElement.getAttribute('aria-current') === 'true'), 'the row is not read aloud');
    check(await page.$eval('th[aria-sort]', th => th.innerText.startsWith('retained')
        && th.getAttribute('aria-sort') === 'descending'), 'how it is sorted');

    await to('types');
    const typed = await cells(page);
    check(typed.length > 0, 'no types');
    types.types.slice(0, isReal ? typed.length : undefined).forEach((type, i) =>
        check(plain(typed[i][3]) === String(type.words), `words of type ${i}: ${typed[i][3]}`));

    await to('leaks');
    const lost = await cells(page);
    leaks.groups.slice(0, isReal ? lost.length : undefined).forEach((group, i) =>
        check(plain(lost[i][3]) === String(group.words), `words of leak ${i}: ${lost[i][3]}`));

    await to('tree');
    const tops = (await cells(page)).map(row => Number(plain(row[1])));
    check(tops.reduce((sum, words) => sum + words, 0) === info.words, 'the tree adds up to ' + tops);
    if (!isReal) {
        const slots = await page.evaluate(() => hs.keys.children[0].filter(key => keyName(hs.keys, key) === 'cache')
            .map(key => hs.keys.children[key].map(child => keyName(hs.keys, child)).sort().join(' ')));
        check(slots.join() === '.by_id.root .recent', 'slots of a variable: ' + slots);
    }
    for (const mode of ['icicle', 'treemap']) {
        const drawn = await page.evaluate(drawMany, mode);
        check(drawn.texts.some(text => /^\[[\d\s]+ others\]/.test(text)), `${mode} says nothing of 4000 small ones`);
        check(drawn.part > 0.9, `${mode}: ${drawn.part} of the picture is not blank`);
        check(drawn.boxes < 60, `${mode}: ${drawn.boxes} boxes`);
    }
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /^#tree\/[1-9]/.test(location.hash), {timeout: 30000});
    await page.keyboard.press('Backspace');
    await page.waitForFunction(() => location.hash === '#tree/0', {timeout: 30000});
    await page.keyboard.press('m');
    await page.keyboard.press('/');
    await page.keyboard.type('no such name at all');
    check((await cells(page)).length === 0, 'a search that finds nothing');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    check(await page.$('dialog[open]') !== null, 'no help');
    await page.keyboard.press('Escape');
    check(await chosen(page) === 'tree', 'keys of the search changed the screen');
    check(requests.length === 1, 'requests: ' + requests);
    const nUsed = await useAll(page, screens, wrong);
    check(nUsed > 4 * screens.length, `only ${nUsed} controls were used`);
    check(requests.length === 1, 'requests of controls: ' + requests);

    // A browser that cannot unpack gzip says so, and is asked for nothing else.
    const older = await browser.newPage();
    await older.evaluateOnNewDocument(() => { delete window.DecompressionStream; });
    older.on('pageerror', error => wrong.push('error without DecompressionStream: ' + error));
    await older.goto('file://' + file);
    await older.waitForFunction(() => document.getElementById('app').innerText.length > 0);
    const sentence = await older.$eval('#app', app => app.innerText);
    check(/^This report needs a browser that can unpack gzip .*Firefox 113/.test(sentence), 'an old browser: ' + sentence);
    await older.close();

    // On paper it is light, whatever the screen is.
    const dark = await open(1000, 700);
    await dark.page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: 'dark'}]);
    const back = () => dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check(await back() !== 'rgb(255, 255, 255)', 'not dark');
    await dark.page.emulateMediaType('print');
    check(await back() === 'rgb(255, 255, 255)', 'printed in the dark: ' + await back());
    check(await dark.page.$eval('nav', nav => getComputedStyle(nav).display) === 'none', 'printed keys');
    await dark.page.close();

    const small = await open(800, 600);
    for (let i = 0; i < screens.length; i++) {
        await small.page.keyboard.press(String(i + 1));
        const wide = await small.page.evaluate(() => Math.max(document.documentElement.scrollWidth,
            document.querySelector('main').scrollWidth) > innerWidth);
        check(!wide, `${screens[i]} is wider than 800`);
    }
} finally {
    await browser.close();
    fs.rmSync(profile, {recursive: true, force: true});
}
for (const each of wrong) console.log('wrong: ' + each);
process.exit(wrong.length === 0 ? 0 : 1);
