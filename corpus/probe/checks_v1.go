package probe

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// checksV1 are the checks of battery v1, each asked of a door that passed the one it comes after.
var checksV1 = []Check{
	{
		Name: "reachable",
		Doc: Doc{
			Title: "The door answers over HTTP",
			Reason: "Nothing can be sold at a door that does not answer. One look from one place cannot tell a " +
				"dead door from a broken path.",
			Citation: "RFC 9110, section 15",
		},
		Fix: "Look whether the name resolves, the port is open, the certificate is valid for the name, and the " +
			"response head leaves within eight seconds.",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			r := v.Evidence
			if r.Status == 0 {
				stage := cmp.Or(r.Error.Stage, "response")
				return fail("no answer: stopped at %s%s", stage, after(": ", r.Error.Text))
			}
			return pass("answered %d%s", r.Status, after(" over ", r.Proto))
		},
	},
	{
		Name: "status-402",
		Doc: Doc{
			Title: "The door answers 402",
			Reason: "Clients act on 402 and on nothing else: a 200 is a door that is listed and does not ask for " +
				"payment, and a redirect is not followed with money in hand.",
			Citation: "x402 v2, HTTP transport; RFC 9110, section 15.5.3",
		},
		Fix: "Answer the unpaid request itself with 402: put the payment gate before redirects, sign-in walls and " +
			"input checks that an unpaid caller cannot pass.",
		After: "reachable",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			status := v.Evidence.Status
			switch {
			case v.Unresolved:
				if v.Declared != "" {
					return nothing("%s answered %d; the door declares POST (%s), which this look did not use or get "+
						"an answer to", v.Evidence.Method, status, v.Declared)
				}
				return nothing("%s answered %d and no other method is declared", v.Evidence.Method, status)
			case status == http.StatusPaymentRequired:
				return pass("402")
			case status >= 300 && status < 400:
				return fail("redirects with %d%s", status, after(" to ", v.Evidence.Header("Location")))
			case status >= 200 && status < 300:
				return fail("%d: answers without asking for payment", status)
			}
			return fail("%d", status)
		},
	},
	{
		Name: "payment-required-header",
		Doc: Doc{
			Title: "PAYMENT-REQUIRED stands once and is base64 of a JSON object",
			Reason: "Stock clients read the terms from this header alone and accept the standard alphabet only. " +
				"Two headers are joined by a comma and decode to nothing. JSON with a name twice means different " +
				"terms to different readers.",
			Citation: "x402 v2, HTTP transport; RFC 4648, section 4; RFC 8259, section 4; RFC 7493, section 2.3",
		},
		Fix: "Send one PAYMENT-REQUIRED header: one JSON object in UTF-8, each name once, in standard base64 (A-Z " +
			"a-z 0-9 + /) with padding.",
		After: "status-402",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			switch len(v.headers) {
			case 0:
				return fail("no PAYMENT-REQUIRED header%s", elsewhere(v))
			case 1:
			default:
				return fail("%d PAYMENT-REQUIRED headers, which clients join into one that cannot be decoded",
					len(v.headers))
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
	},
	{
		Name: "x402-version",
		Doc: Doc{
			Title: "x402Version is 2",
			Reason: "The number selects the client's code. PAYMENT-REQUIRED belongs to version 2; version 1 terms " +
				"stand in the body.",
			Citation: "x402 v2, PaymentRequired",
		},
		Fix:   `Write "x402Version": 2, a number.`,
		After: "payment-required-header",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			if number(v.terms, "x402Version") == 2 {
				return pass("2")
			}
			return fail("x402Version is %s", shown(v.terms, "x402Version"))
		},
	},
	{
		Name: "accepts",
		Doc: Doc{
			Title: "Every entry of accepts says scheme, network, amount, asset and payTo as strings",
			Reason: "A client signs what these five say. One malformed entry can make a stock client throw away " +
				"the whole offer, payable entries with it.",
			Citation: "x402 v2, PaymentRequirements",
		},
		Fix: "List at least one entry, and write scheme, network, amount, asset and payTo as non-empty strings in " +
			"each; amounts too.",
		After: "x402-version",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			list, ok := member(v.terms, "accepts").([]any)
			switch {
			case !ok:
				return fail("accepts is %s", shown(v.terms, "accepts"))
			case len(list) == 0:
				return fail("accepts is empty")
			}
			for _, r := range v.accepts {
				if r.fields == nil {
					return fail("accepts[%d] is no object", r.Index)
				}
				if bad := r.incomplete(); bad != "" {
					return fail("accepts[%d]: no text in %s", r.Index, bad)
				}
			}
			return pass("%d", len(list))
		},
	},
	{
		Name: "bazaar-extension",
		Doc: Doc{
			Title: "A declared bazaar extension has an info object",
			Reason: "Catalogues list a door by this block; one that cannot be read keeps the door out of them. A " +
				"door without the extension is not judged by this check.",
			Citation: "x402 extensions: bazaar",
		},
		Fix: "Give extensions.bazaar an info object with input and, where there is one, output; or leave the " +
			"extension out.",
		After: "x402-version",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			switch {
			case !v.declares("bazaar"):
				return nothing("not declared")
			case v.extension("bazaar") == nil:
				return fail("extensions.bazaar is %s", shown(obj(v.terms, "extensions"), "bazaar"))
			case obj(v.extension("bazaar"), "info") == nil:
				return fail("extensions.bazaar.info is %s", shown(v.extension("bazaar"), "info"))
			}
			return pass("info can be read")
		},
	},
	{
		Name: "signed-offers",
		Doc: Doc{
			Title: "Signed offers have the form of a signed offer",
			Reason: "An offer that cannot be taken apart binds nobody. Signatures are not verified by a probe: a " +
				"well-formed offer is not thereby a verified one.",
			Citation: "x402 extensions: offer-receipt; RFC 7515, section 7.1",
		},
		Fix: "Write each offer as {format: jws, signature: compact JWS with alg and kid} or {format: eip712, " +
			"payload, signature of 65 bytes}, in unpadded base64url and plain hexadecimal.",
		After: "accepts",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			if !v.declares(offerReceipt) {
				return nothing("not declared")
			}
			list, ok := member(obj(v.extension(offerReceipt), "info"), "offers").([]any)
			if !ok {
				return fail("extensions.offer-receipt.info.offers is %s", shown(obj(v.extension(offerReceipt), "info"),
					"offers"))
			}
			if len(list) == 0 {
				return nothing("no offers")
			}
			for i, o := range v.offers() {
				if o.problem != "" {
					return fail("offer %d: %s", i, o.problem)
				}
			}
			return pass("%d, well-formed; signatures not verified", len(list))
		},
	},
}

// incomplete names the required members in which an entry has no text, "" for none.
func (r Requirement) incomplete() string {
	var bad []string
	for _, name := range []string{"scheme", "network", "amount", "asset"} {
		if str(r.fields, name) == "" {
			bad = append(bad, name)
		}
	}
	if slices.Contains([]string{"", exchange.FormNotAString, exchange.FormEmpty}, r.PayToForm) {
		bad = append(bad, "payTo")
	}
	return strings.Join(bad, ", ")
}

func pass(format string, args ...any) Finding {
	return Finding{State: Pass, Detail: fmt.Sprintf(format, args...)}
}

func fail(format string, args ...any) Finding {
	return Finding{State: Fail, Detail: fmt.Sprintf(format, args...)}
}

// nothing is for a check that has no object at this door.
func nothing(format string, args ...any) Finding {
	return Finding{State: NotReached, Detail: fmt.Sprintf(format, args...)}
}

func after(sep, s string) string {
	if s == "" {
		return ""
	}
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return sep + s
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

// shown writes a member for people, bounded.
func shown(m *exchange.Object, name string) string {
	value, ok := m.Get(name)
	if !ok {
		return "absent"
	}
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return quoted(value)
	case float64, bool:
		return fmt.Sprint(value)
	case []any:
		return "an array"
	}
	return "an object"
}
