// serve.mjs ADDRESS DIRECTORY: walks the page that is served there; DIRECTORY has what the commands
// print, as JSON. Prints what is wrong, and ends with 1 then.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import {useAll} from './controls.mjs';

const [address, directory, pictures] = process.argv.slice(2);
const read = name => JSON.parse(fs.readFileSync(path.join(directory, name + '.json'), 'utf8'));
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'serve-'));
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, userDataDir: profile,
    args: ['--no-sandbox', '--disable-gpu'],
});
const wrong = [];
const check = (holds, text) => { if (!holds) wrong.push(text); };
const plain = text => text.replace(/\s/g, '');
const {origin, hash} = new URL(address);
const token = hash.slice(1);

async function open(where, width, height) {
    const page = await browser.newPage();
    await page.setViewport({width, height});
    page.on('pageerror', error => wrong.push('error: ' + error));
    page.on('console', said => { if (said.type() === 'error') wrong.push('said: ' + said.text()); });
    page.on('dialog', dialog => { wrong.push('dialog: ' + dialog.message()); dialog.dismiss(); });
    page.on('request', request => {
        if (!request.url().startsWith(origin + '/')) wrong.push('request: ' + request.url());
        if (request.url().split('#')[0].includes(token)) wrong.push('token in ' + request.url());
    });
    await page.goto(where);
    return page;
}

// A key changes the address at once, and what is shown later: both have to be the same.
const ready = (page, id) => page.waitForFunction(wanted => document.body.dataset.ready === wanted
    && document.body.dataset.shown === location.hash
    && document.querySelector('nav [aria-selected=true]').dataset.id === wanted
    && !document.querySelector('main [role=status]')?.innerText.startsWith('computing'),
    {timeout: 60000}, id);
const cells = (page, within = 'main') => page.$$eval(within + ' tbody tr', lines =>
    lines.map(line => [...line.cells].map(cell => cell.innerText)));
const text = page => page.$eval('main', main => main.innerText);

try {
    const page = await open(address, 1400, 900);
    await ready(page, 'overview');
    check(!page.url().includes(token), 'the token stays in the address: ' + page.url());
    check((await page.title()).startsWith('heapsnap: '), 'the title');
    const info = read('info'), roots = read('roots'), types = read('types'), leaks = read('leaks');
    await page.keyboard.press('w'); // words, as the commands' JSON has them
    await ready(page, 'overview');
    const screens = await page.$$eval('nav button', all => all.map(one => one.dataset.id));
    const expected = ['overview', 'roots', 'tree', 'shared', 'types', 'leaks', 'growth', 'object',
        'sql', 'about'];
    check(expected.every(id => screens.includes(id)), 'screens: ' + screens);
    const to = async id => {
        await page.keyboard.press(screens.indexOf(id) === 9 ? '0' : String(screens.indexOf(id) + 1));
        await ready(page, id);
    };
    for (const id of screens.slice(0, 10)) {
        await to(id);
        check((await text(page)).length > 40, `${id} is empty`);
        if (pictures) await page.screenshot({path: path.join(pictures, `serve-${id}.png`)});
    }

    await to('overview');
    const sentences = await page.$$eval('ol.suspects code', all => all.map(one => one.innerText));
    const told = read('suspects').suspects.filter(one => one.list !== 'memory');
    check(sentences.join() === told.map(one => one.command).join(),
        'commands of suspects: ' + sentences);
    await to('roots');
    const rows = await cells(page);
    check(rows.length === roots.roots.length, `${rows.length} roots of ${roots.roots.length}`);
    roots.roots.forEach((root, i) => {
        check(plain(rows[i][2]) === String(root.retained_words), `retained of ${i}: ${rows[i][2]}`);
        check(plain(rows[i][4]) === String(root.reachable_words), `reachable of ${i}: ${rows[i][4]}`);
    });
    await page.select('main select[aria-label="roots by"]', 'module');
    await page.waitForFunction(() => document.querySelector('main thead th')?.innerText === 'module');
    const modules = await cells(page);
    read('modules').roots.forEach((group, i) => check(plain(modules[i][1]) === String(group.retained_words),
        `retained by module ${i}: ${modules[i]}`));
    await page.select('main select[aria-label="roots by"]', 'root');
    await page.waitForSelector('main tbody tr input[type=checkbox]');
    await page.click('main tbody tr input[type=checkbox]');
    await page.waitForFunction(() => document.getElementById('let-go').innerText.includes('freed'));
    const freed = plain(await page.$eval('#let-go', line => line.innerText));
    check(freed.includes(`:${read('without').without.freed_words}freed`), 'what if: ' + freed);

    await to('types');
    const typed = await cells(page);
    types.types.forEach((type, i) =>
        check(plain(typed[i][3]) === String(type.words), `words of type ${i}: ${typed[i][3]}`));
    await to('leaks');
    const lost = await cells(page);
    leaks.groups.forEach((group, i) =>
        check(plain(lost[i][3]) === String(group.words), `words of leak ${i}: ${lost[i][3]}`));
    await to('tree');
    const tops = (await cells(page)).map(row => Number(plain(row[1])));
    check(tops.reduce((sum, words) => sum + words, 0) === info.words, 'the tree adds up to ' + tops);
    await to('growth');
    const grown = await cells(page);
    read('diff').keys.slice(0, 5).forEach((key, i) =>
        check(plain(grown[i][2]) === String(key.words.at(-1)), `growth of ${i}: ${grown[i]}`));

    // The largest root, by keys: what it is, and what it keeps.
    await to('roots');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await ready(page, 'object');
    const object = read('object');
    const pane = plain(await text(page));
    check(pane.includes(plain(`${object.object.retained_words}`)), 'what the root retains');
    for (const row of object.dominated.slice(0, 10))
        check(pane.includes(row.id), `the pane has no ${row.id}`);
    await page.waitForFunction(() => document.querySelector('[data-part=paths]')
        && !/looking/.test(document.querySelector('[data-part=paths]').innerText));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter'); // and the first of these
    await page.waitForFunction(before => location.hash !== before, {},
        `#object/${encodeURIComponent(roots.roots[0].id)}`);
    await ready(page, 'object');
    await page.waitForFunction(() => document.querySelectorAll('[data-part=paths] li').length > 0);
    if (pictures) await page.screenshot({path: path.join(pictures, 'serve-object.png')});
    await page.goBack();
    await ready(page, 'object');
    check(page.url().endsWith(encodeURIComponent(roots.roots[0].id)), 'back: ' + page.url());
    await page.keyboard.press('/');
    await page.keyboard.type('no such object at all');
    await page.keyboard.press('Enter');
    await page.waitForSelector('main .error');
    wrong.splice(0, wrong.length, ...wrong.filter(one => !one.includes('status of 400')));

    await to('sql');
    await page.$eval('textarea', box => { box.value = 'select count(*) as n from blocks'; });
    await page.click('main .tools button');
    await page.waitForSelector('[data-part=rows] tbody tr');
    check((await cells(page, '[data-part=rows]'))[0][0] === String(read('count').rows[0].n), 'count of blocks');
    await page.$eval('textarea', box => { box.value = 'drop table blocks'; });
    await page.click('main .tools button');
    await page.waitForSelector('[data-part=rows] .error');
    wrong.splice(0, wrong.length, ...wrong.filter(one => !one.includes('status of 400')));

    // Another snapshot of the folder, and two of them side by side.
    const names = await page.$$eval('header select:first-of-type option', all => all.map(o => o.value));
    check(names.length === 3, 'snapshots: ' + names);
    await page.select('header select:nth-of-type(1)', names[2]);
    await page.waitForFunction(name => document.querySelector('header select')?.value === name, {},
        names[2]);
    await ready(page, 'sql');
    await page.select('header select:nth-of-type(2)', names[2]);
    await ready(page, 'growth');
    check((await text(page)).length > 40, 'a comparison');

    // The newest again, and beside it the oldest: roots, types, owners and an object of both.
    await page.select('header select:nth-of-type(1)', names[0]);
    await page.waitForFunction(name => document.querySelector('header select')?.value === name, {},
        names[0]);
    const older = read('older'), sum = (rows, is, field) => rows.filter(is)
        .reduce((total, row) => total + row[field], 0);
    const compared = async (part, row) => {
        await page.evaluate(where => { location.hash = where; }, 'compare/' + part);
        await page.waitForFunction(wanted => document.querySelector('[data-part=compared] tbody tr')
            && document.querySelector('[aria-pressed=true]')?.innerText === wanted, {}, row);
        await ready(page, 'compare');
        if (pictures) await page.screenshot({path: path.join(pictures, `compare-${row}.png`)});
        return cells(page, '[data-part=compared]');
    };
    const same = (row, root) => row.name === root.name && row.kind === root.kind;
    const named = lines => lines.filter(line => /^[\w .]+$/.test(line[0])).slice(0, 20);
    const flat = name => name.replace(/\s+/g, ' ').trim(); // as a cell shows it
    const signed = number => (number > 0 ? '+' : '') + number;
    for (const line of named(await compared('roots', 'roots'))) {
        const is = row => flat(row.name) === line[0] && row.kind === line[1];
        const both = [older.roots, roots.roots].map(rows => sum(rows, is, 'retained_words'));
        check(plain(line.slice(2, 5).join()) === [...both, signed(both[1] - both[0])].join(),
            `compared root ${line}, not ${both}`);
    }
    const oldTypes = read('older_types').types;
    for (const line of named(await compared('types', 'types'))) {
        const is = row => flat(row.type) === line[0] && row.kind === line[1];
        const both = [oldTypes, types.types].map(rows => sum(rows, is, 'words'));
        check(plain(line.slice(2, 5).join()) === [...both, signed(both[1] - both[0])].join(),
            `compared type ${line}, not ${both}`);
    }
    const owners = await compared('tree', 'owners and types');
    [[1, read('older_info').words], [2, info.words]].forEach(([at, words]) =>
        check(owners.reduce((all, line) => all + Number(plain(line[at])), 0) === words,
            `owners of side ${at}: ${owners.map(line => line[at])}`));
    const one = roots.roots.find(root => older.roots.some(row => same(row, root)));
    const facts = await compared('object:root:' + encodeURIComponent(one.name), 'an object');
    const gone = facts.find(line => line[0] === 'if it went away');
    check(gone && plain(gone[2]) === String(one.retained_words), `the object of both: ${gone}`);

    const used = await open(address, 1400, 900);
    await ready(used, 'overview');
    const addresses = [...screens, 'object/' + encodeURIComponent(roots.roots[0].id),
        'object/set:1', 'object/no%20such%20object',
        'compare/types', 'compare/tree', 'compare/' + encodeURIComponent('object:root:sessions')];
    const nUsed = await useAll(used, addresses, wrong);
    check(nUsed > 100, `only ${nUsed} controls were used`);
    check(await used.evaluate(() => command('object', '#5')).then(text => text.endsWith(" '#5'")),
        'a number that a shell takes for a comment');
    wrong.splice(0, wrong.length, ...wrong.filter(one => !one.includes('status of 400')));
    await used.close();

    const small = await open(address, 800, 600);
    await ready(small, 'overview');
    for (const [i, id] of screens.slice(0, 9).entries()) {
        await small.keyboard.press(String(i + 1));
        await ready(small, id);
        const wide = await small.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        check(!wide, `${id} is wider than 800`);
    }
    const other = await browser.createBrowserContext(), stranger = await other.newPage();
    await stranger.goto(origin + '/');
    await stranger.waitForFunction(() => document.body.innerText.includes('token is missing'));
} finally {
    await browser.close();
    fs.rmSync(profile, {recursive: true, force: true});
}
for (const each of wrong) console.log('wrong: ' + each);
process.exit(wrong.length === 0 ? 0 : 1);
