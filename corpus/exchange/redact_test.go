package exchange

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
	for _, kept := range []string{`"application/json"`, `"1000"`, "1.50", "9007199254740993", `"canonical":true`,
		`"signature_bytes":64`,
		PayToDigest(base, evmAddress), PayToDigest(solana, solanaAddress), `"form":"` + FormSolana + `"`, `{"form":"` +
			FormNotAString + `"}`, `"set-cookie"`} {
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
	want := `{"form":"evm","digest":"` + PayToDigest(base, evmAddress) + `"}`
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
	f.Add([]byte(`{"accepts":[{"payTo":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}],"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":1}`), `Payment request="\`)
	f.Fuzz(func(t *testing.T, body []byte, authenticate string) {
		x := Exchange{Response: Response{Status: 402, Body: body, Header: http.Header{
			"Payment-Required": {base64.StdEncoding.EncodeToString(body)}, "Www-Authenticate": {authenticate}}}}
		r, err := x.Redact()
		if err != nil {
			return
		}
		raw, err := r.Encode()
		if err != nil {
			t.Fatalf("%q cannot be published: %v", body, err)
		}
		if _, err := DecodeRedacted(raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		parsedAsWritten(t, x)
	})
}

// parsedAsWritten demands that what RedactParsed gives beside a challenge is what stands in it.
func parsedAsWritten(t *testing.T, x Exchange) (told int) {
	t.Helper()
	r, parsed, err := x.RedactParsed()
	if err != nil || len(parsed) != len(r.Challenges) {
		t.Fatalf("%d challenges, %d parsed, %v", len(r.Challenges), len(parsed), err)
	}
	for i, c := range r.Challenges {
		v, err := ParseValue(c.Value)
		if err != nil {
			v = nil // no value, or names that became equal
		} else {
			told++
		}
		if diff := cmp.Diff(v, parsed[i], cmp.AllowUnexported(Object{}), cmpopts.EquateNaNs(),
			cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\nis parsed as another (-written +parsed):\n%s", c.Value, diff)
		}
	}
	return told
}

func TestParsedAsWritten(t *testing.T) {
	long := strings.Repeat("é", maxSwept/2-8) + "aaaaaaaaaaaaaaaéé" // an address that is cut within a character
	var many strings.Builder
	many.WriteString("{")
	for i := range 40 {
		fmt.Fprintf(&many, `"name-%02d":%d,`, i, i)
	}
	for i, text := range []string{
		challenge, "null", "[1,2.50,-0,1e999,true,false,null,[],{}]", many.String() + `"accepts":[{}]}`,
		`{"accepts":[{"payTo":7,"network":"eip155:1"},{"payTo":"` + evmAddress + `","a":"` + evmAddress + `"}]}`,
		`{"accepts":[{"payTo":"` + long + `"}],"` + long + `":1,"` + long + `x":[2],"x":"` + long + `"}`,
	} {
		x := Exchange{Response: Response{Status: 402, Body: []byte(text),
			Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(text))}}}}
		if told := parsedAsWritten(t, x); told == 0 && i < 5 {
			t.Errorf("%.80s tells nothing", text)
		}
	}
}

// TestNoForgedMarks: what a door writes in the form that redaction gives is told apart from it.
func TestNoForgedMarks(t *testing.T) {
	text := `{"accepts":[{"payTo":"` + evmAddress + `","asset":"[pay-to 0123456789abcdef]","n":{"jws":{"header":{}}}}]}`
	x := Exchange{Response: Response{Status: 402,
		Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(text))}}}}
	if got := string(redacted(t, x).Challenges[0].Value); strings.Contains(got, `"[pay-to `) ||
		strings.Contains(got, `"jws":`) {
		t.Errorf("redacted to %s", got)
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
