// Takes back, by a wallet of the browser, what is held for an order past its deadline. The page says the same without it.
//
// The call is made here out of what the payer agreed to, and goes to the escrow contract alone, which pays it to that payer: a
// pasted text names no other contract, no other function and no other wallet that money could go to.
import { connect, refused, wallets } from "./wallet.js";

const get = (id) => document.getElementById(id);
const form = get("hold"), take = get("hold-take"), which = get("hold-wallet"), escrow = form.dataset.escrow;
const names = JSON.parse(form.dataset.networks), most = 1 << 20, found = [];
let hold, busy = false;

// What the payer agreed to, in the order of the contract's PaymentInfo. All of it is words of 32 bytes.
const matching = (form) => (v) => typeof v === "string" && form.test(v) && BigInt(v);
const address = matching(/^0x[0-9a-fA-F]{40}$/), decimal = matching(/^(0|[1-9][0-9]{0,36})$/), word = matching(/^0x[0-9a-fA-F]{64}$/);
const whole = (v) => Number.isSafeInteger(v) && v >= 0 && BigInt(v);
const members = [["operator", address], ["payer", address], ["receiver", address], ["token", address], ["maxAmount", decimal],
  ["preApprovalExpiry", whole], ["authorizationExpiry", whole], ["refundExpiry", whole], ["minFeeBps", whole], ["maxFeeBps", whole],
  ["feeReceiver", address], ["salt", word]];
const selector = "0xe1a2a66d"; // reclaim(PaymentInfo)
const reclaimed = "0x78e1d723d17e13b7f40eeab9bf6dd9148a630bafde4203ab7bb5fca983516d17"; // PaymentReclaimed(bytes32,uint256)
const reverts = {
  "0xaa5674ad": "The network's clock is not past the deadline yet. Press again in a minute.",
  "0x93bb7a12": "Nothing is held there any more: it was captured, given back or taken back before.",
};

const calldata = (info) => selector + members.map(([name, read]) => {
  const value = read(info[name]);
  if (typeof value !== "bigint") throw new Error(`its payment_info has no ${name} that can be read`);
  return value.toString(16).padStart(64, "0");
}).join("");

// read finds in an order, in the answer of a purchase or in a line of store buy what is held.
function read(data) {
  const held = [data?.held, data?.deliverable?.held, data].find((h) => h?.payment_info);
  if (!held) throw new Error("it has no payment_info: nothing is held for it");
  if (!/^eip155:[1-9][0-9]{0,14}$/.test(held.network)) throw new Error("it does not name its network");
  const info = held.payment_info;
  return { network: held.network, payer: info.payer, data: calldata(info), due: info.authorizationExpiry * 1000, amount: BigInt(info.maxAmount),
    where: typeof held.where === "string" ? held.where : "", over: ["captured", "voided", "reclaimed"].includes(held.state) };
}

const network = () => names[hold.network] ?? hold.network;
const usdc = (atomic) => `${atomic / 1000000n}.${String(atomic % 1000000n).padStart(6, "0")}`.replace(/0{1,4}$/, "") + " USDC";
const say = (text) => { get("hold-said").textContent = text; };
const show = () => {
  const open = Boolean(hold) && !hold.over;
  take.hidden = !open || !found.length;
  take.disabled = busy;
  get("hold-none").hidden = !open || found.length > 0;
  which.parentElement.hidden = !open || found.length < 2;
};

const asked = async (text) => {
  if (text.length > most) throw new Error("it is longer than any order");
  if (!/^ord_[A-Za-z0-9]{1,60}$/.test(text)) {
    try { return JSON.parse(text); } catch { throw new Error("it is neither the id of an order nor JSON"); }
  }
  const answer = await fetch("/api/order/" + text, { cache: "no-store", credentials: "omit", headers: { Accept: "application/json" } })
    .catch(() => { throw new Error("the store did not answer. Paste the answer to your purchase instead: with it the store is not needed"); });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(String(data.detail ?? "the store answered with status " + answer.status));
  return data;
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  hold = undefined;
  get("hold-facts").replaceChildren();
  say("");
  try {
    hold = read(await asked(form.elements.id.value.trim()));
  } catch (e) {
    say(`This cannot be taken back here: ${String(e.message).slice(0, 300)}.`);
  }
  if (hold) {
    const facts = [["Held", `${usdc(hold.amount)} on ${network()}`], ["Paid by", hold.payer], ["Yours to take from", new Date(hold.due).toISOString().replace(".000", "")],
      ["The store says", hold.where.slice(0, 500)]];
    for (const [name, value] of facts.filter(([, value]) => value)) {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      get("hold-facts").append(dt, dd);
    }
    if (hold.over) say("Nothing is held any more.");
    else if (Date.now() < hold.due) say("The deadline is not over by this machine's clock. Before it the contract gives nothing back to a payer.");
  }
  show();
});

// mined waits for the transaction, and says whether it took the money back; undefined where it is not mined in time.
async function mined(wallet, hash) {
  for (let i = 0; i < 150; i++) {
    const receipt = await wallet.request({ method: "eth_getTransactionReceipt", params: [hash] });
    if (receipt) {
      return receipt.status === "0x1" &&
        receipt.logs.some((l) => l.address.toLowerCase() === escrow.toLowerCase() && l.topics[0] === reclaimed);
    }
    await new Promise((next) => setTimeout(next, 2000));
  }
}

// reason is what a node says of a call that goes wrong, wherever a wallet puts it.
const reason = (e) => {
  const data = [e?.data, e?.data?.data, e?.data?.originalError?.data].find((d) => typeof d === "string");
  return reverts[data?.slice(0, 10)];
};

take.addEventListener("click", async () => {
  const wallet = found[Number(which.value)], { payer, data } = hold;
  busy = true;
  show();
  let hash;
  try {
    say("The wallet is asked to connect.");
    const from = await connect(wallet, hold.network);
    if (from.toLowerCase() !== payer.toLowerCase()) {
      say(`The wallet is at ${from}, and the contract pays ${payer} alone. Choose that account in the wallet and press again.`);
      return;
    }
    const call = { from, to: escrow, data };
    await wallet.request({ method: "eth_call", params: [call, "latest"] });
    say("The wallet is asked to send the call. Its gas is yours to pay, in the network's own coin.");
    hash = await wallet.request({ method: "eth_sendTransaction", params: [call] });
    if (!/^0x[0-9a-fA-F]{64}$/.test(hash)) throw new Error("what it gave is no transaction");
    say(`It is sent as ${hash}, and waits to be mined.`);
    const done = await mined(wallet, hash);
    if (done) hold.over = true;
    say(done ? `The money is back in your wallet, by transaction ${hash}.` : done === undefined ? `It is not mined yet: look at ${hash} later.` :
      `Transaction ${hash} was mined and took nothing back. Read the order again to see what became of it.`);
  } catch (e) {
    say(hash ? `It is sent as ${hash}; what became of it the wallet did not say. Look at it there before you press again.` :
      reason(e) ?? refused(e, network()));
  } finally {
    busy = false;
    show();
  }
});

wallets(({ name, provider }) => {
  const option = document.createElement("option");
  option.value = String(found.push(provider) - 1);
  option.textContent = name;
  which.append(option);
  show();
});
get("hold-form").hidden = false;
