package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"agentstore/corpus/attest"
	"agentstore/corpus/ots"
	"agentstore/corpus/record"
)

// Format names the format of a Bundle.
const Format = "store-bundle/v1"

// The bounds of a bundle.
const (
	MaxSize      = 64 << 20 // bytes
	MaxItems     = 100_000  // rounds, rows or hosts
	MaxArtifacts = 1000
	MaxHandovers = 1000
)

// ErrMalformed is returned for bytes that are no bundle, or not as bundles are written, or not those that were written.
var ErrMalformed = errors.New("not a bundle as it was written")

// Bundle is a self-contained file of evidence. What it says is for Verify to tell.
type Bundle struct {
	Format     string             `json:"format"` // Format
	Keys       string             `json:"keys"`   // file form of the key ring
	Checkpoint string             `json:"checkpoint"`
	Handovers  []Handover         `json:"handovers"`
	Rounds     []Round            `json:"rounds"`
	After      []Leaf             `json:"after"`
	Rows       []Row              `json:"rows"`
	Hosts      []record.HostProof `json:"hosts"`
	Artifacts  []attest.Proof     `json:"artifacts"`
	SHA256     attest.Digest      `json:"sha256,omitzero"`
}

// Handover shows that the log goes on from the head at which its key changed hands.
type Handover struct {
	Size        int64           `json:"size"` // as in the ring
	Consistency []attest.Digest `json:"consistency"`
}

// Leaf is an observation and its place in the log, under the checkpoint of the bundle.
type Leaf struct {
	Leaf  string `json:"leaf"`
	Proof string `json:"proof"`
}

// Round is the header of a round and its place in the log.
type Round struct {
	Header      string          `json:"header"`
	Proof       string          `json:"proof"`
	Consistency []attest.Digest `json:"consistency"`
	Time        *Time           `json:"time,omitzero"`
}

// Time shows when a round existed.
type Time struct {
	Proof  []byte  `json:"proof"`  // a detached OpenTimestamps file
	Blocks []Block `json:"blocks"` // by height
}

// Block is the header of a Bitcoin block.
type Block struct {
	Height int64  `json:"height"`
	Header string `json:"header"` // 160 hexadecimal digits
}

// Row is a row, its place in the log and what it was judged by.
type Row struct {
	Row       string `json:"row"`
	Proof     string `json:"proof"`
	Judgement string `json:"judgement,omitzero"`
}

// Want names what is to be exported: all that the record says of a host, or, with a Sequence, of a host in one round.
type Want struct {
	Host     string
	Sequence int64
}

// Export takes from a record what is wanted. keys is the file form of the ring that the record is signed with. Of a host
// that is wanted in all rounds those before its first sighting are left out: its first row says that there is none before.
func Export(r *record.Record, keys []byte, wants []Want) (Bundle, error) {
	b := Bundle{Format: Format, Keys: string(keys), Handovers: []Handover{}, Rounds: []Round{}, After: []Leaf{}, Rows: []Row{}, Hosts: []record.HostProof{}, Artifacts: []attest.Proof{}}
	all := r.Rounds()
	asked := make(map[Want]record.HostProof)
	rounds := make(map[int64]bool)
	for _, w := range wants {
		if w.Sequence < 0 || w.Sequence > int64(len(all)) || w.Host == "" {
			return b, fmt.Errorf("exporting %q in round %d: the record has %d rounds", w.Host, w.Sequence, len(all))
		}
		if len(asked)+len(all) > MaxItems {
			return b, fmt.Errorf("exporting %s: a bundle holds at most %d rows", w.Host, MaxItems)
		}
		proofs, err := shown(r, w)
		if err != nil {
			return b, fmt.Errorf("exporting %s: %w", w.Host, err)
		}
		for _, p := range proofs {
			asked[Want{w.Host, p.Sequence}] = p
			rounds[p.Sequence] = true
		}
	}
	if len(rounds) == 0 {
		return b, nil
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
		b.Handovers = append(b.Handovers, Handover{Size: at.Size, Consistency: proof})
	}
	for _, n := range slices.Sorted(maps.Keys(rounds)) {
		round, err := exportRound(r, all[n-1])
		if err != nil {
			return b, fmt.Errorf("exporting round %d: %w", n, err)
		}
		b.Rounds = append(b.Rounds, round)
	}
	if last := all[len(all)-1]; rounds[last.Sequence] {
		if err := b.exportAfter(r, last); err != nil {
			return b, fmt.Errorf("exporting what stands behind round %d: %w", last.Sequence, err)
		}
	}
	order := func(a, b Want) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Sequence, b.Sequence)) }
	for _, w := range slices.SortedFunc(maps.Keys(asked), order) {
		b.Hosts = append(b.Hosts, asked[w])
		if err := b.exportRow(r, all[w.Sequence-1], asked[w]); err != nil {
			return b, fmt.Errorf("exporting %s in round %d: %w", w.Host, w.Sequence, err)
		}
	}
	return b, nil
}

// shown proves presence or absence of a host in the rounds that are wanted.
func shown(r *record.Record, w Want) ([]record.HostProof, error) {
	if w.Sequence > 0 {
		p, err := r.ProveHost(w.Sequence, w.Host)
		return []record.HostProof{p}, err
	}
	var out []record.HostProof
	seen := false
	for _, round := range r.Rounds() {
		p, err := r.ProveHost(round.Sequence, w.Host)
		if err != nil {
			return nil, err
		}
		if p.Present && !seen {
			seen, out = true, nil
		}
		out = append(out, p)
	}
	return out, nil
}

// exportAfter adds what shows that no round stands behind the newest one: the observations from there to the head are
// numbered without a gap, so that the first and the last of them tell that nothing else is between.
func (b *Bundle) exportAfter(r *record.Record, last record.Round) error {
	first, size := last.LeavesEnd(), r.Log.Head().Size
	if first == size {
		return nil
	}
	for _, index := range slices.Compact([]int64{first, size - 1}) {
		raw, err := r.Log.Entry(index)
		if err != nil {
			return err
		}
		proof, err := r.Log.Prove(index, size, r.Ring())
		if err != nil {
			return err
		}
		b.After = append(b.After, Leaf{Leaf: string(raw), Proof: string(proof.Text())})
	}
	return nil
}

func exportRound(r *record.Record, round record.Round) (Round, error) {
	header, err := r.Header(round.Sequence)
	if err != nil {
		return Round{}, err
	}
	proof, err := r.Log.Prove(round.RoundLeaf(), round.LeavesEnd(), r.Ring())
	if err != nil {
		return Round{}, err
	}
	out := Round{Header: string(header), Proof: string(proof.Text())}
	if out.Consistency, err = r.Log.Consistency(round.LeavesEnd(), r.Log.Head().Size); err != nil {
		return Round{}, err
	}
	stamped, ok, err := r.Proof(round.Sequence, 0)
	if err != nil || !ok {
		return out, err
	}
	out.Time = &Time{Proof: stamped.Merged.Encode(), Blocks: []Block{}}
	named := claimed(stamped.Merged)
	for _, height := range slices.Sorted(maps.Keys(stamped.Headers)) {
		if h := stamped.Headers[height]; named[height] {
			out.Time.Blocks = append(out.Time.Blocks, Block{Height: height, Header: string(bytes.TrimSpace(h.File()))})
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

func (b *Bundle) exportRow(r *record.Record, round record.Round, shown record.HostProof) error {
	if !shown.Present {
		return nil
	}
	leaf := shown.Places[0].Entry.Leaf
	raw, err := r.Log.Entry(leaf)
	if err != nil {
		return err
	}
	proof, err := r.Log.Prove(leaf, round.LeavesEnd(), r.Ring())
	if err != nil {
		return err
	}
	judgement, err := r.RawEvidence(round.Sequence, shown.Host)
	b.Rows = append(b.Rows, Row{Row: string(raw), Proof: string(proof.Text()), Judgement: string(judgement)})
	return err
}

// AddArtifact adds a signed artifact: a certificate, a report or another thing with the members of an attest.Proof, such
// as the answer of a verify address. What stands beside these members is not signed and is left out.
func (b *Bundle) AddArtifact(raw []byte) error {
	var p attest.Proof
	if len(raw) > MaxSize {
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
	body, err := attest.Canonical(b)
	if err != nil {
		return nil, fmt.Errorf("encoding bundle: %w", err)
	}
	b.SHA256 = sha256.Sum256(body)
	out, err := attest.Canonical(b)
	if err != nil {
		return nil, fmt.Errorf("encoding bundle: %w", err)
	}
	if len(out) >= MaxSize {
		return nil, fmt.Errorf("encoding bundle: %d bytes, and at most %d are read", len(out), MaxSize)
	}
	return append(out, '\n'), nil
}

// Parse reads what Encode wrote. It checks the form and the digest, not what the bundle says.
func Parse(raw []byte) (Bundle, error) {
	var b Bundle
	line, ok := bytes.CutSuffix(raw, []byte{'\n'})
	if !ok || len(raw) > MaxSize {
		return b, fmt.Errorf("%w: %d bytes, or no line", ErrMalformed, len(raw))
	}
	if err := attest.ParseCanonical(line, &b); err != nil {
		return b, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if b.Format != Format {
		return b, fmt.Errorf("%w: format is %.40q, want %q", ErrMalformed, b.Format, Format)
	}
	if max(len(b.Rounds), len(b.Rows), len(b.Hosts)) > MaxItems || len(b.Artifacts) > MaxArtifacts || len(b.Handovers) > MaxHandovers || len(b.After) > 2 {
		return b, fmt.Errorf("%w: too much in it", ErrMalformed)
	}
	body, ok := bytes.CutSuffix(line, fmt.Appendf(nil, `,"sha256":"%s"}`, b.SHA256))
	if !ok || sha256.Sum256(append(body[:len(body):len(body)], '}')) != b.SHA256 {
		return b, fmt.Errorf("%w: its digest is another", ErrMalformed)
	}
	return b, nil
}
