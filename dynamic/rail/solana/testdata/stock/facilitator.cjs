// Serves the stock x402 facilitator over HTTP: POST /verify, POST /settle, GET /supported. What it throws is answered 500.
//   node facilitator.cjs RPC KEY CAIP2
// RPC is the cluster's JSON-RPC address, KEY the fee payer's key, 64 bytes in hex. It has the store's own caps on
// signatures, compute units and their price. Prints its address when it listens.
const { x402Facilitator } = require('@x402/core/facilitator');
const { createKeyPairSignerFromBytes } = require('@solana/kit');
const { createServer } = require('node:http');
const { pathToFileURL } = require('node:url');

console.error = () => {};
const [, , rpc, key, network] = process.argv;

// The packages as modules: of those that require gives, each has an error class of its own for what fails on the chain, so
// that the scheme does not know its signer's and calls such a settlement pending.
const esm = (file) => import(pathToFileURL(`${process.env.NODE_PATH}/@x402/svm/dist/esm/${file}`));

(async () => {
  const { ExactSvmScheme } = await esm('exact/facilitator/index.mjs');
  const { toFacilitatorSvmSigner } = await esm('index.mjs');
  const signer = await createKeyPairSignerFromBytes(Uint8Array.from(Buffer.from(key, 'hex')));
  const scheme = new ExactSvmScheme(toFacilitatorSvmSigner(signer, { defaultRpcUrl: rpc }), undefined, {
    maxRequiredSignatures: 2, maxComputeUnits: 100_000, maxPriorityFeeMicroLamports: 50_000,
  });
  const facilitator = new x402Facilitator().register(network, scheme);
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
})();
