package probe

import (
	"fmt"
	"slices"
)

// AuditsCiteV1Before is the UTC date before which whatever was signed about a door for a buyer
// cites battery v1, for good (interface specification, versioning).
const AuditsCiteV1Before = "2026-09-01"

// batteries is the table of all versions, the oldest first. A version that was used is frozen: its
// checks, their order and what they ask do not change. A new one is one more row, and stands then
// in reports, rows, criteria, routes and the seller's kit.
var batteries = []Battery{
	{Version: V1, Since: "2026-05-01", Checks: checksV1,
		About: "One GET, no redirect, 8 seconds, 256 KiB. A not_ready verdict is a 200: the reading succeeded. What " +
			"a single probe cannot tell stands in the answer."},
	{Version: V2, Since: "2026-08-23", Post: true, Checks: checksOfV2(), Replays: true,
		About: "Asks besides whether the stock client signs something that settles. Follows one redirect on the same " +
			"host; after 404, 405 or 501 reads /.well-known/x402 and /openapi.json of that host, and sends one POST " +
			"of an empty object where the door itself declares POST there or in Allow. also_under has " +
			"the verdict of v1."},
}

// MaxBatteries is how many versions there can be: a row has room for the verdicts of so many.
const MaxBatteries = 5

// Batteries returns every version, the oldest first.
func Batteries() []Battery {
	list := slices.Clone(batteries)
	for i := range list {
		list[i].Checks = slices.Clone(list[i].Checks)
	}
	return list
}

// Versions returns the names of every version, the oldest first.
func Versions() []string {
	var names []string
	for _, b := range batteries {
		names = append(names, b.Version)
	}
	return names
}

// Current is the version that the census walks with and that instruments use where none is asked
// for: the newest.
func Current() string {
	return batteries[len(batteries)-1].Version
}

// batteryOf returns the battery of a version.
func batteryOf(version string) (Battery, error) {
	for _, b := range batteries {
		if b.Version == version {
			return b, nil
		}
	}
	return Battery{}, fmt.Errorf("choosing a battery: no version %q", version)
}

// verdictOf is the verdict of a version, which is in the table.
func (v *View) verdictOf(version string) Verdict {
	b, err := batteryOf(version)
	if err != nil {
		return NotProbed
	}
	return b.judge(v).verdict
}

// outcome is what a battery made of one view.
type outcome struct {
	vector  []VectorEntry
	verdict Verdict
	reason  string // Reason…, of NotProbed
	failed  []string
}

// judge asks every check that can be asked, once for each view, which no longer changes then.
func (b Battery) judge(v *View) outcome {
	if o, ok := v.judged[b.Version]; ok {
		return o
	}
	o := b.ask(v)
	if v.judged == nil {
		v.judged = map[string]outcome{}
	}
	v.judged[b.Version] = o
	return o
}

func (b Battery) ask(v *View) outcome {
	o := outcome{verdict: Ready, vector: make([]VectorEntry, 0, len(b.Checks))}
	blocked := map[string]string{} // a check that did not pass, and the one that failed first on the way to it
	for _, c := range b.Checks {
		if by, ok := blocked[c.After]; ok {
			blocked[c.Name] = by
			o.vector = append(o.vector, VectorEntry{Name: c.Name, State: NotReached, BlockedBy: by,
				Detail: "not reached"})
			continue
		}
		f := c.Run(v)
		entry := VectorEntry{Name: c.Name, State: f.State, Detail: f.Detail}
		if f.NotJudged {
			entry.BlockedBy, o.reason = BlockedNotJudged, ReasonNotJudged
		}
		o.vector = append(o.vector, entry)
		if f.State != Pass {
			blocked[c.Name] = c.Name
		}
		if f.State == Fail {
			o.failed = append(o.failed, c.Name)
		}
	}
	switch {
	case v.Evidence.Status == 0:
		o.verdict = Unreachable
	case b.Replays && v.wall() != "":
		o.verdict, o.reason = NotProbed, ReasonChallenged
		return o
	case v.Unresolved:
		o.verdict = MethodUnresolved
	case b.Post && v.inputsLacking():
		o.verdict, o.reason = NotProbed, ReasonInputs
		return o
	case len(o.failed) > 0:
		o.verdict = NotReady
	case o.reason != "":
		o.verdict = NotProbed
		return o
	}
	o.reason = ""
	return o
}

// Levels returns the ladder: what is known of a door that got so far, from L0 to L6.
func Levels() []Level {
	return []Level{
		{"L0", "nothing usable answered"},
		{"L1", "answers over https"},
		{"L2", "answers 402"},
		{"L3", "the challenge parses, is version 2 and complete (battery v1 ready)"},
		{"L4", "the terms are payable (battery v2 ready)"},
		{"L5", "signed offers and an input contract agree with the challenge"},
		{"L6", "a purchase was delivered: not reached by a probe that pays nothing"},
	}
}

// A Level is one rung of the ladder.
type Level struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// level places a view on the ladder, which is the same whatever battery was asked for.
func level(v *View) Level {
	rung := 0
	switch {
	case v.Evidence.Status == 0 || !v.overTLS():
	case v.Evidence.Status != 402:
		rung = 1
	case v.verdictOf(V2) != Ready && v.verdictOf(V1) != Ready:
		rung = 2
	case v.verdictOf(V2) != Ready:
		rung = 3
	case !v.agrees():
		rung = 4
	default:
		rung = 5
	}
	l := Levels()[rung]
	if v.Evidence.Status != 0 && !v.overTLS() {
		l.Meaning = "read over plain http, and the ladder begins with https"
	}
	return l
}

// agrees reports what L5 asks: an offer for every way of paying, no offer that contradicts the
// challenge, and an input contract that holds for its own example and for the method that was used.
func (v *View) agrees() bool {
	c := v.contract()
	return v.offersCover() && v.contradictingOffer() == "" && c.declared && c.method == v.Evidence.Method &&
		v.bazaarViolation() == ""
}
