// Calls tools of an MCP door with the stock TypeScript client, and says of each call:
//
//   {"tool","result","payments","asked"}            result as the client gives it; how many payments were signed, how often
//   {"tool","error","code","data","payments",…}     terms were given; or what the client threw in the end
//
//   {"tools","resources","version"}                 where it is given no call
//
// KEY      private key of the buyer
// DIALECT  x402: signs error.data of a 402, or the structuredContent of a result, with the stock x402 client
//          mppx: the stock MPP client pays by itself
// NETWORK  CAIP-2 network to pay on by x402; eip155:* if not given
// SPEND    off lets the x402 client pay more than its own limit of 1 USD
// ENCODED  x402 payments go as base64 text
// AT_ONCE  makes all calls at the same time
// TRIES    how often a call is made until it has an answer; 1 if not given
// TIMEOUT  milliseconds after which the client gives up a call
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {x402Client} from '@x402/core/client';
import {ExactEvmScheme} from '@x402/evm/exact/client';
import {evm} from 'mppx/client';
import {McpClient} from 'mppx/mcp/client';
import {privateKeyToAccount} from 'viem/accounts';

// bought says whether a call was answered with a result that is no error.
export const bought = answer => !answer.tool || (answer.result && !answer.result.isError);

export async function buy({KEY, DIALECT, NETWORK, SPEND, ENCODED, AT_ONCE, TRIES, TIMEOUT}, [door, ...calls]) {
  const options = TIMEOUT ? {timeout: Number(TIMEOUT)} : undefined;

  const opened = [];
  async function connect() {
    const client = new Client({name: 'buyer', version: '1'});
    opened.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(door)));
    return client;
  }

  // byX402 makes one call and pays for it once where it is asked to.
  async function byX402(account, call, seen) {
    const x402 = new x402Client().register(NETWORK || 'eip155:*', new ExactEvmScheme(account));
    if (SPEND === 'off') x402.setSpendControls(false);
    const client = await connect();
    let terms;
    try {
      const result = await client.callTool(call, undefined, options);
      if (!result.isError || !result.structuredContent?.accepts) return result;
      terms = result.structuredContent;
    } catch (error) {
      if (error.code !== 402) throw error;
      terms = error.data;
    }
    seen.asked++;
    const payment = await x402.createPaymentPayload(terms);
    seen.payments++;
    const sent = ENCODED ? Buffer.from(JSON.stringify(payment)).toString('base64') : payment;
    return client.callTool({...call, _meta: {'x402/payment': sent}}, undefined, options);
  }

  async function byMPPX(account, call, seen) {
    const charge = evm.charge({account, currencies: [evm.assets.base.USDC]});
    // Its own transport is HTTP's; over MCP it is left out.
    const method = {...charge, transport: undefined, createCredential: asked => {
      seen.payments++;
      return charge.createCredential(asked);
    }};
    const client = McpClient.wrap(await connect(), {methods: [method], onPaymentRequired: () => ++seen.asked > 0});
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
  const {tools} = await client.listTools(), {resources} = await client.listResources();
  for (const {uri} of resources) await client.readResource({uri});
  return {tools: tools.map(t => t.name), resources: resources.map(r => r.uri), version: client.transport.protocolVersion};
}
