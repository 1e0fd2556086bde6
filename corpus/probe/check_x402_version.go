package probe

import "fmt"

func x402Version() Check {
	return Check{
		Name: "x402-version",
		Doc: Doc{
			Title:    "x402Version is 2",
			Reason:   "The number selects the client's code. PAYMENT-REQUIRED belongs to version 2; version 1 terms stand in the body.",
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
	}
}

// shown writes a member for people, bounded.
func shown(m map[string]any, name string) string {
	switch value, ok := m[name]; {
	case !ok:
		return "absent"
	default:
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
}
