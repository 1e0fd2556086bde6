// Buys each URL it is given with the stock MPP client, unmodified, and prints one line of JSON for each, in their order:
//
//   {"url","status","headers","body","payment","settled","asked"}   payment: the last credential that was sent, if any;
//   {"url","error","payment","asked"}                               asked: how many challenges it was given
//
//   KEY=0x… node buy.mjs URL…
//
// KEY      private key of the buyer
// AT_ONCE  buys all of them at the same time
// BODY     JSON that is sent with POST; without it the method is GET
// TIMEOUTS milliseconds after which the application gives up, for each URL, separated by commas; 0 or none is never
//
// Exits with 0 only if every URL was answered 200 with a receipt.
import {evm, Mppx} from 'mppx/client';
import {Receipt} from 'mppx';
import {privateKeyToAccount} from 'viem/accounts';

const {KEY, AT_ONCE, BODY, TIMEOUTS} = process.env;
const account = privateKeyToAccount(KEY);
const timeouts = (TIMEOUTS || '').split(',').map(Number);

async function buy(url, i) {
  let payment, asked = 0;
  const watched = async (input, init) => {
    const headers = new Headers(init?.headers ?? input.headers);
    if (headers.get('Authorization')?.startsWith('Payment ')) payment = headers.get('Authorization');
    const response = await fetch(input, init);
    if (response.headers.get('WWW-Authenticate')) asked++;
    return response;
  };
  const client = Mppx.create({methods: [evm.charge({account, currencies: [evm.assets.base.USDC]})], fetch: watched, polyfill: false});
  try {
    const init = BODY ? {method: 'POST', headers: {'Content-Type': 'application/json'}, body: BODY} : {};
    if (timeouts[i]) init.signal = AbortSignal.timeout(timeouts[i]);
    const response = await client.fetch(url, init);
    const body = await response.clone().text();
    let settled = false;
    if (response.ok) settled = Receipt.fromResponse(response).status === 'success';
    return {url, status: response.status, headers: Object.fromEntries(response.headers), body, payment, settled, asked};
  } catch (error) {
    return {url, error: error.message, payment, asked};
  }
}

let unpaid = 0;
const report = result => {
  if (result.status !== 200 || !result.settled) unpaid++;
  console.log(JSON.stringify(result));
};
const urls = process.argv.slice(2);
if (AT_ONCE) (await Promise.all(urls.map(buy))).forEach(report);
else for (const [i, url] of urls.entries()) report(await buy(url, i));
process.exit(unpaid ? 1 : 0);
