/* The screens. Each: { id, title, command, when, draw() -> { element, table, tree } }. */
const wordsOf = rows => rows.reduce((sum, row) => sum + row, 0);

function suspectList() {
  const { suspects, headline, verdict } = hs.data.suspects;
  const list = suspects.filter(one => one.list !== 'memory'); // the verdict says it
  return make('div', {}, headline ? make('p', { class: 'balance' }, headline) : null,
    verdict ? make('p', { class: 'verdict' }, verdict) : null, list.length === 0
      ? make('p', {}, 'Nothing stands out: no owner, set or type has a larger part of the heap.')
      : make('ol', { class: 'suspects' }, list.map(one => make('li', {}, one.sentence, make('br'),
        make('code', { title: 'copy', onclick: () => copy(one.command) }, one.command)))));
}

function memoryStrip() {
  const rows = hs.data.info.memory || [];
  const colours = { live: '#3b82c4', cached: '#c9a227', free: '#9aa3b2', dirty: '#c7ccd6', internal: '#7a5ea8',
    damaged: '#b3261e', other: '#5b8f6b' };
  const states = new Map();
  for (const row of rows) states.set(row.state, (states.get(row.state) || 0) + row.resident_bytes);
  const total = wordsOf([...states.values()]);
  if (total === 0) return null;
  const word = hs.data.info.word_bytes;
  const parts = [...states].filter(([, bytes]) => bytes > 0);
  return [make('h2', {}, 'Resident memory'),
    make('div', { class: 'strip', role: 'img', 'aria-label': 'resident memory by state' }, parts.map(([state, bytes]) =>
      make('span', { title: state, style: { width: 100 * bytes / total + '%', background: colours[state] || '#888' } }))),
    make('div', { class: 'legend' }, parts.map(([state, bytes]) =>
      make('span', {}, make('i', { style: { background: colours[state] || '#888' } }),
        `${state} ${size(Math.round(bytes / word))}, ${percent(bytes, total)}`)))];
}

function keptStrip() {
  const kept = hs.data.roots.kept_by, heap = hs.data.info.words;
  const parts = [['one root', kept.one_root_words, '#2f7d4f'], ['2 to 3 roots', kept.two_to_three_words, '#5b9f6b'],
    ['4 to 8 roots', kept.four_to_eight_words, '#9cc08a'], ['more roots', kept.more_words, '#c9a227'],
    ['nobody', hs.data.roots.unreached.words, '#9aa3b2']].filter(part => part[1] > 0);
  return [make('h2', {}, 'The heap, by how many keep it'),
    make('div', { class: 'strip', role: 'img', 'aria-label': 'the heap by how many roots keep it' },
      parts.map(([name, words, colour]) =>
        make('span', { title: name, style: { width: 100 * words / heap + '%', background: colour } }))),
    make('div', { class: 'legend' }, parts.map(([name, words, colour]) =>
      make('span', {}, make('i', { style: { background: colour } }), `${name} ${size(words)}, ${percent(words, heap)}`)))];
}

/* As hs_root_place has it: what stands under WHERE in tables. */
function rootPlace(root) {
  const symbol = root.symbol || '', module = root.module || '', isNamed = root.name.startsWith(symbol);
  if (root.file) return root.line ? `${root.file}:${root.line}` : root.file;
  if (symbol.startsWith('.') && module) return root.function ? `${module}, used by ${root.function}` : module;
  if (isNamed && module) return module;
  if (symbol && root.offset) return `${symbol}+${root.offset}`;
  if (symbol && !isNamed) return symbol;
  return root.thread ? `thread ${root.thread}` : module;
}

function rootColumns(heap) {
  return [
    { head: 'root', name: true, text: row => row.name },
    { head: 'kind', aside: true, text: row => row.kind },
    sizeColumn('retained', row => row.retained_words, heap),
    { head: '%', number: true, value: row => row.retained_words, text: row => percent(row.retained_words, heap) },
    sizeColumn('reachable', row => row.reachable_words),
    { head: 'objects', number: true, value: row => row.retained_objects, text: row => grouped(row.retained_objects) },
    { head: 'type', wrap: true, text: row => row.type || '' },
    { head: 'where', name: true, text: rootPlace },
    { head: 'certainty', text: row => row.certainty + (row.tier === 'firm' ? '' : ', ' + row.tier) },
  ];
}

/* What the treemap's largest boxes are, in words: keys by the blocks of their own. */
function largestKeys(keys) {
  const most = 12, rows = [];
  for (let key = 1; key < keys.n; key++)
    if (keys.own_words[key] > 0 && (rows.length < most || keys.own_words[key] > keys.own_words[rows[most - 1].key])) {
      const at = rows.findIndex(row => keys.own_words[row.key] < keys.own_words[key]);
      rows.splice(at < 0 ? rows.length : at, 0, { key });
      rows.length = Math.min(rows.length, most);
    }
  return table({ rows, sorted: 1, open: row => go('tree', row.key), columns: [
    { head: 'owner > types', name: true, text: row => keyText(keys, row.key) },
    sizeColumn('own blocks', row => keys.own_words[row.key], keys.words[0]),
    { head: '%', number: true, value: row => keys.own_words[row.key], text: row => percent(keys.own_words[row.key], keys.words[0]) },
    sizeColumn('with all below', row => keys.words[row.key])] });
}

function drawOverview() {
  const heap = wholeWords();
  const roots = hs.data.roots.roots.slice(0, 8);
  const lateKeys = hs.late?.('keys'), tree = lateKeys ? null : treeCanvas(hs.keys, key => go('tree', key), tip, ['treemap', 'icicle'],
    'the table below has the largest in words, the screen Tree all');
  const rows = table({ columns: rootColumns(heap).slice(0, 4).concat(rootColumns(heap)[7]), rows: roots,
    open: row => go('roots', row.name) });
  return { tree, table: rows, element: make('div', {}, make('div', { class: 'first' },
    make('div', {}, make('h2', {}, 'Where the memory has gone'), hs.late?.('suspects') || suspectList()),
    make('div', {}, make('h2', {}, 'Owners and types'), lateKeys || tree.element, lateKeys ? null : largestKeys(hs.keys).element)),
  memoryStrip(), keptStrip(), make('h2', {}, 'The roots that keep most'), rows.element) };
}

/* To the part of the tree that counts for a root, where it has one. */
function openInTree(row) {
  const key = hs.keys?.children[0].find(one => keyName(hs.keys, one) === row.name);
  if (key !== undefined) go('tree', key);
  else say(`${row.name} has no part of the tree: other roots are nearer to what it holds`);
}

function drawRoots() {
  const { roots, sets, shared, others, unreached, unread_words } = hs.data.roots, heap = wholeWords();
  const rows = table({ columns: rootColumns(heap), rows: roots, sorted: 2,
    select: row => say(command('paths', '--to', row.id)), what: row => row.id, open: hs.visit ? null : openInTree,
    foot: ['total: roots, shared, others and unreached' + (unread_words ? ', and not read' : ''), '', size(heap), '100.0 %'].concat(Array(5).fill('')) });
  const shown = wordsOf(roots.map(row => row.retained_words));
  return { table: rows, element: make('div', {}, searchTools(rows),
    make('p', { class: 'soft' }, `${grouped(roots.length)} roots shown: ${size(shown)}`
      + (others.count > 0 ? `; ${grouped(others.count)} others: ${size(others.retained_words)}` : '')
      + (shared.retained_words > 0 ? `; kept by several together: ${size(shared.retained_words)} (${sets.length} sets, see Shared)` : '')
      + `; unreached: ${size(unreached.words)}.`),
    rows.element) };
}

function drawTree(argument) {
  const keys = hs.keys;
  let at = Math.max(0, Math.min(Number(argument) || 0, keys.n - 1));
  const crumbs = make('p', { class: 'crumbs' }), holder = make('div');
  let rows = null;
  const tree = treeCanvas(keys, open, tip);
  function open(key) {
    at = key;
    history.replaceState(null, '', '#tree/' + key); // no new drawing of all, which would take what is being typed
    draw();
  }
  function draw() {
    const way = keyWay(keys, at);
    crumbs.replaceChildren(make('button', { onclick: () => open(0) }, 'all'), ...way.flatMap(step =>
      [' > ', make('button', { onclick: () => open(step) }, keyName(keys, step))]),
    ` \u2014 ${size(keys.words[at])}, ${grouped(keys.objects[at])} objects`
      + (keys.set[at] ? `, kept by set:${keys.set[at]}` : ''));
    const below = keys.children[at].slice(0, 300).map(key => ({ key }));
    const rest = keys.words[at] - keys.own_words[at] - wordsOf(below.map(row => keys.words[row.key]));
    if (keys.own_words[at] > 0) below.push({ key: -1, name: 'its own blocks', words: keys.own_words[at] });
    if (rest > 0) below.push({ key: -1, name: 'smaller ones', words: rest });
    const words = row => row.key < 0 ? row.words : keys.words[row.key];
    rows = table({ rows: below, open: row => row.key >= 0 && open(row.key), columns: [
      { head: 'owner or type', name: true, text: row => row.key < 0 ? row.name : keyName(keys, row.key) },
      sizeColumn('words', words, keys.words[at]),
      { head: '%', number: true, value: words, text: row => percent(words(row), keys.words[at]) },
      { head: 'objects', number: true, value: row => row.key < 0 ? -1 : keys.objects[row.key],
        text: row => row.key < 0 ? '' : grouped(keys.objects[row.key]) }] });
    holder.replaceChildren(rows.element);
    tree.show(at);
    say(at === 0 ? command('export', '--to', 'folded')
      : command('paths', '--to', 'root:' + keyName(keys, keyWay(keys, at)[0])));
  }
  const element = make('div', {}, make('div', { class: 'tools' },
    make('button', { onclick: () => open(keys.parent[at] > 0 ? keys.parent[at] : 0) }, 'up'),
    make('button', { onclick: () => tree.turn() }, 'icicle or treemap (m)'), searchInput(find)), crumbs,
  make('p', { class: 'soft' }, 'Each block counts once, for the nearest of the roots that hold it; what a root alone keeps stands in Roots.'),
  tree.element, holder);
  function find(text) {
    const wanted = text.toLowerCase();
    if (wanted === '') return draw();
    const found = [];
    for (let i = 1; i < keys.n && found.length < 200; i++)
      if (keyName(keys, i).toLowerCase().includes(wanted)) found.push({ key: i });
    rows = table({ rows: found, open: row => open(row.key), columns: [
      { head: 'key', name: true, text: row => keyText(keys, row.key) },
      sizeColumn('words', row => keys.words[row.key], keys.words[0])] });
    holder.replaceChildren(rows.element);
  }
  const into = () => {
    const row = rows.row(), key = row?.key >= 0 ? row.key : keys.children[at][0];
    if (key !== undefined) open(key);
  };
  return { element, tree, start: draw, into, up: () => at > 0 && open(keys.parent[at]),
    table: { move: by => rows.move(by), open: () => rows.open(), draw: () => draw() } };
}

/* Sets as rows, roots as columns: the roots that take part in most of what is shared come first. */
function drawShared() {
  const { sets, roots, other_sets, shared } = hs.data.roots, heap = wholeWords();
  const names = new Map(roots.map(root => [root.id, root.name])), weight = new Map();
  for (const set of sets)
    for (const id of set.roots) weight.set(id, (weight.get(id) || 0) + set.retained_words);
  const most = Math.max(6, Math.min(24, Math.floor((innerWidth - 400) / 26))); // that have room
  const columns = [...weight].sort((a, b) => b[1] - a[1]).slice(0, most).map(([id]) => id);
  const rows = table({ grid: true, rows: sets, sorted: 1, select: set => say(command('paths', '--to', set.id)), what: set => set.id, columns: [
    { head: 'set', text: set => set.id },
    sizeColumn('kept together', set => set.retained_words, heap),
    { head: '%', number: true, value: set => set.retained_words, text: set => percent(set.retained_words, heap) },
    { head: 'roots', number: true, value: set => set.n_roots, text: set => grouped(set.n_roots) },
    ...columns.map(id => ({ head: names.get(id) || hs.data.set_roots[id] || id, cell: set => set.roots.includes(id) ? '\u25cf' : '',
      text: set => set.roots.includes(id) ? names.get(id) || hs.data.set_roots[id] || id : '' }))] });
  rows.element.querySelectorAll('th').forEach((th, i) => { if (i >= 4) th.classList.add('tall'); });
  return { table: rows, element: make('div', {}, searchTools(rows),
    make('p', { class: 'soft' }, `Shared by several roots: ${size(shared.retained_words)}, ${percent(shared.retained_words, heap)}`
      + (other_sets.count > 0 ? `; ${grouped(other_sets.count)} more sets have ${size(other_sets.retained_words)}` : '') + `. A set is freed when all of its roots let go.`
      + (weight.size > columns.length ? ` Columns: of ${grouped(weight.size)} roots the ${columns.length} that take part in most.` : '')),
    rows.element) };
}

function drawTypes() {
  const { types, others, unreached } = hs.data.types, heap = wholeWords();
  const rows = table({ rows: types, sorted: 5, what: row => 'type:' + row.type, select: row => say(command('paths', '--to', 'type:' + row.type)), columns: [
    { head: 'type', name: true, text: row => row.type },
    { head: 'kind', text: row => row.kind },
    { head: 'objects', number: true, value: row => row.objects, text: row => grouped(row.objects) },
    sizeColumn('words', row => row.words, heap),
    { head: '%', number: true, value: row => row.words, text: row => percent(row.words, heap) },
    sizeColumn('retained', row => row.retained_words)] });
  return { table: rows, element: make('div', {}, searchTools(rows), make('p', { class: 'soft' },
    `${grouped(types.length)} types` + (others.count > 0 ? `, ${grouped(others.count)} more have ${size(others.words)}` : '')
      + `. Unreached: ${size(unreached.words)}.`), rows.element) };
}

function drawLeaks() {
  const { groups, certain, possible, others } = hs.data.leaks;
  const rows = table({ rows: groups, what: row => row.first_id, select: row => say(command('object', row.first_id)), columns: [
    { head: 'certainty', text: row => row.certainty },
    { head: 'type', name: true, text: row => row.perhaps ? `${row.type}, perhaps ${row.perhaps}` : row.type },
    { head: 'count', number: true, value: row => row.count, text: row => grouped(row.count) },
    sizeColumn('words', row => row.words), sizeColumn('held', row => row.held_words),
    { head: 'why', name: true, text: row => row.why }, { head: 'first', text: row => row.first }] });
  return { table: rows, element: make('div', {}, searchTools(rows), make('p', { class: 'soft' },
    `Certain: ${grouped(certain.count)} blocks, ${size(certain.words)}. Possible: ${grouped(possible.count)}, ${size(possible.words)}.`
    + (others.groups > 0 ? ` Not shown: ${grouped(others.groups)} groups, ${size(others.words)}.` : '')
    + (hs.data.leaks.collected ? ' A collector frees what is unreached.' : '')), rows.element) };
}

function sparkline(values) {
  const most = Math.max(...values), least = Math.min(...values), span = most - least || 1, step = 100 / Math.max(1, values.length - 1);
  const name = 'http://www.w3.org/2000/svg', svg = document.createElementNS(name, 'svg');
  const line = document.createElementNS(name, 'polyline');
  svg.setAttribute('viewBox', '0 0 100 20');
  svg.setAttribute('width', '100');
  svg.setAttribute('height', '20');
  svg.setAttribute('aria-label', values.join(', '));
  line.setAttribute('points', values.map((v, i) => `${i * step},${18 - 16 * (v - least) / span}`).join(' '));
  line.setAttribute('fill', 'none');
  line.setAttribute('stroke', 'currentColor');
  svg.append(line);
  return svg;
}

function drawGrowth() {
  const { keys, verdict, snapshots } = hs.data.diff;
  const last = row => row.words[row.words.length - 1], first = row => row.words[0];
  const rows = table({ rows: keys, columns: [
    { head: 'key', name: true, text: row => row.key || 'all of the heap' },
    { head: 'course', text: row => row.words.join(' '), cell: row => sparkline(row.words) },
    sizeColumn('now', last),
    { head: 'growth', number: true, value: row => last(row) - first(row), text: row => size(last(row) - first(row)) },
    { head: 'an hour', number: true, value: row => row.words_per_hour ?? 0,
      text: row => row.words_per_hour === null ? '' : size(Math.round(row.words_per_hour)) }] });
  return { table: rows, element: make('div', {}, make('p', {}, verdict), searchTools(rows),
    make('p', { class: 'soft' }, `${snapshots.length} snapshots.`), rows.element) };
}

function drawSites() {
  const rows = table({ rows: hs.data.samples.samples, what: row => 'sample:' + row.id, select: row => say(command('paths', '--to', 'sample:' + row.id)), columns: [
    { head: 'sample', number: true, value: row => row.id, text: row => String(row.id) },
    sizeColumn('words', row => row.words),
    { head: 'type', name: true, text: row => row.type || '' },
    { head: 'kept by', name: true, text: row => row.root || row.kept_by || '' },
    { head: 'allocated at', name: true, text: row => siteText(row.site) }] });
  return { table: rows, element: make('div', {}, searchTools(rows), rows.element) };
}

function siteText(site) {
  if (!site) return '';
  if (typeof site === 'string') return site;
  return site.map(f => typeof f === 'string' ? f : (f.function || '?') + (f.file ? ` ${f.file}${f.line ? ':' + f.line : ''}` : '')).slice(0, 3).join(' < ');
}

function drawAbout() {
  const info = hs.data.info;
  const lines = Object.entries(info).filter(([, value]) => value === null || typeof value !== 'object');
  const human = (name, value) => typeof value !== 'number' ? '' : / ns$/.test(name) && !/taken/.test(name) ? ` (${seconds(value / 1000)})`
    : / (words|bytes)$/.test(name) && name !== 'word bytes' ? ` (${bytesText(/ words$/.test(name) ? value * info.word_bytes : value)})`
      : name === 'taken ns' ? ` (${dateText(value)})` : '';
  const pairs = make('table', {}, make('tbody', {}, lines.map(([key, value]) => [key.replace(/_/g, ' '), value]).map(([name, value]) => make('tr', {},
    make('td', {}, name), make('td', { class: 'name' }, value === null ? 'unknown' : String(value), make('span', { class: 'soft' }, human(name, value)))))));
  const list = (title, rows, text) => rows && rows.length > 0 &&
    [make('h2', {}, title), make('ul', {}, rows.map(row => make('li', {}, text(row))))];
  return { element: make('div', {}, list('Runtimes', info.runtimes, r => `${r.name} ${r.version || ''}, ${r.certainty}`),
    list('Proofs', info.proofs, p => `${p.holds ? 'holds' : 'DOES NOT HOLD'}: ${p.what}, expected ${p.expected}, found ${p.found}`),
    list('Notes', info.notes, n => (n.gap ? 'missing: ' : '') + n.text),
    list('Not read', info.unreadable, r => `${r.begin} to ${r.end}`),
    list('Binaries', info.build_ids, b => `${b.path} ${b.build_id || ''}${b.debug_information ? '' : ', stripped'}`),
    make('h2', {}, 'All that info says'), pairs) };
}

hs.screens = [
  { id: 'overview', title: 'Overview', draw: drawOverview, command: () => command('suspects') },
  { id: 'roots', title: 'Roots', draw: drawRoots, command: () => command('roots') },
  { id: 'tree', title: 'Tree', draw: drawTree, command: () => command('export', '--to', 'folded') },
  { id: 'shared', title: 'Shared', draw: drawShared, command: () => command('roots'), when: d => !d.roots || d.roots.sets.length > 0 },
  { id: 'types', title: 'Types', draw: drawTypes, command: () => command('types') },
  { id: 'leaks', title: 'Leaks', draw: drawLeaks, command: () => command('leaks') },
  { id: 'growth', title: 'Growth', draw: drawGrowth, command: () => 'heapsnap diff ' + hs.data.diff.snapshots
    .map(s => quoted(s.path || s.snapshot || String(s))).join(' '), when: d => d.diff },
  { id: 'sites', title: 'Samples', draw: drawSites, command: () => command('samples'), when: d => d.samples },
  { id: 'about', title: 'About', draw: drawAbout, command: () => command('info') },
];
