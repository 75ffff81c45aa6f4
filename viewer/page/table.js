/* Tables that are sorted, searched and walked by keys. A column: { head, number, text(row), value(row), cell(row) }. */
function table(options) {
  const { columns, rows, foot } = options;
  const open = options.open || (hs.visit && options.what ? row => hs.visit(options.what(row)) : null);
  let order = rows.slice(), sorted = options.sorted ?? -1, down = true, filter = '', selected = -1;
  const body = make('tbody');
  const head = columns.map((column, i) =>
    make('th', { class: column.number ? 'number' : null, scope: 'col' },
      make('button', { onclick: () => sortBy(i) }, column.head)));
  const element = make('table', { class: options.grid ? 'grid' : null },
    make('thead', {}, make('tr', {}, head)), body,
    foot ? make('tfoot', {}, make('tr', {}, foot.map((text, i) =>
      make('td', { class: columns[i].number ? 'number' : null }, text)))) : null);

  function visible() {
    const wanted = filter.toLowerCase();
    return wanted === '' ? order
      : order.filter(row => columns.some(c => String(c.text(row)).toLowerCase().includes(wanted)));
  }
  function draw() {
    const shown = visible();
    body.replaceChildren(...shown.map((row, i) => {
      const line = make('tr', { onclick: () => select(i), ondblclick: () => open && open(row) },
        columns.map(c => make('td', { class: c.number ? 'number' : c.name ? 'name' : null },
          c.cell ? c.cell(row) : c.text(row))));
      if (i === selected) line.classList.add('selected');
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
    draw();
  }
  function select(i) {
    const lines = body.children;
    if (lines.length === 0) return;
    lines[selected]?.classList.remove('selected');
    selected = Math.max(0, Math.min(i, lines.length - 1));
    lines[selected].classList.add('selected');
    lines[selected].scrollIntoView({ block: 'nearest' });
    if (options.select) options.select(visible()[selected]);
  }
  draw();
  return {
    element, draw,
    search(text) { filter = text; selected = -1; draw(); },
    move(by) { select(selected + by); },
    open() { const row = visible()[selected]; if (row !== undefined && open) open(row); },
    row: () => visible()[selected],
  };
}

function bar(part, whole) {
  return make('span', { class: 'bar', style: { width: (whole > 0 ? Math.max(0, 90 * part / whole) : 0) + 'px' } });
}

function sizeColumn(head, words, whole) {
  return {
    head, number: true, value: words, text: row => size(words(row)),
    cell: whole ? row => [bar(words(row), whole), ' ', size(words(row))] : null,
  };
}
