/* Screens that only a server has: any object, and SQL. */
function whatLink(what, text) {
  return make('button', { class: 'link', onclick: () => hs.visit(what) }, text ?? what);
}

function tierText(tier) {
  return tier && tier !== 'firm' ? make('span', { class: 'doubtful' }, tier) : tier || '';
}

function linkColumns(held) {
  return [
    { head: held ? 'held by' : 'field', name: true, text: row => row.place || (row.field === null ? '' : 'word ' + row.field) },
    { head: held ? 'of' : 'leads to', name: true, text: row => row.name || row.type || '' },
    { head: 'id', text: row => row.id || '' },
    { head: 'tier', text: row => row.tier || '', cell: row => tierText(row.tier) },
    sizeColumn('words', row => row.words), sizeColumn('retained', row => row.retained_words)];
}

const nodeColumns = () => linkColumns().slice(1).filter(column => column.head !== 'tier');

function section(title, rows, columns, more) {
  if (rows.length === 0) return null;
  const shown = table({ rows, columns, what: row => row.id, select: row => say(command('object', row.id)) });
  return { table: shown, parts: [make('h2', {}, title), shown.element,
    more > 0 && make('p', { class: 'soft' }, `${grouped(more)} more.`)] };
}

function pathList(answer) {
  return answer.paths.map(path => make('li', {}, whatLink(path.root.id, path.root.name), ' ',
    make('span', { class: 'soft' }, `${path.root.kind}, ${path.length} steps`), path.expression && [make('br'), make('code', {}, path.expression)],
    make('br'), path.steps.map(step => step.id === null ? ' \u2192 \u2026'
      : [' \u2192 ', whatLink(step.id, step.type || step.id), step.place ? ` .${step.place}` : '',
        step.repeat > 1 ? ` \u00d7${step.repeat}` : '', step.tier === 'doubtful' ? make('span', { class: 'doubtful' }, ' doubtful') : ''])));
}

/* Asked for one after the other, and shown as they come. */
function later(holder, path, draw) {
  holder.replaceChildren(make('p', { class: 'soft' }, 'looking\u2026'));
  hs.api(path).then(answer => holder.replaceChildren(...[draw(answer)].flat(Infinity).filter(Boolean)),
    error => holder.replaceChildren(make('p', { class: 'soft' }, error.message)));
}

/* The fewest places that must let go, twice: as near to the roots as they can be, and to the object. */
function cutParts(cut) {
  if (!cut.complete) return make('p', {}, `${grouped(cut.at_least)} ways or more that share nothing keep it: no few places free it.`);
  if (cut.size === 0) return make('p', {}, 'Nothing keeps it.');
  const points = (title, rows) => section(title, rows, [
    { head: 'what', text: row => row.kind },
    { head: 'of', name: true, text: row => row.expression || row.name || row.type || '' },
    { head: 'field', text: row => row.place || (row.field === null ? '' : `word ${row.field}`) },
    { head: 'id', text: row => row.id || '' }, sizeColumn('retained', row => row.retained_words)], 0)?.parts;
  const ids = list => list.map(row => `${row.id} ${row.field}`).join();
  return [make('p', {}, `${grouped(cut.size)} ${cut.size === 1 ? 'place keeps' : 'places keep'} all of it; without `
    + `${cut.size === 1 ? 'it' : 'them'} ${size(cut.freed_words)} in ${grouped(cut.freed_objects)} objects are freed.`),
  points('Nearest to it', cut.near_object),
  ids(cut.near_object) === ids(cut.near_roots) ? null : points('Nearest to the roots', cut.near_roots)];
}

function pathsOf(what) {
  const holder = make('div', { 'data-part': 'paths' });
  const show = rest => later(holder, nodePath(what, 'paths') + rest, answer => answer.paths.length === 0
    ? make('p', {}, 'No root reaches it.') : make('ol', {}, pathList(answer)));
  const cut = () => {
    say(command('paths', '--cut', '--to', what));
    later(holder, nodePath(what, 'cut'), answer => cutParts(answer.cut));
  };
  const types = () => {
    say(command('types', '--of', what));
    later(holder, nodePath(what, 'types'), answer => table({ rows: answer.types, what: row => 'type:' + row.type, columns: [
      { head: 'type', name: true, text: row => row.type },
      { head: 'objects', number: true, value: row => row.objects, text: row => grouped(row.objects) },
      sizeColumn('words', row => row.words)] }).element);
  };
  show('?disjoint=1');
  return [make('h2', {}, 'Why is it alive?'), make('div', { class: 'tools' },
    make('button', { onclick: () => show('?disjoint=1') }, 'paths that share nothing'),
    make('button', { onclick: () => show('?limit=30') }, 'one from each root'),
    make('button', { onclick: cut }, 'what must let go'),
    make('button', { onclick: types }, 'what would be freed')), holder];
}

function drawSet(answer) {
  const set = answer.set;
  const tops = section('Its largest parts', answer.tops, [
    { head: 'type', name: true, text: row => row.type || '' }, { head: 'id', text: row => row.id },
    sizeColumn('retained', row => row.retained_words)], 0);
  return { table: tops?.table, element: make('div', {}, finder(), make('h2', {}, `${set.id}: kept by ${grouped(set.n_roots)} roots together`),
    make('p', {}, `If all of them let go: ${size(set.retained_words)}.`),
    make('p', {}, set.roots.flatMap(root => [whatLink(root.id ?? root, root.name ?? root), '  '])), tops?.parts) };
}

function finder() {
  const box = make('input', { type: 'search', 'data-own': 'yes', 'aria-label': 'which object',
    placeholder: '#N, 0xADDR, root:NAME, type:NAME, set:N' });
  box.addEventListener('keydown', event => {
    if (event.key === 'Enter' && box.value.trim()) hs.visit(box.value.trim());
    else if (event.key === 'Escape') box.blur();
  });
  return make('div', { class: 'tools finder' }, box);
}

/* Where one may begin: what nothing but the roots themselves keep. */
function drawTops() {
  const rows = hs.data.tops.nodes.filter(row => row.depth === 1);
  const tops = section('What nothing above keeps but all roots together', rows, nodeColumns(), 0);
  return { table: tops?.table, element: make('div', {}, finder(), make('p', { class: 'soft' },
    'Any object: by its node, its address, or as the one of a type that retains most.'), tops?.parts) };
}

function drawObject(what) {
  if (!what) return drawTops();
  const answer = hs.object, one = answer.object, up = () => history.back();
  if (answer.missing) return { up, element: make('div', {}, finder(), make('p', { class: 'error', 'aria-live': 'assertive' }, answer.missing)) };
  if (!one) return { ...drawSet(answer), up };
  const keeper = one.root ? whatLink(one.root.id, one.root.name) : one.set ? whatLink(one.set.id) : 'no root';
  const facts = [['type', one.type], ['name', one.name], ['id', one.id], ['address', one.address], [unitHead('words'), size(one.words)],
    ['kept by', keeper], ['if it went away', `${size(one.retained_words)}, ${grouped(one.retained_objects)} objects`],
    ['marks', [one.reached ? '' : 'lost', one.static ? 'static' : '', one.young ? 'young' : ''].filter(Boolean).join(', ')]];
  const held = section('Held by', answer.referrers, linkColumns(true), answer.more_referrers);
  const fields = section('Fields', answer.fields, linkColumns(), 0);
  const above = section('Dominators, the nearest first', answer.dominators, nodeColumns(), 0);
  const below = section('What it keeps', answer.dominated, nodeColumns(), answer.n_dominated - answer.dominated.length);
  const siblings = make('div', { 'data-part': 'siblings' });
  const family = () => later(siblings, nodePath(answer.dominators[0].id), found =>
    section(`Siblings: what ${found.object.name || found.object.type} keeps`, found.dominated, nodeColumns(),
      found.n_dominated - found.dominated.length)?.parts);
  return { up, table: (below || fields || held)?.table, element: make('div', {}, finder(),
    make('div', { class: 'facts' }, facts.filter(([, value]) => value).flatMap(([name, value]) =>
      [make('span', { class: 'soft' }, name), make('span', {}, value)])),
    one.type || one.root ? pathsOf(one.id) : null, held?.parts, fields?.parts, below?.parts, above?.parts,
    answer.dominators.length > 0 && make('div', { class: 'tools' }, make('button', { onclick: family }, 'siblings')), siblings) };
}

/* ---- SQL */

function drawSql(argument) {
  const box = make('textarea', { 'aria-label': 'a query in SQL', spellcheck: 'false' });
  const holder = make('div', { 'data-part': 'rows' }), shown = { element: null };
  box.value = argument || hs.query || 'select * from biggest limit 50';
  async function run() {
    hs.query = box.value;
    say(`heapsnap sql ${quoted(hs.data.info.snapshot)} ${quoted(box.value)}`);
    holder.replaceChildren(make('p', { class: 'soft' }, 'asking\u2026'));
    try {
      const answer = await hs.api('sql', box.value);
      const wide = row => 'id' in row ? '#' + row.id : null;
      shown.table = table({ rows: answer.rows, what: row => wide(row) || '#0', columns: answer.columns.map(name => ({
        head: name, name: typeof answer.rows[0]?.[name] === 'string', number: typeof answer.rows[0]?.[name] === 'number',
        value: row => row[name] ?? '', text: row => row[name] === null ? '' : String(row[name]) })) });
      holder.replaceChildren(make('p', { class: 'soft' }, `${grouped(answer.rows.length)} rows`), shown.table.element);
    } catch (error) {
      holder.replaceChildren(make('p', { class: 'error', 'aria-live': 'assertive' }, error.message));
    }
  }
  box.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
    if (event.key === 'Escape') box.blur();
  });
  shown.element = make('div', {}, box, make('div', { class: 'tools' },
    make('button', { onclick: run }, 'run (Ctrl-Enter)'),
    make('button', { onclick: () => { box.value = 'select name, sql from sqlite_master where type = \'view\''; } }, 'stored questions')),
  holder, make('p', { class: 'soft' }, 'Tables, functions and limits are those of heapsnap sql; a query reads, for at most five seconds.'));
  if (argument) run();
  return shown;
}
