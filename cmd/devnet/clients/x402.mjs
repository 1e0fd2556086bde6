// Buys each URL with the stock x402 client, and says of each:
//
//   {"url","status","headers","body","payment","settled"}   payment: the PAYMENT-SIGNATURE that was sent, if any
//   {"url","error"}                                         error: what the client threw
//
// KEY      private key of the buyer: hex, on Solana base58 of its 64 bytes
// NETWORK  CAIP-2 network to pay on, or a pattern; eip155:* if not given
// SPEND    off lets the client pay more than its own limit of 1 USD
// WALLET   address of a contract wallet (EIP-1271) that pays; KEY is its owner's
// DELEGATE the account, which delegates to this contract (EIP-7702), pays as viem's smart account; takes RPC
// FACTORY  deploys the wallets that pay, KEY being their owner's: viem's smart accounts (ERC-6492); takes RPC and SALTS
// SALTS    of FACTORY's wallets, 32 bytes in hex, one for each URL, separated by commas
// RPC      JSON-RPC address of the chain
// AT_ONCE  buys all of them at the same time
// SIGN_IN  signs in, where a door asks for that, before it pays
// VOUCHERS pays for all URLs out of one channel (batch-settlement); takes RPC
// HOLD     pays by authorizations that are captured later (auth-capture)
// LOST     the places of URLs, from 0 on, whose paid answer is lost on its way, separated by commas
// BODY     JSON that is sent with POST; without it the method is GET
// TIMEOUTS milliseconds after which the application gives up, for each URL, separated by commas; 0 or none is never
import {wrapFetchWithPayment, x402Client, x402HTTPClient} from '@x402/fetch';
import {ExactEvmScheme} from '@x402/evm/exact/client';
import {createPublicClient, encodeFunctionData, http as transport, parseAbi} from 'viem';
import {privateKeyToAccount} from 'viem/accounts';

// bought says whether a URL was answered 200 and its payment settled.
export const bought = result => result.status === 200 && result.settled;

export async function buy({KEY, NETWORK, SPEND, WALLET, DELEGATE, FACTORY, SALTS, RPC, AT_ONCE, BODY, TIMEOUTS, SIGN_IN, VOUCHERS, LOST, HOLD}, urls) {
  const solana = NETWORK?.startsWith('solana:');
  const owner = solana ? undefined : privateKeyToAccount(KEY);

  // How a URL is paid for by a signer.
  let channel; // with the client's own count of what it spent
  async function scheme(signer) {
    if (VOUCHERS) {
      const {BatchSettlementEvmScheme, InMemoryClientChannelStorage} = await import('@x402/evm/batch-settlement/client');
      const {toClientEvmSigner} = await import('@x402/evm');
      channel ??= new BatchSettlementEvmScheme(toClientEvmSigner(signer, createPublicClient({transport: transport(RPC)})),
        {storage: new InMemoryClientChannelStorage()});
      return channel;
    }
    if (HOLD) {
      const {AuthCaptureEvmScheme} = await import('@x402/evm/auth-capture/client');
      return new AuthCaptureEvmScheme(signer);
    }
    if (!solana) return new ExactEvmScheme(signer);
    const {ExactSvmScheme} = await import('@x402/svm/exact/client');
    return new ExactSvmScheme(signer, {rpcUrl: RPC});
  }

  const lost = (LOST || '').split(',').filter(Boolean).map(Number);
  const timeouts = (TIMEOUTS || '').split(',').map(Number);
  const salts = (SALTS || '').split(',');

  // The account that pays for a URL.
  async function payer(i) {
    if (solana) {
      const {createKeyPairSignerFromBytes, getBase58Encoder} = await import('@solana/kit');
      return createKeyPairSignerFromBytes(getBase58Encoder().encode(KEY));
    }
    if (WALLET) return {address: WALLET, signTypedData: m => owner.signTypedData(m), signMessage: m => owner.signMessage(m)};
    if (!DELEGATE && !FACTORY) return owner;
    const client = createPublicClient({transport: transport(RPC)});
    const smart = await import('viem/account-abstraction');
    const account = DELEGATE ? await smart.toSimple7702SmartAccount({client, owner, implementation: DELEGATE})
      : await deployed(smart, client, salts[i]);
    return {address: account.address, signTypedData: message => account.signTypedData(message)};
  }

  // The devnet's wallet as a smart account of viem, which wraps what it signs until the wallet is deployed.
  function deployed({toSmartAccount, entryPoint08Abi, entryPoint08Address}, client, salt) {
    const abi = parseAbi(['function deploy(address,bytes32) returns (address)', 'function addressOf(address,bytes32) view returns (address)']);
    const args = [owner.address, salt];
    return toSmartAccount({
      client,
      entryPoint: {abi: entryPoint08Abi, address: entryPoint08Address, version: '0.8'},
      getAddress: () => client.readContract({address: FACTORY, abi, functionName: 'addressOf', args}),
      getFactoryArgs: async () => ({factory: FACTORY, factoryData: encodeFunctionData({abi, functionName: 'deploy', args})}),
      signTypedData: message => owner.signTypedData(message),
    });
  }

  async function one(url, i) {
    let payment;
    const signer = await payer(i);
    const client = new x402Client().register(NETWORK || 'eip155:*', await scheme(signer));
    if (SIGN_IN) {
      const {createSIWxClientExtension} = await import('@x402/extensions/sign-in-with-x');
      client.registerExtension(createSIWxClientExtension({signers: [signer]}));
    }
    if (SPEND === 'off') client.setSpendControls(false);
    const http = new x402HTTPClient(client);
    const watched = (input, init) => {
      const headers = new Headers(init?.headers ?? input.headers);
      payment = headers.get('PAYMENT-SIGNATURE') ?? payment;
      const answer = fetch(input, init);
      if (!payment || !lost.includes(i)) return answer;
      return answer.then(() => { throw new Error('the answer was lost'); });
    };
    try {
      const init = BODY ? {method: 'POST', headers: {'Content-Type': 'application/json'}, body: BODY} : {};
      if (timeouts[i]) init.signal = AbortSignal.timeout(timeouts[i]);
      const response = await wrapFetchWithPayment(watched, client)(url, init);
      const body = await response.clone().text();
      const {paymentStatus} = await http.processResponse(response);
      return {
        url, status: response.status, headers: Object.fromEntries(response.headers), body, payment,
        settled: paymentStatus === 'settled',
      };
    } catch (error) {
      return {url, error: error.message, payment};
    }
  }

  if (AT_ONCE) return Promise.all(urls.map(one));
  const results = [];
  for (const [i, url] of urls.entries()) results.push(await one(url, i));
  return results;
}
