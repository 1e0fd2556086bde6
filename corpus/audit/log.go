package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"agentstore/corpus/attest"
	"agentstore/corpus/record"
	"agentstore/corpus/tlog"
)

// log rebuilds the log from rounds and observations and compares it with every file of the log.
func (c *checker) log(ctx context.Context, remembered []byte) error {
	heads := make(map[int64]string) // size → the file of its checkpoint
	for name := range c.files {
		if size, ok := strings.CutPrefix(name, "log/checkpoints/"); ok {
			n, err := strconv.ParseInt(size, 10, 64)
			if err != nil || strconv.FormatInt(n, 10) != size {
				continue // nothing asks for it
			}
			heads[n] = name
		}
	}
	g := c.grow("log", true)
	for size := range heads {
		g.roots[size] = attest.MerkleRoot(nil)
	}
	for _, at := range c.ring.LogHandovers() {
		g.roots[at.Size] = attest.MerkleRoot(nil)
	}
	var before *tlog.Checkpoint
	if len(remembered) > 0 {
		old, contradicted, err := OpenRemembered(remembered, c.ring)
		if err != nil {
			return err
		}
		if contradicted != nil {
			c.problem(tlog.Path("checkpoint"), ProblemRewritten, contradicted.Error())
			return nil
		}
		before = &old
		g.roots[old.Size] = attest.MerkleRoot(nil)
	}
	if err := c.closedIn(c.observed); err != nil {
		return err
	}
	if err := c.leaves(ctx, g); err != nil || len(c.out.Problems) > 0 {
		return err
	}
	root, err := g.finish()
	if err != nil {
		return err
	}
	c.handedOver(g)
	if len(c.rounds) == 0 && len(c.observed) == 0 {
		return nil // a record that has not begun
	}
	head, ok := c.checkpoint(tlog.Path("checkpoint"))
	if !ok {
		return nil
	}
	c.out.Origin, c.out.Leaves, c.out.Root, c.out.head = head.Origin, head.Size, head.Root, head
	if head.Size != g.t.Size || head.Root != root {
		c.problem(tlog.Path("checkpoint"), attest.ProblemChanged, fmt.Sprintf("it is of %d leaves with root %s; the record gives %d with %s", head.Size, head.Root, g.t.Size, root))
	}
	if len(c.rounds) > 0 && c.rounds[0].Origin != head.Origin {
		c.problem(tlog.Path("checkpoint"), attest.ProblemChanged, fmt.Sprintf("of %s, while the rounds are of %s", head.Origin, c.rounds[0].Origin))
	}
	needed := map[int64]bool{head.Size: true}
	for _, r := range c.rounds {
		needed[r.LeavesEnd()] = true
	}
	for size := range needed {
		if heads[size] == "" {
			c.problem(tlog.Path(fmt.Sprintf("checkpoints/%d", size)), attest.ProblemMissing, "")
		}
	}
	for size, name := range heads {
		old, ok := c.checkpoint(name)
		if !ok {
			continue
		}
		if old.Size != size || old.Origin != head.Origin || size > head.Size || old.Root != g.roots[size] {
			c.problem(name, attest.ProblemChanged, "the log had another root at that size")
			continue
		}
		c.cosignatures(old)
	}
	if before != nil {
		c.remember(*before, head, g.roots[before.Size])
	}
	return nil
}

// leaves adds every leaf that rounds and observations give, in the order of the log, and checks the rows on the way.
func (c *checker) leaves(ctx context.Context, g *grower) error {
	observed := 0
	observeUntil := func(leaf int64) error {
		for g.t.Size < leaf && observed < len(c.observed) {
			raw := c.observed[observed]
			if err := g.add(raw, attest.LeafHash(raw)); err != nil {
				return err
			}
			observed++
		}
		return nil
	}
	part, stop := iter.Pull(c.parts(ctx))
	defer stop()
	for _, round := range c.rounds {
		if err := observeUntil(round.FirstLeaf); err != nil {
			return err
		}
		if g.t.Size != round.FirstLeaf {
			c.problem(record.HeaderPath(round.Sequence), attest.ProblemChanged,
				fmt.Sprintf("its rows begin at leaf %d; rounds and observations before it give %d leaves, so that observations are missing", round.FirstLeaf, g.t.Size))
			return nil
		}
		if err := c.round(ctx, round, observed, part, g); err != nil || len(c.out.Problems) > 0 {
			return err
		}
	}
	return observeUntil(1 << 62)
}

// round takes one round's parts from next, checks how they follow one another, and adds its leaves. The log has so many
// observations before it.
func (c *checker) round(ctx context.Context, round record.Round, observed int, next func() (checkedPart, bool), g *grower) error {
	if _, ok := c.ring.ByKID(round.KID); !ok {
		return fmt.Errorf("checking round %d: %w", round.Sequence, attest.ErrUnknownKey)
	}
	index := c.grow(record.HostsPath(round.Sequence, ""), false)
	last := ""
	var probed int64
	lot := lotCheck{roster: record.NewRosterHash(round.Week)}
	for range round.Parts {
		part, _ := next()
		name := record.PartPath(round.Sequence, part.number)
		c.files[name] = part.err == nil || c.files[name]
		if part.err == nil && part.first <= last {
			part.err = fmt.Errorf("%q does not sort after %q", part.first, last)
		}
		if part.err != nil {
			kind := attest.ProblemChanged
			if part.missing {
				kind = attest.ProblemMissing
			}
			c.problem(name, kind, part.err.Error())
			return ctx.Err()
		}
		last = part.last
		probed += part.probed
		for _, host := range part.roster {
			if err := lot.roster.Add(host); err != nil {
				return err
			}
		}
		lot.join(part.turns)
		for _, f := range part.evidence.files {
			c.files[f] = true
		}
		c.out.Verdicts.add(part.evidence.out)
		if p := part.evidence.problem; p != nil {
			c.problem(p.Path, p.Kind, p.Detail)
		}
		c.progress(int64(len(part.rows)))
		for i, raw := range part.rows {
			if err := g.add(raw, part.leaves[i]); err != nil {
				return err
			}
			if err := index.add(nil, part.entries[i]); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	counted := round
	counted.Coverage.Probed = probed
	counted.Count(before(c.rounds, round.Sequence))
	if counted.Coverage != round.Coverage || counted.Roster.Walked != round.Roster.Walked {
		c.problem(record.HeaderPath(round.Sequence), attest.ProblemChanged, "its coverage is not that of its rows")
	}
	c.lot(round, observed, &lot)
	root, err := index.finish()
	if err != nil {
		return err
	}
	header, err := fs.ReadFile(c.fsys, record.HeaderPath(round.Sequence))
	if err != nil {
		return err
	}
	first, err := record.EncodeRoundLeaf(round, header)
	if err != nil {
		return err
	}
	second, err := record.EncodeHostsLeaf(round.Sequence, root)
	if err != nil {
		return err
	}
	for _, leaf := range [][]byte{first, second} {
		if err := g.add(leaf, attest.LeafHash(leaf)); err != nil {
			return err
		}
	}
	return nil
}

// progress counts rows that were checked.
func (c *checker) progress(rows int64) {
	c.checked += rows
	if c.o.Progress == nil {
		return
	}
	var all int64
	for _, r := range c.rounds {
		all += r.Rows
	}
	c.o.Progress(c.checked, all)
}

// checkedPart is one part whose rows were verified, each by itself.
type checkedPart struct {
	number          int
	rows            [][]byte
	leaves, entries []attest.Digest
	first, last     string
	probed          int64
	roster          []string // hosts that were on the roster when it was closed
	turns           lotCheck // of these hosts
	evidence        *evidenceCheck
	missing         bool
	err             error
}

// parts verifies the parts of all rounds on all cores and yields them in order. Two more are under way than there are
// cores, so that none of these waits for a part that is slower or for whoever takes the parts; a part takes some 5 MB.
func (c *checker) parts(ctx context.Context) iter.Seq[checkedPart] {
	type place struct {
		round *record.Round
		part  int
	}
	return func(yield func(checkedPart) bool) {
		var places []place
		for n := range c.rounds {
			for i := range c.rounds[n].Parts {
				places = append(places, place{&c.rounds[n], i})
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		var working sync.WaitGroup
		defer working.Wait()
		defer cancel()
		slots := make([]chan checkedPart, runtime.GOMAXPROCS(0)+2)
		start := func(i int) {
			if i < len(places) {
				working.Go(func() { slots[i%len(slots)] <- c.part(ctx, *places[i].round, places[i].part) })
			}
		}
		for i := range slots {
			slots[i] = make(chan checkedPart, 1)
			start(i)
		}
		for i := range places {
			p := <-slots[i%len(slots)]
			start(i + len(slots))
			if !yield(p) {
				return // the channels are buffered: nobody waits to send
			}
		}
	}
}

func (c *checker) part(ctx context.Context, round record.Round, i int) (out checkedPart) {
	out.number = i
	signer, ok := c.ring.ByKID(round.KID)
	if !ok {
		out.err = attest.ErrUnknownKey
		return out
	}
	raw, err := fs.ReadFile(c.fsys, record.PartPath(round.Sequence, i))
	if err != nil {
		out.missing, out.err = errors.Is(err, fs.ErrNotExist), err
		return out
	}
	if out.rows, out.err = record.SplitPart(raw, round.Parts[i]); out.err != nil {
		return out
	}
	position := int64(i) * record.MaxPartRows
	var seed [32]byte
	if round.Lot != nil {
		seed = round.Lot.Seed()
	}
	out.evidence = openEvidence(c.fsys, round.Sequence, i, !c.o.Unjudged, c.withdrawn)
	for n, raw := range out.rows {
		row, err := record.VerifyRow(raw, ed25519.PublicKey(signer.Public))
		if err == nil {
			err = round.Belongs(&row)
		}
		if err == nil && row.Host <= out.last {
			err = fmt.Errorf("%q does not sort after %q", row.Host, out.last)
		}
		var entry attest.Digest
		if err == nil {
			entry, err = round.HostEntry(position+int64(n), row.Host, raw).Hash()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			out.err = err
			return out
		}
		if n == 0 {
			out.first = row.Host
		}
		out.last = row.Host
		if row.Verdict != record.VerdictNotProbed {
			out.probed++
		}
		if round.Lot != nil && !row.Late {
			out.roster = append(out.roster, row.Host)
			out.turns.add(seed, row)
		}
		out.evidence.row(row, raw)
		out.leaves = append(out.leaves, attest.LeafHash(raw))
		out.entries = append(out.entries, entry)
	}
	out.evidence.end()
	out.evidence.raw = nil
	return out
}

// previousLeaves demands that every row names its host's row before it.
func (c *checker) previousLeaves(ctx context.Context) error {
	for _, round := range c.rounds {
		c.out.Rows += round.Rows
	}
	name, detail, err := record.PreviousLeaves(ctx, c.fsys, c.rounds)
	if name != "" {
		c.problem(name, attest.ProblemChanged, detail)
	}
	return err
}

// before is the round before one, nil for the first.
func before(rounds []record.Round, sequence int64) *record.Round {
	if sequence < 2 {
		return nil
	}
	return &rounds[sequence-2]
}
