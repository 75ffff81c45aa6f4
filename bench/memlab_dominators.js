// memlab_dominators.js SNAPSHOT: processor seconds that memlab takes to read a .heapsnapshot and to
// find all dominators and retained sizes, and its peak of resident memory. Run where memlab is
// installed.
'use strict';
const path = require('path');

const core = path.join(process.cwd(), 'node_modules', '@memlab', 'core');
const {utils} = require(core);
const TraceFinder = require(path.join(core, 'dist', 'paths', 'TraceFinder.js')).default;

function seconds() {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e6;
}

async function main() {
  const began = seconds();
  const snapshot = await utils.getSnapshotFromFile(process.argv[2], {buildNodeIdIndex: true});
  const parsed = seconds();
  new TraceFinder().calculateAllNodesRetainedSizes(snapshot);
  console.log(`\nread ${parsed - began} dominators ${seconds() - parsed} ` +
    `nodes ${snapshot.nodes.length} peak_kib ${process.resourceUsage().maxRSS}`);
}

main();
