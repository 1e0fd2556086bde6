package audit

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// errata demands of every erratum that it is of a row, of a round that was taken before.
func (c *checker) errata() {
	for _, o := range c.feed {
		if o.Erratum == nil {
			continue
		}
		if !slices.ContainsFunc(c.rounds, func(r record.Round) bool {
			at := o.Erratum.Leaf - r.FirstLeaf
			return 0 <= at && at < r.Rows && r.TakenAt <= o.At
		}) {
			c.problem(rule.ErratumRow, "observations/"+o.File(), attest.ProblemChanged,
				fmt.Sprintf("it corrects leaf %d, which is no row of a round before it", o.Erratum.Leaf))
		}
	}
}

// judgedBetween judges what refreshes were judged by again, as far as it is kept. A copy of a
// record without the folder of evidence has none of it; otherwise it is there, or withdrawn.
func (c *checker) judgedBetween() {
	here := c.holds("evidence")
	var unpack record.Unpacker
	for _, o := range c.feed {
		digest := o.JudgedBy()
		if digest == "" {
			continue
		}
		name := record.ObservedEvidence(digest)
		by, gone := c.withdrawn[digest]
		switch _, there := c.files[name]; {
		case there && gone:
			c.files[name] = true
			c.problem(rule.EvidenceWithdrawn, name, attest.ProblemAdded, fmt.Sprintf("observation %d withdrew it", by))
			continue
		case gone:
			c.out.Between.Withdrawn++
			continue
		case !there && here && o.Refresh != nil:
			c.problem(rule.EvidenceMissing, name, attest.ProblemMissing,
				fmt.Sprintf("observation %d was judged by it, and none withdrew it", o.Number))
			continue
		case !there: // an erratum may rest on what the row rests on
			c.out.Between.NotKept++
			continue
		}
		c.files[name] = true
		member, err := fs.ReadFile(c.fsys, name)
		var raw []byte
		if err == nil {
			raw, err = unpack.Open(member, record.EvidenceEntry{SHA256: digest, Bytes: int64(len(member))})
		}
		if err != nil {
			c.problem(rule.Or(err, rule.EvidenceGzip), name, attest.ProblemChanged, err.Error())
			continue
		}
		if c.o.Judge == nil {
			c.out.Between.Unjudged++
			continue
		}
		if o.Refresh != nil {
			err = c.o.Judge.Refresh(*o.Refresh, o.At, raw)
		} else {
			err = c.corrects(*o.Erratum, raw)
		}
		if err != nil {
			c.problem(rule.Or(err, rule.JudgementVerdict), "observations/"+o.File(), ProblemMisjudged, err.Error())
			continue
		}
		c.out.Between.Again++
	}
}

// corrects demands that a judgement gives the verdict of an erratum.
func (c *checker) corrects(e record.Erratum, raw []byte) error {
	walk, err := c.o.Judge.Walk(raw)
	if err == nil && walk.Verdict != e.VerdictNow {
		err = fmt.Errorf("it says %s, what it was judged by gives %s", e.VerdictNow, walk.Verdict)
	}
	return err
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
