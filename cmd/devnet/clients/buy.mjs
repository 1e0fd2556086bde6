// Buys with a stock client, unmodified, and prints a line of JSON for each purchase, in their order:
//
//   KEY=0x… node buy.mjs x402|mppx URL…
//   KEY=0x… node buy.mjs mcp DOOR TOOL[=JSON]…
//
// What a client takes from its environment, and what it says, stands in its own file. Exits with 0 only if everything was
// bought. With -serve it runs jobs for tests: each line that it reads is {"id","client","env","args"}, each that it writes
// {"id","said"} or {"id","error"}. Jobs run at once in one process, each with client objects of its own. It ends with its
// input, and removes the folder that it runs in, which is a copy.
import {rmSync} from 'node:fs';
import {createInterface} from 'node:readline';

const [name, ...args] = process.argv.slice(2);
if (name === '-serve') {
  process.on('exit', () => rmSync(import.meta.dirname, {recursive: true, force: true}));
  // Of a fetch whose signal timed out, Node 20 also rejects a promise that nobody can reach.
  process.on('unhandledRejection', error => {
    if (error?.name !== 'TimeoutError') throw error;
  });
  const jobs = createInterface({input: process.stdin});
  jobs.on('close', () => process.exit());
  jobs.on('line', async line => {
    const {id, client, env, args} = JSON.parse(line);
    const answer = await import(`./${client}.mjs`).then(c => c.buy(env, args)).then(
      said => ({id, said}), error => ({id, error: error.stack}));
    process.stdout.write(JSON.stringify(answer) + '\n');
  });
} else {
  const client = await import(`./${name}.mjs`);
  const said = await client.buy(process.env, args);
  for (const line of said) console.log(JSON.stringify(line));
  process.exitCode = said.every(client.bought) ? 0 : 1;
}
