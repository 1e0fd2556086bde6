// Reads a running store with stock readers, unmodified, and says a line of JSON for each check: {check, ok, says, read},
// read being the paths that it asked the store for.
//
//   node readers.mjs BASE FOLDER      FOLDER holds the schemas and a receipt of the store's, and takes the skill
import { createHash, webcrypto as node } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { A2AClient } from "@a2a-js/sdk-0.3/client";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { discoverOriginSchema } from "@agentcash/discovery";
import { validateDiscoveryExtension, validateDiscoveryExtensionSpec } from "@x402/extensions/bazaar";
import Ajv2020 from "ajv/dist/2020.js";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { verifyJWS } from "did-jwt";
import { Resolver } from "did-resolver";
import { component, verifySignature } from "http-message-sig";
import { compactVerify, decodeProtectedHeader, flattenedVerify, importJWK } from "jose";

console.debug = () => {};
const [base, folder] = process.argv.slice(2);
let asked = new Set();
const plain = globalThis.fetch;
globalThis.fetch = (at, init) => {
  const url = new URL(at.url ?? at);
  if (url.origin === base) asked.add(url.pathname);
  return plain(at, init);
};
const get = async path => {
  const r = await fetch(path.startsWith("http") ? path : base + path);
  if (r.status !== 200) throw new Error(`${path}: ${r.status}`);
  return r;
};
const json = async path => (await get(path)).json();
const must = (holds, what) => { if (!holds) throw new Error(typeof what === "string" ? what : JSON.stringify(what)); };

const did = await json("/.well-known/did.json");
const cardPath = "/.well-known/agent-card.json";
const method = did.verificationMethod.find(m => m.publicKeyJwk);
const key = await importJWK(method.publicKeyJwk, "EdDSA");
const card = await json(cardPath);

// The form of RFC 8785 of what holds neither numbers with a point nor odd texts.
const sorted = v => Array.isArray(v) ? v.map(sorted) : v && typeof v === "object"
  ? Object.fromEntries(Object.keys(v).sort().map(k => [k, sorted(v[k])])) : v;

const checks = {
  async "A2A schema 0.3.0"() {
    const ajv = new Ajv({ strict: false });
    ajv.addSchema(JSON.parse(readFileSync(join(folder, "a2a-0.3.0.schema.json"), "utf8")), "a2a");
    const card = await json(cardPath);
    const valid = ajv.getSchema("a2a#/definitions/AgentCard");
    must(valid(card), valid.errors);
  },
  async "jose: a signature of the card"() {
    const { signatures, ...rest } = card;
    const payload = Buffer.from(JSON.stringify(sorted(rest))).toString("base64url");
    const { protectedHeader } = await flattenedVerify({ ...signatures[0], payload }, key);
    must(protectedHeader.kid === method.id, protectedHeader);
    await must(await flattenedVerify({ ...signatures[0], payload: payload + "A" }, key).then(() => false, () => true), "it fits anything");
  },
  async "@a2a-js/sdk 1: a signature of the card"() {
    await verifyAgentCardSignature(async () => key)(card);
  },
  async "@a2a-js/sdk 0.3: message/send and tasks/get"() {
    const client = await A2AClient.fromCardUrl(base + "/.well-known/agent-card.json");
    const sent = await client.sendMessage({ message: { kind: "message", messageId: "m-1", role: "user",
      parts: [{ kind: "data", data: { tool: "find_in_catalog", arguments: { q: "rock" } } }] } });
    must(sent.result?.kind === "message" && sent.result.parts[0].data.rows[0].item_id === "pet_rock", sent);
    const none = await client.getTask({ id: "00000000-0000-4000-8000-000000000000" }).catch(e => ({ error: e }));
    must(none.error, none);
  },
  async "@a2a-js/sdk 1: SendMessage, GetTask and CancelTask"() {
    const client = await new ClientFactory().createFromUrl(base);
    must(client.protocolVersion === "1.0", client.protocolVersion);
    const send = content => client.sendMessage({ tenant: "", metadata: undefined, configuration: undefined, message: {
      messageId: "m-1", contextId: "", taskId: "", role: 1, metadata: undefined, extensions: [], referenceTaskIds: [],
      parts: [{ content, metadata: undefined, filename: "", mediaType: "" }] } });
    const rocks = { tool: "find_in_catalog", arguments: { q: "rock" } };
    for (const content of [{ $case: "data", value: rocks }, { $case: "text", value: JSON.stringify(rocks) }]) {
      const sent = await send(content);
      must(sent.role === 2 && sent.contextId && sent.parts[0].content.value.rows[0].item_id === "pet_rock", sent);
    }
    for (const call of [() => client.getTask({ tenant: "", id: "order_none" }), () => client.cancelTask({ tenant: "", id: "order_none", metadata: undefined })])
      must(await call().then(() => false, e => e instanceof TaskNotFoundError), "a task that there is not");
    must(await client.listTasks({ tenant: "", contextId: "", status: 0, pageToken: "" }).then(() => false, e => e instanceof UnsupportedOperationError), "a list of tasks");
  },
  async "skills-ref: the skill"() {
    const index = await json("/.well-known/agent-skills/index.json");
    for (const s of index.skills) {
      const text = Buffer.from(await (await get(s.url)).arrayBuffer());
      must(s.digest === "sha256:" + createHash("sha256").update(text).digest("hex"), "another digest");
      must(text.equals(Buffer.from(await (await get("/skill.md")).arrayBuffer())), "/skill.md has other bytes");
      mkdirSync(join(folder, s.name));
      writeFileSync(join(folder, s.name, "SKILL.md"), text);
      execFileSync("node_modules/.bin/skills-ref", ["validate", join(folder, s.name)]);
      const read = JSON.parse(execFileSync("node_modules/.bin/skills-ref", ["read-properties", join(folder, s.name)]));
      must(read.name === s.name && read.description === s.description, read);
    }
  },
  async "MCP Registry schema 2025-12-11"() {
    const ajv = new Ajv({ strict: false });
    addFormats(ajv);
    const valid = ajv.compile(JSON.parse(readFileSync(join(folder, "mcp-server-2025-12-11.schema.json"), "utf8")));
    const entry = await json("/listings/server.json");
    must(valid(entry), valid.errors);
    must(!valid({ ...entry, name: "store" }), "any name would pass");
    const card = await json("/mcp/server-card"); // which is the registry's form but for its schema
    must(entry.name === card.name && entry.version === card.version && entry.remotes[0].url === card.remotes[0].url, card);
  },
  // As the registry's own tests have it (tempoxyz/mpp, schemas/services.test.ts).
  async "mpp.dev: the rules of its services, and the prices of the doors"() {
    const s = await json("/listings/mpp.json");
    must(/^[a-z0-9-]+$/.test(s.id) && s.name && s.description && s.realm && s.intent === "charge", s);
    must(s.tags.every(t => /^[a-z0-9-]+$/.test(t)) && s.integration === "first-party", s.tags);
    const known = ["ai", "blockchain", "compute", "data", "media", "search", "social", "storage", "web"];
    must(s.categories.length > 0 && s.categories.every(c => known.includes(c)), s.categories);
    must(s.endpoints.length > 0 && new Set(s.endpoints.map(e => e.route)).size === s.endpoints.length, "no doors, or one twice");
    for (const e of s.endpoints)
      must(/^GET \/[a-zA-Z0-9/_:.\-*]*$/.test(e.route) && e.desc && /^\d+$/.test(e.amount), e);
    const of = e => base + e.route.slice(4);
    for (const e of s.endpoints.filter(e => !e.route.includes(":")).slice(0, 3)) {
      const asked = await plain(of(e)), said = asked.headers.get("www-authenticate");
      const request = JSON.parse(Buffer.from(/request="([^"]+)"/.exec(said)[1], "base64url"));
      must(asked.status === 402 && request.amount === e.amount && request.currency === s.payments[0].currency &&
        said.includes(`method="${s.payments[0].method}"`), { e, request });
    }
  },
  // As its CONTRIBUTING.md has it (solana-foundation/pay-skills).
  async "pay-skills: the frontmatter of PAY.md"() {
    const [, head, body] = /^---\n([^]*?)\n---\n\n([^]+)$/.exec(await (await get("/listings/PAY.md")).text());
    const lines = head.split("\n"), of = name => JSON.parse(lines.find(l => l.startsWith(name + ": ")).slice(name.length + 2));
    must(lines.slice(-2).join() === "openapi:,  path: openapi.json" && body.includes("## Spend-aware usage"), head);
    must(/^[a-z0-9-]+$/.test(of("name")) && of("title") && of("service_url") === base, head);
    const within = (text, least) => text.length >= least && text.length <= 255 && !text.includes("TODO");
    must(within(of("description"), 64) && !of("description").startsWith("Use ") && within(of("use_case"), 32), head);
    must(of("use_case").startsWith("Use for ") && of("category") === "shopping", head);
  },
  async "A2A Directory: a row of its table"() {
    const line = await (await get("/listings/a2a-directory.md")).text();
    must(/^\| \[[^\n]+\]\(https?:[^)]+\) \| \[[^\n]+\]\(https?:[^)]+\) \| [^\n]+ \| N\/A \|\n$/.test(line), line);
    must(line.replaceAll("\\|", "").split("|").length === 6 && line.includes(`(${base}${cardPath})`), line);
  },
  async "UCP schema 2026-08-25"() {
    const ajv = new Ajv2020({ strict: false });
    addFormats(ajv);
    for (const f of readdirSync(join(folder, "ucp-2026-08-25"), { recursive: true }))
      if (f.endsWith(".json")) ajv.addSchema(JSON.parse(readFileSync(join(folder, "ucp-2026-08-25", f), "utf8")));
    const r = await get("/.well-known/ucp");
    const valid = ajv.getSchema("https://ucp.dev/schemas/profile.json#/$defs/business_schema");
    const profile = await r.json();
    must(valid(profile), valid.errors);
    must(!valid({ ...profile, keys: [{ ...profile.keys[0], d: "x" }] }), "a private key would pass");
    must(/public.*max-age=(\d+)/.exec(r.headers.get("cache-control"))?.[1] >= 60, r.headers.get("cache-control"));
    must(profile.keys[0].kid === method.publicKeyJwk.kid, "another key than did.json");
  },
  async "trust.json by its own schema"() {
    const trust = await json("/.well-known/trust.json");
    const ajv = new Ajv2020();
    addFormats(ajv);
    const schema = await json(trust.$schema);
    must(schema.$id === trust.$schema, schema.$id);
    const valid = ajv.compile(schema);
    must(valid(trust), valid.errors);
    must(!valid({ ...trust, not_claimed: [] }), "it may claim everything");
  },
  async "linkset: api-catalog"() {
    const ajv = new Ajv2020();
    addFormats(ajv);
    const valid = ajv.compile(JSON.parse(readFileSync(join(folder, "linkset.json"), "utf8")));
    const r = await get("/.well-known/api-catalog");
    must(r.headers.get("content-type") === 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
      r.headers.get("content-type"));
    const set = await r.json();
    must(valid(set), valid.errors);
    must(!valid({ linkset: [{ ...set.linkset[0], item: set.linkset[0].item[0] }] }), "a target that is in no array would pass");
  },
  async "jose: conformance vectors"() {
    const set = await json("/.well-known/conformance/offer-receipt-vectors.json");
    for (const f of set.fixtures) {
      const fits = await compactVerify(f.artifact, key).then(() => true, () => false);
      must(fits === (f.expect.verdict === "conforms"), f.id);
    }
  },
  async "did-jwt: offers, a receipt and the vectors under did:web"() {
    // did:web of a store on http, which did-resolver leaves to its caller.
    const resolver = new Resolver({ web: async (did, parsed) => {
      const [host, ...path] = parsed.id.split(":").map(decodeURIComponent);
      must(host === new URL(base).host && path.length === 0, did);
      return { didDocument: await json("/.well-known/did.json"), didDocumentMetadata: {}, didResolutionMetadata: {} };
    } });
    const signed = async jws => {
      const { kid } = decodeProtectedHeader(jws);
      const { didDocument, didResolutionMetadata } = await resolver.resolve(kid);
      must(didDocument, didResolutionMetadata);
      must(didDocument.assertionMethod.includes(kid), "the key is not for assertions");
      must(verifyJWS(jws, didDocument.verificationMethod.filter(m => m.id === kid)).id === kid, kid);
    };
    const unpaid = await fetch(base + "/api/buy/hello", { headers: { Accept: "application/json" } });
    const { offers_url } = await unpaid.json();
    const { accepts, offers } = await json(offers_url.slice(base.length));
    must(offers.length > 0 && offers.length === accepts.length, offers);
    const receipt = readFileSync(join(folder, "receipt.jws"), "utf8");
    for (const jws of [...offers.map(o => o.signature), receipt]) {
      await signed(jws);
      const [header, payload, signature] = jws.split(".");
      const other = Buffer.from(Buffer.from(payload, "base64url").toString().replace("eip155:", "eip155:1")).toString("base64url");
      await must(await signed([header, other, signature].join(".")).then(() => false, () => true), "it fits other words");
    }
    const { fixtures } = await json("/.well-known/conformance/offer-receipt-vectors.json");
    for (const f of fixtures) {
      const fits = await signed(f.artifact).then(() => true, () => false);
      must(fits === (f.expect.verdict === "conforms"), f.id);
    }
  },
  async "http-message-sig: the key directory"() {
    const url = base + "/.well-known/http-message-signatures-directory";
    const r = await get(url);
    const keys = (await r.clone().json()).keys;
    const request = { kind: "request", method: "GET", targetUri: url, fields: [] };
    const response = { kind: "response", status: 200, request,
      fields: [...r.headers].map(([name, value]) => ({ name, value })) };
    await verifySignature(response, { label: "binding0", policy: {
      algorithms: ["ed25519"], requiredComponents: [component("@authority", { req: true }), "content-digest"],
      requiredParameters: ["created", "expires", "keyid", "tag"], now: Math.floor(Date.now() / 1000),
      validate: s => s.parameters.tag === "http-message-signatures-directory",
    }, async resolveVerifier(c) {
      const jwk = keys.find(k => k.kid === c.parameters.keyid);
      const k = await node.subtle.importKey("jwk", jwk, { name: "Ed25519" }, true, ["verify"]);
      return { algorithm: "ed25519", verify: (data, signature) => node.subtle.verify("Ed25519", k, signature, data) };
    } });
  },
  async "OpenAPI schema 3.1 of the OpenAPI Initiative"() {
    const ajv = new Ajv2020({ strict: false });
    addFormats(ajv);
    const valid = ajv.compile(JSON.parse(readFileSync(join(folder, "oas-3.1.schema.json"), "utf8")));
    const api = await json("/openapi.json");
    must(valid(api), valid.errors);
    must(!valid({ ...api, info: { title: "Store" } }), "a description without a version would pass");
  },
  async "ajv: the schemas of openapi-tools.json"() {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
    addFormats(ajv);
    const { tools } = await json("/openapi-tools.json");
    must(tools.length >= 12, tools.length);
    for (const t of tools) {
      const f = t.function ?? t;
      must(t.type === "function" && /^[a-zA-Z0-9_-]{1,64}$/.test(f.name) && f.description, t);
      ajv.compile(f.parameters);
    }
  },
  async "@agentcash/discovery: paid endpoints"() {
    const found = await discoverOriginSchema({ target: base, sniffOpenapi: true });
    must(found.found, found);
    const paid = found.endpoints.filter(e => e.authMode === "paid").map(e => e.method + " " + e.path);
    must(paid.includes("GET /api/buy/{item_id}") && paid.includes("POST /api/buy/{item_id}"), found.endpoints.map(e => [e.method, e.path, e.authMode]));
    return paid.join(", ");
  },
  async "@x402/extensions: the bazaar extension of every door"() {
    const items = [];
    for (let total = 1; items.length < total;) {
      const list = await json(`/discovery/resources?limit=100&offset=${items.length}`);
      must(list.x402Version === 2 && list.items.length > 0, list.pagination);
      items.push(...list.items);
      total = list.pagination.total;
    }
    must(items.length >= 24 && new Set(items.map(i => i.resource)).size === items.length, items.length);
    for (const item of items) {
      for (const method of item.resource.includes("/api/buy/") ? ["GET", "POST"] : ["GET"]) {
        const unpaid = await fetch(item.resource, { method, headers: { Accept: "application/json" } });
        if (unpaid.status === 400) continue; // it takes inputs
        must(unpaid.status === 402, `${method} ${item.resource}: ${unpaid.status}`);
        const { extensions, accepts } = JSON.parse(atob(unpaid.headers.get("payment-required")));
        for (const e of [extensions.bazaar, item.extensions.bazaar]) {
          const a = validateDiscoveryExtension(e), b = validateDiscoveryExtensionSpec(e);
          must(a.valid && b.valid, { door: item.resource, a, b });
        }
        must(accepts[0].amount === item.accepts[0].amount && accepts[0].payTo === item.accepts[0].payTo, item.resource);
      }
      must(validateDiscoveryExtension(item.extensions.bazaar).valid, item.resource);
    }
  },
};

for (const [check, run] of Object.entries(checks)) {
  asked = new Set();
  const said = await run().then(says => ({ ok: true, says: says ?? "" }),
    e => ({ ok: false, says: String(e.stderr ?? "") + (e.stack ?? e) }));
  console.log(JSON.stringify({ check, ...said, read: [...asked] }));
}
