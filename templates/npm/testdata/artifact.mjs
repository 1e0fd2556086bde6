// Checks saved answers of a store, as testdata/artifact.py of cmd/verify does: node artifact.mjs KEYS FILE…
import { readFileSync } from "node:fs";
import { checkAnswer, Keys, Refused } from "agentstore";

const [published, ...names] = process.argv.slice(2), keys = new Keys(readFileSync(published));
for (const name of names) {
  try {
    const { artifacts, delivery } = checkAnswer(readFileSync(name), keys);
    console.log(`${name}: verified: ${artifacts.map((a) => `${a.class} ${a.id} of ${a.date}`).join("; ")}` +
      `${delivery ? ` bound as ${delivery.binds}` : ""}`);
  } catch (e) {
    console.log(`${name}: refused: ${e instanceof Refused ? JSON.stringify(e.message) : e.stack}`);
  }
}
