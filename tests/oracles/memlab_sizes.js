// memlab_sizes.js SNAPSHOT OUT: dominator, size and retained size of every node, as memlab finds
// them. Its calculation is not among what it exports, so it is loaded by the path of its file.
'use strict';
const fs = require('fs');
const path = require('path');

const core = path.join(process.cwd(), 'node_modules', '@memlab', 'core');
const {utils} = require(core);
const TraceFinder = require(path.join(core, 'dist', 'paths', 'TraceFinder.js')).default;

async function main() {
  const snapshot = await utils.getSnapshotFromFile(process.argv[2], {buildNodeIdIndex: true});
  new TraceFinder().calculateAllNodesRetainedSizes(snapshot);
  const rows = [];
  snapshot.nodes.forEach(node => {
    rows.push([node.nodeIndex, node.dominatorNode.nodeIndex, node.self_size, node.retainedSize]
      .join('\t'));
  });
  fs.writeFileSync(process.argv[3], rows.join('\n') + '\n');
}

main();
