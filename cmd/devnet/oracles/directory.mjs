// Key directories. Question: {status, fields: [[name, value]], url, label, now, keys: {keyid: jwk}}: does
// http-message-sig accept the response's signature with that label, over the authority and the digest? Answer: {ok, value}.
import { createInterface } from "node:readline";
import { webcrypto as node } from "node:crypto";
import { component, verifySignature } from "http-message-sig";

async function answer(q) {
  try {
    const request = { kind: "request", method: "GET", targetUri: q.url, fields: [] };
    const response = { kind: "response", status: q.status, fields: q.fields.map(([name, value]) => ({ name, value })), request };
    const verified = await verifySignature(response, {
      label: q.label,
      policy: {
        algorithms: ["ed25519"],
        requiredComponents: [component("@authority", { req: true }), "content-digest"],
        requiredParameters: ["created", "expires", "keyid", "tag"],
        now: q.now,
        validate: s => s.parameters.tag === "http-message-signatures-directory",
      },
      async resolveVerifier(candidate) {
        const key = await node.subtle.importKey("jwk", q.keys[candidate.parameters.keyid], { name: "Ed25519" }, true, ["verify"]);
        return { algorithm: "ed25519", verify: (data, signature) => node.subtle.verify("Ed25519", key, signature, data) };
      },
    });
    return { ok: true, value: verified.label };
  } catch (e) {
    return { ok: false, value: `${e.code ?? ""} ${e.message}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
