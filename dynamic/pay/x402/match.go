package x402

import (
	"encoding/json"
	"reflect"

	"store.example/agentstore/dynamic/rail"
)

// Match finds the requirement that a buyer accepted: scheme, network, amount, asset, payTo and
// maxTimeoutSeconds equal to the letter, no further members beside extra, and every member of the
// requirement's extra present and equal (others are allowed). It returns -1 when nothing matches.
func Match(p *Presented, asked []rail.Requirement) int {
	if p.unknown {
		return -1
	}
	a := p.Accepted
	for i, r := range asked {
		if a.Scheme == r.Scheme && a.Network == r.Network && a.Amount == r.Amount && a.Asset == r.Asset &&
			a.PayTo == r.PayTo && a.MaxTimeoutSeconds == r.MaxTimeoutSeconds && holds(a.Extra, r.Extra) {
			return i
		}
	}
	return -1
}

// holds reports whether got has every member of want with an equal value.
func holds(got, want map[string]any) bool {
	for k, w := range want {
		g, ok := got[k]
		if !ok || !reflect.DeepEqual(g, plain(w)) {
			return false
		}
	}
	return true
}

// plain turns a value into what JSON decoding would make of it.
func plain(v any) any {
	switch v.(type) {
	case string, bool, nil, float64:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return v
	}
	return out
}

// dynamicInfo are the info members that differ from challenge to challenge and so are not compared
// in an echo.
var dynamicInfo = map[string]string{
	ExtOffers:    "offers",
	ExtChallenge: "nonce",
	ExtPaymentID: "id",
}

// EchoHolds reports whether the extensions a buyer sent back keep what was declared: for each key
// that both have, every member of our info is there unchanged, further members are allowed. Sending
// none at all is allowed, and keys that we did not declare are ignored.
func EchoHolds(sent, declared map[string]Extension) bool {
	for name, d := range declared {
		s, ok := sent[name]
		if !ok {
			continue
		}
		var got, want map[string]any
		if json.Unmarshal(s.Info, &got) != nil || json.Unmarshal(d.Info, &want) != nil {
			return false
		}
		for k, w := range want {
			if dynamicInfo[name] == k {
				continue
			}
			if !reflect.DeepEqual(got[k], w) {
				return false
			}
		}
	}
	return true
}
