// A buyer at one store, by the stock x402 client. A purchase has a name that the caller gives, its
// order. What is signed for an order is kept in a journal before it is sent, and an order is signed
// for once: a lost answer is asked for again with the same payment, also by another process later.
import { x402Client, x402HTTPClient } from "@x402/fetch";
import { checkAnswer } from "./answer.js";
import { digest, toHex, utf8 } from "./bytes.js";
import { parse, plain } from "./json.js";
import { openOffer, openReceipt } from "./jws.js";
import { Keys } from "./keys.js";
import { millionths, ofAtomic, usdc } from "./money.js";
import { need } from "./refused.js";
import { ask } from "./wire.js";

export { storageJournal } from "./journal.js";

const format = "agentstore-purchase/v1";

// NotBought says that there is no answer to a purchase, and whether it was paid for: billed is yes,
// no or unknown. While it is unknown, call buy again with the same order.
export class NotBought extends Error {
  constructor(message, said = {}) {
    super(message);
    this.name = "NotBought";
    this.billed = said.billed ?? "unknown";
    this.delivered = said.delivered ?? false;
    this.retry = said.retry ?? "same_payment";
    this.code = said.code ?? "";
    this.status = said.status ?? 0;
    this.nextStep = said.next_step ?? "";
  }
}

export class Buyer {
  #under = new Map(); // orders that are being bought here

  constructor({ store, keys, schemes, journal, perPurchase, perDay, fetch = globalThis.fetch, now = Date.now,
    sleep = (ms) => new Promise((done) => setTimeout(done, ms)), tries = 5 }) {
    need(keys instanceof Keys, "keys: give the store's, as new Keys(document) reads them; none are fetched");
    need(["create", "replace", "all"].every((f) => typeof journal?.[f] === "function"),
      "journal: it has no create, replace and all");
    this.store = new URL(store).href.replace(/\/$/, "");
    this.perPurchase = millionths(perPurchase, "perPurchase");
    this.perDay = millionths(perDay, "perDay");
    Object.assign(this, { keys, schemes, journal, fetch: (url, init) => fetch(url, init), now, sleep, tries });
  }

  // buy buys at a path of the store, with inputs by name, or gives what the order bought before.
  async buy(order, path, inputs = {}) {
    need(typeof order === "string" && order !== "" && order.length <= 200, "order: a text of 1 to 200 characters");
    need(/^\/[^/\\]/.test(path), "path: one of the store's, such as /api/buy/hello");
    const before = this.#under.get(order) ?? Promise.resolve();
    const work = before.catch(() => {}).then(() => this.#buy(order, path, inputs));
    this.#under.set(order, work);
    return work.finally(() => this.#under.get(order) === work && this.#under.delete(order));
  }

  async #buy(order, path, inputs) {
    const id = toHex(digest(utf8(order)));
    const request = { url: this.store + path, key: `order-${id.slice(0, 48)}` };
    if (Object.keys(inputs).length > 0) request.body = JSON.stringify(inputs);
    let p = await this.#find(id);
    if (!p) {
      p = await this.#sign(id, order, request);
      if (!await this.journal.create(p)) p = await this.#find(id); // another process was first
    }
    need(p.format === format && JSON.stringify(p.request) === JSON.stringify(request),
      `order ${JSON.stringify(order)} is the name of another request: give each purchase a name of its own`);
    if (p.state === "bought") return this.#bought(p);
    if (p.state === "refused") throw new NotBought(p.refusal.message, p.refusal);
    if (p.state !== "signed") await this.#release(p);
    return this.#present(p);
  }

  async #find(id) {
    return (await this.journal.all()).find((p) => p.id === id);
  }

  // sign asks the terms and signs one of them. What it gives was not sent.
  async #sign(id, order, request) {
    const asked = await ask(this, request);
    if (asked.status !== 402)
      throw new NotBought(`${request.url}: asked for its terms, it says ${asked.status}: ${asked.said.detail ?? ""}`,
        { ...asked.said, billed: "no", status: asked.status, code: codeOf(asked.said) });
    const missing = asked.said.inputs_required;
    need(!missing, `${request.url} needs inputs: ${missing?.map?.((i) => i.name)}`);
    const client = x402Client.fromConfig({ schemes: this.schemes,
      spendControls: { maxAmountPerPayment: "$" + usdc(this.perPurchase) } });
    let cost;
    client.onBeforePaymentCreation(async ({ paymentRequired, selectedRequirements: chosen }) => {
      cost = this.#costOf(chosen);
      need(cost <= this.perPurchase, `it costs ${usdc(cost)} USDC, more than ${usdc(this.perPurchase)} a purchase`);
      await this.#withinDay(cost);
      await this.#offered(request, paymentRequired, chosen, asked.said.offers_url);
    });
    const http = new x402HTTPClient(client);
    const terms = http.getPaymentRequiredResponse((name) => asked.headers.get(name), asked.said);
    const payload = await client.createPaymentPayload(terms);
    const [payment] = Object.values(http.encodePaymentSignatureHeader(payload));
    const { network, asset, amount } = payload.accepted;
    return { format, id, order, state: "held", created_at: new Date(this.now()).toISOString(), request,
      terms: { network, asset, amount, payer: payerOf(payload) }, cost: String(cost), payment };
  }

  // costOf is the price of terms in millionths of a USDC. A token whose worth the stock client does
  // not know is refused.
  #costOf({ network, asset, amount }) {
    const token = this.schemes.map(({ client }) => client.findDefaultAsset?.(asset, network)).find(Boolean);
    need(token, `the terms ask for ${asset} on ${network}, whose worth nobody here knows`);
    return ofAtomic(amount, token.decimals);
  }

  // withinDay demands that what was signed for today and a further cost are within the day's.
  async #withinDay(cost, except) {
    const today = new Date(this.now()).toISOString().slice(0, 10);
    const spent = (await this.journal.all())
      .filter((p) => p.created_at.startsWith(today) && p.state !== "dropped" && p.id !== except)
      .reduce((sum, p) => sum + BigInt(p.cost), 0n);
    need(spent + cost <= this.perDay,
      `it costs ${usdc(cost)} USDC, and of ${usdc(this.perDay)} a day ${usdc(spent)} are spent`);
  }

  // offered demands that the store signed what is about to be paid: to whom, and how much for what.
  async #offered(request, terms, chosen, more) {
    const index = terms.accepts.findIndex((a) => JSON.stringify(a) === JSON.stringify(chosen));
    const of = (offers) => offers?.find((o) => o?.format === "jws" && o.acceptIndex === index)?.signature;
    let signed = of(terms.extensions?.["offer-receipt"]?.info?.offers);
    if (!signed && more?.startsWith?.(this.store + "/")) signed = of((await ask(this, { url: more })).said.offers);
    need(signed, `${request.url}: the store did not sign the terms on ${chosen.network}`);
    const offer = openOffer(signed, this.keys);
    need(["scheme", "network", "asset", "payTo", "amount"].every((m) => offer[m] === chosen[m]) &&
      offer.resourceUrl === request.url && offer.validUntil * 1000 >= this.now(),
    `${request.url}: the terms are not those that the store signed, or have run out`);
  }

  // release lets what was signed be sent, once it is in the journal with all others.
  async #release(p) {
    await this.journal.replace({ ...p, state: "held" });
    try {
      await this.#withinDay(BigInt(p.cost), p.id);
    } catch (e) {
      await this.journal.replace({ ...p, state: "dropped" });
      throw e;
    }
    p.state = "signed";
    await this.journal.replace(p);
  }

  // present sends the one payment of a purchase until there is an answer of the store.
  async #present(p) {
    let last = "";
    for (let i = 0; i < this.tries; i++) {
      if (i > 0) await this.sleep(last.after ?? 1000 * 2 ** (i - 1));
      try {
        last = await this.#answer(p);
      } catch (e) {
        last = { message: String(e.message ?? e) }; // lost: it is asked for again
        continue;
      }
      const { status, said, text } = last;
      if (status >= 200 && status < 300) {
        await this.journal.replace(Object.assign(p, { answer: text }));
        const bought = this.#bought(p);
        await this.journal.replace(Object.assign(p, { state: "bought" }));
        return bought;
      }
      if (["status_url", "status_token"].every((m) => typeof said.recovery?.[m] === "string"))
        await this.journal.replace(Object.assign(p, { recovery: said.recovery }));
      const refusal = { message: `${p.request.url}: ${said.detail ?? status}`, status, code: codeOf(said),
        ...Object.fromEntries(["billed", "delivered", "retry", "next_step"].map((m) => [m, said[m]])) };
      if (said.billed === "no" && said.retry !== "same_payment") {
        await this.journal.replace(Object.assign(p, { state: "refused", refusal }));
        throw new NotBought(refusal.message, refusal);
      }
      if (said.billed === "yes" && said.retry === "never") throw new NotBought(refusal.message, refusal);
      last = { message: refusal.message, after: last.after };
    }
    throw new NotBought(`${p.request.url}: no answer to the payment: ${last.message}`);
  }

  // answer asks for the answer: with the token of the purchase where the store gave one, otherwise
  // with the payment.
  async #answer(p) {
    if (!p.recovery?.status_url?.startsWith(this.store + "/")) return ask(this, p.request, p.payment);
    const status = await ask(this, { url: p.recovery.status_url, token: p.recovery.status_token });
    const { fulfilment, billed } = status.said;
    if (fulfilment?.ready && fulfilment.body)
      return { status: 200, said: fulfilment.body, text: JSON.stringify(fulfilment.body) };
    return billed === "no" ? { ...status, status: 402, said: { ...status.said, retry: "never" } }
      : ask(this, p.request, p.payment);
  }

  // bought checks the answer of a purchase and gives it. One that does not hold is refused.
  #bought(p) {
    const answer = plain(parse(p.answer)), receipt = this.#receipt(answer, p);
    need(answer.signed_payload || !answer.certificate && !answer.cert_id,
      "the certificate that is shown is not signed");
    const isSigned = ["signed_payload", "artifact", "monthly_note"].some((m) => answer[m]);
    const { artifacts, delivery } = isSigned || answer.delivery_receipt
      ? checkAnswer(p.answer, this.keys) : { artifacts: [] };
    need(!delivery || delivery.transaction === receipt.transaction && delivery.resourceUrl === receipt.resourceUrl,
      "the delivery receipt is of another purchase than the receipt");
    const [certificate] = artifacts, f = certificate?.fields;
    if (certificate?.class === "certificate") {
      need(f.item === answer.item_id && f.payer === receipt.payer && f.settlement_tx === receipt.transaction,
        "the certificate is of another purchase than the receipt");
      need(answer.idempotent_replay || f.network === p.terms.network && f.asset === p.terms.asset &&
        millionths(f.paid_usdc, "paid_usdc") === BigInt(p.cost),
      "the certificate is of another payment than was signed");
    }
    return { order: p.order, billed: "yes", replay: answer.idempotent_replay === true, answer, artifacts, receipt,
      ...delivery && { delivery } };
  }

  #receipt(answer, p) {
    const receipt = openReceipt(answer.receipt, this.keys);
    need(receipt.resourceUrl === p.request.url && (!p.terms.payer ||
      receipt.payer.toLowerCase() === p.terms.payer.toLowerCase()), "the receipt is of another purchase");
    return receipt;
  }

  // unfinished are the orders whose payment was signed and whose outcome is not known here.
  async unfinished() {
    return (await this.journal.all()).filter((p) => p.state === "signed").map(({ order, created_at, cost }) =>
      ({ order, created_at, usdc: usdc(BigInt(cost)) }));
  }
}

// payerOf is who pays; undefined on networks where that stands in a transaction.
const payerOf = ({ payload }) => payload.authorization?.from ?? payload.permit2Authorization?.from;

const codeOf = (said) => typeof said.type === "string" ? said.type.slice(said.type.lastIndexOf("/") + 1) : "";
