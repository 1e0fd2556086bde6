package probe

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// Reading is what a comparison knows of one report.
type Reading struct {
	Verdict Verdict  `json:"verdict"`
	Failed  []string `json:"failed"`
	Battery string   `json:"battery"`
}

// Reading returns the report's verdict, failed checks and battery.
func (r Report) Reading() Reading {
	out := Reading{Verdict: r.Verdict, Failed: []string{}, Battery: r.Version}
	for _, c := range r.Checks {
		if !c.OK {
			out.Failed = append(out.Failed, c.Name)
		}
	}
	return out
}

// The classes of a comparison.
const (
	ClassSame            = "same"
	ClassMoved           = "moved"
	ClassInstrumentMoved = "instrument_moved"
	ClassNotComparable   = "not_comparable"
)

// Comparison sets a recorded reading against a later one. Class depends on nothing but the six
// values: verdict, failed checks as a set, and battery, twice. Another battery is the instrument
// moving, never the door.
type Comparison struct {
	Class         string   `json:"class"`
	Detail        string   `json:"detail"`
	VerdictSame   bool     `json:"verdict_same"`
	FailedAdded   []string `json:"failed_added"`
	FailedCleared []string `json:"failed_cleared"`
	BatterySame   bool     `json:"battery_same"`
}

// Compare returns what changed from recorded to later.
func Compare(recorded, later Reading) Comparison {
	c := Comparison{
		VerdictSame: recorded.Verdict == later.Verdict, BatterySame: recorded.Battery == later.Battery,
		FailedAdded: missingFrom(recorded.Failed, later.Failed), FailedCleared: missingFrom(later.Failed,
			recorded.Failed),
	}
	switch same := c.VerdictSame && len(c.FailedAdded)+len(c.FailedCleared) == 0; {
	case !judged(recorded.Verdict) || !judged(later.Verdict) || recorded.Battery == "" || later.Battery == "":
		c.Class, c.Detail = ClassNotComparable, "One of the two is no judgement."
	case !c.BatterySame && same:
		c.Class, c.Detail = ClassInstrumentMoved, fmt.Sprintf("Judged by %s and now by %s, with the same result.",
			recorded.Battery, later.Battery)
	case !c.BatterySame:
		c.Class, c.Detail = ClassInstrumentMoved,
			fmt.Sprintf("Judged by %s and now by %s: the instrument moved, which says nothing about the door.",
				recorded.Battery, later.Battery)
	case same:
		c.Class, c.Detail = ClassSame, "Same verdict, same failed checks, same battery."
	default:
		c.Class, c.Detail = ClassMoved, "Same battery, another result."
	}
	return c
}

func judged(v Verdict) bool { return v == Ready || v == NotReady || v == Unreachable }

// missingFrom returns the names of b that are not in a, sorted, each once.
func missingFrom(a, b []string) []string {
	out := []string{}
	for _, name := range slices.Sorted(slices.Values(b)) {
		if !slices.Contains(a, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Replay runs a checker over a recording. What it asks for beyond the recording is answered with an
// exchange that could not be made.
func Replay[R any](recording []exchange.Exchange, c Checker[R]) (R, error) {
	var none R
	var given []exchange.Exchange
	for range c.MaxRequests() + 1 {
		report, next, err := c.Step(given)
		if err != nil {
			return none, err
		}
		if next == nil {
			return report, nil
		}
		if len(given) < len(recording) {
			given = append(given, recording[len(given)])
			continue
		}
		if len(recording) == 0 {
			break
		}
		given = append(given, exchange.Exchange{Request: next.Request, StartedAt: recording[0].StartedAt,
			Error: exchange.Error{Stage: exchange.StageRefused, Text: "not recorded"}})
	}
	return none, fmt.Errorf("replaying %s: the recording is empty or the checker does not end",
		strings.ToValidUTF8(c.Name(), "�"))
}
