package ots

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// ErrNotYet is returned by Calendar.Upgrade while the calendar has nothing new.
var ErrNotYet = errors.New("not in a block yet")

// A Calendar takes digests and tells later in which block they are. It is asked at its own address
// only: proofs come from strangers, so an address that stands in one is never followed unless a
// calendar of the keeper's has it.
type Calendar interface {
	// URI is the calendar's address as it stands in pending attestations.
	URI() string
	// Submit hands in a digest and returns the calendar's answer, at most MaxAnswer bytes.
	Submit(ctx context.Context, digest []byte) ([]byte, error)
	// Upgrade asks what became of a commitment: an answer, or ErrNotYet.
	Upgrade(ctx context.Context, commitment []byte) ([]byte, error)
}

// Stamp submits a digest to every calendar and returns the proof of each, in the calendars' order.
// One that fails has the zero Proof and its error; the call fails when fewer than two of them
// answered, or one where there is only one.
func Stamp(ctx context.Context, digest [sha256.Size]byte, calendars []Calendar) ([]Proof, []error, error) {
	proofs, problems := make([]Proof, len(calendars)), make([]error, len(calendars))
	answered := 0
	for i, c := range calendars {
		answer, err := c.Submit(ctx, digest[:])
		if err == nil {
			proofs[i], err = FromAnswer(digest, answer)
		}
		if err == nil && !slices.ContainsFunc(proofs[i].Claims(),
			func(claim Claim) bool { return claim.Kind != Unknown && claim.Kind != Unchecked }) {
			err = errors.New("its answer promises nothing")
		}
		if err != nil {
			proofs[i], problems[i] = Proof{}, fmt.Errorf("stamping at %s: %w", c.URI(), err)
			continue
		}
		answered++
	}
	if answered == 0 || answered < min(2, len(calendars)) {
		return proofs, problems,
			errors.Join(fmt.Errorf("stamping: %d of %d calendars answered", answered, len(calendars)),
				errors.Join(problems...))
	}
	return proofs, problems, nil
}

// Upgrade asks the calendars for what their pending attestations in p have become and returns p
// with all that was learned, and whether anything was. Pending attestations stay. What a calendar
// that fails has to say comes as an error beside a proof that is good.
func Upgrade(ctx context.Context, p Proof, calendars []Calendar) (Proof, bool, error) {
	out := Proof{Digest: p.Digest, tree: p.tree.clone()}
	before := out.Encode()
	var problems []error
	var walk func(n *node)
	walk = func(n *node) {
		for _, b := range n.branches {
			walk(b.then)
		}
		for _, a := range slices.Clone(n.attestations) {
			uri, ok := a.uri()
			i := slices.IndexFunc(calendars, func(c Calendar) bool { return ok && c.URI() == uri })
			if i < 0 || n.message == nil {
				continue
			}
			answer, err := calendars[i].Upgrade(ctx, n.message)
			if errors.Is(err, ErrNotYet) {
				continue
			}
			var more *node
			if err == nil && len(answer) > MaxAnswer {
				err = malformed("an answer larger than %d bytes", MaxAnswer)
			}
			if err == nil {
				more, err = parseTree(answer, n.message)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("upgrading at %s: %w", uri, err))
				continue
			}
			n.merge(more)
		}
	}
	walk(out.tree)
	after := out.Encode()
	// What a calendar added must still be a proof that everybody reads: bounds count for the whole.
	if _, err := Parse(after); err != nil {
		return p, false, errors.Join(append(problems, fmt.Errorf("upgrading: %w", err))...)
	}
	return out, !slices.Equal(before, after), errors.Join(problems...)
}
