package wallet

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/networks"
)

func readSIWE[T any](t testing.TB, file string) map[string]T {
	t.Helper()
	raw, err := os.ReadFile("testdata/siwe/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]T
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no cases", file)
	}
	return cases
}

// object is a message as the siwe library writes it.
type object struct {
	Scheme, Domain, Address, Statement, URI, Version, Nonce string
	ChainID                                                 any
	IssuedAt, ExpirationTime, NotBefore, RequestID          string
	Resources                                               []string
	Signature, Time, DomainBinding, MatchNonce              string
}

func (o object) signIn() SignIn {
	chain := ""
	switch n := o.ChainID.(type) {
	case float64:
		chain = strconv.Itoa(int(n))
	case string:
		chain = n
	}
	return SignIn{o.Scheme, o.Domain, o.Address, o.Statement, o.URI, o.Version, chain, o.Nonce,
		o.IssuedAt, o.ExpirationTime, o.NotBefore, o.RequestID, o.Resources}
}

func TestSIWEParsing(t *testing.T) {
	for name, c := range readSIWE[struct {
		Message string
		Fields  object
	}](t, "parsing_positive") {
		m, err := ParseEthereum(c.Message)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.Fields.signIn(), m); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if text, err := m.Ethereum(); err != nil || text != c.Message {
			t.Errorf("%s is built as %q, %v", name, text, err)
		}
	}
	for name, text := range readSIWE[string](t, "parsing_negative") {
		if m, err := ParseEthereum(text); err == nil {
			t.Errorf("%s is parsed: %+v", name, m)
		}
	}
	for name, o := range readSIWE[object](t, "parsing_negative_objects") {
		if text, err := o.signIn().Ethereum(); err == nil {
			t.Errorf("%s is built: %q", name, text)
		}
	}
}

// verifyObject does what a server does with such a message.
func verifyObject(o object) error {
	text, err := o.signIn().Ethereum()
	if err != nil {
		return err
	}
	signature, err := ParseSignature(o.Signature, SignatureSize)
	if err != nil {
		return err
	}
	_, err = VerifyEthereum(text, signature)
	return err
}

func TestSIWEVerification(t *testing.T) {
	for name, o := range readSIWE[object](t, "verification_positive") {
		if err := verifyObject(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range readSIWE[object](t, "verification_negative") {
		// Binding to a domain and a nonce is the caller's comparison.
		if o.DomainBinding != "" && o.DomainBinding != o.Domain || o.MatchNonce != "" && o.MatchNonce != o.Nonce {
			continue
		}
		// So are its times: whoever asked for the message knows until when.
		if slices.Contains([]string{"not yet valid", "expired message", "custom time"}, name) {
			continue
		}
		if err := verifyObject(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	// Smart accounts' signatures are for their chain to judge.
	for name, c := range readSIWE[struct{ Message, Signature string }](t, "eip1271") {
		signature, err := ParseSignature(c.Signature, 1<<12)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyEthereum(c.Message, signature); err == nil {
			t.Errorf("%s is accepted without its chain", name)
		}
	}
}

func TestTextsOfStockLibraries(t *testing.T) {
	v := readVectors(t)
	for name, c := range map[string]struct {
		text  string
		parse func(string) (SignIn, error)
		build func(SignIn) (string, error)
	}{
		"siwe": {v.SIWE, ParseEthereum, SignIn.Ethereum}, "siwe without statement": {v.SIWENoStatement, ParseEthereum,
			SignIn.Ethereum},
		"siws":              {v.SIWS, ParseSolana, SignIn.Solana},
		"siws no statement": {strings.Replace(v.SIWS, "\n\nSign in\n", "\n", 1), ParseSolana, SignIn.Solana},
		"siws bare":         {strings.Join(strings.Split(v.SIWS, "\n")[:2], "\n"), ParseSolana, SignIn.Solana},
		"siws no fields":    {strings.Join(strings.Split(v.SIWS, "\n")[:4], "\n"), ParseSolana, SignIn.Solana},
	} {
		m, err := c.parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err := c.build(m); err != nil || again != c.text {
			t.Errorf("%s is built as %q, %v", name, again, err)
		}
	}
	if m, err := ParseEthereum(v.SIWS); err == nil {
		t.Errorf("a Solana text is read as Ethereum's: %+v", m)
	}
	statement, err := ParseSolana(v.SIWS)
	if err != nil {
		t.Fatal(err)
	}
	statement.Statement = "URI: https://elsewhere.example/"
	if text, err := statement.Solana(); err == nil {
		t.Errorf("an ambiguous statement is built: %q", text)
	}
}

func TestSignInHasOneForm(t *testing.T) {
	v := readVectors(t)
	for name, change := range map[string]func(string) string{
		"final newline":         func(s string) string { return s + "\n" },
		"carriage returns":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"no blank line":         func(s string) string { return strings.Replace(s, "\n\nSign in", "\nSign in", 1) },
		"one more blank line":   func(s string) string { return strings.Replace(s, "\n\nURI", "\n\n\nURI", 1) },
		"one blank line less":   func(s string) string { return strings.Replace(s, "\n\nURI", "\nURI", 1) },
		"blank line at the end": func(s string) string { return strings.Replace(s, "\nResources", "\n\nResources", 1) },
		"empty resources":       func(s string) string { return s[:strings.Index(s, "\n- ")] },
		"empty request id": func(s string) string {
			return strings.Replace(s, "\nResources",
				"\nRequest ID: \nResources", 1)
		},
		"empty scheme": func(s string) string { return "://" + s },
		"chain with a zero": func(s string) string {
			return strings.Replace(s, "Chain ID: 8453", "Chain ID: 08453",
				1)
		},
	} {
		if text := change(v.SIWE); text == v.SIWE {
			t.Errorf("%s changes nothing", name)
		} else if m, err := ParseEthereum(text); err == nil {
			t.Errorf("%s is parsed as Ethereum's: %+v", name, m)
		}
		if text := change(v.SIWS); text != v.SIWS {
			if m, err := ParseSolana(text); err == nil {
				t.Errorf("%s is parsed as Solana's: %+v", name, m)
			}
		}
	}
}

func TestEverySignedByteOfASignIn(t *testing.T) {
	k := testKey(t)
	text := readVectors(t).SIWE
	signature := k.Sign(PersonalHash(text))
	if _, err := VerifyEthereum(text, signature); err != nil {
		t.Fatal(err)
	}
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	m, err := ParseSolana(readVectors(t).SIWS)
	if err != nil {
		t.Fatal(err)
	}
	m.Address = networks.EncodeBase58(private.Public().(ed25519.PublicKey))
	solanaText, err := m.Solana()
	if err != nil {
		t.Fatal(err)
	}
	solanaSignature := ed25519.Sign(private, []byte(solanaText))
	if _, err := VerifySolanaText(solanaText, solanaSignature); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text      string
		signature []byte
		verify    func(string, []byte) (SignIn, error)
	}{{text, signature, VerifyEthereum}, {solanaText, solanaSignature, VerifySolanaText}} {
		for i := range c.text {
			for x := 1 + i%17; x < 256; x += 17 {
				changed := []byte(c.text)
				changed[i] ^= byte(x)
				if _, err := c.verify(string(changed), c.signature); err == nil {
					t.Fatalf("byte %d of %q changed by %#02x is accepted", i, c.text, x)
				}
			}
		}
		for i := range c.signature {
			changed := append([]byte(nil), c.signature...)
			changed[i] ^= 1
			// v is the one byte with two spellings here, and neither is reached by one bit.
			if _, err := c.verify(c.text, changed); err == nil {
				t.Fatalf("signature byte %d changed is accepted", i)
			}
		}
	}
}

func FuzzSignIn(f *testing.F) {
	for _, c := range readSIWE[struct{ Message string }](f, "parsing_positive") {
		f.Add(c.Message)
	}
	for _, text := range readSIWE[string](f, "parsing_negative") {
		f.Add(text)
	}
	v := readVectors(f)
	f.Add(v.SIWS)
	f.Add(v.SIWENoStatement)
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseEthereum(text); err == nil {
			if again, err := m.Ethereum(); err != nil || again != text {
				t.Errorf("%q is built as %q, %v", text, again, err)
			}
		}
		if m, err := ParseSolana(text); err == nil {
			if again, err := m.Solana(); err != nil || again != text {
				t.Errorf("%q is built as %q, %v", text, again, err)
			}
		}
	})
}
