/* The tree of keys as an icicle and as a treemap, on a canvas; the table beside it has the same in words. */
function squarify(items, x, y, w, h, put) {
  let total = items.reduce((sum, item) => sum + item.value, 0);
  let at = 0;
  while (at < items.length && w > 1 && h > 1 && total > 0) {
    const short = Math.min(w, h), scale = w * h / total;
    let row = [], sum = 0, worst = Infinity;
    for (; at + row.length < items.length;) {
      const value = items[at + row.length].value;
      const next = sum + value, side = next * scale / short;
      const most = (row.length ? row[0].value : value) * scale / side;
      const least = value * scale / side;
      const ratio = Math.max(most / side, side / Math.max(least, 1e-9));
      if (row.length && ratio > worst) break;
      row.push(items[at + row.length]);
      sum = next;
      worst = ratio;
    }
    const side = sum * scale / short;
    let along = 0;
    for (const item of row) {
      const length = item.value * scale / side;
      if (w >= h) put(item, x, y + along, side, length);
      else put(item, x + along, y, length, side);
      along += length;
    }
    if (w >= h) { x += side; w -= side; } else { y += side; h -= side; }
    total -= sum;
    at += row.length;
  }
}

/* What has room of a name and a size: a number is never cut, a name is where nothing else helps. */
function fitted(pen, name, size, room) {
  for (const text of [`${name}  ${size}`, name]) if (pen.measureText(text).width <= room) return text;
  for (let n = Math.floor(name.length * room / pen.measureText(name).width); n > 1; n--)
    if (pen.measureText(name.slice(0, n) + '\u2026').width <= room) return name.slice(0, n) + '\u2026';
  return '';
}

function treeCanvas(keys, onOpen, onPoint, modes = ['icicle', 'treemap'], label = 'the table below has the same in words') {
  const canvas = make('canvas', { tabindex: 0, role: 'img',
    'aria-label': `what keeps the heap, by owner and types; ${label}` });
  let boxes = [], top = 0, mode = modes[0], n_lines = 0;
  const pen = canvas.getContext('2d');

  /* What is too small for a box each, as one. A click opens what they are below. */
  function others(parent, n, words, x, y, w, h) {
    boxes.push({ key: parent, x, y, w, h });
    pen.fillStyle = hs.isPrinting ? '#ddd' : getComputedStyle(document.body).getPropertyValue('--line');
    pen.fillRect(x, y, Math.max(w - 1, 0.5), Math.max(h - 1, 0.5));
    if (w <= 36 || h <= 13) return;
    pen.fillStyle = hs.isPrinting ? '#1a1c20' : getComputedStyle(document.body).color;
    pen.fillText(fitted(pen, `[${grouped(n)} others]`, keys.text ? '' : size(words), w - 7), x + 3, y + 11);
  }
  function box(key, x, y, w, h, depth) {
    const end = mode === 'treemap' ? chainEnd(keys, key) : key;
    boxes.push({ key: end, x, y, w, h });
    pen.fillStyle = keyColour(keys, end, depth);
    pen.fillRect(x, y, Math.max(w - 1, 0.5), Math.max(h - 1, 0.5));
    if (w > 36 && h > 13) {
      const names = [];
      for (let at = end; ; at = keys.parent[at]) { names.unshift(keyName(keys, at)); if (at === key) break; }
      pen.fillStyle = hs.isPrinting ? '#1a1c20' : getComputedStyle(document.body).color;
      pen.fillText(fitted(pen, names.join(' > '), keys.text ? keys.text(end) : size(keys.words[end]), w - 7), x + 3, y + 11);
    }
    return end;
  }
  /* As many lines as the icicle has, at most so many; when another key is opened never fewer than before. */
  function lines(width, most) {
    const work = [[top, width, 1]];
    while (work.length > 0 && n_lines < most) {
      const [key, w, depth] = work.pop();
      n_lines = Math.max(n_lines, depth);
      for (const child of keys.children[key]) {
        const part = keys.words[key] > 0 ? w * keys.words[child] / keys.words[key] : 0;
        if (part >= 0.7) work.push([child, part, depth + 1]);
      }
    }
    return n_lines;
  }
  function icicle(width, height) {
    const line = 19, rows = Math.max(1, Math.floor(height / line));
    const work = [[top, 0, width, 0]];
    while (work.length > 0) {
      const [key, x, w, depth] = work.pop();
      if (w < 0.7 || depth >= rows) continue;
      box(key, x, mode === 'flame' ? height - (depth + 1) * line : depth * line, w, line, depth);
      let along = x;
      const list = keys.children[key], scale = keys.words[key] > 0 ? w / keys.words[key] : 0;
      let n = list.findIndex(child => scale * keys.words[child] < 3);
      if (n < 0 || n === list.length - 1) n = list.length;
      for (const child of list.slice(0, n)) {
        work.push([child, along, scale * keys.words[child], depth + 1]);
        along += scale * keys.words[child];
      }
      const rest = wordsOf(list.slice(n).map(child => keys.words[child]));
      if (scale * rest >= 0.7 && depth + 1 < rows)
        others(key, list.length - n, rest, along, mode === 'flame' ? height - (depth + 2) * line : (depth + 1) * line, scale * rest, line);
    }
  }
  function treemap(width, height) {
    const work = [[top, 0, 0, width, height, 0]];
    while (work.length > 0) {
      const [key, x, y, w, h, depth] = work.pop();
      const end = box(key, x, y, w, h, depth);
      const items = keys.children[end].map(child => ({ child, value: keys.words[child] })).filter(i => i.value > 0);
      if (keys.own_words[end] > 0) items.push({ child: -1, value: keys.own_words[end] });
      const scale = (w - 5) * (h - 18) / Math.max(1, wordsOf(items.map(item => item.value)));
      const isSmall = item => item.child >= 0 && item.value * scale < 80, small = items.filter(isSmall);
      const shown = small.length < 2 ? items : items.filter(item => !isSmall(item));
      if (small.length >= 2) shown.push({ child: -2, value: wordsOf(small.map(item => item.value)) });
      shown.sort((a, b) => b.value - a.value);
      if (w > 24 && h > 26)
        squarify(shown, x + 2, y + 15, w - 5, h - 18, (item, bx, by, bw, bh) => {
          if (bw <= 2 || bh <= 2) return;
          if (item.child === -2) others(end, small.length, item.value, bx, by, bw, bh);
          else if (item.child >= 0) work.push([item.child, bx, by, bw, bh, depth + 1]);
        });
    }
  }
  function draw() {
    const width = canvas.clientWidth || 600, height = mode === 'treemap' ? 420 : lines(width, keys.text ? 22 : 11) * 19, ratio = devicePixelRatio || 1;
    canvas.style.height = height + 'px';
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = '11px system-ui, sans-serif';
    pen.clearRect(0, 0, width, height);
    boxes = [];
    (mode === 'treemap' ? treemap : icicle)(width, height);
  }
  function find(event) {
    const area = canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
    for (let i = boxes.length; i-- > 0;) {
      const b = boxes[i];
      if (x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h) return b.key;
    }
    return -1;
  }
  canvas.addEventListener('mousemove', event => onPoint(find(event), event));
  canvas.addEventListener('mouseleave', event => onPoint(-1, event));
  canvas.addEventListener('click', event => { const key = find(event); if (key >= 0) onOpen(key); });
  return {
    element: canvas, draw, count: () => boxes.length,
    show(key) { top = key; draw(); },
    mode: () => mode,
    turn() { mode = modes[(modes.indexOf(mode) + 1) % modes.length]; draw(); },
  };
}
