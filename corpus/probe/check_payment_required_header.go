package probe

import "strings"

func paymentRequiredHeader() Check {
	return Check{
		Name: "payment-required-header",
		Doc: Doc{
			Title:    "PAYMENT-REQUIRED stands once and is base64 of a JSON object",
			Reason:   "Stock clients read the terms from this header alone and accept the standard alphabet only. Two headers are joined by a comma and decode to nothing. JSON with a name twice means different terms to different readers.",
			Citation: "x402 v2, HTTP transport; RFC 4648, section 4; RFC 8259, section 4; RFC 7493, section 2.3",
		},
		Fix:   "Send one PAYMENT-REQUIRED header: one JSON object in UTF-8, each name once, in standard base64 (A-Z a-z 0-9 + /) with padding.",
		After: "status-402",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			switch len(v.headers) {
			case 0:
				return fail("no PAYMENT-REQUIRED header%s", elsewhere(v))
			case 1:
			default:
				return fail("%d PAYMENT-REQUIRED headers, which clients join into one that cannot be decoded", len(v.headers))
			}
			c := v.headers[0]
			switch {
			case c.Problem != "":
				return fail("PAYMENT-REQUIRED: %s", c.Problem)
			case strings.HasPrefix(c.Encoding, "base64url"):
				return fail("PAYMENT-REQUIRED is written in the alphabet for URLs, which stock clients refuse")
			case v.terms == nil:
				return fail("PAYMENT-REQUIRED holds no JSON object that ordinary readers can hold")
			}
			if c.Encoding == "base64-unpadded" {
				return pass("%d bytes, without padding", c.Bytes)
			}
			return pass("%d bytes", c.Bytes)
		},
	}
}

// elsewhere names terms that stand where a version 2 client does not look.
func elsewhere(v *View) string {
	var found []string
	if v.body != nil {
		found = append(found, "terms stand in the body")
	}
	if len(v.mpp) > 0 {
		found = append(found, "WWW-Authenticate: Payment stands")
	}
	if len(found) == 0 {
		return ""
	}
	return "; " + strings.Join(found, " and ")
}
