// Calls tools of an MCP door with the stock TypeScript client, and says of each call:
//
//   {"tool","result","payments","asked"}            result as the client gives it; how many payments were signed, how often
//   {"tool","error","code","data","payments",…}     terms were given; or what the client threw in the end
//
//   {"tools","resources","version"}                 where it is given no call
//
// KEY      private key of the buyer
// REVISION 2026-07-28: the stock client of that revision and of those before, which finds out what the door speaks
// DIALECT  x402: signs error.data of a 402, or the structuredContent of a result, with the stock x402 client
//          x402-extension: announces org.x402/payment, and signs the paymentRequired of a result; the client throws
//          the terms away, so that they are taken from the answers that its transport fetched
//          mppx: the stock MPP client pays by itself
// NETWORK  CAIP-2 network to pay on by x402; eip155:* if not given
// SPEND    off lets the x402 client pay more than its own limit of 1 USD
// ENCODED  x402 payments go as base64 text
// AT_ONCE  makes all calls at the same time
// TRIES    how often a call is made until it has an answer; 1 if not given
// TIMEOUT  milliseconds after which the client gives up a call
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2 from '@modelcontextprotocol/client';
import {x402Client} from '@x402/core/client';
import {ExactEvmScheme} from '@x402/evm/exact/client';
import {evm} from 'mppx/client';
import {McpClient} from 'mppx/mcp/client';
import {privateKeyToAccount} from 'viem/accounts';

// bought says whether a call was answered with a result that is no error.
export const bought = answer => !answer.tool || (answer.result && !answer.result.isError);

export async function buy({KEY, REVISION, DIALECT, NETWORK, SPEND, ENCODED, AT_ONCE, TRIES, TIMEOUT}, [door, ...calls]) {
  const options = TIMEOUT ? {timeout: Number(TIMEOUT)} : undefined;

  const opened = [];
  async function connect(seen) {
    const extensions = DIALECT === 'x402-extension' ? {'org.x402/payment': {}} : {};
    const client = REVISION
      ? new v2.Client({name: 'buyer', version: '1'}, {capabilities: {extensions}, versionNegotiation: {mode: 'auto'}})
      : new Client({name: 'buyer', version: '1'});
    opened.push(client);
    await client.connect(REVISION ? new v2.StreamableHTTPClientTransport(new URL(door), {fetch: listening(seen)})
      : new StreamableHTTPClientTransport(new URL(door)));
    return client;
  }

  // listening keeps the terms that a client throws away.
  const listening = seen => async (url, init) => {
    const response = await fetch(url, init);
    const said = await response.clone().json().catch(() => undefined);
    if (seen && said?.result?.paymentRequired) seen.terms = said.result.paymentRequired;
    return response;
  };

  const callTool = (client, call) => REVISION ? client.callTool(call, options) : client.callTool(call, undefined, options);

  // byX402 makes one call and pays for it once where it is asked to.
  async function byX402(account, call, seen) {
    const x402 = new x402Client().register(NETWORK || 'eip155:*', new ExactEvmScheme(account));
    if (SPEND === 'off') x402.setSpendControls(false);
    const client = await connect(seen);
    let terms;
    try {
      const result = await callTool(client, call);
      if (!result.isError || !result.structuredContent?.accepts) return result;
      terms = result.structuredContent;
    } catch (error) {
      if (error.code !== 402 && error.data?.resultType !== 'payment_required') throw error;
      terms = seen.terms ?? error.data;
    }
    seen.asked++;
    const payment = await x402.createPaymentPayload(terms);
    seen.payments++;
    const sent = ENCODED ? Buffer.from(JSON.stringify(payment)).toString('base64') : payment;
    return callTool(client, {...call, _meta: {'x402/payment': sent}});
  }

  async function byMPPX(account, call, seen) {
    const charge = evm.charge({account, currencies: [evm.assets.base.USDC]});
    // Its own transport is HTTP's; over MCP it is left out.
    const method = {...charge, transport: undefined, createCredential: asked => {
      seen.payments++;
      return charge.createCredential(asked);
    }};
    const stock = await connect();
    // mppx passes options where the older client takes them.
    const older = REVISION ? {callTool: (call, _, options) => stock.callTool(call, options)} : stock;
    const client = McpClient.wrap(older, {methods: [method], onPaymentRequired: () => ++seen.asked > 0});
    return client.callTool(call, undefined, options);
  }

  async function one(text) {
    const [tool] = text.split('=', 1), given = text.slice(tool.length + 1);
    const call = {name: tool, arguments: given ? JSON.parse(given) : {}};
    const seen = {payments: 0, asked: 0};
    const account = KEY && privateKeyToAccount(KEY);
    let failed;
    for (let i = 0; i < Number(TRIES || 1); i++) {
      try {
        const result = await (DIALECT === 'mppx' ? byMPPX : byX402)(account, call, seen);
        failed = {tool, result};
        if (!result.isError) break;
      } catch (error) {
        failed = {tool, error: error.message, code: error.code, data: error.data, ...seen};
      }
    }
    delete seen.terms;
    return {...failed, ...seen};
  }

  try {
    if (calls.length === 0) return [await list(await connect())];
    if (AT_ONCE) return await Promise.all(calls.map(one));
    const answers = [];
    for (const call of calls) answers.push(await one(call));
    return answers;
  } finally {
    for (const client of opened) await client.close();
  }
}

// list reads every resource on its way.
async function list(client) {
  const {tools} = await client.listTools();
  // The newer client says on the standard output that it does not ask for what there is not.
  const {resources} = client.getServerCapabilities().resources ? await client.listResources() : {resources: []};
  for (const {uri} of resources) await client.readResource({uri});
  return {tools: tools.map(t => t.name), resources: resources.map(r => r.uri), version: client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion};
}
