package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// ProblemRewritten is the kind of problem of a log that does not go on from a head that was seen,
// or at which its key changed hands.
const ProblemRewritten = "rewritten"

// checkpoint reads one of the log's own checkpoints.
func (c *checker) checkpoint(name string) (tlog.Checkpoint, bool) {
	raw, ok := c.read(name)
	if !ok {
		return tlog.Checkpoint{}, false
	}
	head, others, err := tlog.OpenCheckpoint(raw, c.ring)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("opening checkpoint: lines that are not the log's")
	}
	if err != nil {
		c.problem(rule.Or(err, rule.CheckpointForm), name, attest.ProblemChanged, err.Error())
	}
	return head, err == nil
}

// known takes down the witnesses that the caller knows, each once, those of the policy behind the
// others.
func (c *checker) known() {
	c.o.Witnesses = slices.Clone(c.o.Witnesses)
	if c.o.Policy != nil {
		for _, w := range c.o.Policy.Witnesses {
			same := func(o tlog.Witness) bool { return o.Key() == w.Key() }
			if !slices.ContainsFunc(c.o.Witnesses, same) {
				c.o.Witnesses = append(c.o.Witnesses, w.Witness)
			}
		}
	}
	for _, w := range c.o.Witnesses {
		c.out.Cosigned = append(c.out.Cosigned, CosignedReport{Witness: w.Name})
	}
}

// quorum holds the head of the log against the policy. Which witnesses cosigned it was found with
// all other checkpoints.
func (c *checker) quorum() {
	p, head := c.o.Policy, c.out.head
	if p == nil {
		return
	}
	if head.Raw == nil {
		c.out.Unproven = append(c.out.Unproven, "anything by the policy: its log has not begun")
		return
	}
	if err := OfPolicy(*p, head); err != nil {
		c.problem(rule.Or(err, rule.CheckpointKey), tlog.Path("checkpoint"), attest.ProblemChanged, err.Error())
		return
	}
	met, lacking := p.Met(func(w tlog.Witness) bool {
		i := slices.IndexFunc(c.o.Witnesses, func(o tlog.Witness) bool { return o.Key() == w.Key() })
		return c.out.Cosigned[i].Checkpoints > 0 && c.out.Cosigned[i].Size == head.Size
	})
	c.out.Quorum = &QuorumReport{Name: p.Quorum, Met: met, Lacking: lacking}
	if !met {
		c.out.Unproven = append(c.out.Unproven, c.out.Quorum.Unproven(head.Size))
	}
}

// OfPolicy demands that one of the logs of a policy, where it names any, signed a head.
func OfPolicy(p tlog.Policy, head tlog.Checkpoint) error {
	if len(p.Logs) == 0 {
		return nil
	}
	_, _, err := p.OpenCheckpoint(head.Raw)
	return err
}

// Unproven says what a quorum that is not met by a head of so many leaves leaves open.
func (q QuorumReport) Unproven(leaves int64) string {
	return fmt.Sprintf("that its head of %d leaves was seen by the quorum %s of the policy: it is not cosigned by %s",
		leaves, q.Name, strings.Join(q.Lacking, ", "))
}

// Quorum counts the cosignatures of a checkpoint, by their lines, as a policy demands.
func Quorum(p tlog.Policy, c tlog.Checkpoint, lines []byte) (*QuorumReport, error) {
	signed := make(map[string]bool)
	for _, w := range p.Witnesses {
		by, err := tlog.Cosignatures(c, lines, []tlog.Witness{w.Witness})
		if err != nil {
			return nil, err
		}
		signed[w.Key()] = len(by) > 0
	}
	met, lacking := p.Met(func(w tlog.Witness) bool { return signed[w.Key()] })
	return &QuorumReport{Name: p.Quorum, Met: met, Lacking: lacking}, nil
}

// cosignatures reads what third parties signed, and checks what the witnesses that the caller knows
// did.
func (c *checker) cosignatures(head tlog.Checkpoint) {
	name := tlog.Path(fmt.Sprintf("cosignatures/%d", head.Size))
	if _, there := c.files[name]; !there {
		return
	}
	raw, ok := c.read(name)
	if !ok {
		return
	}
	if err := tlog.CheckCosignatures(raw); err != nil {
		c.problem(rule.CosignatureForm, name, attest.ProblemChanged, err.Error())
		return
	}
	for i, w := range c.o.Witnesses {
		signed, err := tlog.Cosignatures(head, raw, []tlog.Witness{w})
		if err != nil {
			c.problem(rule.CosignatureForm, name, attest.ProblemChanged, err.Error())
			return
		}
		for _, s := range signed {
			out := &c.out.Cosigned[i]
			if out.Checkpoints++; head.Size > out.Size {
				out.Size, out.At = head.Size, s.At
			}
			if !s.At.IsZero() {
				c.ahead(head.Size, s.At, "the cosignature of "+w.Name)
			}
		}
	}
}

// OpenRemembered opens a checkpoint that a verifier of this log keeps. The second error is there
// for one that the ring contradicts: it was good when it was kept, so that the log was rewritten or
// is another, or its keys were.
func OpenRemembered(raw []byte, ring attest.Ring) (c tlog.Checkpoint, contradicted, err error) {
	c, _, err = tlog.OpenCheckpoint(raw, ring)
	switch {
	case errors.Is(err, attest.ErrNotInForce), errors.Is(err, attest.ErrUnknownKey):
		return c, fmt.Errorf("the checkpoint that was seen before is not of this log: %w", err), nil
	case err != nil:
		return c, nil, fmt.Errorf("reading the remembered checkpoint: %w", err)
	}
	return c, nil, nil
}

// handedOver demands that the log goes on from every head at which its key changed hands. Whoever
// holds a key that was given up can sign a smaller log of his own making: a record that ends before
// such a head, and does not tell of it, cannot show that it is the beginning of that one.
func (c *checker) handedOver(g *grower) {
	own := c.own.LogHandovers()
	for _, at := range c.ring.LogHandovers() {
		switch root := g.roots[at.Size]; {
		case at.Size > g.t.Size && slices.Contains(own, at):
			c.problem(rule.LogHandover, tlog.Path("checkpoint"), attest.ProblemMissing,
				fmt.Sprintf("its key was handed over at %d leaves, and the record gives %d", at.Size, g.t.Size))
		case at.Size > g.t.Size:
			c.out.Unproven = append(c.out.Unproven,
				fmt.Sprintf("that its log is the beginning of the one whose key was handed over at %d leaves, as "+
					"this record ends at %d and knows nothing of it: get a newer copy, or check it with the keys of "+
					"its time", at.Size, g.t.Size))
		case root != at.Root:
			c.problem(rule.LogHandover, tlog.Path("checkpoint"), ProblemRewritten,
				fmt.Sprintf("its key was handed over at %d leaves with root %s, and the record gives %s there",
					at.Size, at.Root, root))
		}
	}
}

// remember refuses a log that does not go on from one that was seen.
func (c *checker) remember(old, head tlog.Checkpoint, root attest.Digest) {
	name := tlog.Path("checkpoint")
	switch {
	case old.Origin != head.Origin:
		c.problem(rule.LogRemembered, name, ProblemRewritten,
			fmt.Sprintf("it is of %s; the remembered one is of %s", head.Origin, old.Origin))
	case old.Size > head.Size:
		c.out.Unproven = append(c.out.Unproven, fmt.Sprintf("that its log is the beginning of the one that was "+
			"seen: it "+
			"has %d leaves, and %d were seen, so that this is an older copy, or what came behind was taken "+
			"back: get a "+
			"newer one", head.Size, old.Size))
	case old.Root != root:
		c.out.Forked = true
		c.problem(rule.LogRemembered, name, ProblemRewritten,
			fmt.Sprintf("at %d leaves its root is %s; %s was seen, signed by the same log", old.Size, root, old.Root))
	default:
		c.out.Remembered = old.Size
	}
}
