// Standard Webhooks. A question {program, now, …} has a program run as whoever has the official library would run it: the
// other members are its variables, and now is the time on its clock, in seconds. The answer is {value}, what its last
// expression came to, or {error}.
import crypto from "node:crypto";
import { createInterface } from "node:readline";
import { runInThisContext } from "node:vm";
import webhooks from "standardwebhooks";

function answer({ program, now, ...variables }) {
  Date.now = () => now * 1000;
  try {
    const names = Object.keys(variables);
    const run = runInThisContext(`(crypto, Webhook, ${names.join(", ")}) => eval(${JSON.stringify(program)})`);
    return { value: run(crypto, webhooks.Webhook, ...Object.values(variables)) };
  } catch (e) {
    return { error: String(e.message ?? e) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
}
