package probe

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
)

const offerReceipt = "offer-receipt"

// offer is a signed offer as far as its form goes.
type offer struct {
	payload *exchange.Object // nil when it cannot be read
	problem string           // why it has not the form of an offer
}

func readOffers(list []any) []offer {
	var out []offer
	for _, item := range list[:min(len(list), MaxEntries)] {
		var o offer
		entry, ok := item.(*exchange.Object)
		switch format := str(entry, "format"); {
		case !ok:
			o.problem = "no object"
		case format == "jws":
			o.payload, o.problem = readJWS(entry)
		case format == "eip712":
			o.payload = obj(entry, "payload")
			o.problem = eip712Problem(entry)
		default:
			o.problem = "format is " + shown(entry, "format")
		}
		out = append(out, o)
	}
	return out
}

// readJWS judges the form of a compact JWS, and reads its payload.
func readJWS(entry *exchange.Object) (payload *exchange.Object, problem string) {
	const shortest = 32 // bytes of a signature
	parts := strings.Split(str(entry, "signature"), ".")
	var raw [3][]byte
	canonical, decoded := true, len(parts) == len(raw)
	for i := 0; decoded && i < len(raw); i++ {
		var err error
		if raw[i], err = attest.DecodeBase64URL(parts[i]); err != nil {
			canonical = false
			raw[i], decoded = exchange.DecodeBase64(parts[i])
		}
	}
	header, payload := object(raw[0]), object(raw[1])
	switch alg := str(header, "alg"); {
	case header == nil || payload == nil:
		return nil, "signature is no compact JWS with a JSON header and payload"
	case alg == "" || strings.EqualFold(alg, "none"):
		return payload, "JWS header: alg is " + shown(header, "alg")
	case str(header, "kid") == "":
		return payload, "JWS header: kid is " + shown(header, "kid")
	case len(raw[2]) < shortest:
		return payload, fmt.Sprintf("JWS signature has %d bytes", len(raw[2]))
	case !canonical:
		return payload, "JWS is not written in unpadded base64url"
	}
	return payload, ""
}

func eip712Problem(entry *exchange.Object) string {
	digits, ok := strings.CutPrefix(str(entry, "signature"), "0x")
	switch {
	case obj(entry, "payload") == nil:
		return "payload is " + shown(entry, "payload")
	case !ok || len(digits) != 130 || strings.Trim(digits, "0123456789abcdefABCDEF") != "":
		return "signature is not 65 bytes in hexadecimal"
	}
	return ""
}

// contradiction compares one well-formed offer with the challenge it came in, "" when they agree.
// An acceptIndex is an unsigned hint, so any entry with equal terms will do.
func (v *View) contradiction(o offer) string {
	if url := str(o.payload, "resourceUrl"); !sameURL(url, v.resource()) {
		return fmt.Sprintf("signed for %s, and the challenge is for %s", quoted(url), quoted(v.resource()))
	}
	if until := number(o.payload, "validUntil"); until > 0 && until < float64(v.startedAt().Unix()) &&
		until < math.MaxInt64 {
		return "expired at " + time.Unix(int64(until), 0).UTC().Format(time.RFC3339) + ", before it was served"
	}
	if slices.ContainsFunc(v.accepts, func(r Requirement) bool { return r.offered(o) }) {
		return ""
	}
	return "names terms that stand in no entry of accepts"
}

// offered reports whether an offer signs this entry's terms.
func (r Requirement) offered(o offer) bool {
	return str(o.payload, "scheme") == r.Scheme && str(o.payload, "network") == r.Network &&
		str(o.payload, "amount") == r.Amount &&
		networks.SameAddress(r.Network, str(o.payload, "asset"), r.Asset) &&
		networks.SameAddress(r.Network, str(o.payload, "payTo"), r.payTo)
}

// sameURL compares two URLs in the spellings that mean one resource.
func sameURL(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil || a == "" || b == "" {
		return false
	}
	return strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(x.Host, y.Host) &&
		strings.TrimSuffix(x.EscapedPath(), "/") == strings.TrimSuffix(y.EscapedPath(), "/") &&
		x.RawQuery == y.RawQuery
}
