package pay_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
)

func TestNonces(t *testing.T) {
	n, other := pay.NewNonces([]byte("one secret")), pay.NewNonces([]byte("another"))
	s := string(n.Append(nil))
	if len(s) != pay.NonceLen || !n.Valid(s) || other.Valid(s) || string(n.Append(nil)) == s {
		t.Fatalf("nonce %q", s)
	}
	for i := range len(s) {
		for _, c := range "AZaz09-_+=" {
			if changed := s[:i] + string(c) + s[i+1:]; changed != s && n.Valid(changed) {
				t.Errorf("the nonce %q is valid as %q", s, changed)
			}
		}
	}
	for _, bad := range []string{"", s[:47], s + "A", strings.Repeat("A", pay.NonceLen)} {
		if n.Valid(bad) {
			t.Errorf("the nonce %q is valid", bad)
		}
	}
}

// JSON spliced for a nonce and a key is what encoding it whole would give.
func TestTemplateSplices(t *testing.T) {
	const hole = `{"suggested_key":"` + pay.KeyHole + `",`
	key := "store-" + strings.Repeat("k", 26) + "-202611221200"
	nonce := pay.NewNonces([]byte("s")).Append(nil)
	fill := pay.Fill{Nonce: nonce, Key: []byte(key)}
	for i := range 9 {
		text := `{"error":"` + strings.Repeat("e", i%3) + `","key":"` + pay.KeyHole + `","q":"` +
			strings.Repeat("q", i/3) + `","nonce":"` + pay.NonceHole + `"}`
		plain, err := pay.NewTemplate([]byte(hole+text[1:]), nil)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := pay.NewBase64Template([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(encoded.String(fill))
		if err != nil || !bytes.Equal(encoded.Append(nil, fill), []byte(encoded.String(fill))) {
			t.Fatal(err)
		}
		for _, tmpl := range []pay.Template{plain, encoded} {
			if got := len(tmpl.String(fill)); got != tmpl.Len() {
				t.Errorf("length %d, want %d", got, tmpl.Len())
			}
		}
		for _, b := range [][]byte{raw, plain.Append(nil, fill)} {
			var got map[string]string
			if err := json.Unmarshal(b, &got); err != nil || got["nonce"] != string(nonce) || got["key"] != key ||
				got["suggested_key"] != "" && got["suggested_key"] != key || got["error"] != strings.Repeat("e", i%3) ||
				got["q"] != strings.Repeat("q", i/3) {
				t.Errorf("%s does not hold %s and %s: %v", b, nonce, key, err)
			}
		}
	}
	for _, c := range []struct {
		nonces, keys   int
		plain, encoded bool // it is one
	}{{0, 0, false, false}, {0, 1, false, false}, {1, 0, false, false}, {1, 1, true, true}, {2, 1, false, false},
		{1, 2, true, false}, {2, 0, false, false}, {0, 2, false, false}} {
		text := []byte("[" + strings.Repeat(`"`+pay.NonceHole+`",`, c.nonces) + strings.Repeat(`"`+pay.KeyHole+`",`, c.keys) + "0]")
		_, plain := pay.NewTemplate(text, nil)
		_, encoded := pay.NewBase64Template(text, nil)
		if (plain == nil) != c.plain || (encoded == nil) != c.encoded {
			t.Errorf("%s: %v, in base64 %v", text, plain, encoded)
		}
	}
}
