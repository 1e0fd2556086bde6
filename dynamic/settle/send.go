package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Order asks for the settlement of a payment, or of several in one transaction, of one network.
type Order struct {
	ID      string // of the record; empty is one of the driver's choice
	Members []Member
	// Arrow runs in the transaction that stores the record, before the signature, and has the
	// record's id.
	Arrow func(ledger.Tx, *Settlement) error
	Reads []ledger.Range // what Arrow reads
	// Now says that the order does not wait for room: the error is ErrNoRoom where there is none.
	Now bool
	// Waits is told whether there is no room for another transaction, so that the order waits in a
	// line; nil tells nobody.
	Waits func(waits bool)
}

// Begin drafts and signs the settlement of a payment and stores it, as soon as there is room for
// one more transaction. Where there is a queue it may be one for several orders: then the record is
// theirs together, with another id than was asked for. Nothing was sent when it returns. An error
// that Ended knows says that the payment cannot be settled, or may not be; every other one leaves
// it as it was.
func (d *Driver) Begin(ctx context.Context, o Order) (*Settlement, error) {
	if len(o.Members) == 0 {
		return nil, errors.New("settle: an order without a payment")
	}
	network := o.Members[0].Payment.Network
	r, err := d.rail(network)
	if err != nil {
		return nil, err
	}
	w := newWaiter(o)
	for {
		changed := r.Changed()
		s, err := d.begin(ctx, r, w)
		if o.Now || !errors.Is(err, ErrNoRoom) {
			return s, err
		}
		// Another process has the room, or an account has it that cannot pay for the transaction.
		w.Waits(true)
		err = d.pause(ctx, r, changed)
		w.Waits(false)
		if err != nil {
			return nil, err
		}
	}
}

// pause waits until a network has something new, for Config.Pause at most. The error is that of
// ctx.
func (d *Driver) pause(ctx context.Context, r rail.Rail, changed <-chan struct{}) error {
	select {
	case <-changed:
		d.lines[r.Info().Network].sealed(changed)
	case <-time.After(d.cfg.Pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// begin is Begin's one try.
func (d *Driver) begin(ctx context.Context, r rail.Rail, w *waiter) (*Settlement, error) {
	joined, done, err := d.turn(ctx, r, w)
	if err != nil {
		return nil, err
	}
	if joined != nil {
		d.cfg.AfterStep("settling")
		return joined, nil
	}
	defer done()
	s := &Settlement{ID: w.ID, Network: r.Info().Network, Members: w.Members}
	draft, err := retried(ctx, d, s, func() (rail.Draft, error) { return r.Draft(ctx, s.payments(nil)) })
	if err != nil {
		return nil, fmt.Errorf("drafting the settlement: %w", err)
	}
	reads := slices.Clone(w.Reads)
	for _, a := range r.Info().Accounts {
		reads = append(reads, numbered(s.Network, a)...)
	}
	err = d.store(ctx, s, reads, func(tx ledger.Tx, s *Settlement, places *places) error {
		if err := w.Arrow(tx, s); err != nil {
			return err
		}
		return d.sign(tx, s, draft, nil, places)
	})
	if err != nil {
		return nil, err
	}
	d.cfg.AfterStep("settling")
	return s, nil
}

// Adopt stores a settlement without a transaction of ours, for a payment that somebody else has
// sent.
func (d *Driver) Adopt(ctx context.Context, m Member, arrow func(ledger.Tx, *Settlement) error) error {
	s := &Settlement{ID: newID(), Network: m.Payment.Network, Members: []Member{m}}
	err := d.store(ctx, s, nil, func(tx ledger.Tx, s *Settlement, _ *places) error { return arrow(tx, s) })
	if err == nil {
		d.cfg.AfterStep("settling")
	}
	return err
}

// Status is what the chain says of a member, asked for until it answers or ctx ends.
func (d *Driver) Status(ctx context.Context, s *Settlement, member string) (rail.Finding, error) {
	r, err := d.rail(s.Network)
	if err != nil {
		return rail.Finding{}, err
	}
	m := s.Members[s.member(member)]
	return retried(ctx, d, s, func() (rail.Finding, error) {
		return r.Status(ctx, &m.Payment, s.Signed(m.ID), m.Verified, time.Now())
	})
}

// store runs f, which reads so much, on a new settlement and stores it.
func (d *Driver) store(ctx context.Context, s *Settlement, reads []ledger.Range,
	f func(ledger.Tx, *Settlement, *places) error) error {
	reads = append(reads, ledger.At(ledger.SettlementKey(s.ID)))
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	fresh := *s
	held := &places{d: d, network: s.Network}
	err := d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		held.drop()
		*s = fresh
		ledger.Ahead(tx, reads...)
		if err := vacant(tx, s.ID); err != nil {
			return err
		}
		if err := f(tx, s, held); err != nil {
			return err
		}
		return save(tx, s)
	})
	if err != nil {
		held.drop()
		*s = fresh
	}
	return err
}

// vacant is nil where no settlement has an id.
func vacant(tx ledger.Tx, id string) error {
	_, err := tx.Get(ledger.SettlementKey(id))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return errors.Join(err, errMoved)
}

// places are those in the outboxes that a transaction holds for the numbers that it gives out.
type places struct {
	d       *Driver
	network string
	box     *outbox
	held    *letter
}

// hold keeps the place of a number.
func (p *places) hold(account string, number uint64) {
	p.box = p.d.outboxOf(p.network, account)
	p.held = p.box.hold(number, p.d.cfg.Pause)
}

// drop gives up what was held, because the transaction begins anew or has failed.
func (p *places) drop() {
	if p.held != nil {
		p.box.drop(p.held)
		p.held = nil
	}
}

// sign signs a draft inside the transaction that stores it. What a new number costs is taken from
// the day's budgets there; what only replaces is not asked about.
func (d *Driver) sign(tx ledger.Tx, s *Settlement, draft rail.Draft, of []int, places *places) error {
	signed, err := draft.Sign(sequencer{tx, s.Network, places.hold})
	if err != nil {
		return err
	}
	signed.At = tx.Now()
	sent := Sent{Signed: signed, Of: of}
	if err := d.pay(tx, s, sent, draft.Price()); err != nil {
		return err
	}
	s.Sent = append(s.Sent, sent)
	return noteSigned(tx, s, sent)
}

const (
	// maxAtOnce is how many transactions are handed to a node in one round trip.
	maxAtOnce = 16
	// patience is how long a broadcast may take, of which some nodes may never answer.
	patience = 30 * time.Second
	// overdue is for how long it is waited for. It goes on beside those behind it then, of which a
	// node that answers again may see one first: that one waits there.
	overdue = 2 * time.Second
)

// errSlow says that a broadcast has no answer yet.
var errSlow = errors.New("settle: the node has not answered yet")

// outbox broadcasts the transactions of one account in the order of their numbers, one round trip
// at a time unless a node does not answer: a number that reaches a node before the one below it
// only waits there, and of those a node keeps few. A transaction that is being signed has its place
// before it is stored, so that those behind wait for it; but no longer than a pause, because
// whoever signs it may die.
type outbox struct {
	mu      sync.Mutex
	letters []*letter          // by number; guarded by mu
	recent  map[string]*letter // by transaction, those of the last pause; guarded by mu
	posting bool               // a goroutine posts; guarded by mu
	wake    chan struct{}      // has one when the letters changed
	idle    func()             // called when all was posted
}

// letter is one transaction's place in an outbox.
type letter struct {
	number uint64
	until  time.Time   // how long others wait for it, while it is not there; then, how long it is recent
	signed rail.Signed // what is posted; nothing while it is signed
	ready  bool
	done   chan struct{} // closed when it was broadcast
	err    error         // of the broadcast
}

// outboxOf is the outbox of an account.
func (d *Driver) outboxOf(network, account string) *outbox {
	box, _ := d.boxes.LoadOrStore([2]string{network, account}, newOutbox(d.lines[network].stir))
	return box.(*outbox)
}

func newOutbox(idle func()) *outbox {
	return &outbox{wake: make(chan struct{}, 1), recent: make(map[string]*letter), idle: idle}
}

// sending reports whether this process has signed for an account of a network what it has not
// broadcast.
func (d *Driver) sending(network string) (yes bool) {
	d.boxes.Range(func(of, box any) bool {
		yes = of.([2]string)[0] == network && !box.(*outbox).empty()
		return !yes
	})
	return yes
}

// empty reports whether nothing is to be posted, now or soon.
func (b *outbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	return !b.posting && !slices.ContainsFunc(b.letters, func(l *letter) bool { return l.ready || now.Before(l.until) })
}

// hold keeps a place for a number that is given out.
func (b *outbox) hold(number uint64, pause time.Duration) *letter {
	l := &letter{number: number, until: time.Now().Add(pause)}
	b.mu.Lock()
	b.put(l)
	b.mu.Unlock()
	return l
}

// drop gives up a place.
func (b *outbox) drop(l *letter) {
	b.mu.Lock()
	b.letters = slices.DeleteFunc(b.letters, func(x *letter) bool { return x == l })
	b.mu.Unlock()
	b.stir()
}

// put puts a letter in its place; mu is held.
func (b *outbox) put(l *letter) {
	i, _ := slices.BinarySearchFunc(b.letters, l, func(a, b *letter) int { return cmp.Compare(a.number, b.number) })
	b.letters = slices.Insert(b.letters, i, l)
}

func (b *outbox) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// post broadcasts a transaction in its turn and waits until that is done or ctx ends. One that was
// posted within a pause is not posted again: each who waits for a member of it asks for it.
func (b *outbox) post(ctx context.Context, r rail.Rail, s rail.Signed, pause time.Duration) error {
	b.mu.Lock()
	now := time.Now()
	maps.DeleteFunc(b.recent, func(_ string, l *letter) bool { return !now.Before(l.until) })
	l := b.recent[s.ID]
	if l == nil {
		l = &letter{number: s.Sequence, signed: s, ready: true, done: make(chan struct{}), until: now.Add(pause)}
		b.recent[s.ID] = l
		b.put(l)
		// The place that was held for it is taken.
		b.letters = slices.DeleteFunc(b.letters, func(x *letter) bool { return !x.ready && x.number == l.number })
		if !b.posting {
			b.posting = true
			go b.run(r)
		}
	}
	b.mu.Unlock()
	b.stir()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run posts until nothing is ready.
func (b *outbox) run(r rail.Rail) {
	for {
		batch, wait, over := b.next()
		if over {
			b.idle()
			return
		}
		if len(batch) == 0 {
			select {
			case <-b.wake:
			case <-time.After(wait):
			}
			continue
		}
		all := make([]rail.Signed, len(batch))
		for i, l := range batch {
			all[i] = l.signed
		}
		err := broadcast(r, all)
		b.mu.Lock()
		for _, l := range batch {
			if l.err = err; err != nil {
				delete(b.recent, l.signed.ID) // it is posted again whenever somebody asks
			}
			close(l.done)
		}
		b.mu.Unlock()
	}
}

// broadcast hands transactions to a node, and waits a while for its answer.
func broadcast(r rail.Rail, all []rail.Signed) error {
	answer := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		answer <- r.Send(ctx, all...)
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(overdue):
		return errSlow
	}
}

// next takes what is to be posted now, or says how long to wait for what comes before.
func (b *outbox) next() (batch []*letter, wait time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.letters = slices.DeleteFunc(b.letters, func(l *letter) bool { return !l.ready && !now.Before(l.until) })
	for i, l := range b.letters {
		if !l.ready || i == maxAtOnce {
			break
		}
		batch = append(batch, l)
	}
	if len(batch) > 0 {
		b.letters = slices.Delete(b.letters, 0, len(batch))
		return batch, 0, false
	}
	if !slices.ContainsFunc(b.letters, func(l *letter) bool { return l.ready }) {
		b.posting = false
		return nil, 0, true
	}
	return nil, b.letters[0].until.Sub(now), false
}
