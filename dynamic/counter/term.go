package counter

import (
	"context"
	"errors"
	"strconv"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/watch"
)

// TermView is how a term of readings stands.
type TermView struct {
	Target     string              `json:"target"`
	EveryHours int64               `json:"every_hours"`
	Readings   int64               `json:"readings"` // how many there are
	Starts     string              `json:"starts"`
	Ends       string              `json:"ends"`
	Slots      []SlotView          `json:"slots"` // those that are over, in their order
	NextDueAt  string              `json:"next_due_at,omitzero"`
	Summary    *goods.WatchSummary `json:"summary,omitempty"` // once the term is over
}

// SlotView is one reading, or why there was none.
type SlotView struct {
	Number  int64  `json:"number"`
	Due     string `json:"due"`
	Verdict string `json:"verdict,omitzero"`
	Missed  string `json:"missed,omitzero"`
	AuditID string `json:"audit_id"`
	URL     string `json:"url"` // of its signed report
	SHA256  string `json:"report_sha256"`
}

// slots says how many readings of a term are over, "" for what is none: a new one is news of an
// order.
func slots(tx ledger.Tx, o till.HumanOrder) (string, error) {
	if o.Term == nil {
		return "", nil
	}
	rec, err := watch.Read(tx, o.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return "", nil
	}
	return strconv.Itoa(len(rec.Slots)), err
}

// termOf is how the term of an order stands, nil for the keeper's own work.
func (c *Counter) termOf(ctx context.Context, o till.HumanOrder) (*TermView, error) {
	if o.Term == nil {
		return nil, nil
	}
	v := &TermView{Target: o.Term.Target, EveryHours: o.Term.EveryHours, Readings: o.Term.Readings,
		Starts: o.Term.Starts, Ends: o.Term.Ends, Slots: []SlotView{}, Summary: o.Term.Summary}
	var rec watch.Record
	err := c.DB.View(ctx, func(tx ledger.Tx) (err error) {
		rec, err = watch.Read(tx, o.ID)
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) { // its payment was taken back
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	for _, s := range rec.Slots {
		v.Slots = append(v.Slots, SlotView{Number: s.Number, Due: stamp(s.Due), Verdict: s.Verdict, Missed: s.Missed,
			AuditID: s.Audit, URL: c.BaseURL + "/api/service-audit/" + s.Audit, SHA256: s.Digest})
	}
	if n := int64(len(rec.Slots)); n < rec.Of {
		v.NextDueAt = stamp(rec.Due(n + 1))
	}
	return v, nil
}
