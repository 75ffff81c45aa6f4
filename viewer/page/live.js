/* The page of a server: data comes when a screen needs it, by requests with the token that stood in
 * the address. It is kept for this tab alone, and out of the address that others may see. */
hs.live = { snap: null, older: null, series: false, snapshots: [], trace: null, compared: {}, asked: {}, failed: {} };

function takeToken() {
  const found = /^#([0-9a-f]{32})\/?(.*)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem('heapsnap-token', found[1]);
    history.replaceState(null, '', location.pathname + '#' + found[2]);
  }
  hs.token = sessionStorage.getItem('heapsnap-token');
}

hs.link = () => `${location.origin}/#${hs.token}/${location.hash.slice(1)}`;
hs.visit = what => go('object', what);

async function request(path, body) {
  const answer = await fetch('/api/1/' + path, { method: body === undefined ? 'GET' : 'POST', body,
    headers: { Authorization: 'Bearer ' + hs.token } });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.message + (found.hint ? '. ' + found.hint : ''));
  hs.next = answer.headers.get('X-Heapsnap-Next');
  return found;
}

/* Of the snapshot that is shown. */
hs.api = (path, body) => request(hs.live.snap === null ? path
  : path + (path.includes('?') ? '&' : '?') + 'snap=' + encodeURIComponent(hs.live.snap), body);

function nodePath(what, rest) {
  return 'node/' + encodeURIComponent(what) + (rest ? '/' + rest : '');
}

/* ---- what each screen needs, which comes once */

const MOST = 400;
const sources = {
  roots: () => hs.api('roots?limit=' + MOST),
  suspects: () => hs.api('suspects'),
  types: () => hs.api('types?limit=' + MOST),
  leaks: () => hs.api('leaks?limit=' + MOST),
  samples: () => hs.api('samples?limit=' + MOST),
  sites: () => hs.api('sites'),
  trace_info: () => request('trace/info'),
  keys: () => hs.api('keys?limit=20000'),
  tops: () => hs.api('tree?depth=1&limit=50'),
  set_roots: async () => ({}),
  diff: () => hs.live.older || !hs.live.series ? hs.api('diff?limit=200&old=' + encodeURIComponent(olderSnapshot())) : request('series?limit=200'),
};
const needs = { overview: ['roots'], compare: [], roots: ['roots'], tree: ['keys'], shared: ['roots', 'set_roots'],
  types: ['types'], leaks: ['leaks'], sites: ['samples'], growth: ['diff'], about: [], object: [], sql: [],
  when: [], calls: [], places: [], lives: [], join: ['sites'], trace: ['trace_info'] };

async function load(name) {
  const data = hs.data, asked = hs.live.asked;
  if (data[name] !== undefined) return;
  asked[name] ||= { since: Date.now(), answer: sources[name]().finally(() => delete asked[name]) };
  const found = await asked[name].answer;
  if (data[name] !== undefined) return;
  data[name] = found;
  if (name === 'keys' && data === hs.data) hs.keys = buildKeys(found);
}

/* What a screen is drawn without, as it takes longer than the rest: it is put in when it is there. */
const lateOf = { overview: ['suspects', 'keys'] };
const lateNames = { suspects: 'what stands out', keys: 'owners and types' };
function lateText(name) {
  if (hs.live.failed[name]) return `${lateNames[name]}: ${hs.live.failed[name]}`;
  const since = hs.live.asked[name]?.since;
  return `computing ${lateNames[name]}${since ? `: ${Math.round((Date.now() - since) / 1000)} s so far` : ''}`;
}

hs.late = name => hs.data[name] !== undefined ? null
  : make('p', { class: 'soft', role: 'status', 'data-late': name }, lateText(name));

function putIn(screen, data) {
  if (hs.at !== screen || hs.data !== data || document.body.dataset.ready !== screen.id || document.querySelector('dialog')) return;
  hs.shown = screen.draw();
  document.querySelector('main').replaceChildren(hs.shown.element);
  hs.shown.tree?.draw();
}

function loadLate(screen) {
  const data = hs.data;
  for (const name of lateOf[screen.id] || [])
    if (data[name] === undefined)
      load(name).then(() => delete hs.live.failed[name], error => { hs.live.failed[name] = error.message; })
        .then(() => putIn(screen, data));
}
setInterval(() => {
  for (const line of document.querySelectorAll('[data-late]')) line.textContent = lateText(line.dataset.late);
}, 1000);

hs.need = async (screen, argument) => {
  delete document.body.dataset.ready;
  document.querySelector('main').replaceChildren(make('p', { class: 'soft', role: 'status' }, 'computing\u2026'));
  try {
    for (const name of needs[screen.id]) await load(name);
    if (screen.id === 'object' && argument)
      hs.object = await hs.api(nodePath(argument)).catch(error => ({ missing: error.message }));
    if (screen.id === 'object' && !argument) await load('tops');
    if (screen.id === 'compare') await loadCompare(argument);
    loadLate(screen);
  } finally {
    document.body.dataset.ready = screen.id;
  }
};

/* ---- more rows, and rows that a search finds beyond those that are here */

function moreTools(screen, name, list) {
  const all = hs.data[name], holder = make('div', { class: 'tools' });
  if (all[list].length < MOST) return holder;
  const take = async path => {
    const page = await hs.api(path);
    hs.live.cursor[name] = hs.next;
    return page.rows;
  };
  async function more() {
    if (!hs.live.cursor[name]) await take(`${name}?limit=${MOST}&after=`);
    const rows = hs.live.cursor[name] ? await take(`${name}?limit=${MOST}&after=${hs.live.cursor[name]}`) : [];
    all[list].push(...rows);
    show();
  }
  const box = make('input', { type: 'search', 'data-own': 'yes', placeholder: 'search all of them (Enter)', 'aria-label': 'search all' });
  box.addEventListener('keydown', async event => {
    if (event.key === 'Escape') box.blur();
    if (event.key !== 'Enter') return;
    const page = await hs.api(`${name}?limit=${MOST}&q=${encodeURIComponent(box.value)}`);
    const kept = all[list];
    all[list] = page.rows;
    hs.shown = screen.plain();
    all[list] = kept;
    document.querySelector('main').replaceChildren(hs.shown.element);
  });
  holder.append(make('button', { onclick: more }, 'more rows'), box);
  return holder;
}

function extend(id, name, list) {
  const screen = hs.screens.find(one => one.id === id);
  screen.plain = screen.draw;
  screen.draw = argument => {
    const shown = screen.plain(argument);
    shown.element.append(moreTools(screen, name, list));
    return shown;
  };
}

/* ---- what if some roots let go */

const ticked = new Map();
async function letGo(row, is, line) {
  if (is) ticked.set(row.id, row.name); else ticked.delete(row.id);
  if (ticked.size === 0) return line.replaceChildren();
  const names = [...ticked.keys()].join(',');
  say(command('roots', '--without', names));
  const found = await hs.api('roots?limit=1&without=' + encodeURIComponent(names));
  line.replaceChildren(`If ${[...ticked.values()].join(', ')} let go: ${size(found.without.freed_words)} freed, `
    + `${grouped(found.without.freed_objects)} objects.`);
}

const plainColumns = rootColumns;
rootColumns = heap => [...plainColumns(heap), { head: 'let go', text: () => '',
  cell: row => {
    const box = make('input', { type: 'checkbox', 'aria-label': 'let go of ' + row.name });
    box.checked = ticked.has(row.id);
    box.addEventListener('change', () => letGo(row, box.checked, document.getElementById('let-go'))
      .catch(error => say(error.message)));
    return box;
  } }];

/* ---- roots by what they are in: a group retains more than its roots do one by one */

const GROUPS = ['root', 'module', 'unit', 'kind', 'thread', 'frame'];
async function groupRoots(by, place) {
  if (by === 'root') return show();
  const heap = wholeWords(), found = await hs.api(`roots?group_by=${by}&limit=${MOST}`);
  const rows = table({ rows: found.roots, sorted: 1, what: row => row.id, select: row => say(command('roots', '--group-by', by)), columns: [
    { head: by, name: true, text: row => row.name },
    sizeColumn('retained', row => row.retained_words, heap),
    { head: '%', number: true, value: row => row.retained_words, text: row => percent(row.retained_words, heap) },
    sizeColumn('reachable', row => row.reachable_words),
    { head: 'objects', number: true, value: row => row.retained_objects, text: row => grouped(row.retained_objects) }] });
  hs.shown.table = rows;
  say(command('roots', '--group-by', by));
  place.replaceChildren(make('p', { class: 'soft' }, `Kept by several of these together: ${size(found.shared.retained_words)}`
    + (found.others.count > 0 ? `; ${grouped(found.others.count)} others: ${size(found.others.retained_words)}` : '')
    + `; unreached: ${size(found.unreached.words)}.`), rows.element);
}

function groupTools(element) {
  const box = make('select', { 'aria-label': 'roots by' }, GROUPS.map(by => make('option', { value: by }, 'by ' + by)));
  const place = make('div', { 'data-part': 'groups' }, ...element.childNodes);
  box.addEventListener('change', () => groupRoots(box.value, place).catch(error => say(error.message)));
  element.append(make('div', { class: 'tools' }, box), place);
}

/* ---- a trace: every filter is computed by the server, with the code of the command */

function traceQuery(what, filter, more) {
  const found = new URLSearchParams(more);
  for (const [name] of fields)
    for (const value of [filter[name] || []].flat()) found.append(name, value);
  return request(`trace/${what}?${found}`);
}

function serverTrace() {
  const top = (filter, by) => traceQuery('top', filter, { by, limit: MOST });
  return { facts: traceFacts(hs.data.trace_info), snap: filter => filter, top,
    live: filter => traceQuery('live', filter, { points: 240 }),
    lifetimes: (filter, by) => traceQuery('lifetimes', filter, { by, limit: 300 }),
    tree: async (filter, by) => { // what is wide enough to be seen
      const { total } = await top(filter, 'site');
      return traceQuery('tree', filter, { by, min_words: Math.floor(total.words / 2000), depth: 400, limit: 1000 });
    } };
}

/* One that is still written to: what is shown follows. */
async function followTrace() {
  const { trace } = await request('snapshots'), was = hs.live.trace, screen = hs.at;
  hs.live.trace = trace;
  if (!trace || (trace.changed_ns === was.changed_ns && trace.file_bytes === was.file_bytes)) return;
  hs.data.trace_info = await request('trace/info');
  hs.trace = serverTrace();
  if (!traceScreens.includes(screen) || screen.id === 'join' || document.querySelector('dialog') || document.activeElement?.tagName === 'INPUT') return;
  const fresh = screen.draw();
  if (fresh.start) await fresh.start();
  if (hs.at !== screen) return;
  hs.shown = fresh;
  document.querySelector('main').replaceChildren(fresh.element);
  fresh.tree?.draw();
  document.body.dataset.followed = trace.file_bytes;
}

function beginToFollow() {
  let isAsking = false;
  setInterval(async () => {
    if (isAsking || document.hidden) return;
    isAsking = true;
    try { await followTrace(); } catch (error) { say(error.message); }
    isAsking = false;
  }, 1000);
}

/* ---- snapshots */

/* The other snapshot's data is there, with what all screens need, or the one before is shown still. */
async function choose(snap) {
  const chosen = hs.live.chosen = {}, info = await request('info?snap=' + encodeURIComponent(snap));
  if (hs.live.chosen !== chosen) return; // another one by now
  hs.live.snap = snap;
  hs.live.cursor = {};
  hs.live.asked = {};
  hs.live.failed = {};
  hs.data = hs.live.trace ? { trace_info: hs.data.trace_info, info } : { info };
  ticked.clear();
}

function snapshotTools() {
  const list = hs.live.snapshots, others = list.length > 1;
  if (!others) return null;
  const pick = (label, value, empty, take) => {
    const box = make('select', { 'aria-label': label }, empty && make('option', { value: '' }, empty),
      list.map(one => make('option', { value: one.name }, one.name)));
    box.value = value || '';
    box.addEventListener('change', () => take(box.value));
    return box;
  };
  return make('div', {}, pick('snapshot', hs.live.snap, null, async name => {
    await choose(name).catch(fail);
    frameLive();
    show();
  }), ' compared with ', pick('older snapshot', hs.live.older, hs.live.series ? 'all of the series' : 'the next one', name => {
    hs.live.older = name || null;
    delete hs.data.diff;
    const id = hs.at.id === 'compare' ? 'compare' : 'growth';
    if (hs.at.id === id) show();
    else go(id);
  }));
}

function frameLive() {
  frame();
  const tools = snapshotTools();
  if (tools) document.querySelector('header nav').before(tools);
}

/* ---- the same in SQL */

const inSql = { roots: 'select * from roots where is_root order by retained_words desc', overview: 'select * from where_it_went',
  tree: 'select * from owners', shared: 'select * from shared_by', types: 'select * from types order by retained_words desc',
  leaks: 'select * from leaks', sites: 'select * from samples', object: 'select * from biggest' };
actions.s = () => {
  const [id, argument] = location.hash.slice(1).split('/').map(decodeURIComponent);
  if (id === 'object' && argument) copy(`select * from holders('${argument.replace(/'/g, "''")}')`);
  else if (inSql[hs.at.id]) copy(inSql[hs.at.id]);
};
hs.help = [['s', 'copy it as SQL']];

function prepareScreens() {
  const at = hs.screens.findIndex(one => one.id === 'about');
  hs.screens.splice(at, 0,
    { id: 'compare', title: 'Compare', draw: drawCompare, when: () => hs.live.snapshots.length > 1, command: compareCommand },
    { id: 'object', title: 'Object', draw: drawObject, command: what => what ? command('object', what) : command('dominators') },
    { id: 'sql', title: 'SQL', draw: drawSql, command: () => command('sql') });
  for (const [id, name, list] of [['roots', 'roots', 'roots'], ['types', 'types', 'types'], ['leaks', 'leaks', 'groups'],
    ['sites', 'samples', 'samples']])
    extend(id, name, list);
  const roots = hs.screens.find(one => one.id === 'roots'), draw = roots.draw;
  roots.draw = argument => {
    const shown = draw(argument);
    groupTools(shown.element);
    shown.element.prepend(make('p', { id: 'let-go', role: 'status' }));
    return shown;
  };
  hs.screens.find(one => one.id === 'growth').when = () => hs.live.snapshots.length > 1;
  hs.screens.find(one => one.id === 'growth').command = () => hs.data.diff
    ? 'heapsnap diff ' + hs.data.diff.snapshots.map(s => quoted(s.path || s.snapshot || String(s))).join(' ') : '';
  hs.screens.find(one => one.id === 'sites').when = data => data.info.samples > 0;
}

async function beginLive() {
  takeToken();
  if (!hs.token) {
    app.textContent = 'The token is missing: open the address that heapsnap serve printed, all of it.';
    return;
  }
  try {
    const found = await request('snapshots');
    hs.live.series = found.is_series;
    hs.live.snapshots = found.snapshots;
    hs.live.trace = found.trace;
    hs.data = {};
    if (found.trace) {
      await load('trace_info');
      hs.trace = serverTrace();
      beginToFollow();
    }
    if (found.snapshots.length > 0) await choose(found.snapshots[0].name);
    else if (!found.trace) throw new Error('There is no snapshot in this folder yet.');
  } catch (error) {
    app.textContent = error.message;
    return;
  }
  if (hs.data.info) prepareScreens();
  addTraceScreens();
  frameLive();
  startPage(true);
}

beginLive();
