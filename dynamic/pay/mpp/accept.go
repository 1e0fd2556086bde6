package mpp

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/dynamic/pay"
)

// Bounds of an Accept-Payment that is read.
const (
	maxAccept = 1 << 10 // bytes, of all its fields together
	maxRanges = 32
)

// payRange is one range of Accept-Payment: a method and an intent, "*" for any, with its weight in
// thousandths.
type payRange struct {
	method, intent string
	weight         int
}

// Its grammar (draft-httpauth-payment-02, Client Payment Preferences; RFC 9110, section 12.4.2).
var rangeForm = regexp.MustCompile(
	`^([a-z]+|\*)/([A-Za-z0-9-]+|\*)(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$`)

// readAccept reads Accept-Payment. A field that is malformed or too long says nothing.
func readAccept(f pay.Fields) (list []payRange) {
	if f == nil {
		return nil
	}
	all := strings.Join(f.Values(headerAccept), ",")
	if len(all) > maxAccept {
		return nil
	}
	for part := range strings.SplitSeq(all, ",") {
		if part = strings.Trim(part, " \t"); part == "" {
			continue // as RFC 9110, section 5.6.1.2 asks
		}
		m := rangeForm.FindStringSubmatch(part)
		if m == nil || len(list) == maxRanges {
			return nil
		}
		r := payRange{m[1], m[2], 1000}
		if m[3] != "" {
			q, _ := strconv.ParseFloat(m[3], 64) // its form is checked
			r.weight = int(q*1000 + 0.5)
		}
		list = append(list, r)
	}
	return list
}

// weightOf is what the most specific range says of a method with our intent, and whether one
// speaks of it.
func weightOf(list []payRange, method string) (weight int, named bool) {
	best := -1
	for _, r := range list {
		if r.method != method && r.method != "*" || r.intent != intent && r.intent != "*" {
			continue
		}
		rank := 0
		for _, token := range []string{r.method, r.intent} {
			if token != "*" {
				rank++
			}
		}
		if rank > best {
			best, weight = rank, r.weight
		}
	}
	return weight, best >= 0
}

// choose are the offers that a request takes, those it likes best first, and whether it takes any:
// what it does not know of it does not refuse, so the usual offers are what it gets where no range
// speaks of one. Some offers are made only to who names their method.
func choose(f pay.Fields, offers []offer) (list []offer, taken bool) {
	ranges := readAccept(f)
	usual := slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return o.named })
	asked := slices.DeleteFunc(slices.Clone(offers), func(o offer) bool {
		return o.named && !slices.ContainsFunc(ranges, func(r payRange) bool { return r.method == o.way.method })
	})
	weights, refused := map[string]int{}, false
	for _, o := range asked {
		weight, named := weightOf(ranges, o.way.method)
		weights[o.way.method], refused = weight, refused || named
	}
	list = slices.DeleteFunc(asked, func(o offer) bool { return weights[o.way.method] == 0 })
	if len(list) == 0 {
		return usual, !refused
	}
	slices.SortStableFunc(list, func(a, b offer) int {
		return cmp.Compare(weights[b.way.method], weights[a.way.method])
	})
	return list, true
}
