package tlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentstore/corpus/attest"
)

// Witness is a third party that signs checkpoints it found consistent with those it saw before
// (c2sp.org/tlog-cosignature and c2sp.org/tlog-witness).
type Witness struct {
	Name   string
	Public ed25519.PublicKey
}

// ParseWitness reads the text form of a witness's key: name+id+base64 of the algorithm, 4, and the
// key.
func ParseWitness(vkey string) (Witness, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 || parts[0] == "" || strings.ContainsAny(parts[0], " \n") {
		return Witness{}, errors.New("reading witness key: not name+id+key")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(parts[2])
	if err != nil || len(b) != 1+ed25519.PublicKeySize || b[0] != algCosigned {
		return Witness{}, errors.New("reading witness key: not an Ed25519 key for cosignatures")
	}
	w := Witness{Name: parts[0], Public: b[1:]}
	if w.Key() != vkey {
		return Witness{}, errors.New("reading witness key: the id is not that of the key")
	}
	return w, nil
}

// Key returns the text form that ParseWitness reads.
func (w Witness) Key() string {
	return verifierKey(w.Name, algCosigned, w.Public)
}

// Cosignature is one witness's verified signature of a checkpoint.
type Cosignature struct {
	Witness string
	At      time.Time // when the witness says it signed, UTC
	Line    string    // with its newline
}

// CheckCosignatures demands lines in the form of signatures, whoever made them.
func CheckCosignatures(lines []byte) error {
	if len(lines) > maxNote {
		return errors.New("too large")
	}
	if _, err := splitNoteLines(string(lines)); err != nil || len(lines) == 0 {
		return errors.New("not signature lines of a note")
	}
	return nil
}

// Cosignatures verifies the signature lines of third parties under a checkpoint. Lines by keys that
// are not among the witnesses are dropped; a witness whose line does not fit, or who signs twice,
// is an error.
func Cosignatures(c Checkpoint, lines []byte, witnesses []Witness) ([]Cosignature, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	if len(lines) > maxNote {
		return nil, errors.New("reading cosignatures: too large")
	}
	sigs, err := splitNoteLines(string(lines))
	if err != nil {
		return nil, err
	}
	var out []Cosignature
	signed := make(map[string]bool)
	for _, s := range sigs {
		for _, w := range witnesses {
			if s.name != w.Name || s.id != keyID(w.Name, algCosigned, w.Public) {
				continue
			}
			if signed[w.Key()] {
				return nil, fmt.Errorf("reading cosignatures: %s signs twice", w.Name)
			}
			signed[w.Key()] = true
			if len(s.sig) != cosignedBytes {
				return nil, fmt.Errorf("reading cosignatures: %s signed with %d bytes", w.Name, len(s.sig))
			}
			at := binary.BigEndian.Uint64(s.sig)
			if at > 1<<40 || !attest.Verify(w.Public, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, c.Text),
				s.sig[8:]) {
				return nil, fmt.Errorf("reading cosignatures: the signature of %s does not fit", w.Name)
			}
			out = append(out, Cosignature{Witness: w.Name, At: time.Unix(int64(at), 0).UTC(), Line: s.raw})
		}
	}
	return out, nil
}
