package dynamic

import "store.example/agentstore/dynamic/route"

// coding is a content coding the service has twins in.
type coding int

const (
	identity coding = iota
	brotlied
	gzipped
	codings
)

var codingNames = [codings]string{"identity", "br", "gzip"}

// chooseCoding picks among the codings that are there by an Accept-Encoding field: the highest
// weight, and among equals brotli, then gzip. Without the field, and where nothing fits, it is
// identity: an answer is better than 406.
func chooseCoding(field string, have [codings]bool) coding {
	if field == "" {
		return identity
	}
	var named [codings]bool
	var q [codings]int
	star, starred := 0, false
	route.Weights(field, func(item string, w int) bool {
		switch item {
		case "br":
			named[brotlied], q[brotlied] = true, w
		case "gzip", "x-gzip":
			named[gzipped], q[gzipped] = true, w
		case "identity":
			named[identity], q[identity] = true, w
		case "*":
			star, starred = w, true
		}
		return true
	})
	best, bestQ := identity, 0
	if named[identity] {
		bestQ = q[identity]
	}
	for _, c := range []coding{brotlied, gzipped} {
		w := q[c]
		if !named[c] && starred {
			w = star
		}
		if have[c] && w > 0 && (w > bestQ || best == identity && w >= bestQ) {
			best, bestQ = c, w
		}
	}
	return best
}
