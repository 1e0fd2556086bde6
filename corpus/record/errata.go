package record

import "cmp"

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
}

// Errata are the errata of a feed by the leaf of the row. Of several of one row the last counts.
type Errata map[int64]Observation

// ErrataOf takes them out of a feed.
func ErrataOf(feed []Observation) Errata {
	out := Errata{}
	for _, o := range feed {
		if o.Erratum != nil {
			out[o.Erratum.Leaf] = o
		}
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

func (r *StoredRow) correct(o Observation) {
	r.Corrected = &Correction{Observation: o.Number, At: o.At, Signed: r.Verdict, Now: o.Erratum.VerdictNow,
		Reason: o.Erratum.Reason, Evidence: o.Erratum.EvidenceDigest}
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
