package agentcard

import (
	"encoding/json"
	wire "encoding/json/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
)

var judged = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const at = "https://store.example.test/.well-known/agent-card.json"

// plain is a right card of 0.3.0 in canonical order, so that changes are easily made.
const plain = `{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://store.example.test/a2a"}],"capabilities":{"streaming":false},` +
	`"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],"description":"Sells reports.","name":"Store",` +
	`"preferredTransport":"JSONRPC","protocolVersion":"0.3.0","provider":{"organization":"Store","url":"https://store.example.test"},` +
	`"security":[{"key":[]}],"securitySchemes":{"key":{"in":"header","name":"X-Key","type":"apiKey"}},` +
	`"skills":[{"description":"Sells.","id":"buy","name":"Buy","tags":["evidence"]}],"url":"https://store.example.test/a2a","version":"1.0.0"}`

const one = `{"capabilities":{"streaming":false},"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],"description":"Sells reports.",` +
	`"name":"Store","skills":[{"description":"Sells.","id":"buy","name":"Buy","tags":["evidence"]}],` +
	`"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://store.example.test/a2a"}],"version":"1.0.0"}`

func served(card string) exchange.Exchange {
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: at}, StartedAt: judged,
		Response: exchange.Response{Status: 200, Body: []byte(card),
			Header: http.Header{"Content-Type": {"application/json"},
				"Cache-Control": {"public, max-age=300"}, "Etag": {`"1"`}}}}
}

// look runs the checker, with further answers by URL and everything else not found.
func look(t testing.TB, c Checker, first exchange.Exchange, answers map[string]string) Report {
	t.Helper()
	recorded := []exchange.Exchange{first}
	for range c.MaxRequests() + 1 {
		r, next, err := c.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return r
		}
		x := exchange.Exchange{Request: next.Request, StartedAt: judged, Response: exchange.Response{Status: 404,
			Header: http.Header{}}}
		if body, ok := answers[next.Kind+" "+next.Request.URL]; ok {
			x.Response.Status, x.Response.Body = 200, []byte(body)
		}
		recorded = append(recorded, x)
	}
	t.Fatal("the checker asks for more than it may")
	return Report{}
}

func check(r Report, name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{}
}

func TestRightCards(t *testing.T) {
	for dialect, card := range map[string]string{Dialect03: plain, Dialect10: one,
		DialectHybrid: strings.Replace(plain, "{",
			"{"+one[strings.Index(one, `"supportedInterfaces"`):strings.LastIndex(one, `,"version"`)]+",", 1)} {
		r := look(t, Checker{URL: at}, served(card), nil)
		own := r.Verdict == Pass && r.Own == nil
		if dialect == Dialect10 {
			own = r.Verdict == NotJudged && r.Own != nil && *r.Own == Own{Dialect10, Pass} &&
				check(r, "schema").Source == sourceOne
		}
		if r.Dialect != dialect || !own || r.ValidCard != (dialect != Dialect10) || len(r.Checks) != len(rows) ||
			len(r.Fixes) != 0 {
			t.Errorf("%s: %+v", dialect, r)
		}
		if (len(r.Gaps) == 0) != (dialect == DialectHybrid) {
			t.Errorf("%s: gaps %q", dialect, r.Gaps)
		}
	}
}

// broken are cards and what must be found in each.
var broken = []struct{ name, old, new, check, code string }{
	{"no name", `"name":"Store",`, ``, "schema", "SCHEMA"},
	{"null name", `"name":"Store"`, `"name":null`, "schema", "SCHEMA"},
	{"number as name", `"name":"Store"`, `"name":5`, "schema", "SCHEMA"},
	{"no description", `"description":"Sells reports.",`, ``, "schema", "SCHEMA"},
	{"no capabilities", `"capabilities":{"streaming":false},`, ``, "schema", "SCHEMA"},
	{"capabilities list", `{"streaming":false}`, `[]`, "schema", "SCHEMA"},
	{"streaming text", `"streaming":false`, `"streaming":"no"`, "schema", "SCHEMA"},
	{"modes text", `"defaultInputModes":["application/json"]`, `"defaultInputModes":"application/json"`, "schema",
		"SCHEMA"},
	{"modes numbers", `"defaultInputModes":["application/json"]`, `"defaultInputModes":[1]`, "schema", "SCHEMA"},
	{"no output modes", `"defaultOutputModes":["application/json"],`, ``, "schema", "SCHEMA"},
	{"skill without tags", `,"tags":["evidence"]`, ``, "schema", "SCHEMA"},
	{"skill without id", `"id":"buy",`, ``, "schema", "SCHEMA"},
	{"skill text", `[{"description":"Sells.","id":"buy","name":"Buy","tags":["evidence"]}]`, `["buy"]`, "schema",
		"SCHEMA"},
	{"skills object", `[{"description":"Sells.","id":"buy","name":"Buy","tags":["evidence"]}]`, `{}`, "schema",
		"SCHEMA"},
	{"tags numbers", `["evidence"]`, `[true]`, "schema", "SCHEMA"},
	{"no version", `,"version":"1.0.0"`, ``, "schema", "SCHEMA"},
	{"provider without url", `,"url":"https://store.example.test"}`, `}`, "schema", "SCHEMA"},
	{"interface without transport", `"transport":"JSONRPC",`, ``, "schema", "SCHEMA"},
	{"scheme without type", `,"type":"apiKey"`, ``, "schema", "SCHEMA"},
	{"scheme of unknown type", `"apiKey"`, `"magic"`, "schema", "SCHEMA"},
	{"key in the body", `"in":"header"`, `"in":"body"`, "schema", "SCHEMA"},
	{"security object", `[{"key":[]}]`, `{"key":[]}`, "schema", "SCHEMA"},
	{"scopes text", `{"key":[]}`, `{"key":"all"}`, "schema", "SCHEMA"},
	{"oauth without flows", `{"in":"header","name":"X-Key","type":"apiKey"}`, `{"type":"oauth2"}`, "schema", "SCHEMA"},
	{"oauth with a flow without scopes", `{"in":"header","name":"X-Key","type":"apiKey"}`,
		`{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"x"}}}`, "schema", "SCHEMA"},
	{"signature without protected", `"skills"`, `"signatures":[{"signature":"x"}],"skills"`, "schema", "SCHEMA"},
	{"extension without uri", `"streaming":false`, `"extensions":[{"required":true}]`, "schema", "SCHEMA"},
	{"extended card text", `"skills"`, `"supportsAuthenticatedExtendedCard":"yes","skills"`, "schema", "SCHEMA"},
	{"neither version nor url", `"url":"https://store.example.test/a2a","version"`, `"version"`, "dialect",
		"UNKNOWN_DIALECT"},
	{"no protocolVersion", `"protocolVersion":"0.3.0",`, ``, "dialect", "UNKNOWN_DIALECT"},
	{"a name twice", `"name":"Store"`, `"name":"Store","name":"Shop"`, "json", "DUPLICATE_KEY"},
	{"cut off", `"version":"1.0.0"}`, ``, "json", "NOT_JSON"},
	{"byte order mark", `{"additionalInterfaces"`, "\ufeff" + `{"additionalInterfaces"`, "json", "NOT_JSON"},
	{"bad UTF-8", `Sells reports.`, "Sells\xff", "json", "NOT_JSON"},
	{"no skills", `[{"description":"Sells.","id":"buy","name":"Buy","tags":["evidence"]}]`, `[]`, "conformance-kit",
		"KIT"},
	{"empty version", `"version":"1.0.0"`, `"version":""`, "conformance-kit", "KIT"},
	{"skill twice", `"skills":[`, `"skills":[{"description":"Sells.","id":"buy","name":"Buy","tags":[]},`,
		"conformance-kit", "KIT"},
	{"mode text", `"defaultInputModes":["application/json"]`, `"defaultInputModes":["text"]`, "conformance-kit",
		"MEDIA_TYPE"},
	{"0.2.9", `"0.3.0"`, `"0.2.9"`, "protocol-version", "VERSION"},
	{"0.3", `"0.3.0"`, `"0.3"`, "protocol-version", "VERSION"},
	{"implicit transport", `"preferredTransport":"JSONRPC",`, ``, "preferred-transport", "IMPLICIT_TRANSPORT"},
	{"conflict", `{"transport":"JSONRPC"`, `{"transport":"GRPC"`, "interfaces", "CONFLICT"},
	{"not repeated", `{"transport":"JSONRPC","url":"https://store.example.test/a2a"}`,
		`{"transport":"GRPC","url":"https://store.example.test/g"}`, "interfaces", "MAIN_NOT_REPEATED"},
	{"http", `"url":"https://store.example.test/a2a","version"`, `"url":"http://store.example.test/a2a","version"`,
		"urls", "NOT_HTTPS"},
	{"relative", `"url":"https://store.example.test"}`, `"url":"/"}`, "urls", "NOT_HTTPS"},
	{"foreign", `"url":"https://store.example.test/a2a","version"`, `"url":"https://other.test/a2a","version"`, "urls",
		"FOREIGN_HOST"},
	{"dangling", `[{"key":[]}]`, `[{"token":[]}]`, "security", "DANGLING_SECURITY"},
	{"secret", `X-Key`, `AKIAABCDEFGHIJKLMNOP`, "security", "SECRET"},
	{"private key", `"type":"apiKey"`, `"type":"apiKey","jwk":{"kty":"OKP","d":"x"}`, "security", "SECRET"},
	{"alg none", `"skills"`, `"signatures":[{"protected":"eyJhbGciOiJub25lIiwia2lkIjoieCJ9","signature":""}],"skills"`,
		"signature-form", "BAD_JWS"},
	{"alg HS256", `"skills"`,
		`"signatures":[{"protected":"eyJhbGciOiJIUzI1NiIsImtpZCI6IngifQ","signature":""}],"skills"`, "signature-form",
		"BAD_JWS"},
	{"padded", `"skills"`, `"signatures":[{"protected":"e30=","signature":""}],"skills"`, "signature-form", "BAD_JWS"},
}

func TestBrokenCards(t *testing.T) {
	for _, b := range broken {
		card := strings.Replace(plain, b.old, b.new, 1)
		if card == plain {
			t.Fatalf("%s changes nothing", b.name)
		}
		r := look(t, Checker{URL: at}, served(card), nil)
		c := check(r, b.check)
		if c.Code != b.code || c.State != Fail && c.State != Warn || r.Verdict != Fail && r.Verdict != Warn ||
			len(r.Fixes) == 0 {
			t.Errorf("%s: %+v, verdict %s", b.name, c, r.Verdict)
		}
	}
}

// rich is a card with every member of 0.3.0.
const rich = `{"protocolVersion":"0.3.0","name":"n","description":"d","url":"https://a.test/","version":"1","preferredTransport":"GRPC","iconUrl":"i","documentationUrl":"d",
"additionalInterfaces":[{"url":"u","transport":"t"}],"capabilities":{"streaming":true,"pushNotifications":true,"stateTransitionHistory":true,
"extensions":[{"uri":"u","description":"d","required":true,"params":{"a":1}}]},"defaultInputModes":["a/b"],"defaultOutputModes":["a/b"],
"skills":[{"id":"i","name":"n","description":"d","tags":["t"],"examples":["e"],"inputModes":["a/b"],"outputModes":["a/b"],"security":[{"s":["x"]}]}],
"provider":{"organization":"o","url":"u"},"supportsAuthenticatedExtendedCard":true,"signatures":[{"protected":"p","signature":"s","header":{"a":1}}],"security":[{"s":["x"]}],
"securitySchemes":{"a":{"type":"apiKey","description":"d","name":"n","in":"query"},"h":{"type":"http","description":"d","scheme":"s","bearerFormat":"b"},
"m":{"type":"mutualTLS","description":"d"},"c":{"type":"openIdConnect","description":"d","openIdConnectUrl":"u"},"o":{"type":"oauth2","description":"d","oauth2MetadataUrl":"u","flows":{
"authorizationCode":{"authorizationUrl":"u","tokenUrl":"u","refreshUrl":"u","scopes":{"s":"d"}},"clientCredentials":{"tokenUrl":"u","refreshUrl":"u","scopes":{"s":"d"}},
"implicit":{"authorizationUrl":"u","refreshUrl":"u","scopes":{"s":"d"}},"password":{"tokenUrl":"u","refreshUrl":"u","scopes":{"s":"d"}}}}}}`

// mutate calls each with every value inside v left out or replaced, one at a time.
func mutate(v any, each func()) {
	others := []any{nil, true, 1.5, "x", []any{}, map[string]any{}, []any{nil}, []any{"x"}, map[string]any{"x": "y"},
		[]any{map[string]any{}}}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			delete(v, name)
			each()
			for _, o := range others {
				v[name] = o
				each()
			}
			v[name] = m
			mutate(m, each)
		}
	case []any:
		for i, m := range v {
			for _, o := range others {
				v[i] = o
				each()
			}
			v[i] = m
			mutate(m, each)
		}
	}
}

func TestTheOfficialSchemaAgrees(t *testing.T) {
	schema, err := filepath.Abs("testdata/a2a-0.3.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile("testdata/sample-card-0.3.0.json")
	if err != nil {
		t.Fatal(err)
	}
	cards := []string{plain, one, string(sample), "{}", "[]", "5",
		strings.Replace(plain, "{", `{"supportedInterfaces":[],`, 1)}
	for _, b := range broken {
		if card := strings.Replace(plain, b.old, b.new, 1); b.check != "json" {
			cards = append(cards, card)
		}
	}
	// A card with everything, and each of its values left out or replaced by something else.
	var whole any
	if err := json.Unmarshal([]byte(rich), &whole); err != nil {
		t.Fatal(err)
	}
	cards = append(cards, rich)
	mutate(whole, func() {
		b, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		cards = append(cards, string(b))
	})
	type question struct {
		Schema string `json:"schema"`
		Card   string `json:"card"`
	}
	var questions []question
	for _, c := range cards {
		questions = append(questions, question{schema, c})
	}
	var answers []struct {
		OK    bool
		Value string
	}
	oracles.Ask(t, "cards.mjs", questions, &answers)
	valid := 0
	for i, c := range cards {
		r := look(t, Checker{URL: at}, served(c), nil)
		if answers[i].Value != "" || r.ValidCard != answers[i].OK {
			t.Errorf("the schema says %+v, the checker %t of\n%s\n%+v", answers[i], r.ValidCard, c, check(r, "schema"))
		}
		if r.ValidCard {
			valid++
		}
	}
	t.Logf("%d cards, %d of them valid", len(cards), valid)
}

func TestLiveQuestions(t *testing.T) {
	const tasks, stream = KindTasksGet + " https://store.example.test/a2a", KindStream +
		" https://store.example.test/a2a"
	streaming := strings.Replace(plain, `"streaming":false`, `"streaming":true`, 1)
	for _, c := range []struct {
		name, card, tasks, stream string
		endpoint, streams         State
	}{
		{"right", plain, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}`, "", Pass, Pass},
		{"unknown method", plain, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}`, "", Warn, Pass},
		{"HTML", plain, `<html>`, "", Fail, Pass},
		{"overclaim", streaming, `{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","error":{"code":-32004}}`, Pass,
			Warn},
		{"streams", streaming, `{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","error":{"code":-32602}}`, Pass,
			Pass},
	} {
		r := look(t, Checker{URL: at, Live: true}, served(c.card), map[string]string{tasks: c.tasks, stream: c.stream})
		if check(r, "endpoint").State != c.endpoint || check(r, "streaming").State != c.streams {
			t.Errorf("%s: %+v, %+v", c.name, check(r, "endpoint"), check(r, "streaming"))
		}
		if r := look(t, Checker{URL: at}, served(c.card), nil); check(r, "endpoint").State != NotChecked ||
			len(r.Evidence.Requests) != 1 {
			t.Errorf("%s: asked without being asked to: %+v", c.name, r.Evidence.Requests)
		}
	}
}

// A walk makes no other POST than those that it knows.
func TestTheWalkKnowsTheLiveQuestions(t *testing.T) {
	bodies := map[string]string{}
	for _, k := range fetch.Kinds() {
		bodies[k.Name] = k.Body
	}
	if bodies[KindTasksGet] != BodyTasksGet || bodies[KindStream] != BodyStream {
		t.Errorf("the walk's bodies are %q and %q", bodies[KindTasksGet], bodies[KindStream])
	}
}

func TestWhereTheCardLies(t *testing.T) {
	for status, want := range map[int]State{200: Pass, 301: Fail, 404: Absent, 410: Absent, 401: Fail, 503: Unreachable,
		0: Unreachable} {
		x := served(plain)
		x.Response.Status = status
		if r := look(t, Checker{URL: at}, x, nil); check(r, "card-found").State != want || r.Verdict != want {
			t.Errorf("%d: %+v", status, r)
		}
	}
	if r := look(t, Checker{URL: "https://store.example.test/.well-known/agent.json"}, served(plain), nil); check(r,
		"card-found").Code != "LEGACY_PATH" {
		t.Errorf("the old path: %+v", check(r, "card-found"))
	}
	x := served(plain)
	x.Response.Header = http.Header{"Content-Type": {"text/html"}}
	if r := look(t, Checker{URL: at}, x, nil); check(r, "content-type").State != Warn ||
		check(r, "caching").State != Warn {
		t.Errorf("headers: %+v", r.Checks)
	}
	x = served(plain)
	x.Response.Header["Cache-Control"] = []string{"public", "max-age=300"} // a list, folded or not
	if r := look(t, Checker{URL: at}, x, nil); check(r, "caching").State != Pass {
		t.Errorf("caching: %+v", check(r, "caching"))
	}
}

func FuzzStep(f *testing.F) {
	for _, b := range broken {
		f.Add([]byte(strings.Replace(plain, b.old, b.new, 1)),
			[]byte(keys["key https://store.example.test/.well-known/jwks.json"]))
	}
	f.Add([]byte(one), []byte("{}"))
	f.Fuzz(func(t *testing.T, card, key []byte) {
		c := Checker{URL: at, Live: true}
		recorded := []exchange.Exchange{served(string(card))}
		for {
			r, next, err := c.Step(recorded)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				if len(r.Checks) != len(rows) || r.Verdict == "" {
					t.Errorf("reported %+v", r)
				}
				if _, err := wire.Marshal(r); err != nil {
					t.Error(err)
				}
				return
			}
			recorded = append(recorded, exchange.Exchange{Request: next.Request, StartedAt: judged,
				Response: exchange.Response{Status: 200, Header: http.Header{}, Body: key}})
			if len(recorded) > c.MaxRequests() {
				t.Fatal("too many requests")
			}
		}
	})
}
