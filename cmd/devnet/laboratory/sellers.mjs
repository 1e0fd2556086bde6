// One seller on a port of its own: node sellers.mjs STACK PORT PAY_TO. The POST sellers answer GET as their stack does.
//
// RPC, RELAYER  the chain and the key with which the stock facilitator settles; without them no payment is looked at,
//               because what buyers sign is settled beside it
// DECLARE       says where the method is declared: openapi (if not given), none, or the text of /.well-known/x402
// REPEATS       payment answers a payment that was answered before with the same answer; order does so for an
//               Idempotency-Key too. Stock sellers have neither.
import {x402Facilitator} from '@x402/core/facilitator';
import {x402HTTPResourceServer, x402ResourceServer} from '@x402/core/server';
import {toFacilitatorEvmSigner} from '@x402/evm';
import {ExactEvmScheme as Facilitates} from '@x402/evm/exact/facilitator';
import {ExactEvmScheme} from '@x402/evm/exact/server';
import {createWalletClient, http, nonceManager, publicActions} from 'viem';
import {privateKeyToAccount} from 'viem/accounts';
import {base} from 'viem/chains';

const [stack, port, payTo] = process.argv.slice(2);
const {RPC, RELAYER, DECLARE = 'openapi', REPEATS} = process.env;
const network = 'eip155:8453';

function facilitator() {
  if (!RPC) {
    return {
      verify: async () => ({isValid: false, invalidReason: 'invalid_payload'}),
      settle: async () => ({success: false, transaction: '', network, errorReason: 'invalid_payload'}),
      getSupported: async () => ({kinds: [{x402Version: 2, scheme: 'exact', network}], extensions: [], signers: {}}),
    };
  }
  const relayer = createWalletClient({account: privateKeyToAccount(RELAYER, {nonceManager}), chain: base,
    transport: http(RPC), pollingInterval: 20}).extend(publicActions);
  const does = new x402Facilitator().register(network, new Facilitates(toFacilitatorEvmSigner({
    address: relayer.account.address,
    readContract: a => relayer.readContract(a), verifyTypedData: a => relayer.verifyTypedData(a),
    writeContract: a => relayer.writeContract(a), sendTransaction: a => relayer.sendTransaction(a),
    waitForTransactionReceipt: a => relayer.waitForTransactionReceipt(a), getCode: a => relayer.getCode(a),
  })));
  return {verify: (...a) => does.verify(...a), settle: (...a) => does.settle(...a),
    getSupported: async () => does.getSupported()};
}
const server = new x402ResourceServer(facilitator()).register(network, new ExactEvmScheme());
const method = stack.endsWith('-post') ? 'POST' : 'GET';
const routes = {[method + ' /paid']: {accepts: {scheme: 'exact', price: '$0.01', network, payTo},
  description: 'The weather.', mimeType: 'application/json'}};
const v1 = {[method + ' /paid']: {price: '$0.01', network: 'base', config: {description: 'The weather.'}}};
const description = {openapi: '3.1.0', info: {title: 'Shop', version: '1'},
  paths: {'/paid': {[method.toLowerCase()]: {responses: {402: {description: 'Payment required'}}}}}};
const name = method.toLowerCase();
const files = DECLARE === 'openapi' ? {'/openapi.json': description}
  : DECLARE === 'none' ? {} : {'/.well-known/x402': JSON.parse(DECLARE)};

// remembers gives an answer again, by what a seller knows an order by.
function remembers() {
  const answers = new Map();
  return async (req, res, next) => {
    const payment = req.get('payment-signature');
    const by = payment ? [payment, REPEATS === 'order' && req.get('idempotency-key')].filter(Boolean) : [];
    for (const b of by) {
      const known = await answers.get(b); // also one that is being made
      if (known) return res.set({...known.headers, 'Idempotent-Replayed': 'true'}).send(known.body);
    }
    let body;
    const send = res.send;
    res.send = said => { body = said; return send.call(res, said); };
    const done = new Promise(resolve => res.on('close', () =>
      resolve(res.statusCode === 200 && {headers: res.getHeaders(), body})));
    for (const b of by) answers.set(b, done);
    next();
  };
}

async function express(middleware) {
  const {default: make} = await import('express');
  const app = make();
  for (const [path, file] of Object.entries(files)) app.get(path, (_, res) => res.json(file));
  if (REPEATS) app.use(remembers());
  app.use(middleware);
  app[name]('/paid', (_, res) => res.json({sky: 'rain'}));
  app.listen(Number(port), '127.0.0.1');
}

async function hono(middleware) {
  const {Hono} = await import('hono');
  const {serve} = await import('@hono/node-server');
  const app = new Hono();
  for (const [path, file] of Object.entries(files)) app.get(path, c => c.json(file));
  app.use(middleware);
  app[name]('/paid', c => c.json({sky: 'rain'}));
  serve({fetch: app.fetch, port: Number(port), hostname: '127.0.0.1'});
}

// fastify has no middleware among the stock packages: these hooks lead to the stock gate and nothing more.
async function fastify() {
  const {default: make} = await import('fastify');
  const gate = new x402HTTPResourceServer(server, routes);
  await gate.initialize();
  const app = make();
  for (const [path, file] of Object.entries(files)) app.get(path, async () => file);
  app.addHook('preHandler', async (req, reply) => {
    const path = req.url.split('?')[0], header = n => req.headers[n.toLowerCase()];
    const request = {path, decodedPath: path, method: req.method, paymentHeader: header('payment-signature'),
      adapter: {getHeader: header, getMethod: () => req.method, getPath: () => path, getUrl: () => `http://${req.host}${req.url}`,
        getAcceptHeader: () => header('accept') ?? '', getUserAgent: () => header('user-agent') ?? ''}};
    if (!gate.requiresPayment(request)) return;
    const said = await gate.processHTTPRequest(request);
    if (said.type === 'payment-error')
      return reply.code(said.response.status).headers(said.response.headers).send(said.response.body ?? {});
    if (said.type === 'payment-verified') req.paid = {...said, request};
  });
  app.addHook('onSend', async (req, reply, body) => {
    if (!req.paid || reply.statusCode >= 400) return body;
    const {paymentPayload, paymentRequirements, declaredExtensions, request} = req.paid;
    const done = await gate.processSettlement(paymentPayload, paymentRequirements, declaredExtensions,
      {request, responseBody: Buffer.from(body)});
    reply.headers(done.headers);
    if (done.success) return body;
    reply.code(402);
    return '{}';
  });
  app.route({method, url: '/paid', handler: async () => ({sky: 'rain'})});
  await app.listen({port: Number(port), host: '127.0.0.1'});
}

// l402 asks for Lightning alone, as the protocol specification of L402 has it; nothing is paid here.
async function l402() {
  const {createServer} = await import('node:http');
  const macaroon = Buffer.alloc(64, 7).toString('base64');
  createServer((req, res) => {
    const paid = req.url.split('?')[0] === '/paid';
    res.writeHead(paid ? 402 : 404, {'Content-Type': 'application/json',
      ...(paid && {'WWW-Authenticate': `L402 macaroon="${macaroon}", invoice="lnbc100n1pexample"`})});
    res.end(JSON.stringify({error: paid ? 'Payment Required' : 'Not Found'}));
  }).listen(Number(port), '127.0.0.1');
}

const stacks = {
  fastify, l402,
  express: async () => express((await import('@x402/express')).paymentMiddleware(routes, server)),
  hono: async () => hono((await import('@x402/hono')).paymentMiddleware(routes, server)),
  'x402-express': async () => express((await import('x402-express')).paymentMiddleware(payTo, v1)),
  'x402-hono': async () => hono((await import('x402-hono')).paymentMiddleware(payTo, v1)),
};
await stacks[stack.replace('-post', '')]();
