// trace_page.mjs PAGE DIRECTORY: opens PAGE, a report of a trace, and walks it with keys; DIRECTORY
// has what `trace` prints for some filters, as JSON. Prints what is wrong, and ends with 1 then.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';

const [file, directory] = process.argv.slice(2);
const read = name => JSON.parse(fs.readFileSync(path.join(directory, name + '.json'), 'utf8'));
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'trace-'));
const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM, userDataDir: profile,
    args: ['--no-sandbox', '--disable-gpu'],
});
const wrong = [];
const check = (holds, text) => { if (!holds) wrong.push(text); };
const plain = text => text.replace(/\s/g, '');

async function open(width, height) {
    const page = await browser.newPage(), requests = [];
    await page.setViewport({width, height});
    page.on('pageerror', error => wrong.push('error: ' + error));
    page.on('console', said => { if (said.type() === 'error') wrong.push('said: ' + said.text()); });
    page.on('request', request => requests.push(request.url()));
    await page.goto('file://' + file);
    await page.waitForFunction(() => document.body.dataset.ready === 'yes', {timeout: 60000});
    return {page, requests};
}

// The screen that was asked for, not the one before it: keys go to the one that is there.
const drawn = (page, id) => page.waitForFunction(wanted => hs.at && hs.at.id === wanted
    && document.querySelector('[data-state=drawn]'), {timeout: 30000}, id);
const sums = row => ['samples', 'words', 'words_error', 'allocations', 'allocations_error', 'live_words',
    'live_words_error', 'objects'].map(key => row[key]).join(' ');
const listed = rows => rows.map(row => row.name + ' ' + sums(row)).sort().join('\n');
const node = row => [row.name, row.words, row.words_error, row.live_words, row.samples, row.own_samples].join(' ');

try {
    const {page, requests} = await open(1400, 900);
    await page.keyboard.press('w');
    const screens = await page.$$eval('nav button', all => all.map(one => one.dataset.id));
    check(screens.join() === 'when,calls,places,lives,trace', 'screens: ' + screens);

    // Every filter, as the page computes it, is what the command prints.
    for (const [name, filter] of Object.entries(read('filters'))) {
        const found = await page.evaluate(asked => {
            const snapped = hs.trace.snap(asked);
            return {snapped, live: hs.trace.live(asked), tree: hs.trace.tree(asked, 'function'),
                upside: hs.trace.tree(asked, 'caller'),
                tops: ['site', 'function', 'caller', 'file', 'stack', 'size'].map(by => hs.trace.top(asked, by))};
        }, filter);
        check(JSON.stringify(found.snapped) === JSON.stringify(filter), `${name}: asked as ${JSON.stringify(found.snapped)}`);
        ['site', 'function', 'caller', 'file', 'stack', 'size'].forEach((by, i) => {
            const expected = read(`${name}-${by}`);
            check(listed(found.tops[i].rows) === listed(expected.rows), `${name}: rows by ${by}`);
            check(found.tops[i].total.words === expected.total.words, `${name}: total by ${by}`);
        });
        for (const [by, tree] of [['tree', found.tree], ['caller-tree', found.upside]])
            check(tree.nodes.slice(1).map(node).sort().join('\n')
                === read(`${name}-${by}`).nodes.slice(1).map(node).sort().join('\n'), `${name}: ${by}`);
        const line = rows => rows.map(p => [p.time_us, p.live_words, p.selected_words, p.selected_words_error].join(' ')).join('\n');
        check(line(found.live.points) === line(read(`${name}-live`).points), `${name}: alive over time`);
    }

    for (let i = 0; i < screens.length; i++) {
        await page.keyboard.press(String(i + 1));
        await page.waitForFunction(id => document.querySelector('nav [aria-selected=true]').dataset.id === id, {}, screens[i]);
        if (screens[i] !== 'trace') await drawn(page, screens[i]);
        check((await page.$eval('main', main => main.innerText)).length > 40, `${screens[i]} is empty`);
    }

    // A range by keys alone: the filter is in the command and in the address.
    await page.keyboard.press('1');
    await drawn(page, 'when');
    await page.focus('canvas.time');
    for (let i = 0; i < 60; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.down('Shift');
    for (let i = 0; i < 30; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.up('Shift');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /--live-at \d+us\.\.\d+us/.test(document.getElementById('command').innerText), {timeout: 30000});
    check(/live_at/.test(decodeURIComponent(await page.evaluate(() => location.hash))), 'the address has no filter');
    await page.keyboard.press('3');
    await drawn(page, 'places');
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => document.querySelector('table.bars'), {timeout: 30000});
    const first = await page.$eval('tr.selected', row => [...row.cells].map(cell => cell.innerText));
    const asked = await page.evaluate(() => hs.trace.top(view.filter, 'site').rows[0]);
    check(plain(first[1]) === String(asked.words), `words of the first site: ${first[1]}, not ${asked.words}`);

    // The same by hand: a filter that is no filter is told, one that is one is taken.
    await page.keyboard.press('f');
    await page.type('dialog input[aria-label="born"]', 'soon');
    await page.keyboard.press('Enter');
    check(/not understood/.test(await page.$eval('dialog .error', text => text.innerText)), 'a wrong range is not told');
    await page.keyboard.press('Escape');

    // One function: who calls it, what it calls.
    await page.keyboard.press('2');
    await drawn(page, 'calls');
    // The arrow keys go through the picture: into the largest, or the row that is chosen, and back.
    const depth = () => page.evaluate(() => document.querySelectorAll('.crumbs button:not(.link)').length);
    const depths = [await depth()];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'h', 'l', 'ArrowLeft', 'ArrowLeft']) {
        await page.keyboard.press(key);
        depths.push(await depth());
    }
    check(depths.join() === '1,2,3,2,1,2,1,1', 'the arrow keys lead to depths ' + depths);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    check(await depth() === 2, 'the right arrow opens the chosen row');
    await page.keyboard.press('z');
    await page.waitForFunction(() => document.querySelector('section[aria-label="one function"]'), {timeout: 30000});
    check(requests.length === 1, 'requests: ' + requests);

    const small = await open(800, 600);
    for (let i = 0; i < screens.length; i++) {
        await small.page.keyboard.press(String(i + 1));
        await small.page.waitForFunction(id => hs.at.id === id, {}, screens[i]);
        const wide = await small.page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        check(!wide, `${screens[i]} is wider than 800`);
    }
} finally {
    await browser.close();
    fs.rmSync(profile, {recursive: true, force: true});
}
for (const each of wrong) console.log('wrong: ' + each);
process.exit(wrong.length === 0 ? 0 : 1);
