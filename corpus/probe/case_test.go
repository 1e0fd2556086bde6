package probe

import (
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"

	"github.com/rogpeppe/go-internal/txtar"
)

// goodChallenge is what every case starts from: ready under both batteries.
const goodChallenge = `{"x402Version":2,"error":"Payment required",
"resource":{"url":"https://door.example/weather","description":"The weather of one city","mimeType":"application/json"},
"accepts":[
 {"scheme":"exact","network":"eip155:8453","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  "payTo":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}},
 {"scheme":"exact","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"10000","asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
  "payTo":"4xuFetaZeAVw81oNVVWVxEt2Jh5rmN1D66keucZ3kcav","maxTimeoutSeconds":60,"extra":{"feePayer":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}}],
"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"GET","queryParams":{"city":"Bergen"}},"output":{"type":"json","example":{"sky":"rain"}}},
 "schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["input"],"properties":{
  "input":{"type":"object","required":["type","method"],"additionalProperties":false,"properties":{"type":{"const":"http"},"method":{"enum":["GET"]},
   "queryParams":{"type":"object","required":["city"],"properties":{"city":{"type":"string","minLength":1}}}}},
  "output":{"type":"object"}}}}}}`

const goodMPP = `{"amount":"10000","currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","methodDetails":{"chainId":8453,"credentialTypes":["authorization"],"decimals":6},"recipient":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}`

// door builds the exchanges of one case from a script, a line a step:
//
//	status N · method M · url U · at RFC3339 · error STAGE TEXT · header Name: value · noheader
//	set PATH JSON · del PATH · add PATH JSON     on the challenge
//	text GO-STRING      the challenge's exact text     raw GO-STRING   a PAYMENT-REQUIRED value as it is
//	encoding url|unpadded                              again           PAYMENT-REQUIRED twice
//	offers              an offer for each entry        offer N NAME JSON   changes one of its payloads
//	body GO-STRING · mirror · bodyset PATH JSON        the body, a copy of the challenge, a changed copy
//	mpp NAME=VALUE…     a Payment challenge; later parameters replace the good ones, NAME= removes one
//	mppset NAME JSON · mppraw VALUE                    its request
//	then                ends the exchange and begins the next one
func door(t testing.TB, script string) []exchange.Exchange {
	t.Helper()
	var out []exchange.Exchange
	for part := range strings.SplitSeq("\n"+script, "\nthen\n") {
		out = append(out, oneExchange(t, part, len(out)))
	}
	return out
}

func oneExchange(t testing.TB, script string, n int) exchange.Exchange {
	t.Helper()
	x := exchange.Exchange{
		Request: exchange.Request{Method: []string{"GET", "POST", "GET"}[min(n, 2)],
			URL:    "https://door.example/weather",
			Header: http.Header{}},
		Response: exchange.Response{Status: 402, Proto: "HTTP/2.0",
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte("{}")},
		StartedAt: time.Date(2026, 11, 20, 10, 11, 12, 0, time.UTC), Duration: 120 * time.Millisecond,
		RemoteAddr: "203.0.113.7:443",
	}
	challenge, mirror := parseAny(t, goodChallenge), any(nil)
	mpp := parseAny(t, goodMPP).(map[string]any)
	var changes []func()
	text, encoding := "", base64.StdEncoding
	header, again, offers, hasMPP := true, false, false, false
	var raw []string
	params := map[string]string{"id": "x1", "realm": "door.example", "method": "evm", "intent": "charge",
		"expires": "2026-11-20T10:16:12Z"}
	mppRaw, mppEncoding := "", base64.RawURLEncoding
	var overrides [][3]string
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "", "#":
		case "status":
			x.Response.Status = must(strconv.Atoi(rest))
		case "method":
			x.Request.Method = rest
		case "url":
			x.Request.URL = rest
		case "at":
			x.StartedAt = must(time.Parse(time.RFC3339, rest))
		case "error":
			stage, why, _ := strings.Cut(rest, " ")
			x.Error = exchange.Error{Stage: stage, Text: why}
			x.Response = exchange.Response{Header: http.Header{}}
			header = false
		case "header":
			name, value, _ := strings.Cut(rest, ": ")
			x.Response.Header[name] = append(x.Response.Header[name], value)
		case "padding":
			x.Response.Header["X-Padding"] = []string{strings.Repeat("x", must(strconv.Atoi(rest)))}
		case "noheader":
			header = false
		case "again":
			again = true
		case "set", "add":
			path, value, _ := strings.Cut(rest, " ")
			challenge = edit(t, challenge, strings.Split(path, "."), verb, parseAny(t, value))
		case "del":
			challenge = edit(t, challenge, strings.Split(rest, "."), verb, nil)
		case "text":
			text = must(strconv.Unquote(rest))
		case "raw":
			raw = append(raw, must(strconv.Unquote(rest)))
		case "encoding":
			encoding = map[string]*base64.Encoding{"url": base64.URLEncoding, "unpadded": base64.RawStdEncoding}[rest]
		case "offers":
			offers = true
		case "offer":
			offers = true
			f := strings.SplitN(rest, " ", 3)
			overrides = append(overrides, [3]string(f))
		case "body":
			x.Response.Body = []byte(must(strconv.Unquote(rest)))
		case "long":
			x.Response.Body = make([]byte, must(strconv.Atoi(rest)))
		case "mirror":
			changes = append(changes, func() { mirror = clone(t, challenge) })
		case "bodyset":
			path, value, _ := strings.Cut(rest, " ")
			changes = append(changes,
				func() { mirror = edit(t, mirror, strings.Split(path, "."), "set", parseAny(t, value)) })
		case "bodydel":
			changes = append(changes, func() { mirror = edit(t, mirror, strings.Split(rest, "."), "del", nil) })
		case "mpp":
			hasMPP = true
			for p := range strings.FieldsSeq(rest) {
				name, value, _ := strings.Cut(p, "=")
				params[name] = value
			}
		case "mppset":
			name, value, _ := strings.Cut(rest, " ")
			mpp[name] = parseAny(t, value)
		case "mppdel":
			delete(mpp, rest)
		case "mppraw":
			mppRaw = rest
		case "mpppadded":
			mppEncoding = base64.URLEncoding
		default:
			t.Fatalf("no step %q in a case", line)
		}
	}
	if offers {
		challenge = signAll(t, challenge, overrides)
	}
	for _, change := range changes {
		change()
	}
	if mirror != nil {
		x.Response.Body = must(json.Marshal(mirror, json.Deterministic(true)))
	}
	if text == "" {
		text = string(must(json.Marshal(challenge, json.Deterministic(true))))
	}
	switch {
	case len(raw) > 0:
		x.Response.Header["Payment-Required"] = raw
	case header:
		x.Response.Header["Payment-Required"] = []string{encoding.EncodeToString([]byte(text))}
		if again {
			x.Response.Header.Add("Payment-Required", encoding.EncodeToString([]byte(text)))
		}
	}
	if hasMPP {
		request := mppEncoding.EncodeToString(must(json.Marshal(mpp, json.Deterministic(true))))
		if mppRaw != "" {
			request = mppEncoding.EncodeToString([]byte(mppRaw))
			if mppRaw == "-" {
				request = "%%%"
			}
		}
		var line strings.Builder
		line.WriteString("Payment ")
		for _, name := range []string{"id", "realm", "method", "intent", "twin", "expires", "header"} {
			if params[name] != "" {
				shown := name
				if name == "twin" {
					shown = "id"
				}
				line.WriteString(fmt.Sprintf("%s=%q, ", shown, params[name]))
			}
		}
		x.Response.Header["Www-Authenticate"] = []string{line.String() + fmt.Sprintf("request=%q", request)}
	}
	return x
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func parseAny(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func clone(t testing.TB, v any) any {
	return parseAny(t, string(must(json.Marshal(v))))
}

// edit changes one place of a JSON value.
func edit(t testing.TB, v any, path []string, verb string, to any) any {
	t.Helper()
	if len(path) == 0 {
		if verb == "add" {
			return append(v.([]any), to)
		}
		return to
	}
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 && verb == "del" {
			delete(v, path[0])
			return v
		}
		v[path[0]] = edit(t, v[path[0]], path[1:], verb, to)
		return v
	case []any:
		i := must(strconv.Atoi(path[0]))
		if len(path) == 1 && verb == "del" {
			return append(v[:i:i], v[i+1:]...)
		}
		v[i] = edit(t, v[i], path[1:], verb, to)
		return v
	case nil:
		return map[string]any{path[0]: edit(t, nil, path[1:], verb, to)}
	}
	t.Fatalf("no place %v in a case", path)
	return nil
}

// signAll adds an offer in form for each entry; the signatures are zeros.
func signAll(t testing.TB, challenge any, overrides [][3]string) any {
	t.Helper()
	c := challenge.(map[string]any)
	var list []any
	for i, item := range c["accepts"].([]any) {
		entry := item.(map[string]any)
		payload := map[string]any{"version": 1, "resourceUrl": c["resource"].(map[string]any)["url"],
			"scheme": entry["scheme"], "network": entry["network"],
			"asset": entry["asset"], "payTo": entry["payTo"], "amount": entry["amount"], "validUntil": 1800000000}
		for _, o := range overrides {
			if o[0] == strconv.Itoa(i) {
				payload[o[1]] = parseAny(t, o[2])
			}
		}
		list = append(list, map[string]any{"format": "jws", "acceptIndex": i,
			"signature": compactJWS(`{"alg":"EdDSA","kid":"did:web:door.example#k"}`, payload)})
	}
	return edit(t, challenge, []string{"extensions", "offer-receipt"}, "set",
		map[string]any{"info": map[string]any{"offers": list}})
}

func compactJWS(header string, payload any) string {
	b := base64.RawURLEncoding
	return b.EncodeToString([]byte(header)) + "." +
		b.EncodeToString(must(json.Marshal(payload, json.Deterministic(true)))) + "." +
		b.EncodeToString(make([]byte, 64))
}

// kase is one section of a case file: what is expected and of whom.
type kase struct {
	file, want, name string // want is pass, fail or nothing for a check, raised or silent for an advisory
	script           string
}

// cases reads every case file.
func cases(t testing.TB) []kase {
	t.Helper()
	files := must(filepath.Glob("testdata/*.txtar"))
	var out []kase
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range a.Files {
			want, name, ok := strings.Cut(s.Name, ": ")
			if !ok {
				t.Fatalf("%s: section %q", f, s.Name)
			}
			out = append(out, kase{strings.TrimSuffix(filepath.Base(f), ".txtar"), want, name, string(s.Data)})
		}
	}
	if len(out) == 0 {
		t.Fatal("no cases")
	}
	return out
}

func (k kase) String() string { return k.file + " " + k.want + ": " + k.name }

// look runs a version over a recording.
func look(t testing.TB, version string, recording []exchange.Exchange, declared Declaration) Report {
	t.Helper()
	p, err := NewPreflight(version, recording[0].Request.URL, declared)
	if err != nil {
		t.Fatal(err)
	}
	if on := NodeOf(recording[len(recording)-1].Request); on != "" {
		p.ReadsAccounts(plainWords{}, on)
	}
	r, err := Replay(recording, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plainWords reads answers of nodes that hold the words themselves.
type plainWords struct{}

func (plainWords) Question(exchange.Exchange, int) ([]byte, bool) { return nil, true }

func (plainWords) Said(x exchange.Exchange) (words AccountWords, problem string) {
	if err := json.Unmarshal(x.Response.Body, &words); err != nil {
		return words, "no words"
	}
	return words, ""
}

func encode(t testing.TB, r Report) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("a report that cannot be written: %v", err)
	}
	return string(b)
}

func writeGolden(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as it was:\n%s", file, got)
	}
}
