package verify

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// ErratumReport says of an erratum which row it corrects, and from what to what.
type ErratumReport struct {
	Observation int64  `json:"observation"`
	Leaf        int64  `json:"leaf"`
	Host        string `json:"host"`
	Week        string `json:"week"`
	Signed      string `json:"verdict_signed"`
	Now         string `json:"verdict_now"`
	Rests       string `json:"rests_on"` // Rests…
	// Kind and Cause are those of an instrument_error.
	Kind  string `json:"kind,omitzero"`
	Cause string `json:"cause,omitzero"`
}

// What an erratum rests on.
const (
	RestsOnAgain     = "judged_again" // a look of the row's week that is kept, and gives the verdict
	RestsOnAlone     = "alone"        // the same, while the row's own look is not here to be held against it
	RestsOnKept      = "kept"         // the same, which was not judged again: there was no record.Judge
	RestsOnWalk      = "paid_walk"    // a purchase at the row's door in its week
	RestsOnNotKept   = "not_kept"     // a look that this copy of the record does not keep
	RestsOnWithdrawn = "withdrawn"    // one that was withdrawn when another erratum had taken its place
	RestsOnNothing   = "nothing"      // it takes a verdict away, and gives none
)

// errata demands of every erratum that it is of a row, of a round that was taken before.
func (c *checker) errata() {
	for n, o := range c.feed {
		if o.Erratum == nil {
			continue
		}
		row, found := c.corrected[o.Erratum.Leaf]
		i := slices.IndexFunc(c.rounds, func(r record.Round) bool { return r.Week == row.Week })
		if !found || i < 0 || c.rounds[i].TakenAt > o.At {
			c.problem(rule.ErratumRow, "observations/"+o.File(), attest.ProblemChanged,
				fmt.Sprintf("it corrects leaf %d, which is no row of a round before it", o.Erratum.Leaf))
			continue
		}
		c.out.Errata = append(c.out.Errata, ErratumReport{Observation: o.Number, Leaf: o.Erratum.Leaf, Host: row.Host,
			Week: row.Week, Signed: row.Verdict, Now: o.Erratum.VerdictNow, Rests: RestsOnNothing,
			Kind: o.Erratum.Kind, Cause: o.Erratum.Cause})
		if o.Erratum.EvidenceDigest == "" {
			continue
		}
		on, err := c.basis(n, row, c.rounds[i])
		if err != nil {
			c.unfounded(o, err)
		}
		c.out.Errata[len(c.out.Errata)-1].Rests = on
	}
}

// unfounded says that an observation does not rest on what it names.
func (c *checker) unfounded(o record.Observation, err error) {
	broken, name, kind := rule.Or(err, rule.JudgementVerdict), "observations/"+o.File(), attest.ProblemChanged
	switch broken {
	case rule.JudgementDoor, rule.JudgementVerdict, rule.JudgementForm:
		kind = ProblemMisjudged
	case rule.EvidenceMissing:
		name, kind = record.ObservedEvidence(o.JudgedBy()), attest.ProblemMissing
	case rule.EvidenceWithdrawn:
		name, kind = record.ObservedEvidence(o.JudgedBy()), attest.ProblemAdded
	case rule.EvidenceGzip, rule.EvidenceDigest:
		name = record.ObservedEvidence(o.JudgedBy())
	}
	c.problem(broken, name, kind, err.Error())
}

// basis finds what the n-th observation, an erratum of a row to a verdict, rests on: a paid walk
// that an observation before it tells of, or a look that is kept.
func (c *checker) basis(n int, row record.Row, round record.Round) (string, error) {
	o := c.feed[n]
	digest := o.Erratum.EvidenceDigest
	for i, raw := range c.observed[:n] {
		if c.feed[i].Walk != nil && attest.Digest(sha256.Sum256(raw)).String() == digest {
			return RestsOnWalk, o.Erratum.RestsOnWalk(row, c.feed[i], o.At)
		}
	}
	raw, gone, err := c.looked(o)
	switch {
	case gone:
		c.out.Between.Withdrawn++
		return RestsOnWithdrawn, nil
	case err != nil || raw == nil:
		return RestsOnNotKept, err
	}
	own, err := c.ownLook(o, row, round)
	look, fault := record.ReadLook(raw)
	err = cmp.Or(err, fault)
	if err == nil {
		err = cmp.Or(look.Corrects(row, o.At), o.Erratum.Errs(row, nil), o.Erratum.ErrsOn(row, raw, own))
	}
	if err != nil || c.o.Judge == nil {
		c.out.Between.Unjudged++
		return RestsOnKept, err
	}
	walk, err := c.o.Judge.Walk(raw)
	if err == nil && walk.Verdict != o.Erratum.VerdictNow {
		err = fmt.Errorf("it says %s, what it was judged by gives %s", o.Erratum.VerdictNow, walk.Verdict)
	}
	if err == nil {
		err = o.Erratum.Errs(row, &walk)
	}
	c.out.Between.Again++
	if o.Erratum.Kind != "" && own == nil {
		return RestsOnAlone, err
	}
	return RestsOnAgain, err
}

// ownLook is what the row of an instrument_error was judged by, nil where that is not kept. What
// was gone before showed nobody that the row was false.
func (c *checker) ownLook(o record.Observation, row record.Row, round record.Round) ([]byte, error) {
	switch by, gone := c.withdrawn[row.EvidenceDigest]; {
	case gone && by < o.Number && o.Erratum.Kind != "":
		return nil, rule.ErratumBasis.Errorf("what the row was judged by was withdrawn by observation %d before it", by)
	case gone || o.Erratum.Kind == "" || row.EvidenceDigest == "":
		return nil, nil
	}
	part := int((o.Erratum.Leaf - round.FirstLeaf) / record.MaxPartRows)
	raw, _ := c.packs.Judgement(round.Sequence, part, row) // its own fault is told where packs are checked
	return raw, nil
}

// looked reads what an observation was judged by. It is nil where this copy of the record has no
// folder of evidence, and gone where it was withdrawn; otherwise it is there.
func (c *checker) looked(o record.Observation) (raw []byte, gone bool, err error) {
	digest := o.JudgedBy()
	name := record.ObservedEvidence(digest)
	_, there := c.files[name]
	if there {
		c.files[name] = true
	}
	by, gone := c.withdrawn[digest]
	switch {
	case there && gone:
		return nil, false, rule.EvidenceWithdrawn.Errorf("what it was judged by is there, and observation %d "+
			"withdrew it", by)
	case gone:
		return nil, true, nil
	case !there && !c.holds("evidence"):
		c.out.Between.NotKept++
		return nil, false, nil
	case !there:
		return nil, false, rule.EvidenceMissing.Errorf("%s is not there, by which it was judged, and nothing "+
			"withdrew it", name)
	}
	member, err := fs.ReadFile(c.fsys, name)
	if err == nil {
		raw, err = c.unpack.Open(member, record.EvidenceEntry{SHA256: digest, Bytes: int64(len(member))})
	}
	return raw, false, rule.EvidenceGzip.By(err)
}

// withdrawals demands that nothing was withdrawn that an observation cannot do without.
func (c *checker) withdrawals() {
	last := make(map[int64]int64) // the erratum that counts, by leaf
	for _, o := range c.feed {
		if o.Erratum != nil {
			last[o.Erratum.Leaf] = o.Number
		}
	}
	for _, o := range c.feed {
		by, gone := c.withdrawn[o.JudgedBy()]
		if !gone || o.JudgedBy() == "" {
			continue
		}
		w := c.feed[by-1]
		if err := o.Keeps(w, o.Erratum != nil && last[o.Erratum.Leaf] == o.Number); err != nil {
			c.problem(rule.WithdrawnBasis, "observations/"+w.File(), attest.ProblemChanged, err.Error())
		}
	}
}

// refreshes judges what refreshes were judged by again, as far as it is kept.
func (c *checker) refreshes() {
	for _, o := range c.feed {
		if o.Refresh == nil {
			continue
		}
		raw, gone, err := c.looked(o)
		switch {
		case err != nil:
		case gone:
			c.out.Between.Withdrawn++
		case raw != nil:
			var look record.Look
			if look, err = record.ReadLook(raw); err == nil {
				err = look.OfRefresh(*o.Refresh, o.At)
			}
			if c.o.Judge == nil {
				c.out.Between.Unjudged++
				break
			}
			if err == nil {
				err = c.o.Judge.Refresh(*o.Refresh, o.At, raw)
			}
			c.out.Between.Again++
		}
		if err != nil {
			c.unfounded(o, err)
		}
	}
}

// issued is what observations said of artifacts so far.
type issued struct {
	counts  map[string]int64 // by class
	through string           // the week of the last tree of certificates
}

// add demands that no count of artifacts falls, as what was issued is not taken back, and that the
// weeks of a tree of certificates are of no tree before it.
func (i *issued) add(now record.Issued) error {
	counts := make(map[string]int64, len(now.Classes))
	for _, class := range now.Classes {
		counts[class.Class] = class.Total
	}
	for class, n := range i.counts {
		if counts[class] < n {
			return rule.IssuedFalls.Errorf("it counts %d artifacts of class %s, and there were %d",
				counts[class], class, n)
		}
	}
	maps.Copy(i.counts, counts)
	if now.Certificates == nil {
		return nil
	}
	if now.Certificates.Through <= i.through {
		return rule.IssuedWeek.Errorf("its certificates are of the weeks through %s, and those through %s have a tree",
			now.Certificates.Through, i.through)
	}
	i.through = now.Certificates.Through
	return nil
}
