package probe

import "net/http"

func status402() Check {
	return Check{
		Name: "status-402",
		Doc: Doc{
			Title:    "The door answers 402",
			Reason:   "Clients act on 402 and on nothing else: a 200 is a door that is listed and does not ask for payment, and a redirect is not followed with money in hand.",
			Citation: "x402 v2, HTTP transport; RFC 9110, section 15.5.3",
		},
		Fix:   "Answer the unpaid request itself with 402: put the payment gate before redirects, sign-in walls and input checks that an unpaid caller cannot pass.",
		After: "reachable",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			status := v.Evidence.Status
			switch {
			case v.Unresolved:
				if v.Declared != "" {
					return nothing("%s answered %d; the door declares POST (%s), which this look did not use or get an answer to", v.Evidence.Method, status, v.Declared)
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
	}
}
