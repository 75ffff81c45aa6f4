// Every control of a page is used once where it stands, and no text of the page may be what a
// program prints when a value is missing: shared by report.mjs and serve.mjs.
const BROKEN = /\[object |\bundefined\b|\bnull\b|\bNaN\b|\bInfinity\b/;

// What can be read of the page, or is read aloud: text, titles, labels, what stands in fields.
const texts = page => page.evaluate(() => [document.body.innerText,
    ...[...document.querySelectorAll('[title], [aria-label], [placeholder], input, textarea')].flatMap(one =>
        [one.title, one.getAttribute('aria-label'), one.placeholder, one.value])].filter(Boolean));

export async function readable(page, where, wrong) {
    for (const text of await texts(page)) {
        const found = BROKEN.exec(text);
        if (found) wrong.push(`${where} says '${text.slice(Math.max(0, found.index - 60), found.index + 60)}'`);
    }
}

// Of what there is once in each row the first will do.
const CONTROLS = 'main button, main select, main input, main textarea, main canvas, main tbody tr';
const described = page => page.$$eval(CONTROLS, all => all.map((one, at) => {
    const cell = one.closest('td'), row = one.closest('tr');
    const place = one.tagName === 'TR' ? 'row' : cell ? `column ${cell.cellIndex}` : '';
    const table = one.closest('table'), tables = [...document.querySelectorAll('main table')];
    const name = place || (one.classList.contains('link') ? 'link'
        : one.innerText?.slice(0, 40) || one.getAttribute('aria-label') || one.tagName);
    return { at, tag: one.tagName, type: one.type, name: `${table ? `table ${tables.indexOf(table)} ` : ''}${name}`,
        options: one.tagName === 'SELECT' ? [...one.options].map(option => option.value) : [] };
}).filter((one, i, all) => all.findIndex(other => other.name === one.name) === i));

async function use(page, one, option) {
    const found = (await page.$$(CONTROLS))[one.at];
    if (!found) return false; // what came later moved it
    if (one.tag === 'SELECT') {
        await found.evaluate((box, value) => { box.value = value; box.dispatchEvent(new Event('change')); }, option);
    } else if (one.tag === 'INPUT' && one.type !== 'checkbox') {
        await found.evaluate(box => { box.value = 'a'; box.dispatchEvent(new Event('input')); });
        await found.focus();
        await page.keyboard.press('Enter');
    } else {
        await found.evaluate(control => control.scrollIntoView({ block: 'center' }));
        await found.evaluate(control => control.click());
    }
    return true;
}

// addresses: of the screens, what stands behind '#'. Returns how many controls were used.
export async function useAll(page, addresses, wrong) {
    let n_used = 0, n_asked = 0;
    page.on('request', () => n_asked++);
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, () => n_asked--);
    const rest = async () => { // nothing is looked for any more
        do await new Promise(resolve => setTimeout(resolve, 15)); while (n_asked > 0);
        await page.waitForFunction(() => document.body.dataset.shown !== undefined
            && !/^(computing|looking|asking)/m.test(document.querySelector('main').innerText));
    };
    const show = async address => {
        await page.evaluate(where => {
            document.querySelector('dialog')?.close();
            if (location.hash === '#' + where) return void window.show();
            location.hash = where;
        }, address);
        await page.waitForFunction(() => document.body.dataset.shown === location.hash);
        await rest();
    };
    for (const address of addresses) {
        await show(address);
        await readable(page, address, wrong);
        const controls = await described(page), before = JSON.stringify(controls);
        for (const one of controls)
            for (const option of one.options.length ? one.options : [null]) {
                if (!await use(page, one, option)) continue;
                n_used++;
                await rest();
                await readable(page, `${address}, after ${one.tag} '${one.name}'${option === null ? '' : ' ' + option}`, wrong);
                if (JSON.stringify(await described(page)) !== before) await show(address); // it led away
            }
    }
    return n_used;
}
