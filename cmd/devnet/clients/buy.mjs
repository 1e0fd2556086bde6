// Buys each URL it is given with the stock x402 client, unmodified, and prints one line of JSON for each, in their order:
//
//   {"url","status","headers","body","payment","settled"}   payment: the PAYMENT-SIGNATURE that was sent, if any
//   {"url","error"}                                         error: what the client threw
//
//   KEY=0x… node buy.mjs URL…
//
// KEY      private key of the buyer
// NETWORK  CAIP-2 network to pay on, or a pattern; eip155:* if not given
// SPEND    off lets the client pay more than its own limit of 1 USD
// WALLET   address of a contract wallet (EIP-1271) that pays; KEY is its owner's
// AT_ONCE  buys all of them at the same time
// BODY     JSON that is sent with POST; without it the method is GET
// TIMEOUTS milliseconds after which the application gives up, for each URL, separated by commas; 0 or none is never
//
// Exits with 0 only if every URL was answered 200 and its payment settled.
import {wrapFetchWithPayment, x402Client, x402HTTPClient} from '@x402/fetch';
import {ExactEvmScheme} from '@x402/evm/exact/client';
import {privateKeyToAccount} from 'viem/accounts';

const {KEY, NETWORK, SPEND, WALLET, AT_ONCE, BODY, TIMEOUTS} = process.env;
const owner = privateKeyToAccount(KEY);
const signer = WALLET ? {address: WALLET, signTypedData: message => owner.signTypedData(message)} : owner;
const client = new x402Client().register(NETWORK || 'eip155:*', new ExactEvmScheme(signer));
if (SPEND === 'off') client.setSpendControls(false);
const http = new x402HTTPClient(client);

const timeouts = (TIMEOUTS || '').split(',').map(Number);

async function buy(url, i) {
  let payment;
  const watched = (input, init) => {
    const headers = new Headers(init?.headers ?? input.headers);
    payment = headers.get('PAYMENT-SIGNATURE') ?? payment;
    return fetch(input, init);
  };
  try {
    const init = BODY ? {method: 'POST', headers: {'Content-Type': 'application/json'}, body: BODY} : {};
    if (timeouts[i]) init.signal = AbortSignal.timeout(timeouts[i]);
    const response = await wrapFetchWithPayment(watched, client)(url, init);
    const body = await response.clone().text();
    const {paymentStatus} = await http.processResponse(response);
    return {
      url, status: response.status, headers: Object.fromEntries(response.headers), body, payment,
      settled: paymentStatus === 'settled',
    };
  } catch (error) {
    return {url, error: error.message, payment};
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
