// Offers the store's tools to the agent of a browser that lets pages do so (WebMCP), and does nothing in any other. A page
// of any site may load it; only on the store's own pages does it reach the store.
//
// The free tools are those of POST /mcp. Two more are for buying: quote_store_purchase asks for terms and costs nothing,
// complete_store_purchase sends a payment that the buyer's wallet has signed already. This script signs nothing.
(() => {
  const context = document.modelContext ?? navigator.modelContext;
  if (!context?.registerTool) return;
  const door = new URL("/mcp", document.currentScript?.src ?? location.href).href;
  let last = 0;

  // call sends one message and gives its answer: a result, or an error as data, since an agent is not told what was thrown.
  async function call(method, params) {
    const answer = await fetch(door, {
      method: "POST", credentials: "omit",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18" },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++last, method, params }),
    });
    const message = await answer.json();
    if (message.error) return { error: message.error };
    return message.result ?? { error: { code: answer.status, message: message.detail ?? "the store did not answer", data: message } };
  }

  // plain is what a tool says: what is structured as it is, with the warning that it is a stranger's, or the text.
  function plain(result) {
    if (result.error) return result;
    const said = result.structuredContent ?? { text: (result.content ?? []).map((c) => c.text ?? c.resource?.text ?? "").join("\n") };
    const stranger = result._meta?.["store/untrusted"];
    return { ...said, ...(stranger && { notice: result.content[0].text }), ...(result._meta && { _meta: result._meta }) };
  }

  const item = { type: "string", maxLength: 60, description: "item_id of a good, as find_in_catalog has it" };
  const inputs = { type: "object", description: "the good's inputs, such as agent_name; the same in both calls" };

  // order calls the tool that buys an item; paid tools that take several items take the item too.
  function order(tools, { item_id, inputs = {} }, meta) {
    const own = tools.some((t) => t.name === "buy_" + item_id);
    const params = own ? { name: "buy_" + item_id, arguments: inputs } : { name: "buy_observation", arguments: { ...inputs, item_id } };
    return call("tools/call", { ...params, ...(meta && { _meta: meta }) });
  }

  const buying = (tools) => [{
    name: "quote_store_purchase", title: "Ask what a good costs",
    description: "Free. The terms for one good: x402 in accepts, MPP under org.paymentauth/payment-required. Nothing is charged and nothing is reserved. Have the buyer's wallet sign one of them, then call complete_store_purchase.",
    inputSchema: { type: "object", properties: { item_id: item, inputs }, required: ["item_id"], additionalProperties: false },
    annotations: { readOnlyHint: true },
    execute: async (input) => {
      const result = await order(tools, input);
      return result.error?.code === 402 ? result.error.data : plain(result);
    },
  }, {
    name: "complete_store_purchase", title: "Buy with a signed payment",
    description: "Costs what was quoted. Sends a payment that the buyer's wallet has signed, with the same item_id and inputs as the quote. If the answer is lost, call it again with the same payment and key: it is never charged twice. On error -32000 (unknown) never sign another payment.",
    inputSchema: {
      type: "object", required: ["item_id", "payment"], additionalProperties: false,
      properties: {
        item_id: item, inputs,
        payment: { type: "object", description: "the signed payment: an x402 payment, or an MPP credential" },
        idempotency_key: { type: "string", minLength: 16, maxLength: 128, description: "one for each order" },
      },
    },
    annotations: { readOnlyHint: false, consequentialHint: true },
    execute: async ({ payment, idempotency_key, ...input }) => {
      const meta = { [payment?.challenge ? "org.paymentauth/credential" : "x402/payment"]: payment };
      if (idempotency_key) meta["x402/idempotency-key"] = idempotency_key;
      return plain(await order(tools, input, meta));
    },
  }];

  async function register() {
    const { tools } = await call("tools/list", {});
    if (!tools) return [];
    const free = tools.filter((t) => t.annotations?.readOnlyHint).map((t) => ({
      name: t.name, title: t.title, description: t.description, inputSchema: t.inputSchema,
      annotations: { readOnlyHint: true, untrustedContentHint: t.annotations.openWorldHint !== false },
      execute: async (input) => plain(await call("tools/call", { name: t.name, arguments: input ?? {} })),
    }));
    const done = [];
    for (const tool of [...free, ...buying(tools)]) {
      try { // one that is refused does not stop the rest
        await context.registerTool(tool);
        done.push(tool.name);
      } catch { }
    }
    return done;
  }

  register().then((names) => {
    const here = document.getElementById("webmcp");
    if (here && names.length) here.textContent = "This page offers " + names.length + " tools to your browser's agent: " + names.join(", ") + ".";
  }, () => { });
})();
