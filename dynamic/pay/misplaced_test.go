package pay_test

import (
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/pay"
)

// A payment in a place that is not read is told with the field that is; credentials of others are
// none.
func TestMisplaced(t *testing.T) {
	for _, c := range []struct{ name, value, seen string }{
		{"X-PAYMENT", "eyJ4NDAyVmVyc2lvbiI6MX0=", "X-PAYMENT"},
		{"Payment-Authorization", "Payment abc", ""},
		{"Authorization", "Basic dTpw, Payment abc", "Authorization"},
		{"Authorization", "Basic dTpw,payment  abc", "Authorization"},
		{"Authorization", "Payment abc", ""},
		{"Authorization", "Bearer x, Payment", ""},
		{"Authorization", "Basic Payment", ""},
		{"Authorization", "Bearer token", ""},
		{"PAYMENT-SIGNATURE", "x", ""},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		seen, read := pay.Misplaced(h)
		if seen != c.seen || (read == "") != (seen == "") || strings.Contains(read, "X-PAYMENT") {
			t.Errorf("%s: %s: seen in %q, read in %q; want %q", c.name, c.value, seen, read, c.seen)
		}
	}
}
