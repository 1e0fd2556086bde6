// The stock seller of @x402/express by vouchers (scheme batch-settlement), with its own key for claims.
// PORT, PAY_TO, FACILITATOR and AUTHORIZER (a private key made for the run) come from the environment.
// POST /claim and /settle have its channel manager do so.
import express from 'express';
import {privateKeyToAccount} from 'viem/accounts';
import {HTTPFacilitatorClient} from '@x402/core/server';
import {BatchSettlementEvmScheme, InMemoryChannelStorage} from '@x402/evm/batch-settlement/server';
import {paymentMiddleware, x402ResourceServer} from '@x402/express';

const network = 'eip155:8453';
const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const {PORT, PAY_TO, FACILITATOR, AUTHORIZER} = process.env;
const facilitator = new HTTPFacilitatorClient({url: FACILITATOR});
const authorizer = privateKeyToAccount(AUTHORIZER);
const scheme = new BatchSettlementEvmScheme(PAY_TO, {
  storage: new InMemoryChannelStorage(),
  receiverAuthorizerSigner: {address: authorizer.address, signTypedData: message => authorizer.signTypedData(message)},
  withdrawDelay: 900,
});
const manager = scheme.createChannelManager(facilitator, network, asset);
const app = express();
app.use(paymentMiddleware({
  'GET /api/buy/hello': {
    accepts: {
      scheme: 'batch-settlement', network, payTo: PAY_TO,
      price: {amount: '100000', asset, extra: {name: 'USD Coin', version: '2', minDeposit: '500000'}},
    },
    description: 'A signed greeting.', mimeType: 'application/json',
  },
}, new x402ResourceServer(facilitator).register(network, scheme)));
app.get('/api/buy/hello', (req, res) => res.json({message: 'Hello.', item_id: 'hello'}));
for (const does of ['claim', 'settle']) {
  app.post(`/${does}`, async (req, res) => {
    try {
      res.json(await manager[does]());
    } catch (error) {
      res.status(500).json({error: error.message});
    }
  });
}
app.listen(Number(PORT), '127.0.0.1');
