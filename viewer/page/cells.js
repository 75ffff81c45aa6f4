/* Answers about a trace, out of the cells that stand in the page (viewer/trace_columns.h), in the shape in which `heapsnap
 * trace` prints them with --json. Whatever the page may filter by is a sum of whole cells: its samples are the command's. */
const areas = ['minor', 'major', 'external'];
const leftOut = '[calls left out]', noSite = '[sites left out]';

function openCells(data) {
  const n = data.cell_call.length, call = new Array(n), never = data.points.length;
  for (let i = 0, at = 0; i < n; i++) call[i] = at += data.cell_call[i];
  const exact = data.size_words.map((words, i) => 1 / Math.max(1, words + (data.size_source[i] !== 2 ? 1 : 0)));
  return { ...data, n, call, never,
    inverse: data.size_inverse.map((mean, i) => mean || exact[i]),
    inverse_sq: data.size_inverse_sq.map((mean, i) => mean || exact[i] * exact[i]) };
}

/* ---- estimates: trace/stats/trace_estimate.c */

const half = value => Math.floor(value + 0.5);
function estimates(cells, sum) {
  const { rate, spread } = cells, error = n => half(Math.sqrt(n * spread) / rate);
  return { samples: sum.samples, words: half(sum.samples / rate), words_error: error(sum.samples),
    allocations: half(sum.allocations / rate), allocations_error: error(sum.allocations_sq),
    live_words: half(sum.live / rate), live_words_error: error(sum.live), objects: sum.objects };
}

function emptySum() {
  return { samples: 0, objects: 0, allocations: 0, allocations_sq: 0, live: 0, freed: new Map(), first: Infinity, last: 0 };
}

function addCell(cells, sum, i) {
  const samples = cells.cell_samples[i], size = cells.cell_size[i];
  sum.samples += samples;
  sum.objects += cells.cell_objects[i];
  sum.allocations += samples * cells.inverse[size];
  sum.allocations_sq += samples * cells.inverse_sq[size];
  if (cells.cell_died[i] === cells.never) sum.live += samples;
  else sum.freed.set(cells.cell_life[i], (sum.freed.get(cells.cell_life[i]) || 0) + samples);
  sum.first = Math.min(sum.first, cells.cell_born[i]);
  sum.last = Math.max(sum.last, cells.cell_born[i]);
}

/* ---- ranges, as the options take them; null: none. Throws a sentence. */

const timeUnits = { '': 1e6, ns: 1e-3, us: 1, ms: 1e3, s: 1e6, m: 6e7, h: 3.6e9 };
const sizeUnits = { '': 1, B: 1, k: 1e3, kB: 1e3, M: 1e6, MB: 1e6, G: 1e9, GB: 1e9, Ki: 1024, KiB: 1024, Mi: 2 ** 20, MiB: 2 ** 20,
  Gi: 2 ** 30, GiB: 2 ** 30 };
function parseRange(name, text, units, whole, events) {
  if (!text) return null;
  const bound = (part, open) => {
    if (part === '') return open;
    if (events && part in events) return events[part];
    const found = /^(\d+(?:\.\d+)?) ?([A-Za-z%]*)$/.exec(part);
    if (found && found[2] === '%' && whole !== null) return Number(found[1]) * whole / 100;
    if (!found || !(found[2] in units)) throw new Error(`${name}: '${part}' is not understood: write A..B, A.., ..B or one value`);
    return Number(found[1]) * units[found[2]];
  };
  const parts = text.split('..');
  if (parts.length > 2 || text === '..') throw new Error(`${name}: '${text}' is no range: write A..B, A.., ..B or one value`);
  const from = bound(parts[0].trim(), 0), to = parts.length === 1 ? from : bound(parts[1].trim(), Infinity);
  if (from > to) throw new Error(`${name}: the range ends before it begins`);
  return { from, to };
}

function nearest(points, at) {
  let best = 0;
  for (let i = 1; i < points.length; i++) if (Math.abs(points[i] - at) < Math.abs(points[best] - at)) best = i;
  return best;
}

/* Between points: what is in (points[from - 1], points[to]]. */
function snapBirths(cells, range) {
  const to = range.to === Infinity ? cells.never - 1 : nearest(cells.points, range.to);
  const from = range.from <= 0 ? 0 : Math.min(nearest(cells.points, range.from - 1) + 1, to);
  return { from, to, text: `${from === 0 ? 0 : cells.points[from - 1] + 1}us..${cells.points[to]}us` };
}

function snapLifetime(range) {
  const from = range.from < 1.5 ? 0 : Math.round(Math.log2(range.from)), to = range.to === Infinity ? Infinity
    : Math.max(from, Math.round(Math.log2(range.to + 1)) - 1);
  return { from, to, text: `${from === 0 ? 0 : 2 ** from}us..${to === Infinity ? '' : 2 ** (to + 1) - 1 + 'us'}` };
}

function patternOf(text) {
  if (text.length > 2 && text.startsWith('/') && text.endsWith('/')) {
    let found;
    try { found = new RegExp(text.slice(1, -1)); } catch { throw new Error(`'${text}' is no regular expression`); }
    return name => found.test(name);
  }
  return name => name.includes(text);
}

/* ---- what is selected */

function namesOf(cells, f) {
  return [cells.names[cells.function_name[f]] || '', cells.function_file[f] < 0 ? '' : cells.names[cells.function_file[f]]];
}

function matchFunctions(cells, texts) {
  const tests = texts.map(patternOf);
  return cells.function_name.map((_, f) => tests.map(test => namesOf(cells, f).some(test)));
}

/* By call: whether a frame of it, or outside of it, matches each of the patterns. */
function matchCalls(cells, texts) {
  const functions = matchFunctions(cells, texts), found = [texts.map(() => false)];
  for (let c = 1; c <= cells.call_parent.length; c++) {
    const frame = cells.call_frame[c - 1], above = found[cells.call_parent[c - 1]];
    const own = frame > 0 ? functions[cells.frame_function[frame - 1]] : null;
    found.push(own && own.some((is, k) => is && !above[k]) ? above.map((is, k) => is || own[k]) : above);
  }
  return found;
}

/* The filter as it can be asked of the cells: times and lifetimes at their borders. */
function snapFilter(cells, filter) {
  const snapped = { ...filter }, events = { peak: cells.peak_us, end: cells.end_us }, end = cells.end_us;
  const use = {};
  if (filter.allocated) {
    use.born = snapBirths(cells, parseRange('allocated', filter.allocated, timeUnits, end, events));
    snapped.allocated = use.born.text;
  }
  if (filter.live_at) {
    const range = parseRange('live at', filter.live_at, timeUnits, end, events);
    use.live = { from: nearest(cells.points, range.from), to: range.to === Infinity ? cells.never - 1 : nearest(cells.points, range.to) };
    const text = at => `${cells.points[at]}us`;
    if (!['peak', 'end'].includes(filter.live_at))
      snapped.live_at = use.live.from === use.live.to ? text(use.live.from) : `${text(use.live.from)}..${text(use.live.to)}`;
  }
  if (filter.collected === 'never') use.died = { from: cells.never, to: cells.never };
  else if (filter.collected) {
    use.died = snapBirths(cells, parseRange('collected', filter.collected, timeUnits, end, events));
    snapped.collected = use.died.text;
  }
  if (filter.lifetime) {
    use.life = snapLifetime(parseRange('lifetime', filter.lifetime, timeUnits, end, null));
    snapped.lifetime = use.life.text;
  }
  use.size = parseRange('size', filter.size, sizeUnits, null, null);
  use.heap = filter.heap ? filter.heap.split(',') : null;
  if (use.heap && !use.heap.every(area => areas.includes(area))) throw new Error('heap: minor, major or external');
  return { snapped, use };
}

function isSelected(cells, use, i) {
  const born = cells.cell_born[i], died = cells.cell_died[i], life = cells.cell_life[i], size = cells.cell_size[i];
  if (use.born && (born < use.born.from || born > use.born.to)) return false;
  if (use.live && (born > use.live.to || died <= use.live.from)) return false;
  if (use.died && (died < use.died.from || died > use.died.to)) return false;
  if (use.life && (life < use.life.from || (died === cells.never ? use.life.to !== Infinity : life > use.life.to))) return false;
  if (use.size && (cells.size_words[size] * cells.word_bytes < use.size.from || cells.size_most[size] * cells.word_bytes > use.size.to))
    return false;
  return !use.heap || use.heap.includes(areas[cells.size_source[size]]);
}

/* Indexes of the cells that all clauses but those on groups let pass. */
function selectCells(cells, filter) {
  const { use } = snapFilter(cells, filter), inside = filter.inside || [], outside = filter.not_inside || [];
  const matched = inside.length + outside.length > 0 ? matchCalls(cells, [...inside, ...outside]) : null;
  const fits = call => matched[call].every((is, k) => is === k < inside.length);
  const chosen = [];
  for (let i = 0; i < cells.n; i++)
    if (isSelected(cells, use, i) && (!matched || fits(cells.call[i]))) chosen.push(i);
  return chosen;
}

/* ---- places */

function functionText(cells, f) {
  return namesOf(cells, f).filter(Boolean).join(' ');
}

function frameText(cells, frame) {
  const f = cells.frame_function[frame], text = functionText(cells, f);
  return namesOf(cells, f)[1] ? `${text}:${cells.frame_line[frame]}` : text;
}

function hiddenFunctions(cells, hide) {
  return hide && hide.length > 0 ? matchFunctions(cells, hide).map(found => found.some(Boolean)) : null;
}

/* By call: site, and the site without it and what is inside of it; -1: none, -2: left out. */
function findSites(cells, hidden) {
  const site = [-1], caller = [-1];
  for (let c = 1; c <= cells.call_parent.length; c++) {
    const parent = cells.call_parent[c - 1], frame = cells.call_frame[c - 1] - 1;
    let own = site[parent], above = caller[parent];
    const rank = at => cells.function_rank[cells.frame_function[at]];
    if (frame < 0) [above, own] = [own, -2];
    else if (!(hidden && hidden[cells.frame_function[frame]]) && (own < 0 || rank(frame) >= rank(own))) [above, own] = [own, frame];
    site.push(own);
    caller.push(above);
  }
  return { site, caller };
}

function frames(cells, call, hidden) {
  const found = [];
  for (; call > 0; call = cells.call_parent[call - 1]) {
    const frame = cells.call_frame[call - 1] - 1;
    if (frame < 0 || !(hidden && hidden[cells.frame_function[frame]])) found.push(frame);
    if (cells.call_is_cut[call - 1] && frame >= 0) found.push(-1);
  }
  return found;
}

/* By call: the labels of the rows it is in. */
function labeller(cells, by, hidden) {
  const { site, caller } = findSites(cells, hidden), known = new Map();
  const once = make => call => { if (!known.has(call)) known.set(call, make(call)); return known.get(call); };
  if (by === 'caller') return once(call => [caller[call]]);
  if (by === 'file') return once(call => [site[call] < 0 ? site[call] : cells.function_file[cells.frame_function[site[call]]]]);
  if (by === 'stack') return once(call => [frames(cells, call, hidden).join()]);
  if (by === 'function') return once(call => {
    const found = new Set(frames(cells, call, hidden).filter(frame => frame >= 0).map(frame => cells.frame_function[frame]));
    return found.size > 0 ? [...found] : [-1];
  });
  return once(call => [site[call]]);
}

function rowPlace(cells, by, label) {
  if (by === 'size') return { name: label };
  if (by === 'stack') {
    const found = label === '' ? [] : label.split(',').map(Number);
    const place = found.length > 0 && found[0] >= 0 ? rowPlace(cells, 'site', found[0]) : {};
    const shown = found.slice(0, 64).map(frame => frame < 0 ? leftOut : frameText(cells, frame));
    return { ...place, name: found.length === 0 ? '[no backtrace]' : shown.join(' < ') + (found.length > 64 ? ' < ...' : '') };
  }
  if (label === -2) return { name: noSite };
  if (by === 'file') return { name: label === -1 ? '[no backtrace]' : cells.names[label] || '?', file: label < 0 ? null : cells.names[label] };
  if (label < 0) return { name: by === 'caller' ? '[no caller]' : '[no backtrace]' };
  const f = by === 'function' ? label : cells.frame_function[label], [name, file] = namesOf(cells, f);
  return { name: by === 'function' ? functionText(cells, f) : frameText(cells, label), function: name, file: file || null,
    line: by === 'function' ? null : cells.frame_line[label] || null };
}

function sizeText(cells, size) {
  const text = words => String(words * cells.word_bytes);
  return cells.size_words[size] === cells.size_most[size] ? `${text(cells.size_words[size])} bytes`
    : `${text(cells.size_words[size])} to ${text(cells.size_most[size])} bytes`;
}

/* ---- rows */

function sumRows(cells, chosen, by, hidden) {
  const rows = new Map(), total = emptySum(), labels = by === 'size' ? null : labeller(cells, by, hidden);
  for (const i of chosen) {
    addCell(cells, total, i);
    for (const label of labels ? labels(cells.call[i]) : [sizeText(cells, cells.cell_size[i])]) {
      if (!rows.has(label)) rows.set(label, emptySum());
      addCell(cells, rows.get(label), i);
    }
  }
  return { rows, total };
}

const bucketFrom = bucket => bucket === 0 ? 0 : 2 ** bucket;
/* Of what was freed and what never was, which counts as longest: the bucket that half of the words are within; null: never. */
function medianBucket(sum) {
  let left = Math.floor((sum.samples + 1) / 2);
  for (const [bucket, samples] of [...sum.freed].sort((a, b) => a[0] - b[0])) {
    left -= samples;
    if (left <= 0) return bucket;
  }
  return null;
}

function rowOf(cells, sum) {
  const median = medianBucket(sum), from = sum.first === 0 ? 0 : cells.points[sum.first - 1];
  return { ...estimates(cells, sum), leaked_percent: sum.samples > 0 ? 100 * sum.live / sum.samples : 0,
    median_from_us: median === null ? null : bucketFrom(median), median_to_us: median === null ? null : 2 ** (median + 1),
    first_us: sum.samples > 0 ? from : 0, last_us: cells.points[sum.last], never_samples: sum.live,
    histogram: [...sum.freed].sort((a, b) => a[0] - b[0]).map(([bucket, samples]) =>
      ({ from_us: bucketFrom(bucket), to_us: 2 ** (bucket + 1), samples })) };
}

/* The options on groups: on rows of sites, elsewhere on the cells of the sites that fit. */
function groupTest(cells, filter, total) {
  const count = parseRange('group allocations', filter.group_allocations, { '': 1, k: 1e3, M: 1e6, G: 1e9 },
    half(total.allocations / cells.rate), null);
  const leaked = parseRange('group leaked', filter.group_leaked, {}, 100, null);
  const interval = parseRange('group interval', filter.group_interval, timeUnits, cells.end_us, null);
  const within = (range, value) => !range || (value >= range.from && value <= range.to);
  return sum => within(count, half(sum.allocations / cells.rate)) && within(leaked, 100 * sum.live / Math.max(1, sum.samples))
    && within(interval, cells.points[sum.last] - cells.points[sum.first]);
}

const hasGroups = filter => Boolean(filter.group_allocations || filter.group_leaked || filter.group_interval);
function selectGroups(cells, chosen, filter, hidden) {
  if (!hasGroups(filter)) return chosen;
  const { rows, total } = sumRows(cells, chosen, 'site', hidden), fits = groupTest(cells, filter, total);
  const { site } = findSites(cells, hidden);
  return chosen.filter(i => fits(rows.get(site[cells.call[i]])));
}

function cellsTop(cells, filter, by) {
  const hidden = hiddenFunctions(cells, filter.hide), { rows, total } = sumRows(cells, selectCells(cells, filter), by, hidden);
  const fits = hasGroups(filter) ? groupTest(cells, filter, total) : () => true, kept = [], others = emptySum();
  let count = 0;
  for (const [label, sum] of rows) {
    if (fits(sum)) kept.push({ ...rowPlace(cells, by, label), ...rowOf(cells, sum) });
    else {
      count++;
      for (const key of ['samples', 'objects', 'allocations', 'allocations_sq', 'live']) others[key] += sum[key];
    }
  }
  kept.sort((a, b) => b.samples - a.samples);
  return { rows: kept, others: { count, ...estimates(cells, others) }, total: { count: rows.size, ...rowOf(cells, total) } };
}

/* ---- over time */

function cellsLive(cells, filter) {
  const hidden = hiddenFunctions(cells, filter.hide), chosen = selectGroups(cells, selectCells(cells, filter), filter, hidden);
  const line = indexes => {
    const change = new Array(cells.never + 1).fill(0);
    for (const i of indexes) {
      change[cells.cell_born[i]] += cells.cell_samples[i];
      change[cells.cell_died[i]] -= cells.cell_samples[i];
    }
    let now = 0;
    return cells.points.map((_, at) => now += change[at]);
  };
  const all = line(Array.from({ length: cells.n }, (_, i) => i)), selected = line(chosen);
  const estimate = samples => estimates(cells, { ...emptySum(), samples });
  const objects = list => list.reduce((sum, i) => sum + cells.cell_objects[i], 0), total = emptySum();
  for (const i of chosen) addCell(cells, total, i);
  return { points: cells.points.map((time_us, i) => ({ time_us, live_samples: all[i], live_words: estimate(all[i]).words,
    live_words_error: estimate(all[i]).words_error, selected_samples: selected[i], selected_words: estimate(selected[i]).words,
    selected_words_error: estimate(selected[i]).words_error })), total: estimates(cells, total),
  selected: { objects: objects(chosen), of_objects: cells.cell_objects.reduce((a, b) => a + b, 0) } };
}

/* ---- calls */

function treeMaker() {
  const tree = { name: ['all'], parent: [0], own: [emptySum()], known: new Map() };
  tree.below = (node, name) => {
    if (node > 0 && tree.name[node] === name) return node; // a function that calls itself
    const key = node + '\n' + name;
    if (!tree.known.has(key)) {
      tree.known.set(key, tree.name.length);
      tree.name.push(name);
      tree.parent.push(node);
      tree.own.push(emptySum());
    }
    return tree.known.get(key);
  };
  return tree;
}

function cellsTree(cells, filter, by) {
  const hidden = hiddenFunctions(cells, filter.hide), chosen = selectGroups(cells, selectCells(cells, filter), filter, hidden);
  const tree = treeMaker(), nodes = new Map();
  const text = frame => frame < 0 ? leftOut : by === 'site' ? frameText(cells, frame) : functionText(cells, cells.frame_function[frame]);
  const place = call => {
    const way = frames(cells, call, hidden);
    if (by !== 'caller') way.reverse();
    return way.reduce((node, frame) => tree.below(node, text(frame)), 0);
  };
  for (const i of chosen) {
    const call = cells.call[i];
    if (!nodes.has(call)) nodes.set(call, place(call));
    addCell(cells, tree.own[nodes.get(call)], i);
  }
  const all = tree.own.map(sum => ({ ...sum }));
  for (let node = all.length - 1; node > 0; node--)
    for (const key of ['samples', 'objects', 'allocations', 'allocations_sq', 'live']) all[tree.parent[node]][key] += all[node][key];
  return { nodes: all.map((sum, node) => ({ node, parent: node === 0 ? null : tree.parent[node], name: tree.name[node],
    ...estimates(cells, sum), own_samples: tree.own[node].samples, own_words: half(tree.own[node].samples / cells.rate) })) };
}
