package verify

import (
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// dates demands of every observation that it is dated as it stands in the log, between the rounds
// before and behind it, and of everything that it is not dated ahead of the clock of who checks.
func (c *checker) dates() {
	next := 0 // round behind the observation
	leaf := int64(0)
	for _, o := range c.feed {
		for next < len(c.rounds) && leaf >= c.rounds[next].FirstLeaf {
			leaf = c.rounds[next].LeavesEnd()
			next++
		}
		var before, behind *record.Round
		if next > 0 {
			before = &c.rounds[next-1]
		}
		if next < len(c.rounds) {
			behind = &c.rounds[next]
		}
		if err := o.Dates(before, behind); err != nil {
			c.problem(rule.ObservationDate, "observations/"+o.File(), attest.ProblemChanged, err.Error())
		}
		c.leaf = append(c.leaf, leaf)
		leaf++
	}
	if !c.o.Now.IsZero() && !attest.IsSpecimen([]byte(c.ring.Identity().Public)) {
		c.ahead(1<<62, c.o.Now, "this machine's clock")
	}
}

// ahead demands of what the first leaves of the log hold that none of it is dated ahead of a time
// at which it was there, as somebody else says.
func (c *checker) ahead(leaves int64, there time.Time, by string) {
	say := func(broken rule.Rule, name string, err error) {
		if err != nil {
			c.problem(broken, name, attest.ProblemChanged, err.Error())
		}
	}
	for _, r := range c.rounds {
		if r.LeavesEnd() <= leaves {
			say(rule.RoundWeek, record.HeaderPath(r.Sequence), r.Ahead(there, by))
		}
	}
	for i, o := range c.feed {
		if c.leaf[i] < leaves {
			say(rule.ObservationDate, "observations/"+o.File(), o.Ahead(there, by))
		}
	}
}

// proven demands of what a proof is about, dated so, that the blocks at hand commit to it, and that
// it is not dated ahead of any of them.
func proven(p ots.Proof, s ots.Status, dated string, headers map[int64]ots.Header) error {
	if s.State == ots.StateMismatch {
		return rule.ProofBlock.Errorf("block %d does not commit to it", s.Height)
	}
	for _, claim := range p.Claims() {
		if h, ok := headers[claim.Height]; ok && claim.Kind == ots.Bitcoin {
			err := record.Ahead(rule.ProofDate, "what it is about", dated, h.Time(), fmt.Sprintf("block %d",
				claim.Height))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// anchors are the digests of the anchors that the observations give, and when each is dated.
func (c *checker) anchors() (digests []attest.Digest, dated []string, err error) {
	var feed []record.Observation
	for _, o := range c.feed {
		if o.Handover != nil || o.Issued != nil {
			feed = append(feed, o)
		}
	}
	chain, err := record.Anchors(c.ring, feed)
	if err != nil {
		return nil, nil, err
	}
	digests, dated = make([]attest.Digest, len(chain)), make([]string, len(chain))
	for i, a := range chain {
		dated[i] = a.TakenAt
		if digests[i], err = a.Digest(); err != nil {
			return nil, nil, err
		}
	}
	return digests, dated, nil
}
