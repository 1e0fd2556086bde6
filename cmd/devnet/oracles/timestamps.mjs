// Proofs of time. A question {proof, digest, explorer}, the first two in hexadecimal, asks opentimestamps whether the proof
// shows that the SHA-256 digest is in a block of the chain that the explorer knows. The answer is {ok, height, time} of the
// block, or {ok: false, error}.
import { createInterface } from "node:readline";
import OpenTimestamps from "opentimestamps";

const { DetachedTimestampFile, Ops } = OpenTimestamps;
console.log = console.error = () => {}; // it tells people what it does

async function answer(q) {
  try {
    const proof = DetachedTimestampFile.deserialize([...Buffer.from(q.proof, "hex")]);
    const original = DetachedTimestampFile.fromHash(new Ops.OpSHA256(), [...Buffer.from(q.digest, "hex")]);
    const { bitcoin } = await OpenTimestamps.verify(proof, original, { ignoreBitcoinNode: true, url: q.explorer, timeout: 300000 });
    return bitcoin ? { ok: true, height: bitcoin.height, time: bitcoin.timestamp } : { ok: false, error: "no attestation of Bitcoin" };
  } catch (e) {
    return { ok: false, error: String(e.message ?? e) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
