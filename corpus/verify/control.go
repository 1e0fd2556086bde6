package verify

import (
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// controls judges the walks to the control door of every round again, as far as they are kept.
func (c *checker) controls() {
	for _, round := range c.rounds {
		e := &evidenceCheck{part: record.HeaderPath(round.Sequence), pack: record.ControlPack(round.Sequence),
			at:    record.ControlIndexPath(round.Sequence),
			judge: c.o.Judge, withdrawn: c.withdrawn}
		e.open(c.fsys)
		for _, name := range e.files {
			c.files[name] = true
		}
		e.control(round)
		if e.problem != nil {
			c.out.Problems = append(c.out.Problems, *e.problem)
		}
		c.out.Control.add(e.out)
	}
}

// control demands of a round's pack of control walks that it holds what the header names, but for
// what was withdrawn, and that the verdicts are those that the header counts.
func (e *evidenceCheck) control(round record.Round) {
	named := make(map[string]bool, len(round.Control.Evidence))
	for _, digest := range round.Control.Evidence {
		named[digest] = true
	}
	var ready, failed int64
	door := ""
	for _, entry := range e.entries {
		if by, gone := e.withdrawn[entry.SHA256]; gone {
			e.fail(rule.EvidenceWithdrawn, e.pack, attest.ProblemAdded,
				"observation %d withdrew what it holds of a control walk", by)
			return
		}
		if !named[entry.SHA256] {
			e.fail(rule.EvidenceNamed, e.at, attest.ProblemChanged, "the round names no control walk of %s",
				entry.SHA256)
			return
		}
		delete(named, entry.SHA256)
		raw, err := e.unpack.Open(e.raw[entry.Offset:entry.Offset+entry.Bytes], entry)
		if err != nil {
			e.fail(rule.Or(err, rule.EvidenceGzip), e.pack, attest.ProblemChanged, "of a control walk: %v", err)
			return
		}
		look, err := record.ReadLook(raw)
		if err == nil && (look.OptOut || look.Battery != round.Battery || door != "" && look.URL != door) {
			err = rule.JudgementDoor.Errorf("it is of %s by battery %s", look.URL, look.Battery)
		}
		var walk record.Walk
		if door = look.URL; err == nil && e.judge != nil {
			walk, err = e.judge.Walk(raw)
		}
		if err != nil {
			e.fail(rule.Or(err, rule.JudgementVerdict), e.pack, ProblemMisjudged, "control walk %s: %v",
				entry.SHA256, err)
			return
		}
		if e.judge == nil {
			e.out.Unjudged++
			continue
		}
		if walk.Verdict == record.VerdictReady {
			ready++
		} else {
			failed++
		}
		e.out.Again++
	}
	for _, digest := range round.Control.Evidence {
		if !named[digest] {
			continue // it was met
		}
		switch _, gone := e.withdrawn[digest]; {
		case gone:
			e.out.Withdrawn++
		case e.raw != nil:
			e.fail(rule.EvidenceMissing, e.at, attest.ProblemMissing,
				"its pack does not hold control walk %s, and no observation withdrew "+
					"that", digest)
			return
		default:
			e.out.NotKept++
		}
	}
	switch tally := round.Control; {
	case e.judge == nil || e.problem != nil:
	case failed > tally.Failed || ready > tally.Walks-tally.Failed:
		e.fail(rule.JudgementVerdict, e.part, ProblemMisjudged,
			"of %d control walks %d failed, it says; of those that are kept, %d held "+
				"and %d did not", tally.Walks, tally.Failed, ready, failed)
	}
}
