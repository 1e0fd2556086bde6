package services

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
)

// orderOf is what is signed of an order that completes itself: what was promised and by when, and
// once it is completed, when that was and the digest of what came of it.
func orderOf(o *goods.Order, f goods.Facts, within time.Duration, asked, due, completed, answer string) attest.Order {
	sum := sha256.Sum256([]byte(asked))
	v := attest.Order{OrderID: f.ID, Class: attest.ClassOrder, PatronNumber: f.PatronNumber, Date: f.Date,
		Item: o.Good.ID, Status: "queued", PaidUSDC: f.PaidUSDC, WindowHours: int(within / time.Hour), DueAt: due,
		Asked: "sha256:" + hex.EncodeToString(sum[:]), FromTheStore: f.Store}
	if completed != "" {
		v.Status, v.CompletedAt, v.Answer = "completed", completed, answer
	}
	return v
}

// digestOf is the digest of what came of an order.
func digestOf(v any) (string, error) {
	b, err := attest.Canonical(v)
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
