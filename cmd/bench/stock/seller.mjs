// The stock seller: @x402/express, selling one thing. PORT and PAY_TO come from the environment, with
// FACILITATOR, the address of the facilitator that it sells through, or RPC and RELAYER (a private
// key made for the run) for the stock facilitator in the same process. With AS_DOCUMENTED that one has
// the wallet that its documents show; without, one that is helped to sell to many at once.
import express from 'express';
import {createWalletClient, defineChain, http, nonceManager, publicActions} from 'viem';
import {privateKeyToAccount} from 'viem/accounts';
import {x402Facilitator} from '@x402/core/facilitator';
import {HTTPFacilitatorClient} from '@x402/core/server';
import {toFacilitatorEvmSigner} from '@x402/evm';
import {ExactEvmScheme as Facilitator} from '@x402/evm/exact/facilitator';
import {ExactEvmScheme} from '@x402/evm/exact/server';
import {paymentMiddleware, x402ResourceServer} from '@x402/express';

const network = 'eip155:8453';
const {PORT, RPC, PAY_TO, RELAYER, FACILITATOR, AS_DOCUMENTED} = process.env;

function inProcess() {
  const chain = defineChain({id: 8453, name: 'local', nativeCurrency: {name: 'Ether', symbol: 'ETH', decimals: 18}, rpcUrls: {default: {http: [RPC]}}});
  // Payments come at once, so the relayer's nonces are counted here; receipts are asked for every 50 ms, not every 4 s.
  const helped = AS_DOCUMENTED ? {} : {pollingInterval: 50};
  const account = privateKeyToAccount(RELAYER, AS_DOCUMENTED ? {} : {nonceManager});
  const wallet = createWalletClient({account, chain, transport: http(RPC), ...helped}).extend(publicActions);
  const facilitator = new x402Facilitator().register(network, new Facilitator(toFacilitatorEvmSigner({
    address: account.address,
    getCode: a => wallet.getCode(a),
    readContract: a => wallet.readContract(a),
    verifyTypedData: a => wallet.verifyTypedData(a),
    writeContract: a => wallet.writeContract(a),
    sendTransaction: a => wallet.sendTransaction(a),
    waitForTransactionReceipt: a => wallet.waitForTransactionReceipt(a),
  })));
  return {
    verify: (p, r) => facilitator.verify(p, r),
    settle: (p, r) => facilitator.settle(p, r),
    getSupported: async () => facilitator.getSupported(),
  };
}

const client = FACILITATOR ? new HTTPFacilitatorClient({url: FACILITATOR}) : inProcess();
const app = express();
app.use(paymentMiddleware({
  'GET /api/buy/hello': {
    accepts: {scheme: 'exact', price: '$0.50', network, payTo: PAY_TO},
    description: 'A signed greeting.', mimeType: 'application/json',
  },
}, new x402ResourceServer(client).register(network, new ExactEvmScheme())));
app.get('/api/buy/hello', (req, res) => res.json({message: 'Hello.', item_id: 'hello'}));
app.listen(Number(PORT), '127.0.0.1');
