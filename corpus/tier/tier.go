package tier

import (
	"strconv"

	"store.example/agentstore/corpus/record"
)

// The tiers, in the order in which their rules are tested.
const (
	TierBroken        = "broken"
	TierIndeterminate = "indeterminate"
	TierStanding      = "standing"
	TierEstablished   = "established"
	TierObserved      = "observed"
)

// TierNames returns all tiers in the order of their rules.
func TierNames() []string {
	return []string{TierBroken, TierIndeterminate, TierStanding, TierEstablished, TierObserved}
}

// The rounds that the rules look at.
const (
	WindowRounds      = 8
	EstablishedRounds = 4
)

// Latest is the newest observation of a host.
type Latest struct {
	Verdict    string `json:"verdict"`
	ObservedAt string `json:"observed_at"`
	Source     string `json:"source"` // census or paid_refresh
	Sequence   int64  `json:"sequence,omitzero"`
	Number     int64  `json:"observation,omitzero"`
}

// Standing is a host's tier with what it was derived from.
type Standing struct {
	Host   string  `json:"host"`
	Tier   string  `json:"tier"`
	Label  string  `json:"label"`
	Ready  int64   `json:"ready"`  // of Rounds
	Rounds int64   `json:"rounds"` // those the label counts: the last 8 for standing, otherwise the last 4
	From   string  `json:"first_week,omitzero"`
	To     string  `json:"last_week,omitzero"`
	Latest *Latest `json:"latest,omitzero"` // nil if nothing in the window observed it
	// WindowSuspect says that in one of the last 4 rounds a suspect round did not observe the host.
	WindowSuspect bool `json:"window_suspect"`
}

// StandingOf derives a host's tier. The window is the last 8 rounds from the host's first sighting,
// those that missed it included; rules are tested in this order:
//
//   - broken: the newest observation in the window, by a round or a paid refresh, is not_ready or
//     unreachable; of a host that opted out and was not observed in the window, the newest before
//   - indeterminate: fewer than 4 rounds of the window observed it, or one of the last 4 was
//     suspect and did not, or the last 2 were both turned away
//   - standing: 8 of 8 rounds ready
//   - established: the last 4 of 4 rounds ready
//   - observed: the rest
func StandingOf(h History) Standing {
	known := h.Entries
	for len(known) > 0 && known[0].Probed == BeforeFirst {
		known = known[1:]
	}
	window := tail(known, WindowRounds)
	recent := tail(window, EstablishedRounds)
	out := Standing{Host: h.Host, Latest: latest(h, len(known)-len(window), window)}
	if l := beforeOptOut(h, known, window); out.Latest == nil && l != nil && l.Verdict != record.VerdictReady {
		out.Latest = l
	}
	verdicts := int64(0)
	for i := range window {
		if window[i].Probed == Probed {
			verdicts++
		}
	}
	for i := range recent {
		e := &recent[i]
		out.WindowSuspect = out.WindowSuspect || e.Suspect && e.Probed != Probed
	}
	counted := recent
	switch {
	case out.Latest != nil && out.Latest.Verdict != record.VerdictReady:
		out.Tier = TierBroken
	case verdicts < EstablishedRounds || out.WindowSuspect || turnedAway(recent):
		out.Tier = TierIndeterminate
	case len(window) == WindowRounds && ready(window) == WindowRounds:
		out.Tier, counted = TierStanding, window
	case ready(recent) == EstablishedRounds:
		out.Tier = TierEstablished
	default:
		out.Tier = TierObserved
	}
	out.Ready, out.Rounds = ready(counted), int64(len(counted))
	if len(counted) > 0 {
		out.From, out.To = counted[0].Week, counted[len(counted)-1].Week
	}
	out.Label = TierLabel(out)
	return out
}

// beforeOptOut is the newest observation of a host whose newest round found that it opted out, in a
// window that is longer by such rounds: nobody sheds what was seen last by asking not to be seen.
func beforeOptOut(h History, known, window []Entry) *Latest {
	if len(window) == 0 || window[len(window)-1].Gap != record.ReasonOptedOut {
		return nil
	}
	n := WindowRounds
	for i := range known {
		if known[i].Gap == record.ReasonOptedOut {
			n++
		}
	}
	wide := tail(known, n)
	return latest(h, len(known)-len(wide), wide)
}

// turnedAway reports whether the last two rounds were kept from a reading at the door's own side.
func turnedAway(recent []Entry) bool {
	last := tail(recent, 2)
	return len(last) == 2 && last[0].atDoor() && last[1].atDoor()
}

// TierLabel says a tier with how many rounds were ready.
func TierLabel(s Standing) string {
	if s.Rounds == 0 {
		return s.Tier + " — no rounds"
	}
	return s.Tier + " — " + strconv.FormatInt(s.Ready, 10) + " of " + strconv.FormatInt(s.Rounds, 10) + ", " +
		s.From[len("2026-"):] + "–" + s.To[len("2026-"):]
}

func tail[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

func ready(entries []Entry) (n int64) {
	for i := range entries {
		if e := &entries[i]; e.Probed == Probed && e.Row.Verdict == record.VerdictReady {
			n++
		}
	}
	return n
}

// latest is the newest observation in a window that begins behind skipped known rounds. A refresh
// counts from the moment of the round before the window; of one moment, what came last onto the
// record wins: the refresh.
func latest(h History, skipped int, window []Entry) *Latest {
	var newest *Entry
	for i := range window {
		if e := &window[i]; e.Probed == Probed && (newest == nil || e.observed() >= newest.observed()) {
			newest = e
		}
	}
	var out *Latest
	if newest != nil {
		out = &Latest{Verdict: newest.Row.Verdict, ObservedAt: newest.observed(), Source: "census",
			Sequence: newest.Sequence}
	}
	since := ""
	if skipped > 0 {
		since = h.Entries[len(h.Entries)-len(window)-1].TakenAt
	}
	for _, o := range h.Refreshes {
		if o.At < since || out != nil && o.At < out.ObservedAt || o.Refresh.Verdict == record.VerdictUnreachable &&
			o.Refresh.Fault == record.FaultInstrument {
			continue
		}
		out = &Latest{Verdict: o.Refresh.Verdict, ObservedAt: o.At, Source: record.ObservationPaidRefresh,
			Number: o.Number}
	}
	return out
}

// atDoor reports whether what kept a round from a reading lies at the door's side.
func (e *Entry) atDoor() bool { return e.Probed == TurnedAway || e.Probed == NotExercised }

// observed is when the host was observed in a round, no later than that was taken: an erratum that
// is dated later gives a row of the round a verdict, and no newer look.
func (e *Entry) observed() string { return min(e.Row.ObservedAt, e.TakenAt) }
