// A stock seller of MPP on a port of its own: node mppseller.mjs METHOD PORT PAY_TO, METHOD being evm or tempo.
import {createServer} from 'node:http';
import {Mppx, evm, tempo} from 'mppx/server';

const [method, port, recipient] = process.argv.slice(2);
const methods = method === 'evm'
  ? [evm.charge({currency: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', chainId: 8453, decimals: 6, recipient,
    authorization: {name: 'USD Coin', version: '2'}, settle: async () => { throw new Error('nothing is settled'); }})]
  : [tempo({currency: '0x20c0000000000000000000000000000000000000', recipient})];
const mppx = Mppx.create({methods, secretKey: 'a secret of at least thirty-two bytes', realm: 'localhost'});
createServer(async (req, res) => {
  const url = `http://127.0.0.1:${port}${req.url}`;
  const said = await mppx.charge({amount: '0.01'})(new Request(url, {headers: {accept: 'application/json'}}));
  const answer = said.challenge;
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  res.end(Buffer.from(await answer.arrayBuffer()));
}).listen(Number(port), '127.0.0.1');
