/* Tables that are sorted, searched and walked by keys. A column: { head, number, text(row), value(row), cell(row) };
 * name: has what room there is; wrap: is broken anywhere; aside: is left out on a narrow screen. */
const classOf = column => column.number ? 'number' : column.name ? 'name' : column.wrap ? 'wrap' : column.aside ? 'aside' : null;

function table(options) {
  const { columns, rows, foot } = options;
  const open = options.open || (hs.visit && options.what ? row => hs.visit(options.what(row)) : null);
  let order = rows.slice(), sorted = options.sorted ?? -1, down = true, filter = '', selected = -1;
  const body = make('tbody');
  const head = columns.map((column, i) =>
    make('th', { class: classOf(column), scope: 'col' },
      make('button', { onclick: () => sortBy(i) }, column.head)));
  const tellOrder = () => head.forEach((cell, i) => i === sorted
    ? cell.setAttribute('aria-sort', down ? 'descending' : 'ascending') : cell.removeAttribute('aria-sort'));
  const element = make('table', { class: options.grid ? 'grid' : null },
    make('thead', {}, make('tr', {}, head)), body,
    foot ? make('tfoot', {}, make('tr', {}, foot.map((text, i) =>
      make('td', { class: classOf(columns[i]) }, text)))) : null);

  function visible() {
    const wanted = filter.toLowerCase();
    return wanted === '' ? order
      : order.filter(row => columns.some(c => String(c.text(row)).toLowerCase().includes(wanted)));
  }
  function mark(line) {
    line.classList.add('selected');
    line.setAttribute('aria-current', 'true');
  }
  function draw() {
    const shown = visible();
    body.replaceChildren(...shown.map((row, i) => {
      const line = make('tr', { tabindex: -1, onclick: () => select(i), ondblclick: () => open && open(row) },
        columns.map(c => make('td', { class: classOf(c) },
          c.cell ? c.cell(row) : c.text(row))));
      if (i === selected) mark(line);
      return line;
    }));
  }
  function sortBy(i) {
    down = sorted === i ? !down : Boolean(columns[i].number);
    sorted = i;
    const key = columns[i].value || columns[i].text;
    order = rows.slice().sort((a, b) => {
      const x = key(a), y = key(b), less = x < y ? -1 : x > y ? 1 : 0;
      return down ? -less : less;
    });
    selected = -1;
    tellOrder();
    draw();
  }
  /* The row has the focus, so that it is read aloud; not while a search is typed. */
  function select(i) {
    const lines = body.children;
    if (lines.length === 0) return;
    lines[selected]?.classList.remove('selected');
    lines[selected]?.removeAttribute('aria-current');
    selected = Math.max(0, Math.min(i, lines.length - 1));
    mark(lines[selected]);
    lines[selected].scrollIntoView({ block: 'nearest' });
    if (!['INPUT', 'TEXTAREA', 'SELECT', 'BUTTON'].includes(document.activeElement?.tagName)) lines[selected].focus({ preventScroll: true });
    if (options.select) options.select(visible()[selected]);
  }
  tellOrder();
  draw();
  return {
    element, draw,
    search(text) { filter = text; selected = -1; draw(); },
    move(by) { select(selected + by); },
    open() { const row = visible()[selected]; if (row !== undefined && open) open(row); },
    row: () => visible()[selected],
  };
}

/* Bars of a column begin at one place, whatever the width of the number beside them. */
function barred(part, whole, text) {
  const share = whole > 0 ? Math.max(0, 100 * part / whole) : 0;
  return make('span', { class: 'barred' },
    make('span', { class: 'track' }, make('span', { class: 'bar', style: { width: share + '%' } })), make('span', {}, text));
}

/* What 'words' heads is written in the unit that is chosen. */
const unitHead = head => head === 'words' && hs.unit !== 'words' ? 'size' : head;

function sizeColumn(head, words, whole) {
  return {
    head: unitHead(head), number: true, value: words, text: row => size(words(row)),
    cell: whole ? row => barred(words(row), whole, size(words(row))) : null,
  };
}
