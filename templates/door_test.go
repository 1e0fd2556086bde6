package templates_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/content"
	"store.example/agentstore/templates"
)

// hostile is a text that would run, were it ever markup.
const hostile = `</textarea><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'"`

func hostileDoor(t *testing.T) *templates.DoorView {
	t.Helper()
	return &templates.DoorView{Chrome: chrome(t), Page: templates.Page{Title: hostile, Summary: hostile, NoIndex: true},
		At: "/api/buy/thing", Tiers: []content.Tier{{Name: "minimum", Amount: 500_000}},
		Good: content.Good{ID: "thing", DoesNotProve: hostile, Constraints: []string{hostile}},
		Own: []templates.DoorInput{
			{Name: "detail", Type: "string", Max: 600, Multiline: true, Help: hostile,
				Value: hostile, Problem: hostile},
			{Name: "max_usd", Type: "number"},
			{Name: "no_spend_controls", Type: "boolean"},
			{Name: "url", Type: "string", Format: "uri", Value: hostile}},
		Offers: []templates.DoorOffer{
			{Network: "eip155:8453", Name: "Base", Amount: "500000", USDC: "0.5", Asset: "0xa5", PayTo: "0xb0b",
				Wallet: true},
			{Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Name: "Solana", Amount: "500000", USDC: "0.5",
				Asset: "mint", PayTo: "payee"}},
		LeftOut: []templates.Fact{{Name: hostile, Value: hostile}}}
}

// What is said of a good and what came in its inputs stand on the page as text, and in its commands
// as one word.
func TestDoorIsInert(t *testing.T) {
	v := hostileDoor(t)
	page, err := templates.HTML(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>window", "<img src=x", "</textarea><"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, s := range v.Steps() {
		if strings.Contains(s.Code, "window.pwned=1") || strings.ContainsAny(strings.Trim(v.URL(), "'"), `'"<> `) {
			t.Errorf("the command is %s", s.Code)
		}
	}
	v.Refusal = &templates.Refusal{Code: "sold_out", Title: "Sold out", Says: hostile, Status: 409}
	if page, err = templates.HTML(v); err != nil || bytes.Count(page, []byte("<script")) != 1 ||
		bytes.Contains(page, []byte(`id="order"`)) || !bytes.Contains(page, []byte("sold out")) {
		t.Errorf("sold out: %v\n%s", err, page)
	}
	v.Refusal, v.Held = nil, "/api/hold/thing"
	if page, err = templates.HTML(v); err != nil || !bytes.Contains(page, []byte(`href="/api/hold/thing"`)) {
		t.Errorf("the door of holds is not named: %v", err)
	}
	v.Hold, v.Held = true, ""
	if page, err = templates.HTML(v); err != nil || !bytes.Contains(page, []byte("AuthCaptureEvmScheme")) ||
		bytes.Contains(page, []byte("store buy")) || !bytes.Contains(page, []byte("your own wallet can take it back")) {
		t.Errorf("the door of holds: %v\n%s", err, page)
	}
}

// reply is how a stand-in for the store answers; status 0 is an answer that is cut. (Where nothing
// of it came, Chromium sends the request again by itself.)
type reply struct {
	status int
	body   string
}

// counterStand stands in for the store behind the page of a door.
type counterStand struct {
	page  []byte
	mu    sync.Mutex
	terms reply    // guarded by mu, as all that follows
	paid  []reply  // the answers to payments, in order
	came  []string // the payments
	asked []string // the bodies of orders without one
}

func (c *counterStand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
	script := map[string][]byte{"/door.js": templates.Asset("door.js"),
		"/wallet.js": templates.Asset("wallet.js")}[r.URL.Path]
	switch {
	case script != nil:
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(script)
	case r.URL.Path == "/door.css":
		w.Header().Set("Content-Type", "text/css")
		w.Write(templates.Asset("door.css"))
	case r.URL.Path == "/style.css":
		w.Header().Set("Content-Type", "text/css")
		w.Write(templates.Asset("style.css"))
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusPaymentRequired)
		w.Write(c.page)
	default:
		c.answer(w, r)
	}
}

func (c *counterStand) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, payment := c.terms, r.Header.Get("PAYMENT-SIGNATURE")
	if payment == "" {
		b, _ := io.ReadAll(r.Body) // a test will miss what did not come
		c.asked = append(c.asked, string(b))
	} else {
		a = c.paid[min(len(c.came), len(c.paid)-1)]
		c.came = append(c.came, payment)
	}
	if a.status == 0 {
		w.Header().Set("Content-Length", "99")
		io.WriteString(w, "{")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// doorTerms are the terms of a 402, with one amount for one payee.
func doorTerms(amount, payTo string) reply {
	return reply{402, fmt.Sprintf(`{"x402Version":2,"resource":{"url":"u"},"extensions":{"n":{"info":"\u00e9"}},"accepts":[
		{"scheme":"exact","network":"eip155:8453","amount":%q,"asset":"0xa5","payTo":%q,"maxTimeoutSeconds":300,
		"extra":{"name":"USD Coin","version":"2"}}]}`, amount, payTo)}
}

// delivered is an answer whose every text would run, were it markup.
var delivered = reply{200, mustJSON(map[string]any{"message": hostile, "paid_usdc": "0.5", "tip_usdc": "0",
	"receipt": "r", "recovery": map[string]string{"purchase_id": hostile}, "cert_id": "../../evil",
	"deliverable": map[string]any{"kind": "x", "text": hostile, "long": strings.Repeat(hostile, 9),
		"drawing": `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"><script>top.pwned=1</script></svg>`,
		"more":    map[string]string{"of": hostile}}})}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func told(status int, billed, retry, reason string) reply {
	return reply{status, mustJSON(map[string]string{"billed": billed, "retry": retry, "reason": reason,
		"detail": "It was told.", "next_step": "And what next."})}
}

// asShown are the terms that the page shows.
var asShown = doorTerms("500000", "0xb0b")

const goodSignature = `"0x" + "1".repeat(130)`

// doorCases are what a wallet and a store may do while somebody buys: what the page says then, how
// often the wallet signed, how often a payment was presented, and whether the page would sign
// another one.
var doorCases = []struct {
	name   string
	wallet string // members of the wallet, beside those that work
	terms  reply
	paid   []reply
	says   string
	signed int
	came   int
	pays   bool
}{
	{"refused by its owner", `eth_signTypedData_v4: async () => { throw Object.assign(new Error("no"), { code: 4001 }); }`,
		asShown, nil, "You refused it in the wallet", 1, 0, true},
	{"no account", `eth_requestAccounts: async () => []`, asShown, nil, "no account", 0, 0, true},
	{"busy", `eth_requestAccounts: async () => { throw { code: -32002 }; }`, asShown, nil,
		"asking you something already", 0, 0, true},
	{"unknown chain", `eth_chainId: async () => "0x1", wallet_switchEthereumChain: async () => { throw { code: 4902 }; }`,
		asShown, nil, "does not know Base", 0, 0, true},
	{"stays elsewhere", `eth_chainId: async () => "0x1"`, asShown, nil, "stayed on another network", 0,
		0, true},
	{"no signature", `eth_signTypedData_v4: async () => "0xabc"`, asShown, nil, "is no signature", 1,
		0, true},
	{"another price", "", doorTerms("500001", "0xb0b"), nil, "has changed", 0, 0, true},
	{"another payee", "", doorTerms("500000", "0xbad"), nil, "has changed", 0, 0, true},
	{"sold out", "", told(409, "", "", ""), nil, "It was told. And what next.", 0, 0, true},
	{"away", "", reply{}, nil, "did not answer. Nothing was signed", 0, 0, true},
	{"out of money", "", asShown, []reply{told(402, "no", "now", "insufficient_funds")},
		"holds less than the price", 1, 1, true},
	{"not taken", "", asShown, []reply{told(402, "no", "now", "x")}, "It was told. And what next.", 1,
		1, true},
	{"later", "", asShown, []reply{told(503, "no", "same_payment", "")}, "It was told.", 1, 1, false},
	{"owed", "", asShown, []reply{told(409, "yes", "never", "")}, "It was told.", 1, 1, false},
	{"unknown", "", asShown, []reply{told(503, "unknown", "same_payment", "")}, "It was told.", 1, 1,
		false},
	{"connection lost", "", asShown, []reply{{}}, "not known here", 1, 1, false},
	{"fresh terms", "", asShown, []reply{asShown}, "not known here", 1, 1, false},
	{"a gateway", "", asShown, []reply{{502, "<html>"}}, "not known here", 1, 1, false},
	{"nothing at all", "", asShown, []reply{{200, "null"}}, "not known here", 1, 1, false},
}

// Whatever a wallet or the store does, the page tells what to do; it signs nothing but what it
// shows, and nothing while a payment may have paid. That one is sent again as it was.
func TestDoorInABrowser(t *testing.T) {
	page, err := templates.HTML(hostileDoor(t))
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t)
	for _, c := range doorCases {
		t.Run(c.name, func(t *testing.T) {
			stand := &counterStand{page: page, terms: c.terms, paid: append(c.paid, delivered)}
			server := httptest.NewServer(stand)
			defer server.Close()
			p := b.Open(server.URL+"/api/buy/thing", browser.Screen{Width: 390})
			defer p.Close()
			p.Until(`!document.getElementById("door").hidden && !document.getElementById("door-none").hidden`)
			p.Eval(`(() => {
				window.signed = 0;
				const works = {
					eth_requestAccounts: async () => ["0x" + "a".repeat(40)], eth_chainId: async () => "0x2105",
					wallet_switchEthereumChain: async () => null, eth_signTypedData_v4: async () => `+goodSignature+`,
					`+c.wallet+`
				};
				const provider = { request: ({ method, params }) => {
					if (method === "eth_signTypedData_v4") window.signed++;
					return works[method](params);
				} };
				for (const detail of [null, {}, { info: {}, provider: 7 }, { info: { name: `+"`"+strings.ReplaceAll(hostile, "</script>", `<\/script>`)+"`"+` }, provider },
					{ info: { name: "two" }, provider: { ...provider } }]) {
					dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
				}
				document.getElementById("in-detail").value = "a\u00e9";
				document.getElementById("in-url").value = "";
				document.getElementById("in-max_usd").value = "1.5";
				document.getElementById("in-no_spend_controls").value = "true";
				document.getElementById("door-pay").click();
				document.getElementById("door-pay").click();
			})()`, nil)
			p.Until(fmt.Sprintf(`document.getElementById("door-said").textContent.includes(%q)`, c.says))
			var got struct {
				Signed, Wallets int
				Pays, Again     bool
			}
			state := `({ signed: window.signed, wallets: document.getElementById("door-wallet").length,
				pays: !document.getElementById("door-pay").hidden, again: !document.getElementById("door-again").hidden })`
			p.Eval(state, &got)
			if got.Signed != c.signed || got.Pays != c.pays || got.Again == c.pays || got.Wallets != 2 {
				t.Errorf("the page is at %+v, want %d signed and a button to pay: %v", got, c.signed, c.pays)
			}
			stand.mu.Lock()
			asked, came := stand.asked, len(stand.came)
			stand.mu.Unlock()
			if came != c.came || len(asked) != 1 && c.signed > 0 ||
				len(asked) > 0 && asked[0] != `{"detail":"aé","max_usd":1.5,"no_spend_controls":true}` {
				t.Errorf("asked %q, presented %d payments, want %d", asked, came, c.came)
			}
			if !c.pays {
				askAgain(t, p, stand)
			}
			var pwned bool
			if p.Eval(`"pwned" in window`, &pwned); pwned {
				t.Error("a text ran")
			}
		})
	}
}

// reload loads the page anew and waits until what is said of the new page holds: the old one
// answers until it is gone, and carries a mark.
func reload(p *browser.Page, holds string) {
	p.Eval(`(window.old = true, location.reload(), 0)`, nil)
	p.Until(`!window.old && ` + holds)
}

// askAgain loads the page anew, which has nothing to sign, and asks for the answer with the same
// payment.
func askAgain(t *testing.T, p *browser.Page, stand *counterStand) {
	t.Helper()
	reload(p, `document.getElementById("door-again")?.hidden === false`)
	p.Eval(`(document.getElementById("door-again").click(), 0)`, nil)
	p.Until(`document.getElementById("bought")`)
	var said string
	if p.Eval(`document.querySelector(".bought").textContent`, &said); strings.Count(said, hostile) < 11 {
		t.Errorf("what was bought is shown as %q", said)
	}
	var kept []string
	if p.Eval(`Object.keys(sessionStorage)`, &kept); !slices.Equal(kept, []string{"bought /api/buy/thing"}) {
		t.Errorf("of a purchase that is over %q are kept", kept)
	}
	reload(p, `document.getElementById("bought") && document.getElementById("bought-next")`) // it has no page of its own
	p.Eval(`(document.getElementById("bought-next").click(), 0)`, nil)
	p.Until(`document.getElementById("door-none")?.hidden === false`)
	stand.mu.Lock()
	defer stand.mu.Unlock()
	if len(stand.came) != 2 || stand.came[0] != stand.came[1] {
		t.Fatalf("presented were %q", stand.came)
	}
	raw, err := base64.StdEncoding.DecodeString(stand.came[0])
	var sent struct {
		Accepted   struct{ Amount, PayTo string }
		Extensions map[string]struct{ Info string }
		Payload    struct{ Authorization struct{ To, Value string } }
	}
	if err != nil || json.Unmarshal(raw, &sent) != nil || sent.Accepted.Amount != "500000" ||
		sent.Payload.Authorization.Value != "500000" || sent.Payload.Authorization.To != "0xb0b" ||
		sent.Extensions["n"].Info != "é" {
		t.Errorf("the payment is %s", raw)
	}
}
