package route

import (
	"strconv"
	"strings"
)

// Weights walks a field such as Accept or Accept-Encoding: its items in order, each without
// parameters, lower-cased, with its weight in thousandths. A malformed weight counts as 0: what is
// not understood is not wanted.
func Weights(field string, yield func(item string, q int) bool) {
	for part := range strings.SplitSeq(field, ",") {
		item, params, _ := strings.Cut(part, ";")
		item = strings.ToLower(strings.TrimSpace(item))
		if item == "" {
			continue
		}
		q := 1000
		for p := range strings.SplitSeq(params, ";") {
			name, value, _ := strings.Cut(p, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				q = parseWeight(strings.TrimSpace(value))
				break
			}
		}
		if !yield(item, q) {
			return
		}
	}
}

// parseWeight reads a qvalue (RFC 9110, section 12.4.2) in thousandths.
func parseWeight(s string) int {
	if len(s) == 0 || len(s) > 5 {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0
	}
	return int(f*1000 + 0.5)
}

// Negotiate picks among offered media types (without parameters) by an Accept field. The most
// specific range decides about each offer (RFC 9110, section 12.5.1); the highest weight wins;
// among equals the one that was named more specifically, then the one named first, then the one
// offered first. What the field does not mention is not refused: where nothing fits, the first
// offer is given. Only where every offer is refused with a weight of 0 it returns -1.
func Negotiate(accept string, offers []string) int {
	if accept == "" || accept == "*/*" || len(offers) == 0 {
		return 0
	}
	best, bestQ, bestSpec, bestPos := -1, 0, 0, 0
	refused := 0
	for i, offer := range offers {
		q, spec, pos := weigh(accept, offer)
		if spec > 0 && q == 0 {
			refused++
			continue
		}
		if q > bestQ || q == bestQ && q > 0 && (spec > bestSpec || spec == bestSpec && spec == exact && pos < bestPos) {
			best, bestQ, bestSpec, bestPos = i, q, spec, pos
		}
	}
	switch {
	case best >= 0:
		return best
	case refused == len(offers):
		return -1
	}
	for i, offer := range offers {
		if q, spec, _ := weigh(accept, offer); spec == 0 || q > 0 {
			return i
		}
	}
	return 0
}

// How specifically a range names a type.
const (
	unnamed = iota
	anything
	anySubtype
	exact
)

// weigh finds the most specific range of an Accept field for one media type: its weight, how
// specific it is and where in the field it stands.
func weigh(accept, offer string) (q, spec, pos int) {
	family, _, _ := strings.Cut(offer, "/")
	i := 0
	Weights(accept, func(item string, w int) bool {
		s := unnamed
		switch {
		case item == offer:
			s = exact
		case item == "*/*":
			s = anything
		case strings.HasSuffix(item, "/*") && item[:len(item)-2] == family:
			s = anySubtype
		}
		if s > spec {
			q, spec, pos = w, s, i
		}
		i++
		return true
	})
	return q, spec, pos
}
