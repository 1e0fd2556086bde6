// Pays with the stock x402 client. Each line of input is an entry of accepts, each line of output the payload for it.
// The first argument is the chain's JSON-RPC address, the second the buyer's key, 64 bytes in hex.
const { ExactSvmScheme } = require('@x402/svm/exact/client');
const { createKeyPairSignerFromBytes } = require('@solana/kit');
const readline = require('node:readline');

(async () => {
  const signer = await createKeyPairSignerFromBytes(Uint8Array.from(Buffer.from(process.argv[3], 'hex')));
  const scheme = new ExactSvmScheme(signer, { rpcUrl: process.argv[2] });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { payload } = await scheme.createPaymentPayload(2, JSON.parse(line));
    console.log(JSON.stringify(payload));
  }
})();
