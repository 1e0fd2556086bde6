package verify

import (
	"bytes"
	"cmp"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
)

// BundleFormat names the format of a Bundle.
const BundleFormat = "store-bundle/v1"

// The bounds of a bundle.
const (
	MaxBundle    = 64 << 20 // bytes
	MaxItems     = 100_000  // rounds, rows or hosts
	MaxArtifacts = 1000
	MaxHandovers = 1000
)

// ErrBundle is returned for bytes that are no bundle, or not as bundles are written, or not
// those that were written.
var ErrBundle = errors.New("not a bundle as it was written")

// Bundle is a self-contained file of evidence. What it says is for Verify to tell.
type Bundle struct {
	Format     string             `json:"format"` // Format
	Keys       string             `json:"keys"`   // file form of the key ring
	Checkpoint string             `json:"checkpoint"`
	Handovers  []BundleHandover   `json:"handovers"`
	Rounds     []BundleRound      `json:"rounds"`
	After      []BundleLeaf       `json:"after"`
	Rows       []BundleRow        `json:"rows"`
	Errata     []BundleLeaf       `json:"errata,omitempty"` // of the rows, one of each at most, in their order
	Hosts      []record.HostProof `json:"hosts"`            // in the newest of the rounds
	Artifacts  []attest.Proof     `json:"artifacts"`
	SHA256     attest.Digest      `json:"sha256,omitzero"`
}

// BundleHandover shows that the log goes on from the head at which its key changed hands.
type BundleHandover struct {
	Size        int64           `json:"size"` // as in the ring
	Consistency []attest.Digest `json:"consistency"`
}

// BundleLeaf is an observation and its place in the log, under the checkpoint of the bundle.
type BundleLeaf struct {
	Leaf  string `json:"leaf"`
	Proof string `json:"proof"`
}

// BundleRound is the header of a round and its place in the log.
type BundleRound struct {
	Header      string          `json:"header"`
	Proof       string          `json:"proof"`
	Consistency []attest.Digest `json:"consistency"`
	Time        *BundleTime     `json:"time,omitzero"`
}

// BundleTime shows when a round existed.
type BundleTime struct {
	Proof  []byte        `json:"proof"`  // a detached OpenTimestamps file
	Blocks []BundleBlock `json:"blocks"` // by height
}

// BundleBlock is the header of a Bitcoin block.
type BundleBlock struct {
	Height int64  `json:"height"`
	Header string `json:"header"` // 160 hexadecimal digits
}

// BundleRow is a row, its place in the log and what it was judged by.
type BundleRow struct {
	Row       string `json:"row"`
	Proof     string `json:"proof"`
	Judgement string `json:"judgement,omitzero"`
}

// Want names what is to be exported: all that the record says of a host, or, with a Sequence, of a
// host in one round.
type Want struct {
	Host     string
	Sequence int64
}

// Export takes from a record what is wanted. keys is the file form of the ring that the record is
// signed with. It ends with the newest round that is wanted, and of each host says what that
// round's index does.
func Export(r *record.Record, keys []byte, wants []Want) (Bundle, error) {
	b := Bundle{Format: BundleFormat, Keys: string(keys), Handovers: []BundleHandover{}, Rounds: []BundleRound{},
		After: []BundleLeaf{},
		Rows:  []BundleRow{}, Hosts: []record.HostProof{}, Artifacts: []attest.Proof{}}
	all := r.Rounds()
	leaves := make(map[Want]int64) // of the rows
	rounds, hosts := make(map[int64]bool), make(map[string]bool)
	for _, w := range wants {
		if w.Sequence < 0 || w.Sequence > int64(len(all)) || w.Host == "" {
			return b, fmt.Errorf("exporting %q in round %d: the record has %d rounds", w.Host, w.Sequence, len(all))
		}
		if len(leaves)+len(all) > MaxItems {
			return b, fmt.Errorf("exporting %s: a bundle holds at most %d rows", w.Host, MaxItems)
		}
		if len(all) == 0 {
			continue
		}
		hosts[w.Host], rounds[cmp.Or(w.Sequence, int64(len(all)))] = true, true
		if err := follow(r, w, leaves); err != nil {
			return b, fmt.Errorf("exporting %s: %w", w.Host, err)
		}
	}
	if len(rounds) == 0 {
		return b, nil
	}
	for at := range leaves {
		rounds[at.Sequence] = true
	}
	head := r.Log.Head()
	b.Checkpoint = string(head.Raw)
	for _, at := range r.Ring().LogHandovers() {
		if at.Size == head.Size {
			continue // the root is the checkpoint's own
		}
		proof, err := r.Log.Consistency(at.Size, head.Size)
		if err != nil {
			return b, fmt.Errorf("exporting the handover at %d leaves: %w", at.Size, err)
		}
		b.Handovers = append(b.Handovers, BundleHandover{Size: at.Size, Consistency: proof})
	}
	var newest record.Round
	for _, n := range slices.Sorted(maps.Keys(rounds)) {
		newest = all[n-1]
		round, err := exportRound(r, newest)
		if err != nil {
			return b, fmt.Errorf("exporting round %d: %w", n, err)
		}
		b.Rounds = append(b.Rounds, round)
	}
	if newest.Sequence == int64(len(all)) {
		if err := b.exportAfter(r, newest); err != nil {
			return b, fmt.Errorf("exporting what stands behind round %d: %w", newest.Sequence, err)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		p, err := r.ProveHost(newest.Sequence, host)
		if err != nil {
			return b, fmt.Errorf("exporting %s: %w", host, err)
		}
		b.Hosts = append(b.Hosts, p)
	}
	order := func(a, b Want) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Sequence, b.Sequence)) }
	feed, err := r.Observations()
	if err != nil {
		return b, err
	}
	errata := record.ErrataOf(feed)
	for _, at := range slices.SortedFunc(maps.Keys(leaves), order) {
		err := b.exportRow(r, all[at.Sequence-1], at.Host, leaves[at])
		if o, ok := errata[leaves[at]]; ok && err == nil {
			err = b.exportErratum(r, o.Number)
		}
		if err != nil {
			return b, fmt.Errorf("exporting %s in round %d: %w", at.Host, at.Sequence, err)
		}
	}
	return b, nil
}

// exportErratum adds an erratum that the log holds.
func (b *Bundle) exportErratum(r *record.Record, number int64) error {
	index, ok := r.ObservationLeaf(number)
	if !ok {
		return nil
	}
	l, err := exportLeaf(r, index)
	b.Errata = append(b.Errata, l)
	return err
}

// exportLeaf is an observation at its place, under the head of the log.
func exportLeaf(r *record.Record, index int64) (BundleLeaf, error) {
	raw, err := r.Log.Entry(index)
	if err != nil {
		return BundleLeaf{}, err
	}
	proof, err := r.Log.Prove(index, r.Log.Head().Size, r.Ring())
	return BundleLeaf{Leaf: string(raw), Proof: string(proof.Text())}, err
}

// follow finds the rows of a host that are wanted, from the newest back: each names the one before
// it.
func follow(r *record.Record, w Want, leaves map[Want]int64) error {
	p, err := r.ProveHost(cmp.Or(w.Sequence, int64(len(r.Rounds()))), w.Host)
	if err != nil {
		return err
	}
	entry, seen := p.Entry()
	if !seen {
		return nil
	}
	for leaf := &entry.LastLeaf; leaf != nil; {
		raw, err := r.Log.Entry(*leaf)
		if err != nil {
			return err
		}
		row, err := record.ParseRow(raw)
		if err != nil {
			return err
		}
		if w.Sequence > 0 && row.Sequence != w.Sequence {
			return nil // it has none in that round
		}
		leaves[Want{row.Host, row.Sequence}] = *leaf
		if leaf = row.PreviousLeaf; w.Sequence > 0 {
			return nil
		}
	}
	return nil
}

// exportAfter adds what shows that no round stands behind the newest one: the observations from
// there to the head are numbered without a gap, so that the first and the last of them tell that
// nothing else is between.
func (b *Bundle) exportAfter(r *record.Record, last record.Round) error {
	first, size := last.LeavesEnd(), r.Log.Head().Size
	if first == size {
		return nil
	}
	for _, index := range slices.Compact([]int64{first, size - 1}) {
		l, err := exportLeaf(r, index)
		if err != nil {
			return err
		}
		b.After = append(b.After, l)
	}
	return nil
}

func exportRound(r *record.Record, round record.Round) (BundleRound, error) {
	header, err := r.Header(round.Sequence)
	if err != nil {
		return BundleRound{}, err
	}
	proof, err := r.Log.Prove(round.RoundLeaf(), round.LeavesEnd(), r.Ring())
	if err != nil {
		return BundleRound{}, err
	}
	out := BundleRound{Header: string(header), Proof: string(proof.Text())}
	if out.Consistency, err = r.Log.Consistency(round.LeavesEnd(), r.Log.Head().Size); err != nil {
		return BundleRound{}, err
	}
	stamped, ok, err := r.Proof(round.Sequence, 0)
	if err != nil || !ok {
		return out, err
	}
	out.Time = &BundleTime{Proof: stamped.Merged.Encode(), Blocks: []BundleBlock{}}
	named := claimed(stamped.Merged)
	for _, height := range slices.Sorted(maps.Keys(stamped.Headers)) {
		if h := stamped.Headers[height]; named[height] {
			out.Time.Blocks = append(out.Time.Blocks, BundleBlock{Height: height,
				Header: string(bytes.TrimSpace(h.File()))})
		}
	}
	return out, nil
}

// claimed are the heights of the blocks that a proof rests on.
func claimed(p ots.Proof) map[int64]bool {
	out := make(map[int64]bool)
	for _, c := range p.Claims() {
		if c.Kind == ots.Bitcoin {
			out[c.Height] = true
		}
	}
	return out
}

func (b *Bundle) exportRow(r *record.Record, round record.Round, host string, leaf int64) error {
	raw, err := r.Log.Entry(leaf)
	if err != nil {
		return err
	}
	proof, err := r.Log.Prove(leaf, round.LeavesEnd(), r.Ring())
	if err != nil {
		return err
	}
	judgement, err := r.RawEvidence(round.Sequence, host)
	b.Rows = append(b.Rows, BundleRow{Row: string(raw), Proof: string(proof.Text()), Judgement: string(judgement)})
	return err
}

// AddArtifact adds a signed artifact: a certificate, a report or another thing with the members of
// an attest.Proof, such as the answer of a verify address. What stands beside these members is not
// signed and is left out.
func (b *Bundle) AddArtifact(raw []byte) error {
	var p attest.Proof
	if len(raw) > MaxBundle {
		return errors.New("reading artifact: too large")
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("reading artifact: %w", err)
	}
	if p.SignedPayload == "" {
		return errors.New("reading artifact: it holds no signed_payload")
	}
	b.Artifacts = append(b.Artifacts, p)
	return nil
}

// Encode returns the file form.
func (b Bundle) Encode() ([]byte, error) {
	b.SHA256 = attest.Digest{}
	out, err := attest.Closed(b)
	if err == nil && len(out) > MaxBundle {
		err = fmt.Errorf("%d bytes, and at most %d are read", len(out), MaxBundle)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding bundle: %w", err)
	}
	return out, nil
}

// ParseBundle reads what Encode wrote. It checks the form and the digest, not what the bundle says.
func ParseBundle(raw []byte) (Bundle, error) {
	var b Bundle
	if err := attest.ParseClosed(raw, MaxBundle, &b); err != nil {
		return b, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	if b.Format != BundleFormat {
		return b, fmt.Errorf("%w: format is %.40q, want %q", ErrBundle, b.Format, BundleFormat)
	}
	if max(len(b.Rounds), len(b.Rows), len(b.Hosts), len(b.Errata)) > MaxItems || len(b.Artifacts) > MaxArtifacts ||
		len(b.Handovers) > MaxHandovers || len(b.After) > 2 {
		return b, fmt.Errorf("%w: too much in it", ErrBundle)
	}
	return b, nil
}
