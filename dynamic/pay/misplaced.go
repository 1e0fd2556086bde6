package pay

import (
	"net/http"
	"slices"
	"strings"
)

// misplaced are the places in which clients of other versions and drafts send a payment, which are
// not read here, and where it is read.
var misplaced = []struct {
	header string
	holds  func(value string) bool
	read   string
}{
	{"X-PAYMENT", always, "PAYMENT-SIGNATURE, with x402Version 2"},
	{"Authorization", behindAnother, "Authorization: Payment, in a field of its own and with nothing before it"},
}

func always(string) bool { return true }

// behindAnother reports a Payment credential behind another in one field.
func behindAnother(value string) bool {
	for i, part := range strings.Split(value, ",") {
		scheme, rest, _ := strings.Cut(strings.TrimLeft(part, " \t"), " ")
		if i > 0 && strings.EqualFold(scheme, "Payment") && rest != "" {
			return true
		}
	}
	return false
}

// Misplaced names a header field that holds a payment which is not read there, and where one is
// read; both are empty where there is none. Whoever sent it must not be answered as if nothing had
// come: the client would sign again, for nothing.
func Misplaced(f Fields) (seen, read string) {
	for _, m := range misplaced {
		if slices.ContainsFunc(f.Values(http.CanonicalHeaderKey(m.header)), m.holds) {
			return m.header, m.read
		}
	}
	return "", ""
}
