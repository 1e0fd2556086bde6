package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/content/api"
)

// toolsPage is the page that offers tools to the agent of a browser.
type toolsPage struct {
	*browser.Page
	t *testing.T
}

// execute calls a tool of the page.
func (p toolsPage) execute(tool string, input any) (said json.RawMessage) {
	p.t.Helper()
	b, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Eval(fmt.Sprintf(`document.modelContext.getTools().then(l => document.modelContext.executeTool(`+
		`l.find(t => t.name === %q), %s)).then(s => typeof s === "string" ? JSON.parse(s) : s)`, tool, b), &said)
	return said
}

// In a browser the page about MCP offers the free tools and two to buy with, the same as the door
// has; each free tool says what its route says, and a purchase is completed with what a wallet
// signed and nothing else.
func TestWebMCP(t *testing.T) {
	s := openStall(t)
	b := browser.Start(t)
	p := toolsPage{b.Open(s.url+"/mcp", browser.Screen{Width: 800}), t}
	var there bool
	if p.Eval(`!!document.modelContext`, &there); !there {
		npmtest.Unavailable(t, errors.New("this Chromium has no document.modelContext"))
	}
	var names []string
	for range 100 { // until the page has registered them
		p.Eval(`document.modelContext.getTools().then(l => l.map(t => t.name))`, &names)
		if slices.Contains(names, "complete_store_purchase") {
			break
		}
	}
	want := append(slices.Clone(api.FreeTools), "quote_store_purchase", "complete_store_purchase")
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Fatalf("the page offers %v, want %v", names, want)
	}
	t.Run("the same as over HTTP", func(t *testing.T) { toolsPage{p.Page, t}.sameAsHTTP(s) })
	t.Run("a payment that was signed before", func(t *testing.T) {
		order := map[string]any{"item_id": "small_blessing", "inputs": map[string]string{"agent_name": "a page"}}
		order["payment"] = s.pay(t, s.net.Buyers[0], p.execute("quote_store_purchase", order))
		if earned := s.earned(func() {
			for _, again := range []string{"false", "true"} {
				said := p.execute("complete_store_purchase", order)
				if !bytes.Contains(said, []byte(`"idempotent_replay":`+again)) {
					t.Errorf("complete_store_purchase: %.300s", said)
				}
			}
		}); earned != 5_000 {
			t.Errorf("a purchase in the page earned %d", earned)
		}
	})
	t.Run("the wallet of the browser", func(t *testing.T) { toolsPage{p.Page, t}.demonstrate(s, s.net.Buyers[1]) })
	t.Run("silent without WebMCP", func(t *testing.T) {
		plain := b.Open(s.url+"/about", browser.Screen{Width: 800})
		var said struct {
			Threw      bool
			Calls, Top int
		}
		// Neither name is there, as in any other browser: the scripts ask and show nothing.
		plain.Eval(`(async () => {
			const before = document.body.childElementCount;
			let calls = 0, threw = false;
			const asked = window.fetch;
			window.fetch = (...a) => { calls++; return asked(...a); };
			window.onerror = () => { threw = true; };
			Object.defineProperty(document, "modelContext", { value: undefined });
			Object.defineProperty(navigator, "modelContext", { value: undefined });
			for (const src of ["/webmcp.js", "/webmcp-demo.js"]) await new Promise((onload, onerror) =>
				document.head.append(Object.assign(document.createElement("script"), { src, onload, onerror })));
			return { threw, calls, top: document.body.childElementCount - before };
		})()`, &said)
		if said.Threw || said.Calls != 0 || said.Top != 0 {
			t.Errorf("without WebMCP the scripts do %+v", said)
		}
	})
}

// freeCalls are arguments for every free tool: one that is answered, or one that is refused where
// an answer would take a stranger's door.
func (s *stall) freeCalls(t *testing.T) map[string]map[string]any {
	inside := map[string]any{"url": "https://127.0.0.1/door"}
	var vectors struct{ Fixtures []struct{ Artifact string } }
	if err := json.Unmarshal([]byte(s.page(t, "/.well-known/conformance/offer-receipt-vectors.json")),
		&vectors); err != nil || len(vectors.Fixtures) == 0 {
		t.Fatalf("vectors: %v", err)
	}
	return map[string]map[string]any{
		"check_a2a_card": inside, "preflight_endpoint": inside, "look_at_door": inside, "check_before_you_pay": inside,
		"check_purchase": {"purchase_id": "pur_aaaaaaaaaaaaaaaaaaaa", "status_token": "none"},
		"read_binder":    {}, "look_in_window": {}, "read_store_guide": {}, "find_in_catalog": {"q": "rock"},
		"check_conformance": {"artifact": vectors.Fixtures[0].Artifact, "kind": "offer"},
		"verify_artifact":   {"id": "cert_aaaaaaaaaaaaaaaaaaaa"},
		"check_order":       {"order_id": "order_aaaaaaaaaaaaaaaaaaaa"},
	}
}

// sameAsHTTP calls every free tool in the page and over HTTP, as /openapi-tools.json says.
func (p toolsPage) sameAsHTTP(s *stall) {
	var doc struct {
		Calls map[string]struct {
			Method, URL string
			Arguments   map[string]string
		}
	}
	if err := json.Unmarshal([]byte(s.page(p.t, "/openapi-tools.json")), &doc); err != nil {
		p.t.Fatal(err)
	}
	calls := s.freeCalls(p.t)
	for _, tool := range api.FreeTools {
		arguments, call := calls[tool], doc.Calls[tool]
		at, query, body, header := call.URL, url.Values{}, map[string]any{}, http.Header{"Accept": {"application/json"}}
		for name, value := range arguments {
			switch in := call.Arguments[name]; {
			case in == "query":
				query.Set(name, fmt.Sprint(value))
			case in == "body":
				body[name] = value
			case in == "path":
				at = strings.Replace(at, "{"+name+"}", fmt.Sprint(value), 1)
			case strings.HasPrefix(in, "header Authorization"):
				header.Set("Authorization", "Bearer "+fmt.Sprint(value))
			default:
				p.t.Errorf("%s: %s goes into %q", tool, name, in)
			}
		}
		raw, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		r, err := http.NewRequest(call.Method, at+"?"+query.Encode(), bytes.NewReader(raw))
		if err != nil {
			p.t.Fatal(err)
		}
		if r.Header = header; call.Method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			p.t.Fatal(err)
		}
		over, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			p.t.Fatal(err)
		}
		if in, out := p.lasting(p.execute(tool, arguments)), p.lasting(over); in != out || len(in) < 40 {
			p.t.Errorf("%s: in the page\n%.600s\nover HTTP, status %d,\n%.600s", tool, in, resp.StatusCode, out)
		}
	}
}

// lasting is an answer without what differs from one moment, or one way of asking, to the next; of
// a text that is no JSON, the text.
func (p toolsPage) lasting(said []byte) string {
	var v map[string]any
	if err := json.Unmarshal(said, &v); err != nil {
		v = map[string]any{"text": string(said)}
	}
	for _, name := range []string{"_meta", "notice", "instance", "extensions"} {
		delete(v, name)
	}
	out, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	return moments.ReplaceAllString(string(out), "a moment")
}

// moments are times as answers have them.
var moments = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// signTyped is the signature of a wallet under what EIP-712 makes of something.
func signTyped(t *testing.T, typed apitypes.TypedData, by chaintest.Key) []byte {
	t.Helper()
	sum, _, err := apitypes.TypedDataAndHash(typed)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := crypto.Sign(sum, by.Private)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return signature
}

// demonstrate buys with the buttons of the page. The browser's wallet hands out what it is asked to
// sign and waits: once it refuses, once it signs what EIP-712 makes of it.
func (p toolsPage) demonstrate(s *stall, buyer chaintest.Key) {
	t := p.t
	press := func(id string) { p.Eval(`(document.getElementById("`+id+`").click(), 0)`, nil) }
	until := func(says ...string) (said string) {
		t.Helper()
		for range 2000 {
			// A timer of the page's own, so that the store has time to answer.
			p.Eval(`new Promise(r => setTimeout(r, 20)).then(() => document.getElementById("webmcp-said").textContent)`,
				&said)
			if slices.ContainsFunc(says, func(w string) bool { return strings.Contains(said, w) }) {
				return said
			}
		}
		t.Fatalf("the page says %.500s, want one of %q", said, says)
		return said
	}
	p.Eval(fmt.Sprintf(`(() => {
		window.sent = [];
		const asked = window.fetch;
		window.fetch = (at, init) => { window.sent.push(init.body); return asked(at, init); };
		window.ethereum = { request: ({ method, params }) => ({
			eth_requestAccounts: async () => [%q], eth_chainId: async () => "0x2105",
			eth_signTypedData_v4: () => new Promise((sign, refuse) => { window.toSign = { text: params[1], sign, refuse }; }),
		})[method]() };
	})()`, buyer.Address.Hex()), nil)
	p.Eval(`(document.getElementById("webmcp-tool").value = "find_in_catalog",
		document.getElementById("webmcp-input").value = '{"q": "rock"}', 0)`, nil)
	press("webmcp-call")
	until(`"pet_rock"`)
	press("webmcp-buy")
	until("Ask what it costs first.")
	press("webmcp-quote")
	until(`"accepts"`)
	asked := func() (typed apitypes.TypedData) {
		t.Helper()
		var text string
		for range 2000 {
			if p.Eval(`new Promise(r => setTimeout(r, 20)).then(() => window.toSign?.text ?? "")`, &text); text != "" {
				break
			}
		}
		if err := json.Unmarshal([]byte(text), &typed); err != nil {
			t.Fatalf("the wallet is asked to sign %q: %v", text, err)
		}
		return typed
	}
	paid := func() (n int) {
		t.Helper()
		p.Eval(`window.sent.filter(b => b.includes("x402/payment")).length`, &n)
		return n
	}
	if earned := s.earned(func() {
		press("webmcp-buy")
		asked()
		p.Eval(`(window.toSign.refuse(new Error("the owner said no")), delete window.toSign, 0)`, nil)
		until("the owner said no")
	}); earned != 0 || paid() != 0 {
		t.Errorf("what its owner refused to sign earned %d and was sent %d times", earned, paid())
	}
	if earned := s.earned(func() {
		press("webmcp-buy")
		typed := asked()
		if n := paid(); n != 0 {
			t.Errorf("%d payments were sent before any was signed", n)
		}
		signature := signTyped(t, typed, buyer)
		p.Eval(fmt.Sprintf(`(window.toSign.sign(%q), 0)`, hexutil.Encode(signature)), nil)
		until(`"certificate"`)
		var sent struct {
			Params struct {
				Meta map[string]struct {
					Payload struct {
						Signature     string
						Authorization map[string]any
					}
				} `json:"_meta"`
			}
		}
		var body string
		p.Eval(`window.sent.find(b => b.includes("x402/payment"))`, &body)
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		pay := sent.Params.Meta["x402/payment"].Payload
		if pay.Signature != hexutil.Encode(signature) || !maps.Equal(pay.Authorization, typed.Message) {
			t.Errorf("signed was %v, sent was %+v", typed.Message, pay)
		}
	}); earned != 5_000 || paid() != 1 {
		t.Errorf("the wallet's purchase earned %d and was sent %d times", earned, paid())
	}
	press("webmcp-buy")
	until("Ask what it costs first.") // what is paid for is not signed for again
	if found := p.Axe(); len(found) > 0 {
		t.Errorf("the page with its demonstration: %q", found)
	}
}
