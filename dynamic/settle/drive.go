package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Drive sends a settlement and follows the chain until its owner has heard enough of some members,
// of all where none are named, or ctx ends, whose error it returns then. The others are their own
// owners' to drive, at the same time or another. Until the chain has spoken the same bytes are sent
// again, bumped at the same number when they are stuck, and signed anew when their number is lost.
func (d *Driver) Drive(ctx context.Context, s *Settlement, o Owner, members ...string) error {
	r, err := d.rail(s.Network)
	if err != nil {
		return err
	}
	of, w := s.places(members), watching{Driver: d, rail: r, owner: o, over: make(map[string]bool)}
	var sent time.Time
	for {
		changed := r.Changed()
		if sent.IsZero() {
			sent = time.Now()
			if err := d.sendAll(ctx, r, s); err != nil {
				return err
			}
		}
		next, do, err := w.refresh(ctx, s, of)
		if errors.Is(err, errMoved) {
			if s, err = d.Load(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		if err != nil || len(w.over) == len(of) {
			return err
		}
		s = next
		if do == signed {
			sent = time.Time{}
			continue
		}
		if do == resend && time.Since(sent) > d.cfg.Pause {
			sent = time.Now()
			if err := d.sendAll(ctx, r, s); err != nil {
				return err
			}
		}
		o.Waits(true)
		if err := d.pause(ctx, r, changed); err != nil {
			return err
		}
	}
}

// Watch looks once at members of a settlement that are not driven, at all where none are named,
// uses up what it left open, and does what would help them where their owner wants more of it.
func (d *Driver) Watch(ctx context.Context, s *Settlement, o Owner, members ...string) error {
	r, err := d.rail(s.Network)
	if err != nil {
		return err
	}
	w := watching{Driver: d, rail: r, owner: o, over: make(map[string]bool)}
	s, do, err := w.refresh(ctx, s, s.places(members))
	if err == nil && do != nothing {
		err = d.sendAll(ctx, r, s)
	}
	if errors.Is(err, errMoved) {
		return nil // another hand does it
	}
	return err
}

// todo is what is left to do after a look.
type todo int

const (
	nothing todo = iota
	resend       // what was signed is to be sent again
	signed       // something was signed that was not sent
)

// watching is one owner's look at members of a settlement: those in over have their owner's last
// word.
type watching struct {
	*Driver
	rail  rail.Rail
	owner Owner
	over  map[string]bool
}

// refresh reads what the chain says of members of a settlement, counts their reverts, fills the
// number that the settlement left open, tells their owner, and signs what would help those of which
// the owner wants more. Members in over are left alone, and those whose owner has heard enough are
// added.
func (w watching) refresh(ctx context.Context, s *Settlement, of []int) (*Settlement, todo, error) {
	w.owner.Waits(true) // looking is waiting: at a block all of them look at once
	found := make(map[int]rail.Finding, len(of))
	idle := true
	for _, i := range of {
		f, err := w.see(ctx, w.rail, s, i)
		if err != nil {
			return s, nothing, w.heard(ctx, s, i, News{Unread: true})
		}
		found[i] = f
		idle = idle && (f.State == rail.Seen || f.State == rail.Waiting && f.Advice == rail.Wait)
	}
	w.owner.Waits(idle)
	var err error
	for _, i := range of {
		if s, err = w.noteReverts(ctx, s, i, found[i].Reverts); err != nil {
			return s, nothing, err
		}
	}
	if unfilled := w.abandoned(ctx, w.rail, s, found); unfilled != nil {
		if s, err = w.fill(ctx, w.rail, s, unfilled); err != nil {
			return s, nothing, err
		}
	}
	do := nothing
	for _, i := range of {
		f := found[i]
		if s, err = w.giveBack(ctx, s, i, f); err != nil {
			return s, nothing, err
		}
		if w.over[s.Members[i].ID] {
			continue
		}
		n := News{Finding: f}
		reverts, payers := s.reverted(i)
		n.Reverted, n.PayersRevert = reverts > 0, payers
		if err := w.heard(ctx, s, i, n); err != nil {
			return s, nothing, err
		}
		if w.over[s.Members[i].ID] || f.State != rail.Waiting {
			continue
		}
		next, did, err := w.help(ctx, w.rail, s, i, f.Advice)
		if why, is := Ended(err); is {
			if !why.Payer {
				w.cfg.Gas.Suspect(ctx, s.Network) // others would end alike
			}
			n.Over = &why
			err = w.heard(ctx, s, i, n)
		}
		if err != nil {
			return s, nothing, err
		}
		s, do = next, max(do, did)
	}
	return s, do, nil
}

// see is one look at a member.
func (d *Driver) see(ctx context.Context, r rail.Rail, s *Settlement, member int) (rail.Finding, error) {
	m := s.Members[member]
	f, err := r.Status(ctx, &m.Payment, s.Signed(m.ID), m.Verified, time.Now())
	if err != nil {
		d.cfg.Log.Warn("chain not readable", "settlement", s.ID, "network", s.Network, "payer", m.Payment.Payer, "err",
			err)
	}
	return f, err
}

// abandoned is the number that a settlement left open, if no member of it can land any more; nil
// also where one of them cannot be read.
func (d *Driver) abandoned(ctx context.Context, r rail.Rail, s *Settlement,
	found map[int]rail.Finding) (unfilled *rail.Signed) {
	open := func(f rail.Finding) bool { return f.State == rail.Waiting || f.State == rail.Seen }
	for _, f := range found {
		if open(f) {
			return nil
		}
		if f.Unfilled != nil {
			unfilled = f.Unfilled
		}
	}
	if unfilled == nil {
		return nil
	}
	for i := range s.Members {
		if _, seen := found[i]; seen || !s.signedFor(*unfilled, i) {
			continue
		}
		if f, err := d.see(ctx, r, s, i); err != nil || open(f) {
			return nil
		}
	}
	return unfilled
}

// heard tells the owner of a member.
func (w watching) heard(ctx context.Context, s *Settlement, member int, n News) error {
	m := s.Members[member]
	more, err := w.owner.Heard(ctx, s, m, n)
	if err == nil && !more {
		w.over[m.ID] = true
	}
	return err
}

// help follows the rail's advice for a member. The error is one that Ended knows where a new
// transaction would revert like the ones before, or where as many have as may (M15).
func (d *Driver) help(ctx context.Context, r rail.Rail, s *Settlement, member int, a rail.Advice) (*Settlement, todo,
	error) {
	m := &s.Members[member]
	newest := -1
	for i, sent := range s.Sent {
		if sent.settles(member) {
			newest = i
		}
	}
	var draft rail.Draft
	var err error
	var of []int
	switch {
	case a == rail.Redraft || newest < 0:
		if len(s.Members) > 1 {
			of = []int{member} // alone
		}
		draft, err = d.redraft(ctx, r, s, member)
		if _, over := Ended(err); over {
			// No verdict while the chain may know better, where somebody else landed it or the head
			// moved on.
			f, lookErr := r.Status(ctx, &m.Payment, s.Signed(m.ID), m.Verified, time.Now())
			if lookErr == nil && f.State == rail.Waiting && (f.Advice == rail.Redraft || newest < 0) {
				return s, nothing, err
			}
		}
	case a == rail.Bump:
		of = s.Sent[newest].Of
		draft, err = r.Replace(ctx, s.payments(of), s.Sent[newest].Signed, false)
	case a == rail.Resend:
		return s, resend, nil
	default:
		return s, nothing, nil
	}
	if err != nil {
		// Anything else passes by itself.
		d.cfg.Log.Warn("settlement not renewed", "settlement", s.ID, "advice", string(a), "err", err)
		return s, nothing, nil
	}
	held := &places{d: d, network: s.Network}
	next, err := d.advance(ctx, s, of, "resigned", func(tx ledger.Tx, s *Settlement) error {
		held.drop()
		return d.sign(tx, s, draft, of, held)
	})
	if err != nil {
		held.drop()
		if errors.Is(err, ErrNoRoom) { // there will be
			return s, nothing, nil
		}
		return s, nothing, err
	}
	return next, signed, nil
}

// sendAll broadcasts the newest transaction at every sequence number that was signed for. Mostly
// there is one. Where a number was lost and signed for anew, a reorganisation can open the lost one
// again, and the later waits behind it. It reads the record back first: what Update returned is
// durable and what View shows is durable, so bytes that are not found there are never sent.
func (d *Driver) sendAll(ctx context.Context, r rail.Rail, s *Settlement) error {
	if len(s.Sent) == 0 {
		return nil
	}
	kept, err := d.Load(ctx, s.ID)
	if err != nil {
		return err
	}
	newest := make(map[accountNumber]int)
	for i, sent := range s.Sent {
		newest[numberOf(sent)] = i
	}
	for i, sent := range s.Sent {
		if newest[numberOf(sent)] != i {
			continue
		}
		if err := d.send(ctx, r, kept, sent); err != nil {
			return err
		}
	}
	return nil
}

// send broadcasts a transaction that the ledger has.
func (d *Driver) send(ctx context.Context, r rail.Rail, kept *Settlement, sent Sent) error {
	for _, k := range kept.Sent {
		if k.ID == sent.ID && string(k.Raw) == string(sent.Raw) {
			if err := d.post(ctx, r, k); err != nil {
				// Not knowing is normal: the same bytes go out again until the chain has spoken.
				d.cfg.Log.Warn("broadcast not confirmed", "settlement", kept.ID, "network", kept.Network, "tx", k.ID,
					"err", err)
			}
			d.cfg.AfterStep("sent")
			return nil
		}
	}
	return fmt.Errorf("settle: transaction %s of %s is not in the ledger and will not be sent", sent.ID, kept.ID)
}

// post broadcasts a transaction in the order of its account's numbers, where it has any; a third
// party that numbers its own needs none.
func (d *Driver) post(ctx context.Context, r rail.Rail, sent Sent) error {
	info := r.Info()
	switch {
	case sent.ID == "":
		return r.Send(ctx, sent.Signed)
	case info.Unnumbered:
		return broadcast(r, []rail.Signed{sent.Signed})
	}
	return d.outboxOf(info.Network, sent.Account).post(ctx, r, sent.Signed, d.cfg.Pause)
}

// fill uses up a relayer's number that a settlement left open, so that later ones are not stuck
// behind it. One that was filled before and is open still may itself be stuck behind some that we
// never gave out.
func (d *Driver) fill(ctx context.Context, r rail.Rail, s *Settlement, open *rail.Signed) (*Settlement, error) {
	i := slices.IndexFunc(s.Sent, func(x Sent) bool { return numberOf(x) == numberOf(Sent{Signed: *open}) })
	of := s.Sent[i].Of // who waits for its other numbers is not told of it
	if open.Fill {
		below, err := d.skippedBelow(ctx, r, open.Account, open.Sequence)
		if err != nil {
			return s, err
		}
		for _, n := range below {
			other := *open
			other.Sequence = n
			next, err := d.fillOne(ctx, r, s, gap{other, of}, func(tx ledger.Tx) error {
				free, err := takeSkipped(tx, s.Network, other.Account, n)
				if err == nil && !free { // a payment has it by now
					err = errTaken
				}
				return err
			})
			if err != nil && !errors.Is(err, errTaken) {
				return s, err
			}
			if err == nil {
				s = next
			}
		}
	}
	return d.fillOne(ctx, r, s, gap{*open, of}, func(ledger.Tx) error { return nil })
}

// errTaken says that a number has been given to a payment meanwhile.
var errTaken = errors.New("settle: the number is taken")

// gap is a number that was left open: what was signed for it last, and which members wait for it.
type gap struct {
	last rail.Signed
	of   []int
}

// fillAgain is how old a filling is that is itself replaced.
const fillAgain = time.Minute

// Abandon uses up what is open of the numbers that were signed for a settlement of which nothing
// more is wanted, and which no expiry ends: all later ones of its account wait behind them.
func (d *Driver) Abandon(ctx context.Context, s *Settlement) error {
	r, err := d.rail(s.Network)
	if err != nil {
		return err
	}
	accounts, err := r.Accounts(ctx)
	if err != nil {
		return fmt.Errorf("settle: reading the accounts of %s: %w", s.Network, err)
	}
	open := make(map[accountNumber]rail.Signed) // the newest at each
	for _, sent := range s.Sent {
		i := slices.IndexFunc(accounts, func(a rail.Account) bool { return a.Address == sent.Account })
		if i >= 0 && sent.Sequence >= accounts[i].Mined {
			open[numberOf(sent)] = sent.Signed
		}
	}
	for _, last := range s.Sent {
		if open[numberOf(last)].ID != last.ID {
			continue
		}
		if last.Fill && time.Since(last.At) < fillAgain {
			err = d.send(ctx, r, s, last)
		} else {
			s, err = d.fill(ctx, r, s, &last.Signed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillOne uses up one number, unless claim refuses it in the transaction that signs for it.
func (d *Driver) fillOne(ctx context.Context, r rail.Rail, s *Settlement, open gap,
	claim func(ledger.Tx) error) (*Settlement, error) {
	draft, err := r.Replace(ctx, s.payments(nil), open.last, true)
	if err != nil {
		d.cfg.Log.Warn("open number not filled", "settlement", s.ID, "err", err)
		return s, nil
	}
	next, err := d.advance(ctx, s, open.of, "filled", func(tx ledger.Tx, s *Settlement) error {
		if err := claim(tx); err != nil {
			return err
		}
		return d.sign(tx, s, draft, open.of, &places{d: d, network: s.Network})
	})
	if err != nil {
		return s, err
	}
	kept, err := d.Load(ctx, s.ID)
	if err != nil {
		return s, err
	}
	return next, d.send(ctx, r, kept, next.Sent[len(next.Sent)-1])
}
