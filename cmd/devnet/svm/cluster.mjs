// A local Solana cluster: litesvm, which runs the real token program, behind as much of a node's JSON-RPC as a store and
// stock clients ask for. It poses as the mainnet, which is harmless: its blockhashes are its own, so that no transaction made
// for it can land there. Transactions run when a block is made: by the clock where the argument is a number of milliseconds
// a slot, else when dev_seal is called. The dev_ calls are the test's hand on the chain.
//
//	node cluster.mjs [<milliseconds a slot>, 0 for when it is told to [<port>]]
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

// The package's own class takes bytes, so that nothing else of it is needed.
const { Account, Clock, LiteSvm, FailedTransactionMetadata, TransactionErrorFieldless, InstructionErrorFieldless } =
  createRequire(import.meta.url)('litesvm/dist/internal.js');

const finality = 32; // blocks that the finalized one is behind
const lasts = 150; // blocks for which a blockhash is good
const slotTime = 400; // milliseconds
const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKVvvvTC7fUwZ';
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const clockAccount = 'SysvarC1ock11111111111111111111111111111111';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
function base58(bytes) {
  let n = BigInt('0x' + (Buffer.from(bytes).toString('hex') || '0')), out = '';
  for (; n > 0n; n /= 58n) out = alphabet[Number(n % 58n)] + out;
  for (let i = 0; i < bytes.length && bytes[i] === 0; i++) out = '1' + out;
  return out;
}
function unbase58(text, size) {
  let n = 0n;
  for (const c of text) {
    const d = alphabet.indexOf(c);
    if (d < 0) throw new Fault(-32602, 'Invalid param: not base58');
    n = n * 58n + BigInt(d);
  }
  const b = Buffer.from(n.toString(16).padStart(2 * size, '0'), 'hex');
  if (b.length !== size) throw new Fault(-32602, 'Invalid param: WrongSize');
  return b;
}
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts.map((p) => Buffer.from(p)))).digest();

class Fault extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

let svm, run, shift, dropped, pool;
let blocks; // by height
let done; // message hash → transaction
let landed; // signature → transaction
const head = () => blocks.at(-1);
const final = () => Math.max(0, blocks.length - 1 - finality);
const at = (o) => (o?.commitment === 'finalized' ? final() : blocks.length - 1);

function addBlock(fork = '', slot = head().slot + 1) {
  const time = Math.max(head().time + slotTime, Date.now() + shift);
  blocks.push({ slot, time, hash: base58(sha256(run, fork, String(slot))), txs: [], undo: new Map() });
  setClock();
}
function setClock() {
  const c = svm.getClock();
  svm.setClock(new Clock(BigInt(head().slot), c.epochStartTimestamp, c.epoch, c.leaderScheduleEpoch, BigInt(Math.floor(head().time / 1000))));
}

function count(b, at) { // a short_vec
  let n = 0;
  for (let i = 0; i < 3; i++) {
    n |= (b[at] & 0x7f) << (7 * i);
    if (!(b[at++] & 0x80)) break;
  }
  return [n, at];
}
function parse(wire) { // what is needed of a transaction; the rest is for litesvm to read
  const [n, start] = count(wire, 0);
  const message = wire.subarray(start + 64 * n);
  let i = (message[0] & 0x80 ? 1 : 0) + 3, keys;
  [keys, i] = count(message, i);
  if (n < 1 || i + 32 * keys + 32 > message.length) throw new Fault(-32602, 'failed to deserialize transaction');
  const accounts = Array.from({ length: keys }, (_, k) => message.subarray(i + 32 * k, i + 32 * k + 32));
  i += 32 * keys;
  return { wire, message, accounts, signature: base58(wire.subarray(start, start + 64)), versioned: !!(message[0] & 0x80),
    hash: base58(message.subarray(i, i + 32)), id: sha256(message).toString('hex') };
}

const names = (e) => Object.fromEntries(Object.getOwnPropertyNames(e).filter((k) => typeof e[k] === 'number').map((k) => [e[k], k]));
const errors = names(TransactionErrorFieldless), instructionErrors = names(InstructionErrorFieldless);
function errorOf(e) { // as a node writes it
  if (typeof e === 'number') return errors[e] ?? String(e);
  if (e.err) {
    const x = e.err();
    return { InstructionError: [e.index, typeof x === 'number' ? instructionErrors[x] ?? String(x) : 'code' in x ? { Custom: x.code } : 'BorshIoError'] };
  }
  if ('accountIndex' in e) return { InsufficientFundsForRent: { account_index: e.accountIndex } };
  return String(e);
}

// refusal is why a transaction gets into no block, whatever it would do.
function refusal(tx) {
  if (done.has(tx.id)) return 'AlreadyProcessed';
  if (!blocks.slice(-lasts).some((b) => b.hash === tx.hash)) return 'BlockhashNotFound';
  return null;
}
const missing = new Set(['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee', 'SignatureFailure', 'SanitizeFailure']);

function balances(tx) {
  const list = [];
  tx.accounts.forEach((k, accountIndex) => {
    const a = svm.getAccount(k);
    if (!a || base58(a.owner()) !== tokenProgram || a.data().length !== 165) return;
    const d = Buffer.from(a.data());
    list.push({ accountIndex, mint: base58(d.subarray(0, 32)), owner: base58(d.subarray(32, 64)), programId: tokenProgram,
      uiTokenAmount: { amount: String(d.readBigUInt64LE(64)), decimals: 6, uiAmount: null, uiAmountString: '' } });
  });
  return list;
}

function keep(key) { // before it is changed, for a reorganisation
  const name = base58(key);
  if (!head().undo.has(name)) head().undo.set(name, svm.getAccount(key));
}

function execute(wire) {
  let tx;
  try { tx = parse(wire); } catch { return; }
  if (refusal(tx)) return;
  tx.accounts.forEach(keep);
  const lamports = svm.getBalance(tx.accounts[0]) ?? 0n, before = balances(tx);
  const r = tx.versioned ? svm.sendVersionedTransaction(wire) : svm.sendLegacyTransaction(wire);
  const failed = r instanceof FailedTransactionMetadata;
  const err = failed ? errorOf(r.err()) : null;
  if (missing.has(err)) return;
  const meta = failed ? r.meta() : r;
  Object.assign(tx, { slot: head().slot, err, units: Number(meta.computeUnitsConsumed()), logs: meta.logs(), before, after: balances(tx),
    fee: Number(lamports - (svm.getBalance(tx.accounts[0]) ?? 0n)) });
  head().txs.push(tx);
  done.set(tx.id, tx);
  landed.set(tx.signature, tx);
}

function seal(empty) {
  addBlock();
  if (empty) return;
  const sent = pool;
  pool = [];
  sent.forEach(execute);
}

function reorg(n) {
  const slot = head().slot;
  for (const b of blocks.splice(blocks.length - n).reverse()) {
    for (const [name, a] of b.undo) svm.setAccount(unbase58(name, 32), a ?? new Account(0n, new Uint8Array(), new Uint8Array(32), false, 0n));
    for (const tx of b.txs) { done.delete(tx.id); landed.delete(tx.signature); }
  }
  pool = [];
  for (let i = 0; i <= n; i++) addBlock('fork', slot + 1 + i); // a slot has one leader
}

function place(signature) {
  const tx = landed.get(signature);
  return tx ? [blocks.findLastIndex((b) => b.slot === tx.slot), tx] : [-1, null];
}

function describe(key, o) {
  const a = svm.getAccount(key);
  if (!a || (a.lamports() === 0n && a.data().length === 0)) return null;
  let data = Buffer.from(a.data());
  if (base58(key) === clockAccount) { // the only account of which a finalized view differs here
    const b = blocks[at(o)];
    data = Buffer.from(data);
    data.writeBigUInt64LE(BigInt(b.slot), 0);
    data.writeBigInt64LE(BigInt(Math.floor(b.time / 1000)), 32);
  }
  return { lamports: Number(a.lamports()), owner: base58(a.owner()), data: [data.toString('base64'), 'base64'], executable: a.executable(), rentEpoch: 0, space: data.length };
}

const value = (o, v) => ({ context: { slot: blocks[at(o)].slot, apiVersion: '3.0.0' }, value: v });
const setToken = (address, mint, owner, amount, frozen) => {
  const data = Buffer.alloc(165);
  unbase58(mint, 32).copy(data, 0);
  unbase58(owner, 32).copy(data, 32);
  data.writeBigUInt64LE(BigInt(amount), 64);
  data[108] = frozen ? 2 : 1;
  put(address, new Account(2_039_280n, data, unbase58(tokenProgram, 32), false, 0n));
};
const setMint = (address) => {
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(10n ** 15n, 36);
  data[44] = 6;
  data[45] = 1;
  put(address, new Account(1_461_600n, data, unbase58(tokenProgram, 32), false, 0n));
};
const put = (address, account) => {
  const key = unbase58(address, 32);
  keep(key);
  svm.setAccount(key, account);
};

const methods = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': '3.0.0', 'feature-set': 1 }),
  getGenesisHash: () => genesis,
  getFirstAvailableBlock: () => blocks[0].slot,
  getSlot: (o) => blocks[at(o)].slot,
  getBlockHeight: (o) => at(o),
  getEpochInfo: (o) => ({ absoluteSlot: blocks[at(o)].slot, blockHeight: at(o), epoch: 1, slotIndex: 1, slotsInEpoch: 432000, transactionCount: landed.size }),
  getLatestBlockhash: (o) => value(o, { blockhash: blocks[at(o)].hash, lastValidBlockHeight: at(o) + lasts }),
  isBlockhashValid: (hash, o) => value(o, blocks.slice(Math.max(0, at(o) + 1 - lasts), at(o) + 1).some((b) => b.hash === hash)),
  getMinimumBalanceForRentExemption: (n) => Number(svm.minimumBalanceForRentExemption(BigInt(n))),
  getBalance: (key, o) => value(o, Number(svm.getBalance(unbase58(key, 32)) ?? 0n)),
  getAccountInfo: (key, o) => value(o, describe(unbase58(key, 32), o)),
  getMultipleAccounts: (keys, o) => value(o, keys.map((k) => describe(unbase58(k, 32), o))),
  getTokenAccountBalance: (key, o) => {
    const a = svm.getAccount(unbase58(key, 32));
    if (!a || a.data().length !== 165) throw new Fault(-32602, 'Invalid param: could not find account');
    const amount = Buffer.from(a.data()).readBigUInt64LE(64);
    return value(o, { amount: String(amount), decimals: 6, uiAmount: Number(amount) / 1e6, uiAmountString: String(Number(amount) / 1e6) });
  },
  simulateTransaction: (text, o) => {
    const wire = Buffer.from(text, 'base64'), tx = parse(wire);
    const out = (err, meta) => value(o, { err, logs: meta?.logs() ?? [], unitsConsumed: Number(meta?.computeUnitsConsumed() ?? 0n), accounts: null, returnData: null });
    const why = refusal(tx);
    if (why) return out(why);
    svm.setSigverify(!!o?.sigVerify);
    try {
      const r = tx.versioned ? svm.simulateVersionedTransaction(wire) : svm.simulateLegacyTransaction(wire);
      return out(r instanceof FailedTransactionMetadata ? errorOf(r.err()) : null, r.meta());
    } catch (e) {
      return out('SanitizeFailure');
    } finally {
      svm.setSigverify(true);
    }
  },
  sendTransaction: (text) => {
    const wire = Buffer.from(text, 'base64');
    if (wire.length > 1232) throw new Fault(-32602, 'decoded solana_transaction::versioned::VersionedTransaction too large');
    const tx = parse(wire);
    if (dropped > 0) dropped--;
    else if (!pool.some((p) => p.equals(wire))) pool.push(wire);
    return tx.signature;
  },
  getSignatureStatuses: (list, o) => value({}, list.map((s) => {
    const [height, tx] = place(s);
    if (!tx || (!o?.searchTransactionHistory && height + lasts < blocks.length - 1)) return null;
    const confirmationStatus = height <= final() ? 'finalized' : 'confirmed';
    return { slot: tx.slot, confirmations: null, err: tx.err, status: tx.err ? { Err: tx.err } : { Ok: null }, confirmationStatus };
  })),
  getTransaction: (signature, o) => {
    const [height, tx] = place(signature);
    if (!tx || height > at(o)) return null;
    return { slot: tx.slot, blockTime: Math.floor(blocks[height].time / 1000), version: tx.versioned ? 0 : 'legacy', transaction: [tx.wire.toString('base64'), 'base64'],
      meta: { err: tx.err, fee: tx.fee, computeUnitsConsumed: tx.units, logMessages: tx.logs, preTokenBalances: tx.before, postTokenBalances: tx.after,
        loadedAddresses: { writable: [], readonly: [] } } };
  },
  getBlock: (slot, o) => {
    const height = blocks.findIndex((b) => b.slot === slot);
    if (height < 0 || height > at(o)) throw new Fault(-32004, `Block not available for slot ${slot}`);
    const b = blocks[height];
    return { blockhash: b.hash, previousBlockhash: blocks[Math.max(0, height - 1)].hash, parentSlot: slot - 1, blockTime: Math.floor(b.time / 1000), blockHeight: height };
  },
  getSignaturesForAddress: (address, o) => {
    const key = unbase58(address, 32), list = [];
    let skip = !!o?.before;
    const newest = at(o);
    for (let height = newest; height >= 0; height--) {
      const b = blocks[height];
      for (const tx of b.txs.toReversed()) {
        if (!skip && list.length < (o?.limit ?? 1000) && tx.accounts.some((a) => key.equals(a))) {
          list.push({ signature: tx.signature, slot: tx.slot, err: tx.err, memo: null, blockTime: Math.floor(b.time / 1000), confirmationStatus: height <= final() ? 'finalized' : 'confirmed' });
        }
        if (tx.signature === o?.before) skip = false;
      }
    }
    return list;
  },
  dev_reset: () => reset(),
  dev_seal: (empty) => seal(!!empty),
  dev_pass: (milliseconds) => {
    shift += milliseconds;
    for (let n = Math.floor(milliseconds / slotTime); n > 0; n--) blocks.push({ ...head(), slot: head().slot + 1, time: head().time + slotTime, hash: base58(sha256(run, String(head().slot + 1))), txs: [], undo: new Map() });
    setClock();
  },
  dev_reorg: (n) => reorg(n),
  dev_drop: () => { pool = []; },
  dev_dropNext: (n) => { dropped = n; },
  dev_setLamports: (key, n) => { addBlock(); put(key, new Account(BigInt(n), new Uint8Array(), new Uint8Array(32), false, 0n)); },
  dev_setToken: (address, mint, owner, amount, frozen) => { addBlock(); setToken(address, mint, owner, amount, frozen); },
  dev_setMint: (address) => { addBlock(); setMint(address); },
  dev_close: (address) => { addBlock(); put(address, new Account(0n, new Uint8Array(), new Uint8Array(32), false, 0n)); },
};

// reset begins a new chain, with some blocks and nobody on it.
function reset() {
  svm = new LiteSvm();
  svm.setSigverify(true);
  svm.setBlockhashCheck(false); // this file keeps the blockhashes, with the real window
  svm.setTransactionHistory(0n); // and what was processed
  run = randomBytes(16).toString('hex'); // blockhashes are this chain's alone
  [shift, dropped, pool, blocks, done, landed] = [0, 0, [], [], new Map(), new Map()];
  for (let i = 0; i < 40; i++) blocks.push({ slot: 1000 + 2 * i, time: Date.now() - (40 - i) * slotTime, hash: base58(sha256(run, String(i))), txs: [], undo: new Map() });
  setClock();
  setMint(usdc);
}
reset();

function answer(q) {
  const reply = { jsonrpc: '2.0', id: q.id ?? null };
  try {
    const m = Object.hasOwn(methods, q.method) && methods[q.method];
    if (!m) throw new Fault(-32601, 'Method not found');
    return { ...reply, result: m(...(q.params ?? [])) ?? null };
  } catch (e) {
    return { ...reply, error: { code: e.code ?? -32602, message: String(e.message ?? e) } };
  }
}

const server = createServer((req, res) => {
  const chunks = [];
  let size = 0;
  req.on('data', (c) => { if ((size += c.length) > 1 << 20) req.destroy(); else chunks.push(c); });
  req.on('end', () => {
    let out;
    try {
      const q = JSON.parse(Buffer.concat(chunks).toString());
      out = Array.isArray(q) ? q.map(answer) : answer(q);
    } catch {
      out = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
    }
    res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(out));
  });
});
server.on('error', (e) => { console.error(e.message); process.exit(1); });
server.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
const tick = Number(process.argv[2]);
if (tick > 0) setInterval(() => seal(false), tick);
