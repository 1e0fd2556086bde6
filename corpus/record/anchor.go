package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
)

// AnchorFormat names the format of an AnchorLog.
const AnchorFormat = "store-anchor-log/v1"

// AnchorFile is where a published tree keeps the anchor log.
const AnchorFile = ".well-known/anchor-log.json"

// Anchor is the state of the identity key and the number of artifacts at one moment. Anchors are a
// hash chain: the digest of one is SHA-256 of its canonical bytes, and each names that of the one
// before.
type Anchor struct {
	Version              int64         `json:"version"`         // 1
	Sequence             int64         `json:"sequence"`        // from 1, without gaps
	TakenAt              string        `json:"taken_at"`        // RFC 3339 UTC, whole seconds
	PreviousDigest       attest.Digest `json:"previous_digest"` // all zero in the first
	CurrentPublicKey     attest.Hex    `json:"current_public_key"`
	RetiredKeys          []AnchorKey   `json:"retired_keys"` // oldest first
	ArtifactsIssuedTotal int64         `json:"artifacts_issued_total"`
}

// AnchorKey is an identity key that signs no more.
type AnchorKey struct {
	PublicKey attest.Hex `json:"public_key"`
	RetiredOn string     `json:"retired_on"` // UTC date
}

// Digest is SHA-256 of the anchor's canonical bytes.
func (a Anchor) Digest() (attest.Digest, error) {
	raw, err := attest.Canonical(a)
	return sha256.Sum256(raw), err
}

// Anchors derives the chain from the keys of a ring and the feed of observations: first the oldest
// identity key of the ring, from the day it came into use, then one anchor for each handover of the
// identity and for each count of artifacts. A handover that is not on the feed is not in the chain.
func Anchors(ring attest.Ring, feed []Observation) ([]Anchor, error) {
	first := ring.Identity()
	for _, k := range ring.Retired {
		if k.Purpose == attest.PurposeIdentity {
			first = k.PublicKey
			break
		}
	}
	if first.KID == "" {
		return nil, errors.New("deriving anchors: the ring has no identity key")
	}
	now := Anchor{Version: 1, Sequence: 1, TakenAt: first.Since + "T00:00:00Z", CurrentPublicKey: first.Public,
		RetiredKeys: []AnchorKey{}}
	chain := []Anchor{now}
	for _, o := range feed {
		switch h := o.Handover; {
		case o.Issued != nil:
			now.ArtifactsIssuedTotal = o.Issued.Total
		case h != nil && h.Purpose == attest.PurposeIdentity:
			if !bytes.Equal(h.FromPublic, now.CurrentPublicKey) {
				return nil, fmt.Errorf("deriving anchors: observation %d hands over a key that is not in force",
					o.Number)
			}
			now.CurrentPublicKey = h.ToPublic
			now.RetiredKeys = append(now.RetiredKeys[:len(now.RetiredKeys):len(now.RetiredKeys)],
				AnchorKey{PublicKey: h.FromPublic, RetiredOn: h.Effective})
		default:
			continue
		}
		previous, err := chain[len(chain)-1].Digest()
		if err != nil {
			return nil, fmt.Errorf("deriving anchors: %w", err)
		}
		now.Sequence, now.TakenAt, now.PreviousDigest = int64(len(chain)+1), o.At, previous
		chain = append(chain, now)
	}
	return chain, nil
}

// Anchors derives the chain of this record.
func (r *Record) Anchors() ([]Anchor, error) {
	feed, err := r.Observations()
	if err != nil {
		return nil, err
	}
	return Anchors(r.ring, feed)
}

// AnchorProofDir is where a record keeps the proofs of an anchor.
func AnchorProofDir(sequence int64) string {
	return "proofs/anchor-" + strconv.FormatInt(sequence, 10)
}

// AnchorOf reads the number of an anchor out of its proofs' directory.
func AnchorOf(dir string) (int64, bool) {
	text, ok := strings.CutPrefix(path.Base(dir), "anchor-")
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil && AnchorProofDir(n) == dir
}

// AnchorProof merges the proofs of an anchor; ok is false while there are none. least is as in
// ots.Header.Work.
func (r *Record) AnchorProof(sequence int64, least float64) (out RoundProof, ok bool, err error) {
	return r.merged(AnchorProofDir(sequence), least)
}

// AnchorLog is the published chain.
type AnchorLog struct {
	Format      string        `json:"format"` // AnchorFormat
	Description string        `json:"description"`
	HowToVerify []string      `json:"how_to_verify"`
	Entries     []AnchorEntry `json:"entries"` // oldest first
}

// AnchorEntry is one anchor with its digest and what is known of when it existed.
type AnchorEntry struct {
	Snapshot Anchor        `json:"snapshot"`
	Digest   attest.Digest `json:"digest"`
	OTS      AnchorProof   `json:"ots"`
}

// AnchorProof is the OpenTimestamps proof of an anchor's digest.
type AnchorProof struct {
	Status    string   `json:"status"` // none, or a state of package ots
	Height    int64    `json:"height,omitzero"`
	Block     string   `json:"block,omitzero"`
	Time      string   `json:"time,omitzero"` // RFC 3339, of the block
	Calendars []string `json:"calendars,omitzero"`
	Proof     string   `json:"proof_base64,omitzero"` // the detached proof of the digest
}

const anchorNone = "none"

// AnchorLog makes the published chain of this record, whose Observations feed is. It depends on
// nothing else.
func (r *Record) AnchorLog(feed []Observation) (AnchorLog, error) {
	chain, err := Anchors(r.ring, feed)
	if err != nil {
		return AnchorLog{}, err
	}
	out := AnchorLog{Format: AnchorFormat,
		Description: "A hash chain over the state of the identity key and the number of artifacts issued, one entry " +
			"for each change that the signed record holds, anchored to Bitcoin by OpenTimestamps.",
		HowToVerify: []string{
			"digest is SHA-256 of snapshot as compact JSON with its members in this order; previous_digest is the " +
				"digest of the entry before.",
			"current_public_key and retired_keys follow from the key events among the record's observations, and " +
				"artifacts_issued_total from its counts of artifacts.",
			"proof_base64 is a detached OpenTimestamps proof of digest: any OpenTimestamps client verifies it " +
				"against Bitcoin. A pending proof proves nothing yet.",
		}}
	for _, a := range chain {
		e := AnchorEntry{Snapshot: a, OTS: AnchorProof{Status: anchorNone}}
		if e.Digest, err = a.Digest(); err != nil {
			return AnchorLog{}, err
		}
		p, ok, err := r.AnchorProof(a.Sequence, 0)
		if err != nil {
			return AnchorLog{}, err
		}
		if ok {
			e.OTS = AnchorProof{Status: p.Status.State, Height: p.Status.Height, Block: p.Status.Block,
				Calendars: p.Status.Calendars,
				Proof:     base64.StdEncoding.EncodeToString(p.Merged.Encode())}
			if !p.Status.Time.IsZero() {
				e.OTS.Time = p.Status.Time.UTC().Format(SecondLayout)
			}
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// Encode returns the file form: indented JSON and a newline.
func (l AnchorLog) Encode() ([]byte, error) {
	b, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

// CheckAnchorLog checks a published chain against the record that it says it follows from: its
// entries are the beginning of the record's chain, because a tree may be older than the record
// beside it, and its proofs are about them.
func CheckAnchorLog(raw []byte, ring attest.Ring, feed []Observation) error {
	var l AnchorLog
	if err := json.Unmarshal(raw, &l, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("reading anchor log: %w", err)
	}
	if again, err := l.Encode(); err != nil || !bytes.Equal(again, raw) || l.Format != AnchorFormat {
		return errors.Join(errors.New("reading anchor log: not in its form"), err)
	}
	chain, err := Anchors(ring, feed)
	if err != nil {
		return err
	}
	if len(l.Entries) == 0 || len(l.Entries) > len(chain) {
		return fmt.Errorf("checking anchor log: it has %d entries and the record gives %d", len(l.Entries), len(chain))
	}
	for i, e := range l.Entries {
		want, err := chain[i].Digest()
		if err != nil {
			return err
		}
		shown, err := e.Snapshot.Digest()
		if err != nil || e.Digest != want || shown != want {
			return errors.Join(fmt.Errorf("checking anchor log: entry %d does not follow from the record", i+1), err)
		}
		if err := e.OTS.check(want); err != nil {
			return fmt.Errorf("checking anchor log: entry %d: %w", i+1, err)
		}
	}
	return nil
}

func (p AnchorProof) check(digest attest.Digest) error {
	if p.Status == anchorNone {
		if p.Proof != "" {
			return errors.New("a proof where it says there is none")
		}
		return nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(p.Proof)
	if err != nil {
		return err
	}
	parsed, err := ots.Parse(raw)
	if err != nil {
		return err
	}
	if parsed.Digest != digest {
		return errors.New("its proof is about something else")
	}
	return nil
}
