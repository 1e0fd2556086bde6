package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	jsonx "encoding/json/v2"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"

	"github.com/google/go-cmp/cmp"
)

// untouched demands that nothing was served, claimed, sent or paid.
func (s *shop) untouched(what string) {
	s.t.Helper()
	if got := s.net.Balance(s.net.PayTo); got != 0 {
		s.t.Fatalf("%s: payTo received %d", what, got)
	}
	pending, err := s.net.RPC.PendingNonceAt(s.t.Context(), s.net.Relayer.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	if pending != 0 {
		s.t.Fatalf("%s: the relayer sent %d transactions", what, pending)
	}
	if got := tilltest.Purchases(s.t, s.db); len(got) != 0 {
		s.t.Fatalf("%s: the journal holds %+v", what, got)
	}
}

// refusedPayment demands a 4xx for a header.
func (s *shop) refusedPayment(what, path, header string) {
	s.t.Helper()
	r := s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": header})
	if r.Status < 400 || r.Status > 499 || r.Str("billed") != "no" || r.Body["delivered"] != false {
		s.t.Errorf("%s = %d %s", what, r.Status, r.Raw)
	}
}

func TestTamperedPayments(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	// Each payment is good but for one thing.
	object := func(p payment, name string) map[string]any {
		m := maps.Clone(p.wire[name].(map[string]any))
		p.wire[name] = m
		return m
	}
	inner := func(p payment, names ...string) map[string]any {
		m := object(p, names[0])
		for _, n := range names[1:] {
			c := maps.Clone(m[n].(map[string]any))
			m[n] = c
			m = c
		}
		return m
	}
	set := func(value any, names ...string) func(payment) {
		return func(p payment) {
			if len(names) == 1 {
				p.wire[names[0]] = value
				return
			}
			inner(p, names[:len(names)-1]...)[names[len(names)-1]] = value
		}
	}
	signed := func(change func(*token.Authorization)) func() payment {
		return func() payment { return s.sign(ch, 0, buyer, change) }
	}
	cases := map[string]struct {
		sign   func() payment
		change func(payment)
	}{
		"version 1":                   {nil, set(1, "x402Version")},
		"version as text":             {nil, set("2", "x402Version")},
		"version 2.0 and more":        {nil, set(2.5, "x402Version")},
		"scheme":                      {nil, set("upto", "accepted", "scheme")},
		"unknown network":             {nil, set("eip155:1", "accepted", "network")},
		"another network of ours":     {nil, set("eip155:137", "accepted", "network")},
		"amount less":                 {nil, set("1", "accepted", "amount")},
		"amount as number":            {nil, set(500000, "accepted", "amount")},
		"asset":                       {nil, set(s.net.Minter.Address.Hex(), "accepted", "asset")},
		"asset in lower case":         {nil, set(strings.ToLower(s.net.Asset.Hex()), "accepted", "asset")},
		"payTo":                       {nil, set(buyer.Address.Hex(), "accepted", "payTo")},
		"timeout":                     {nil, set(3600, "accepted", "maxTimeoutSeconds")},
		"timeout as text":             {nil, set("300", "accepted", "maxTimeoutSeconds")},
		"extra name":                  {nil, set("USDC", "accepted", "extra", "name")},
		"extra missing":               {nil, func(p payment) { delete(object(p, "accepted"), "extra") }},
		"extra a list":                {nil, set([]any{}, "accepted", "extra")},
		"unknown member of accepted":  {nil, set("x", "accepted", "discount")},
		"signed for less":             {signed(func(a *token.Authorization) { a.Value.SetInt64(1) }), nil},
		"signed for more":             {signed(func(a *token.Authorization) { a.Value.SetInt64(500_001) }), nil},
		"signed to the payer":         {signed(func(a *token.Authorization) { a.To = buyer.Address }), nil},
		"value changed after signing": {nil, set("499999", "payload", "authorization", "value")},
		"from another":                {nil, set(s.net.Buyers[1].Address.Hex(), "payload", "authorization", "from")},
		"nonce changed":               {nil, set("0x"+strings.Repeat("17", 32), "payload", "authorization", "nonce")},
		"nonce short":                 {nil, set("0x17", "payload", "authorization", "nonce")},
		"validBefore later":           {nil, set("99999999999", "payload", "authorization", "validBefore")},
		"validBefore negative":        {nil, set("-1", "payload", "authorization", "validBefore")},
		"validBefore beyond 256 bits": {nil, set(strings.Repeat("9", 79), "payload", "authorization", "validBefore")},
		"signature bytes":             {nil, set("0x"+strings.Repeat("5a", 65), "payload", "signature")},
		"signature empty":             {nil, set("0x", "payload", "signature")},
		"signature of 64 bytes":       {nil, set("0x"+strings.Repeat("5a", 64), "payload", "signature")},
		"signature of zeros":          {nil, set("0x"+strings.Repeat("00", 65), "payload", "signature")},
		"signature missing":           {nil, func(p payment) { delete(object(p, "payload"), "signature") }},
		"authorization missing":       {nil, func(p payment) { delete(object(p, "payload"), "authorization") }},
		"payload a list":              {nil, set([]any{1}, "payload")},
		"payload missing":             {nil, func(p payment) { delete(p.wire, "payload") }},
		"accepted missing":            {nil, func(p payment) { delete(p.wire, "accepted") }},
		"accepted a list":             {nil, set(ch["accepts"], "accepted")},
		"extension echo changed":      {nil, set(true, "extensions", "payment-identifier", "info", "required")},
		"extension not an object":     {nil, set("x", "extensions", "bazaar")},
		"extensions a list":           {nil, set([]any{}, "extensions")},
		"resource of another good":    {nil, set(s.url+"/api/buy/a_secret", "resource", "url")},
		"resource of another store":   {nil, set("https://shop.example/api/buy/hello", "resource", "url")},
		"resource a text":             {nil, set(s.url+path, "resource")},
		"the other network's challenge": {func() payment { return s.sign(ch, 1, buyer, nil) },
			set(ch["accepts"].([]any)[0], "accepted")},
	}
	for name, c := range cases {
		if c.sign == nil {
			c.sign = signed(nil)
		}
		p := c.sign()
		if c.change != nil {
			c.change(p)
		}
		s.refusedPayment(name, path, p.header(t))
	}
	s.untouched("tampered objects")

	good := s.sign(ch, 0, buyer, tenMinutes)
	raw, err := json.Marshal(good.wire)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, header := range map[string]string{
		"a name twice": encode(strings.Replace(text, `"x402Version":2`,
			`"x402Version":2,"x402Version":2`, 1)),
		"a name twice further in": encode(strings.Replace(text, `"value":"500000"`, `"value":"1","value":"500000"`,
			1)),
		"a name twice in accepted": encode(strings.Replace(text, `"scheme":"exact"`,
			`"scheme":"exact","scheme":"exact"`, 1)),
		"a name twice in extensions": encode(strings.Replace(text, `"bazaar":`, `"bazaar":{"info":{}},"bazaar":`, 1)),
		"two objects":                encode(text + text),
		"an object and more":         encode(text + "x"),
		"a list":                     encode("[" + text + "]"),
		"null":                       encode("null"),
		"a number":                   encode("2"),
		"a text":                     encode(`"` + "x" + `"`),
		"nothing in base64":          "====",
		"empty":                      ",",
		"URL alphabet": strings.NewReplacer("+", "-", "/",
			"_").Replace(encode(text + "   \u00ff\u00fe??>>")),
		"not base64":                  "!" + encode(text),
		"a space inside":              encode(text)[:40] + " " + encode(text)[40:],
		"base64 twice":                encode(encode(text)),
		"plain JSON":                  text,
		"cut":                         encode(text)[:len(encode(text))/2/4*4],
		"bad UTF-8":                   encode(strings.Replace(text, "exact", "ex\xffct", 1)),
		"oversized":                   encode(strings.Replace(text, "{", "{"+strings.Repeat(" ", 30<<10), 1)),
		"deep":                        encode(strings.Repeat("[", 9000)),
		"padding that says something": strings.TrimRight(encode("x"+text[:len(text)-len(text)%3]), "=") + "B=",
	} {
		s.refusedPayment(name, path, header)
	}
	s.untouched("tampered texts")

	r := s.do("HEAD", path, map[string]string{"PAYMENT-SIGNATURE": good.header(t)})
	if r.Status != 402 {
		t.Errorf("HEAD with a payment = %d, want 402", r.Status)
	}
	s.untouched("HEAD")
	s.want("the untampered payment", s.present(path, good), 200, "")
}

// neutral reports a header that says what the original says: the payment in it is as good.
func neutral(header string, original payment) bool {
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(header, "="))
	}
	var m map[string]any
	if err != nil || jsonx.Unmarshal(raw, &m) != nil {
		return false
	}
	payload := func(m map[string]any) string {
		b, _ := json.Marshal([]any{m["payload"], m["x402Version"]})
		return strings.ToLower(string(b))
	}
	var o map[string]any
	b, _ := json.Marshal(original.wire)
	json.Unmarshal(b, &o)
	return payload(m) == payload(o) && cmp.Equal(m["accepted"], o["accepted"])
}

// mutate changes a text in one of many small ways.
func mutate(rnd *rand.Rand, s string) string {
	i := rnd.IntN(len(s))
	j := min(len(s), i+1+rnd.IntN(12))
	switch rnd.IntN(8) {
	case 0:
		return s[:i] + string(rune(rnd.IntN(256))) + s[i+1:]
	case 1:
		return s[:i] + s[j:]
	case 2:
		return s[:j] + s[i:]
	case 3:
		return s[:i] + string(`{}[]",:0123456789abcdefx-.eE \`[rnd.IntN(29)]) + s[i:]
	case 4:
		b := []byte(s)
		b[i] ^= 1 << rnd.IntN(8)
		return string(b)
	case 5:
		return s[:i]
	case 6:
		words := []string{"null", "true", "{}", "[]", `""`, "-1", "1e999", `"0x"`, strings.Repeat("9", 100)}
		if at := strings.Index(s[i:], ":"); at >= 0 {
			return s[:i+at+1] + words[rnd.IntN(len(words))] + s[i+at+1:]
		}
		return s[i:]
	default:
		k := rnd.IntN(len(s))
		return s[:i] + s[k:min(len(s), k+j-i)] + s[j:]
	}
}

func TestFuzzedPayments(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/hello"
	rnd := rand.New(rand.NewPCG(1, 2))
	good := s.sign(s.challenge(path), 0, s.net.Buyers[0], tenMinutes)
	raw, err := json.Marshal(good.wire)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 500; {
		text := string(raw)
		for range 1 + rnd.IntN(3) {
			if text != "" {
				text = mutate(rnd, text)
			}
		}
		header := base64.StdEncoding.EncodeToString([]byte(text))
		if rnd.IntN(5) == 0 {
			header = mutate(rnd, base64.StdEncoding.EncodeToString(raw))
			if strings.ContainsFunc(header, func(r rune) bool { return r <= ' ' || r > '~' }) {
				continue // no HTTP header
			}
		}
		if header == "" || neutral(header, good) {
			continue
		}
		n++
		s.refusedPayment(fmt.Sprintf("fuzzed payment %d (%.3000s)", n, text), path, header)
	}
	s.untouched("fuzzed payments")
	s.want("the payment that all were made from", s.present(path, good), 200, "")
}

func TestToleratedPayments(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	ch := s.challenge(path)
	for name, change := range map[string]func(payment){
		"as it is":         func(payment) {},
		"no resource":      func(p payment) { delete(p.wire, "resource") },
		"resource null":    func(p payment) { p.wire["resource"] = nil },
		"no extensions":    func(p payment) { delete(p.wire, "extensions") },
		"extensions empty": func(p payment) { p.wire["extensions"] = map[string]any{} },
		"a further member": func(p payment) { p.wire["agent"] = map[string]any{"name": "x"} },
		"a further extension": func(p payment) {
			p.wire["extensions"] = map[string]any{"builder-code": map[string]any{"info": map[string]any{"a": 1}}}
		},
		"a further resource name": func(p payment) {
			p.wire["resource"] = map[string]any{"url": s.url + path,
				"colour": "red"}
		},
		"further extra": func(p payment) {
			a := maps.Clone(p.wire["accepted"].(map[string]any))
			e := maps.Clone(a["extra"].(map[string]any))
			e["assetTransferMethod"] = "eip3009"
			a["extra"], p.wire["accepted"] = e, a
		},
	} {
		p := s.sign(ch, 0, s.net.Buyers[0], nil)
		change(p)
		s.want(name, s.present(path, p), 200, "")
	}
	p := s.sign(ch, 0, s.net.Buyers[0], nil)
	s.want("without padding",
		s.do("GET", path, map[string]string{"PAYMENT-SIGNATURE": strings.TrimRight(p.header(t), "=")}), 200, "")
	s.audit()
}
