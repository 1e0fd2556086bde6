package attest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrUnsignedCommit is returned for a commit without a signature.
var ErrUnsignedCommit = errors.New("verifying commit: it is not signed")

// VerifyCommit checks the bytes of a commit, as git cat-file gives them: that a git key of the ring
// signed them, at a time at which it was in force.
func VerifyCommit(raw []byte, ring Ring) (Signer, error) {
	signed, signature, at, err := split(raw)
	if err != nil {
		return Signer{}, err
	}
	by, err := signer(bytes.NewReader(signed), signature, ring)
	if err == nil {
		err = by.InForce(at.UTC().Format(time.RFC3339))
	}
	return by, err
}

// split takes a commit apart: what is signed of it, which is the commit without the signature's
// header; the signature; and when it was committed.
func split(raw []byte) (signed, signature []byte, at time.Time, err error) {
	header, _, whole := bytes.Cut(raw, []byte("\n\n"))
	if !whole {
		return nil, nil, at, errors.New("reading commit: it has no message")
	}
	inside := false
	for line := range strings.Lines(string(header) + "\n") {
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case name == "" && inside: // a header goes on behind a space
			signature = append(signature, rest...)
			continue
		case name == "gpgsig":
			if signature != nil {
				return nil, nil, at, errors.New("reading commit: it is signed twice")
			}
			inside, signature = true, append([]byte{}, rest...)
			continue
		case name == "committer":
			words := strings.Fields(line)
			seconds, err := strconv.ParseInt(words[max(0, len(words)-2)], 10, 64)
			if err != nil {
				return nil, nil, at, fmt.Errorf("reading commit: when it was made: %w", err)
			}
			at = time.Unix(seconds, 0)
		}
		inside = false
		signed = append(signed, line...)
	}
	if signature == nil {
		return nil, nil, at, ErrUnsignedCommit
	}
	return append(signed, raw[len(header)+1:]...), signature, at, nil
}
