// read.mjs FILE: the blocks of a WARC file in their order, and the lines of the index that warcio.js makes of it.
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { createRequire } from 'node:module';
const { WARCParser, CDXIndexer } = createRequire(process.cwd() + '/')('warcio');

const [, , file] = process.argv;
const open = () => new WARCParser(createReadStream(file));
const blocks = [], index = [];
for await (const record of open()) blocks.push(await record.contentText());
const indexer = new CDXIndexer({ format: 'cdxj' });
for await (const line of indexer.iterRecords(open(), basename(file))) index.push(indexer.serialize(line).trim());
console.log(JSON.stringify({ blocks, index }));
