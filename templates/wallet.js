// What the pages of the store share that pay with a wallet of the browser: it is found (EIP-6963, or window.ethereum of
// EIP-1193), brought to the network, and asked to sign one transfer (EIP-3009, as EIP-712 data) by the terms of one 402. Nothing
// is sent from here. What a wallet says of itself is a stranger's, and only text.

// payable reports whether such a wallet can sign an entry of accepts.
export const payable = (a) => a?.scheme === "exact" && /^eip155:[1-9][0-9]*$/.test(a.network) &&
  (a.extra?.assetTransferMethod ?? "eip3009") === "eip3009";

// wallets calls found with every wallet there is, {name, provider}, also with those that come late.
export function wallets(found) {
  const known = new Set();
  const add = (name, provider) => {
    if (typeof provider?.request !== "function" || known.has(provider) || known.size >= 20) return;
    known.add(provider);
    found({ name: String(name || "a wallet").slice(0, 60), provider });
  };
  addEventListener("eip6963:announceProvider", ({ detail }) => {
    try { add(detail.info.name, detail.provider); } catch { /* what cannot be read is no wallet */ }
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
  if (!known.size) add("the wallet of this browser", window.ethereum);
}

// transfer is what is signed: it is good from ten minutes ago until the terms have run out, counted from now, in seconds.
function transfer(accepted, from, now) {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const message = {
    from, to: accepted.payTo, value: accepted.amount, validAfter: String(now - 600), validBefore: String(now + accepted.maxTimeoutSeconds),
    nonce: "0x" + [...bytes].map((b) => b.toString(16).padStart(2, "0")).join(""),
  };
  const members = (list) => list.split(", ").map((m) => { const [type, name] = m.split(" "); return { name, type }; });
  return {
    domain: { name: accepted.extra.name, version: accepted.extra.version, chainId: Number(accepted.network.split(":")[1]), verifyingContract: accepted.asset },
    types: {
      EIP712Domain: members("string name, string version, uint256 chainId, address verifyingContract"),
      TransferWithAuthorization: members("address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce"),
    },
    primaryType: "TransferWithAuthorization", message,
  };
}

// connect asks a wallet for its account, and brings it to a network (CAIP-2).
export async function connect(wallet, network) {
  const [from] = await wallet.request({ method: "eth_requestAccounts" });
  if (!/^0x[0-9a-fA-F]{40}$/.test(from)) throw new Error("it has no account for this page");
  const chainId = "0x" + Number(network.split(":")[1]).toString(16);
  const here = async () => Number(await wallet.request({ method: "eth_chainId" })) === Number(chainId);
  if (!await here()) {
    await wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    if (!await here()) throw new Error("it stayed on another network");
  }
  return from;
}

// sign has a wallet sign one entry of the terms of a 402, and gives the payment. now is the store's clock, in seconds, since
// that of this machine may be wrong.
export async function sign(wallet, terms, accepted, now = Math.floor(Date.now() / 1000)) {
  const from = await connect(wallet, accepted.network);
  const typed = transfer(accepted, from, now);
  const signature = await wallet.request({ method: "eth_signTypedData_v4", params: [from, JSON.stringify(typed)] });
  if (!/^0x[0-9a-fA-F]{130,8000}$/.test(signature)) throw new Error("what it gave is no signature");
  return { x402Version: terms.x402Version, resource: terms.resource, accepted, extensions: terms.extensions, payload: { signature, authorization: typed.message } };
}

// encode is a payment as PAYMENT-SIGNATURE carries it.
export const encode = (payment) =>
  btoa([...new TextEncoder().encode(JSON.stringify(payment))].map((b) => String.fromCharCode(b)).join(""));

// refused says what to do about an error of a wallet (EIP-1193 and EIP-3085), which may be anything.
export function refused(e, network) {
  const says = {
    4001: "You refused it in the wallet. Press again if you want it after all.",
    4100: "The wallet does not let this page use the account. Connect it there and press again.",
    4200: `The wallet cannot change to ${network} by itself. Choose that network in it and press again.`,
    4902: `The wallet does not know ${network}. Add that network to it, or choose another one here.`,
    [-32002]: "The wallet is asking you something already. Answer it there, then press again.",
  }[e?.data?.originalError?.code ?? e?.code];
  return says ?? `The wallet did not sign: ${String(e?.message ?? e).slice(0, 200)}.`;
}
