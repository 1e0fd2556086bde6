package exchange

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/networks"
)

const (
	evmAddress    = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	solanaAddress = "4xuFetaZeAVw81oNVVWVxEt2Jh5rmN1D66keucZ3kcav"
	base          = "eip155:8453"
	solana        = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
)

// challenge holds an address everywhere a door might put it.
var challenge = `{"x402Version":2,"resource":{"url":"https://door.example/pay/` + strings.ToLower(evmAddress) + `"},
"accepts":[
 {"scheme":"exact","network":"` + base + `","amount":"1000","payTo":"` + evmAddress + `","n":1.50,"big":9007199254740993},
 {"scheme":"exact","network":"` + solana + `","amount":"1000","payTo":"` + solanaAddress + `"},
 {"scheme":"exact","network":"` + base + `","payTo":"shop.eth"},{"network":"` + base + `","payTo":7}],
"extensions":{"note":"pay ` + strings.ToUpper(evmAddress[2:]) + ` please","account":"` + base + `:` + evmAddress + `","padded":"0x000000000000000000000000` + strings.ToLower(evmAddress[2:]) + `",
 "` + solanaAddress + `":true,"blob":"` + base64.StdEncoding.EncodeToString([]byte("to "+solanaAddress+" now")) + `",
 "offer-receipt":{"info":{"offers":[{"format":"jws","acceptIndex":0,"signature":"` + offer + `"}]}}}}`

var offer = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"did:web:door.example#k"}`)) + "." +
	base64.RawURLEncoding.EncodeToString([]byte(`{"network":"`+base+`","payTo":"`+evmAddress+`"}`)) + "." +
	base64.RawURLEncoding.EncodeToString(make([]byte, 64))

func paid() Exchange {
	request := base64.RawURLEncoding.EncodeToString(
		[]byte(`{"amount":"1000","methodDetails":{"chainId":8453},"recipient":"` + evmAddress + `"}`))
	return Exchange{
		Request: Request{Method: "GET", URL: "https://door.example/pay/" + solanaAddress},
		Response: Response{Status: 402, Proto: "HTTP/1.1", Body: []byte(challenge), Header: http.Header{
			"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(challenge))},
			"Www-Authenticate": {`Payment id="x", realm="door.example", method="evm", intent="charge", request="` +
				request + `"`, `Bearer realm="no"`},
			"Content-Type": {"application/json"},
			"Link":         {"<https://door.example/" + evmAddress + ">; rel=pay"},
			"Set-Cookie":   {"secret=1"},
			"X-Pay-To":     {evmAddress},
		}},
		StartedAt: time.Date(2026, 11, 20, 10, 11, 12, 999_000_000, time.UTC), Duration: 1500 * time.Microsecond,
		RemoteAddr: "203.0.113.7:443", Error: Error{Stage: StageBody, Text: "reading " + solanaAddress},
	}
}

func redacted(t testing.TB, x Exchange) Redacted {
	t.Helper()
	r, err := x.Redact()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNoAddressIsPublished(t *testing.T) {
	raw, err := redacted(t, paid()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	published := strings.ToLower(string(raw))
	for _, secret := range []string{evmAddress[2:], solanaAddress, "secret=1", "203.0.113.7",
		base64.StdEncoding.EncodeToString([]byte("to " + solanaAddress + " now"))[4:40]} {
		if strings.Contains(published, strings.ToLower(secret)) {
			t.Errorf("%s is published in %s", secret, raw)
		}
	}
	for _, kept := range []string{`"application/json"`, `"1000"`, "1.50", "9007199254740993", PayToDigest(base, evmAddress),
		PayToDigest(solana, solanaAddress), `"set-cookie"`, strings.Split(offer, ".")[2]} {
		if !strings.Contains(published, strings.ToLower(kept)) {
			t.Errorf("%s is not published in %s", kept, raw)
		}
	}
}

func TestRedactedChallenge(t *testing.T) {
	r := redacted(t, paid())
	if len(r.Challenges) != 3 {
		t.Fatalf("%d challenges", len(r.Challenges))
	}
	want := `"` + standIn(evmAddress, 1) + `"`
	for i, from := range []string{FromHeader, FromBody, FromAuthenticate} {
		c := r.Challenges[i]
		if c.From != from || c.Problem != "" || !strings.Contains(string(c.Value), want) {
			t.Errorf("challenge %d: %+v", i, c)
		}
	}
	mpp := r.Challenges[2]
	if got, want := string(mpp.Value), `{"amount":"1000","methodDetails":{"chainId":8453},"recipient":`+want+
		`}`; got != want {
		t.Errorf("mpp request = %s, want %s", got, want)
	}
	wantParams := []HeaderLine{{Name: "id", Value: "x"}, {Name: "realm", Value: "door.example"},
		{Name: "method", Value: "evm"}, {Name: "intent", Value: "charge"}}
	if diff := cmp.Diff(wantParams, mpp.Params); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
	if r.Challenges[0].Encoding != "base64" || mpp.Encoding != "base64url-unpadded" {
		t.Errorf("encodings %q and %q", r.Challenges[0].Encoding, mpp.Encoding)
	}
	if got := r.Header("content-type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	if diff := cmp.Diff([]string{"Payment-Required", "Set-Cookie", "Www-Authenticate", "X-Pay-To"},
		r.OtherHeaders); diff != "" {
		t.Errorf("other headers (-want +got):\n%s", diff)
	}
	if r.DurationMS != 2 || r.StartedAt != "2026-11-20T10:11:12Z" || r.Body.Bytes != int64(len(challenge)) ||
		r.Body.SHA256 != digestOf([]byte(challenge)) {
		t.Errorf("facts: %+v", r)
	}
}

func TestUnreadableChallenges(t *testing.T) {
	for name, c := range map[string]struct{ header, problem string }{
		"not base64": {"{}", "not base64"},
		"not JSON":   {base64.StdEncoding.EncodeToString([]byte("hello")), "not strict JSON"},
		"duplicate":  {base64.StdEncoding.EncodeToString([]byte(`{"a":1,"a":2}`)), "not strict JSON"},
		"two values": {base64.StdEncoding.EncodeToString([]byte(`{} {}`)), "not strict JSON"},
		"deep": {base64.StdEncoding.EncodeToString([]byte(strings.Repeat("[", 100) + strings.Repeat("]", 100))),
			"not strict JSON"},
		"empty":     {"", "not base64"},
		"bad UTF-8": {base64.StdEncoding.EncodeToString([]byte("{\"a\":\"\xff\"}")), "not strict JSON"},
	} {
		x := Exchange{Response: Response{Status: 402, Header: http.Header{"Payment-Required": {c.header}}}}
		r := redacted(t, x)
		if len(r.Challenges) != 1 || r.Challenges[0].Problem != c.problem || r.Challenges[0].Value != nil {
			t.Errorf("%s: %+v", name, r.Challenges)
		}
	}
	if r := redacted(t, Exchange{Response: Response{Status: 402, Body: []byte(`{"error":"no"}`)}}); len(
		r.Challenges) != 0 {
		t.Errorf("a body without terms: %+v", r.Challenges)
	}
}

func TestEvidenceDigest(t *testing.T) {
	r := redacted(t, paid())
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeRedacted(raw)
	if err != nil {
		t.Fatal(err)
	}
	if back.Digest() != r.Digest() || digestOf(raw) != r.Digest() {
		t.Error("the digest is not that of the published bytes")
	}
	for i := range raw {
		for _, c := range []byte{1, 2, 0x20, 0x80} {
			changed := bytes.Clone(raw)
			changed[i] ^= c
			if back, err := DecodeRedacted(changed); err == nil && back.Digest() == r.Digest() {
				t.Fatalf("byte %d can change under the same digest", i)
			}
		}
	}
	x := paid()
	x.RemoteAddr, x.Request.Header = "198.51.100.1:443", http.Header{"Authorization": {"secret"}}
	if redacted(t, x).Digest() != r.Digest() {
		t.Error("what is not published changes the digest")
	}
	x.Response.Status = 403
	if redacted(t, x).Digest() == r.Digest() {
		t.Error("what is published does not change the digest")
	}
}

func TestHeadersThatAreLongAreCut(t *testing.T) {
	x := Exchange{Response: Response{Header: http.Header{"Server": {strings.Repeat("é", 1000)}}}}
	r := redacted(t, x)
	if h := r.Headers[0]; !h.Cut || len(h.Value) > maxShownValue {
		t.Errorf("%d bytes, cut %v", len(h.Value), h.Cut)
	}
	if raw, err := r.Encode(); err != nil {
		t.Error(err)
	} else if _, err := DecodeRedacted(raw); err != nil {
		t.Error(err)
	}
}

func TestPayToDigest(t *testing.T) {
	// Computed by: printf 'store-pay-to/v1|eip155:8453|0x7099…' | sha256sum
	const want = "c4888387240b859e051893363406e6d9db485162259c3fe33a20e792c8c82f2f"
	if got := PayToDigest(base, evmAddress); got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
	if PayToDigest(base, strings.ToLower(evmAddress)) != want {
		t.Error("the case of an Ethereum address changes its digest")
	}
	if PayToDigest("eip155:1", evmAddress) == want {
		t.Error("the network does not change the digest")
	}
	if PayToDigest(solana, solanaAddress) == PayToDigest(solana, strings.ToLower(solanaAddress)) {
		t.Error("the case of a Solana address does not change its digest")
	}
}

// TestNetworkNames: what is no name of a network is called other, in lists and in digests alike.
func TestNetworkNames(t *testing.T) {
	for _, name := range []string{base, solana, "eip155:1", "abc-1:x_2", "cosmos:cosmoshub-4"} {
		if got := networks.CAIP2Name(name); got != name {
			t.Errorf("%q is called %q", name, got)
		}
	}
	for _, junk := range []string{"", "base", "eip155", "eip155:", ":1", "eip155:08453", "eip155:0", "eip155:-1",
		"eip155:0x1",
		"eip155:8453:1", "EIP155:1", "ab:1", "abcdefghi:1", "abc:" + strings.Repeat("x", 33), "abc:\u202e",
		"eip155:8453\x01", " eip155:1", "abc:x y", "a\xffc:1", "<b>:1", "other"} {
		if got := networks.CAIP2Name(junk); got != "other" {
			t.Errorf("%q is called %q", junk, got)
		}
		if PayToDigest(junk, evmAddress) != PayToDigest("other", evmAddress) {
			t.Errorf("an address on %q has a digest of its own", junk)
		}
	}
}

func TestPayToForm(t *testing.T) {
	for address, want := range map[string]string{
		evmAddress: FormEVM, strings.ToLower(evmAddress): FormEVM, "0x" + strings.ToUpper(evmAddress[2:]): FormEVM,
		"0x70997970c51812dc3A010C7d01b50e0d17dc79C8": FormEVMBadChecksum, "0x" + strings.Repeat("0", 40): FormEVMZero,
		solanaAddress: FormSolana, "11111111111111111111111111111111": FormSolana, solanaAddress + "1": FormOther,
		"shop.eth": FormName, "": FormEmpty, "shop": FormOther, "a b.c": FormOther, evmAddress + "0": FormOther,
		evmAddress[2:]: FormOther,
	} {
		if got := PayToForm(address); got != want {
			t.Errorf("form of %q = %s, want %s", address, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(challenge), "Payment id=a, request=\"e30\"")
	f.Add([]byte(`{"accepts":[{"payTo":["`+solanaAddress+`",{"x":"%30x"}]}],"stand-in-1.invalid":"`+offer+`"}`), "")
	f.Add([]byte(`{"accepts":[{"payTo":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}],"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":1}`), `Payment request="\`)
	f.Fuzz(func(t *testing.T, body []byte, authenticate string) {
		x := Exchange{Response: Response{Status: 402, Body: body, Header: http.Header{
			"Payment-Required": {base64.StdEncoding.EncodeToString(body)}, "Www-Authenticate": {authenticate}}}}
		r, err := x.Redact()
		if errors.Is(err, ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatalf("%q cannot be redacted: %v", body, err)
		}
		raw, err := r.Encode()
		if err != nil {
			t.Fatalf("%q cannot be published: %v", body, err)
		}
		if _, err := DecodeRedacted(raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	})
}

// TestStandIns: equal addresses have equal stand-ins and others have others, of the form of the
// address; what a door writes itself in the form of one is no stand-in of another's address.
func TestStandIns(t *testing.T) {
	const usdc, longName = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "a-name-of-more-than-20-letters.eth"
	upper, lower := "0x"+strings.ToUpper(evmAddress[2:]), strings.ToLower(evmAddress)
	addresses := []string{evmAddress, lower, upper, "0x70997970c51812dc3A010C7d01b50e0d17dc79C8", // one account
		"0x" + strings.Repeat("1", 40), solanaAddress, strings.Repeat("1", 32), longName, "shop.eth", "shop",
		"0x" + strings.Repeat("0", 40), "", standIn(evmAddress, 1), standIn(solanaAddress, 1),
		standIn(longName, 7), "(stand-in 1)", usdc, "eip155:8453:" + usdc}
	var terms strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&terms, `{"network":"%s","payTo":"%s","asset":"%s","is":"<%s>"},`, base, a, usdc, a)
	}
	text := `{"own":"` + standIn(lower, 2) + ` stand-in-6.invalid (stand-in 7)","accepts":[` + terms.String() + `{"payTo":["` + evmAddress +
		`",7]}]}`
	r := redacted(t, Exchange{Response: Response{Status: 402, Body: []byte(text)}})
	v, err := ParseValue(r.Challenges[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := v.(*Object).Get("accepts")
	entries, of := list.([]any), map[string]string{}
	for i, a := range addresses {
		entry := entries[i].(*Object)
		payTo, _ := entry.text("payTo")
		is, _ := entry.text("is")
		asset, _ := entry.text("asset")
		hidden := PayToForm(a) != FormEmpty && PayToForm(a) != FormEVMZero
		if PayToForm(payTo) != PayToForm(a) || hidden == (payTo == a) || asset != usdc ||
			len(a) >= minSwept && a != usdc && is != "<"+payTo+">" {
			t.Errorf("%q is published as %q beside %q and %q", a, payTo, is, asset)
		}
		if digest := r.PayToDigest(base, payTo); hidden && digest != PayToDigest(base, a) {
			t.Errorf("%q has the digest %q", payTo, digest)
		}
		if before, ok := of[addressKey(payTo)]; ok && before != addressKey(a) {
			t.Errorf("%q stands for %q and %q", payTo, before, a)
		}
		of[addressKey(payTo)] = addressKey(a)
	}
	if len(of) != len(addresses)-3 {
		t.Errorf("%d stand-ins for %d addresses: %v", len(of), len(addresses)-3, of)
	}
	own, _ := v.(*Object).text("own")
	for _, theirs := range standIns.FindAllString(own, -1) {
		if _, forged := of[theirs]; forged {
			t.Errorf("the door's own %q is a stand-in of an address", theirs)
		}
	}
	if last, _ := entries[len(addresses)].(*Object).Get("payTo"); cmp.Diff(last, []any{standIn(evmAddress, 1), 7.0}) !=
		"" {
		t.Errorf("a payTo that is no text is %v", last)
	}
	digest := digestOf(nil)
	for _, list := range [][]StandIn{{r.StandIns[1], r.StandIns[0]}, {{evmAddress, base, digest}},
		{{standIn(upper, 1), base, digest}}, {{standIn(lower, 1), "base", digest}}, {{standIn(lower, 1), base, "0"}}} {
		raw, err := Redacted{Format: RedactedFormat, StandIns: list}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeRedacted(raw); err == nil {
			t.Errorf("%+v is taken for a list of stand-ins", list)
		}
	}
}

// TestHostStays: a door that calls its own host an address is told by it all the same.
func TestHostStays(t *testing.T) {
	const host = "door-with-a-long-name.example"
	for _, url := range []string{"https://" + host, "https://" + host + "/" + host, "https://" + host + "?" + host} {
		r := redacted(t, Exchange{Request: Request{URL: url}, Response: Response{
			Body: []byte(`{"accepts":[{"payTo":"` + host + `"}]}`)}})
		if want := url[:strings.Index(url, host)] + host; !strings.HasPrefix(r.URL, want) ||
			strings.Contains(r.URL[len(want):], host) {
			t.Errorf("%s is published as %s", url, r.URL)
		}
	}
}

// TestWhereAddressesAreFound: wherever a door writes an address that it wants to be paid at, and
// the rest of what it wrote stays.
func TestWhereAddressesAreFound(t *testing.T) {
	s, url, std := newSweeper(), base64.RawURLEncoding.EncodeToString, base64.StdEncoding.EncodeToString
	const name = "a-name-of-more-than-20-letters.eth"
	for _, a := range []string{evmAddress, solanaAddress, name, "shop.eth"} {
		s.add(a, base)
	}
	hex, stood := evmAddress[2:], standIn(evmAddress, 1)
	for text, want := range map[string]string{
		"0x" + strings.Repeat("0", 24) + strings.ToLower(hex): "0x" + strings.Repeat("0", 24) +
			strings.ToLower(stood[2:]),
		"?to=%30x" + hex[:20] + "%" + fmt.Sprintf("%x", hex[20]) + hex[21:] + "&x=%20%2f": "?to=0x" + stood[2:] +
			"&x=%20%2f",
		"/pay/" + url([]byte(`{"to":"`+solanaAddress+`?"}`)) + "/x": "/pay/" + url([]byte(`{"to":"`+
			standIn(solanaAddress, 2)+`?"}`)) + "/x",
		std([]byte("~~?>"+std([]byte(evmAddress)))) + ".": std([]byte("~~?>"+std([]byte(stood)))) + ".",
		"eyJ." + url([]byte(`{ "payTo" : "shop.eth", "is":"\u0073hop.eth","n":1.0}`)) + ".sig": "eyJ." +
			url([]byte(`{ "payTo" : "stand-in-4.invalid", "is":"\u0073hop.eth","n":1.0}`)) + ".sig",
		"%20" + hex[:39] + "eyJ" + std(make([]byte, 40)): "%20" + hex[:39] + "eyJ" + std(make([]byte, 40)),
	} {
		if got := s.sweep(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// manyAddresses is an answer that names n times two addresses.
func manyAddresses(n int) Exchange {
	var b strings.Builder
	b.WriteString(`{"accepts":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"payTo":"0x%040x","a":"abcdefghijklmnopqrstuvwxyz"},{"payTo":"address-%032d","a":"%s"},`, i,
			i, strings.Repeat("address-", 4))
	}
	b.WriteString(`{}]}`)
	return Exchange{Response: Response{Status: 402, Body: []byte(b.String())}}
}

func TestManyAddresses(t *testing.T) {
	r := redacted(t, manyAddresses(1300))
	if len(r.Challenges) != 1 || bytes.Contains(r.Challenges[0].Value, []byte("address-000")) {
		t.Fatalf("%d challenges", len(r.Challenges))
	}
}

// TestSoakManyAddresses: the work does not grow with the square of what a door names. Few and many
// are redacted in turn, and the middle of the ratios counts.
func TestSoakManyAddresses(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	const few, times, rounds = 160, 8, 9
	took := func(n int) time.Duration {
		x := manyAddresses(n)
		start := time.Now()
		redacted(t, x)
		return time.Since(start)
	}
	took(times * few) // warm
	var ratios []float64
	for range rounds {
		ratios = append(ratios, float64(took(times*few))/float64(took(few)))
	}
	slices.Sort(ratios)
	t.Logf("%d times as many take %.1f times as long", times, ratios)
	if middle := ratios[rounds/2]; middle > 3*times {
		t.Errorf("%d times as many take %.0f times as long: %.1f", times, middle, ratios)
	}
}
