package trade

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// Dialect is a way to sign a request: a row. All sign by HMAC-SHA256 with the bytes of the
// account's secret.
type Dialect struct {
	Name string `json:"name"`
	// The headers, which stand once each.
	Timestamp string `json:"timestamp_header"` // Unix seconds
	Nonce     string `json:"nonce_header"`
	Signature string `json:"signature_header"`
	Covers    string `json:"signature_covers"`
	Form      string `json:"signature_form"`
	Refs      bool   `json:"nonce_is_order_ref"` // the nonce header names the order

	nonce *regexp.Regexp
	// join are the signed bytes.
	join func(timestamp, nonce string, body []byte) []byte
	// sums are the signatures that a header holds.
	sums func(header string) [][]byte
	// spell writes a signature as the header has it.
	spell func(sum []byte) string
}

// Dialects is the table of dialects.
var Dialects = []Dialect{
	{Name: "store", Timestamp: "X-Trade-Timestamp", Nonce: "X-Trade-Nonce", Signature: "X-Trade-Signature",
		Covers: "timestamp.nonce.body", Form: "sha256= and the sum in lower-case hex",
		nonce: regexp.MustCompile(`^[0-9a-f]{32}$`),
		join: func(timestamp, nonce string, body []byte) []byte {
			return append([]byte(timestamp+"."+nonce+"."), body...)
		},
		sums: func(header string) [][]byte {
			sum, err := hex.DecodeString(strings.TrimPrefix(header, "sha256="))
			if err != nil || !strings.HasPrefix(header, "sha256=") {
				return nil
			}
			return [][]byte{sum}
		},
		spell: func(sum []byte) string { return "sha256=" + hex.EncodeToString(sum) }},
	{Name: "standard-webhooks", Timestamp: "webhook-timestamp", Nonce: "webhook-id", Signature: "webhook-signature",
		Covers: "webhook-id.webhook-timestamp.body", Form: "v1, and the sum in base64; several, with spaces between",
		Refs:  true,
		nonce: regexp.MustCompile(`^[!-~]{1,120}$`),
		join: func(timestamp, nonce string, body []byte) []byte {
			return append([]byte(nonce+"."+timestamp+"."), body...)
		},
		sums: func(header string) (all [][]byte) {
			for part := range strings.FieldsSeq(header) {
				if sum, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(part, "v1,")); err == nil &&
					strings.HasPrefix(part, "v1,") && len(all) < maxSums {
					all = append(all, sum)
				}
			}
			return all
		},
		spell: func(sum []byte) string { return "v1," + base64.StdEncoding.EncodeToString(sum) }},
}

// maxSums is how many signatures of one request are tried.
const maxSums = 8

// keyLabel is a header that may name the account beside those of any dialect.
const keyLabel = "X-Trade-Key"

// dialectOf is the dialect of a request: the one of which a header is there, the first where none
// is. ok is false where headers of several are.
func dialectOf(h http.Header) (d *Dialect, ok bool) {
	for i := range Dialects {
		l := &Dialects[i]
		if h.Values(l.Timestamp) == nil && h.Values(l.Nonce) == nil && h.Values(l.Signature) == nil {
			continue
		}
		if d != nil {
			return d, false
		}
		d = l
	}
	if d == nil {
		d = &Dialects[0]
	}
	return d, true
}

// sign is the signature of a request by a secret.
func (d *Dialect) sign(secret []byte, timestamp, nonce string, body []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(d.join(timestamp, nonce, body))
	return m.Sum(nil)
}

// signs reports whether a header holds a signature by one of several secrets.
func (d *Dialect) signs(secrets [][]byte, header, timestamp, nonce string, body []byte) bool {
	ok := false
	given := d.sums(header)
	for _, secret := range secrets {
		want := d.sign(secret, timestamp, nonce, body)
		for _, sum := range given {
			ok = hmac.Equal(want, sum) || ok
		}
	}
	return ok
}
