/* The screens of an allocation trace. What they show comes from hs.trace: facts, and live, top, tree and lifetimes of a filter,
 * each as the command prints it; out of the page (cells.js) or from a server (live.js). */
const lists = ['inside', 'not_inside', 'hide'];
const fields = [['allocated', 'born', '1s..2s, 10%..50%'], ['live_at', 'alive at', '1.5s, peak, end or 1s..2s'],
  ['collected', 'freed', '1s..2s, or never'], ['lifetime', 'lived', '1ms..5s, or 1s..'], ['size', 'bytes', '24, or 1k..64k'],
  ['inside', 'inside of', 'function or file, or /RE/'], ['not_inside', 'not inside of', 'function or file, or /RE/'],
  ['hide', 'frames left out', 'function or file, or /RE/'], ['heap', 'heap', 'minor,major,external'],
  ['group_allocations', 'sites with allocations', '100.., or 1%..'], ['group_leaked', 'sites with leaked', '50%..100%'],
  ['group_interval', 'sites allocating for', '10s.., or ..1%']];
const view = { filter: {}, by: 'site', calls: 'function', focus: null, brush: 'live_at' };

const isEmpty = filter => Object.values(filter).every(value => !value || value.length === 0);

/* ---- numbers */

function seconds(us) {
  if (us === null || us === undefined) return 'never';
  if (us < 1000) return us + ' \u00b5s';
  return us < 1e6 ? (us / 1e3).toFixed(1) + ' ms' : (us / 1e6).toFixed(us < 1e8 ? 2 : 0) + ' s';
}

function lifetimeText(row) {
  if (row.median_us !== undefined || row.median_lifetime_us !== undefined) return seconds(row.median_us ?? row.median_lifetime_us);
  return row.median_from_us === null ? 'never' : `${seconds(row.median_from_us)} to ${seconds(row.median_to_us)}`;
}

const errorColumn = (head, error) => ({ head, number: true, value: error, text: row => size(error(row)) });

/* ---- the filter, in words, in the address and in the command */

function filterWords(filter) {
  const words = [];
  for (const [name] of fields)
    for (const value of [filter[name] || []].flat()) words.push('--' + name.replace('_', '-'), value);
  return words;
}

function traceCommand(what, ...more) {
  return ['heapsnap trace', what, quoted(hs.trace.facts.path), ...filterWords(view.filter).map(quoted), ...more].join(' ');
}

function viewText() {
  const found = new URLSearchParams();
  for (const [name] of fields)
    for (const value of [view.filter[name] || []].flat()) found.append(name, value);
  if (view.by !== 'site') found.append('by', view.by);
  if (view.calls !== 'function') found.append('calls', view.calls);
  if (view.focus) found.append('focus', view.focus);
  return found.toString();
}

function readView(text) {
  const found = new URLSearchParams(text);
  view.filter = {};
  for (const [name] of fields) {
    const values = found.getAll(name).filter(Boolean);
    if (values.length > 0) view.filter[name] = lists.includes(name) ? values : values[0];
  }
  view.by = found.get('by') || 'site';
  view.calls = found.get('calls') || 'function';
  view.focus = found.get('focus');
}

/* The address says what is shown, so that a link shows the same. */
function keepView() {
  const text = viewText();
  history.replaceState(null, '', '#' + hs.at.id + (text ? '/' + encodeURIComponent(text) : ''));
}

function setFilter(changes) {
  const made = { ...view.filter, ...changes };
  for (const name of Object.keys(made)) if (!made[name] || made[name].length === 0) delete made[name];
  view.filter = hs.trace.snap(made);
  keepView();
  show();
}

/* ---- the form */

function filterForm() {
  const inputs = new Map(), wrong = make('p', { class: 'error', 'aria-live': 'assertive' });
  const rows = fields.map(([name, label, example]) => {
    const input = make('input', { placeholder: example, 'aria-label': label, 'data-own': 'yes',
      value: [view.filter[name] || []].flat().join(lists.includes(name) ? '; ' : '') });
    inputs.set(name, input);
    return make('tr', {}, make('td', {}, label), make('td', {}, input));
  });
  const apply = event => {
    event.preventDefault();
    const made = {};
    for (const [name, input] of inputs)
      made[name] = lists.includes(name) ? input.value.split(';').map(part => part.trim()).filter(Boolean) : input.value.trim();
    try { setFilter(made); dialog.close(); } catch (error) { wrong.textContent = error.message; }
  };
  const dialog = make('dialog', { class: 'filters' }, make('form', { onsubmit: apply }, make('table', {}, make('tbody', {}, rows)), wrong,
    make('p', { class: 'soft' }, 'All that are given must hold. Several patterns: with ; between them.' + (hs.trace.points
      ? ` Times are taken at the nearest of ${hs.trace.points} points, lifetimes at powers of two \u00b5s.` : '')),
    make('p', {}, make('button', { type: 'submit' }, 'apply'), ' ',
      make('button', { type: 'button', onclick: () => dialog.close() }, 'cancel'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function filterTools(...more) {
  const chosen = fields.filter(([name]) => view.filter[name]).map(([name, label]) => [name, `${label} ${[view.filter[name]].flat().join('; ')}`]);
  const quick = (text, changes) => make('button', { onclick: () => setFilter({ live_at: '', collected: '', ...changes }) }, text);
  return make('div', { class: 'tools', role: 'toolbar', 'aria-label': 'which allocations' },
    quick('all', {}), quick('alive at the peak', { live_at: 'peak' }), quick('alive at the end', { live_at: 'end' }),
    quick('never freed', { collected: 'never' }), make('button', { onclick: filterForm }, 'filter (f)'), ...more,
    chosen.map(([name, text]) => make('button', { class: 'chip', title: 'take it away', onclick: () => setFilter({ [name]: '' }) },
      text + ' \u00d7')));
}

function sampledText() {
  const { is_exact, words_per_sample } = hs.trace.facts, out = hs.trace.left_out || {};
  const lost = [[out.call_samples, 'callers'], [out.site_samples, 'sites'], [out.size_samples, 'sizes']].filter(([n]) => n > 0);
  return make('p', { class: 'soft' }, (is_exact ? 'Exact: every word was sampled.'
    : `Sampled: one in ${grouped(words_per_sample)} words; \u00b1 is a standard error. Samples and times are exact.`)
    + (lost.length > 0 ? ' No room in this file to tell all apart: ' + lost.map(([n, what]) => `of ${grouped(n)} samples the ${what}`).join(', ')
      + '; every sum has them.' : ''));
}

/* Draws what an answer shows when it is there; an error in its place. */
function answered(draw) {
  const element = make('div', {});
  const shown = { element, table: { move: by => shown.rows?.move(by), open: () => shown.rows?.open() } };
  shown.start = async () => {
    element.dataset.state = 'waits';
    try { await draw(shown); } catch (error) {
      element.replaceChildren(filterTools(), make('p', { class: 'error', 'aria-live': 'assertive' }, error.message));
    }
    element.dataset.state = 'drawn';
  };
  return shown;
}

/* ---- over time */

function timeCanvas(answer, onRange) {
  const points = answer.points, canvas = make('canvas', { tabindex: 0, role: 'img', class: 'time',
    'aria-label': 'live words over time; arrows move, with shift they choose a range, Enter takes it; the table has the same' });
  const pen = canvas.getContext('2d'), left = 64, top = 8, end = points[points.length - 1].time_us || 1;
  const most = Math.max(1, ...points.map(p => p.live_words + p.live_words_error));
  let from = -1, to = -1, width = 600, pressed = false;
  const height = 220, x = at => left + (width - left - 12) * at / end, y = words => top + (height - 34) * (1 - words / most);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name);
  function line(value, stroke) {
    pen.beginPath();
    points.forEach((p, i) => i === 0 ? pen.moveTo(x(p.time_us), y(value(p))) : pen.lineTo(x(p.time_us), y(value(p))));
    pen.strokeStyle = stroke;
    pen.lineWidth = 1.5;
    pen.stroke();
  }
  function band(value, error, fill) {
    pen.beginPath();
    points.forEach((p, i) => pen[i ? 'lineTo' : 'moveTo'](x(p.time_us), y(value(p) + error(p))));
    for (let i = points.length; i-- > 0;) pen.lineTo(x(points[i].time_us), y(Math.max(0, value(points[i]) - error(points[i]))));
    pen.fillStyle = fill;
    pen.fill();
  }
  function draw() {
    const ratio = devicePixelRatio || 1;
    width = canvas.clientWidth || 600;
    canvas.style.height = height + 'px';
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = '11px system-ui, sans-serif';
    pen.fillStyle = colour('--soft');
    for (let i = 0; i <= 4; i++) pen.fillText(size(Math.round(most * i / 4)), 2, y(most * i / 4) + 4);
    for (let i = 0; i <= 6; i++) pen.fillText(seconds(Math.round(end * i / 6)), Math.min(x(end * i / 6), width - 46), height - 6);
    if (from >= 0) {
      pen.fillStyle = colour('--field');
      pen.fillRect(x(points[from].time_us), top, Math.max(2, x(points[to].time_us) - x(points[from].time_us)), height - 34);
    }
    pen.globalAlpha = 0.25;
    band(p => p.live_words, p => p.live_words_error, colour('--soft'));
    band(p => p.selected_words, p => p.selected_words_error, colour('--mark'));
    pen.globalAlpha = 1;
    line(p => p.live_words, colour('--soft'));
    line(p => p.selected_words, colour('--mark'));
  }
  function pick(event) {
    const area = canvas.getBoundingClientRect(), at = (event.clientX - area.left - left) * end / (width - left - 12);
    return nearest(points.map(p => p.time_us), at);
  }
  const ends = () => [Math.min(from, to), Math.max(from, to)];
  function take() { if (from >= 0) { [from, to] = ends(); onRange(points[from].time_us, points[to].time_us); } }
  canvas.addEventListener('pointerdown', event => { pressed = true; from = to = pick(event); canvas.setPointerCapture(event.pointerId); draw(); });
  canvas.addEventListener('pointermove', event => { if (pressed) { to = pick(event); draw(); } });
  canvas.addEventListener('pointerup', () => { if (pressed) { pressed = false; take(); } });
  canvas.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      to = Math.max(0, Math.min(points.length - 1, (to < 0 ? 0 : to + step)));
      if (!event.shiftKey || from < 0) from = to;
      draw();
    } else if (event.key === 'Enter') take();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element: canvas, draw };
}

const brushes = { live_at: 'alive in the range', allocated: 'born in it', collected: 'freed in it' };
function takeRange(from, to) {
  const text = us => us + 'us', one = text(to);
  if (view.brush === 'live_at') setFilter({ live_at: from === to ? one : `${text(from)}..${one}`, collected: '' });
  else setFilter({ [view.brush]: `${from === 0 ? '0us' : text(from + 1)}..${one}`, live_at: '' });
}

function drawWhen() {
  return answered(async shown => {
    const answer = await hs.trace.live(view.filter), { points, selected } = answer;
    const canvas = timeCanvas(answer, takeRange), peak = points.reduce((best, p) => p.live_words > best.live_words ? p : best, points[0]);
    const mode = make('select', { 'aria-label': 'what a range chooses' }, Object.entries(brushes).map(([value, text]) => make('option', { value }, text)));
    mode.value = view.brush;
    mode.addEventListener('change', () => { view.brush = mode.value; });
    shown.rows = table({ rows: points, open: p => takeRange(p.time_us, p.time_us), columns: [
      { head: 'time', number: true, value: p => p.time_us, text: p => seconds(p.time_us) },
      sizeColumn('live', p => p.live_words, peak.live_words), errorColumn('\u00b1', p => p.live_words_error),
      sizeColumn('chosen', p => p.selected_words), errorColumn('\u00b1', p => p.selected_words_error),
      { head: 'samples', number: true, value: p => p.live_samples, text: p => grouped(p.live_samples) }] });
    const last = points[points.length - 1];
    shown.element.replaceChildren(filterTools('drag:', mode), canvas.element, make('p', {},
      `Peak ${size(peak.live_words)} \u00b1 ${size(peak.live_words_error)} at ${seconds(peak.time_us)}; at the end ${size(last.live_words)} \u00b1 `
      + `${size(last.live_words_error)}. Chosen: ${grouped(selected.objects)} of ${grouped(selected.of_objects)} sampled allocations`
      + (answer.total ? `, ${size(answer.total.words)} \u00b1 ${size(answer.total.words_error)} allocated.` : '.')), sampledText(), shown.rows.element);
    shown.tree = canvas;
    canvas.draw();
    say(traceCommand('live', '--points', String(hs.trace.n_points || 240)));
  });
}

/* ---- calls */

/* As the tree of keys is (data.js). */
function callKeys(nodes) {
  const at = new Map(nodes.map((row, i) => [row.node, i]));
  const keys = buildKeys({ names: nodes.map(row => row.name), name: nodes.map((_, i) => i), nodes,
    parent: nodes.map(row => row.parent === null ? 0 : at.get(row.parent)), words: nodes.map(row => row.samples),
    own_words: nodes.map(row => row.own_samples), objects: nodes.map(row => row.allocations), set: nodes.map(() => 0) });
  keys.text = key => `${size(nodes[key].words)} \u00b1 ${size(nodes[key].words_error)}`;
  keys.about = key => `${percent(nodes[key].samples, nodes[0].samples)}, about ${grouped(nodes[key].allocations)} allocations, `
    + `${size(nodes[key].live_words)} never freed`;
  return keys;
}

/* Of every call of a function, the outermost of each backtrace: what is below as one tree, and who called it. */
function aroundFunction(keys, name) {
  const callers = new Map(), callees = new Map();
  const add = (map, text, samples) => map.set(text, (map.get(text) || 0) + samples);
  let samples = 0;
  const inside = new Array(keys.n).fill(-1);
  for (let key = 1; key < keys.n; key++) {
    const parent = keys.parent[key], is = keyName(keys, key) === name;
    inside[key] = inside[parent] >= 0 ? inside[parent] : is ? key : -1;
    if (inside[key] === key) {
      samples += keys.words[key];
      add(callers, parent === 0 ? '[outermost]' : keyName(keys, parent), keys.words[key]);
    } else if (inside[key] === parent) add(callees, keyName(keys, key), keys.words[key]);
  }
  return { samples, callers: [...callers], callees: [...callees] };
}

function nearTable(title, rows, whole, words) {
  const sorted = rows.sort((a, b) => b[1] - a[1]).slice(0, 100);
  return make('div', {}, make('h2', {}, title), table({ rows: sorted, open: row => focusOn(row[0]), columns: [
    { head: 'function', name: true, text: row => row[0], cell: row => make('button', { class: 'link', onclick: () => focusOn(row[0]) }, row[0]) },
    { ...sizeColumn('words', row => words(row[1]), words(whole)) },
    { head: '%', number: true, value: row => row[1], text: row => percent(row[1], whole) }] }).element);
}

function focusOn(name) {
  view.focus = name;
  if (hs.at.id === 'calls') { keepView(); show(); } else { go('calls', viewText()); }
}

function drawFocus(keys, name) {
  const words = samples => samples * hs.trace.facts.words_per_sample;
  const { samples, callers, callees } = aroundFunction(keys, name);
  const inside = pattern => make('button', { onclick: () => { view.focus = null; setFilter({ [pattern]: [...(view.filter[pattern] || []), name.split(' ')[0]] }); } },
    pattern === 'inside' ? 'only inside of it' : 'nothing inside of it');
  return make('section', { 'aria-label': 'one function' }, make('h2', {}, `${name}: ${size(words(samples))}`),
    make('div', { class: 'tools' }, inside('inside'), inside('not_inside'),
      make('button', { onclick: () => { view.focus = null; keepView(); show(); } }, 'back to all calls')),
    make('div', { class: 'pair' }, nearTable('Called by', callers, samples, words), nearTable('Calls', callees, samples, words)));
}

function drawCalls() {
  return answered(async shown => {
    const answer = await hs.trace.tree(view.filter, view.calls), keys = callKeys(answer.nodes);
    let at = 0;
    const holder = make('div'), crumbs = make('p', { class: 'crumbs' });
    const tree = treeCanvas(keys, key => open(key), (key, event) => tip(key, event, keys), ['icicle', 'flame', 'treemap']);
    function open(key) { at = key; draw(); }
    function draw() {
      const rows = keys.children[at].slice(0, 300).map(key => ({ key, name: keyName(keys, key), ...keys.nodes[key] }));
      const own = keys.nodes[at];
      if (own.hidden_samples > 0)
        rows.push({ key: -1, name: `[${grouped(own.hidden_children)} others]`, words: own.hidden_samples * hs.trace.facts.words_per_sample, samples: own.hidden_samples });
      if (own.own_samples > 0) rows.push({ key: -1, name: '[right here]', words: own.own_words, samples: own.own_samples });
      crumbs.replaceChildren(make('button', { onclick: () => open(0) }, 'all'), ...keyWay(keys, at).flatMap(step =>
        [' > ', make('button', { onclick: () => open(step) }, keyName(keys, step))]), ` \u2014 ${keys.text(at)}, ${keys.about(at)} `,
      at > 0 ? make('button', { class: 'link', onclick: () => focusOn(keyName(keys, at)) }, 'callers and callees (z)') : '');
      shown.focus = () => at > 0 && focusOn(keyName(keys, at));
      shown.rows = table({ rows, open: row => row.key >= 0 && open(row.key), columns: [
        { head: view.calls === 'caller' ? 'caller' : 'call', name: true, text: row => row.name },
        sizeColumn('words', row => row.words, own.words), errorColumn('\u00b1', row => row.words_error ?? 0),
        { head: '%', number: true, value: row => row.samples, text: row => percent(row.samples, own.samples) },
        { head: 'allocations', number: true, value: row => row.allocations ?? 0, text: row => row.allocations === undefined ? '' : grouped(row.allocations) },
        sizeColumn('never freed', row => row.live_words ?? null)] });
      holder.replaceChildren(shown.rows.element);
      tree.show(at);
    }
    const by = make('select', { 'aria-label': 'direction' }, [['function', 'from the outermost in'], ['site', 'the same, by lines'],
      ['caller', 'from allocations out']].map(([value, text]) => make('option', { value }, text)));
    by.value = view.calls;
    by.addEventListener('change', () => { view.calls = by.value; keepView(); show(); });
    const search = searchInput(text => {
      const wanted = text.toLowerCase(), found = new Map();
      for (let key = 1; wanted && key < keys.n; key++)
        if (keyName(keys, key).toLowerCase().includes(wanted)) found.set(keyName(keys, key), true);
      if (!wanted) return draw();
      shown.rows = table({ rows: [...found.keys()].slice(0, 200), open: focusOn, columns: [{ head: 'function', name: true, text: name => name }] });
      holder.replaceChildren(shown.rows.element);
    });
    shown.element.replaceChildren(filterTools(by, make('button', { onclick: () => tree.turn() }, 'icicle, flame or treemap (m)'), search),
      sampledText(), view.focus ? drawFocus(keys, view.focus) : '', crumbs, tree.element, holder);
    shown.tree = tree;
    shown.up = () => at > 0 && open(keys.parent[at]);
    shown.into = () => {
      const row = shown.rows.row(), key = row?.key >= 0 ? row.key : keys.children[at][0];
      if (key !== undefined) open(key);
    };
    draw();
    say(traceCommand('tree', ...(view.calls === 'function' ? [] : ['--by', view.calls])));
  });
}

/* ---- sites */

function histogram(row) {
  const bars = row.histogram || [], most = Math.max(1, row.never_samples || 0, ...bars.map(bar => bar.samples));
  const list = [...bars.map(bar => [`${seconds(bar.from_us)} to ${seconds(bar.to_us)}`, bar.samples]), ['never freed', row.never_samples || 0]];
  return make('table', { class: 'bars' }, make('thead', {}, make('tr', {}, ['lived', unitHead('words'), '%'].map(head => make('th', { scope: 'col' }, head)))),
    make('tbody', {}, list.map(([text, samples]) => make('tr', {}, make('td', {}, text),
      make('td', {}, make('span', { class: 'bar', style: { width: 220 * samples / most + 'px' } }), ' ', size(samples * hs.trace.facts.words_per_sample)),
      make('td', { class: 'number' }, percent(samples, row.samples))))));
}

const lifePower = bar => Math.round(Math.log2(Math.max(1, bar.from_us)));
/* One time scale for all rows: what nothing lived as long as is a gap. */
function smallHistogram(row, first, last) {
  const bars = row.histogram || [], most = Math.max(1, ...bars.map(bar => bar.samples));
  const at = new Map(bars.map(bar => [lifePower(bar), bar])), powers = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  return make('span', { class: 'spark', role: 'img', 'aria-label': bars.map(bar => `${seconds(bar.from_us)}: ${percent(bar.samples, row.samples)}`).join(', ') },
    powers.map(power => at.get(power)).map(bar => bar ? make('i', { title: `${seconds(bar.from_us)} to ${seconds(bar.to_us)}`,
      style: { height: 2 + 16 * bar.samples / most + 'px' } }) : make('i', { style: { height: 0 } })));
}

/* What is known of one site, below the table. */
async function drawSite(row, holder) {
  const lives = row.histogram ? row : (await hs.trace.lifetimes(view.filter, view.by)).rows.find(one => one.name === row.name);
  const facts = [['place', row.file ? `${row.file}${row.line ? ':' + row.line : ''}` : '?'], ['sampled allocations', grouped(row.objects)],
    ['first to last', `${seconds(row.first_us)} to ${seconds(row.last_us)}`], ['allocations', `${grouped(row.allocations)} \u00b1 ${grouped(row.allocations_error)}`],
    [unitHead('words'), `${size(row.words)} \u00b1 ${size(row.words_error)}`], ['never freed', `${size(row.live_words)} \u00b1 ${size(row.live_words_error)}`],
    ['median life', lifetimeText(row)]];
  const keeps = row.function && view.by === 'site' && screens().some(one => one.id === 'join');
  holder.replaceChildren(make('h2', {}, row.name), make('div', { class: 'facts' }, facts.flatMap(([name, text]) => [make('span', { class: 'soft' }, name), make('span', {}, text)])),
    make('div', { class: 'tools' }, row.function && make('button', { onclick: () => focusOn([row.function, row.file].filter(Boolean).join(' ')) }, 'callers and callees'),
      row.function && make('button', { onclick: () => setFilter({ inside: [row.function] }) }, 'only inside of it'),
      row.file && make('button', { onclick: () => copy(`${row.file}:${row.line || 1}`) }, 'copy file:line'),
      keeps && make('button', { onclick: () => go('join', 'site ' + row.name) }, 'who keeps it')), lives ? histogram(lives) : '');
}

function drawPlaces() {
  return answered(async shown => {
    const answer = await hs.trace.top(view.filter, view.by), { rows, others, total } = answer, holder = make('section', { 'aria-live': 'polite' });
    const by = make('select', { 'aria-label': 'rows are' }, ['site', 'function', 'caller', 'file', 'stack', 'size'].map(value => make('option', { value }, 'by ' + value)));
    by.value = view.by;
    by.addEventListener('change', () => { view.by = by.value; keepView(); show(); });
    shown.rows = table({ rows, open: row => row.function && focusOn([row.function, row.file].filter(Boolean).join(' ')),
      select: row => drawSite(row, holder).catch(error => { holder.textContent = error.message; }), columns: [
        { head: view.by, name: true, text: row => row.name },
        sizeColumn('words', row => row.words, total.words), errorColumn('\u00b1', row => row.words_error),
        { head: '%', number: true, value: row => row.samples, text: row => percent(row.samples, total.samples) },
        { head: 'allocations', number: true, value: row => row.allocations, text: row => grouped(row.allocations) },
        { head: '\u00b1', number: true, value: row => row.allocations_error, text: row => grouped(row.allocations_error) },
        sizeColumn('never freed', row => row.live_words), errorColumn('\u00b1', row => row.live_words_error),
        { head: 'leaked', number: true, value: row => row.leaked_percent, text: row => row.leaked_percent.toFixed(1) + ' %' },
        { head: 'median life', number: true, value: row => row.median_lifetime_us ?? row.median_from_us ?? Infinity, text: lifetimeText }] });
    shown.element.replaceChildren(filterTools(by, searchInput(text => shown.rows.search(text))), sampledText(), make('p', {},
      `${grouped(rows.length)} of ${grouped(total.count)} rows; [others]: ${grouped(others.count)} with ${size(others.words)}. Together ${size(total.words)} \u00b1 `
      + `${size(total.words_error)}, ${grouped(total.allocations)} \u00b1 ${grouped(total.allocations_error)} allocations, ${size(total.live_words)} \u00b1 `
      + `${size(total.live_words_error)} never freed.`), holder, shown.rows.element);
    say(traceCommand('top', ...(view.by === 'site' ? [] : ['--by', view.by])));
  });
}

function drawLives() {
  return answered(async shown => {
    const { rows } = await hs.trace.lifetimes(view.filter, 'site'), holder = make('section', { 'aria-live': 'polite' });
    const powers = rows.flatMap(row => (row.histogram || []).map(lifePower)), first = Math.min(...powers), last = Math.max(...powers);
    shown.rows = table({ rows, select: row => holder.replaceChildren(make('h2', {}, row.name), histogram(row)), columns: [
      { head: 'site', name: true, text: row => row.name }, sizeColumn('words', row => row.words), errorColumn('\u00b1', row => row.words_error),
      { head: 'never freed', number: true, value: row => row.never_samples, text: row => percent(row.never_samples, row.samples) },
      { head: 'median', number: true, value: row => row.median_us ?? row.median_from_us ?? Infinity, text: lifetimeText },
      { head: powers.length ? `${seconds(2 ** first)} to ${seconds(2 ** (last + 1))}` : '', text: () => '', cell: row => smallHistogram(row, first, last) }] });
    shown.element.replaceChildren(filterTools(searchInput(text => shown.rows.search(text))), sampledText(), holder, shown.rows.element);
    say(traceCommand('lifetimes'));
  });
}

/* ---- who allocated it, and who keeps it */

const siteOf = row => !row.site ? '[no backtrace]' : (row.site.function || '?') + (row.site.file ? ` ${row.site.file}${row.site.line ? ':' + row.site.line : ''}` : '');
const keeperOf = row => row.root || `[${row.keeper}]`;
const joinWords = row => row.estimated_words ?? row.n_samples;
const joinError = row => row.error_words ?? Math.round(Math.sqrt(row.n_samples));

function joinSide(rows, of) {
  const found = new Map();
  for (const row of rows) {
    const one = found.get(of(row)) || { name: of(row), words: 0, variance: 0, samples: 0 };
    one.words += joinWords(row);
    one.variance += joinError(row) ** 2;
    one.samples += row.n_samples;
    found.set(of(row), one);
  }
  return [...found.values()].sort((a, b) => b.words - a.words);
}

/* One site or one root, and the other side of it, with bars of one standard error. */
function joinOther(title, rows, of, open) {
  const sides = joinSide(rows, of), most = Math.max(1, ...sides.map(one => one.words + Math.sqrt(one.variance)));
  const whisker = one => make('span', { class: 'whisker', role: 'img', 'aria-label': `${one.words} plus or minus ${Math.round(Math.sqrt(one.variance))}` },
    make('i', { style: { width: 160 * one.words / most + 'px' } }), make('b', { style: {
      left: 160 * Math.max(0, one.words - Math.sqrt(one.variance)) / most + 'px', width: 160 * (Math.min(one.words + Math.sqrt(one.variance), most)
        - Math.max(0, one.words - Math.sqrt(one.variance))) / most + 'px' } }));
  return make('section', {}, make('h2', {}, title), table({ rows: sides.slice(0, 60), open: row => open(row.name), columns: [
    { head: 'who', name: true, text: row => row.name, cell: row => make('button', { class: 'link', onclick: () => open(row.name) }, row.name) },
    { head: 'stands for', number: true, value: row => row.words, text: row => size(row.words) }, { head: '', text: () => '', cell: whisker },
    errorColumn('\u00b1', row => Math.round(Math.sqrt(row.variance))),
    { head: 'samples', number: true, value: row => row.samples, text: row => grouped(row.samples) }] }).element);
}

function drawJoin(argument) {
  const { groups, others, total } = hs.data.sites, holder = make('section', { 'aria-live': 'polite' });
  const sites = joinSide(groups, siteOf), roots = joinSide(groups, keeperOf).slice(0, 10);
  const cells = new Map(groups.map(row => [siteOf(row) + '\n' + keeperOf(row), row]));
  const most = Math.max(1, ...groups.map(joinWords));
  const ofSite = name => holder.replaceChildren(joinOther(`Who keeps what ${name} allocated`, groups.filter(row => siteOf(row) === name), keeperOf, ofRoot));
  const ofRoot = name => holder.replaceChildren(joinOther(`Who allocated what ${name} keeps`, groups.filter(row => keeperOf(row) === name), siteOf, ofSite));
  const cellOf = (site, root) => cells.get(site.name + '\n' + root.name);
  const rows = table({ grid: true, rows: sites, open: row => ofSite(row.name),
    select: row => { ofSite(row.name); say(command('paths', '--to', 'site:' + row.name.split(' ')[0])); }, columns: [
      { head: 'allocated by', name: true, text: row => row.name }, sizeColumn('stands for', row => row.words),
      errorColumn('\u00b1', row => Math.round(Math.sqrt(row.variance))),
      ...roots.map(root => ({ head: root.name, number: true, value: row => cellOf(row, root) ? joinWords(cellOf(row, root)) : 0,
        text: row => cellOf(row, root) ? `${size(joinWords(cellOf(row, root)))} \u00b1 ${size(joinError(cellOf(row, root)))}` : '',
        cell: row => { const found = cellOf(row, root); return found ? make('span', { class: 'heat', style: { '--heat': Math.sqrt(joinWords(found) / most) } },
          `${size(joinWords(found))} \u00b1 ${size(joinError(found))}`) : ''; } }))] });
  const picks = make('div', { class: 'tools' }, 'who allocated what is kept by', roots.map(root => make('button', { onclick: () => ofRoot(root.name) }, root.name)));
  if (argument && argument.startsWith('site ')) ofSite(argument.slice(5));
  return { table: rows, element: make('div', {}, searchTools(rows), make('p', { class: 'soft' },
    `Sampled: blocks that were alive in the snapshot stand for ${size(joinWords(total))}`
    + (total.error_words === null ? '' : ` \u00b1 ${size(total.error_words)}`) + `; ${grouped(others.count)} smaller pairs: ${size(joinWords(others))}. Who keeps is exact.`),
  picks, holder, make('div', { class: 'wide' }, rows.element)) };
}

function drawTraceInfo() {
  const flat = (value, name) => Object.entries(value).flatMap(([key, below]) => below !== null && typeof below === 'object'
    ? flat(below, `${name}${key}: `) : [[name + key, below]]);
  return { element: make('table', {}, make('tbody', {}, flat(hs.data.trace_info, '').map(([name, value]) => make('tr', {},
    make('td', {}, name.replace(/_/g, ' ')), make('td', { class: 'name' }, String(value)))))) };
}

const ofTrace = draw => argument => { if (argument !== undefined) readView(argument); return draw(); };
const hasTrace = data => Boolean(data.trace_info);
const traceScreens = [
  { id: 'when', title: 'Over time', draw: ofTrace(drawWhen), command: () => traceCommand('live'), when: hasTrace },
  { id: 'calls', title: 'Calls', draw: ofTrace(drawCalls), command: () => traceCommand('tree'), when: hasTrace },
  { id: 'places', title: 'Sites', draw: ofTrace(drawPlaces), command: () => traceCommand('top'), when: hasTrace },
  { id: 'lives', title: 'Lifetimes', draw: ofTrace(drawLives), command: () => traceCommand('lifetimes'), when: hasTrace },
  { id: 'join', title: 'Sites \u00d7 roots', draw: drawJoin, command: () => command('samples', '--group-by', 'site,root'), when: data => data.sites || (hs.live && data.info && data.info.samples > 0) },
  { id: 'trace', title: 'Trace', draw: drawTraceInfo, command: () => traceCommand('info'), when: hasTrace },
];
actions.f = () => hs.at && hs.at.id !== 'join' && traceScreens.includes(hs.at) && filterForm();
actions.z = () => hs.shown.focus?.();

/* With a snapshot they stand behind its own, before what is said about it. */
function addTraceScreens() {
  const about = hs.screens.findIndex(one => one.id === 'about');
  if (hs.data.info) hs.screens.splice(about, 0, ...traceScreens);
  else hs.screens = traceScreens;
  if (hasTrace(hs.data) || hs.live) hs.help = [...(hs.help || []), ['f', 'filter, of a trace'], ['z', 'callers and callees of the call that is open']];
}

function traceFacts(info) {
  return { path: info.trace, word_bytes: info.word_bytes, end_us: info.duration_us, peak_us: info.peak_us,
    words_per_sample: half(1 / Number(info.samples_per_word)), is_exact: info.allocated.certainty === 'exact' };
}

/* The answers out of the page. */
function cellsSource(data) {
  const cells = openCells(data.trace);
  return { facts: traceFacts(data.trace_info), left_out: cells.left_out, points: cells.points.length, n_points: cells.n_points,
    snap: filter => { parseRange('size', filter.size, sizeUnits, null, null); selectCells(cells, filter); return snapFilter(cells, filter).snapped; },
    live: filter => cellsLive(cells, filter),
    top: (filter, by) => isEmpty(filter) && by === 'site' ? data.trace_top : cellsTop(cells, filter, by),
    tree: (filter, by) => cellsTree(cells, filter, by),
    lifetimes: (filter, by) => isEmpty(filter) && by === 'site' ? data.trace_lifetimes : cellsTop(cells, filter, by) };
}
