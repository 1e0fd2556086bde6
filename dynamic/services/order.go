package services

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
)

// orders are what is signed of orders that complete themselves: what was promised and by when, and
// once one is completed, when that was and the digest of what came of it.
func orders(within time.Duration) *goods.Artifact {
	return &goods.Artifact{Class: attest.ClassOrder, Prefix: "order_", Path: "/api/order/",
		Payload: func(o *goods.Order, g *goods.Made, f goods.Facts) (any, error) {
			d, err := goods.Delivered[struct {
				Target      string `json:"target"`
				DueAt       string `json:"due_at"`
				CompletedAt string `json:"completed_at"`
				Answer      string `json:"answer_digest"`
			}](g)
			asked := sha256.Sum256([]byte(d.Target))
			v := attest.Order{OrderID: f.ID, Class: attest.ClassOrder, PatronNumber: f.PatronNumber, Date: f.Date,
				Item: o.Good.ID, Status: "queued", PaidUSDC: f.PaidUSDC, WindowHours: int(within / time.Hour),
				DueAt: d.DueAt, Asked: "sha256:" + hex.EncodeToString(asked[:]), FromTheStore: f.Store}
			if d.CompletedAt != "" {
				v.Status, v.CompletedAt, v.Answer = "completed", d.CompletedAt, d.Answer
			}
			return v, err
		}}
}

// digestOf is the digest of what came of an order.
func digestOf(v any) (string, error) {
	b, err := attest.Canonical(v)
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
