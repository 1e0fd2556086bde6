package pay_test

import (
	"encoding/json"
	"maps"
	"slices"
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

// What is of one answer is in every entry of its rail, leaves no trace where it has no value or one
// that is not as it was described, and stands nowhere else: no text of a shop is a blank.
func TestFill(t *testing.T) {
	var memo, hint string
	a := varies(func(nonce, resource string) []string {
		if nonce != "n" || resource != "door" {
			t.Errorf("values for %q and %q", nonce, resource)
		}
		return []string{memo, hint}
	})
	plain := rail.Requirement{Network: "y:1", Extra: map[string]any{"name": "USDC"}}
	v := pay.VaryingOf([]rail.Requirement{plain, a, a})
	const text = `"nonce " "key " ,"memo":"varies 0 0 "`
	for i, want := range []struct{ memo, hint, said string }{
		{"12345678", "12345", "account hint memo"}, {"1", "", "account memo"}, {"", "1234", "account hint"},
		{"", "", "account"}, {"123456789", `1"`, "account"}, {"\n", "é", "account"}, {`\`, "~", "account hint"},
	} {
		memo, hint = want.memo, want.hint
		b, err := json.Marshal(map[string]any{"text": text, "k": pay.KeyBlank,
			"n": []string{pay.NonceBlank, pay.NonceBlank}, "accepts": v.Mark([]rail.Requirement{plain, a, a})})
		if err != nil {
			t.Fatal(err)
		}
		f := pay.Fill{Nonce: "n", Key: "key", Varying: v.Fill("n", "door")}
		var got struct {
			Text, K string
			N       []string
			Accepts []rail.Requirement
		}
		if err := json.Unmarshal(pay.NewForm(b).Fill(f), &got); err != nil || got.Text != text || got.K != "key" ||
			!slices.Equal(got.N, []string{"n", "n"}) {
			t.Fatalf("%s: %+v, %v", pay.NewForm(b).Fill(f), got, err)
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
	if got := pay.Bound(a, "n", "door"); len(got) != 1 {
		t.Errorf("bound %v", got)
	}
	if got := pay.Bound(plain, "", ""); got != nil {
		t.Errorf("bound %v where nothing varies", got)
	}
}
