package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// A watch has one thing read again and again over a term that was bought, and a report of each
// reading signed, one a slot. One payment, and it is never renewed.
//
// It begins in the transaction that promises it. Each slot has a time, which counts from the start
// and never from the slot before, and a grace within which it may begin. That it begins is noted
// before anything is sent, so that any number of processes read it once; one that its process did
// not survive, that could not begin within its grace, or at which there was nothing to report, is
// told as missed, with its reason, in a signed report of its own. Nothing is made up for and
// nothing is back-dated. When the last slot is over the order is completed with a summary.
//
// What is read, and how, is package goods' (Readings): the guarded client, the opt-out of hosts and
// the budgets of the instruments hold here as everywhere.
//
//	watch/<order_id>            Watch
//	goods/watched/<host>/<id>   a watch that a host is under

const (
	// watchBattery is what a watch reads with.
	watchBattery = content.KindSpot
	// watchLate is how long after its end a term is closed at the latest.
	watchLate = 24 * time.Hour
	// slotAgain is when a slot is tried again at which the store's own budget was spent.
	slotAgain = time.Minute
)

// Term is a term of readings.
type Term struct {
	Order    string            `json:"order"` // its public id
	Purchase string            `json:"purchase"`
	Item     string            `json:"item"`
	Battery  string            `json:"battery"`
	Inputs   map[string]string `json:"inputs"`
	Target   string            `json:"target"` // in its one spelling
	Starts   time.Time         `json:"starts"`
	Hours    int64             `json:"hours"`   // between two readings
	Of       int64             `json:"of"`      // how many readings there are
	Minutes  int64             `json:"minutes"` // how late one may begin; less than there are between two
}

// Every is the time between two readings.
func (t Term) Every() time.Duration { return time.Duration(t.Hours) * time.Hour }

// Grace is how late a reading may begin.
func (t Term) Grace() time.Duration { return time.Duration(t.Minutes) * time.Minute }

// Ends is when the term is over.
func (t Term) Ends() time.Time { return t.Due(t.Of + 1) }

// Due is when a reading is due, the first at the start.
func (t Term) Due(number int64) time.Time { return t.Starts.Add(time.Duration(number-1) * t.Every()) }

// Slot is what became of one slot.
type Slot struct {
	Number  int64     `json:"number"`
	Due     time.Time `json:"due"`
	Audit   string    `json:"audit"`  // id of its report
	Digest  string    `json:"digest"` // sha256: of the report's signed payload
	Verdict string    `json:"verdict,omitzero"`
	Missed  string    `json:"missed,omitzero"`
}

// Watch is a term, and what became of it so far.
type Watch struct {
	Term
	Promise string    `json:"promise,omitzero"` // sha256: of the signed order as it was promised
	Slots   []Slot    `json:"slots"`
	Begun   time.Time `json:"begun,omitzero"` // when the reading of the next slot was about to begin
	Closed  bool      `json:"closed,omitzero"`
}

// next is the number of the slot that is due next.
func (w Watch) next() int64 { return int64(len(w.Slots)) + 1 }

var watches = journal[Watch]{job: "watch", key: ledger.WatchKey, of: func(w Watch) string { return w.Purchase }}

// ReadWatch is a watch; ledger.ErrNotFound where there is none.
func ReadWatch(tx ledger.Tx, order string) (Watch, error) { return watches.read(tx, order) }

// watched are the watches that a host is under.
var watched = places{name: "watched", most: 4, full: "This host is under 4 watches already, which is as many as one " +
	"host gets."}

// watch is a kind of term: a reading every so many hours, so many of them, each within a grace of
// minutes. Nothing is read before it is paid for.
func (s *Services) watch(name string, hours, of, grace int64) goods.Kind {
	plan := func(o *goods.Order, target string) Term {
		return Term{Order: o.Artifact, Purchase: o.ID, Item: o.Good.ID, Battery: watchBattery,
			Inputs: map[string]string{"url": o.Inputs["url"]}, Target: target,
			Starts: o.Settled.UTC().Truncate(time.Second), Hours: hours, Of: of, Minutes: grace}
	}
	k := watched.kind(s.cfg.Readings != nil, func(inputs map[string]string) (string, error) {
		_, host, err := s.cfg.Readings.Target(watchBattery, inputs)
		return host, err
	})
	give := k.Release
	k.Name, k.Delivers, k.Later = name, goods.Watched{}, true
	k.Release = func(m goods.Maker, tx ledger.Tx, o *goods.Order) error {
		if o.Artifact != "" { // it was promised
			if err := watches.drop(tx, o.Artifact); err != nil {
				return err
			}
		}
		return give(m, tx, o)
	}
	k.Make = func(_ context.Context, _ goods.Maker, o *goods.Order) (*goods.Made, error) {
		target, host, err := s.cfg.Readings.Target(watchBattery, o.Inputs)
		if err != nil {
			return nil, err
		}
		g := goods.MadeOf(o, goods.Watched{Target: target, Readings: of, EveryHours: hours,
			HowTo: "order_url lists every reading with its report, as they come. It ends by itself after seven days."},
			fmt.Sprintf("Somebody is on watch: %d readings in seven days, the first at once.", of), "")
		g.Saw = host
		return g, nil
	}
	k.Settle = goods.Settled(func(_ ledger.Tx, o *goods.Order, d *goods.Watched) error {
		t := plan(o, d.Target)
		d.Starts, d.Ends, d.DueAt = stamp(t.Starts), stamp(t.Ends()), stamp(t.Ends().Add(watchLate))
		return nil
	})
	k.Promise = goods.With(func(_ goods.Maker, tx ledger.Tx, o *goods.Order, d goods.Watched) error {
		t := plan(o, d.Target)
		return watches.put(tx, t.Order, Watch{Term: t, Slots: []Slot{}}, t.Starts)
	})
	k.Complete = goods.With(func(m goods.Maker, tx ledger.Tx, o *goods.Order, d goods.Watched) error {
		return errors.Join(give(m, tx, o), m.SendWord(tx, o, "order.completed", "completed", d))
	})
	k.Artifact = orders(time.Duration(hours*of)*time.Hour + watchLate)
	return k
}

// keep takes a watch one step on: a slot, or its closing.
func (s *Services) keep(ctx context.Context, task schedule.Task) error {
	slot := Slot{}
	rec, now, ok, err := watches.begin(ctx, s.cfg.DB, task, func(tx ledger.Tx, w *Watch, now time.Time) (then, error) {
		if w.Promise == "" {
			var err error
			if w.Promise, err = till.PromiseDigest(tx, w.Order, w.Purchase); err != nil {
				return underWay, err
			}
		}
		slot = Slot{Number: w.next(), Due: w.Due(min(w.next(), w.Of))}
		if slot.Number > w.Of {
			return underWay, nil
		}
		if now.Before(slot.Due) { // the clock was put back
			return again(slot.Due), nil
		}
		if slot.Missed = missed(w.Begun, slot.Due, w.Grace(), now, "read"); slot.Missed == "" {
			w.Begun = now
		}
		return underWay, nil
	})
	if err != nil || !ok {
		return err
	}
	ctx, cancel := finishing(ctx, goods.ReadingTime+noteFor)
	defer cancel()
	if slot.Number > rec.Of {
		return s.endWatch(ctx, task, rec, now)
	}
	audit, err := s.readSlot(ctx, rec, &slot)
	if errors.Is(err, errLater) { // nothing was sent
		return watches.step(ctx, s.cfg.DB, task, func(_ ledger.Tx, w *Watch) (then, error) {
			w.Begun = time.Time{}
			return again(now.Add(slotAgain)), nil
		})
	}
	slot.Verdict = audit.Verdict
	audit.Slot = &attest.Slot{Number: slot.Number, Of: rec.Of, Due: stamp(slot.Due), Missed: slot.Missed,
		Watch: rec.Promise}
	signed, err := s.till.SignReport(ctx, rec.Purchase, audit, now)
	if err != nil {
		return err
	}
	slot.Audit, slot.Digest = signed.ID, signed.Digest()
	return watches.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, w *Watch) (then, error) {
		if w.next() != slot.Number {
			return underWay, fmt.Errorf("watch: slot %d of %s is over already", slot.Number, task.ID)
		}
		w.Slots, w.Begun = append(w.Slots, slot), time.Time{}
		if w.next() > w.Of {
			return again(tx.Now()), till.KeepReport(tx, signed)
		}
		return again(w.Due(w.next())), till.KeepReport(tx, signed)
	})
}

// errLater says that the store could not read now for reasons of its own that pass.
var errLater = errors.New("not now")

// readSlot makes the reading of a slot, or notes in it why there is none. Its one error is
// errLater.
func (s *Services) readSlot(ctx context.Context, rec Watch, slot *Slot) (attest.Audit, error) {
	none := attest.Audit{Class: attest.ClassServiceAudit, Item: rec.Item, Target: rec.Target}
	if slot.Missed != "" {
		return none, nil
	}
	ctx, cancel := context.WithTimeout(ctx, goods.ReadingTime)
	defer cancel()
	r, err := s.cfg.Readings.Read(ctx, rec.Battery, rec.Inputs)
	if err == nil {
		var audit attest.Audit
		if audit, err = r.Audit(attest.ClassServiceAudit, rec.Item); err == nil {
			return audit, nil
		}
	}
	unread, is := errors.AsType[*goods.Unread](err)
	switch {
	case is && unread.Code == goods.CodeBudget:
		return none, errLater
	case is:
		slot.Missed = unread.Detail
	default:
		s.cfg.Log.Error("a slot could not be read", "order", rec.Order, "slot", slot.Number, "err", err)
		slot.Missed = "the reading went wrong at the store's own side"
	}
	return none, nil
}

// endWatch completes the order of a term.
func (s *Services) endWatch(ctx context.Context, task schedule.Task, rec Watch, now time.Time) error {
	sum := rec.Summary()
	err := s.till.Complete(ctx, rec.Purchase, func(promise *goods.Made) (*goods.Made, error) {
		return watchOver(promise, sum, now)
	})
	if err != nil {
		return err
	}
	return watches.step(ctx, s.cfg.DB, task, func(_ ledger.Tx, w *Watch) (then, error) {
		w.Closed = true
		return over, nil
	})
}

// watchOver completes a term with what it came to. It leaves the promise as it is.
func watchOver(promise *goods.Made, sum goods.WatchSummary, at time.Time) (*goods.Made, error) {
	d, err := goods.Delivered[struct {
		Kind string `json:"kind"`
		goods.Watched
	}](promise)
	if err != nil {
		return nil, err
	}
	d.Summary, d.CompletedAt = &sum, stamp(at)
	if d.Answer, err = digestOf(sum); err != nil {
		return nil, err
	}
	g := *promise
	g.Message = fmt.Sprintf("The watch is over: %d of %d readings were made.", sum.Read, sum.Readings)
	g.Deliver(d.Kind, d.Watched)
	return &g, nil
}

// Summary is what the slots that are over come to.
func (w Watch) Summary() goods.WatchSummary {
	s := goods.WatchSummary{Readings: int64(len(w.Slots)), Verdicts: []goods.Verdict{}}
	h, before := sha256.New(), ""
	for _, slot := range w.Slots {
		fmt.Fprintf(h, "%s\n", slot.Digest)
		if slot.Missed != "" {
			s.Missed++
			continue
		}
		s.Read++
		if before != "" && slot.Verdict != before {
			s.Changes++
		}
		before = slot.Verdict
		i := slices.IndexFunc(s.Verdicts, func(v goods.Verdict) bool { return v.Verdict == slot.Verdict })
		if i < 0 {
			i, s.Verdicts = len(s.Verdicts), append(s.Verdicts, goods.Verdict{Verdict: slot.Verdict})
		}
		s.Verdicts[i].Readings++
	}
	s.ReportsSHA256 = hex.EncodeToString(h.Sum(nil))
	return s
}

// Term implements counter.Later: how a term stands, nil for an order that is none.
func (s *Services) Term(tx ledger.Tx, o till.HumanOrder) (*counter.TermView, error) {
	if o.Term == nil {
		return nil, nil
	}
	v := &counter.TermView{Target: o.Term.Target, EveryHours: o.Term.EveryHours, Readings: o.Term.Readings,
		Starts: o.Term.Starts, Ends: o.Term.Ends, Slots: []counter.SlotView{}, Summary: o.Term.Summary}
	rec, err := ReadWatch(tx, o.ID)
	if errors.Is(err, ledger.ErrNotFound) { // its payment was taken back
		return v, nil
	}
	for _, slot := range rec.Slots {
		v.Slots = append(v.Slots, counter.SlotView{Number: slot.Number, Due: stamp(slot.Due), Verdict: slot.Verdict,
			Missed: slot.Missed, AuditID: slot.Audit, URL: s.reportURL(slot.Audit), SHA256: slot.Digest})
	}
	if rec.next() <= rec.Of {
		v.NextDueAt = stamp(rec.Due(rec.next()))
	}
	return v, err
}

// reportURL is where a report is read.
func (s *Services) reportURL(audit string) string {
	return s.cfg.BaseURL + "/api/service-audit/" + audit
}
