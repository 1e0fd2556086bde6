// The stock client's payload for each line of standard input, {key, requirements}: one a line.
'use strict';
const readline = require('node:readline');
const { AuthCaptureEvmScheme } = require('@x402/evm/auth-capture/client');
const { privateKeyToAccount } = require('viem/accounts');

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { key, requirements } = JSON.parse(line);
    const client = new AuthCaptureEvmScheme(privateKeyToAccount(key));
    const { payload } = await client.createPaymentPayload(2, requirements);
    process.stdout.write(JSON.stringify(payload) + '\n');
  }
})();
