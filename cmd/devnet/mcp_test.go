package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/shop"
)

// dialect is a way in which a stock client pays over MCP, with the door that it needs.
type dialect struct {
	name, door string
	clients.MCPOptions
}

var dialects = []dialect{
	{"x402", "/mcp", clients.MCPOptions{Dialect: "x402"}},
	{"x402-base64", "/mcp", clients.MCPOptions{Dialect: "x402", Encoded: true}},
	{"x402-result", "/mcp?unpaid=result", clients.MCPOptions{Dialect: "x402"}},
	{"mppx", "/mcp?unpaid=result", clients.MCPOptions{Dialect: "mppx"}},
	{"x402-2026", "/mcp", clients.MCPOptions{Dialect: "x402", Revision: "2026-07-28"}},
	{"x402-extension", "/mcp", clients.MCPOptions{Dialect: "x402-extension", Revision: "2026-07-28"}},
	{"mppx-2026", "/mcp", clients.MCPOptions{Dialect: "mppx", Revision: "2026-07-28"}},
}

// earned is what a stall has earned by f on its first network.
func (s *stall) earned(f func()) int64 {
	before := s.nodes[0].Balance(s.payTo.address())
	f()
	return s.nodes[0].Balance(s.payTo.address()) - before
}

// Each stock client lists what a door has and buys by its own dialect, and pays once.
func TestStockMCPClientsBuy(t *testing.T) {
	s := openStall(t)
	for door, want := range map[string][2]int{"/mcp": {27, 7}, "/mcp/verifier": {5, 0}, "/mcp/docs": {1, 7},
		"/mcp.md": {1, 7}} {
		for revision, speaks := range map[string]string{"": "2025-06-18", "2026-07-28": "2026-07-28"} {
			d := clients.ListMCP(t, revision, s.url+door)
			if len(d.Tools) < want[0] || len(d.Resources) != want[1] || d.Version != speaks {
				t.Errorf("%s lists %d tools and %d resources, revision %s", door, len(d.Tools), len(d.Resources),
					d.Version)
			}
		}
	}
	for _, d := range dialects {
		o := d.MCPOptions
		o.Key, o.Network = s.net.Buyers[0].Hex(), s.nodes[0].Network.ID()
		got := s.earned(func() {
			a := clients.CallMCP(t, o, s.url+d.door, fmt.Sprintf(`buy_small_blessing={"agent_name":%q}`, d.name))[0]
			if a.Result == nil || a.Result.IsError || a.Payments != 1 || a.Asked != 1 ||
				!bytes.Contains(a.Result.StructuredContent, []byte(`"certificate"`)) ||
				len(a.Result.Meta["x402/payment-response"])+len(a.Result.Meta["org.paymentauth/receipt"]) == 0 {
				t.Errorf("%s: %d payments, asked %d times: %s %.300s", d.name, a.Payments, a.Asked, a.Error, a.Data)
			}
		})
		if got != 5_000 {
			t.Errorf("%s earned %d", d.name, got)
		}
		if d.name != "x402" && d.name != "mppx" {
			continue
		}
		// Who has no dollars is refused and not billed.
		o.Key = s.net.Poor.Hex()
		if got := s.earned(func() {
			if a := clients.CallMCP(t, o, s.url+d.door, `buy_small_blessing={"agent_name":"poor"}`)[0]; a.Payments == 0 ||
				a.Result != nil && !a.Result.IsError {
				t.Errorf("%s, without a dollar: %+v", d.name, a)
			}
		}); got != 0 {
			t.Errorf("%s, without a dollar, earned %d", d.name, got)
		}
	}
	// A client that waits for error 402 and one that waits for a result are answered each in its
	// way.
	mppx := clients.MCPOptions{Dialect: "mppx", Key: s.net.Buyers[0].Hex()}
	if a := clients.CallMCP(t, mppx, s.url+"/mcp", "buy_hello")[0]; string(a.Code) != "402" || a.Payments != 0 {
		t.Errorf("mppx at the door of errors: %+v", a)
	}
	// A picture is also an image.
	o := clients.MCPOptions{Dialect: "x402", SpendOff: true, Key: s.net.Buyers[1].Hex(),
		Network: s.nodes[0].Network.ID()}
	a := clients.CallMCP(t, o, s.url+"/mcp", "buy_portrait")[0]
	if a.Result == nil || len(a.Result.Content) != 2 || a.Result.Content[1].Type != "image" {
		t.Errorf("a portrait: %s %+v", a.Error, a.Result)
	}
}

// tellDoors holds the files that tell agents of the doors against the store: what they name is
// there, and no door says that a client has to log in.
func (s *stall) tellDoors(t *testing.T) {
	t.Helper()
	named := regexp.MustCompile(regexp.QuoteMeta(s.url) + `[^"#? ]*`)
	for _, file := range []string{"/.well-known/mcp", "/.well-known/ai-catalog.json", "/.well-known/api-catalog",
		"/.well-known/oauth-protected-resource", "/mcp/server-card", "/mcp/verifier/server-card",
		"/mcp/docs/server-card"} {
		body := s.page(t, file)
		if strings.Contains(body, "authorization_servers") || !json.Valid([]byte(body)) {
			t.Errorf("%s: %s", file, body)
		}
		urls := named.FindAllString(body, -1)
		if len(urls) == 0 {
			t.Errorf("%s names nothing", file)
		}
		for _, u := range urls {
			resp, err := http.Get(u)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusMethodNotAllowed ||
				resp.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s names %s: status %d", file, u, resp.StatusCode)
			}
		}
	}
}

// page is the body of a page that there is.
func (s *stall) page(t *testing.T, path string) string {
	t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", path, resp.StatusCode, err)
	}
	return string(b)
}

// to hands a call on to a stall.
type to func(context.Context, []byte) *http.Response

// loss loses the answer to a call.
type loss func(w http.ResponseWriter, r *http.Request, forward to, body []byte)

// answers hands a call on, and answers by itself.
func answers(code int) loss {
	return func(w http.ResponseWriter, r *http.Request, forward to, body []byte) {
		forward(r.Context(), body)
		w.WriteHeader(code)
	}
}

// losses are the ways in which the answer to a paid call is lost, the first time.
var losses = map[string]loss{
	"502": answers(http.StatusBadGateway),
	"504": answers(http.StatusGatewayTimeout),
	"connection lost": func(_ http.ResponseWriter, r *http.Request, forward to, body []byte) {
		forward(r.Context(), body)
		panic(http.ErrAbortHandler)
	},
	"fresh terms": func(w http.ResponseWriter, r *http.Request, forward to, body []byte) {
		forward(r.Context(), body)
		var m map[string]any
		if json.Unmarshal(body, &m) == nil {
			meta := m["params"].(map[string]any)["_meta"].(map[string]any)
			delete(meta, "x402/payment")
			delete(meta, "org.paymentauth/credential")
		}
		unpaid, _ := json.Marshal(m)
		pass(w, forward(r.Context(), unpaid))
	},
	"time-out at the client": func(_ http.ResponseWriter, r *http.Request, forward to, body []byte) {
		forward(context.WithoutCancel(r.Context()), body)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	},
	"body cut": func(w http.ResponseWriter, r *http.Request, forward to, body []byte) {
		answer := forward(r.Context(), body)
		b, _ := io.ReadAll(answer.Body)
		maps.Copy(w.Header(), answer.Header)
		w.Write(b[:len(b)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	"gone before the answer": func(w http.ResponseWriter, r *http.Request, forward to, body []byte) {
		ctx, cancel := context.WithCancel(r.Context())
		go cancel()
		forward(ctx, body)
		w.WriteHeader(http.StatusBadGateway)
	},
}

func pass(w http.ResponseWriter, answer *http.Response) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	io.Copy(w, answer.Body)
}

// lossy stands before a stall and loses the first answer to each payment, in the way that the
// order's agent_name begins with.
func lossy(t *testing.T, s *stall) string {
	var mu sync.Mutex
	lost := make(map[string]bool)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		forward := func(ctx context.Context, body []byte) *http.Response {
			out, err := http.NewRequestWithContext(ctx, r.Method, s.url+r.URL.RequestURI(), bytes.NewReader(body))
			if err != nil {
				panic(err)
			}
			out.Header = r.Header.Clone()
			answer, err := http.DefaultClient.Do(out)
			if err != nil {
				return &http.Response{Body: http.NoBody, StatusCode: http.StatusBadGateway}
			}
			t.Cleanup(func() { answer.Body.Close() })
			return answer
		}
		if bytes.Contains(body, []byte(`"x402/payment"`)) || bytes.Contains(body, []byte(`"org.paymentauth/credential"`)) {
			for name, lose := range losses {
				mu.Lock()
				mine := bytes.Contains(body, []byte(`"`+name+`, `)) && !lost[name]
				lost[name] = lost[name] || mine
				mu.Unlock()
				if mine {
					lose(w, r, forward, body)
					return
				}
			}
		}
		pass(w, forward(r.Context(), body))
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// got is what a call was answered with, nil for nothing.
func got(a clients.MCPAnswer) []byte {
	if a.Result == nil {
		return nil
	}
	return a.Result.StructuredContent
}

// An answer that is lost in any way costs nothing: the client that calls again gets what it paid
// for, and one order is one charge, without a line of the buyer's code.
func TestAnswersLostOverMCP(t *testing.T) {
	s := openStall(t)
	for these := range slices.Chunk(dialects, len(s.net.Buyers)) {
		t.Run("", func(t *testing.T) { s.loseOverMCP(t, these) })
	}
}

// loseOverMCP loses answers in each dialect at the same time, each with a wallet of its own.
func (s *stall) loseOverMCP(t *testing.T, dialects []dialect) {
	node := s.nodes[0]
	for i, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			var calls []string
			for name := range losses {
				calls = append(calls, fmt.Sprintf(`buy_small_blessing={"agent_name":"%s, %s"}`, name, d.name))
			}
			o := d.MCPOptions
			o.Key, o.Network, o.Tries, o.Timeout = s.net.Buyers[i].Hex(), s.nodes[0].Network.ID(), 4, 8000
			door := lossy(t, s) + d.door
			before := node.Balance(s.net.Buyers[i].Address)
			for j, a := range clients.CallMCP(t, o, door, calls...) {
				// Who has gone may have gone before the order was there.
				again := bytes.Contains(got(a), []byte(`"idempotent_replay":true`))
				if a.Result == nil || a.Result.IsError || !again && !strings.Contains(calls[j], "gone") {
					t.Errorf("%s: %d payments: %s %.500s", calls[j], a.Payments, a.Error, a.Data)
				}
			}
			paid, want := before-node.Balance(s.net.Buyers[i].Address), int64(len(calls))*5_000
			if paid != want {
				t.Errorf("%d orders cost %d, want %d", len(calls), paid, want)
			}
		})
	}
}

// terms is what a call is to be paid by.
type terms struct {
	X402Version int               `json:"x402Version"`
	Accepts     []json.RawMessage `json:"accepts"`
	Resource    json.RawMessage   `json:"resource"`
	Extensions  json.RawMessage   `json:"extensions"`
}

// pay signs the first of the terms.
func (s *stall) pay(t *testing.T, k chaintest.Key, data json.RawMessage) map[string]any {
	t.Helper()
	var asked terms
	if err := json.Unmarshal(data, &asked); err != nil || len(asked.Accepts) == 0 {
		t.Fatalf("terms %.300s: %v", data, err)
	}
	var first struct {
		Amount  string
		Seconds uint64 `json:"maxTimeoutSeconds"`
	}
	if err := json.Unmarshal(asked.Accepts[0], &first); err != nil {
		t.Fatal(err)
	}
	var amount int64
	fmt.Sscan(first.Amount, &amount)
	a := s.nodes[0].Authorize(k.Address, s.payTo.address(), amount)
	// As stock clients count: by the clock, which a chain leads after many purchases.
	a.ValidBefore = uint64(time.Now().Unix()) + first.Seconds
	p := s.nodes[0].Sign(k, a)
	return map[string]any{"x402Version": 2, "accepted": asked.Accepts[0], "resource": asked.Resource,
		"extensions": asked.Extensions, "payload": map[string]any{"signature": hexutil.Encode(p.Signature),
			"authorization": map[string]string{"from": a.From.Hex(), "to": a.To.Hex(), "value": a.Value.String(),
				"validAfter": fmt.Sprint(a.ValidAfter), "validBefore": fmt.Sprint(a.ValidBefore),
				"nonce": hexutil.Encode(a.Nonce[:])}}}
}

func connect(t *testing.T, door string) *sdk.ClientSession {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: door, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// asked is the terms of an unpaid call, which the client has in a result: it speaks 2026-07-28.
func asked(t *testing.T, c *sdk.ClientSession, call *sdk.CallToolParams) json.RawMessage {
	t.Helper()
	r, err := c.CallTool(t.Context(), call)
	if err != nil || !r.IsError {
		t.Fatalf("unpaid: %+v, %v", r, err)
	}
	terms, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

// The Go SDK's client lists, reads, and buys, twenty at once; each order is one charge.
func TestGoMCPClientBuys(t *testing.T) {
	s := openStall(t)
	s.tellDoors(t)
	c := connect(t, s.url+"/mcp")
	tools, resources := 0, 0
	for _, err := range c.Tools(t.Context(), nil) {
		if tools++; err != nil {
			t.Fatal(err)
		}
	}
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		resources++
		if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI}); err != nil {
			t.Errorf("%s: %v", r.URI, err)
		}
	}
	if tools < 27 || resources != 7 {
		t.Errorf("%d tools, %d resources", tools, resources)
	}
	var wg sync.WaitGroup
	got := s.earned(func() {
		for i := range 20 {
			call := &sdk.CallToolParams{Name: "buy_small_blessing", Arguments: map[string]any{
				"agent_name": fmt.Sprintf("agent %d", i)}}
			data := asked(t, c, call)
			wg.Go(func() {
				call.Meta = sdk.Meta{"x402/payment": s.pay(t, s.net.Buyers[i%len(s.net.Buyers)], data),
					"x402/idempotency-key": fmt.Sprintf("order-of-the-test-%d", i)}
				for range 2 { // the second is a repeat
					r, err := c.CallTool(t.Context(), call)
					if err != nil || r.IsError || r.Meta["x402/payment-response"] == nil {
						t.Errorf("agent %d: %+v, %v", i, r, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	if got != 20*5_000 {
		t.Errorf("twenty orders earned %d", got)
	}
	s.ordersByHand(t, c)
	// A message that is too long is refused before it is read.
	resp, err := http.Post(s.url+"/mcp", "application/json", strings.NewReader(strings.Repeat(" ", 10<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("10 MB: status %d", resp.StatusCode)
	}
}

// One payment is one sale, whichever revisions it is sent in: refused where its request contradicts
// itself, sold once, answered again in the other.
func TestOnePaymentInTwoRevisions(t *testing.T) {
	t.Parallel()
	s := openStall(t)
	send := func(meta map[string]any, fields []string) string {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": "buy_small_blessing", "arguments": map[string]any{"agent_name": "Ada"},
				"_meta": meta}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(fields); i += 2 {
			r.Header.Add(fields[i], fields[i+1])
		}
		_, said := s.fetch(t, r)
		return said
	}
	var unpaid struct {
		Error struct{ Data json.RawMessage }
	}
	if err := json.Unmarshal([]byte(send(nil, nil)), &unpaid); err != nil {
		t.Fatal(err)
	}
	old := map[string]any{"x402/payment": s.pay(t, s.net.Buyers[0], unpaid.Error.Data)}
	with := func(name string, value any) map[string]any {
		meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}, name: value}
		maps.Copy(meta, old)
		return meta
	}
	const version = "MCP-Protocol-Version"
	recent := []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "buy_small_blessing"}
	if got := s.earned(func() {
		for what, said := range map[string]string{
			"another tool":  send(with("x", 1), append(recent[:5:5], "buy_hello")),
			"two names":     send(with("x", 1), append(recent[:6:6], "Mcp-Name", "buy_hello")),
			"two versions":  send(with("x", 1), []string{version, "2025-06-18"}),
			"a future":      send(old, []string{version, "2027-01-01"}),
			"two protocols": send(with("org.paymentauth/credential", map[string]any{}), recent),
			"too long":      send(with("x", strings.Repeat("x", 70_000)), recent),
		} {
			if !strings.Contains(said, `"billed":"no"`) {
				t.Errorf("%s: %s", what, said)
			}
		}
	}); got != 0 {
		t.Errorf("contradictions earned %d", got)
	}
	if got := s.earned(func() {
		first, again := send(with("x", 1), recent), send(old, nil)
		if !strings.Contains(first, `"idempotent_replay":false`) || !strings.Contains(again, `"idempotent_replay":true`) {
			t.Errorf("%s\n%s", first, again)
		}
	}); got != 5_000 {
		t.Errorf("one payment earned %d", got)
	}
}

// A settlement whose outcome is not known is -32000 without terms; the same call with the same
// payment gets the goods once the chain has spoken. A call that its client gave up goes on.
func TestMCPSettlementUnknown(t *testing.T) {
	t.Parallel()
	s := openStallWith(t, nil, func(_ *stall, c *shop.Config) { c.Server.SettleWait = shop.Duration(time.Second) })
	c := connect(t, s.url+"/mcp")
	chain := s.net.Chains[0]
	call := &sdk.CallToolParams{Name: "buy_small_blessing", Arguments: map[string]any{"agent_name": "patient"}}
	call.Meta = sdk.Meta{"x402/payment": s.pay(t, s.net.Buyers[0], asked(t, c, call))}
	left := &sdk.CallToolParams{Name: "buy_small_blessing", Arguments: map[string]any{"agent_name": "left"}}
	left.Meta = sdk.Meta{"x402/payment": s.pay(t, s.net.Buyers[1], asked(t, c, left))}
	got := s.earned(func() {
		chain.SetAutomine(false)
		_, err := c.CallTool(t.Context(), call)
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != -32000 || !strings.Contains(string(e.Data), `"billed":"unknown"`) ||
			strings.Contains(string(e.Data), `"accepts"`) || strings.Contains(string(e.Data), "payment-required") ||
			!strings.Contains(string(e.Data), `"purchase_id"`) || !strings.Contains(string(e.Data), "settlement_pending") {
			t.Errorf("unknown: %v %+v", err, e)
		}
		sent := func() uint64 {
			n, err := chain.RPC.PendingNonceAt(t.Context(), s.net.Relayer.Address)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		ctx, cancel := context.WithCancel(t.Context())
		before, given := sent(), make(chan error)
		go func() { _, err := c.CallTool(ctx, left); given <- err }()
		s.until(t, "the payment was sent to the chain", func() bool { return sent() > before })
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		chain.SetAutomine(true)
		for _, call := range []*sdk.CallToolParams{call, left} {
			for range 300 { // a second each
				r, err := c.CallTool(t.Context(), call)
				if errors.As(err, &e) && e.Code == -32000 {
					continue // the chain has not spoken yet
				}
				if err != nil || r.IsError {
					t.Errorf("again: %+v, %v", r, err)
				}
				break
			}
		}
	})
	if got != 10_000 {
		t.Errorf("two orders earned %d", got)
	}
}
