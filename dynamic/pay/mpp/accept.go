package mpp

import (
	"strconv"
	"strings"

	"store.example/agentstore/dynamic/pay"
)

// maxAccept is the longest Accept-Payment that is read, in bytes.
const maxAccept = 1 << 10

// taken reports whether a request takes our one offer, evm/charge. It does unless the most specific
// of its ranges that fits has q=0: a field that cannot be read is no field, and one in which
// nothing fits asks for what there is not (draft-httpauth-payment, Accept-Payment).
func taken(f pay.Fields) bool {
	if f == nil {
		return true
	}
	vs := f.Values(headerAccept)
	if len(vs) == 0 {
		return true
	}
	best, q := -1, 1.0
	for part := range strings.SplitSeq(strings.Join(vs, ","), ",") {
		rank, weight, ok := readRange(part)
		if !ok {
			return true
		}
		if rank > best {
			best, q = rank, weight
		}
	}
	return q > 0
}

// readRange reads method/intent with a weight. rank is -1 where it does not fit our offer, and the
// higher the more of it is named.
func readRange(s string) (rank int, q float64, ok bool) {
	if len(s) > maxAccept {
		return 0, 0, false
	}
	name, params, weighted := strings.Cut(s, ";")
	m, i, ok := strings.Cut(strings.TrimSpace(name), "/")
	if !ok || m == "" || i == "" || strings.ContainsAny(m+i, " \t/\"=") {
		return 0, 0, false
	}
	q = 1
	if weighted {
		v, isQ := strings.CutPrefix(strings.TrimSpace(params), "q=")
		var err error
		if q, err = strconv.ParseFloat(v, 64); !isQ || err != nil || !(q >= 0 && q <= 1) || len(v) > len("0.000") {
			return 0, 0, false
		}
	}
	for _, named := range [...]struct{ is, want string }{{m, method}, {i, intent}} {
		switch named.is {
		case named.want:
			rank++
		case "*":
		default:
			return -1, q, true
		}
	}
	return rank, q, true
}
