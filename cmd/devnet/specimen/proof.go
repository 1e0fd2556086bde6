package specimen

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

func digest(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// address is whose account a host of the play names on Base in the end.
func (m *maker) address(host string) string { return street.Address("eip155:8453", host) }

// calendar is a calendar of the street. Its answers follow from what it is asked; its blocks were
// made at home, and say so by their difficulty.
type calendar struct {
	name string
	// height is the block that commits to what is handed in now, 0 while there is none.
	height int64
	header ots.Header
	time   uint32
}

// The calendars, by the hosts under which they are known.
const (
	quick = "quick.calendar.street" // has a block within the week
	slow  = "slow.calendar.street"  // has one a week later
)

func (c *calendar) URI() string { return "https://" + c.name }

// The tags of OpenTimestamps that a calendar writes.
var (
	tagPending = []byte{0x00, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e}
	tagBitcoin = []byte{0x00, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01}
)

const (
	opSHA256 = 0x08
	opAppend = 0xf0
)

// nonce is what the calendar hangs on a digest.
func (c *calendar) nonce(digest []byte) []byte {
	sum := sha256.Sum256(append([]byte(c.name), digest...))
	return sum[:16]
}

// Submit promises a block.
func (c *calendar) Submit(_ context.Context, digest []byte) ([]byte, error) {
	uri := []byte(c.URI())
	return slices.Concat([]byte{opAppend, 16}, c.nonce(digest), []byte{opSHA256}, tagPending,
		[]byte{byte(len(uri) + 1), byte(len(uri))}, uri), nil
}

// Upgrade leads a commitment to the block.
func (c *calendar) Upgrade(_ context.Context, commitment []byte) ([]byte, error) {
	if c.height == 0 {
		return nil, ots.ErrNotYet
	}
	rest := sha256.Sum256(append([]byte("the others in block "+strconv.FormatInt(c.height, 10)), commitment...))
	once := sha256.Sum256(slices.Concat(commitment, rest[:]))
	root := sha256.Sum256(once[:])
	c.mine(root)
	number := binary.AppendUvarint(nil, uint64(c.height))
	return slices.Concat([]byte{opAppend, 32}, rest[:], []byte{opSHA256, opSHA256}, tagBitcoin,
		[]byte{byte(len(number))}, number), nil
}

// leastWork is less than any header states.
const leastWork = 1e-12

// mine makes a block of the least difficulty.
func (c *calendar) mine(root [sha256.Size]byte) {
	before := sha256.Sum256(fmt.Append(nil, "the block before ", c.height))
	h := slices.Concat([]byte{4, 0, 0, 0}, before[:], root[:], binary.LittleEndian.AppendUint32(nil, c.time),
		[]byte{0xff, 0xff, 0x7f, 0x20}, make([]byte, 4))
	for n := uint32(0); ; n++ {
		binary.LittleEndian.PutUint32(h[76:], n)
		c.header = ots.Header(h)
		if c.header.Work(leastWork) == nil {
			return
		}
	}
}

// stamped is something whose proof by a calendar is not complete: a round, or an anchor of the
// chain over the keys.
type stamped struct {
	anchor   bool
	sequence int64
	week     int
	calendar string
	proof    ots.Proof
}

// add puts a proof on the record.
func (m *maker) add(ctx context.Context, s stamped, headers map[int64]ots.Header) error {
	put := m.writer().AddProof
	if s.anchor {
		put = m.writer().AddAnchorProof
	}
	_, err := put(ctx, s.sequence, s.calendar, s.proof, headers)
	return err
}

// stamp hands a digest to both calendars.
func (m *maker) stamp(ctx context.Context, s stamped, digest attest.Digest) error {
	both := []ots.Calendar{&calendar{name: quick}, &calendar{name: slow}}
	proofs, _, err := ots.Stamp(ctx, digest, both)
	if err != nil {
		return err
	}
	for i, c := range both {
		s.calendar, s.proof = c.(*calendar).name, proofs[i]
		if err := m.add(ctx, s, nil); err != nil {
			return err
		}
		m.pending = append(m.pending, s)
	}
	return nil
}

// upgrade takes the blocks that have come: those of the quick calendar in the week after, those of
// the slow one a week later. Of round 5 the slow one knows nothing any more.
func (m *maker) upgrade(ctx context.Context, week int) error {
	var waiting []stamped
	for _, s := range m.pending {
		if s.week == week || s.calendar == slow && (s.week == week-1 || !s.anchor && s.sequence == 5) {
			waiting = append(waiting, s)
			continue
		}
		c := &calendar{name: s.calendar, height: 910_000 + 1000*s.sequence + int64(len(s.calendar)),
			time: uint32(m.clock.Now().Unix())}
		if s.anchor {
			c.height += 100
		}
		proof, changed, err := ots.Upgrade(ctx, s.proof, []ots.Calendar{c})
		if err != nil || !changed {
			return fmt.Errorf("upgrading proof %d of week %d: %v, %w", s.sequence, s.week, changed, err)
		}
		s.proof = proof
		if err := m.add(ctx, s, map[int64]ots.Header{c.height: c.header}); err != nil {
			return err
		}
	}
	m.pending = waiting
	return nil
}

// anchor stamps what the chain over the keys has grown by.
func (m *maker) anchor(ctx context.Context, week int) error {
	r, err := record.Open(os.DirFS(m.dir), m.writer().Ring)
	if err != nil {
		return err
	}
	anchors, err := r.Anchors()
	if err != nil {
		return err
	}
	for _, a := range anchors[m.anchored:] {
		digest, err := a.Digest()
		if err == nil {
			err = m.stamp(ctx, stamped{anchor: true, sequence: a.Sequence, week: week}, digest)
		}
		if err != nil {
			return err
		}
	}
	m.anchored = len(anchors)
	return nil
}

// witnessKey is public as all keys of the specimen are.
func witnessKey() *attest.Key {
	seed := digest("a witness of the specimen, its private half is public by design")
	k, err := attest.Generate(&seeded{seed[:]})
	if err != nil {
		panic(err) // a seed of the right length
	}
	return k
}

type seeded struct{ rest []byte }

func (s *seeded) Read(p []byte) (int, error) {
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Witness is the third party that signed the checkpoints of the record.
func Witness() tlog.Witness {
	return tlog.Witness{Name: "witness.street", Public: witnessKey().Public()}
}

// cosign has the witness sign the log's head, from the second round on.
func (m *maker) cosign(ctx context.Context) error {
	w := m.writer()
	r, err := record.Open(os.DirFS(m.dir), w.Ring)
	if err != nil {
		return err
	}
	if len(r.Rounds()) < 2 {
		return nil
	}
	time := m.clock.Now().Unix()
	head := r.Log.Head()
	witness := Witness()
	id := digest(witness.Name + "\n\x04" + string(witness.Public))
	signature := witnessKey().Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", time, head.Text))
	line := fmt.Sprintf("— %s %s\n", witness.Name,
		base64.StdEncoding.EncodeToString(slices.Concat(id[:4], binary.BigEndian.AppendUint64(nil, uint64(time)),
			signature)))
	got, err := w.Cosign(ctx, []byte(line), []tlog.Witness{witness})
	if err == nil && len(got) != 1 {
		err = fmt.Errorf("%d of its cosignatures were kept", len(got))
	}
	return err
}
