package tlog

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"
)

// Witness is a third party that signs checkpoints it found consistent with those it saw before
// (c2sp.org/tlog-cosignature and c2sp.org/tlog-witness).
type Witness struct {
	Name   string
	Public []byte // of Ed25519, or of ML-DSA-44
}

// ParseWitness reads the text form of a witness's key: name+id+base64 of the algorithm, 4 for
// Ed25519 and 6 for ML-DSA-44, and the key.
func ParseWitness(vkey string) (Witness, error) {
	k, err := parseKey(vkey)
	if err == nil && k.algorithm == algEd25519 {
		err = errors.New("a key that signs notes, and not for cosignatures")
	}
	if err != nil {
		return Witness{}, fmt.Errorf("reading witness key: %w", err)
	}
	return Witness{k.name, k.public}, nil
}

// Key returns the text form that ParseWitness reads.
func (w Witness) Key() string { return w.key().String() }

func (w Witness) key() noteKey { return keyOf(w.Name, algCosigned, w.Public) }

// keyOf is the key with a public half, by ML-DSA-44 or, if it is as short, by an algorithm of
// Ed25519.
func keyOf(name string, short byte, public []byte) noteKey {
	if len(public) == ed25519.PublicKeySize {
		return noteKey{name, short, public}
	}
	return noteKey{name, algMLDSA44, public}
}

// Cosignature is one witness's verified signature of a checkpoint.
type Cosignature struct {
	Witness string
	At      time.Time // when the witness says it signed, UTC; zero where it does not say
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
			if !w.key().made(s) {
				continue
			}
			if signed[w.Key()] {
				return nil, fmt.Errorf("reading cosignatures: %s signs twice", w.Name)
			}
			signed[w.Key()] = true
			at, ok := w.key().verify(c, s.sig)
			if !ok {
				return nil, fmt.Errorf("reading cosignatures: the signature of %s does not fit", w.Name)
			}
			out = append(out, Cosignature{Witness: w.Name, At: at, Line: s.raw})
		}
	}
	return out, nil
}
