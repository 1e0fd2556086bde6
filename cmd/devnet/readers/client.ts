// Buys with a client that openapi-typescript generates from a store's own description (api.ts), and says what it bought as a
// line of JSON. openapi-fetch calls, @x402/fetch pays: nothing here was written for one store.
//
//   node client.js BASE KEY NETWORK
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import createClient from "openapi-fetch";
import { privateKeyToAccount } from "viem/accounts";
import type { paths } from "./api.js";

const [base, key, network] = process.argv.slice(2) as [string, `0x${string}`, `eip155:${string}`];
const payer = new x402Client().register(network, new ExactEvmScheme(privateKeyToAccount(key)));
const store = createClient<paths, `application/${string}`>({ baseUrl: base, fetch: wrapFetchWithPayment(fetch, payer) });

const found = await store.GET("/api/catalog/v1", { params: { query: { q: "blessing" } } });
const item_id: string | undefined = found.data?.rows?.[0]?.item_id;
if (!item_id) throw new Error(JSON.stringify(found.error ?? found.data));

const bought = await store.GET("/api/buy/{item_id}", {
  params: { path: { item_id }, query: { agent_name: "generated" }, header: { "Idempotency-Key": "order-of-a-generated-client" } },
});
if (!bought.data) throw new Error(JSON.stringify(bought.error));
const { cert_id } = bought.data;
if (!cert_id) throw new Error("a blessing comes with a certificate");
const posted = await store.POST("/api/buy/{item_id}", { params: { path: { item_id } }, body: { agent_name: "generated, in a body" } });
if (!posted.data) throw new Error(JSON.stringify(posted.error));
const verified = await store.GET("/api/verify/{id}", { params: { path: { id: cert_id } } });
const refused = await store.GET("/api/verify/{id}", { params: { path: { id: "cert_aaaaaaaaaaaaaaaaaaaa" } } });

// The description says so much of each call that a compiler finds these faults.
export const faults = () => [
  // @ts-expect-error: there is no such route
  store.GET("/api/sell/{item_id}", {}),
  // @ts-expect-error: the item is not optional
  store.GET("/api/buy/{item_id}", {}),
  // @ts-expect-error: a certificate's id is a text
  cert_id * 2,
];

console.log(JSON.stringify({
  bought: bought.data.item_id, replayed: bought.data.idempotent_replay, posted: posted.data.item_id,
  valid: verified.data?.valid, refused: refused.response.status, reason: refused.error?.title,
}));
