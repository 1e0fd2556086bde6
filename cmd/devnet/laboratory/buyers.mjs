// Asks each door on standard input, a line of JSON {name, url, method, unlimited, axios}, as the stock client @x402/fetch
// does, or @x402/axios with the client that it brings along, which has no limits, and has what it signs verified and settled by the stock facilitator. Writes a line of JSON for each, in their order:
//
//   {name, status, signed, index, network, error, settles, why}
//
// KEY and RELAYER are private keys; CHAINS is {network: RPC URL}; TOKENS is a list of {network, asset, name, version}, by
// which signatures for networks without a chain here are checked. Every name is looked up on loopback.
import dns from 'node:dns';
import {createInterface} from 'node:readline';
import {wrapAxiosWithPayment, x402Client as AxiosClient} from '@x402/axios';
import {x402Client, x402HTTPClient} from '@x402/core/client';
import {x402Facilitator} from '@x402/core/facilitator';
import {PaymentRequirementsV2Schema} from '@x402/core/schemas';
import {toFacilitatorEvmSigner} from '@x402/evm';
import {ExactEvmScheme} from '@x402/evm/exact/client';
import {ExactEvmScheme as Facilitates} from '@x402/evm/exact/facilitator';
import {wrapFetchWithPayment} from '@x402/fetch';
import {ExactSvmScheme} from '@x402/svm/exact/client';
import axios from 'axios';
import {createWalletClient, defineChain, getAddress, http, nonceManager, publicActions, verifyTypedData} from 'viem';
import {privateKeyToAccount} from 'viem/accounts';

dns.lookup = (host, options, done) => {
  const [o, cb] = typeof options === 'function' ? [{}, options] : [options, done];
  o.all ? cb(null, [{address: '127.0.0.1', family: 4}]) : cb(null, '127.0.0.1', 4);
};
const {KEY, RELAYER} = process.env;
const chains = JSON.parse(process.env.CHAINS), tokens = JSON.parse(process.env.TOKENS);
const account = privateKeyToAccount(KEY);
const facilitator = new x402Facilitator();
for (const [network, rpc] of Object.entries(chains)) {
  const id = Number(network.split(':')[1]);
  const chain = defineChain({id, name: network, nativeCurrency: {name: 'Coin', symbol: 'C', decimals: 18},
    rpcUrls: {default: {http: [rpc]}}, contracts: {multicall3: {address: '0xcA11bde05977b3631167028862bE2a173976CA11'}}});
  const relayer = createWalletClient({account: privateKeyToAccount(RELAYER, {nonceManager}), chain,
    transport: http(rpc), pollingInterval: 50}).extend(publicActions);
  facilitator.register(network, new Facilitates(toFacilitatorEvmSigner({
    address: relayer.account.address,
    readContract: a => relayer.readContract(a), verifyTypedData: a => relayer.verifyTypedData(a),
    writeContract: a => relayer.writeContract(a), sendTransaction: a => relayer.sendTransaction(a),
    waitForTransactionReceipt: a => relayer.waitForTransactionReceipt(a), getCode: a => relayer.getCode(a),
  })));
}

// settle says whether what was signed moves the money.
async function settle({payload, accepted}) {
  const form = PaymentRequirementsV2Schema.safeParse(accepted);
  if (!form.success) return {settles: false, why: 'the stock schema refuses it: ' + form.error.issues[0].message};
  const {network} = accepted;
  if (chains[network]) {
    let done;
    // What the relayer's own node would not take is no fault of the door's, so it is sent again.
    for (let tries = 0; tries < 3 && !done?.success; tries++) {
      done = await facilitator.settle({x402Version: 2, payload, accepted}, accepted);
      if (!done.errorReason?.endsWith('transaction_failed')) break;
    }
    return {settles: done.success, why: done.errorReason ?? ''};
  }
  const token = tokens.find(t => t.network === network && t.asset.toLowerCase() === String(accepted.asset).toLowerCase());
  if (!token || !/^eip155:[1-9][0-9]*$/.test(network)) return {settles: false, why: 'no such token here'};
  if (payload.permit2Authorization) return {settles: true, why: 'by Permit2, which was not settled'};
  const a = payload.authorization;
  const good = await verifyTypedData({address: account.address, signature: payload.signature,
    primaryType: 'TransferWithAuthorization',
    domain: {name: token.name, version: token.version, chainId: Number(network.split(':')[1]),
      verifyingContract: getAddress(token.asset)},
    types: {TransferWithAuthorization: [{name: 'from', type: 'address'}, {name: 'to', type: 'address'},
      {name: 'value', type: 'uint256'}, {name: 'validAfter', type: 'uint256'}, {name: 'validBefore', type: 'uint256'},
      {name: 'nonce', type: 'bytes32'}]},
    message: a});
  return {settles: good && Number(a.validBefore) >= Date.now() / 1000 + 6, why: 'checked against the known domain'};
}

// throughAxios asks by axios, and keeps the payment that would be presented.
async function throughAxios(client, url, {signal, method, headers, body}, sees, says) {
  const http = axios.create();
  http.interceptors.request.use(config => {
    const header = config.headers.get('PAYMENT-SIGNATURE');
    if (header) {
      sees(JSON.parse(Buffer.from(header, 'base64').toString()));
      config.adapter = async c => ({data: {}, status: 200, statusText: 'OK', headers: {}, config: c});
    }
    return config;
  });
  http.interceptors.response.use(r => { says(r.status); return r; }, e => { says(e.response?.status ?? 0); throw e; });
  await wrapAxiosWithPayment(http, client).request({url, method: method ?? 'GET', headers, data: body, signal});
}

const signals = [];
async function ask({name, url, method, unlimited, axios: byAxios}) {
  const client = new (byAxios ? AxiosClient : x402Client)().register('eip155:*', new ExactEvmScheme(account))
    .register('solana:*', new ExactSvmScheme({address: '4YWunxjZ2pRGKZMcM346CNoY7XBqfSEhvFEhTRZKvcyL'},
      {rpcUrl: 'http://127.0.0.1:9'}));
  if (unlimited && !byAxios) client.setSpendControls(false);
  let paid, status = 0;
  const watched = async (input, init) => {
    const header = new Headers(init?.headers ?? input.headers).get('PAYMENT-SIGNATURE');
    if (header) {
      paid = JSON.parse(Buffer.from(header, 'base64').toString());
      return new Response('{}');
    }
    const answer = await fetch(input, init);
    status = answer.status;
    return answer;
  };
  const out = {name, unlimited, status: 0, signed: false, network: '', error: '', settles: false, why: ''};
  try {
    const init = {signal: AbortSignal.timeout(20_000)};
    signals.push(init.signal);
    if (method === 'POST') Object.assign(init, {method, headers: {'Content-Type': 'application/json'}, body: '{}'});
    if (byAxios) await throughAxios(client, url, init, header => { paid = header; }, s => { status = s; });
    else await wrapFetchWithPayment(watched, client)(url, init);
  } catch (e) {
    out.error = e.cause ? `${e.message}: ${e.cause.message}` : e.message;
  }
  out.status = status;
  if (paid) {
    Object.assign(out, {signed: true, network: String(paid.accepted.network)});
    try {
      Object.assign(out, await settle(paid));
    } catch (e) {
      out.why = e.message;
    }
  }
  return out;
}

// answered is the answer to a question. Now and then a client's promise is never settled, whatever its signal says: then it
// is asked anew.
async function answered(question) {
  for (let tries = 0; tries < 3; tries++) {
    let timer;
    const late = new Promise(resolve => { timer = setTimeout(resolve, 120_000); });
    const out = await Promise.race([ask(question), late]);
    clearTimeout(timer);
    if (out) return out;
    console.error(`${question.name}: no end within two minutes`);
  }
  throw new Error(`${question.name} was never answered`);
}

// Time-outs that nobody holds are forgotten, and those that alone are left do not keep the process.
const alive = setInterval(() => {}, 1000);
const asked = [];
for await (const line of createInterface({input: process.stdin})) asked.push(JSON.parse(line));
const said = new Array(asked.length);
let next = 0;
await Promise.all(Array.from({length: 16}, async () => {
  for (let i = next++; i < asked.length; i = next++) said[i] = await answered(asked[i]);
}));
// What stands in a full pipe would be lost with the process.
process.stdout.write(said.map(s => JSON.stringify(s) + '\n').join(''), () => process.exit(0));
clearInterval(alive);
