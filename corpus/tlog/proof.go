package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

// ProofFormat is the first line of a proof's file form.
const ProofFormat = "c2sp.org/tlog-proof@v1"

// extraWord begins the line of a proof in which something may stand that nobody signed.
const extraWord = "extra "

// Proof shows that one leaf stands in the log, with no more than the leaf, the log's key and the
// proof itself. Its text is that of c2sp.org/tlog-proof.
type Proof struct {
	Index  int64
	Hashes []attest.Digest
	Note   []byte // the signed checkpoint, with cosignatures if there are any
}

// Prove makes the proof of a leaf under the checkpoint that was published at a size, which stays as
// it is however the log grows.
func (l *Log) Prove(index, size int64, ring attest.Ring) (Proof, error) {
	c, err := l.Checkpoint(size, ring)
	if err != nil {
		return Proof{}, err
	}
	hashes, err := l.Inclusion(index, size)
	if err != nil {
		return Proof{}, err
	}
	return Proof{Index: index, Hashes: hashes, Note: c.Raw}, nil
}

// ProveSeen makes the proof of a leaf under the newest checkpoint that third parties cosigned, with
// what they signed, or under the head where none did.
func (l *Log) ProveSeen(index int64, ring attest.Ring) (Proof, error) {
	entries, err := fs.ReadDir(l.fsys, Path("cosignatures"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Proof{}, fmt.Errorf("proving leaf %d: %w", index, err)
	}
	var seen int64
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && n > index && n <= l.head.Size {
			seen = max(seen, n)
		}
	}
	if seen == 0 {
		seen = l.head.Size
	}
	p, err := l.Prove(index, seen, ring)
	if err != nil {
		return Proof{}, err
	}
	lines, err := l.cosigned(seen)
	p.Note = append(p.Note, lines...)
	return p, err
}

// Text is the proof's file form.
func (p Proof) Text() []byte {
	line := base64.StdEncoding.EncodedLen(sumdb.HashSize) + 1
	b := make([]byte, 0, len(ProofFormat)+32+len(p.Hashes)*line+len(p.Note))
	b = fmt.Appendf(b, "%s\nindex %d\n", ProofFormat, p.Index)
	for _, h := range p.Hashes {
		b = append(base64.StdEncoding.AppendEncode(b, h[:]), '\n')
	}
	return append(append(b, '\n'), p.Note...)
}

// File is the proof's file form with the leaf in its extra line: with the keys of the log it can be
// checked by itself.
func (p Proof) File(leaf []byte) []byte {
	format, rest, _ := bytes.Cut(p.Text(), []byte("\n"))
	return fmt.Appendf(nil, "%s\n%s%s\n%s", format, extraWord, base64.StdEncoding.EncodeToString(leaf), rest)
}

// ParseProofFile reads the file form of a proof, with what stands in its extra line, nil for none.
// Nobody signed that, until it is shown to be the leaf.
func ParseProofFile(raw []byte) (p Proof, extra []byte, err error) {
	rest, ok := bytes.CutPrefix(raw, []byte(ProofFormat+"\n"+extraWord))
	if ok {
		line, rest, _ := bytes.Cut(rest, []byte("\n"))
		extra, err = base64.StdEncoding.Strict().DecodeString(string(line))
		if err != nil || len(extra) == 0 || base64.StdEncoding.EncodeToString(extra) != string(line) {
			return Proof{}, nil, errors.New("reading proof: its extra line is not base64 of something")
		}
		raw = append([]byte(ProofFormat+"\n"), rest...)
	}
	p, err = ParseProof(raw)
	return p, extra, err
}

// ParseProof reads the file form of a proof, which has one spelling. An extra line of others is
// refused.
func ParseProof(raw []byte) (Proof, error) {
	if len(raw) > 2*maxNote {
		return Proof{}, errors.New("reading proof: too large")
	}
	head, text, ok := strings.Cut(string(raw), "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 2 || lines[0] != ProofFormat || len(lines) > 2+64 {
		return Proof{}, errors.New("reading proof: not in the form of " + ProofFormat)
	}
	p := Proof{Note: []byte(text)}
	index, ok := strings.CutPrefix(lines[1], "index ")
	n, err := strconv.ParseInt(index, 10, 64)
	if !ok || err != nil || n < 0 || strconv.FormatInt(n, 10) != index {
		return Proof{}, fmt.Errorf("reading proof: %q is no index", lines[1])
	}
	p.Index = n
	for _, line := range lines[2:] {
		h, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(h) != sumdb.HashSize || base64.StdEncoding.EncodeToString(h) != line {
			return Proof{}, fmt.Errorf("reading proof: %q is no hash", line)
		}
		p.Hashes = append(p.Hashes, attest.Digest(h))
	}
	if _, _, err := splitNote(p.Note); err != nil {
		return Proof{}, err
	}
	return p, nil
}

// Verify checks that leaf is in the log whose keys the ring holds and returns the checkpoint it was
// proved under.
func (p Proof) Verify(leaf []byte, ring attest.Ring) (Checkpoint, error) {
	c, _, err := OpenCheckpoint(p.Note, ring)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := CheckInclusion(p.Hashes, c.Size, c.Root, p.Index, attest.LeafHash(leaf)); err != nil {
		return Checkpoint{}, fmt.Errorf("checking proof: %w", err)
	}
	return c, nil
}
