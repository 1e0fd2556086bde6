package record

import (
	"cmp"

	"store.example/agentstore/corpus/rule"
)

// ReasonErratum stands where an erratum says that a row should have told of no observation.
const ReasonErratum = "erratum"

// Correction is what an erratum says of the row beside which it stands.
type Correction struct {
	Observation int64  `json:"observation"` // number of the erratum
	At          string `json:"at"`
	Signed      string `json:"verdict_signed"` // of the row, which stays as it is signed
	Now         string `json:"verdict_now"`    // what counts
	Reason      string `json:"reason"`
	Evidence    string `json:"evidence_digest,omitzero"` // of the judgement that gives it; absent for not_probed
	// Of an instrument_error, as in Erratum. Where another erratum of the row came behind it, they
	// are still of it: an error that was shown once is not unsaid.
	Kind   string   `json:"kind,omitzero"`
	Cause  string   `json:"cause,omitzero"`
	Checks []string `json:"checks,omitempty"`
}

// Errata are the errata of a feed by the leaf of the row. Of several of one row the last counts.
type Errata map[int64]Amended

// Amended is the erratum of a row that counts, and the last instrument_error of the row.
type Amended struct {
	Observation
	Error *Erratum // nil for none
}

// ErrataOf takes them out of a feed.
func ErrataOf(feed []Observation) Errata {
	out := Errata{}
	for _, o := range feed {
		if o.Erratum == nil {
			continue
		}
		now := Amended{o, out[o.Erratum.Leaf].Error}
		if o.Erratum.Kind == ErratumError {
			now.Error = o.Erratum
		}
		out[o.Erratum.Leaf] = now
	}
	return out
}

// Correct has rows that were just read say what they should have said: the verdict, and nothing of
// what it was reached by. What the door asked for stays as it was seen, and Raw what was signed.
func (e Errata) Correct(rows []StoredRow) {
	for i := range rows {
		if o, ok := e[rows[i].Leaf]; ok && len(rows[i].Raw) > 0 {
			rows[i].correct(o)
		}
	}
}

func (r *StoredRow) correct(o Amended) {
	r.Corrected = &Correction{Observation: o.Number, At: o.At, Signed: r.Verdict, Now: o.Erratum.VerdictNow,
		Reason: o.Erratum.Reason, Evidence: o.Erratum.EvidenceDigest}
	if e := o.Error; e != nil {
		r.Corrected.Kind, r.Corrected.Cause, r.Corrected.Checks = e.Kind, e.Cause, e.Checks
	}
	r.Verdict, r.Reason, r.Fault = o.Erratum.VerdictNow, "", FaultNone
	r.ReachedLevel, r.Failed, r.AlsoUnder, r.Vantages = "", nil, nil, nil
	switch r.Verdict {
	case VerdictNotProbed:
		r.Reason, r.ObservedAt, r.EvidenceDigest = ReasonErratum, "", ""
		return
	case VerdictUnreachable:
		r.Fault = FaultDoor
	}
	// A row that told of no observation is observed when it is corrected.
	r.ObservedAt, r.EvidenceDigest = cmp.Or(r.ObservedAt, o.At), o.Erratum.EvidenceDigest
}

// RestsOnWalk demands of a paid walk, which an observation tells of, that an erratum of a row,
// which is dated so and names that observation's digest, may rest on it: the purchase was at the
// row's door, in its week, not by its seller, and was not answered with a failure.
func (e Erratum) RestsOnWalk(row Row, o Observation, at string) error {
	w := o.Walk
	switch {
	case w == nil || e.VerdictNow != VerdictReady:
		return rule.ErratumBasis.Errorf("a paid walk gives no verdict but %s", VerdictReady)
	case w.By == BoughtBySeller || w.By == BoughtByStore && w.Claim == nil:
		return rule.ErratumBasis.Errorf("the paid walk is by the seller, or was not answered")
	case w.Host != row.Host || w.URL != row.URL:
		return rule.ErratumBasis.Errorf("the row is of %.200q, and the paid walk of %.200q", row.URL, w.URL)
	case o.At > at || !inWeek(o.At, row.Week):
		return rule.ErratumBasis.Errorf("the row is of %s, and the paid walk dated %s", row.Week, o.At)
	case w.Claim != nil && (w.Claim.Status < 200 || w.Claim.Status > 299):
		return rule.ErratumBasis.Errorf("the paid walk was answered with status %d", w.Claim.Status)
	}
	return e.Errs(row, &Walk{Verdict: VerdictReady})
}

// Keeps demands that an observation, which rests on a judgement, can do without it once w withdraws
// that: a refresh from the week after it on, so that whoever looks may judge it meanwhile, and an
// erratum only where another took its place, which counts says that none did.
func (o Observation) Keeps(w Observation, counts bool) error {
	switch {
	case o.Erratum != nil && counts:
		return rule.WithdrawnBasis.Errorf("the erratum of observation %d, which counts, rests on what is "+
			"withdrawn; hint: another erratum of its row takes its place first", o.Number)
	case o.Refresh != nil && ISOWeek(moment(w.At)) <= ISOWeek(moment(o.At)):
		return rule.WithdrawnBasis.Errorf("the refresh of observation %d rests on what is withdrawn in its own "+
			"week; hint: withdraw it in the week after %s", o.Number, ISOWeek(moment(o.At)))
	}
	return nil
}
