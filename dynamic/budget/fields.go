package budget

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Count is one of the counts of a budget after a use.
type Count struct {
	Name      string // as in RateLimit-Policy
	Quota     int
	Remaining int
}

// Reading is what a budget says after a use was asked for.
type Reading struct {
	Granted bool
	// OfClient says of a refusal that it is the client's own count or share that is used up: by the
	// counts that were looked at, a client that has used nothing would have been granted.
	OfClient bool
	Window   time.Duration
	Reset    time.Duration // to the end of the window, whole seconds
	Counts   []Count       // those that were looked at
	use      use           // what GiveBack undoes
}

// More is the reading after n uses were given back.
func (rd Reading) More(n int) Reading {
	rd.Counts = slices.Clone(rd.Counts)
	for i := range rd.Counts {
		c := &rd.Counts[i]
		c.Remaining = min(c.Quota, c.Remaining+n)
	}
	return rd
}

// fields are the header fields that metered answers carry.
var fields = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit", "RateLimit-Policy"}

// WriteTo sets the RateLimit fields of both generations: three integers for the tightest count (the
// drafts up to 06), and the lists of draft-ietf-httpapi-ratelimit-headers-11 for all counts.
func (rd Reading) WriteTo(h http.Header) {
	if len(rd.Counts) == 0 {
		return
	}
	tight := rd.Counts[0]
	var limits, policies []string
	reset, window := seconds(rd.Reset), seconds(rd.Window)
	for _, c := range rd.Counts {
		if c.Remaining < tight.Remaining {
			tight = c
		}
		limits = append(limits, fmt.Sprintf(`%q;r=%d;t=%s`, c.Name, c.Remaining, reset))
		policies = append(policies, fmt.Sprintf(`%q;q=%d;w=%s`, c.Name, c.Quota, window))
	}
	h.Set("RateLimit-Limit", strconv.Itoa(tight.Quota))
	h.Set("RateLimit-Remaining", strconv.Itoa(tight.Remaining))
	h.Set("RateLimit-Reset", reset)
	h.Set("RateLimit", strings.Join(limits, ", "))
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
}

// Strip removes the RateLimit fields: a refusal of the input spends nothing and says nothing of
// budgets.
func Strip(h http.Header) {
	for _, f := range fields {
		h.Del(f)
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
