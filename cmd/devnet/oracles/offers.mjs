// Offers and receipts. Questions: {verify: artifact, key: hex} asks jose whether a compact JWS verifies under an
// ed25519 key and answers {ok, payload}; {make: "offer" | "receipt", format, alg, kid, payload...} lets the stock
// package make one and answers {artifact, address}.
import { createInterface } from "node:readline";
import { createPrivateKey, sign } from "node:crypto";
import { compactVerify, importJWK } from "jose";
import { privateKeyToAccount } from "viem/accounts";
import * as offers from "@x402/extensions/offer-receipt";

const seed = Buffer.alloc(32, 7);
const ed25519 = createPrivateKey({ key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]), format: "der", type: "pkcs8" });
const account = privateKeyToAccount("0x" + "07".repeat(32));
const signer = q => ({ kid: q.kid, format: "jws", algorithm: q.alg, sign: async b => sign(null, b, ed25519).toString("base64url") });

async function answer(q) {
  if (q.verify !== undefined) {
    try {
      const key = await importJWK({ kty: "OKP", crv: "Ed25519", x: Buffer.from(q.key, "hex").toString("base64url") }, "EdDSA");
      const { payload } = await compactVerify(q.verify, key);
      return { ok: true, payload: Buffer.from(payload).toString() };
    } catch (e) {
      return { ok: false, payload: e.message };
    }
  }
  const typed = m => account.signTypedData(m);
  let made;
  if (q.make === "offer") {
    made = q.format === "jws" ? await offers.createOfferJWS(q.url, q.input, signer(q)) : await offers.createOfferEIP712(q.url, { ...q.input, payTo: account.address }, typed);
  } else {
    made = q.format === "jws" ? await offers.createReceiptJWS(q.input, signer(q)) : await offers.createReceiptEIP712(q.input, typed);
  }
  return { artifact: JSON.stringify(made), address: account.address };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
