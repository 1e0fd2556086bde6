package attest

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/rule"
)

// HandoverFormat names the signed record by which a key names its successor.
const HandoverFormat = "store-key-handover/v1"

// Handover is a key's last word: its signed statement which key follows it.
// The signature, by the outgoing key, covers the canonical bytes of all other
// fields in this order.
type Handover struct {
	Format     string   `json:"format"` // HandoverFormat
	Purpose    Purpose  `json:"purpose"`
	FromKID    string   `json:"from_kid"`
	FromPublic Hex      `json:"from_public_key"`
	ToKID      string   `json:"to_kid"`
	ToPublic   Hex      `json:"to_public_key"`
	Effective  string   `json:"effective"` // UTC date, YYYY-MM-DD
	Reason     string   `json:"reason"`
	LastHead   *LogHead `json:"last_head,omitzero"` // of a log key, and of no other
	Signature  Hex      `json:"signature,omitzero"`
}

// LogHead is the state of the log at which its key changes hands: the last head that the outgoing
// key signed. A checkpoint of more leaves is not its own, whatever its signature; one of fewer is
// not the incoming key's. The size is 0, with the root of the empty tree, where nothing was logged
// yet.
type LogHead struct {
	Size int64  `json:"size"` // leaves
	Root Digest `json:"root"`
}

func (l LogHead) check() error {
	if l.Size < 0 || l.Size > MaxInteger || l.Size == 0 && l.Root != MerkleRoot(nil) {
		return fmt.Errorf("verifying handover: a last head of %d leaves with root %s", l.Size, l.Root)
	}
	return nil
}

// Change is what a handover says, beside the keys.
type Change struct {
	Purpose   Purpose
	Effective string // UTC date, YYYY-MM-DD
	Reason    string
	LastHead  *LogHead // needed for PurposeLog
}

// NewHandover signs that outgoing is followed by incoming on the date.
func NewHandover(c Change, outgoing *Key, incoming ed25519.PublicKey) (Handover, error) {
	h := Handover{
		Format: HandoverFormat, Purpose: c.Purpose,
		FromKID: outgoing.KID(), FromPublic: Hex(outgoing.Public()),
		ToKID: KID(incoming), ToPublic: Hex(incoming),
		Effective: c.Effective, Reason: c.Reason, LastHead: c.LastHead,
	}
	payload, err := h.payload()
	if err != nil {
		return Handover{}, err
	}
	h.Signature = outgoing.Sign(payload)
	return h, h.Verify()
}

func (h Handover) payload() ([]byte, error) {
	h.Signature = nil
	return Canonical(h)
}

// Verify checks the record alone: its shape, its kids and the signature of the
// outgoing key. Whether that key is one to trust, VerifyHandovers says.
func (h Handover) Verify() error {
	switch {
	case h.Format != HandoverFormat:
		return rule.RingForm.Errorf("verifying handover: format is %q, want %q", h.Format, HandoverFormat)
	case len(h.FromPublic) != ed25519.PublicKeySize || len(h.ToPublic) != ed25519.PublicKeySize:
		return rule.RingForm.Errorf("verifying handover: a public key has the wrong length")
	case h.FromKID != KID(ed25519.PublicKey(h.FromPublic)) || h.ToKID != KID(ed25519.PublicKey(h.ToPublic)):
		return rule.RingKey.Errorf("verifying handover: a kid is not the thumbprint of its key")
	case h.FromKID == h.ToKID:
		return errors.New("verifying handover: a key cannot follow itself")
	case !isDate(h.Effective):
		return rule.RingForm.Errorf("verifying handover: %q is not a date", h.Effective)
	case h.Purpose == PurposeLog && h.LastHead == nil:
		return errors.New("verifying handover: of a log key, and it does not name the last head that the key signed")
	case h.Purpose != PurposeLog && h.LastHead != nil:
		return fmt.Errorf("verifying handover: a last head of the log in a handover of the %s key", h.Purpose)
	}
	if h.LastHead != nil {
		if err := h.LastHead.check(); err != nil {
			return err
		}
	}
	payload, err := h.payload()
	if err != nil {
		return err
	}
	if !Verify(ed25519.PublicKey(h.FromPublic), payload, h.Signature) {
		return rule.RingSignature.Errorf("verifying handover: the outgoing key did not sign it")
	}
	return nil
}

// follows reports whether a log can have grown from one head to the other.
func (l *LogHead) follows(before *LogHead) bool {
	if l == nil || before == nil {
		return l == before
	}
	return l.Size > before.Size || *l == *before
}

// VerifyHandovers follows a chain, oldest first, from a key the caller trusts
// to the key in force. An empty chain is right when the two are the same.
func VerifyHandovers(chain []Handover, first, current ed25519.PublicKey) error {
	at, date := Hex(first), ""
	used := map[string]bool{KID(first): true}
	for i, h := range chain {
		if err := h.Verify(); err != nil {
			return err
		}
		switch {
		case !bytes.Equal(h.FromPublic, at):
			return fmt.Errorf("verifying handovers: number %d is signed by %s, which was not in force", i+1, h.FromKID)
		case h.Purpose != chain[0].Purpose:
			return fmt.Errorf("verifying handovers: number %d is for %s, not %s", i+1, h.Purpose, chain[0].Purpose)
		case h.Effective < date:
			return fmt.Errorf("verifying handovers: number %d took effect before the one it follows", i+1)
		case i > 0 && !h.LastHead.follows(chain[i-1].LastHead):
			return fmt.Errorf("verifying handovers: number %d is of a log that does not go on from the one before", i+1)
		case used[h.ToKID]:
			return fmt.Errorf("verifying handovers: number %d brings back %s", i+1, h.ToKID)
		}
		used[h.ToKID] = true
		at, date = h.ToPublic, h.Effective
	}
	if !bytes.Equal(at, current) {
		return errors.New("verifying handovers: the chain does not lead to the key in force")
	}
	return nil
}

// Handover returns the ring after outgoing, the key in force for a purpose,
// has handed over to incoming. The ring itself is not changed.
func (r Ring) Handover(c Change, outgoing *Key, incoming ed25519.PublicKey) (Ring, error) {
	next := r
	next.Current = append([]PublicKey(nil), r.Current...)
	for i, k := range next.Current {
		if k.Purpose != c.Purpose {
			continue
		}
		if k.KID != outgoing.KID() {
			return Ring{}, fmt.Errorf("handing over: %s is not the %s key in force", outgoing.KID(), c.Purpose)
		}
		h, err := NewHandover(c, outgoing, incoming)
		if err != nil {
			return Ring{}, err
		}
		next.Current[i] = PublicKey{Purpose: c.Purpose, Public: Hex(incoming), KID: KID(incoming), Since: c.Effective}
		next.Retired = append(append([]RetiredKey(nil), r.Retired...), RetiredKey{PublicKey: k, RetiredOn: c.Effective})
		next.Handovers = append(append([]Handover(nil), r.Handovers...), h)
		return next, next.Check()
	}
	return Ring{}, fmt.Errorf("handing over: no %s key in force", c.Purpose)
}
