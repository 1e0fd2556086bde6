// The stock client with further schemes registered. Question: {schemes: ["batch-settlement", "auth-capture"],
// controls, challenge}, the challenge being JSON text. Answer: {picked, throws, moves}: the entry that it chose, what it
// threw then or before, and what its payload moves in atomic units.
import { createInterface } from "node:readline";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { AuthCaptureEvmScheme } from "@x402/evm/auth-capture/client";
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/client";
import { hashTypedData } from "viem";

const wallet = { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", signTypedData: async m => hashTypedData(m) };

async function answer({ schemes, controls, challenge }) {
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(wallet));
  // A channel is new to each question.
  if (schemes.includes("batch-settlement")) client.register("eip155:*", new BatchSettlementEvmScheme(wallet));
  if (schemes.includes("auth-capture")) client.register("eip155:*", new AuthCaptureEvmScheme(wallet));
  if (controls !== null) client.setSpendControls(controls);
  const required = JSON.parse(challenge);
  let picked = -1;
  client.onBeforePaymentCreation(async c => { picked = required.accepts.indexOf(c.selectedRequirements); });
  try {
    const { payload } = await client.createPaymentPayload(required);
    const moved = payload.deposit?.amount ?? payload.authorization?.value ?? payload.permit2Authorization?.permitted.amount;
    return { picked, throws: "", moves: String(moved) };
  } catch (e) {
    return { picked, throws: e.message, moves: "" };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
