// Compiles ../sol and prints the artifact (../contracts.json) on standard output.
// Usage: node build.cjs SOURCES > contracts.json, with solc where require finds it.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const solc = require('solc');

const dir = process.argv[2];
const sources = {};
for (const name of fs.readdirSync(dir).filter((n) => n.endsWith('.sol')).sort()) {
  sources[name] = { content: fs.readFileSync(path.join(dir, name), 'utf8') };
}
const out = JSON.parse(solc.compile(JSON.stringify({
  language: 'Solidity',
  sources,
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.deployedBytecode.object', 'evm.methodIdentifiers'] } },
  },
})));
const complaints = out.errors || [];
for (const e of complaints) process.stderr.write(e.formattedMessage + '\n');
if (complaints.length > 0) process.exit(1);

const contracts = {};
for (const file of Object.keys(out.contracts).sort()) {
  for (const [name, c] of Object.entries(out.contracts[file])) {
    if (c.evm.deployedBytecode.object === '') continue; // interfaces and abstract contracts
    contracts[name] = {
      source: file,
      runtime: '0x' + c.evm.deployedBytecode.object,
      methods: Object.fromEntries(Object.entries(c.evm.methodIdentifiers).sort()),
    };
  }
}
process.stdout.write(JSON.stringify({ compiler: solc.version(), contracts }, null, 2) + '\n');
