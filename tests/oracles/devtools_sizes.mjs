// devtools_sizes.mjs SNAPSHOT OUT: dominator, size and retained size of every node, as the worker of
// Chrome's DevTools finds them. To be bundled: it is written in TypeScript.
import fs from 'node:fs';
import {HeapSnapshotLoader} from '@worker/HeapSnapshotLoader.js';
import {SecondaryInitManager} from '@worker/HeapSnapshot.js';

const loader = new HeapSnapshotLoader({sendEvent() {}});
const decoder = new TextDecoder();
const file = fs.openSync(process.argv[2]);
const buffer = Buffer.alloc(1 << 20);
for (let n; (n = fs.readSync(file, buffer)) > 0;)
  loader.write(decoder.decode(buffer.subarray(0, n), {stream: true}));
loader.close();
const channel = new MessageChannel();
new SecondaryInitManager(channel.port2);
const heap = await loader.buildSnapshot(channel.port1);
const rows = [];
for (let i = 0; i < heap.nodeCount; i++) {
  const size = heap.nodes.getValue(i * heap.nodeFieldCount + heap.nodeSelfSizeOffset);
  rows.push([i, heap.dominatorsTree[i], size, heap.retainedSizes[i]].join('\t'));
}
fs.writeFileSync(process.argv[3], rows.join('\n') + '\n');
process.exit(0);
