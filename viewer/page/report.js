/* The page of a report: its data stands in it. */
async function readData() {
  const text = document.getElementById('data').textContent.replace(/\s+/g, '');
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

async function begin() {
  if (typeof DecompressionStream === 'undefined') {
    app.textContent = 'This report needs a browser that can unpack gzip (DecompressionStream): Firefox 113, '
      + 'Chromium 80, Safari 16.4 or newer. The commands of heapsnap print the same.';
    return;
  }
  try {
    hs.data = await readData();
  } catch (error) {
    app.textContent = 'This report is not whole: its data cannot be unpacked. Make it again.';
    return;
  }
  if (hs.data.keys) hs.keys = buildKeys(hs.data.keys);
  if (hs.data.trace) hs.trace = cellsSource(hs.data);
  addTraceScreens();
  startPage();
  document.body.dataset.ready = 'yes';
}

begin();
