package solana

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// maxWire is the longest transaction that Solana's nodes take, in bytes; of version 1, maxWireV1.
const (
	maxWire   = 1232
	maxWireV1 = 4096
)

// legacy is a message without a version.
const legacy = -1

// transaction is a transaction as it goes over the wire: the signatures of the first accounts over
// the message, in their order; of version 1 they stand behind it.
type transaction struct {
	signatures [][64]byte
	message    []byte // what is signed
	parts
}

// parts are a message taken apart.
type parts struct {
	version          int // legacy, 0 or 1
	signers          int // how many of the accounts sign, the first ones
	readonlySigned   int // of these, how many of the last are only read
	readonlyUnsigned int // of the others
	keys             []key
	blockhash        key
	instructions     []instruction
	lookups          []lookup
	config           configuration // of version 1 alone
}

// instruction is one step: a program, accounts and data. Accounts are indices of the message's
// keys.
type instruction struct {
	program  byte
	accounts []byte
	data     []byte
}

// lookup loads further accounts out of a table on the chain.
type lookup struct {
	table    key
	writable []byte
	readonly []byte
}

// hash identifies a message for ever: the nonce of its payment.
func (t *transaction) hash() string {
	sum := sha256.Sum256(t.message)
	return hex.EncodeToString(sum[:])
}

// programOf is the program of an instruction.
func (t *transaction) programOf(i instruction) key { return t.keys[i.program] }

// errWire says that bytes are no transaction, and errVersion that they are of a version that is not
// known.
var (
	errWire    = errors.New("not a transaction")
	errVersion = fmt.Errorf("%w of version 0, 1 or none", errWire)
)

// parseTransaction reads a transaction strictly: every number in its shortest form, nothing behind
// the end, nothing that the nodes' own checks of a message refuse. What is accepted is what
// encoding it again gives, byte for byte.
func parseTransaction(wire []byte) (*transaction, error) {
	if len(wire) > 0 && wire[0] == version1 {
		return parseV1(wire)
	}
	if len(wire) > maxWire {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", errWire, len(wire), maxWire)
	}
	r := &reader{rest: wire}
	t := &transaction{}
	for range r.count(64) {
		t.signatures = append(t.signatures, [64]byte(r.bytes(64)))
	}
	if r.failed {
		return nil, fmt.Errorf("%w: its signatures", errWire)
	}
	t.message = r.rest
	m, err := parseMessage(t.message)
	if err != nil {
		return nil, err
	}
	t.parts = *m
	if len(t.signatures) != t.signers {
		return nil, fmt.Errorf("%w: %d signatures of %d signers", errWire, len(t.signatures), t.signers)
	}
	return t, nil
}

// parseMessage reads a legacy message, or one of version 0.
func parseMessage(b []byte) (*parts, error) {
	r := &reader{rest: b}
	m := &parts{version: legacy}
	first := r.byte()
	if first&0x80 != 0 {
		if m.version = 0; first != 0x80 {
			return nil, fmt.Errorf("%w: version %d", errVersion, first&0x7f)
		}
		first = r.byte()
	}
	m.signers, m.readonlySigned, m.readonlyUnsigned = int(first), int(r.byte()), int(r.byte())
	for range r.count(32) {
		m.keys = append(m.keys, key(r.bytes(32)))
	}
	m.blockhash = key(r.bytes(32))
	for range r.count(3) {
		m.instructions = append(m.instructions, instruction{r.byte(), r.list(), r.list()})
	}
	if m.version == 0 {
		for range r.count(34) {
			m.lookups = append(m.lookups, lookup{key(r.bytes(32)), r.list(), r.list()})
		}
	}
	if r.failed || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: its message is cut off or goes on", errWire)
	}
	return m, m.sane()
}

// sane is what a node demands of every message before it looks at it (Message::sanitize), and that
// no account stands twice.
func (m *parts) sane() error {
	loaded := len(m.keys)
	for _, l := range m.lookups {
		loaded += len(l.writable) + len(l.readonly)
		if len(l.writable)+len(l.readonly) == 0 {
			return fmt.Errorf("%w: a table of which nothing is loaded", errWire)
		}
	}
	switch {
	case m.signers == 0 || m.readonlySigned >= m.signers:
		return fmt.Errorf("%w: nobody pays its fee", errWire)
	case m.signers+m.readonlyUnsigned > len(m.keys):
		return fmt.Errorf("%w: fewer accounts than its header says", errWire)
	case loaded > 256:
		return fmt.Errorf("%w: more than 256 accounts", errWire)
	}
	seen := make(map[key]bool, len(m.keys))
	for _, k := range m.keys {
		if seen[k] {
			return fmt.Errorf("%w: an account stands twice", errWire)
		}
		seen[k] = true
	}
	for _, i := range m.instructions {
		if i.program == 0 || int(i.program) >= len(m.keys) {
			return fmt.Errorf("%w: a program that is not among its accounts", errWire)
		}
		for _, a := range i.accounts {
			if int(a) >= loaded {
				return fmt.Errorf("%w: an account that is not there", errWire)
			}
		}
	}
	return nil
}

// wire is the transaction's bytes.
func (t *transaction) wire() []byte {
	if t.version == 1 {
		b := slices.Clone(t.message)
		for _, s := range t.signatures {
			b = append(b, s[:]...)
		}
		return b
	}
	b := appendCount(make([]byte, 0, maxWire), len(t.signatures))
	for _, s := range t.signatures {
		b = append(b, s[:]...)
	}
	return append(b, t.message...)
}

// encode is the message's bytes.
func (m *parts) encode() []byte {
	if m.version == 1 {
		return m.encodeV1()
	}
	b := make([]byte, 0, maxWire)
	if m.version == 0 {
		b = append(b, 0x80)
	}
	b = append(b, byte(m.signers), byte(m.readonlySigned), byte(m.readonlyUnsigned))
	b = appendCount(b, len(m.keys))
	for _, k := range m.keys {
		b = append(b, k[:]...)
	}
	b = append(b, m.blockhash[:]...)
	b = appendCount(b, len(m.instructions))
	for _, i := range m.instructions {
		b = appendList(appendList(append(b, i.program), i.accounts), i.data)
	}
	if m.version == 0 {
		b = appendCount(b, len(m.lookups))
		for _, l := range m.lookups {
			b = appendList(appendList(append(b, l.table[:]...), l.writable), l.readonly)
		}
	}
	return b
}

// reader takes bytes apart. Once something is missing it gives zeros and has failed.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.failed = nil, true
		return make([]byte, n)
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte { return r.bytes(1)[0] }

func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.bytes(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }

// count is a number of things that take at least so many bytes each (Solana's short_vec: seven bits
// a byte, the lowest first, at most 16 bits in all, never longer than need be).
func (r *reader) count(size int) int {
	n := 0
	for i := range 3 {
		b := r.byte()
		n |= int(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		if i > 0 && b == 0 || n > 0xffff || n*size > len(r.rest) {
			break
		}
		return n
	}
	r.rest, r.failed = nil, true
	return 0
}

func (r *reader) list() []byte { return r.bytes(r.count(1)) }

func appendCount(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func appendList(b, list []byte) []byte { return append(appendCount(b, len(list)), list...) }
