package archive

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// The classes of what the record holds, each signed by itself. Their ids are the class, an
// underscore and a number: a round's sequence, a row's log index, an observation's number.
const (
	ClassRound       = "round"
	ClassRow         = "row"
	ClassObservation = "observation"
)

// Signed is one signed thing of the record with all that is needed to check it.
type Signed struct {
	Class     string
	Raw       []byte // the exact bytes as published: a row, an observation, a round's header
	Payload   []byte // the exact bytes that were signed
	Signer    attest.Signer
	Signature attest.Hex
	Leaf      int64      // the log index of Raw, or of the leaf that commits to a round
	Entry     []byte     // that leaf
	Size      int64      // of the log under whose checkpoint Proof is
	Proof     tlog.Proof // of Entry
}

// Signed finds a signed thing by its id and checks its signature; false for an id that names
// nothing of this record.
func (s *State) Signed(id string) (Signed, bool, error) {
	class, digits, _ := strings.Cut(id, "_")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return Signed{}, false, nil
	}
	out := Signed{Class: class}
	log := s.Record.Log
	size := log.Head().Size
	switch class {
	case ClassRound:
		round, ok := s.Record.Round(n)
		if !ok {
			return Signed{}, false, nil
		}
		out.Leaf, size = round.RoundLeaf(), round.LeavesEnd()
		if out.Raw, err = s.Record.Header(n); err != nil {
			return Signed{}, false, err
		}
	case ClassRow:
		round, ok := s.roundOf(n)
		if !ok {
			return Signed{}, false, nil
		}
		out.Leaf, size = n, round.LeavesEnd()
	case ClassObservation:
		if out.Leaf, _ = s.Record.ObservationLeaf(n); n < 1 || n > int64(len(s.Feed)) || out.Leaf >= size {
			return Signed{}, false, nil
		}
	default:
		return Signed{}, false, nil
	}
	if out.Entry, err = log.Entry(out.Leaf); err != nil {
		return Signed{}, false, err
	}
	if out.Proof, err = log.Prove(out.Leaf, size, s.Record.Ring()); err != nil {
		return Signed{}, false, err
	}
	out.Size = size
	if class != ClassRound {
		out.Raw = out.Entry
	}
	return out, true, out.open(s.Record.Ring())
}

// KeyPlace says where the log shows an identity key: at the event that handed over to it, or at
// leaf 0 if that is signed by it. It is nil where the log does not show it yet.
func (s *State) KeyPlace(kid string) (*attest.KeyPlace, error) {
	if held, ok := s.places.Load(kid); ok {
		return held.(*attest.KeyPlace), nil
	}
	ids := []string{ClassRow + "_0", ClassObservation + "_1"} // of which one may be leaf 0
	for _, o := range s.Feed {
		if o.Handover != nil && o.Handover.ToKID == kid {
			ids = append(ids, fmt.Sprintf("%s_%d", ClassObservation, o.Number))
		}
	}
	for _, id := range ids {
		g, ok, err := s.Signed(id)
		if err != nil {
			return nil, err
		}
		p := attest.KeyPlace{EntrySHA256: sha256.Sum256(g.Entry), ID: id, Leaf: g.Leaf,
			Origin: s.Record.Log.Head().Origin}
		if ok && p.Shows(g.Entry, kid) == nil {
			s.places.Store(kid, &p)
			return &p, nil
		}
	}
	return nil, nil
}

// roundOf is the round of which a leaf is a row.
func (s *State) roundOf(leaf int64) (record.Round, bool) {
	for _, r := range s.Record.Rounds() {
		if leaf >= r.FirstLeaf && leaf < r.FirstLeaf+r.Rows {
			return r, true
		}
	}
	return record.Round{}, false
}

// open cuts the signed bytes out of the published ones and checks the signature. A signature stands
// last, and a round's digest before it.
func (g *Signed) open(ring attest.Ring) error {
	var end struct {
		KID       string     `json:"kid"`
		Digest    string     `json:"digest"`
		Signature attest.Hex `json:"signature"`
	}
	if err := json.Unmarshal(g.Raw, &end); err != nil {
		return fmt.Errorf("reading a signed %s: %w", g.Class, err)
	}
	tail := fmt.Appendf(nil, `,"signature":"%s"}`, end.Signature)
	if g.Class == ClassRound {
		tail = fmt.Appendf(nil, `,"digest":"%s"%s`, end.Digest, tail)
	}
	body, ok := bytes.CutSuffix(g.Raw, tail)
	if !ok {
		return fmt.Errorf("reading a signed %s: its signature does not stand last", g.Class)
	}
	g.Payload, g.Signature = append(bytes.Clone(body), '}'), end.Signature
	if g.Signer, ok = ring.ByKID(end.KID); !ok || g.Signer.Purpose != attest.PurposeIdentity {
		return fmt.Errorf("reading a signed %s: %w: %s", g.Class, attest.ErrUnknownKey, end.KID)
	}
	if !attest.Verify(ed25519.PublicKey(g.Signer.Public), g.Payload, g.Signature) {
		return errors.New("reading a signed " + g.Class + ": the signature does not fit")
	}
	return nil
}
