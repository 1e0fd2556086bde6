// The selection of the stock client. Question: {core: "2.27.0" | "2.21.0", evm, svm, controls, challenge},
// the challenge being JSON text. Answer: {picked, throws} of the selection and, of EVM entries, {creates}: what making
// the payload threw, "" if it did not; the wallet in it hashes what it should sign, with all checks.
import { createInterface } from "node:readline";
import { x402Client as Newest } from "@x402/core/client";
import { x402Client as Older } from "@x402/core-2.21/client";
import { ExactEvmScheme } from "@x402/evm";
import { ExactSvmScheme } from "@x402/svm";
import { hashTypedData } from "viem";

const wallet = { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", signTypedData: async m => hashTypedData(m) };

async function answer({ core, evm, svm, controls, challenge }) {
  const client = core === "2.21.0" ? new Older() : new Newest();
  const scheme = new ExactEvmScheme(wallet);
  if (evm) client.register("eip155:*", scheme);
  if (svm) client.register("solana:*", new ExactSvmScheme({}));
  if (core !== "2.21.0" && controls !== null) client.setSpendControls(controls);
  const required = JSON.parse(challenge);
  let chosen;
  // The choice is seen by a hook that ends the call before anything is signed.
  client.onBeforePaymentCreation(async c => { chosen = c.selectedRequirements; return { abort: true, reason: "seen" }; });
  let throws = "";
  try {
    await client.createPaymentPayload(required);
  } catch (e) {
    if (chosen === undefined) throws = e.message;
  }
  if (chosen === undefined) return { picked: -1, throws };
  const picked = required.accepts.indexOf(chosen);
  let creates = null;
  if (String(chosen.network).startsWith("eip155:")) {
    creates = "";
    try {
      if (core !== "2.21.0") scheme.findDefaultAsset(chosen.asset, chosen.network);
      await scheme.createPaymentPayload(2, chosen);
    } catch (e) {
      creates = e.message;
    }
  }
  return { picked, throws, creates };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
