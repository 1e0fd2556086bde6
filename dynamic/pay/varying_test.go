package pay_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// varies are terms of which two members differ from answer to answer.
func varies(values func(nonce, resource string) []string) rail.Requirement {
	return rail.Requirement{Scheme: "exact", Network: "x:1", Amount: "1", Extra: map[string]any{"account": "a"},
		Varying: &rail.Varying{Values: values, Members: []rail.VaryingMember{{Name: "memo", Max: 8, Bound: true},
			{Name: "hint", Max: 5}}}}
}

// What varies is in every entry of its rail, in plain text and in base64 wherever it falls, and
// leaves no trace where it has no value or one that is not as it was described.
func TestTemplateVaries(t *testing.T) {
	var memo, hint string
	a := varies(func(nonce, resource string) []string {
		if nonce != strings.Repeat("n", pay.NonceLen) || resource != "door" {
			t.Errorf("values for %q and %q", nonce, resource)
		}
		return []string{memo, hint}
	})
	plain := rail.Requirement{Network: "y:1", Extra: map[string]any{"name": "USDC"}}
	v := pay.VaryingOf([]rail.Requirement{plain, a, a})
	for i, want := range []struct{ memo, hint, said string }{
		{"12345678", "12345", "account hint memo"}, {"1", "", "account memo"}, {"", "1234", "account hint"},
		{"", "", "account"}, {"123456789", `1"`, "account"}, {"\n", "é", "account"}, {`\`, "~", "account hint"},
	} {
		memo, hint = want.memo, want.hint
		for shift := range 3 {
			text, err := json.Marshal(map[string]any{"a": strings.Repeat("e", shift), "k": pay.KeyHole,
				"n": pay.NonceHole, "accepts": v.Mark([]rail.Requirement{plain, a, a})})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := pay.NewTemplate(text, v)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := pay.NewBase64Template(text, v)
			if err != nil {
				t.Fatal(err)
			}
			nonce := []byte(strings.Repeat("n", pay.NonceLen))
			f := pay.Fill{Nonce: nonce, Key: []byte(strings.Repeat("k", pay.KeyLen)), Varying: v.Fill(nonce, "door")}
			raw, err := base64.StdEncoding.DecodeString(encoded.String(f))
			if err != nil || encoded.String(f) != string(encoded.Append(nil, f)) {
				t.Fatal(err)
			}
			if len(encoded.String(f)) != encoded.Len() || len(whole.Append(nil, f)) != whole.Len() {
				t.Errorf("%d: %d and %d bytes, said to be %d and %d", i, len(encoded.String(f)),
					len(whole.Append(nil, f)), encoded.Len(), whole.Len())
			}
			for _, b := range [][]byte{raw, whole.Append(nil, f)} {
				var got struct{ Accepts []rail.Requirement }
				if err := json.Unmarshal(b, &got); err != nil {
					t.Fatalf("%s: %v", b, err)
				}
				for _, e := range got.Accepts[1:] {
					all := map[string]any{"account": "a", "memo": want.memo, "hint": want.hint}
					maps.DeleteFunc(all, func(k string, _ any) bool { return !strings.Contains(want.said, k) })
					if !maps.Equal(e.Extra, all) {
						t.Errorf("%d: extra %v, want %v", i, e.Extra, all)
					}
				}
				if !maps.Equal(got.Accepts[0].Extra, plain.Extra) {
					t.Errorf("another network's extra is %v", got.Accepts[0].Extra)
				}
			}
		}
	}
	if _, err := pay.NewTemplate([]byte(`{"k":"`+pay.KeyHole+`","n":"`+pay.NonceHole+`"}`), v); err == nil {
		t.Error("terms without a place for what varies are terms")
	}
	if got := pay.Bound(a, strings.Repeat("n", pay.NonceLen), "door"); len(got) != 1 {
		t.Errorf("bound %v", got)
	}
	if got := pay.Bound(plain, "", ""); got != nil {
		t.Errorf("bound %v where nothing varies", got)
	}
}
