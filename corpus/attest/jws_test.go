package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testOffer = Offer{
	Version: 1, ResourceURL: "https://shop.example/x?a=1", Scheme: "exact", Network: "eip155:8453",
	Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", PayTo: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
	Amount: "1000", ValidUntil: 2000000000,
}

var testReceipt = Receipt{
	Version: 1, Network: "eip155:8453", ResourceURL: "https://shop.example/x?a=1",
	Payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66", IssuedAt: 1900000000,
}

func only(k *Key) func(string) (ed25519.PublicKey, error) {
	return func(string) (ed25519.PublicKey, error) { return k.Public(), nil }
}

// The stock x402 library signed these with the seed 07…07.
const (
	stockKID     = "did:key:z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z#z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z"
	stockOffer   = "eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDprZXk6ejZNa3ZEcUdUNTRjWGVzWUd2QUJwRjFVYXBWTndqQ3FSY2FmaTRQeDZUaHY1VDNaI3o2TWt2RHFHVDU0Y1hlc1lHdkFCcEYxVWFwVk53akNxUmNhZmk0UHg2VGh2NVQzWiJ9.eyJhbW91bnQiOiIxMDAwIiwiYXNzZXQiOiIweDgzMzU4OWZDRDZlRGI2RTA4ZjRjN0MzMkQ0ZjcxYjU0YmRBMDI5MTMiLCJuZXR3b3JrIjoiZWlwMTU1Ojg0NTMiLCJwYXlUbyI6IjB4NzA5OTc5NzBDNTE4MTJkYzNBMDEwQzdkMDFiNTBlMGQxN2RjNzlDOCIsInJlc291cmNlVXJsIjoiaHR0cHM6Ly9zaG9wLmV4YW1wbGUveD9hPTEiLCJzY2hlbWUiOiJleGFjdCIsInZhbGlkVW50aWwiOjIwMDAwMDAwMDAsInZlcnNpb24iOjF9.6w6_mSTfB89lBdcDZs5cn4oVY4_tyPFJxhi0xr29WIJ2ixhr2jw4LLy2HHCDT_FgaUK4oIthA2_KkjrY2lbOBg"
	stockReceipt = "eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDprZXk6ejZNa3ZEcUdUNTRjWGVzWUd2QUJwRjFVYXBWTndqQ3FSY2FmaTRQeDZUaHY1VDNaI3o2TWt2RHFHVDU0Y1hlc1lHdkFCcEYxVWFwVk53akNxUmNhZmk0UHg2VGh2NVQzWiJ9.eyJpc3N1ZWRBdCI6MTkwMDAwMDAwMCwibmV0d29yayI6ImVpcDE1NTo4NDUzIiwicGF5ZXIiOiIweDg1N2IwNjUxOUU5MWUzQTU0NTM4NzkxYkRiYjBFMjIzNzNlMzZiNjYiLCJyZXNvdXJjZVVybCI6Imh0dHBzOi8vc2hvcC5leGFtcGxlL3g_YT0xIiwidmVyc2lvbiI6MX0.yjQQ1wzN4Ju2WAhEMoPjMrgLDnGuzqg0TnpYK7YZgNyPgTCWLOfI3c-tl-3gtGhC5xulDaAeHfNZy8nt21H6Cg"
)

func TestStockOffersAndReceipts(t *testing.T) {
	key := testKey(7)
	if got := must[string](t)(SignOffer(key, stockKID, testOffer)); got != stockOffer {
		t.Errorf("offer = %s, want %s", got, stockOffer)
	}
	if got := must[string](t)(SignReceipt(key, stockKID, testReceipt)); got != stockReceipt {
		t.Errorf("receipt = %s, want %s", got, stockReceipt)
	}
	if got := must[Offer](t)(OpenOffer(stockOffer, only(key))); !cmp.Equal(got, testOffer) {
		t.Errorf("offer = %+v", got)
	}
	if got := must[Receipt](t)(OpenReceipt(stockReceipt, only(key))); !cmp.Equal(got, testReceipt) {
		t.Errorf("receipt = %+v", got)
	}
	if _, err := OpenReceipt(stockOffer, only(key)); err == nil {
		t.Error("an offer is opened as a receipt")
	}
}

// TestDeclaredOrderIsRFC8785 lets SignOffer and SignReceipt skip the sorting.
func TestDeclaredOrderIsRFC8785(t *testing.T) {
	odd := "<&>\u2028é\n\x01\"\\\U0001f600"
	for _, v := range []any{testOffer, testReceipt,
		Offer{Amount: odd, Asset: odd, Network: odd, PayTo: odd, ResourceURL: odd, Scheme: odd,
			ValidUntil: MaxInteger, Version: 1},
		Receipt{IssuedAt: -MaxInteger, Network: odd, Payer: odd, ResourceURL: odd, Transaction: odd, Version: 1},
		Offer{}, Receipt{}} {
		declared, sorted := must[[]byte](t)(Canonical(v)), must[[]byte](t)(JCS(v))
		if !bytes.Equal(declared, sorted) {
			t.Errorf("%s is not %s", declared, sorted)
		}
	}
}

func TestProtectedHeaderIsExact(t *testing.T) {
	s := must[string](t)(SignJWS(testKey(1), "did:web:127.0.0.1%3A8402#k<", []byte("p")))
	header := must[[]byte](t)(base64.RawURLEncoding.DecodeString(strings.Split(s, ".")[0]))
	if want := `{"alg":"EdDSA","kid":"did:web:127.0.0.1%3A8402#k<"}`; string(header) != want {
		t.Errorf("header = %s, want %s", header, want)
	}
}

func TestEveryChangedByteOfAJWSIsRefused(t *testing.T) {
	t.Parallel()
	ring := testRing(t)
	s := must[string](t)(SignJWS(testKey(1), DIDURL("store.example", testKey(1).KID()), []byte(`{"amount":"1000"}`)))
	everyByteChange(t, []byte(s), func(b []byte) bool {
		_, err := OpenJWS(string(b), ring.Resolver("store.example"))
		return err == nil
	})
	// The payload ends in the middle of a byte as well: its unused bits count too.
	for n := range 3 {
		s := must[string](t)(SignJWS(testKey(1), "k", bytes.Repeat([]byte("x"), 3+n)))
		everyByteChange(t, []byte(s), func(b []byte) bool {
			_, err := OpenJWS(string(b), only(testKey(1)))
			return err == nil
		})
	}
}

// jwsWith signs any header, as a hostile seller could.
func jwsWith(k *Key, header, payload string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	input := b64([]byte(header)) + "." + b64([]byte(payload))
	return input + "." + b64(k.Sign([]byte(input)))
}

func TestOpenRefuses(t *testing.T) {
	key := testKey(1)
	if _, err := OpenJWS(jwsWith(key, `{"typ":"JOSE","kid":"k","alg":"Ed25519"}`, "p"), only(key)); err != nil {
		t.Errorf("a JWS with alg Ed25519: %v", err)
	}
	good := jwsWith(key, `{"alg":"EdDSA","kid":"k"}`, "{}")
	parts := strings.Split(good, ".")
	for name, bad := range map[string]string{
		"none":            jwsWith(key, `{"alg":"none","kid":"k"}`, "{}"),
		"None":            jwsWith(key, `{"alg":"None","kid":"k"}`, "{}"),
		"HMAC":            jwsWith(key, `{"alg":"HS256","kid":"k"}`, "{}"),
		"ES256":           jwsWith(key, `{"alg":"ES256","kid":"k"}`, "{}"),
		"no alg":          jwsWith(key, `{"kid":"k"}`, "{}"),
		"no kid":          jwsWith(key, `{"alg":"EdDSA"}`, "{}"),
		"empty kid":       jwsWith(key, `{"alg":"EdDSA","kid":""}`, "{}"),
		"kid of a number": jwsWith(key, `{"alg":"EdDSA","kid":1}`, "{}"),
		"alg of an array": jwsWith(key, `{"alg":["EdDSA"],"kid":"k"}`, "{}"),
		"duplicate":       jwsWith(key, `{"alg":"EdDSA","kid":"k","kid":"k"}`, "{}"),
		"escaped twin":    jwsWith(key, `{"alg":"EdDSA","kid":"k","\u006bid":"k"}`, "{}"),
		"crit":            jwsWith(key, `{"alg":"EdDSA","kid":"k","crit":["x"],"x":1}`, "{}"),
		"empty crit":      jwsWith(key, `{"alg":"EdDSA","kid":"k","crit":[]}`, "{}"),
		"b64":             jwsWith(key, `{"alg":"EdDSA","kid":"k","b64":false}`, "{}"),
		"array":           jwsWith(key, `["EdDSA"]`, "{}"),
		"null":            jwsWith(key, `null`, "{}"),
		"two values":      jwsWith(key, `{"alg":"EdDSA","kid":"k"}{}`, "{}"),
		"not UTF-8":       jwsWith(key, "{\"alg\":\"EdDSA\",\"kid\":\"\xff\"}", "{}"),
		"two parts":       parts[0] + "." + parts[1],
		"four parts":      good + ".",
		"no signature":    parts[0] + "." + parts[1] + ".",
		"padding":         good + "==",
		"newline":         good + "\n",
		"newline inside":  parts[0] + "." + parts[1][:2] + "\n" + parts[1][2:] + "." + parts[2],
		"space":           " " + good,
		"empty":           "",
		"large":           jwsWith(key, `{"alg":"EdDSA","kid":"k"}`, strings.Repeat("x", 7000)),
		"short signature": parts[0] + "." + parts[1] + "." + parts[2][:84],
	} {
		if o, err := OpenJWS(bad, only(key)); err == nil {
			t.Errorf("%s is opened: %+v", name, o)
		} else if !errors.Is(err, ErrJWSForm) && !errors.Is(err, ErrJWSSignature) {
			t.Errorf("%s: %v is neither kind of error", name, err)
		}
	}
	if _, err := OpenJWS(good, only(testKey(2))); !errors.Is(err, ErrJWSSignature) {
		t.Errorf("another key: %v", err)
	}
	if _, err := OpenJWS(good, testRing(t).Resolver("store.example")); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := SignJWS(key, "k", make([]byte, 7000)); err == nil {
		t.Error("a JWS is signed that is too large to open")
	}
}

// Payers and networks of each namespace are signed as they are spelled.
func TestReceiptPayersOfEachNamespace(t *testing.T) {
	for network, payer := range map[string]string{
		"eip155:8453": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
	} {
		key := testKey(2)
		signed := must[string](t)(SignReceipt(key, "did:web:shop.example#k", Receipt{Version: 1,
			Network:     network,
			ResourceURL: "https://shop.example/x", Payer: payer, IssuedAt: 1, Transaction: "tx"}))
		if r, err := OpenReceipt(signed, only(key)); err != nil || r.Payer != payer || r.Network != network {
			t.Errorf("%s: receipt %+v, %v", network, r, err)
		}
	}
}

func TestPayloadsAreStrict(t *testing.T) {
	offer := string(must[[]byte](t)(JCS(testOffer)))
	for name, bad := range map[string]string{
		"version 2": strings.Replace(offer, `"version":1`, `"version":2`, 1),
		"fraction":  strings.Replace(offer, `2000000000`, `2000000000.5`, 1),
		"no payTo":  strings.Replace(offer, `"payTo"`, `"payto"`, 1), "number": strings.Replace(offer, `"1000"`, `1000`,
			1), "more": strings.Replace(offer, `{`, `{"more":1,`, 1),
		"twice":    strings.Replace(offer, `{`, `{"version":1,`, 1),
		"negative": strings.Replace(offer, `2000000000`, `-1`, 1), "huge": strings.Replace(offer, `2000000000`,
			`9007199254740993`, 1), "null": "null", "empty": "",
	} {
		if bad == offer {
			t.Errorf("%s changes nothing", name)
		}
		if o, err := ParseOffer([]byte(bad)); err == nil {
			t.Errorf("%s is parsed: %+v", name, o)
		}
	}
	receipt := string(must[[]byte](t)(JCS(testReceipt)))
	for name, bad := range map[string]string{
		"version 0": strings.Replace(receipt, `"version":1`, `"version":0`, 1),
		"no payer":  strings.Replace(receipt, `"payer"`, `"Payer"`, 1),
		"no time":   strings.Replace(receipt, `1900000000`, `0`, 1), "text": strings.Replace(receipt, `1900000000`,
			`"1900000000"`, 1),
	} {
		if r, err := ParseReceipt([]byte(bad)); err == nil {
			t.Errorf("%s is parsed: %+v", name, r)
		}
	}
}

func FuzzOpen(f *testing.F) {
	key := testKey(1)
	f.Add(stockOffer)
	f.Add(jwsWith(key, `{"alg":"EdDSA","kid":"k"}`, "{}"))
	f.Add(jwsWith(key, `{"alg":"EdDSA","kid":"k","crit":["x"]}`, "{}"))
	f.Fuzz(func(t *testing.T, compact string) {
		j, err := ParseJWS(compact)
		if err != nil {
			return
		}
		b64 := base64.RawURLEncoding.EncodeToString
		if again := b64(j.Header) + "." + b64(j.Payload) + "." + b64(j.Signature); again != compact ||
			!strings.HasPrefix(compact, j.SigningInput+".") {
			t.Errorf("%q is another spelling of %q", compact, again)
		}
	})
}

func BenchmarkSignOffer(b *testing.B) {
	key, kid := testKey(1), DIDURL("store.example", testKey(1).KID())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SignOffer(key, kid, testOffer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenOffer(b *testing.B) {
	key := testKey(1)
	s := must[string](b)(SignOffer(key, "k", testOffer))
	for b.Loop() {
		if _, err := OpenOffer(s, only(key)); err != nil {
			b.Fatal(err)
		}
	}
}
