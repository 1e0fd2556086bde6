package record

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// ObservationFormat names the format of an Observation.
const ObservationFormat = "store-observation/v1"

// The kinds of observations. Each has its own members; those of the others are absent.
const (
	ObservationRetiredWord     = "retired_word"     // Word and Epitaph: a word put on the public register
	ObservationPaidRefresh     = "paid_refresh"     // Refresh: a door walked for a buyer
	ObservationPaidWalk        = "paid_walk"        // Walk: a purchase at a door whose settlement was verified
	ObservationUnpaidWalk      = "unpaid_walk"      // Unpaid: a purchase at a door in which no money moved
	ObservationDeclaration     = "declaration"      // Declaration: a host's own list of its doors
	ObservationStandingNote    = "standing_note"    // Note: a host's own words
	ObservationPublishedTip    = "published_tip"    // Tip
	ObservationArtifactsIssued = "artifacts_issued" // Issued: how many artifacts there are
	ObservationKeyEvent        = "key_event"        // Handover of a key
	ObservationWithdrawn       = "withdrawn"        // Withdrawn: bytes that are missing on purpose
	ObservationRoster          = "roster"           // Roster: the hosts of a week, before they are walked
	ObservationErratum         = "erratum"          // Erratum: what a row should have said
)

// MaxObservation bounds one signed observation in bytes.
const MaxObservation = 16 << 10

// Observation is something that was born between rounds, one file of the
// folder observations, written once. Numbers begin at 1 and have no gaps. The
// signature covers the canonical bytes of all other fields in this order. What
// strangers wrote stands there as salted digests alone (Said).
type Observation struct {
	Format  string `json:"format"` // ObservationFormat
	Number  int64  `json:"number"`
	At      string `json:"at"`   // RFC 3339 in UTC, whole seconds
	Kind    string `json:"kind"` // Observation…
	Word    *Said  `json:"word,omitzero"`
	Epitaph string `json:"epitaph,omitzero"` // our own words

	Refresh     *Refresh         `json:"refresh,omitzero"`
	Walk        *PaidWalk        `json:"walk,omitzero"`
	Unpaid      *UnpaidWalk      `json:"unpaid,omitzero"`
	Declaration *Declaration     `json:"declaration,omitzero"`
	Note        *StandingNote    `json:"note,omitzero"`
	Tip         *Tip             `json:"tip,omitzero"`
	Issued      *Issued          `json:"issued,omitzero"`
	Handover    *attest.Handover `json:"handover,omitzero"`
	Withdrawn   *Withdrawn       `json:"withdrawn,omitzero"`
	Roster      *ClosedRoster    `json:"roster,omitzero"`
	Erratum     *Erratum         `json:"erratum,omitzero"`

	// Judgement is what a refresh was judged by. It travels with the observation to the record,
	// where it stands in a file of its own, and is never signed.
	Judgement string `json:"judgement,omitzero"`

	KID       string     `json:"kid"`
	Signature attest.Hex `json:"signature,omitzero"`
}

// File is the name of the observation's file, such as 000000017.json.
func (o Observation) File() string { return fmt.Sprintf("%09d.json", o.Number) }

// Subject is the host that an observation is of, "" for none.
func (o Observation) Subject() string {
	switch {
	case o.Refresh != nil:
		return o.Refresh.Host
	case o.Walk != nil:
		return o.Walk.Host
	case o.Unpaid != nil:
		return o.Unpaid.Host
	case o.Declaration != nil:
		return o.Declaration.Host
	case o.Note != nil:
		return o.Note.Host
	}
	return ""
}

// JudgedBy is the digest of the judgement that a refresh or an erratum rests on, "" for none.
func (o Observation) JudgedBy() string {
	switch {
	case o.Refresh != nil:
		return o.Refresh.EvidenceDigest
	case o.Erratum != nil:
		return o.Erratum.EvidenceDigest
	}
	return ""
}

// Check demands an observation that may stand in the record.
func (o Observation) Check() error {
	switch {
	case o.Format != ObservationFormat:
		return fmt.Errorf("checking observation: format is %.80q, not %q; hint: %w", o.Format, ObservationFormat,
			ErrNewer)
	case o.Number < 1 || o.Number > 999_999_999:
		return fmt.Errorf("checking observation: number %d", o.Number)
	case !IsSecond(o.At):
		return fmt.Errorf("checking observation %d: it is dated %q", o.Number, o.At)
	}
	if err := o.checkMembers(); err != nil {
		return rule.ObservationForm.Errorf("checking observation %d: %w", o.Number, err)
	}
	return nil
}

func (o Observation) payload() ([]byte, error) {
	o.Signature = nil
	return attest.Canonical(o)
}

// SignObservation returns the bytes of the observation's file.
func SignObservation(o Observation, k *attest.Key) ([]byte, error) {
	o.Format, o.KID = ObservationFormat, k.KID()
	if err := o.Check(); err != nil {
		return nil, err
	}
	o = o.Bare()
	payload, err := o.payload()
	if err != nil {
		return nil, fmt.Errorf("signing observation %d: %w", o.Number, err)
	}
	o.Signature = k.Sign(payload)
	raw, err := attest.Canonical(o)
	if err == nil && len(raw) > MaxObservation {
		err = fmt.Errorf("signing observation %d: %d bytes, more than %d", o.Number, len(raw), MaxObservation)
	}
	return raw, err
}

// VerifyObservation reads a file that SignObservation made and demands that an
// identity key of the ring, which was in force then, signed it.
func VerifyObservation(raw []byte, ring attest.Ring) (Observation, error) {
	if len(raw) > MaxObservation {
		return Observation{}, rule.FileSize.Errorf("reading observation: larger than %d bytes", MaxObservation)
	}
	var o Observation
	if err := attest.ParseCanonical(raw, &o); err != nil {
		return Observation{}, fmt.Errorf("reading observation: %w", err)
	}
	if err := o.Check(); err != nil {
		return Observation{}, err
	}
	if o.Judgement != "" {
		return Observation{}, fmt.Errorf("reading observation %d: what it was judged by stands in it, where its "+
			"digest alone belongs", o.Number)
	}
	for _, s := range o.said() {
		if s.Salt != nil || s.Text != "" {
			return Observation{}, fmt.Errorf("reading observation %d: a text stands in it, where its salted digest "+
				"alone belongs", o.Number)
		}
	}
	by, ok := ring.ByKID(o.KID)
	if !ok || by.Purpose != attest.PurposeIdentity {
		return Observation{}, rule.ObservationKey.Errorf("verifying observation %d: %w: %s", o.Number,
			attest.ErrUnknownKey, o.KID)
	}
	if err := by.InForce(o.At); err != nil {
		return Observation{}, rule.ObservationKey.Errorf("verifying observation %d: %w", o.Number, err)
	}
	payload, err := o.payload()
	if err != nil {
		return Observation{}, err
	}
	if !attest.Verify(ed25519.PublicKey(by.Public), payload, o.Signature) {
		return Observation{}, rule.ObservationSignature.Errorf("verifying observation %d: the signature does "+
			"not fit", o.Number)
	}
	return o, nil
}

// ReadObservations reads and verifies all observations of a record's folder, in
// order, with what is public of their texts. A record without the folder
// observations holds none; a gap, a stranger's file or a bad signature is an
// error, because the record is only ever appended to. A text that is not there is
// none: whether it was withdrawn is for package verify to say.
func ReadObservations(fsys fs.FS, ring attest.Ring) ([]Observation, error) {
	entries, err := fs.ReadDir(fsys, "observations")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing observations: %w", err)
	}
	var all []Observation
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // left by version control and editors
		}
		raw, err := fs.ReadFile(fsys, "observations/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading observation: %w", err)
		}
		o, err := VerifyObservation(raw, ring)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if want := int64(len(all) + 1); o.Number != want || e.Name() != o.File() {
			return nil, fmt.Errorf("%s: holds observation %d where %d belongs", e.Name(), o.Number, want)
		}
		if o, err = o.WithTexts(fsys); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
