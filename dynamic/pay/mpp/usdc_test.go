package mpp

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// What a payer signs is as the page /spec/mpp-usdc/v1 works it out.
func TestUSDCVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/usdc.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		EVM struct {
			ID, Realm, RequestJCS, RequestHash, Preimage, Nonce, NonceOfEVM string
		}
		Solana struct {
			Seed, Source, Transaction, Challenge, Binding, Signature string
		}
	}
	page, bad := os.ReadFile("../../../content/pages/spec/mpp-usdc-v1.md")
	if err := errors.Join(bad, json.Unmarshal(b, &v)); err != nil {
		t.Fatal(err)
	}
	e := v.EVM
	for _, said := range []string{e.ID, e.Realm, e.RequestJCS, e.RequestHash, e.Preimage, e.Nonce, e.NonceOfEVM,
		v.Solana.Seed, v.Solana.Source, v.Solana.Transaction, v.Solana.Challenge, v.Solana.Binding,
		v.Solana.Signature} {
		if text, _ := json.Marshal(said); !strings.Contains(string(page), string(text)) {
			t.Errorf("the page does not say %s", text)
		}
	}
	c := challenge{ID: e.ID, Realm: e.Realm, Method: "usdc", Intent: intent,
		Request: base64.RawURLEncoding.EncodeToString([]byte(e.RequestJCS))}
	nonce, err := c.usdcNonce()
	if err != nil || nonce != e.Nonce || keccak([]byte(e.Preimage)) != e.Nonce || c.hash() != e.NonceOfEVM ||
		keccak([]byte(e.RequestJCS)) != e.RequestHash || !strings.Contains(e.Preimage, `"`+e.RequestHash+`"`) {
		t.Errorf("nonce %s, %v, hash %s, want %+v", nonce, err, c.hash(), e)
	}
	if asks, err := readCharge([]byte(e.RequestJCS)); err != nil || asks.way("usdc") != &ways[1] {
		t.Errorf("the request is read as %+v, %v", asks, err)
	}
	s := v.Solana
	seed, _ := hex.DecodeString(s.Seed)
	tx, _ := base64.StdEncoding.DecodeString(s.Transaction)
	of := credential{Method: "usdc", echo: []byte(s.Challenge), source: s.Source,
		bytes: sha256.Sum256(tx)}
	text, err := of.bindingText()
	domain := sha256.Sum256([]byte("CIRCLE::USDC::ChallengeBindingV00"))
	if err != nil || text != string(domain[:])+s.Binding || base64.StdEncoding.EncodeToString(
		ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(text))) != s.Signature {
		t.Errorf("the binding is of %q, %v", text, err)
	}
}

var (
	holder   = ed25519.NewKeyFromSeed(make([]byte, 32))
	stranger = ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", 32)))
)

func account(k ed25519.PrivateKey) string {
	return networks.EncodeBase58(k.Public().(ed25519.PublicKey))
}

// usdcQuote is sold on Base, Polygon and Solana.
func usdcQuote() *pay.Quote {
	q := quote()
	polygon, _ := networks.USDC("eip155:137")
	q.Accepts[0].Asset = polygon.Address
	mint, _ := networks.USDC(networks.Solana)
	q.Accepts = append(q.Accepts, rail.Requirement{Scheme: "exact", Network: networks.Solana, Amount: "10000",
		Asset: mint.Address, PayTo: account(stranger), MaxTimeoutSeconds: 60,
		Extra: map[string]any{"feePayer": account(stranger)}})
	q.At = now.Add(time.Minute)
	return q
}

// usdcFields are the challenges of an answer for who names the method, in the header and after them
// in the body.
func usdcFields(t testing.TB, q *pay.Quote, asks header) (fields []string, body []asked) {
	t.Helper()
	asks[headerAccept] = []string{"usdc/charge"}
	terms, err := New(shop).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	f := fill(q)
	f.Asks = asks
	h := make(http.Header)
	said, err := terms.Say(pay.Carrier{Header: h}, f, "", []byte("{"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Required required `json:"org.paymentauth/payment-required"`
	}
	object := "{" + strings.TrimPrefix(string(said), "{,") + "}"
	if err := json.Unmarshal([]byte(object), &got); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	return h.Values(headerChallenge), got.Required.Challenges
}

// answerUSDC is an answer to a challenge of method usdc, signed where that is for us to see.
func answerUSDC(field string, by ed25519.PrivateKey) wire {
	w := answer(field)
	c := challengeIn(w)
	asks, _ := readCharge([]byte(`"` + c.Request + `"`))
	nonce, _ := c.usdcNonce()
	if c.Method == "evm" {
		return w
	}
	if asks.MethodDetails.EVM != nil {
		w["payload"].(map[string]any)["nonce"] = nonce
		w["source"] = asks.way("usdc").network(asks.MethodDetails) + ":" + payer
		return w
	}
	w["source"] = networks.Solana + ":" + account(by)
	tx := base64.StdEncoding.EncodeToString([]byte("a transaction"))
	w["payload"] = map[string]any{"type": "transaction", "transaction": tx, "challengeBinding": map[string]any{
		"type": "challenge-binding-v00", "signature": ""}}
	bind(w, by)
	return w
}

func challengeIn(w wire) challenge {
	ch := w["challenge"].(map[string]any)
	get := func(name string) string { s, _ := ch[name].(string); return s }
	return challenge{ID: get("id"), Realm: get("realm"), Method: get("method"), Intent: get("intent"),
		Request: get("request"), Expires: get("expires"), Digest: get("digest"), Opaque: get("opaque"),
		Header: get("header")}
}

// bind signs the challenge of an answer together with its transaction, as the draft has it.
func bind(w wire, by ed25519.PrivateKey) {
	p := w["payload"].(map[string]any)
	tx, _ := base64.StdEncoding.DecodeString(p["transaction"].(string))
	sum := sha256.Sum256(tx)
	text, _ := json.Marshal(map[string]any{"type": "challenge-binding-v00", "method": "usdc",
		"challenge": w["challenge"], "source": w["source"], "transactionBytesDigest": hex.EncodeToString(sum[:])})
	domain := sha256.Sum256([]byte("CIRCLE::USDC::ChallengeBindingV00"))
	p["challengeBinding"].(map[string]any)["signature"] = base64.StdEncoding.EncodeToString(
		ed25519.Sign(by, append(domain[:], text...)))
}

// The header has a challenge for each kind of wallet, the body all, and all are of one order.
func TestUSDCChallenges(t *testing.T) {
	q := usdcQuote()
	fields, body := usdcFields(t, q, header{})
	if len(fields) != 2 || len(body) != 4 {
		t.Fatalf("%d fields, %d challenges in the body", len(fields), len(body))
	}
	orders := map[string]bool{}
	for i, want := range []string{`"type":"evm"`, `"type":"evm"`, `"type":"evm"`, `"solana":{"decimals":6,"feePayer":true,` +
		`"feePayerKey":"` + account(stranger) + `","network":"mainnet","tokenProgram":"` + tokenProgram + `"}`} {
		object, err := body[i].Request.canonical()
		if err != nil || !strings.Contains(string(object), want) || body[i].Method != "usdc" {
			t.Errorf("challenge %d asks %s, %v", i, object, err)
		}
		orders[body[i].Request.ExternalID] = true
	}
	if len(orders) != 1 || orders[""] {
		t.Errorf("the orders are %v", orders)
	}
	// A token that is not Circle's own, or of another domain, is not offered.
	q.Accepts = q.Accepts[:1]
	for name, change := range map[string]func(*rail.Requirement){
		"another token":    func(a *rail.Requirement) { a.Asset = usdc },
		"another domain":   func(a *rail.Requirement) { a.Extra = map[string]any{"name": "USDC", "version": "2"} },
		"by Permit2":       func(a *rail.Requirement) { a.Extra["assetTransferMethod"] = "permit2" },
		"another scheme":   func(a *rail.Requirement) { a.Scheme = "upto" },
		"an unknown chain": func(a *rail.Requirement) { a.Network = "eip155:31337" },
	} {
		one := *q
		a := q.Accepts[0]
		a.Extra = maps.Clone(a.Extra)
		change(&a)
		one.Accepts = []rail.Requirement{a}
		if terms, err := New(shop).Terms(&one); err != nil || terms.Words().How != "" {
			t.Errorf("%s: %v, %v", name, terms.Words(), err)
		}
	}
}

// What is signed by method usdc is for one challenge of one method, realm, network and door.
func TestUSDCMatch(t *testing.T) {
	q := usdcQuote()
	fields, _ := usdcFields(t, q, header{})
	others, _ := usdcFields(t, q, header{})
	evm, _ := ask(t, q, fill(q), "")
	set := func(path string, v any) func(wire) {
		return func(w wire) {
			m, name := w.at(path)
			if m[name] = v; v == nil {
				delete(m, name)
			}
		}
	}
	binding := func(name string, v any) func(wire) {
		return func(w wire) { w["payload"].(map[string]any)["challengeBinding"].(map[string]any)[name] = v }
	}
	// again gives a challenge that was changed the id that it would have, and signs anew.
	again := func(change func(wire)) func(wire) {
		return func(w wire) {
			change(w)
			c := challengeIn(w)
			w["challenge"].(map[string]any)["id"] = c.id(pay.NewMACs(derive(shop.Secret)))
			c = challengeIn(w)
			if p := w["payload"].(map[string]any); p["type"] == "authorization" {
				p["nonce"], _ = c.usdcNonce()
			} else {
				bind(w, holder)
			}
		}
	}
	request := func(field string, change func(*charge)) string {
		_, v := params(field)
		r, _ := readCharge([]byte(`"` + v["request"] + `"`))
		change(&r)
		s, _ := r.encode()
		return s
	}
	onEVM, onSolana := fields[0], fields[1]
	hashOf := func(field string) string {
		_, v := params(field)
		c := challenge{ID: v["id"], Realm: v["realm"]}
		return c.hash()
	}
	_, v := params(others[1])
	for name, c := range map[string]struct {
		field  string
		change func(wire)
		late   bool
		want   string
	}{
		"on an EVM network": {field: onEVM},
		"without a source":  {field: onEVM, change: set("source", nil)},
		"a source as a DID": {field: onEVM, change: set("source", "did:pkh:eip155:137:"+payer)},
		"on Solana":         {field: onSolana},
		"the nonce of method evm": {field: onEVM, change: set("payload.nonce", hashOf(onEVM)),
			want: verificationFailed},
		"the nonce in upper case": {field: onEVM, change: func(w wire) {
			p := w["payload"].(map[string]any)
			p["nonce"] = "0x" + strings.ToUpper(p["nonce"].(string)[2:])
		}, want: verificationFailed},
		"evm with the nonce of usdc": {field: evm, change: func(w wire) {
			c := challengeIn(w)
			c.Method = "usdc"
			w["payload"].(map[string]any)["nonce"], _ = c.usdcNonce()
		}, want: verificationFailed},
		"evm with its own nonce": {field: evm, change: set("payload.nonce", hashOf(evm))},
		"another's source":       {field: onEVM, change: set("source", "eip155:137:"+payTo), want: verificationFailed},
		"a source of another net": {field: onEVM, change: set("source", "eip155:8453:"+payer),
			want: verificationFailed},
		"another network, ours": {field: onEVM, change: again(set("challenge.request", request(onEVM,
			func(r *charge) { r.MethodDetails.EVM.ChainID = 42161 }))), want: invalidChallenge},
		"another order, ours": {field: onEVM, change: again(set("challenge.request", request(onEVM,
			func(r *charge) { r.ExternalID = "order-1" }))), want: invalidChallenge},
		"another token program, ours": {field: onSolana, change: again(set("challenge.request", request(onSolana,
			func(r *charge) { r.MethodDetails.Solana.TokenProgram = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb" }))),
			want: invalidChallenge},
		"two profiles, ours": {field: onSolana, change: again(set("challenge.request", request(onSolana,
			func(r *charge) { r.MethodDetails.EVM = &chainDetails{} }))), want: invalidChallenge},
		"another profile than its type, ours": {field: onSolana, change: again(set("challenge.request",
			request(onSolana, func(r *charge) { r.MethodDetails.Type = "evm" }))), want: invalidChallenge},
		"Stacks": {field: onEVM, change: set("challenge.request", request(onEVM,
			func(r *charge) { r.MethodDetails.Type = "stacks" })), want: invalidChallenge},
		"evm's request as usdc, ours": {field: evm, change: again(set("challenge.method", "usdc")),
			want: invalidChallenge},
		"usdc's request as evm": {field: onEVM, change: set("challenge.method", "evm"), want: invalidChallenge},
		"an authorization for Solana": {field: onSolana,
			change: set("payload", map[string]any{"type": "authorization"}), want: invalidPayload},
		"more in the payload": {field: onSolana, change: set("payload.more", 1), want: invalidPayload},
		"no binding":          {field: onSolana, change: set("payload.challengeBinding", nil), want: invalidPayload},
		"a later binding": {field: onSolana, change: binding("type", "challenge-binding-v01"),
			want: invalidPayload},
		"a short signature":   {field: onSolana, change: binding("signature", "AAAA"), want: invalidPayload},
		"no transaction":      {field: onSolana, change: set("payload.transaction", "!"), want: invalidPayload},
		"another transaction": {field: onSolana, change: set("payload.transaction", "AAAA"), want: verificationFailed},
		"another challenge":   {field: onSolana, change: set("challenge.description", "x"), want: verificationFailed},
		"bound by a stranger": {field: onSolana, change: func(w wire) { bind(w, stranger) }, want: verificationFailed},
		"a stranger's source": {field: onSolana, change: set("source",
			networks.Solana+":"+account(stranger)), want: verificationFailed},
		"a source as DID": {field: onSolana, change: set("source",
			"did:pkh:"+networks.Solana+":"+account(holder)), want: verificationFailed},
		"no source":            {field: onSolana, change: set("source", nil), want: verificationFailed},
		"of another answer":    {field: onSolana, change: set("challenge.opaque", v["opaque"]), want: invalidChallenge},
		"past its end":         {field: onSolana, late: true, want: paymentExpired},
		"with its description": {field: onSolana, change: again(set("challenge.description", "as shown"))},
	} {
		w := answerUSDC(c.field, holder)
		if c.change != nil {
			c.change(w)
		}
		asked := usdcQuote()
		if c.late {
			asked.At = now.Add(time.Hour)
		}
		p := New(shop)
		got, err := p.Read(header{headerCredential: {w.encode(t)}})
		var want rail.Requirement
		if err == nil {
			want, err = p.Match(got, asked)
		}
		if reasonOf(err) != c.want || c.want == "" && (err != nil || want.Network != got.Accepted.Network ||
			got.Order == "" || want.Bare != (c.field == onSolana) ||
			got.Payer != map[bool]string{true: account(holder)}[c.field == onSolana]) {
			t.Errorf("%s: %+v, %v, want %q", name, want, err, c.want)
		}
	}
}

// A credential comes in the field that its challenge names, and in no other.
func TestField(t *testing.T) {
	q := usdcQuote()
	plain, _ := usdcFields(t, q, header{})
	apart, body := usdcFields(t, q, header{headerCredential: {"Bearer st_x"}})
	if _, v := params(apart[0]); v["header"] != headerApart || body[3].Header != headerApart {
		t.Fatalf("beside a bearer: %s", apart[0])
	}
	for name, asks := range map[string]header{
		"a refused credential beside it": {headerCredential: {"Bearer st_x"}, headerApart: {"Payment x"}},
		"another in front":               {headerCredential: {"Basic dTpw", "Payment x"}},
	} {
		fields, _ := usdcFields(t, q, asks)
		if _, v := params(fields[0]); v["header"] != headerApart {
			t.Errorf("%s: %s", name, fields[0])
		}
	}
	for _, asks := range []header{{headerCredential: {""}}, {headerCredential: {"payment x"}}, {headerApart: {"x"}}} {
		if fields, _ := usdcFields(t, q, asks); strings.Contains(fields[0], "header=") {
			t.Errorf("%v: %s", asks, fields[0])
		}
	}
	of := func(field string) header {
		return header{headerCredential: {answerUSDC(field, holder).encode(t)}}
	}
	moved := func(h header, beside ...string) header {
		return header{headerApart: h[headerCredential], headerCredential: beside}
	}
	forged := answerUSDC(plain[0], holder)
	forged["challenge"].(map[string]any)["header"] = headerApart
	for name, c := range map[string]struct {
		in   header
		want string
	}{
		"by default":                 {of(plain[0]), ""},
		"named":                      {moved(of(apart[0])), ""},
		"named, beside a bearer":     {moved(of(apart[1]), "Bearer st_x"), ""},
		"by default, in the other":   {moved(of(plain[0])), invalidChallenge},
		"named, in the usual":        {of(apart[0]), invalidChallenge},
		"one that was not asked for": {moved(header{headerCredential: {forged.encode(t)}}), invalidChallenge},
		"another scheme":             {header{headerApart: {"Bearer x"}}, malformedCredential},
		"the name of the scheme":     {header{headerApart: {"Payment"}}, malformedCredential},
		"nothing":                    {header{headerApart: {""}}, malformedCredential},
		"too long": {header{headerApart: {"Payment " + strings.Repeat("A", MaxCredential+1)}},
			malformedCredential},
	} {
		p := New(shop)
		got, err := p.Read(c.in)
		if err == nil {
			_, err = p.Match(got, usdcQuote())
		}
		if reasonOf(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A replay comes in the same field.
	one, err := New(shop).Read(of(apart[0]))
	two, err2 := New(shop).Read(moved(of(apart[0])))
	if err != nil || err2 != nil || one.Digest == two.Digest {
		t.Errorf("a credential is the same in both fields: %v, %v", err, err2)
	}
}
