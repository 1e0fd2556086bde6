package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
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
	g := c.grow()
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
			c.problem(rule.LogRemembered, tlog.Path("checkpoint"), ProblemRewritten, contradicted.Error())
			return nil
		}
		before = &old
		g.roots[old.Size] = attest.MerkleRoot(nil)
	}
	for _, o := range c.feed {
		if err := c.closed.Add(o); err != nil {
			c.problem(rule.LotTwice, "observations/"+o.File(), attest.ProblemAdded, err.Error())
		}
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
		c.problem(rule.CheckpointTree, tlog.Path("checkpoint"), attest.ProblemChanged,
			fmt.Sprintf("it is of %d leaves with root %s; the record gives %d with %s", head.Size, head.Root, g.t.Size,
				root))
	}
	if len(c.rounds) > 0 && c.rounds[0].Origin != head.Origin {
		c.problem(rule.CheckpointTree, tlog.Path("checkpoint"), attest.ProblemChanged,
			fmt.Sprintf("of %s, while the rounds are of %s", head.Origin, c.rounds[0].Origin))
	}
	needed := map[int64]bool{head.Size: true}
	for _, r := range c.rounds {
		needed[r.LeavesEnd()] = true
	}
	for size := range needed {
		if heads[size] == "" {
			c.problem(rule.FileMissing, tlog.Path(fmt.Sprintf("checkpoints/%d", size)), attest.ProblemMissing, "")
		}
	}
	for size, name := range heads {
		old, ok := c.checkpoint(name)
		if !ok {
			continue
		}
		if old.Size != size || old.Origin != head.Origin || size > head.Size || old.Root != g.roots[size] {
			c.problem(rule.CheckpointTree, name, attest.ProblemChanged, "the log had another root at that size")
			continue
		}
		c.cosignatures(old)
	}
	if before != nil {
		c.remember(*before, head, g.roots[before.Size])
	}
	return nil
}

// leaves adds every leaf that rounds and observations give, in the order of the log, and checks the
// rows on the way.
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
	hosts := hostIndex{root: attest.MerkleRoot(nil)}
	for _, round := range c.rounds {
		if err := observeUntil(round.FirstLeaf); err != nil {
			return err
		}
		if g.t.Size != round.FirstLeaf {
			c.problem(rule.RoundPlace, record.HeaderPath(round.Sequence), attest.ProblemChanged,
				fmt.Sprintf("its rows begin at leaf %d; rounds and observations before it give %d leaves, so that "+
					"observations are missing", round.FirstLeaf, g.t.Size))
			return nil
		}
		if err := c.round(ctx, round, observed, part, grown{g, &hosts}); err != nil || len(c.out.Problems) > 0 {
			return err
		}
	}
	return observeUntil(1 << 62)
}

// hostIndex is what a host index was found to be.
type hostIndex struct {
	size int64
	root attest.Digest
}

// grown is what the rounds before have grown: the log, and the host index of the newest.
type grown struct {
	log   *grower
	hosts *hostIndex
}

// round takes one round's parts from next, checks how they follow one another, and adds its leaves.
// The log has so many observations before it. hosts is the host index of the round before, and
// becomes that of this one: its files must be what that and the rows give, as must be what each row
// says of the one before it.
func (c *checker) round(ctx context.Context, round record.Round, observed int, next func() (checkedPart, bool),
	so grown) error {
	if _, ok := c.ring.ByKID(round.KID); !ok {
		return fmt.Errorf("checking round %d: %w", round.Sequence, attest.ErrUnknownKey)
	}
	before := record.HostEntries(c.fsys, round.Sequence-1, so.hosts.size, so.hosts.root)
	index := record.NewHostIndex(round.Sequence, before, func(name string, data []byte) error {
		c.same(rule.IndexFold, record.HostsPath(round.Sequence, name), data)
		return nil
	})
	defer index.Close()
	last := ""
	var probed int64
	lot := lotCheck{roster: record.NewRosterHash(round.Week)}
	for range round.Parts {
		part, _ := next()
		name := record.PartPath(round.Sequence, part.number)
		c.files[name] = part.err == nil || c.files[name]
		if part.err == nil && part.first <= last {
			part.err = rule.RowSorted.Errorf("%q does not sort after %q", part.first, last)
		}
		if part.err != nil {
			broken, kind := rule.Or(part.err, rule.FileSize), attest.ProblemChanged
			if part.missing {
				broken, kind = rule.FileMissing, attest.ProblemMissing
			}
			c.problem(broken, name, kind, part.err.Error())
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
			c.problem(p.Rule, p.Path, p.Kind, p.Detail)
		}
		c.progress(int64(len(part.rows)))
		for _, row := range part.rows {
			if row.corrected != nil {
				c.corrected[so.log.t.Size] = *row.corrected
			}
			before, err := index.Row(row.host, so.log.t.Size, row.sum)
			if err != nil {
				return err
			}
			if before.Rows == 0 {
				before.LastLeaf = -1
			}
			if row.previous != before.LastLeaf {
				detail := fmt.Sprintf("%s names leaf %d before it, which is %d", row.host, row.previous,
					before.LastLeaf)
				c.problem(rule.RowPrevious, name, attest.ProblemChanged, detail)
				return nil
			}
			if err := so.log.add(row.raw, row.leaf); err != nil {
				return err
			}
		}
	}
	c.out.Rows += round.Rows
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := round.Counted(probed, roundBefore(c.rounds, round.Sequence)); err != nil {
		c.problem(rule.RoundCoverage, record.HeaderPath(round.Sequence), attest.ProblemChanged, err.Error())
	}
	c.lot(round, observed, &lot)
	var err error
	if so.hosts.size, so.hosts.root, err = index.Finish(); err != nil {
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
	second, err := record.EncodeHostsLeaf(round.Sequence, so.hosts.size, so.hosts.root)
	if err != nil {
		return err
	}
	for _, leaf := range [][]byte{first, second} {
		if err := so.log.add(leaf, attest.LeafHash(leaf)); err != nil {
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
	number      int
	rows        []checkedRow
	first, last string
	probed      int64
	roster      []string // hosts that were on the roster when it was closed
	turns       lotCheck // of these hosts
	evidence    *evidenceCheck
	missing     bool
	err         error
}

// checkedRow is a row as the log and the host index take it.
type checkedRow struct {
	raw       []byte
	host      string
	previous  int64         // leaf of the host's row before it, as it says itself; -1 for none
	leaf, sum attest.Digest // its hash as a leaf, and that of its bytes
	corrected *record.Row   // what an erratum of it needs, nil without one
}

// parts verifies the parts of all rounds on all cores and yields them in order. Two more are under
// way than there are cores, so that none of these waits for a part that is slower or for whoever
// takes the parts; a part takes some 5 MB.
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
	raw, err := fs.ReadFile(c.fsys, record.PartPath(round.Sequence, i))
	if err != nil {
		out.missing, out.err = errors.Is(err, fs.ErrNotExist), err
		return out
	}
	rows, err := record.SplitPart(raw, round.Parts[i])
	if err != nil {
		out.err = err
		return out
	}
	out.rows = make([]checkedRow, 0, len(rows))
	var seed [32]byte
	if round.Lot != nil {
		seed = round.Lot.Seed()
	}
	out.evidence = openEvidence(c.fsys, round.Sequence, i, c.o.Judge, c.withdrawn)
	for n, raw := range rows {
		row, err := round.OpenRow(raw, c.ring)
		if err == nil && row.Host <= out.last {
			err = rule.RowSorted.Errorf("%q does not sort after %q", row.Host, out.last)
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
		// What is kept of a row is not to hold all that was parsed of it.
		kept := checkedRow{raw: raw, host: strings.Clone(row.Host), previous: -1}
		kept.leaf, kept.sum = attest.LeafHash(raw), sha256.Sum256(raw)
		if row.PreviousLeaf != nil {
			kept.previous = *row.PreviousLeaf
		}
		if c.errataOf[round.FirstLeaf+int64(i)*record.MaxPartRows+int64(n)] {
			kept.corrected = &record.Row{Host: kept.host, Week: round.Week, Verdict: strings.Clone(row.Verdict),
				URL: strings.Clone(row.URL), Battery: strings.Clone(row.Battery), Failed: slices.Clone(row.Failed),
				EvidenceDigest: strings.Clone(row.EvidenceDigest), Vantages: slices.Clone(row.Vantages)}
		}
		out.rows = append(out.rows, kept)
	}
	out.evidence.end()
	out.evidence.raw = nil
	return out
}

// roundBefore is the round before one, nil for the first.
func roundBefore(rounds []record.Round, sequence int64) *record.Round {
	if sequence < 2 {
		return nil
	}
	return &rounds[sequence-2]
}
