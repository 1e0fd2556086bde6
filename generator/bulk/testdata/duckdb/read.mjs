// read.mjs FOLDER: every row of the Parquet files of a folder, in the order of their leaves, as text; then the types of the columns.
import { createRequire } from 'node:module';
const { DuckDBInstance } = createRequire(process.cwd() + '/')('@duckdb/node-api');

const db = await (await DuckDBInstance.create(':memory:')).connect();
const all = `read_parquet('${process.argv[2]}/rows-*.parquet')`;
const rows = await db.runAndReadAll(`SELECT COLUMNS(*)::VARCHAR FROM (SELECT * FROM ${all} ORDER BY leaf)`);
const types = await db.runAndReadAll(`DESCRIBE SELECT * FROM ${all}`);
const asked = await db.runAndReadAll(`SELECT week, count(*)::VARCHAR FROM ${all} WHERE verdict = 'ready' GROUP BY week ORDER BY week`);
console.log(JSON.stringify({ rows: rows.getRowsJson(), types: types.getRowsJson().map((t) => [t[0], t[1]]), ready: asked.getRowsJson() }));
