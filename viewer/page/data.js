'use strict';
/* What the page knows: the answers of the commands, as they are, and the keys in columns. */
const hs = { data: null, unit: 'bytes', screens: [], at: null };

/* ---- numbers */

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}

/* Bytes with one digit behind the point, or words as they are. */
function size(words) {
  if (words === null || words === undefined) return '?';
  if (hs.unit === 'words') return grouped(words);
  return bytesText(words * (hs.data.info || hs.data.trace_info).word_bytes);
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; Math.abs(bytes) >= 1024 && at < units.length - 1; at++) bytes /= 1024;
  return (at === 0 ? bytes : bytes.toFixed(1)) + ' ' + units[at];
}

/* What percentages of tables are of: the heap, and memory that is not read, as hs_unread_whole has it. */
function wholeWords() {
  return hs.data.info.words + (hs.data.roots.unread_words || 0);
}

function percent(part, whole) {
  return whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '';
}

/* ---- elements: text is text, never markup */

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  return element;
}

/* A word of a command as a shell takes it: to one, '#' begins a comment. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

function command(...words) {
  return ['heapsnap', words[0], quoted(hs.data.info.snapshot), ...words.slice(1).map(quoted)].join(' ');
}

/* ---- the tree of keys */

/* Slots of one variable stand under it: a row of its own, behind the others. */
function groupSlots(columns) {
  const { variable, variables } = columns;
  if (!variable) return columns;
  const all = { ...columns };
  for (const name of ['names', 'parent', 'name', 'form', 'words', 'own_words', 'objects', 'set']) all[name] = Array.from(columns[name]);
  const group = new Map();
  variable.forEach((of, row) => {
    if (of === 0) return;
    if (!group.has(of)) {
      group.set(of, all.parent.length);
      all.names.push(variables[of - 1]);
      for (const [name, value] of Object.entries({ parent: 0, name: all.names.length - 1, form: 1, words: 0, own_words: 0, objects: 0,
        set: columns.set[row] })) all[name].push(value);
    }
    const at = group.get(of), own = columns.names[columns.name[row]];
    all.parent[row] = at;
    all.words[at] += columns.words[row];
    all.objects[at] += columns.objects[row];
    if (all.set[at] !== columns.set[row]) all.set[at] = 0;
    if (own.startsWith(variables[of - 1]) && own.length > variables[of - 1].length) {
      all.name[row] = all.names.length;
      all.names.push(own.slice(variables[of - 1].length));
    }
  });
  return all;
}

function buildKeys(given) {
  const columns = groupSlots(given), n = columns.parent.length;
  const children = Array.from({ length: n }, () => []);
  for (let i = 1; i < n; i++) children[columns.parent[i]].push(i);
  for (const list of children) list.sort((a, b) => columns.words[b] - columns.words[a] || a - b);
  return { ...columns, n, children };
}

function keyName(keys, key) {
  return key === 0 ? 'all' : keys.names[keys.name[key]];
}

function keyWay(keys, key) {
  const way = [];
  for (; key > 0; key = keys.parent[key]) way.unshift(key);
  return way;
}

function keyText(keys, key) {
  return keyWay(keys, key).map(step => keyName(keys, step)).join(' > ') || 'all';
}

/* A chain of keys of which each has nearly all of the one above is drawn as one. */
function chainEnd(keys, key) {
  for (;;) {
    const first = keys.children[key][0];
    if (first === undefined || keys.words[first] < 0.95 * keys.words[key]) return key;
    key = first;
  }
}

const hues = [211, 28, 152, 340, 263, 185, 52, 95];
function keyColour(keys, key, depth) {
  const name = keyName(keys, key);
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  const dark = !hs.isPrinting && matchMedia('(prefers-color-scheme: dark)').matches;
  const light = dark ? 26 + 5 * (depth % 4) : 84 - 6 * (depth % 4);
  return `hsl(${hues[hash % hues.length]} ${dark ? 35 : 55}% ${light}%)`;
}
