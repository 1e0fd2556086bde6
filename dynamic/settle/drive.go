package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// Drive sends a settlement and follows the chain until its owner has heard enough of every member,
// or ctx ends, whose error it returns then. Until the chain has spoken the same bytes are sent
// again, bumped at the same number when they are stuck, and signed anew when their number is lost.
func (d *Driver) Drive(ctx context.Context, s *Settlement, o Owner) error {
	r, err := d.rail(s.Network)
	if err != nil {
		return err
	}
	over := make(map[string]bool)
	var sent time.Time
	for {
		changed := r.Changed()
		if sent.IsZero() {
			sent = time.Now()
			if err := d.sendAll(ctx, r, s); err != nil {
				return err
			}
		}
		next, do, err := d.look(ctx, r, s, o, over)
		if errors.Is(err, errMoved) {
			if s, err = d.Load(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		if err != nil || len(over) == len(s.Members) {
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
		if err := d.pause(ctx, changed); err != nil {
			return err
		}
	}
}

// Watch looks once at a settlement that is not driven, uses up what it left open, and does what
// would help it where its owner wants more of it.
func (d *Driver) Watch(ctx context.Context, s *Settlement, o Owner) error {
	r, err := d.rail(s.Network)
	if err != nil {
		return err
	}
	s, do, err := d.look(ctx, r, s, o, make(map[string]bool))
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

// look reads what the chain says of a settlement, counts its reverts, fills the number that it left
// open, tells its owner, and signs what would help those members of which the owner wants more.
// Members in over are left alone, and those whose owner has heard enough are added.
func (d *Driver) look(ctx context.Context, r rail.Rail, s *Settlement, o Owner, over map[string]bool) (*Settlement, todo, error) {
	o.Waits(true) // looking is waiting: at a block all of them look at once
	found := make([]rail.Finding, len(s.Members))
	idle, open := true, false
	var unfilled *rail.Signed
	for i, m := range s.Members {
		f, err := r.Look(ctx, &m.Payment, s.Signed(m.ID), m.Mark, time.Now())
		if err != nil {
			d.cfg.Log.Warn("chain not readable", "settlement", s.ID, "network", s.Network, "payer", m.Payment.Payer, "err", err)
			return s, nothing, d.heard(ctx, s, o, over, i, News{Unread: true})
		}
		found[i] = f
		idle = idle && (f.State == rail.Seen || f.State == rail.Waiting && f.Advice == rail.Wait)
		if open = open || f.State == rail.Waiting || f.State == rail.Seen; f.Unfilled != nil {
			unfilled = f.Unfilled
		}
	}
	o.Waits(idle)
	var err error
	for _, f := range found {
		if s, err = d.noteReverts(ctx, r, s, f.Reverts, o); err != nil {
			return s, nothing, err
		}
	}
	if unfilled != nil && !open {
		if s, err = d.fill(ctx, r, s, unfilled); err != nil {
			return s, nothing, err
		}
	}
	if s, err = d.giveBack(ctx, s, found); err != nil {
		return s, nothing, err
	}
	do := nothing
	for i, f := range found {
		if over[s.Members[i].ID] {
			continue
		}
		n := News{Finding: f}
		reverts, payers := s.reverted(i)
		n.Reverted, n.PayersRevert = reverts > 0, payers
		if err := d.heard(ctx, s, o, over, i, n); err != nil {
			return s, nothing, err
		}
		if over[s.Members[i].ID] || f.State != rail.Waiting {
			continue
		}
		next, did, err := d.help(ctx, r, s, i, f.Advice)
		if why, is := Ended(err); is {
			if !why.Payer {
				d.cfg.Gas.Suspect(ctx, s.Network) // others would end alike
			}
			n.Over = &why
			err = d.heard(ctx, s, o, over, i, n)
		}
		if err != nil {
			return s, nothing, err
		}
		s, do = next, max(do, did)
	}
	return s, do, nil
}

// heard tells the owner of a member.
func (d *Driver) heard(ctx context.Context, s *Settlement, o Owner, over map[string]bool, member int, n News) error {
	m := s.Members[member]
	more, err := o.Heard(ctx, s, m, n)
	if err == nil && !more {
		over[m.ID] = true
	}
	return err
}

// help follows the rail's advice for a member. The error is one that Ended knows where a new
// transaction would revert like the ones before, or where as many have as may (M15).
func (d *Driver) help(ctx context.Context, r rail.Rail, s *Settlement, member int, a rail.Advice) (*Settlement, todo, error) {
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
			f, lookErr := r.Look(ctx, &m.Payment, s.Signed(m.ID), m.Mark, time.Now())
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
	next, err := d.advance(ctx, s, "resigned", func(tx ledger.Tx, s *Settlement) error {
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
	newest := make(map[place]int)
	for i, sent := range s.Sent {
		newest[placeOf(sent)] = i
	}
	for i, sent := range s.Sent {
		if newest[placeOf(sent)] != i {
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
				d.cfg.Log.Warn("broadcast not confirmed", "settlement", kept.ID, "network", kept.Network, "tx", k.ID, "err", err)
			}
			d.cfg.AfterStep("sent")
			return nil
		}
	}
	return fmt.Errorf("settle: transaction %s of %s is not in the ledger and will not be sent", sent.ID, kept.ID)
}

// post broadcasts a transaction in the order of its account's numbers; a third party that numbers
// its own needs none.
func (d *Driver) post(ctx context.Context, r rail.Rail, sent Sent) error {
	if sent.ID == "" {
		return r.Send(ctx, sent.Signed)
	}
	return d.outboxOf(r.Info().Network, sent.Account).post(ctx, r, sent.Signed)
}

// fill uses up a relayer's number that a settlement left open, so that later ones are not stuck
// behind it. One that was filled before and is open still may itself be stuck behind some that we
// never gave out.
func (d *Driver) fill(ctx context.Context, r rail.Rail, s *Settlement, open *rail.Signed) (*Settlement, error) {
	if open.Fill {
		below, err := d.skippedBelow(ctx, s.Network, open.Account, open.Sequence)
		if err != nil {
			return s, err
		}
		for _, n := range below {
			other := *open
			other.Sequence = n
			next, err := d.fillOne(ctx, r, s, &other, func(tx ledger.Tx) error {
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
	return d.fillOne(ctx, r, s, open, func(ledger.Tx) error { return nil })
}

// errTaken says that a number has been given to a payment meanwhile.
var errTaken = errors.New("settle: the number is taken")

// fillOne uses up one number, unless claim refuses it in the transaction that signs for it.
func (d *Driver) fillOne(ctx context.Context, r rail.Rail, s *Settlement, open *rail.Signed, claim func(ledger.Tx) error) (*Settlement, error) {
	draft, err := r.Replace(ctx, s.payments(nil), *open, true)
	if err != nil {
		d.cfg.Log.Warn("open number not filled", "settlement", s.ID, "err", err)
		return s, nil
	}
	next, err := d.advance(ctx, s, "filled", func(tx ledger.Tx, s *Settlement) error {
		if err := claim(tx); err != nil {
			return err
		}
		return d.sign(tx, s, draft, nil, &places{d: d, network: s.Network})
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
