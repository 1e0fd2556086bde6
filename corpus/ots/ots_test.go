package ots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/cmd/devnet/npmtest"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, raw []byte) Proof {
	t.Helper()
	p, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// simnet is the header that the samples lead to.
func simnet(t testing.TB) map[int64]Header {
	t.Helper()
	h, err := ParseHeader(append(bytes.TrimSpace(sample(t, "header106.simnet.hex")), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	return map[int64]Header{106: h}
}

// noWork accepts any block that meets the difficulty it states: a simnet's.
const noWork = 1e-12

func TestSamples(t *testing.T) {
	headers := simnet(t)
	full, pending := parse(t, sample(t, "corpus.txt.ots")), parse(t, sample(t, "corpus.incomplete.ots"))
	if sum := sha256.Sum256(sample(t, "corpus.txt")); full.Digest != sum || pending.Digest != sum {
		t.Error("the proofs are not about the sample")
	}
	calendars := []string{"http://127.0.0.1:18475"}
	want := Status{State: StateVerified, Height: 106, Time: headers[106].Time(), Block: headers[106].Hash(),
		Calendars: calendars}
	if diff := cmp.Diff(want, full.Check(headers, noWork)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got := headers[106].Time().Unix(); got != 1795167193 {
		t.Errorf("block time %d", got)
	}
	for _, test := range []struct {
		name    string
		p       Proof
		headers map[int64]Header
		least   float64
		want    Status
	}{
		{"no header", full, nil, noWork, Status{State: StateUnchecked, Height: 106, Calendars: calendars}},
		{"work of home", full, headers, 0, Status{State: StateUnchecked, Height: 106, Calendars: calendars}},
		{"another block", full, map[int64]Header{106: {}}, noWork, Status{State: StateMismatch, Height: 106,
			Calendars: calendars}},
		{"pending", pending, headers, noWork, Status{State: StatePending, Calendars: calendars}},
	} {
		if diff := cmp.Diff(test.want, test.p.Check(test.headers, test.least)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	merged, err := Merge(pending, full)
	if err != nil || !bytes.Equal(merged.Encode(), full.Encode()) {
		t.Errorf("the full proof holds the pending one already: %v", err)
	}
	if other, err := FromAnswer(sha256.Sum256(nil), full.tree.encode(nil)); err != nil {
		t.Error(err)
	} else if _, err := Merge(full, other); err == nil {
		t.Error("proofs of different digests are merged")
	} else if s := other.Check(headers, noWork); s.State != StateMismatch {
		t.Errorf("a proof put under another digest is %s", s.State)
	}
}

// TestEveryChangedByte finds each changed byte refused, or the proof about another digest or
// without its block: but for the pending attestation, which proves nothing.
func TestEveryChangedByte(t *testing.T) {
	headers, raw := simnet(t), sample(t, "corpus.txt.ots")
	digest := parse(t, raw).Digest
	pending := bytes.Index(raw, pendingTag[:])
	end := bytes.Index(raw, []byte("18475")) + 5
	for i := range raw {
		for x := 1 + i%17; x < 256; x += 17 {
			changed := bytes.Clone(raw)
			changed[i] ^= byte(x)
			p, err := Parse(changed)
			if err != nil || p.Digest != digest || p.Check(headers, noWork).State != StateVerified {
				continue
			}
			if i < pending || i >= end {
				t.Fatalf("byte %d changed to %#02x still verifies", i, changed[i])
			}
		}
	}
	for n := range raw {
		if _, err := Parse(raw[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d bytes of it: %v", n, err)
		}
	}
	if _, err := Parse(append(bytes.Clone(raw), 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestEveryChangedByteOfAHeader(t *testing.T) {
	file := simnet(t)[106].File()
	p := parse(t, sample(t, "corpus.txt.ots"))
	for i := range file {
		for x := 1 + i%17; x < 256; x += 17 {
			changed := bytes.Clone(file)
			changed[i] ^= byte(x)
			h, err := ParseHeader(changed)
			// A simnet's difficulty lets one hash in two pass, so that only the root is sure to be
			// caught.
			if err == nil && i/2 >= 36 && i/2 < 68 && p.Check(map[int64]Header{106: h}, noWork).State == StateVerified {
				t.Fatalf("digit %d changed still verifies", i)
			}
		}
	}
}

func TestWork(t *testing.T) {
	// The header of block 125552, which is public knowledge.
	b := strings.ReplaceAll(`01000000 81cd02ab7e569e8bcd9317e2fe99f2de44d49ab2b8851ba4a308000000000000
		e320b6c2fffc8d750423db8b1eb942ae710e951ed797f7affc8892b0f1fc122b c7f5d74d f2b9441a 42a14695`, " ", "")
	h, err := ParseHeader([]byte(strings.NewReplacer("\n", "", "\t", "").Replace(b) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Hash(); got != "00000000000000001e8d6829a8a21adc5d38d0a473b144b6765798e61f98bd1d" {
		t.Errorf("hash %s", got)
	}
	if err := h.Work(244112); err != nil {
		t.Error(err)
	}
	if h.Work(244113) == nil || h.Work(0) == nil {
		t.Error("it has more work than it has")
	}
	h[76] ^= 1
	if h.Work(1) == nil {
		t.Error("another nonce has the same work")
	}
}

// calendar is a calendar in this process, whose next block takes in all that was submitted.
type calendar struct {
	uri    string
	held   [][]byte
	answer func([]byte) ([]byte, error) // instead of its own, if set
	blocks map[int64]Header
	done   map[string][]byte
}

func (c *calendar) URI() string { return c.uri }

func (c *calendar) Submit(_ context.Context, digest []byte) ([]byte, error) {
	if c.answer != nil {
		return c.answer(digest)
	}
	n := &node{message: digest}
	salted, _ := operation{opAppend, []byte(c.uri)}.apply(digest)
	sum := sha256.Sum256(salted)
	c.held = append(c.held, sum[:])
	end := &node{message: sum[:], attestations: []attestation{{pendingTag, append([]byte{byte(len(c.uri))}, c.uri...)}}}
	n.branch(branch{operation{opAppend, []byte(c.uri)},
		&node{message: salted, branches: []branch{{operation{opSHA256, nil}, end}}}})
	return n.encode(nil), nil
}

func (c *calendar) Upgrade(_ context.Context, commitment []byte) ([]byte, error) {
	if b, ok := c.done[string(commitment)]; ok {
		return b, nil
	}
	return nil, ErrNotYet
}

// mine puts each commitment into a block of its own.
func (c *calendar) mine(height int64) {
	c.done = make(map[string][]byte)
	for _, commitment := range c.held {
		root := sha256.Sum256(append([]byte("block"), commitment...))
		var h Header
		copy(h[36:], root[:])
		binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
		for n := uint32(0); h.Work(noWork) != nil; n++ {
			binary.LittleEndian.PutUint32(h[76:], n)
		}
		c.blocks[height] = h
		n := &node{message: commitment}
		end := &node{attestations: []attestation{{bitcoinTag, binary.AppendUvarint(nil, uint64(height))}}}
		n.branch(branch{operation{opPrepend, []byte("block")},
			&node{branches: []branch{{operation{opSHA256, nil}, end}}}})
		c.done[string(commitment)] = n.encode(nil)
		height++
	}
}

func TestStampAndUpgrade(t *testing.T) {
	blocks := map[int64]Header{}
	a, b := &calendar{uri: "http://a.example", blocks: blocks}, &calendar{uri: "http://b.example", blocks: blocks}
	lying := &calendar{uri: "http://c.example", answer: func([]byte) ([]byte, error) { return []byte{8}, nil }}
	digest := sha256.Sum256([]byte("round"))
	proofs, problems, err := Stamp(t.Context(), digest, []Calendar{a, lying, b})
	if err != nil || problems[0] != nil || problems[1] == nil || problems[2] != nil {
		t.Fatalf("%v, %v", problems, err)
	}
	if _, _, err := Stamp(t.Context(), digest, []Calendar{a, lying}); err == nil {
		t.Error("one answer of two calendars is enough")
	}
	merged, err := Merge(proofs[0], proofs[2])
	if err != nil {
		t.Fatal(err)
	}
	if s := merged.Check(nil, noWork); s.State != StatePending || len(s.Calendars) != 2 {
		t.Errorf("stamped: %+v", s)
	}
	same, changed, err := Upgrade(t.Context(), merged, []Calendar{a, b})
	if err != nil || changed || !bytes.Equal(same.Encode(), merged.Encode()) {
		t.Errorf("an upgrade with nothing new: %v, %v", changed, err)
	}
	a.mine(500)
	b.mine(300)
	if _, changed, _ := Upgrade(t.Context(), merged, []Calendar{lying}); changed {
		t.Error("a calendar that was not asked answered")
	}
	full, changed, err := Upgrade(t.Context(), merged, []Calendar{a, b})
	if err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	s := parse(t, full.Encode()).Check(blocks, noWork)
	if s.State != StateVerified || s.Height != 300 {
		t.Errorf("upgraded: %+v", s)
	}
	if merged.Check(nil, noWork).State != StatePending {
		t.Error("the old proof was changed")
	}
}

// TestPythonAgrees asks Debian's python3-opentimestamps about the sample and about proofs of ours.
func TestPythonAgrees(t *testing.T) {
	const python = "/usr/bin/python3"
	if out, err := exec.Command(python, "-c",
		"import opentimestamps.core.timestamp, bitcoin.core").CombinedOutput(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("python3-opentimestamps is missing: %w\n%s", err, out))
	}
	dir := t.TempDir()
	blocks := map[int64]Header{}
	a, b := &calendar{uri: "http://a.example", blocks: blocks}, &calendar{uri: "http://b.example", blocks: blocks}
	proofs, _, err := Stamp(t.Context(), sha256.Sum256([]byte("round")), []Calendar{a, b})
	if err != nil {
		t.Fatal(err)
	}
	a.mine(7)
	b.mine(8)
	merged, err := Merge(proofs...)
	if err != nil {
		t.Fatal(err)
	}
	full, _, err := Upgrade(t.Context(), merged, []Calendar{a, b})
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for height, h := range blocks {
		file := filepath.Join(dir, string(rune('0'+height))+".ots")
		if err := os.WriteFile(file, full.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file, string(rune('0'+height)), string(bytes.TrimSpace(h.File())))
	}
	args = append(args, filepath.Join("testdata", "corpus.txt.ots"), "106",
		strings.TrimSpace(string(sample(t, "header106.simnet.hex"))))
	const script = `
import sys, io
from bitcoin.core import CBlockHeader, x
from opentimestamps.core.timestamp import DetachedTimestampFile
from opentimestamps.core.serialize import StreamDeserializationContext, BytesSerializationContext
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation
args = sys.argv[1:]
while args:
    file, height, header = args[:3]; args = args[3:]
    raw = open(file, 'rb').read()
    f = DetachedTimestampFile.deserialize(StreamDeserializationContext(io.BytesIO(raw)))
    out = BytesSerializationContext(); f.serialize(out)
    assert out.getbytes() == raw, 'written otherwise'
    found = 0
    for msg, a in f.timestamp.all_attestations():
        if isinstance(a, BitcoinBlockHeaderAttestation) and a.height == int(height):
            a.verify_against_blockheader(msg, CBlockHeader.deserialize(x(header))); found += 1
    assert found == 1, found
    print('verified')
`
	out, err := exec.Command(python, append([]string{"-c", script}, args...)...).CombinedOutput()
	if err != nil || strings.Count(string(out), "verified") != len(args)/3 {
		t.Fatalf("%v: %s", err, out)
	}
	args[2] = strings.Repeat("0", len(args[2]))
	if out, err := exec.Command(python, append([]string{"-c", script}, args...)...).CombinedOutput(); err == nil {
		t.Fatalf("it verifies against no block: %s", out)
	}
}

// TestBounds hands in trees that would take much memory or stack.
func TestBounds(t *testing.T) {
	head := slices.Concat(magic, []byte{1, opSHA256}, make([]byte, 32))
	for name, body := range map[string][]byte{
		"deep": bytes.Repeat([]byte{opSHA256}, maxDepth+2), "wide": bytes.Repeat([]byte{0xff, opSHA256}, 3000),
		"growing": bytes.Repeat([]byte{opHexlify}, 20), "empty": {}, "unknown operation": {0x99},
		"empty argument": {opAppend, 0}, "long argument": append([]byte{opAppend, 0x81, 0x20}, make([]byte, 4097)...),
		"attestation cut short": {0, 1, 2}, "pending elsewhere": slices.Concat([]byte{0}, pendingTag[:],
			[]byte{3, 2, 'h', '?'}),
		"height in two": slices.Concat([]byte{0}, bitcoinTag[:], []byte{2, 0x81, 0}),
	} {
		if _, err := Parse(slices.Concat(head, body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	carried := slices.Concat(head, []byte{opRIPEMD160, 0}, bitcoinTag[:], []byte{1, 5})
	if s := parse(t, carried).Check(nil, 0); s.State != StateUnknown {
		t.Errorf("behind an operation that is not carried out: %+v", s)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample(f, "corpus.txt.ots"))
	f.Add(sample(f, "corpus.incomplete.ots"))
	r := rand.New(rand.NewPCG(1, 2))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%v", err)
			}
			return
		}
		if !bytes.Equal(p.Encode(), raw) {
			t.Errorf("%x is written %x", raw, p.Encode())
		}
		twice, err := Merge(p, p)
		if err != nil || !bytes.Equal(twice.Encode(), raw) {
			t.Errorf("merged with itself: %v", err)
		}
		p.Check(map[int64]Header{int64(r.IntN(1000)): {}}, 0)
	})
}
