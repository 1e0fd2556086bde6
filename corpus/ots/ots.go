// Package ots reads, makes and checks OpenTimestamps proofs: that a digest existed when a Bitcoin
// block was made. It owns the detached file format, version 1, and the trees that calendars answer
// with; it makes no connection of its own (see Calendar).
//
// Its files have one spelling: Parse refuses whatever Encode would not write. A proof that rests on
// a block is checked with the 80 bytes of the block's header, which travel beside it (see Header),
// so that no node is needed:
//
//	p, err := ots.Parse(file)
//	for _, c := range p.Claims() {
//		if c.Kind == ots.Bitcoin {
//			err = headers[c.Height].Commits(c.Message)
//		}
//	}
//
// Two of the format's rare operations, RIPEMD-160 and Keccak-256, are carried and not carried out:
// what stands behind them is an Unchecked claim.
package ots

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// The bounds of a proof.
const (
	MaxProof       = 64 << 10 // bytes of a file
	MaxAnswer      = 10_000   // bytes of a calendar's answer
	maxMessage     = 4096
	maxDepth       = 256
	maxItems       = 4096
	maxAttestation = 8192
	maxURI         = 1000
)

// The tags of operations.
const (
	opSHA1      = 0x02
	opRIPEMD160 = 0x03
	opSHA256    = 0x08
	opKeccak256 = 0x67
	opAppend    = 0xf0
	opPrepend   = 0xf1
	opReverse   = 0xf2
	opHexlify   = 0xf3
)

var (
	magic = []byte("\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94")

	pendingTag = [8]byte{0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e}
	bitcoinTag = [8]byte{0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01}
)

// ErrMalformed is returned for bytes that are not a proof, or not written the one way in which that
// proof is written.
var ErrMalformed = errors.New("not an OpenTimestamps proof")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Proof is a detached proof about a file whose SHA-256 is Digest.
type Proof struct {
	Digest [sha256.Size]byte
	tree   *node
}

// node is what is known about one message.
type node struct {
	message      []byte // nil behind an operation that is not carried out
	attestations []attestation
	branches     []branch
}

type attestation struct {
	tag     [8]byte
	payload []byte
}

type branch struct {
	op   operation
	then *node
}

type operation struct {
	tag byte
	arg []byte
}

// apply carries the operation out; a nil result means that it is not carried out here.
func (o operation) apply(message []byte) ([]byte, error) {
	if message == nil {
		return nil, nil
	}
	var out []byte
	switch o.tag {
	case opAppend:
		out = slices.Concat(message, o.arg)
	case opPrepend:
		out = slices.Concat(o.arg, message)
	case opReverse:
		out = slices.Clone(message)
		slices.Reverse(out)
	case opHexlify:
		out = hex.AppendEncode(nil, message)
	case opSHA256:
		sum := sha256.Sum256(message)
		out = sum[:]
	case opSHA1:
		sum := sha1.Sum(message)
		out = sum[:]
	}
	if len(out) > maxMessage {
		return nil, malformed("a message of %d bytes", len(out))
	}
	return out, nil
}

// reader reads one tree within bounds.
type reader struct {
	data  []byte
	items int
}

func (r *reader) byte() (byte, error) {
	if len(r.data) == 0 {
		return 0, malformed("cut short")
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b, nil
}

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.data) {
		return nil, malformed("cut short")
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b, nil
}

func (r *reader) uint() (uint64, error) {
	n, w := binary.Uvarint(r.data)
	if w <= 0 || n > 1<<40 {
		return 0, malformed("an integer out of range")
	}
	r.data = r.data[w:]
	return n, nil
}

func (r *reader) bytes(low, high int) ([]byte, error) {
	n, err := r.uint()
	if err != nil {
		return nil, err
	}
	if n < uint64(low) || n > uint64(high) {
		return nil, malformed("%d bytes where %d to %d belong", n, low, high)
	}
	return r.take(int(n))
}

// node reads what is known about message.
func (r *reader) node(message []byte, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, malformed("deeper than %d", maxDepth)
	}
	n := &node{message: message}
	for {
		tag, err := r.byte()
		if err != nil {
			return nil, err
		}
		more := tag == 0xff
		if more {
			if tag, err = r.byte(); err != nil {
				return nil, err
			}
		}
		if r.items++; r.items > maxItems {
			return nil, malformed("more than %d items", maxItems)
		}
		if err := r.item(n, tag, depth); err != nil {
			return nil, err
		}
		if !more {
			return n, nil
		}
	}
}

func (r *reader) item(n *node, tag byte, depth int) error {
	if tag == 0 {
		head, err := r.take(8)
		if err != nil {
			return err
		}
		payload, err := r.bytes(0, maxAttestation)
		if err != nil {
			return err
		}
		n.attest(attestation{[8]byte(head), payload})
		return nil
	}
	op := operation{tag: tag}
	switch tag {
	case opAppend, opPrepend:
		arg, err := r.bytes(1, maxMessage)
		if err != nil {
			return err
		}
		op.arg = arg
	case opReverse, opHexlify, opSHA1, opRIPEMD160, opSHA256, opKeccak256:
	default:
		return malformed("unknown operation %#02x", tag)
	}
	message, err := op.apply(n.message)
	if err != nil {
		return err
	}
	then, err := r.node(message, depth+1)
	if err != nil {
		return err
	}
	n.branch(branch{op, then})
	return nil
}

// attest adds an attestation that is not there yet, in order.
func (n *node) attest(a attestation) {
	at, ok := slices.BinarySearchFunc(n.attestations, a, compareAttestations)
	if !ok {
		n.attestations = slices.Insert(n.attestations, at, a)
	}
}

// branch adds a branch in order, or merges it into the one of the same operation.
func (n *node) branch(b branch) {
	at, ok := slices.BinarySearchFunc(n.branches, b, func(x, y branch) int {
		return cmp.Or(cmp.Compare(x.op.tag, y.op.tag), bytes.Compare(x.op.arg, y.op.arg))
	})
	if ok {
		n.branches[at].then.merge(b.then)
		return
	}
	n.branches = slices.Insert(n.branches, at, b)
}

// merge adds to n what is known about the same message elsewhere.
func (n *node) merge(other *node) {
	for _, a := range other.attestations {
		n.attest(a)
	}
	for _, b := range other.branches {
		n.branch(b)
	}
}

// compareAttestations is the order of files: by tag, then pending by URI, Bitcoin by height, others
// by bytes.
func compareAttestations(a, b attestation) int {
	if c := bytes.Compare(a.tag[:], b.tag[:]); c != 0 {
		return c
	}
	if x, ok := a.height(); ok {
		if y, ok := b.height(); ok {
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
		}
	}
	if x, ok := a.uri(); ok {
		if y, ok := b.uri(); ok {
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
		}
	}
	return bytes.Compare(a.payload, b.payload)
}

// height is the block of a Bitcoin attestation.
func (a attestation) height() (int64, bool) {
	r := reader{data: a.payload}
	n, err := r.uint()
	return int64(n), a.tag == bitcoinTag && err == nil && len(r.data) == 0 && bytes.Equal(binary.AppendUvarint(nil, n),
		a.payload)
}

// uri is the calendar of a pending attestation.
func (a attestation) uri() (string, bool) {
	r := reader{data: a.payload}
	b, err := r.bytes(0, maxURI)
	if a.tag != pendingTag || err != nil || len(r.data) != 0 {
		return "", false
	}
	for _, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			bytes.IndexByte([]byte("-._/:"), c) >= 0) {
			return "", false
		}
	}
	return string(b), true
}

// check demands that what has a known tag has its shape.
func (n *node) check() error {
	for _, a := range n.attestations {
		_, pending := a.uri()
		_, block := a.height()
		if a.tag == pendingTag && !pending || a.tag == bitcoinTag && !block {
			return malformed("an attestation that is not in its own form")
		}
	}
	for _, b := range n.branches {
		if err := b.then.check(); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) encode(out []byte) []byte {
	left := len(n.attestations) + len(n.branches)
	next := func() {
		if left--; left > 0 {
			out = append(out, 0xff)
		}
	}
	for _, a := range n.attestations {
		next()
		out = append(append(out, 0), a.tag[:]...)
		out = append(binary.AppendUvarint(out, uint64(len(a.payload))), a.payload...)
	}
	for _, b := range n.branches {
		next()
		out = append(out, b.op.tag)
		if b.op.arg != nil {
			out = append(binary.AppendUvarint(out, uint64(len(b.op.arg))), b.op.arg...)
		}
		out = b.then.encode(out)
	}
	return out
}

// parseTree reads the whole of data as a tree about message.
func parseTree(data, message []byte) (*node, error) {
	r := reader{data: bytes.Clone(data)}
	n, err := r.node(message, 0)
	if err != nil {
		return nil, err
	}
	if len(r.data) > 0 {
		return nil, malformed("%d bytes after its end", len(r.data))
	}
	return n, n.check()
}

// Parse reads a detached proof whose file hash is SHA-256.
func Parse(raw []byte) (Proof, error) {
	if len(raw) > MaxProof {
		return Proof{}, malformed("larger than %d bytes", MaxProof)
	}
	rest, ok := bytes.CutPrefix(raw, magic)
	if !ok {
		return Proof{}, malformed("it does not begin like one")
	}
	if len(rest) < 2+sha256.Size || rest[0] != 1 || rest[1] != opSHA256 {
		return Proof{}, malformed("not of version 1 over a SHA-256 digest")
	}
	p := Proof{Digest: [sha256.Size]byte(rest[2:])}
	var err error
	if p.tree, err = parseTree(rest[2+sha256.Size:], p.Digest[:]); err != nil {
		return Proof{}, err
	}
	if !bytes.Equal(p.Encode(), raw) {
		return Proof{}, malformed("not in the order in which proofs are written")
	}
	return p, nil
}

// Encode returns the bytes of the detached file.
func (p Proof) Encode() []byte {
	out := slices.Concat(magic, []byte{1, opSHA256}, p.Digest[:])
	return p.tree.encode(out)
}

// FromAnswer makes a proof of what a calendar answered about a digest.
func FromAnswer(digest [sha256.Size]byte, answer []byte) (Proof, error) {
	if len(answer) > MaxAnswer {
		return Proof{}, malformed("an answer larger than %d bytes", MaxAnswer)
	}
	p := Proof{Digest: digest}
	var err error
	p.tree, err = parseTree(answer, p.Digest[:])
	return p, err
}

// clone is a tree that shares nothing that is ever written to.
func (n *node) clone() *node {
	out := &node{message: n.message, attestations: slices.Clone(n.attestations)}
	for _, b := range n.branches {
		out.branches = append(out.branches, branch{b.op, b.then.clone()})
	}
	return out
}

// Merge joins proofs of one digest into one that holds all they say.
func Merge(proofs ...Proof) (Proof, error) {
	if len(proofs) == 0 {
		return Proof{}, errors.New("merging proofs: there are none")
	}
	out := Proof{Digest: proofs[0].Digest, tree: proofs[0].tree.clone()}
	for _, p := range proofs[1:] {
		if p.Digest != out.Digest {
			return Proof{}, errors.New("merging proofs: they are about different digests")
		}
		out.tree.merge(p.tree.clone())
	}
	if _, err := Parse(out.Encode()); err != nil {
		return Proof{}, fmt.Errorf("merging proofs: %w", err) // together they exceed a bound
	}
	return out, nil
}
