package probe

import (
	"fmt"
	"strings"
)

func reachable() Check {
	return Check{
		Name: "reachable",
		Doc: Doc{
			Title:    "The door answers over HTTP",
			Reason:   "Nothing can be sold at a door that does not answer. One look from one place cannot tell a dead door from a broken path.",
			Citation: "RFC 9110, section 15",
		},
		Fix:   "Look whether the name resolves, the port is open, the certificate is valid for the name, and the response head leaves within eight seconds.",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			r := v.Evidence
			if r.Status == 0 {
				stage := r.Error.Stage
				if stage == "" {
					stage = "response"
				}
				return fail("no answer: stopped at %s%s", stage, after(": ", r.Error.Text))
			}
			return pass("answered %d%s", r.Status, after(" over ", r.Proto))
		},
	}
}

func pass(format string, args ...any) Finding { return Finding{Pass, fmt.Sprintf(format, args...)} }

func fail(format string, args ...any) Finding { return Finding{Fail, fmt.Sprintf(format, args...)} }

// nothing is for a check that has no object at this door.
func nothing(format string, args ...any) Finding {
	return Finding{NotReached, fmt.Sprintf(format, args...)}
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
