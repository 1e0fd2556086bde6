// What a program in TypeScript makes of the package; tsc reads it.
import { readFileSync } from "node:fs";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { privateKeyToAccount } from "viem/accounts";
import { checkAnswer, checkProof, checkRow, checkTree, Keys, openOffer, Refused } from "agentstore";
import { Buyer, NotBought, storageJournal, type Bought, type Journal } from "agentstore/buy";
import { folderJournal } from "agentstore/folder";

const keys = new Keys(readFileSync("keys.json"));
const { artifacts, issued } = checkAnswer(readFileSync("answer.json", "utf8"), keys);
const id: string = artifacts[0].id, through: string | undefined = issued?.through;
const leaf: string = checkProof("proof", keys).leaf, due: number | undefined = openOffer("a.b.c", keys).validUntil;
const covered: number = checkTree(new Map(), keys);
checkRow(leaf, keys, checkRow(leaf, keys));

const journals: Journal[] = [folderJournal("journal"), storageJournal(), storageJournal(sessionStorage, "x-")];
const account = privateKeyToAccount("0x01");
const buyer = new Buyer({ store: "https://store.example", keys, journal: journals[0]!, perPurchase: "0.50", perDay: "5",
  schemes: [{ network: "eip155:8453", client: new ExactEvmScheme(account) }] });
// @ts-expect-error a buyer has ceilings
new Buyer({ store: "https://store.example", keys, journal: journals[0]!, schemes: [] });
// @ts-expect-error an order has a name
buyer.buy(1, "/api/buy/hello");
buyer.buy("order-1", "/api/buy/hello", { agent_name: "Ada" }).then((b: Bought) => b.answer.deliverable, (e) => {
  if (e instanceof NotBought && e.billed === "unknown") return e.nextStep;
  if (e instanceof Refused) return e.rule;
  throw e;
});
console.log(id, through, due, covered);
