package pay_test

import (
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
)

func TestNonces(t *testing.T) {
	n, other := pay.NewNonces([]byte("one secret")), pay.NewNonces([]byte("another"))
	s := n.New()
	if len(s) != pay.NonceLen || !n.Valid(s) || other.Valid(s) || n.New() == s {
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
