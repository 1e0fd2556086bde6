package tlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// A checkpoint is a C2SP signed note. It is opened line by line, more strictly than x/mod's
// note.Open: each signature has one spelling, and no key signs twice.

const (
	maxNote     = 256 << 10 // a signature by ML-DSA-44 is a line of 3,300 bytes
	maxNoteSigs = 64
	noteDash    = "— "
)

// Checkpoint is the head of the log at one size, as its key signed it.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   attest.Digest
	Text   string // the signed text
	Raw    []byte // the signed note with the log's own signature line alone
}

// noteLine is one signature line of a note.
type noteLine struct {
	name string
	id   uint32
	sig  []byte // without the key id
	raw  string // with its newline
}

// splitNote takes a note apart. Nothing is verified.
func splitNote(raw []byte) (text string, sigs []noteLine, err error) {
	if len(raw) > maxNote {
		return "", nil, rule.FileSize.Errorf("opening note: larger than %d bytes", maxNote)
	}
	if !utf8.Valid(raw) {
		return "", nil, errors.New("opening note: not UTF-8")
	}
	s := string(raw)
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 }) {
		return "", nil, errors.New("opening note: control character")
	}
	i := strings.LastIndex(s, "\n\n")
	if i < 0 {
		return "", nil, errors.New("opening note: no signatures")
	}
	sigs, err = splitNoteLines(s[i+2:])
	return s[:i+1], sigs, err
}

func splitNoteLines(s string) (sigs []noteLine, err error) {
	if !strings.HasSuffix(s, "\n") {
		return nil, errors.New("opening note: no signature lines, or the last one does not end")
	}
	for line := range strings.Lines(s) {
		fail := fmt.Errorf("opening note: malformed signature line %d", len(sigs)+1)
		name, b64, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, noteDash), "\n"), " ")
		if !ok || !strings.HasPrefix(line, noteDash) || name == "" || strings.ContainsAny(name, "+") ||
			len(sigs) == maxNoteSigs {
			return nil, fail
		}
		b, err := base64.StdEncoding.Strict().DecodeString(b64)
		if err != nil || len(b) < 5 || base64.StdEncoding.EncodeToString(b) != b64 {
			return nil, fail
		}
		sigs = append(sigs, noteLine{name: name, id: binary.BigEndian.Uint32(b), sig: b[4:], raw: line})
	}
	return sigs, nil
}

// noteSigner lets a log key sign notes.
type noteSigner struct {
	name string
	key  *attest.Key
}

func (s noteSigner) Name() string                        { return s.name }
func (s noteSigner) KeyHash() uint32                     { return s.noteKey().id() }
func (s noteSigner) noteKey() noteKey                    { return noteKey{s.name, algEd25519, s.key.Public()} }
func (s noteSigner) Sign(message []byte) ([]byte, error) { return s.key.Sign(message), nil }

// VerifierKey returns the text by which clients of the log know its key (c2sp.org/signed-note).
func VerifierKey(origin string, pub ed25519.PublicKey) string {
	return noteKey{origin, algEd25519, pub}.String()
}

// signCheckpoint signs the head of a log.
func signCheckpoint(origin string, size int64, root attest.Digest, k *attest.Key) (Checkpoint, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
	raw, err := note.Sign(&note.Note{Text: text}, noteSigner{origin, k})
	if err != nil {
		return Checkpoint{}, fmt.Errorf("signing checkpoint: %w", err)
	}
	return Checkpoint{Origin: origin, Size: size, Root: root, Text: text, Raw: raw}, nil
}

// parseCheckpoint reads the text of a checkpoint, which has no extension lines.
func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] == "" || lines[3] != "" {
		return Checkpoint{}, errors.New("reading checkpoint: not three lines")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("reading checkpoint: size %q", lines[1])
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != sha256.Size {
		return Checkpoint{}, fmt.Errorf("reading checkpoint: root %q", lines[2])
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: attest.Digest(root), Text: text}, nil
}

// OpenCheckpoint opens a checkpoint and demands that a log key of the ring signed it under the
// log's own name, its origin, at a size at which that key was in force: a key that was handed over
// up to its last head, and its successor from there on (attest.ErrNotInForce). At the size of a
// handover the root is the one that it names. That a smaller head is of the same log as that one
// shows its consistency alone, which Open, package verify and package verify look at. Raw of the
// result holds that one signature; the lines of others, which were not looked at beyond their form,
// come beside.
func OpenCheckpoint(raw []byte, ring attest.Ring) (c Checkpoint, others []byte, err error) {
	text, sigs, err := splitNote(raw)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	if c, err = parseCheckpoint(text); err != nil {
		return Checkpoint{}, nil, err
	}
	keys := make(map[uint32]attest.LogKey)
	for _, k := range ring.LogKeys() {
		keys[noteKey{c.Origin, algEd25519, k.Public}.id()] = k
	}
	for _, s := range sigs {
		k, ours := keys[s.id]
		if !ours || s.name != c.Origin {
			others = append(others, s.raw...)
			continue
		}
		if c.Raw != nil {
			return Checkpoint{}, nil, errors.New("opening checkpoint: more than one signature by the log")
		}
		if !attest.Verify(ed25519.PublicKey(k.Public), []byte(text), s.sig) {
			return Checkpoint{}, nil, rule.CheckpointSignature.Errorf("opening checkpoint: the log's " +
				"signature does not fit")
		}
		if err := inForce(k, c); err != nil {
			return Checkpoint{}, nil, fmt.Errorf("opening checkpoint: %w", err)
		}
		c.Raw = []byte(text + "\n" + s.raw)
	}
	if c.Raw == nil {
		return Checkpoint{}, nil, rule.CheckpointKey.Errorf("opening checkpoint: %w: not signed by a log key "+
			"of the ring", attest.ErrUnknownKey)
	}
	return c, others, nil
}

// inForce demands that a log key might sign a checkpoint.
func inForce(k attest.LogKey, c Checkpoint) error {
	switch {
	case k.To != nil && c.Size > k.To.Size:
		return rule.CheckpointKey.Errorf("%w: log key %s handed over at %d leaves, and this head has %d",
			attest.ErrNotInForce, k.KID, k.To.Size, c.Size)
	case c.Size < k.From.Size:
		return rule.CheckpointKey.Errorf("%w: log key %s signs from %d leaves on, and this head has %d",
			attest.ErrNotInForce, k.KID, k.From.Size, c.Size)
	}
	for _, at := range []*attest.LogHead{&k.From, k.To} {
		if at != nil && c.Size == at.Size && c.Root != at.Root {
			return rule.LogHandover.Errorf("%w: at %d leaves, where the log changed hands, its root is %s and not %s",
				attest.ErrNotInForce, at.Size, at.Root, c.Root)
		}
	}
	return nil
}
