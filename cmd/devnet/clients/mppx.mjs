// Buys each URL with the stock MPP client, and says of each:
//
//   {"url","status","headers","body","payment","field","settled","asked"}   payment: the last credential that was sent,
//   {"url","error","payment","field","asked"}                               if any, and its field; asked: how many
//                                                                           challenges it was given
//
// KEY      private key of the buyer
// AT_ONCE  buys all of them at the same time
// BEARER   token that the application sends in Authorization
// BODY     JSON that is sent with POST; without it the method is GET
// TIMEOUTS milliseconds after which the application gives up, for each URL, separated by commas; 0 or none is never
import {evm, Mppx} from 'mppx/client';
import {Receipt} from 'mppx';
import {privateKeyToAccount} from 'viem/accounts';

// bought says whether a URL was answered 200 with a receipt.
export const bought = result => result.status === 200 && result.settled;

export async function buy({KEY, AT_ONCE, BEARER, BODY, TIMEOUTS}, urls) {
  const account = privateKeyToAccount(KEY);
  const timeouts = (TIMEOUTS || '').split(',').map(Number);

  async function one(url, i) {
    let payment, field, asked = 0;
    const watched = async (input, init) => {
      const headers = new Headers(init?.headers ?? input.headers);
      for (const name of ['Authorization', 'Payment-Authorization']) {
        if (headers.get(name)?.startsWith('Payment ')) [payment, field] = [headers.get(name), name];
      }
      const response = await fetch(input, init);
      if (response.headers.get('WWW-Authenticate')) asked++;
      return response;
    };
    const client = Mppx.create({methods: [evm.charge({account, currencies: [evm.assets.base.USDC]})], fetch: watched, polyfill: false});
    try {
      const init = BODY ? {method: 'POST', headers: {'Content-Type': 'application/json'}, body: BODY} : {};
      if (BEARER) init.headers = {...init.headers, Authorization: `Bearer ${BEARER}`};
      if (timeouts[i]) init.signal = AbortSignal.timeout(timeouts[i]);
      const response = await client.fetch(url, init);
      const body = await response.clone().text();
      let settled = false;
      if (response.ok) settled = Receipt.fromResponse(response).status === 'success';
      return {url, status: response.status, headers: Object.fromEntries(response.headers), body, payment, field, settled, asked};
    } catch (error) {
      return {url, error: error.message, payment, field, asked};
    }
  }

  if (AT_ONCE) return Promise.all(urls.map(one));
  const results = [];
  for (const [i, url] of urls.entries()) results.push(await one(url, i));
  return results;
}
