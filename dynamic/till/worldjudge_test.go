package till_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"

	"github.com/anishathalye/porcupine"
)

// judge holds the end of a world's time against what the store promised, by the journal, the chain
// and what the town saw. It returns how much of each there was.
func (w *world) judge() map[string]int {
	n := map[string]int{}
	if p := w.some("judge"); p == nil {
		w.t.Error("no process is there at the end")
		return n
	}
	all := tilltest.Purchases(w.t, w.db)
	slices.SortFunc(all, func(a, b till.Purchase) int { return int(a.Number - b.Number) })
	w.judgeMoney(all, n)
	w.judgeWeeks(all, n)
	w.judgeOrders(all, n)
	w.judgePasses(all, n)
	w.judgeLooks(all, n)
	w.judgeWatches(all, n)
	w.judgeWords(all, n)
	w.judgeQueue()
	for _, k := range w.kills {
		n["kills"] += k
	}
	if ops := w.history(); !porcupine.CheckOperations(counterModel, ops) {
		for _, part := range counterModel.Partition(ops) {
			if !porcupine.CheckOperations(counterModel, part) {
				w.t.Errorf("no order of these makes sense: %+v", part)
			}
		}
	} else {
		n["operations"] = len(ops)
	}
	return n
}

// judgeMoney: each purchase rests, what is delivered was paid for, and what was paid is credited
// once.
func (w *world) judgeMoney(all []till.Purchase, n map[string]int) {
	var credited int64
	next := int64(1)
	for _, p := range all {
		if n[string(p.State)]++; !tilltest.Resting(p) || !p.Final {
			w.t.Errorf("%s of %s is %s, final %v (%s)", p.Item, p.ID, p.State, p.Final, p.Reason)
		}
		if p.Proof != nil && p.Spent == nil {
			credited += p.Amount
		}
		if p.Number != 0 {
			if p.Number != next {
				w.t.Errorf("patron number %d comes after %d", p.Number, next-1)
			}
			next++
		}
	}
	w.chain.mu.Lock()
	defer w.chain.mu.Unlock()
	m := &model{t: w.t, chain: w.chain, db: w.db, spenders: w.spenders, kept: w.kept}
	m.judgeVouchers(all, n)
	m.judgeHolds(all, n)
	e := w.chain.head().escrow
	if got := w.chain.received(); got != credited+e.moved || e.held() != w.chain.escrowed() {
		w.t.Errorf("payTo received %d, the journal credits %d, and %d were swept; %d are in escrow, %d should be", got,
			credited, e.moved, w.chain.escrowed(), e.held())
	}
}

// judgeWeeks: no week has more orders of a good than it has places.
func (w *world) judgeWeeks(all []till.Purchase, n map[string]int) {
	taken := map[string]int{}
	for _, p := range all {
		g, _ := w.site.Good(p.Item)
		if p.Proof == nil || g.WeeklyInventory == 0 {
			continue
		}
		week := p.Item + " " + goods.ISOWeek(p.Created)
		if taken[week]++; taken[week] > g.WeeklyInventory {
			w.t.Errorf("%d places of %s are taken", taken[week], week)
		}
		if taken[week] == g.WeeklyInventory {
			n["full weeks"]++
		}
	}
	n["told that a week is full"] = len(w.refused)
}

// judgeOrders: what the keeper was told is completed is, what was late or is open past its window
// is owed, nothing else is, and what he paid is owed no more.
func (w *world) judgeOrders(all []till.Purchase, n map[string]int) {
	p := w.some("judge")
	debts, err := p.till.Debts(context.Background(), true)
	orders, err2 := p.till.HumanOrders(context.Background(), true)
	if err = errors.Join(err, err2); err != nil {
		w.t.Error(err)
	}
	owed := map[string]till.Debt{}
	for _, d := range debts {
		owed[d.Purchase.ID] = d
		if want := w.paid[d.ID] > 0; want && d.Status != till.DebtPaid || d.Status == till.DebtOwed && d.Paid != nil {
			w.t.Errorf("debt %s is %s, and was paid %d times", d.ID, d.Status, w.paid[d.ID])
		}
	}
	for id, times := range w.paid {
		if times != 1 {
			w.t.Errorf("debt %s was noted as paid %d times", id, times)
		}
	}
	listed := map[string]bool{}
	for _, o := range orders {
		listed[o.Purchase.ID] = true
		n["orders"]++
		if o.Purchase.Held != nil {
			continue // judged with its money, and nothing is owed for it
		}
		if w.kept[o.ID] == answered && o.Status() != till.OrderCompleted {
			w.t.Errorf("order %s was answered and is %s", o.ID, o.Status())
		}
		due := o.Purchase.Proof.BlockTime.Truncate(time.Second).Add(168 * time.Hour)
		if !o.Work.DueAt.Equal(due) {
			w.t.Errorf("order %s is due at %s, want %s", o.ID, o.Work.DueAt, due)
		}
		end := time.Now()
		if o.Status() == till.OrderCompleted {
			end = o.Work.CompletedAt
			n["answered"]++
		}
		d, is := owed[o.Purchase.ID]
		late := end.After(due)
		if late != is || is && (d.Kind != till.DebtWindow || d.Purchase.Amount != o.Purchase.Amount) {
			w.t.Errorf("order %s, due %s, ended %s: owed %v %+v", o.ID, due, end, is, d)
		} else if late {
			n["late"]++
		}
		delete(owed, o.Purchase.ID)
	}
	for id, d := range owed {
		if d.Kind != till.DebtRefund || d.Purchase.State != till.RefundOwed && d.Purchase.State != till.Uncredited {
			w.t.Errorf("owed for %s: %+v", id, d)
		}
	}
	n["paid"] = len(w.paid)
	for _, p := range all {
		if slices.Contains(humanGoods, p.Item) && p.Proof != nil && p.State != till.RefundOwed && !listed[p.ID] {
			w.t.Errorf("the order of %s, %s, is lost", p.ID, p.State)
		}
	}
}

// judgePasses: thirty days follow each other without a gap where one is current, and begin anew
// where it has lapsed; a pass says of itself what that comes to.
func (w *world) judgePasses(all []till.Purchase, n map[string]int) {
	ends := map[string]time.Time{}
	for _, p := range all {
		if p.Item != "recurring_patronage" || p.State != till.Delivered {
			continue
		}
		from := p.SettledAt().UTC().Truncate(time.Second)
		if end, ok := ends[p.Artifact]; ok {
			n["extensions"]++
			if end.After(from) {
				from = end
			} else {
				n["after a lapse"]++
			}
		}
		ends[p.Artifact] = from.Add(goods.PassTerm)
		var d struct{ Starts, Ends time.Time }
		if err := json.Unmarshal(p.Made.Deliverable, &d); err != nil || !d.Starts.Equal(from) ||
			!d.Ends.Equal(ends[p.Artifact]) {
			w.t.Errorf("pass %s of %s: %+v, want from %s, %v", p.Artifact, p.ID, d, from, err)
		}
	}
	for id, end := range ends {
		r, _ := w.some("judge").ask("/api/patronage/"+id, nil)
		want := "lapsed"
		if time.Now().Before(end) {
			want = "current"
		}
		if n["passes"]++; r.Str("status") != want || r.Str("ends") != end.Format(time.RFC3339) {
			w.t.Errorf("pass %s that ends at %s: %s", id, end, r.Raw)
		}
	}
}

// judgeLooks: each look that was bought was made once, after its time and within its grace, and
// says so, or is told as missed with a reason.
func (w *world) judgeLooks(all []till.Purchase, n map[string]int) {
	for _, p := range all {
		if p.Item != "phantom_check" || p.State != till.Delivered {
			continue
		}
		url := p.Inputs["url"]
		came := w.town.looks[url]
		n["looks"]++
		due := p.SettledAt().Truncate(time.Second).Add(services.VisitAfter)
		var c attest.Look
		w.view(func(tx ledger.Tx) error {
			a, err := ledger.GetJSON[till.SignedArtifact](tx, ledger.LaterKey(p.Artifact, p.ID))
			return errors.Join(err, attest.ParseCanonical([]byte(a.Proof.SignedPayload), &c))
		})
		switch at, _ := time.Parse(time.RFC3339, c.LookedAt); {
		case len(came) > 1:
			w.t.Errorf("%s was looked at %d times", url, len(came))
		case c.Status == attest.CheckMissed && c.Missed != "":
			n["missed looks"]++
		case c.Status != attest.CheckObserved || len(came) != 1 || at.Before(due) ||
			at.After(due.Add(services.VisitGrace)) ||
			came[0].Before(due) || came[0].Sub(at) > time.Minute:
			w.t.Errorf("%s, due %s, was asked %v: %+v", url, due, came, c)
		}
	}
}

// judgeWatches: each slot has one report, in its time; none was read twice; at the end the order
// is completed with what they come to.
func (w *world) judgeWatches(all []till.Purchase, n map[string]int) {
	for _, p := range all {
		if p.Item != "conformance_watch" && p.Item != "standing_watch" || p.Proof == nil || p.State == till.RefundOwed {
			continue
		}
		n["watches"]++
		var rec services.Watch
		w.view(func(tx ledger.Tx) (err error) {
			rec, err = services.ReadWatch(tx, p.Artifact)
			return err
		})
		if p.State != till.Delivered || !rec.Closed || int64(len(rec.Slots)) != rec.Of {
			w.t.Errorf("watch %s is %s, %d slots of %d, closed %v", p.Artifact, p.State, len(rec.Slots), rec.Of,
				rec.Closed)
			continue
		}
		d, err := goods.ReadWatched(p.Made)
		if err != nil || d.Summary == nil || d.Summary.Read+d.Summary.Missed != rec.Of ||
			d.Summary.ReportsSHA256 != rec.Summary().ReportsSHA256 {
			w.t.Errorf("watch %s came to %+v, %v", p.Artifact, d, err)
		}
		w.judgeSlots(p, rec, n)
	}
}

func (w *world) judgeSlots(p till.Purchase, rec services.Watch, n map[string]int) {
	times := map[int64]int{} // readings that were begun, by slot
	for _, at := range w.town.reads[p.Inputs["url"]] {
		times[int64(at.Sub(rec.Starts)/rec.Every())+1]++
	}
	for _, s := range rec.Slots {
		var a attest.Audit
		w.view(func(tx ledger.Tx) error {
			signed, err := ledger.GetJSON[till.SignedArtifact](tx, ledger.ArtifactKey(s.Audit, p.ID))
			return errors.Join(err, attest.ParseCanonical([]byte(signed.Proof.SignedPayload), &a))
		})
		n["slots"]++
		late := rec.Grace() + w.poll + time.Minute
		switch at, _ := time.Parse(time.RFC3339, a.ReadAt); {
		case times[s.Number] > 1:
			w.t.Errorf("slot %d of %s was read %d times", s.Number, rec.Order, times[s.Number])
		case a.Slot == nil || a.Slot.Number != s.Number || a.Slot.Missed != s.Missed || !s.Due.Equal(rec.Due(s.Number)):
			w.t.Errorf("slot %+v of %s is reported as %+v", s, rec.Order, a.Slot)
		case s.Missed != "":
			n["missed slots"]++
		case times[s.Number] != 1 || at.Before(s.Due) || at.After(s.Due.Add(late)):
			w.t.Errorf("slot %+v of %s was read at %s, %d times", s, rec.Order, a.ReadAt, times[s.Number])
		}
	}
}

// judgeWords: of each completed order whose buyer named an address word was sent, the same each
// time and noted each time, until it was taken, the receiver was gone, or the tries were over.
func (w *world) judgeWords(all []till.Purchase, n map[string]int) {
	for _, p := range all {
		host, named := strings.CutPrefix(p.Inputs["callback_url"], "https://")
		if !named || p.State != till.Delivered {
			continue
		}
		host, _, _ = strings.Cut(host, "/")
		var rec services.Message
		w.view(func(tx ledger.Tx) (err error) {
			rec, err = services.ReadMessage(tx, p.Artifact)
			return err
		})
		n["words"]++
		came := w.town.words[host]
		same := len(slices.Compact(slices.Clone(came))) <= 1
		want := services.WordGivenUp
		kind, _, _ := strings.Cut(host, "-")
		lost := 0
		for _, try := range rec.Tries {
			if try.Outcome == services.TryUnknown || try.Outcome == services.TryBegun {
				lost++
			}
		}
		if n["unknown tries"] += lost; kind == "well" || kind == "away" && rec.Made-lost >= 6 {
			want = services.WordDelivered
		}
		if kind == "away" && rec.State == services.WordDelivered {
			want = services.WordDelivered
		}
		if kind == "gone" && rec.Made-lost != 1 {
			w.t.Errorf("%s is gone and was told %d times: %+v", host, len(came), rec)
		}
		if rec.State != want || !same || len(came) > rec.Made || len(came) < rec.Made-lost || rec.Made > 8 {
			w.t.Errorf("%s heard %d times %v, want %s: %+v", host, len(came), came, want, rec)
		}
		n[want]++
	}
}

// judgeQueue: nothing is left to be done but to read what arrives.
func (w *world) judgeQueue() {
	w.view(func(tx ledger.Tx) error {
		for _, job := range []string{"callback", "look", "watch", "purchase"} {
			tasks, err := schedule.Tasks(tx, job)
			if err != nil {
				return err
			}
			for _, task := range tasks {
				w.t.Errorf("%s of %s is left, due at %s after %d tries", job, task.ID, task.Due, task.Tries)
			}
		}
		return nil
	})
}

// tally writes what there was, in order.
func tally(n map[string]int) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "%s %d, ", k, n[k])
	}
	return strings.TrimSuffix(b.String(), ", ")
}
