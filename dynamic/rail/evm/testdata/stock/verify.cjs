// Asks the stock x402 facilitator about payments. Each line of input is {payload, requirements}, each line of output
// {valid, reason}; a payment that makes it throw is answered {valid: false, reason: "throws"}.
// The first argument is the chain's JSON-RPC address, the second the private key of the facilitator's account.
const { ExactEvmScheme } = require('@x402/evm/exact/facilitator');
const { toFacilitatorEvmSigner } = require('@x402/evm');
const { createWalletClient, http, publicActions } = require('viem');
const { privateKeyToAccount } = require('viem/accounts');
const { base } = require('viem/chains');
const readline = require('node:readline');

const account = privateKeyToAccount(process.argv[3]);
const client = createWalletClient({ account, chain: base, transport: http(process.argv[2], { retryCount: 0 }) }).extend(publicActions);
const scheme = new ExactEvmScheme(toFacilitatorEvmSigner(Object.assign(client, { address: account.address })));

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { payload, requirements } = JSON.parse(line);
    let out;
    try {
      const r = await scheme.verify(payload, requirements, { getExtension: () => undefined });
      out = { valid: r.isValid, reason: r.invalidReason ?? '' };
    } catch {
      out = { valid: false, reason: 'throws' };
    }
    console.log(JSON.stringify(out));
  }
})();
