// Every control of a page is used once where it stands, and no text of the page may be what a
// program prints when a value is missing: shared by report.mjs and serve.mjs.

// In the page, so that a control costs no way there and back. Answers what was wrong.
async function walk(address, wrong) {
    const BROKEN = /\[object |\bundefined\b|\bnull\b|\bNaN\b|\bInfinity\b/;
    // Of what there is once in each row the first will do.
    const CONTROLS = 'main button, main select, main input, main textarea, main canvas, main tbody tr';
    const pause = () => new Promise(resolve => setTimeout(resolve, 10));

    async function rest() { // nothing is looked for any more
        do await pause(); while (window.nAsked > 0 || document.body.dataset.shown === undefined
            || /^(computing|looking|asking)/m.test(document.querySelector('main').innerText));
    }
    async function show() {
        document.querySelector('dialog')?.close();
        if (location.hash === '#' + address) window.show();
        else location.hash = address;
        do await pause(); while (document.body.dataset.shown !== location.hash);
        await rest();
    }
    // What can be read, or is read aloud: text, titles, labels, what stands in fields.
    function read(where) {
        const spoken = [...document.querySelectorAll('[title], [aria-label], [placeholder], input, textarea')]
            .flatMap(one => [one.title, one.getAttribute('aria-label'), one.placeholder, one.value]);
        for (const text of [document.body.innerText, ...spoken]) {
            const found = BROKEN.exec(text || '');
            if (found) wrong.push(`${where} says '${text.slice(Math.max(0, found.index - 60), found.index + 60)}'`);
        }
    }
    function describe() {
        const tables = [...document.querySelectorAll('main table')];
        return [...document.querySelectorAll(CONTROLS)].map((one, at) => {
            const cell = one.closest('td'), table = one.closest('table');
            const name = one.tagName === 'TR' ? 'row' : cell ? `column ${cell.cellIndex}`
                : one.classList.contains('link') ? 'link'
                    : one.innerText?.slice(0, 40) || one.getAttribute('aria-label') || one.tagName;
            return { at, name: `${table ? `table ${tables.indexOf(table)} ` : ''}${name}`,
                options: one.tagName === 'SELECT' ? [...one.options].map(option => option.value) : [null] };
        }).filter((one, i, all) => all.findIndex(other => other.name === one.name) === i);
    }
    function use(control, option) {
        if (option !== null) {
            control.value = option;
            control.dispatchEvent(new Event('change'));
        } else if (control.tagName === 'INPUT' && control.type !== 'checkbox') {
            control.value = 'a';
            control.dispatchEvent(new Event('input'));
            control.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
        } else control.click();
    }

    let nUsed = 0;
    await show();
    read(address);
    const controls = describe(), before = JSON.stringify(controls);
    for (const one of controls)
        for (const option of one.options) {
            const control = document.querySelectorAll(CONTROLS)[one.at];
            if (!control) continue; // what came later moved it
            use(control, option);
            nUsed++;
            await rest();
            read(`${address}, after '${one.name}'${option === null ? '' : ' ' + option}`);
            if (location.hash !== '#' + address || JSON.stringify(describe()) !== before) await show();
        }
    return [nUsed, wrong];
}

// addresses: of the screens, what stands behind '#'. Returns how many controls were used.
export async function useAll(page, addresses, wrong) {
    let nUsed = 0;
    await page.evaluate(() => {
        const { fetch } = window;
        window.nAsked = 0;
        window.fetch = (...asked) => {
            window.nAsked++;
            return fetch(...asked).finally(() => { window.nAsked--; });
        };
    });
    for (const address of addresses) {
        const [n, found] = await page.evaluate(walk, address, []);
        nUsed += n;
        wrong.push(...found);
    }
    return nUsed;
}
