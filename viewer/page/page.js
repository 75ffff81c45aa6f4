/* The page around the screens: which one is shown, keys, what is said below. */
const app = document.getElementById('app');
let said = '', pointer = null;

function say(text) {
  said = text;
  const place = document.getElementById('command');
  if (place) place.textContent = text;
}

function tip(key, event, keys = hs.keys) {
  if (pointer) pointer.remove();
  pointer = null;
  if (key < 0) return;
  pointer = make('div', { class: 'tip', role: 'tooltip' }, keyText(keys, key), make('br'), keys.text
    ? `${keys.text(key)}, ${keys.about(key)}`
    : `${size(keys.words[key])}, ${percent(keys.words[key], keys.words[0])}, ${grouped(keys.objects[key])} objects`);
  document.body.append(pointer);
  const area = pointer.getBoundingClientRect();
  pointer.style.left = Math.max(0, Math.min(event.clientX + 12, innerWidth - area.width - 8)) + 'px';
  pointer.style.top = Math.max(0, Math.min(event.clientY + 12, innerHeight - area.height - 8)) + 'px';
}

function searchInput(search) {
  return make('input', { type: 'search', placeholder: 'search (/)', 'aria-label': 'search',
    oninput: event => search(event.target.value) });
}

function searchTools(rows) {
  return make('div', { class: 'tools' }, searchInput(text => rows.search(text)));
}

function go(id, argument) {
  location.hash = argument === undefined ? id : `${id}/${encodeURIComponent(argument)}`;
}

function screens() {
  return hs.screens.filter(screen => !screen.when || screen.when(hs.data));
}

/* Which screen is wanted; live, its data may have to come first, and another one be wanted by then.
 * When it is there the body says of which address. */
async function show() {
  delete document.body.dataset.shown;
  const [id, argument] = location.hash.slice(1).split('/').map(part => {
    try { return decodeURIComponent(part); } catch { return ''; }
  });
  const all = screens(), screen = all.find(one => one.id === id) || all[0];
  tip(-1);
  hs.at = screen;
  say(hs.need ? '' : screen.command());
  for (const button of document.querySelectorAll('nav button'))
    button.setAttribute('aria-selected', String(button.dataset.id === screen.id));
  if (hs.need) {
    const wanted = hs.wanted = {};
    try {
      await hs.need(screen, argument);
    } catch (error) {
      if (hs.wanted === wanted) fail(error);
      return;
    }
    if (hs.wanted !== wanted) return;
    say(screen.command(argument));
  }
  hs.shown = screen.draw(argument);
  document.querySelector('main').replaceChildren(hs.shown.element);
  if (hs.shown.start) hs.shown.start();
  else if (hs.shown.tree) hs.shown.tree.draw();
  if (screen.id === 'roots' && argument) {
    const box = document.querySelector('main input');
    box.value = argument;
    box.dispatchEvent(new Event('input'));
  }
  document.body.dataset.shown = location.hash;
}

function fail(error) {
  document.body.dataset.shown = location.hash;
  hs.shown = { element: make('p', { class: 'error', 'aria-live': 'assertive' }, String(error.message || error)) };
  document.querySelector('main').replaceChildren(hs.shown.element);
}

function help() {
  const lines = [['1 to 9, 0', 'screens'], ['n, p', 'next screen, screen before'], ['up, down or j, k', 'next row'], ['Enter', 'open it'], ['Backspace', 'one up in the tree, back to the object before'], ['left, right or h, l', 'in a tree one up, and into the row or the largest'],
    ['/', 'search'], ['Escape', 'out of the search'], ['m', 'icicle or treemap'], ['w', 'words or bytes'],
    ['c', 'copy the command that prints this'], ['u', 'copy a link to this screen'],
    ...(hs.help || []), ['?', 'this']];
  const dialog = make('dialog', {}, make('table', {}, make('tbody', {}, lines.map(([key, what]) =>
    make('tr', {}, make('td', {}, make('code', {}, key)), make('td', {}, what))))),
  make('p', {}, make('button', { onclick: () => dialog.close() }, 'close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function copy(text) {
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say('copied: ' + text), () => say(text));
  else say(text);
}

/* The next screen, or the one before: there may be more of them than digits. */
function beside(by) {
  const all = screens(), at = all.indexOf(hs.at);
  go(all[(at + by + all.length) % all.length].id);
}

const actions = {
  '/': () => document.querySelector('main input')?.focus(),
  'm': () => hs.shown.tree?.turn(),
  'w': () => { hs.unit = hs.unit === 'words' ? 'bytes' : 'words'; show(); },
  'c': () => copy(hs.at && said.startsWith('heapsnap') ? said : hs.at.command()),
  'u': () => copy(hs.link ? hs.link() : location.href),
  '?': help,
  'ArrowDown': () => hs.shown.table?.move(1),
  'j': () => hs.shown.table?.move(1),
  'ArrowUp': () => hs.shown.table?.move(-1),
  'k': () => hs.shown.table?.move(-1),
  'Enter': () => hs.shown.table?.open?.(),
  'Backspace': () => hs.shown.up?.(),
  'ArrowLeft': () => hs.shown.up?.(),
  'h': () => hs.shown.up?.(),
  'ArrowRight': () => hs.shown.into?.(),
  'l': () => hs.shown.into?.(),
  'n': () => beside(1),
  'p': () => beside(-1),
};

function onKey(event) {
  const typing = ['INPUT', 'TEXTAREA', 'SELECT'].includes(event.target.tagName) && event.target.type !== 'checkbox';
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog')) return;
  if (typing && event.key === 'Escape') event.target.blur();
  if (typing && (event.target.tagName !== 'INPUT' || event.target.dataset.own)) return;
  if (typing && event.key !== 'ArrowDown' && event.key !== 'ArrowUp' && event.key !== 'Enter') return;
  if (event.target.tagName === 'BUTTON' && event.key === 'Enter') return;
  const digit = '1234567890'.indexOf(event.key), all = screens();
  if (digit >= 0 && digit < all.length && !typing) go(all[digit].id);
  else if (actions[event.key]) actions[event.key]();
  else return;
  event.preventDefault();
}

function dateText(ns) {
  return ns ? new Date(ns / 1e6).toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : '';
}

/* What is looked at, in a word and in a line. */
function titleParts() {
  const { info, trace_info: trace } = hs.data;
  if (!info)
    return [trace.executable || trace.trace, [trace.pid ? `process ${trace.pid}` : '', dateText(trace.begun_us * 1000),
      `${seconds(trace.duration_us)} of allocations`, `${grouped(trace.counts.samples)} samples`, trace.context]];
  return [info.command || info.snapshot, [info.pid ? `process ${info.pid}` : '', dateText(info.taken_ns), `${grouped(info.objects)} objects`,
    `${size(info.words)} of heap`, `${percent(info.attributed_words, info.reached_words)} of what is reached has named owners`]];
}

function frame() {
  const [title, facts] = titleParts();
  document.title = 'heapsnap: ' + title;
  app.replaceChildren(
    make('header', {},
      make('h1', {}, title),
      make('div', { class: 'soft' }, facts.filter(Boolean).join(' \u00b7 ')),
      make('nav', { role: 'tablist' }, screens().map((screen, i) => make('button',
        { role: 'tab', 'data-id': screen.id, title: i < 10 ? `key ${(i + 1) % 10}` : 'key n', onclick: () => go(screen.id) }, screen.title)))),
    make('main', {}),
    make('footer', {}, make('code', { id: 'command', role: 'status' }), make('span', { class: 'soft' }, '? keys')));
}

/* Headings of tables stay in sight below what is above all screens, which has one line or more. */
function placeHeadings() {
  document.documentElement.style.setProperty('--head', document.querySelector('header').offsetHeight + 'px');
}

/* Who made the page begins with this when the data that each screen needs is there. */
function startPage(isFramed) {
  if (!isFramed) frame();
  placeHeadings();
  addEventListener('hashchange', show);
  addEventListener('resize', () => { placeHeadings(); hs.shown?.tree?.draw(); });
  addEventListener('keydown', onKey);
  for (const [event, isPrinting] of [['beforeprint', true], ['afterprint', false]]) // paper is light
    addEventListener(event, () => { hs.isPrinting = isPrinting; hs.shown?.tree?.draw(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  show();
}
