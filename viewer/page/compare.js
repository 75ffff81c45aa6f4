/* Two snapshots side by side: the same question to both, and rows of the same name in one line. Never
 * by number or address: these are other objects in another snapshot. What one of them does not list
 * is 0 only where its list is whole, else unknown. */
const COMPARE_MOST = 5000;
const comparePart = argument => {
  const at = (argument || '').indexOf(':');
  return at < 0 ? [argument || 'roots', null] : [argument.slice(0, at), argument.slice(at + 1)];
};

/* The one that was chosen, else the next older one; the older of two when there is no older one. */
function olderSnapshot() {
  const names = hs.live.snapshots.map(one => one.name), at = names.indexOf(hs.live.snap);
  return hs.live.older || names[at + 1] || names[at - 1];
}

const askOne = (snap, path) => request(`${path}${path.includes('?') ? '&' : '?'}snap=${encodeURIComponent(snap)}`);
/* Of an object that one of them does not have there is the reason. */
const askMaybe = (snap, path) => askOne(snap, path).catch(error => ({ missing: error.message }));
const askBoth = (path, ask = askOne) => Promise.all([ask(olderSnapshot(), path), ask(hs.live.snap, path)]);

async function loadCompare(argument) {
  const [part, what] = comparePart(argument), path = { roots: `roots?limit=${COMPARE_MOST}`,
    types: `types?limit=${COMPARE_MOST}`, tree: 'keys?limit=20000' }[part];
  const kept = hs.live.compared, older = olderSnapshot();
  if (kept.older !== older || kept.snap !== hs.live.snap)
    hs.live.compared = { older, snap: hs.live.snap, path: (await askOne(older, 'info')).snapshot };
  if (path && hs.live.compared[part] === undefined) {
    const target = hs.live.compared, found = await askBoth(path);
    target[part] = part === 'tree' ? found.map(buildKeys) : found;
  }
  if (part === 'object' && what) {
    const node = await askBoth(nodePath(what), askMaybe);
    const types = await askBoth(nodePath(what, 'types') + '?limit=' + MOST, askMaybe);
    hs.live.compared.object = { what, node, types };
  }
}

/* ---- lines of both */

/* { name, old, now } for each name; a side is what `add` makes of all its rows of that name. */
function joined(lists, name, add) {
  const lines = new Map();
  lists.forEach((rows, side) => rows.forEach(row => {
    const key = name(row), line = lines.get(key) || { row, sides: [null, null] };
    line.sides[side] = add(line.sides[side], row);
    lines.set(key, line);
  }));
  return [...lines.values()];
}

const sumOf = (...fields) => (sum, row) => Object.fromEntries(fields.map(field =>
  [field, (sum ? sum[field] : 0) + row[field]]));

/* null: it is not known. */
const sideValue = (line, side, field, isWhole) => line.sides[side] ? line.sides[side][field] : isWhole[side] ? 0 : null;
function deltaValue(line, field, isWhole) {
  const values = [0, 1].map(side => sideValue(line, side, field, isWhole));
  return values.includes(null) ? null : values[1] - values[0];
}

/* Old, new and the difference of a figure; `text` writes it. */
function threeColumns(head, field, isWhole, text) {
  const written = value => value === null ? '?' : text(value);
  const side = (name, at) => ({ head: `${unitHead(head)}, ${name}`, number: true, value: line => sideValue(line, at, field, isWhole) ?? -1,
    text: line => written(sideValue(line, at, field, isWhole)) });
  return [side('old', 0), side('new', 1), { head: `${unitHead(head)}, +/-`, number: true,
    value: line => deltaValue(line, field, isWhole) ?? -Infinity,
    text: line => { const by = deltaValue(line, field, isWhole); return (by > 0 ? '+' : '') + written(by); } }];
}

const byGrowth = (field, isWhole) => (a, b) =>
  Math.abs(deltaValue(b, field, isWhole) ?? 0) - Math.abs(deltaValue(a, field, isWhole) ?? 0);

function comparedTable(lines, isWhole, names, figures, open) {
  const isThere = line => figures.some(([, field]) => [0, 1].some(side => sideValue(line, side, field, isWhole) !== 0));
  const rows = lines.filter(isThere).sort(byGrowth(figures[0][1], isWhole)).slice(0, 1000);
  return table({ rows, open, columns: [...names, ...figures.flatMap(([head, field, text]) =>
    threeColumns(head, field, isWhole, text))] });
}

const countText = value => (value < 0 ? '-' : '') + grouped(Math.abs(value));
const wordsText = value => size(value);

function compareRoots() {
  const found = hs.live.compared.roots, isWhole = found.map(one => one.others.count === 0);
  const lines = joined(found.map(one => one.roots), row => [row.kind, row.module, row.name].join('\n'),
    sumOf('retained_words', 'retained_objects', 'reachable_words'));
  return comparedTable(lines, isWhole, [{ head: 'root', name: true, text: line => line.row.name }, { head: 'kind', text: line => line.row.kind }],
    [['retained', 'retained_words', wordsText], ['objects', 'retained_objects', countText], ['reachable', 'reachable_words', wordsText]],
    line => go('compare', 'object:root:' + line.row.name));
}

function typeLines(found) {
  return joined(found.map(one => one.types || []), row => [row.kind, row.type].join('\n'), sumOf('words', 'objects', 'retained_words'));
}

const typeNames = [{ head: 'type', name: true, text: line => line.row.type }, { head: 'kind', text: line => line.row.kind || '' }];
const typeFigures = [['words', 'words', wordsText], ['objects', 'objects', countText], ['retained', 'retained_words', wordsText]];

function compareTypes() {
  const found = hs.live.compared.types, isWhole = found.map(one => one.others.count === 0);
  return comparedTable(typeLines(found), isWhole, typeNames, typeFigures, line => go('compare', 'object:type:' + line.row.type));
}

/* ---- the tree of owners and types: the same path in both */

/* What is below a key of one side but not listed is in its words: with none of that, nothing is missing. */
function keySide(keys, at) {
  const rows = at < 0 ? [] : keys.children[at].map(key =>
    ({ key, name: keyName(keys, key), words: keys.words[key], objects: keys.objects[key] }));
  const rest = at < 0 ? 0 : keys.words[at] - keys.own_words[at] - wordsOf(rows.map(row => row.words));
  const inRows = wordsOf(rows.map(row => row.objects));
  const own = at < 0 || keys.own_words[at] === 0 ? null
    : { words: keys.own_words[at], objects: rest === 0 ? keys.objects[at] - inRows : null };
  return { rows, own, isWhole: rest === 0 };
}

function compareTree(holder, crumbs) {
  const trees = hs.live.compared.tree, way = [[0, 0, 'all']], shown = {};
  function draw() {
    const at = way[way.length - 1], sides = trees.map((keys, side) => keySide(keys, at[side]));
    const lines = joined(sides.map(side => side.rows), row => row.name, (before, row) => row);
    const own = sides.map(side => side.own);
    if (own.some(Boolean)) lines.push({ row: { name: 'its own blocks', isOwn: true }, sides: own });
    shown.table = comparedTable(lines, sides.map(side => side.isWhole),
      [{ head: 'owner or type', name: true, text: line => line.row.name }],
      [['words', 'words', wordsText], ['objects', 'objects', countText]],
      line => line.row.isOwn || open(line));
    crumbs.replaceChildren(...way.flatMap(([, , name], i) => [i ? ' > ' : '',
      make('button', { onclick: () => { way.splice(i + 1); draw(); } }, name)]),
    ` \u2014 ${at.slice(0, 2).map((key, side) => key < 0 ? 'not there' : size(trees[side].words[key])).join(' \u2192 ')}`);
    holder.replaceChildren(shown.table.element);
  }
  function open(line) {
    way.push([...line.sides.map(side => side ? side.key : -1), line.row.name]);
    draw();
  }
  draw();
  return { up: () => { if (way.length > 1) { way.pop(); draw(); } },
    table: { move: by => shown.table.move(by), open: () => shown.table.open(), draw, search: text => shown.table.search(text) } };
}

/* ---- one object, or the largest of a type, in both */

function compareObject(what, holder) {
  const finderBox = make('input', { type: 'search', 'data-own': 'yes', 'aria-label': 'which object', value: what || '',
    placeholder: 'root:NAME, type:NAME or 0xADDR' });
  finderBox.addEventListener('keydown', event => {
    if (event.key === 'Enter' && finderBox.value.trim()) go('compare', 'object:' + finderBox.value.trim());
    else if (event.key === 'Escape') finderBox.blur();
  });
  const parts = [make('div', { class: 'tools' }, finderBox)];
  if (!what) {
    holder.replaceChildren(...parts, make('p', { class: 'soft' }, 'One object in both snapshots, by the root that holds it, '
      + 'as the one of a type that retains most, or by an address that has not moved. A number is another object in each.'));
    return {};
  }
  const { node, types } = hs.live.compared.object, ones = node.map(one => one.object || null);
  const numbers = [[unitHead('words'), 'words', wordsText], ['if it went away', 'retained_words', wordsText], ['objects with it', 'retained_objects', countText]];
  const texts = [['type', one => one.type], ['id', one => one.id], ['address', one => one.address],
    ['kept by', one => one.root?.name || one.set || (one.reached === false ? 'no root' : '')]];
  const rows = [...texts.map(([name, text]) => [name, ...ones.map(one => one ? text(one) || '' : ''), '']),
    ...numbers.map(([name, field, text]) => [name, ...ones.map(one => one ? text(one[field]) : '?'),
      ones.includes(null) ? '?' : (ones[1][field] > ones[0][field] ? '+' : '') + text(ones[1][field] - ones[0][field])]),
    ['held by, sources', ...node.map(one => one.referrers ? countText(one.referrers.length + one.more_referrers) : '?'), ''],
    ['dominates directly', ...node.map(one => one.n_dominated === undefined ? '?' : countText(one.n_dominated)), '']];
  const facts = table({ rows, columns: ['', 'old', 'new', '+/-'].map((head, i) => ({ head, number: i > 0, text: row => row[i] })) });
  const isWhole = types.map(one => Boolean(one.types) && (one.others?.count ?? 0) === 0);
  const below = comparedTable(typeLines(types), isWhole, typeNames, typeFigures.slice(0, 2));
  holder.replaceChildren(...parts, ...node.map((one, side) => one.missing && make('p', { class: 'soft' },
    `${side ? 'new' : 'old'}: ${one.missing}`)).filter(Boolean), facts.element, make('h2', {}, 'What would be freed, by type'), below.element);
  return { table: below };
}

/* Each of the two answers is what its own command prints; of owners there is one for both. */
function compareCommand(argument) {
  const [part, what] = comparePart(argument), paths = [hs.live.compared.path || '', hs.data.info.snapshot].map(quoted);
  if (part === 'tree') return `heapsnap diff ${paths.join(' ')}`;
  return paths.map(path => ['heapsnap', part, path, ...(part === 'object' ? [quoted(what || '')] : [])].join(' ')).join('; ');
}

function drawCompare(argument) {
  const [part, what] = comparePart(argument), holder = make('div', { 'data-part': 'compared' }), crumbs = make('p', { class: 'crumbs' });
  const { older, snap } = hs.live.compared;
  const button = (id, title) => make('button', { 'aria-pressed': String(id === part), onclick: () => go('compare', id) }, title);
  const shown = part === 'tree' ? compareTree(holder, crumbs) : part === 'object' ? compareObject(what, holder)
    : { table: part === 'types' ? compareTypes() : compareRoots() };
  if (part !== 'tree' && part !== 'object') holder.append(shown.table.element);
  return { ...shown, element: make('div', {},
    make('p', {}, `old: ${older} \u00b7 new: ${snap}`),
    make('div', { class: 'tools' }, button('roots', 'roots'), button('types', 'types'), button('tree', 'owners and types'), button('object', 'an object'),
      make('button', { onclick: () => { hs.live.older = older; delete hs.data.diff; go('growth'); } }, 'what grew'),
      part === 'object' ? null : searchInput(text => shown.table.search(text))),
    part === 'tree' ? crumbs : null, holder) };
}
