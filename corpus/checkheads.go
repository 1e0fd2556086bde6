package corpus

import (
	"fmt"

	"agentstore/corpus/attest"
)

// checkpoint reads one of the log's own checkpoints.
func (c *checker) checkpoint(name string) (Checkpoint, bool) {
	raw, ok := c.read(name)
	if !ok {
		return Checkpoint{}, false
	}
	head, others, err := OpenCheckpoint(raw, c.ring)
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("opening checkpoint: lines that are not the log's")
	}
	if err != nil {
		c.problem(name, attest.ProblemChanged, err.Error())
	}
	return head, err == nil
}

// cosignatures reads what third parties signed, and checks what the witnesses that the caller knows did.
func (c *checker) cosignatures(head Checkpoint) {
	name := inLog(fmt.Sprintf("cosignatures/%d", head.Size))
	if _, there := c.files[name]; !there {
		return
	}
	raw, ok := c.read(name)
	if !ok {
		return
	}
	if len(raw) > maxNote {
		c.problem(name, attest.ProblemChanged, "too large")
		return
	}
	if _, err := splitNoteLines(string(raw)); err != nil || len(raw) == 0 {
		c.problem(name, attest.ProblemChanged, "not signature lines of a note")
		return
	}
	for i, w := range c.o.Witnesses {
		signed, err := Cosignatures(head, raw, []Witness{w})
		if err != nil {
			c.problem(name, attest.ProblemChanged, err.Error())
			return
		}
		for _, s := range signed {
			out := &c.out.Cosigned[i]
			if out.Checkpoints++; head.Size > out.Size {
				out.Size, out.At = head.Size, s.At
			}
		}
	}
}

// remember refuses a log that does not go on from one that was seen.
func (c *checker) remember(old, head Checkpoint, root attest.Digest) {
	name := inLog("checkpoint")
	switch {
	case old.Origin != head.Origin:
		c.problem(name, "rewritten", fmt.Sprintf("it is of %s; the remembered one is of %s", head.Origin, old.Origin))
	case old.Size > head.Size:
		c.problem(name, "rewritten", fmt.Sprintf("it is of %d leaves; one of %d was seen", head.Size, old.Size))
	case old.Root != root:
		c.problem(name, "rewritten", fmt.Sprintf("at %d leaves its root is %s; %s was seen, signed by the same log", old.Size, root, old.Root))
	default:
		c.out.Remembered = old.Size
	}
}
