// Adds to /mcp a demonstration of WebMCP: it calls the tools that the page offers as the agent of a browser would, and buys
// one good with the wallet of the browser, which asks its owner first. It adds nothing where there is no WebMCP.
(() => {
  const context = document.modelContext ?? navigator.modelContext;
  const here = document.getElementById("webmcp-demo");
  if (!here || !context?.getTools || !context.executeTool) return;

  const find = async (name) => (await context.getTools()).find((t) => t.name === name);

  // run calls a tool of the page and gives what it says.
  async function run(name, input) {
    const said = await context.executeTool(await find(name), input);
    return typeof said === "string" ? JSON.parse(said) : said;
  }

  // pay has the browser's wallet sign the first of the terms that it can.
  async function pay(terms) {
    const { payable, sign } = await import("/wallet.js");
    if (!window.ethereum) throw new Error("This browser has no wallet.");
    const accepted = terms.accepts?.find(payable);
    if (!accepted) throw new Error("None of the terms is for this kind of wallet.");
    return sign(window.ethereum, terms, accepted);
  }

  const make = (name, more = {}, ...inside) => {
    const e = Object.assign(document.createElement(name), more);
    e.append(...inside);
    return e;
  };
  const labelled = (text, field) => make("p", {}, make("label", { htmlFor: field.id, textContent: text }), " ", field);
  const tool = make("select", { id: "webmcp-tool" });
  const input = make("input", { id: "webmcp-input", value: "{}", autocomplete: "off", spellcheck: false });
  const item = make("input", { id: "webmcp-item", value: "small_blessing", maxLength: 60, autocomplete: "off", spellcheck: false });
  const said = make("pre", { id: "webmcp-said", tabIndex: 0 });
  Object.assign(said.style, { maxHeight: "24rem", overflow: "auto" });
  said.setAttribute("role", "status");
  said.setAttribute("aria-label", "What the tool said");
  const button = (id, text, does) => make("button", {
    id, type: "button", textContent: text, async onclick() {
      said.textContent = "Asked.";
      try {
        said.textContent = JSON.stringify(await does(), null, 2);
      } catch (e) {
        said.textContent = String(e.message ?? e);
      }
    },
  });
  let quoted; // the order that was asked for last, and its terms; gone once it was paid for

  const call = button("webmcp-call", "Call it", async () => run(tool.value, JSON.parse(input.value)));
  const quote = button("webmcp-quote", "Ask what it costs", async () => {
    const order = { item_id: item.value, inputs: {} };
    quoted = undefined;
    const terms = await run("quote_store_purchase", order);
    if (terms.accepts) quoted = { order, terms };
    return terms;
  });
  const buy = button("webmcp-buy", "Sign and buy", async () => {
    if (!quoted) throw new Error("Ask what it costs first.");
    // A payment that was signed is sent again as it is: a lost answer costs nothing.
    quoted.payment ??= await pay(quoted.terms);
    const bought = await run("complete_store_purchase", { ...quoted.order, payment: quoted.payment });
    if (bought.certificate) quoted = undefined;
    return bought;
  });

  // The tools come when the store has told of them.
  async function list() {
    const tools = (await context.getTools()).filter((t) => !t.name.endsWith("_store_purchase"));
    tool.replaceChildren(...tools.map((t) => make("option", { textContent: t.name })));
  }
  tool.onfocus = () => { if (!tool.length) list(); };
  context.addEventListener?.("toolchange", list);
  list();

  here.append(
    make("h2", { id: "demonstration", textContent: "Try it in this browser" }),
    make("p", { textContent: "The buttons call the page's own tools, as an agent would. Only the last one costs anything, and your wallet asks you first." }),
    labelled("Free tool", tool), labelled("Arguments, as JSON", input), call,
    labelled("Good", item), quote, " ", buy, said);
})();
