// Agent cards. Questions: {schema, card} asks ajv whether the card is valid under the AgentCard of that JSON schema;
// {canonical: card} asks @a2a-js/sdk for its canonical form; {verify: card, jwk} whether one of its signatures is good;
// {sign: card, jwk} for the card with a signature of the SDK. Answer: {ok, value}.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import { importJWK } from "jose";
import { canonicalizeAgentCard, generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk";

console.debug = () => {};
const ajv = new Ajv({ strict: false });
const compiled = new Map();
function validator(file) {
  if (!compiled.has(file)) {
    ajv.addSchema(JSON.parse(readFileSync(file, "utf8")), file);
    compiled.set(file, ajv.getSchema(file + "#/definitions/AgentCard"));
  }
  return compiled.get(file);
}

async function answer(q) {
  try {
    if (q.schema) return { ok: validator(q.schema)(JSON.parse(q.card)), value: "" };
    if (q.canonical) return { ok: true, value: canonicalizeAgentCard(JSON.parse(q.canonical)) };
    const key = await importJWK(q.jwk, "EdDSA");
    if (q.sign) {
      const signed = await generateAgentCardSignature(key, { alg: "EdDSA", typ: "JOSE", kid: q.kid })(JSON.parse(q.sign));
      return { ok: true, value: JSON.stringify(signed) };
    }
    await verifyAgentCardSignature(async () => key)(JSON.parse(q.verify));
    return { ok: true, value: "" };
  } catch (e) {
    return { ok: false, value: e.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
