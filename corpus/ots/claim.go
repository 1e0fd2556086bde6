package ots

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"
)

// The kinds of claims.
const (
	Pending   = "pending"   // a calendar promises a block; proves nothing
	Bitcoin   = "bitcoin"   // Message is the Merkle root of the block at Height
	Unknown   = "unknown"   // an attestation of a kind that is not known here
	Unchecked = "unchecked" // behind an operation that is not carried out here
)

// Claim is what a proof says at one of its ends.
type Claim struct {
	Kind     string
	Calendar string // of a pending claim
	Height   int64  // of a Bitcoin claim
	Message  []byte // what is attested; nil for an unchecked claim
}

// Claims returns everything the proof says, in the order of its bytes.
func (p Proof) Claims() []Claim {
	var out []Claim
	var walk func(n *node)
	walk = func(n *node) {
		for _, a := range n.attestations {
			c := Claim{Kind: Unknown, Message: n.message}
			if uri, ok := a.uri(); ok {
				c.Kind, c.Calendar = Pending, uri
			} else if height, ok := a.height(); ok {
				c.Kind, c.Height = Bitcoin, height
			}
			if n.message == nil {
				c.Kind = Unchecked
			}
			out = append(out, c)
		}
		for _, b := range n.branches {
			walk(b.then)
		}
	}
	walk(p.tree)
	return out
}

// HeaderSize is the size of a Bitcoin block header in bytes.
const HeaderSize = 80

// Header is a Bitcoin block header.
type Header [HeaderSize]byte

// ParseHeader reads the file form of a header: 160 lower-case hexadecimal digits and a newline.
func ParseHeader(file []byte) (Header, error) {
	var h Header
	b, err := hex.DecodeString(string(bytes.TrimSuffix(file, []byte{'\n'})))
	if err != nil || len(b) != HeaderSize {
		return h, errors.New("reading block header: not 80 bytes in hexadecimal")
	}
	if h = Header(b); !bytes.Equal(h.File(), file) {
		return h, errors.New("reading block header: not in lower case with a newline")
	}
	return h, nil
}

// File returns what ParseHeader reads.
func (h Header) File() []byte { return append(hex.AppendEncode(nil, h[:]), '\n') }

// Time is what the header says of its time, UTC, which may be off by hours.
func (h Header) Time() time.Time {
	return time.Unix(int64(binary.LittleEndian.Uint32(h[68:])), 0).UTC()
}

// Hash is the block's hash as it is shown to people, by which a reader finds the block in any
// explorer.
func (h Header) Hash() string {
	sum := sha256.Sum256(h[:])
	sum = sha256.Sum256(sum[:])
	for i := range len(sum) / 2 {
		sum[i], sum[31-i] = sum[31-i], sum[i]
	}
	return hex.EncodeToString(sum[:])
}

// Commits demands that message is the header's Merkle root.
func (h Header) Commits(message []byte) error {
	if !bytes.Equal(message, h[36:68]) {
		return errors.New("checking proof: the block does not commit to it")
	}
	return nil
}

// mainnetDifficulty is far under what any block since 2018 had to reach, and far over what can be
// made at home.
const mainnetDifficulty = 1e12

// Work demands that the header was made with at least the difficulty it states, and that this is at
// least least; 0 takes what Bitcoin's main chain has exceeded since 2018. It tells a block that
// cost its maker dearly from one made for the occasion; that it is the one at its height, any node
// or explorer tells.
func (h Header) Work(least float64) error {
	least = cmp.Or(least, mainnetDifficulty)
	bits := binary.LittleEndian.Uint32(h[72:])
	mantissa, exponent := int64(bits&0x7fffff), int(bits>>24)
	if bits&0x800000 != 0 || mantissa == 0 || exponent < 3 || exponent > 32 {
		return errors.New("checking block header: it states no difficulty")
	}
	target := new(big.Int).Lsh(big.NewInt(mantissa), uint(8*(exponent-3)))
	hash, ok := new(big.Int).SetString(h.Hash(), 16)
	if !ok || hash.Cmp(target) > 0 {
		return errors.New("checking block header: it was not made with the difficulty it states")
	}
	difficulty := float64(0xffff) / float64(mantissa) * math.Pow(256, float64(0x1d-exponent))
	if difficulty < least {
		return fmt.Errorf("checking block header: of difficulty %.3g, want %.3g", difficulty, least)
	}
	return nil
}

// The states of a proof.
const (
	StateVerified  = "bitcoin_verified"
	StateUnchecked = "bitcoin_unchecked" // no header at hand, or one of too little work
	StatePending   = "pending"
	StateMismatch  = "mismatch" // a header at hand does not commit to it
	StateUnknown   = "unknown_only"
)

// Status is what a proof shows with the headers at hand.
type Status struct {
	State     string    `json:"state"`
	Height    int64     `json:"height,omitzero"` // of the earliest block, unless pending or unknown
	Time      time.Time `json:"time,omitzero"`   // of that block, if verified
	Block     string    `json:"block,omitzero"`  // its hash, if verified
	Calendars []string  `json:"calendars,omitzero"`
}

// Check judges a proof. headers holds block headers by height; least is as in Header.Work.
func (p Proof) Check(headers map[int64]Header, least float64) Status {
	s := Status{State: StateUnknown}
	rank := map[string]int{StateUnknown: 0, StatePending: 1, StateUnchecked: 2, StateVerified: 3, StateMismatch: 4}
	raise := func(state string, height int64) bool {
		if rank[state] < rank[s.State] || state == s.State && s.Height != 0 && s.Height <= height {
			return false
		}
		s.State, s.Height = state, height
		return true
	}
	for _, c := range p.Claims() {
		switch c.Kind {
		case Pending:
			s.Calendars = append(s.Calendars, c.Calendar)
			raise(StatePending, 0)
		case Bitcoin:
			h, ok := headers[c.Height]
			switch {
			case !ok:
				raise(StateUnchecked, c.Height)
			case h.Commits(c.Message) != nil:
				raise(StateMismatch, c.Height)
			case h.Work(least) != nil:
				raise(StateUnchecked, c.Height)
			case raise(StateVerified, c.Height):
				s.Time, s.Block = h.Time(), h.Hash()
			}
		}
	}
	if s.State == StateMismatch {
		s.Time, s.Block = time.Time{}, ""
	}
	return s
}
