// Serves the stock x402 facilitator over HTTP: POST /verify, POST /settle, GET /supported. What it throws is answered 500.
//   node facilitator.cjs RPC KEY CAIP2 FACTORY
// RPC is the chain's JSON-RPC address, KEY the private key of the facilitator's account, FACTORY the one factory that may
// deploy wallets. Prints its address when it listens.
const { x402Facilitator } = require('@x402/core/facilitator');
const { ExactEvmScheme } = require('@x402/evm/exact/facilitator');
const { toFacilitatorEvmSigner } = require('@x402/evm');
const { createWalletClient, http, publicActions } = require('viem');
const { privateKeyToAccount } = require('viem/accounts');
const { base } = require('viem/chains');
const { createServer } = require('node:http');

const [, , rpc, key, network, factory] = process.argv;
const account = privateKeyToAccount(key);
const client = createWalletClient({ account, chain: base, transport: http(rpc, { retryCount: 0 }), pollingInterval: 50 })
  .extend(publicActions);
const signer = toFacilitatorEvmSigner(Object.assign(client, { address: account.address }));
const facilitator = new x402Facilitator()
  .register(network, new ExactEvmScheme(signer, { eip6492AllowedFactories: [factory] }));

const answers = {
  'GET /supported': () => facilitator.getSupported(),
  'POST /verify': (r) => facilitator.verify(r.paymentPayload, r.paymentRequirements),
  'POST /settle': (r) => facilitator.settle(r.paymentPayload, r.paymentRequirements),
};
createServer(async (request, response) => {
  let status = 200;
  let body;
  try {
    const parts = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    body = await answers[`${request.method} ${request.url}`](text && JSON.parse(text));
  } catch (error) {
    status = 500;
    body = { error: String(error.message).slice(0, 500) };
  }
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}).listen(0, '127.0.0.1', function () { console.log(`http://127.0.0.1:${this.address().port}`); });
