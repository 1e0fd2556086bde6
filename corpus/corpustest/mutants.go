package corpustest

import (
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// A Mutant is what a door answered whose terms were good before one to four changes.
type Mutant struct {
	URL      string
	Declared probe.Declaration
	GET      exchange.Response
	POST     exchange.Response // what it answers to POST
	Files    exchange.Response // what its own files say
	At       time.Time
}

// Recording is what a checker ends up with that walks to the mutant.
func (m Mutant) Recording(p *probe.Preflight) ([]exchange.Exchange, error) {
	var recorded []exchange.Exchange
	for {
		_, next, err := p.Step(recorded)
		if err != nil || next == nil {
			return recorded, err
		}
		x := exchange.Exchange{Request: next.Request, Response: m.GET, StartedAt: m.At,
			Duration: 100 * time.Millisecond}
		switch {
		case next.Request.Method == http.MethodPost:
			x.Response = m.POST
		case next.Request.URL != m.URL:
			x.Response = m.Files
		}
		if x.Response.Status == 0 {
			x.Error = exchange.Error{Stage: exchange.StageDeadline, Text: "no answer"}
		}
		recorded = append(recorded, x)
	}
}

// NewMutant returns the i-th mutant, the same one for ever: recorded judgements of mutants are
// compared with what later programs make of them.
func NewMutant(i uint64) Mutant {
	r := &mutation{rng: rand.New(rand.NewPCG(20261122, i)), header: http.Header{}}
	m := Mutant{URL: "https://door.example/weather", At: time.Date(2026, 11, 20, 10, 11, 12, 0, time.UTC)}
	r.terms = map[string]any{"x402Version": 2.0, "error": "Payment required",
		"resource": map[string]any{"url": m.URL, "description": "The weather.", "mimeType": "application/json"},
		"accepts":  []any{r.entry()}}
	for r.rng.IntN(2) == 0 && len(r.list()) < 4 {
		r.terms["accepts"] = append(r.list(), r.entry())
	}
	r.status = http.StatusPaymentRequired
	for range 1 + r.rng.IntN(4) {
		changes := mutations()
		changes[r.rng.IntN(len(changes))](r)
	}
	m.GET = r.response()
	m.POST, m.Files = m.GET, exchange.Response{Status: 404, Proto: "HTTP/2.0", Header: http.Header{}}
	if m.GET.Status == 404 || m.GET.Status == 405 || r.rng.IntN(8) == 0 {
		r.status = 402
		m.POST = r.response()
		if r.rng.IntN(3) == 0 {
			m.Declared = probe.Declaration{Method: http.MethodPost, By: "catalog"}
		}
		if r.rng.IntN(2) == 0 {
			m.Files = exchange.Response{Status: 200, Proto: "HTTP/2.0", Header: http.Header{},
				Body: []byte(`{"openapi":"3.1.0","paths":{"/weather":{"post":{}}},"resources":[{"url":"` + m.URL +
					`","method":"POST"}]}`)}
		}
	}
	return m
}

type mutation struct {
	rng    *rand.Rand
	terms  map[string]any
	status int
	header http.Header
	raw    string // instead of the terms
	twice  bool
	body   []byte
}

func (r *mutation) list() []any {
	list, _ := r.terms["accepts"].([]any)
	return list
}

// one is an entry that may be changed; an object that stands nowhere where there is none.
func (r *mutation) one() map[string]any {
	if list := r.list(); len(list) > 0 {
		if e, ok := list[r.rng.IntN(len(list))].(map[string]any); ok {
			return e
		}
	}
	return map[string]any{}
}

func (r *mutation) extra() map[string]any {
	if extra, ok := r.one()["extra"].(map[string]any); ok {
		return extra
	}
	return map[string]any{}
}

func (r *mutation) pick(of ...any) any { return of[r.rng.IntN(len(of))] }

// set gives a member another value; absent takes it away.
func (r *mutation) set(in map[string]any, name string, of ...any) {
	v := r.pick(of...)
	if v == any(absent{}) {
		delete(in, name)
		return
	}
	in[name] = v
}

type absent struct{}

// entry is a good way to pay in one of the tokens that the first mutants knew.
func (r *mutation) entry() map[string]any {
	type token struct{ network, asset, name, version string }
	t := []token{
		{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2"},
		{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2"},
		{"eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin", "2"},
		{"eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2"},
		{solana, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "", ""},
	}[r.rng.IntN(5)]
	e := map[string]any{"scheme": "exact", "network": t.network, "amount": "10000", "asset": t.asset,
		"payTo": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "maxTimeoutSeconds": 60.0,
		"extra": map[string]any{"name": t.name, "version": t.version}}
	if t.name == "" {
		e["payTo"] = "4xuFetaZeAVw81oNVVWVxEt2Jh5rmN1D66keucZ3kcav"
		e["extra"] = map[string]any{"feePayer": "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}
	}
	return e
}

// mutations are the ways in which doors were seen to go wrong, or could.
func mutations() []func(*mutation) {
	return []func(*mutation){
		func(r *mutation) {
			r.set(r.one(), "amount", "", "0", "0x10", "1.5", "-5", "1000000", "1000001", "1e4", 10000.0, nil, absent{},
				"00010000", strings.Repeat("9", 80))
		},
		func(r *mutation) {
			r.set(r.one(), "network", "base", "eip155:08453", "eip155:base", "eip155:8453", "eip155:10",
				"eip155:999999", "foobar:1", "stellar:pubnet", "solana:mainnet",
				"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "", nil, 8453.0,
				absent{})
		},
		func(r *mutation) {
			r.set(r.one(), "asset", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
				"0X833589FCD6EDB6E08F4C7C32D4F71B54BDA02913", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
				"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914", "USDC", "", absent{}, 7.0,
				"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "epjfwdd5aufqssqem2qn1xzybapc8g4wegggkzwytdt1v")
		},
		func(r *mutation) {
			r.set(r.one(), "payTo", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "shop.eth", "",
				"0x0000000000000000000000000000000000000000", "0x70997970c51812dc3A010C7d01b50e0d17dc79C8",
				"0x70997970c51812dc3a010c7d01b50e0d17dc79c", "4xuFetaZeAVw81oNVVWVxEt2Jh5rmN1D66keucZ3kcav", absent{},
				7.0, nil, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
		},
		func(r *mutation) {
			r.set(r.one(), "maxTimeoutSeconds", 0.0, -1.0, 1.0, 60.5, "60", absent{}, nil, true, 1e9, 300.0)
		},
		func(r *mutation) {
			r.set(r.one(), "scheme", "upto", "batch-settlement", "auth-capture", "barter", "", absent{}, 1.0)
		},
		func(r *mutation) { r.set(r.extra(), "name", "USDC", "USD Coin", "usd coin", "", absent{}, nil, 2.0) },
		func(r *mutation) { r.set(r.extra(), "version", "1", "2", "", absent{}, 2.0) },
		func(r *mutation) { r.set(r.extra(), "assetTransferMethod", "permit2", "eip3009", "iou", 7.0, nil) },
		func(r *mutation) { r.set(r.extra(), "paymentFlow", "upfront", "escrow", "authorization", "later", nil) },
		func(r *mutation) {
			r.set(r.extra(), "feePayer", absent{}, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "", 7.0)
		},
		func(r *mutation) { r.set(r.extra(), "memo", strings.Repeat("m", 300), "an order", "", 7.0) },
		func(r *mutation) { r.set(r.one(), "extra", absent{}, nil, "text", []any{}) },
		func(r *mutation) {
			r.set(r.terms, "accepts", []any{}, nil, absent{}, map[string]any{}, []any{"exact"}, []any{nil})
		},
		func(r *mutation) { r.terms["accepts"] = append(r.list(), r.entry()) },
		func(r *mutation) { r.terms["accepts"] = append([]any{r.entry()}, r.list()...) },
		func(r *mutation) { r.set(r.terms, "x402Version", 1.0, "2", absent{}, 3.0, nil) },
		func(r *mutation) { r.set(r.terms, "resource", absent{}, nil, "https://door.example/weather") },
		func(r *mutation) {
			r.set(r.terms, "extensions", map[string]any{"bazaar": map[string]any{}}, map[string]any{"bazaar": 1.0},
				map[string]any{"offer-receipt": map[string]any{"info": map[string]any{"offers": []any{1.0}}}})
		},
		func(r *mutation) { r.status = r.pick(200, 301, 403, 404, 404, 405, 405, 429, 500, 501, 503).(int) },
		func(r *mutation) { r.header.Set("Allow", r.pick("POST", "GET", "OPTIONS, post").(string)) },
		func(r *mutation) { r.header.Set("Cf-Mitigated", "challenge") },
		func(r *mutation) { r.header.Set("X-Padding", strings.Repeat("x", r.pick(1000, 17000).(int))) },
		func(r *mutation) {
			r.header.Set("Www-Authenticate", r.pick("Bearer", `L402 macaroon="AGIAJEem", invoice="lnbc10n1p"`,
				`Payment id="a", realm="door.example", method="evm", intent="charge", request="e30"`).(string))
		},
		func(r *mutation) { r.twice = true },
		func(r *mutation) { r.raw = r.pick("none", "text", "url", "unpadded", "cut", "duplicate").(string) },
		func(r *mutation) {
			r.body = must(json.Marshal(r.terms, json.Deterministic(true)))
			r.raw = r.pick("", "none").(string)
		},
		func(r *mutation) {
			r.body = []byte(`{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[{"scheme":"exact",` +
				`"network":"base","maxAmountRequired":"10000","resource":"https://door.example/weather",` +
				`"description":"","mimeType":"","payTo":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8",` +
				`"maxTimeoutSeconds":60,"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
				`"extra":{"name":"USD Coin","version":"2"}}]}`)
			r.raw = r.pick("", "none", "none").(string)
		},
	}
}

// response is what the changes have made.
func (r *mutation) response() exchange.Response {
	out := exchange.Response{Status: r.status, Proto: "HTTP/2.0", Header: r.header.Clone(), Body: r.body}
	text := must(json.Marshal(r.terms, json.Deterministic(true)))
	if r.raw == "duplicate" {
		text = []byte(strings.Replace(string(text), "{", `{"x402Version":2,"x402Version":2,`, 1))
	}
	values := []string{base64.StdEncoding.EncodeToString(text)}
	switch r.raw {
	case "none":
		values = nil
	case "text":
		values = []string{string(text)}
	case "url":
		values = []string{base64.URLEncoding.EncodeToString(text)}
	case "unpadded":
		values = []string{base64.RawStdEncoding.EncodeToString(text)}
	case "cut":
		values = []string{values[0][:len(values[0])/2]}
	}
	if r.twice {
		values = append(values, values...)
	}
	if r.status == http.StatusPaymentRequired || len(r.list()) > 1 {
		out.Header["Payment-Required"] = values
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("a mutant that cannot be written: ", err))
	}
	return v
}
