package mpp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

type header map[string][]string

func (h header) Values(name string) []string { return h[name] }

func reasonOf(err error) string {
	if r, ok := errors.AsType[*rail.Refusal](err); ok {
		return r.Reason
	}
	if u, ok := errors.AsType[*pay.Unfit](err); ok {
		return u.Reason
	}
	return ""
}

const (
	usdc  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	payTo = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
)

var (
	shop   = pay.Store{Secret: []byte("a secret of thirty-two bytes, all"), Realm: "store.example:8443"}
	nonces = pay.NewNonces(shop.Secret)
	key    = "store-" + strings.Repeat("k", 26) + "-202611221200"
	now    = time.Date(2026, 11, 22, 12, 0, 0, 300e6, time.UTC)
)

func accepts(network, amount string, seconds int) rail.Requirement {
	return rail.Requirement{Scheme: "exact", Network: network, Amount: amount, Asset: usdc, PayTo: payTo,
		MaxTimeoutSeconds: seconds,
		Extra:             map[string]any{"name": "USD Coin", "version": "2"}}
}

func quote() *pay.Quote {
	return &pay.Quote{URL: "https://store.example:8443/api/buy/hello", Query: "agent_name=Ada", Body: []byte(`{"a":1}`),
		Accepts: []rail.Requirement{
			accepts("eip155:137", "10000", 300), accepts(networks.Base, "10000", 300),
			accepts(networks.Base, "20000", 300)}}
}

// ask says a quote and returns its field and the member of its body.
func ask(t testing.TB, q *pay.Quote, f pay.Fill, reason string) (string, required) {
	t.Helper()
	terms, err := New(shop).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	h := make(http.Header)
	said, err := terms.Say(pay.Carrier{Header: h}, f, reason, nil)
	value, ok := strings.CutPrefix(string(said), `,"`+metaRequired+`":`)
	if err != nil || !ok {
		t.Fatalf("members %s, %v", said, err)
	}
	var body required
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	if again, _ := json.Marshal(body); len(again) != len(value) {
		t.Errorf("the body says %s, which marshals as %s", value, again)
	}
	if len(h.Values(headerChallenge)) > maxFields {
		t.Errorf("%d challenges in the header", len(h.Values(headerChallenge)))
	}
	return h.Get(headerChallenge), body
}

func fill(q *pay.Quote) pay.Fill {
	return pay.Fill{Nonce: nonces.New(), Key: key, At: now, Query: q.Query, Body: q.Body}
}

var param = regexp.MustCompile(`([a-z]+)="([^"\\]*)"`)

// params takes a field apart, in order.
func params(field string) (names []string, values map[string]string) {
	values = make(map[string]string)
	for _, m := range param.FindAllStringSubmatch(field, -1) {
		names, values[m[1]] = append(names, m[1]), m[2]
	}
	return names, values
}

func TestChallenge(t *testing.T) {
	q := quote()
	f := fill(q)
	field, body := ask(t, q, f, "")
	names, values := params(field)
	if !slices.Equal(names, []string{"id", "realm", "method", "intent", "request", "digest", "expires", "opaque"}) ||
		!strings.HasPrefix(field, "Payment id=") {
		t.Errorf("the field is %s", field)
	}
	sum := sha256.Sum256(q.Body)
	if values["realm"] != "store.example" || values["method"] != "evm" || values["intent"] != "charge" ||
		values["expires"] != "2026-11-22T12:05:01Z" || values["digest"] != "sha-256=:"+
		base64.StdEncoding.EncodeToString(sum[:])+":" {
		t.Errorf("the field is %s", field)
	}
	var o map[string]string
	raw, err := base64.RawURLEncoding.DecodeString(values["opaque"])
	if err := errors.Join(err, json.Unmarshal(raw, &o)); err != nil || len(o) != 3 || o["key"] != key ||
		o["nonce"] != string(f.Nonce) || o["scope"] == "" {
		t.Errorf("opaque is %s, %v", raw, err)
	}
	// encoding/json sorts, and escapes nothing here
	if canonical, _ := json.Marshal(o); string(canonical) != string(raw) {
		t.Errorf("opaque is %s, canonical %s", raw, canonical)
	}
	// The body has a challenge for each amount, and the header the least by each method.
	if body.HTTPStatus != 402 || len(body.Challenges) != 3 || body.Challenges[2].Method != "usdc" ||
		body.Challenges[0].Request.Amount != "10000" ||
		body.Challenges[1].Request.Amount != "20000" ||
		body.Challenges[0].ID != values["id"] || body.Challenges[1].ID == values["id"] ||
		body.Problem.ChallengeID != values["id"] ||
		body.Problem.Type != "https://paymentauth.org/problems/payment-required" ||
		body.Challenges[0].Digest != values["digest"] {
		t.Errorf("the body says %+v", body)
	}
	if len(field) > 1500 {
		t.Errorf("a challenge of %d bytes", len(field))
	}
	seen := map[string]bool{}
	for range 100 {
		again, _ := ask(t, q, fill(q), "")
		_, v := params(again)
		if seen[v["id"]] {
			t.Fatal("two challenges have one id")
		}
		seen[v["id"]] = true
	}
}

// A challenge stands for two minutes at least, in whole seconds, and for no longer than an
// authorization may.
func TestExpiry(t *testing.T) {
	for _, seconds := range []int{0, 60, 120, 300} {
		for _, at := range []time.Time{now.Truncate(time.Second), now, now.Add(699999999),
			now.In(time.FixedZone("x", 3600))} {
			r := accepts(networks.Base, "1", seconds)
			end, err := time.Parse(time.RFC3339, expiry(at, r))
			if ahead := end.Sub(at); err != nil || !strings.HasSuffix(expiry(at, r), "Z") || ahead < 120*time.Second ||
				ahead < time.Duration(seconds)*time.Second || ahead >= time.Duration(max(seconds, 120)+1)*time.Second ||
				end.Nanosecond() != 0 {
				t.Errorf("%d s from %v: %v, %v", seconds, at, end, err)
			}
			if firm := r.Within(120 * time.Second); seconds >= 120 {
				if end, _ := time.Parse(time.RFC3339, expiry(at, firm)); end.After(firm.Latest(at, 0)) {
					t.Errorf("a counted good's challenge ends at %v, after %v", end, firm.Latest(at, 0))
				}
			}
		}
	}
}

func TestNoTermsElsewhere(t *testing.T) {
	q := quote()
	q.Accepts = q.Accepts[:1]
	terms, err := New(shop).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	h := make(http.Header)
	members, err := terms.Say(pay.Carrier{Header: h}, fill(q), "", nil)
	if err != nil || members != nil || len(h) != 0 || terms.Members() != nil || terms.Words().How != "" {
		t.Errorf("without its network MPP says %v, %v, %v, %v", members, h, terms.Words(), err)
	}
}

// Each reason has the problem type of the scheme.
func TestProblemTypes(t *testing.T) {
	q := quote()
	for reason, want := range map[string]string{
		"": paymentRequired, malformedCredential: malformedCredential, invalidChallenge: invalidChallenge,
		invalidPayload: invalidPayload, verificationFailed: verificationFailed,
		paymentInsufficient: paymentInsufficient, paymentExpired: paymentExpired,
		"invalid_exact_evm_payload_authorization_valid_before": paymentExpired,
		"invalid_exact_evm_insufficient_balance":               paymentInsufficient,
		"invalid_exact_evm_signature":                          verificationFailed, "invalid_payload": invalidPayload,
	} {
		_, body := ask(t, q, fill(q), reason)
		if body.Problem.Type != "https://paymentauth.org/problems/"+want || body.Problem.Status != 402 ||
			!strings.Contains(body.Problem.Detail, reason) || len(body.Challenges) == 0 {
			t.Errorf("%q is told as %+v, want %s", reason, body.Problem, want)
		}
	}
}

// wire is a credential that a test may change.
type wire map[string]any

func (w wire) at(path string) (map[string]any, string) {
	m, name := map[string]any(w), path
	if first, rest, ok := strings.Cut(path, "."); ok {
		m, name = w[first].(map[string]any), rest
	}
	return m, name
}

func (w wire) encode(t testing.TB) string {
	t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return "Payment " + base64.RawURLEncoding.EncodeToString(b)
}

// answer is the credential that a stock client makes of a field, without its signature.
func answer(field string) wire {
	_, v := params(field)
	ch := make(map[string]any)
	for name, value := range v {
		ch[name] = value
	}
	c := challenge{ID: v["id"], Realm: v["realm"]}
	end, _ := time.Parse(time.RFC3339, v["expires"])
	return wire{"challenge": ch, "source": did(payer), "payload": map[string]any{"type": "authorization",
		"from": payer, "to": payTo, "value": "10000",
		"validAfter": "0", "validBefore": itoa(end.Unix()), "nonce": c.hash(), "signature": "0x" +
			strings.Repeat("11", 65)}}
}

func did(account string) string { return source(networks.Base) + account }

func itoa(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// resign gives a credential whose challenge was changed the id that it would have, and an
// authorization for it: what only the store could make.
func resign(w wire) {
	ch := w["challenge"].(map[string]any)
	get := func(name string) string { s, _ := ch[name].(string); return s }
	c := challenge{Realm: get("realm"), Method: get("method"), Intent: get("intent"), Request: get("request"),
		Expires: get("expires"), Digest: get("digest"), Opaque: get("opaque")}
	c.ID = c.id(pay.NewMACs(derive(shop.Secret)))
	ch["id"] = c.ID
	w["payload"].(map[string]any)["nonce"] = c.hash()
}

func TestMatch(t *testing.T) {
	q := quote()
	field, body := ask(t, q, fill(q), "")
	other, _ := ask(t, q, fill(q), "")
	_, others := params(other)
	set := func(path string, v any) func(wire) {
		return func(w wire) {
			m, name := w.at(path)
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}
	}
	ours := func(path string, v any) func(wire) { return func(w wire) { set(path, v)(w); resign(w) } }
	request := func(change func(*charge)) string {
		c, _ := asksEVM(q.Accepts[1], "")
		change(&c)
		b, _ := c.canonical()
		return base64.RawURLEncoding.EncodeToString(b)
	}
	for name, c := range map[string]struct {
		change func(wire)
		quote  func(*pay.Quote)
		want   string // the reason, "" for none
	}{
		"as a stock client answers": {},
		"without a source":          {change: set("source", nil)},
		"a source in lower case":    {change: set("source", strings.ToLower(did(payer)))},
		"with a description":        {change: set("challenge.description", "as shown")},
		"an unknown parameter":      {change: set("challenge.later", "x")},
		"sooner than the challenge": {change: set("payload.validBefore", "1")}, // which the rail refuses
		"the request as an object": {change: set("challenge.request",
			map[string]any{"recipient": payTo, "amount": "10000", "currency": usdc,
				"methodDetails": map[string]any{"decimals": 6, "chainId": 8453,
					"credentialTypes": []string{"authorization"}}})},
		"the request in another order": {change: set("challenge.request",
			base64.RawURLEncoding.EncodeToString([]byte(`{"recipient":"`+payTo+`", "amount":"10000","currency":"`+usdc+
				`","methodDetails":{"decimals":6,"credentialTypes":["authorization"],"chainId":8453}}`)))},
		"the nonce in upper case": {change: func(w wire) {
			p := w["payload"].(map[string]any)
			p["nonce"] = "0x" + strings.ToUpper(p["nonce"].(string)[2:])
		}},

		"another's id": {change: set("challenge.id", others["id"]), want: invalidChallenge},
		"a made-up id": {change: set("challenge.id",
			base64.RawURLEncoding.EncodeToString(make([]byte, 32))), want: invalidChallenge},
		"no id":               {change: set("challenge.id", ""), want: invalidChallenge},
		"another realm":       {change: set("challenge.realm", "evil.example"), want: invalidChallenge},
		"another realm, ours": {change: ours("challenge.realm", "evil.example"), want: invalidChallenge},
		"a lower price": {change: set("challenge.request", request(func(c *charge) { c.Amount = "1" })),
			want: invalidChallenge},
		"a lower price, ours": {change: ours("challenge.request", request(func(c *charge) { c.Amount = "1" })),
			want: invalidChallenge},
		"another token, ours": {change: ours("challenge.request",
			request(func(c *charge) { c.Currency = payer })), want: invalidChallenge},
		"another recipient, ours": {change: ours("challenge.request",
			request(func(c *charge) { c.Recipient = payer })), want: invalidChallenge},
		"another chain, ours": {change: ours("challenge.request",
			request(func(c *charge) { c.MethodDetails.ChainID = 1 })), want: invalidChallenge},
		"later":              {change: set("challenge.expires", "2030-01-01T00:00:00Z"), want: invalidChallenge},
		"no end":             {change: set("challenge.expires", nil), want: invalidChallenge},
		"no end, ours":       {change: ours("challenge.expires", nil), want: invalidChallenge},
		"another opaque":     {change: set("challenge.opaque", others["opaque"]), want: invalidChallenge},
		"no digest":          {change: set("challenge.digest", nil), want: invalidChallenge},
		"no digest, ours":    {change: ours("challenge.digest", nil), want: invalidChallenge},
		"to another account": {change: set("payload.to", payer), want: verificationFailed},
		"for less":           {change: set("payload.value", "9999"), want: paymentInsufficient},
		"for more":           {change: set("payload.value", "10001"), want: verificationFailed},
		"for no number":      {change: set("payload.value", "ten"), want: paymentInsufficient},
		"the nonce of another": {change: set("payload.nonce", "0x"+strings.Repeat("00", 32)),
			want: verificationFailed},
		"outliving the challenge": {change: set("payload.validBefore", itoa(now.Unix()+302)),
			want: verificationFailed},
		"for ever": {change: set("payload.validBefore", strings.Repeat("9", 70)),
			want: verificationFailed},
		"a source on another chain": {change: set("source", "did:pkh:eip155:1:"+payer), want: verificationFailed},
		"another's source":          {change: set("source", did(payTo)), want: verificationFailed},
		"a source of another kind":  {change: set("source", "did:web:x"), want: verificationFailed},

		"another path": {quote: func(q *pay.Quote) { q.URL = "https://store.example:8443/api/buy/dibs" },
			want: invalidChallenge},
		"another host": {quote: func(q *pay.Quote) { q.URL = "https://other.example/api/buy/hello" },
			want: invalidChallenge},
		"another query": {quote: func(q *pay.Quote) { q.Query = "agent_name=Eve" }, want: invalidChallenge},
		"no query":      {quote: func(q *pay.Quote) { q.Query = "" }, want: invalidChallenge},
		"another body":  {quote: func(q *pay.Quote) { q.Body = []byte(`{"a":2}`) }, want: invalidChallenge},
		"no body":       {quote: func(q *pay.Quote) { q.Body = nil }, want: invalidChallenge},
		"another price now": {quote: func(q *pay.Quote) {
			q.Accepts = []rail.Requirement{accepts(networks.Base, "10001",
				300)}
		}, want: invalidChallenge},
		"not sold there now":  {quote: func(q *pay.Quote) { q.Accepts = q.Accepts[:1] }, want: invalidChallenge},
		"sold to another now": {quote: func(q *pay.Quote) { q.Accepts[1].PayTo = payer }, want: invalidChallenge},
	} {
		w := answer(field)
		if c.change != nil {
			c.change(w)
		}
		asked := quote()
		if c.quote != nil {
			c.quote(asked)
		}
		p := New(shop)
		got, err := p.Read(header{headerCredential: {w.encode(t)}})
		if err == nil {
			if !nonces.Valid(got.Nonce) || got.Key != key || got.BadKey || got.Shared == nil ||
				got.Accepted.Network[:7] != "eip155:" {
				t.Errorf("%s: read as %+v", name, got)
			}
			_, err = p.Match(got, asked)
		}
		if reasonOf(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// The higher amount is answered from the body.
	w := answer(field)
	dear := body.Challenges[1]
	maps.Copy(w["challenge"].(map[string]any), map[string]any{"id": dear.ID, "request": dear.Request})
	pl := w["payload"].(map[string]any)
	pl["value"], pl["nonce"] = "20000", (&challenge{ID: dear.ID, Realm: dear.Realm}).hash()
	p := New(shop)
	got, err := p.Read(header{headerCredential: {w.encode(t)}})
	if err != nil {
		t.Fatal(err)
	}
	if want, err := p.Match(got, q); err != nil || want.Amount != "20000" || want.Extra["name"] != "USD Coin" {
		t.Errorf("the higher amount: %+v, %v", want, err)
	}
	if _, err := New(pay.Store{Secret: []byte("another"), Realm: shop.Realm}).Match(got,
		q); reasonOf(err) != invalidChallenge {
		t.Errorf("under another secret: %v", err)
	}
	if _, err := p.Match(&pay.Presented{Data: "x"}, q); err == nil || reasonOf(err) != "" {
		t.Errorf("another protocol's payment: %v", err)
	}
}

func TestRead(t *testing.T) {
	q := quote()
	field, _ := ask(t, q, fill(q), "")
	good := answer(field).encode(t)
	text := strings.TrimPrefix(good, "Payment ")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) []string {
		s := strings.Replace(string(raw), old, new, 1)
		if s == string(raw) {
			t.Fatalf("%s does not hold %s", raw, old)
		}
		return []string{"Payment " + base64.RawURLEncoding.EncodeToString([]byte(s))}
	}
	for name, c := range map[string]struct {
		values []string
		want   string
	}{
		"a credential":       {values: []string{good}},
		"another case":       {values: []string{"pAYMENT  " + text + " "}},
		"beside a bearer":    {values: []string{"Bearer st_x", good}},
		"two":                {values: []string{good, good}, want: badRequest},
		"two in one field":   {values: []string{good + ", " + good}, want: malformedCredential},
		"empty":              {values: []string{"Payment"}, want: malformedCredential},
		"blank":              {values: []string{"Payment  "}, want: malformedCredential},
		"padded":             {values: []string{good + "="}, want: malformedCredential},
		"the other alphabet": {values: []string{"Payment " + text[:4] + "/" + text[5:]}, want: malformedCredential},
		"line break":         {values: []string{good[:20] + "\n" + good[20:]}, want: malformedCredential},
		"a list":             {values: []string{"Payment W10"}, want: malformedCredential},
		"garbage":            {values: []string{"Payment dGhpcyBpcyBnYXJiYWdl"}, want: malformedCredential},
		"too long": {values: []string{"Payment " + strings.Repeat("A", MaxCredential+4)},
			want: malformedCredential},
		"a name twice":        {values: change(`"id":`, `"id":"x","id":`), want: malformedCredential},
		"twice, escaped":      {values: change(`"id":`, `"\u0069d":"x","id":`), want: malformedCredential},
		"no challenge":        {values: change(`"challenge"`, `"Challenge"`), want: malformedCredential},
		"no payload":          {values: change(`"payload"`, `"Payload"`), want: malformedCredential},
		"another method":      {values: change(`"method":"evm"`, `"method":"tempo"`), want: methodUnsupported},
		"evm as usdc":         {values: change(`"method":"evm"`, `"method":"usdc"`), want: invalidChallenge},
		"another intent":      {values: change(`"intent":"charge"`, `"intent":"session"`), want: methodUnsupported},
		"another header":      {values: change(`"method"`, `"header":"X-Payment","method"`), want: invalidChallenge},
		"no header":           {values: change(`"method"`, `"header":"","method"`), want: invalidChallenge},
		"another type":        {values: change(`"type":"authorization"`, `"type":"hash"`), want: invalidPayload},
		"more in the payload": {values: change(`"type"`, `"splits":[],"type"`), want: invalidPayload},
		"numbers for text":    {values: change(`"value":"10000"`, `"value":10000`), want: invalidPayload},
		"splits": {values: change(`"request":"`,
			`"request":{"amount":"1","currency":"x","recipient":"y","methodDetails":{"chainId":8453,"credentialTypes":["authorization"],"decimals":6,"splits":[]}},"x":"`), want: invalidChallenge},
		"a request of no JSON": {values: change(`"request":"`, `"request":"!`), want: invalidChallenge},
		"a fraction of a chain": {values: change(`"request":"`,
			`"request":{"amount":"1","currency":"x","recipient":"y","methodDetails":{"chainId":8453.5,"credentialTypes":["authorization"],"decimals":6}},"x":"`), want: invalidChallenge},
		"an opaque of another": {values: change(`"opaque":"`, `"opaque":"eyJrZXkiOiIifQ","x":"`), want: ""},
		"more in the opaque": {values: change(`"opaque":"`, `"opaque":"`+
			base64.RawURLEncoding.EncodeToString([]byte(`{"key":"","nonce":"","scope":"","more":""}`))+`","x":"`),
			want: invalidChallenge},
		"no opaque": {values: change(`"opaque":"`, `"x":"`), want: invalidChallenge},
	} {
		p, err := New(shop).Read(header{headerCredential: c.values})
		if reasonOf(err) != c.want || (p == nil) == (err == nil) {
			t.Errorf("%s: %+v, %v, want %q", name, p, err, c.want)
		}
		if present := len(credentials(header{headerCredential: c.values})) > 0; !present {
			t.Errorf("%s: no credential is seen", name)
		}
	}
	for _, h := range []header{{headerCredential: {good}, headerApart: {good}}, {headerApart: {good, good}},
		{headerCredential: {good}, headerApart: {""}}} {
		if _, err := New(shop).Read(h); reasonOf(err) != badRequest {
			t.Errorf("in two fields: %v", err)
		}
	}
	for _, none := range []header{{}, {headerCredential: {"Bearer x"}}, {headerCredential: {"Paymenttoken x"}},
		{headerCredential: {""}}} {
		if p, err := New(shop).Read(none); p != nil || err != nil {
			t.Errorf("%v: %v, %v", none, p, err)
		}
	}
}

// The bits that the last character of base64 does not need are zero, or one credential would have
// several spellings.
func TestOneSpelling(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	q := quote()
	field, _ := ask(t, q, fill(q), "")
	loose := 0
	for n := range 3 {
		w := answer(field)
		w["challenge"].(map[string]any)["description"] = strings.Repeat("d", n)
		good := w.encode(t)
		if _, err := New(shop).Read(header{headerCredential: {good}}); err != nil {
			t.Fatal(err)
		}
		if len(strings.TrimPrefix(good, "Payment "))%4 == 0 {
			continue
		}
		loose++
		last := len(good) - 1
		other := good[:last] + string(alphabet[strings.IndexByte(alphabet, good[last])+1])
		if _, err := New(shop).Read(header{headerCredential: {other}}); reasonOf(err) != malformedCredential {
			t.Errorf("a second spelling is read: %v", err)
		}
	}
	if loose != 2 {
		t.Errorf("%d of 3 lengths have loose bits, want 2", loose)
	}
}

// Over MCP the credential is an object in _meta, and the receipt and the terms are too.
func TestMeta(t *testing.T) {
	q := quote()
	terms, err := New(shop).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	f := fill(q)
	meta := make(pay.Meta)
	if _, err := terms.Say(pay.Carrier{Meta: meta}, f, "", nil); err != nil {
		t.Fatal(err)
	}
	var body required
	if err := json.Unmarshal(meta[metaRequired], &body); err != nil {
		t.Fatal(err)
	}
	ch := body.Challenges[0]
	c := challenge{ID: ch.ID, Realm: ch.Realm}
	w := wire{"challenge": ch, "payload": map[string]string{"type": credType, "from": payer, "to": payTo,
		"value": "10000", "validAfter": "0", "validBefore": "1",
		"nonce": c.hash(), "signature": "0x1111"}}
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := New(shop)
	got, err := p.Read(pay.Meta{metaCredential: b})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Match(got, q); err != nil || got.Nonce != string(f.Nonce) {
		t.Errorf("over MCP: %+v, %v", got, err)
	}
	for name, m := range map[string]pay.Meta{"long": {metaCredential: json.RawMessage(`"` +
		strings.Repeat("x", MaxCredential) + `"`)}, "null": {metaCredential: json.RawMessage("null")}} {
		if _, err := p.Read(m); reasonOf(err) != malformedCredential {
			t.Errorf("%s: %v", name, err)
		}
	}
	out := make(pay.Meta)
	if err := p.Answer(pay.Carrier{Meta: out}, got, pay.Outcome{Success: true, Network: networks.Base,
		Transaction: "0xabc", At: now, Payer: payer, Amount: 10000, Receipt: "jws"}); err != nil {
		t.Fatal(err)
	}
	want := `{"challengeId":"` + ch.ID +
		`","chainId":8453,"method":"evm","reference":"0xabc","status":"success","timestamp":"2026-11-22T12:00:00Z"}`
	if string(out[metaReceipt]) != want {
		t.Errorf("receipt %s, want %s", out[metaReceipt], want)
	}
	h := make(http.Header)
	if err := p.Answer(pay.Carrier{Header: h}, got, pay.Outcome{Success: true, Network: networks.Base,
		Transaction: "0xabc", At: now}); err != nil {
		t.Fatal(err)
	}
	if text, err := base64.RawURLEncoding.DecodeString(h.Get(headerReceipt)); err != nil || string(text) != want {
		t.Errorf("receipt %s, %v, want %s", text, err, want)
	}
	// What did not succeed has no receipt, and no challenge either.
	h = make(http.Header)
	if err := p.Answer(pay.Carrier{Header: h}, got, pay.Outcome{Reason: "settlement_pending",
		Network: networks.Base}); err != nil || len(h) != 0 {
		t.Errorf("without success %v, %v", h, err)
	}
}
