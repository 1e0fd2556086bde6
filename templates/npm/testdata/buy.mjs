// Buys at a devnet store with the package, through a proxy that loses the first answer to each payment
// in the way that its path names:
//
//   STORE=http://… PROXY=http://… KEY=0x… NETWORK=eip155:… JOURNAL=folder node buy.mjs WAY…
//
// It prints a line of JSON for each order, {order, payments, replay, certificate}, and for what went
// otherwise than it should a text.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { privateKeyToAccount } from "viem/accounts";
import { Keys, Refused } from "agentstore";
import { Buyer, NotBought, storageJournal } from "agentstore/buy";
import { folderJournal } from "agentstore/folder";

const { STORE, PROXY, KEY, NETWORK, JOURNAL } = process.env;
const keys = new Keys(await (await fetch(`${STORE}/.well-known/store-signing-key`)).text());
const schemes = [{ network: NETWORK, client: new ExactEvmScheme(privateKeyToAccount(KEY)) }];
const must = (holds, what) => holds || console.log(JSON.stringify(what));

// through gives a buyer whose requests go elsewhere, and the payments that it sent.
function through(change, more) {
  const payments = new Set();
  const buyer = new Buyer({ store: STORE, keys, schemes, journal: folderJournal(JOURNAL), perPurchase: "1", perDay: "5",
    sleep: () => {}, ...more, fetch: async (url, init) => {
      const paid = init.headers["PAYMENT-SIGNATURE"];
      if (paid) payments.add(paid);
      return change(url, init, paid);
    } });
  return { buyer, payments };
}

async function buy(order, payments, buyer) {
  const { replay, artifacts, receipt, delivery } = await buyer.buy(order, "/api/buy/hello", { agent_name: order });
  must(delivery?.transaction === receipt.transaction, { order, delivery });
  console.log(JSON.stringify({ order, payments: [...payments], replay, certificate: artifacts[0].id,
    transaction: receipt.transaction }));
}

// Why it is refused: the message of what it throws.
const refused = (work) => work.then(() => "bought", (e) => {
  if (!(e instanceof Refused || e instanceof NotBought)) throw e;
  return e;
});

for (const way of process.argv.slice(2)) {
  const { buyer, payments } = through((url, init) => fetch(url.replace(STORE, `${PROXY}/${way}`),
    { ...init, ...way === "time-out" && { signal: AbortSignal.timeout(3000) } }));
  await buy(way, payments, buyer);
}

// One whose process ends before there is an answer: another one presents what was signed.
const dies = through((url, init, paid) => paid ? Promise.reject(new Error("gone")) : fetch(url, init), { tries: 1 });
must((await refused(buyBy(dies, "dies"))).billed === "unknown", "a purchase without an answer is not unknown");
const [left] = await dies.buyer.unfinished();
must(left?.order === "dies", { left });
const goes = through((url, init) => fetch(url, init));
await buy("dies", goes.payments, goes.buyer);
must(dies.payments.size === 1 && goes.payments.has([...dies.payments][0]), "another payment than was signed is sent");
await buy("dies", goes.payments, goes.buyer); // from the journal

function buyBy({ buyer }, order, path = "/api/buy/hello", inputs = { agent_name: order }) {
  return buyer.buy(order, path, inputs);
}

// edited gives a buyer that is told something else than the store said.
const edited = (is, edit, more) => through(async (url, init, paid) => {
  const answer = await fetch(url, init);
  if (!is(answer, paid)) return answer;
  const headers = new Headers(answer.headers), terms = headers.get("PAYMENT-REQUIRED");
  if (terms) headers.set("PAYMENT-REQUIRED", btoa(edit(atob(terms))));
  return new Response(edit(await answer.text()), { status: answer.status, headers });
}, { tries: 2, ...more });
const toOther = (text) => text.replaceAll(/"payTo":"0x[0-9a-fA-F]{40}"/g, `"payTo":"0x${"1".repeat(40)}"`);
const cases = [
  ["of-others", edited((a) => a.status === 402, toOther), "not those that the store signed", 0],
  ["dearer", edited((a) => a.status === 402, (t) => t.replaceAll('"500000"', '"600000"')), "the store signed", 0],
  ["ceiling", through(fetch, { perPurchase: "0.49" }), "maxAmountPerPayment", 0],
  ["day", through(fetch, { perDay: "0.9" }), "a day", 0],
  ["another-note", edited((a, paid) => paid, (t) => t.replaceAll(/"note":"./g, '"note":"!')), "was signed", 1],
  ["no-certificate", edited((a, paid) => paid, (t) => t.replace('"signed_payload"', '"unsigned"')), "certificate", 1],
];
for (const [order, told, says, sent] of cases) {
  const e = await told.buyer.buy(order, "/api/buy/hello", { agent_name: order }).catch((e) => e);
  must(e.message?.includes(says) && told.payments.size === sent,
    { order, says: e.message ?? "bought", sent: told.payments.size });
}
const bare = await refused(buyBy(goes, "bare", "/api/buy/dibs", {}));
must(bare.message.includes("needs inputs: detail"), { bare: bare.message });
const other = await refused(buyBy(goes, "dies", "/api/buy/hello", { agent_name: "another" }));
must(other.message.includes("another request"), { other: other.message });
const cut = through((url, init, paid) => fetch(url, paid
  ? { ...init, headers: { ...init.headers, "PAYMENT-SIGNATURE": paid.slice(0, -8) } } : init));
const poor = await refused(buyBy(cut, "malformed"));
must(poor.billed === "no" && poor.code !== "", { poor: poor.message, billed: poor.billed, code: poor.code });

// The journal: of its owner alone, whole, and with one place for each order, in both forms.
must(readdirSync(JOURNAL).map((n) => `${JOURNAL}/${n}`).every((n) =>
  (statSync(n).mode & 0o77) === 0 && JSON.parse(readFileSync(n))), "the journal can be read by others, or in part");
const held = new Map(), storage = {
  getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v), key: (i) => [...held.keys()][i],
  get length() { return held.size; },
};
for (const journal of [storageJournal(storage), folderJournal(JOURNAL + "2")]) {
  const id = "0".repeat(64), both = await Promise.all([journal.create({ id, n: 1 }), journal.create({ id, n: 2 })]);
  await journal.replace({ id, n: 3 });
  const all = await journal.all();
  must(both.filter(Boolean).length === 1 && all.length === 1 && all[0].n === 3, { both, all });
}
