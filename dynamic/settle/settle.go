// Package settle makes payments land: it signs settlements, numbers and broadcasts them, and sees
// them through until the chain has spoken. It is the only driver of a rail, for the till's
// purchases and for a facilitator's payments alike, so whatever limits the gas, the numbers and the
// broadcasts holds for both.
//
// A Settlement is one record, at settlement/<id>: the payments that it settles, its members, and
// every transaction that was ever signed for them, oldest first. Who has a member settled, its
// owner, keeps the settlement's id and hears of what becomes of it. The package knows nothing of
// purchases, goods or HTTP, and what a member means is its owner's business. Packages of rails know
// nothing of it.
//
// An account has at most MaxUnmined transactions in no block, over all processes, which the
// transaction that gives out a number decides; of several accounts the one with most room sends.
// Who finds no room waits in a line, first come first served, that each block moves. A process
// broadcasts an account's transactions in the order of their numbers (package till, M16). Where
// there is a queue, orders of several owners are settled by one transaction and have one record
// together, of which each owner drives its own member (together.go, M11).
//
// What is durable when:
//
//   - Begin stores the record, with the signed bytes, the sequence number, and what may be burnt
//     out of the day's budgets, in one ledger transaction with what its owner writes there. When it
//     returns nothing has been sent.
//   - Nothing is broadcast that was not read back from the ledger before, byte for byte. So after a
//     crash between any two steps the same bytes are sent again, and sending twice is harmless.
//   - A revert is counted once, in one transaction with what its owner does about it.
//   - What became of a member is not stored here: its owner credits a payment, or gives it up, in a
//     transaction of its own, by the rail's word alone (package till, M3), and calls Landed in it.
//
// Who retries: a drive ends with its context or with its last member. Then it is up to the owner to
// drive again, after a crash too, until nothing can change any more (rail.Finding.Final). Any
// number of hands, in any number of processes, may drive one settlement: each new signature names
// what was signed for its members before, and the later one loses.
//
// The ledger's records are
//
//	settlement/<id>                                  one settlement, or the name of the one that it was joined to
//	relayer/<network>/<address>/next                 the account's next sequence number
//	relayer/<network>/<address>/skipped/<number>     a span of numbers that nobody was given, and where it ends
//	relayer/<network>/<address>/signed/<number>      the settlement that signed for it last, of the newest ones
//	budget/gas-…                                     what may be spent; see GasGuard
//
// An example, for an owner whose payments have a record of their own:
//
//	s, err := d.Begin(ctx, settle.Order{
//		Members: []settle.Member{{ID: id, Payment: p, Verified: seen}},
//		Arrow: func(tx ledger.Tx, s *settle.Settlement) error {
//			return remember(tx, id, s.ID) // in the same transaction
//		}})
//	…
//	err = d.Drive(ctx, s, owner, id) // until owner has heard enough
package settle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Settlement is the record of one settlement.
type Settlement struct {
	ID      string `json:"id"`
	Version int64  `json:"version"` // one more with every change
	Network string `json:"network"`
	// In is the settlement that the order with this id was joined to. Nothing else is kept here
	// then.
	In string `json:"in,omitzero"`
	// Members are the payments that it settles. Their order is for ever.
	Members []Member   `json:"members"`
	Sent    []Sent     `json:"signed,omitzero"`  // every transaction ever signed for it, oldest first
	Held    []setAside `json:"held,omitzero"`    // what was set aside for transactions whose end is open
	Reverts []Revert   `json:"reverts,omitzero"` // transactions that reverted, oldest first
}

// Member is one payment of a settlement.
type Member struct {
	ID       string        `json:"id"` // its owner's name for it
	Payment  rail.Payment  `json:"payment"`
	Verified rail.Verified `json:"mark"` // the head before its authorization was seen unused
}

// Sent is a transaction that was signed, and may have been sent.
type Sent struct {
	rail.Signed
	Of []int `json:"of,omitzero"` // the members that it settles; none named is all
}

// Revert is a transaction of ours that did not move a member in its block, and why.
type Revert struct {
	rail.Revert
	rail.Cause
	Member int `json:"member,omitzero"`
}

// Owner has members settled. Its methods are called by the goroutine that drives.
type Owner interface {
	// Reverted is called of a member that a transaction of ours did not move, unless others in it
	// were to blame, in the ledger's transaction that counts it.
	Reverted(tx ledger.Tx, m Member) error
	// Heard is told what is known of a member, and says whether to go on settling it. Whatever it
	// does about it, it does in transactions of its own before it returns.
	Heard(ctx context.Context, s *Settlement, m Member, n News) (more bool, err error)
	// Waits is told whether the drive merely waits for the chain: true before each pause too, when
	// all that a look asked for is done.
	Waits(waits bool)
}

// News is what is known of a member after a look at the chain.
type News struct {
	rail.Finding
	// Reverted says that a transaction of ours that would have settled it was undone, and
	// PayersRevert that this is shown to be the payer's doing.
	Reverted, PayersRevert bool
	// Unread says that the chain could not be read: the finding is empty.
	Unread bool
	// Over is set where the chain may still be waited for, and nothing more is signed: why.
	Over *Ending
}

// Config is what a Driver stands on. AfterStep and Pause may be left out.
type Config struct {
	DB    ledger.DB
	Rails []rail.Rail
	Gas   *GasGuard
	Log   *slog.Logger
	// Pause is the longest time between two looks at a settlement that is driven; 0 is 1 s.
	Pause time.Duration
	// AfterStep is called when a step is durable or a broadcast was made, with its name, by the
	// goroutine that drives. Tests stop the process there.
	AfterStep func(step string)
}

// Driver settles. Its methods may be called by many goroutines at once.
type Driver struct {
	cfg  Config
	nets map[string]rail.Rail

	lines  map[string]*line // by network
	boxes  sync.Map         // network and account → *outbox
	parsed parsed
}

// New returns a driver. It makes no request.
func New(cfg Config) (*Driver, error) {
	if cfg.DB == nil || len(cfg.Rails) == 0 || cfg.Gas == nil {
		return nil, errors.New("settle: a ledger, a network and limits of gas are needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Pause <= 0 {
		cfg.Pause = time.Second
	}
	if cfg.AfterStep == nil {
		cfg.AfterStep = func(string) {}
	}
	d := &Driver{cfg: cfg, nets: make(map[string]rail.Rail), lines: make(map[string]*line)}
	for _, r := range cfg.Rails {
		d.nets[r.Info().Network], d.lines[r.Info().Network] = r, newLine()
	}
	return d, nil
}

// Unsigned is a settlement of one payment for which nothing was signed. It has no record.
func Unsigned(m Member) *Settlement {
	return &Settlement{Network: m.Payment.Network, Members: []Member{m}}
}

// Tx is the newest transaction that was signed to pay a member, empty for none.
func (s *Settlement) Tx(member string) string {
	for _, sent := range slices.Backward(s.Signed(member)) {
		if !sent.Fill {
			return sent.ID
		}
	}
	return ""
}

// Signed are the transactions that were signed for a member, as its rail has them.
func (s *Settlement) Signed(member string) []rail.Signed {
	i := s.member(member)
	var out []rail.Signed
	for _, sent := range s.Sent {
		if sent.settles(i) {
			out = append(out, sent.Signed)
		}
	}
	return out
}

func (s *Settlement) member(id string) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.ID == id })
}

// Member is the member with an id; an empty one where there is none.
func (s *Settlement) Member(id string) Member {
	if i := s.member(id); i >= 0 {
		return s.Members[i]
	}
	return Member{}
}

// places are those of some members, or of all where none are named.
func (s *Settlement) places(members []string) (of []int) {
	for i, m := range s.Members {
		if len(members) == 0 || slices.Contains(members, m.ID) {
			of = append(of, i)
		}
	}
	return of
}

func (s Sent) settles(member int) bool { return len(s.Of) == 0 || slices.Contains(s.Of, member) }

// signedFor reports whether a transaction at the place of another was signed for a member.
func (s *Settlement) signedFor(other rail.Signed, member int) bool {
	return slices.ContainsFunc(s.Sent, func(x Sent) bool {
		return numberOf(x) == numberOf(Sent{Signed: other}) &&
			x.settles(member)
	})
}

// payments are those of some members, or of all where none are named.
func (s *Settlement) payments(of []int) []*rail.Payment {
	var ps []*rail.Payment
	for i := range s.Members {
		if len(of) == 0 || slices.Contains(of, i) {
			ps = append(ps, &s.Members[i].Payment)
		}
	}
	return ps
}

// moved reports whether something was signed for a member, or counted of it, since the settlement
// was as old says: for one of those named, or for any where none are.
func (s *Settlement) moved(old *Settlement, of []int) bool {
	if len(of) == 0 {
		return s.Version != old.Version
	}
	news := func(i int) bool {
		count := func(s *Settlement) (n int) {
			for _, x := range s.Sent {
				if x.settles(i) {
					n++
				}
			}
			for _, v := range s.Reverts {
				if v.Member == i {
					n++
				}
			}
			return n
		}
		return count(s) != count(old)
	}
	return slices.ContainsFunc(of, news)
}

// errMoved says that a settlement is no longer the version that a step is for: another hand was
// faster.
var errMoved = errors.New("settle: the settlement has moved on")

func save(tx ledger.Tx, s *Settlement) error {
	s.Version++
	return ledger.SetJSON(tx, ledger.SettlementKey(s.ID), s)
}

// Load reads a settlement in a transaction of its own. Nothing may be changed in it.
func (d *Driver) Load(ctx context.Context, id string) (s *Settlement, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		s, err = d.Read(tx, id)
		return err
	})
	return s, err
}

// Unfinished lists the settlements with members whose ids begin with a prefix and that signed for a
// number which is not used up, of the networks that are named, or of all: later ones of the account
// wait behind it.
func (d *Driver) Unfinished(ctx context.Context, prefix string, networks ...string) (list []*Settlement, err error) {
	open := make(map[string][]rail.Account)
	for network, r := range d.nets {
		if len(networks) > 0 && !slices.Contains(networks, network) {
			continue
		}
		if open[network], err = r.Accounts(ctx); err != nil {
			return nil, fmt.Errorf("settle: reading the accounts of %s: %w", network, err)
		}
	}
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		list = nil
		seen := make(map[string]bool)
		for network, accounts := range open {
			for _, a := range accounts {
				ids, err := signedFor(tx, network, a.Address, a.Mined)
				if err != nil {
					return err
				}
				for _, id := range ids {
					if seen[id] {
						continue
					}
					seen[id] = true
					s, err := Read(tx, id)
					if err != nil {
						return err
					}
					if slices.ContainsFunc(s.Members, func(m Member) bool { return strings.HasPrefix(m.ID, prefix) }) {
						list = append(list, s)
					}
				}
			}
		}
		return nil
	})
	return list, err
}

// advance runs f on a settlement as it stands, if nothing has moved since old for some members, any
// where none are named, and stores it; the step is durable when advance returns. f may run more
// than once and touches nothing outside.
func (d *Driver) advance(ctx context.Context, old *Settlement, of []int, step string,
	f func(ledger.Tx, *Settlement) error) (s *Settlement, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		ledger.Ahead(tx, ledger.At(ledger.SettlementKey(old.ID)))
		if s, err = Read(tx, old.ID); err != nil {
			return err
		}
		if s.moved(old, of) {
			return errMoved
		}
		if err := f(tx, s); err != nil {
			return err
		}
		return save(tx, s)
	})
	if err != nil {
		return nil, err
	}
	d.cfg.AfterStep(step)
	return s, nil
}

// ledgerContext outlives the request that began a step, because a step once begun is finished, and
// has a deadline, because the ledger retries until then.
func ledgerContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
}

// rail is a network, once it was seen to be the configured one: nothing that another node says is
// believed.
func (d *Driver) rail(network string) (rail.Rail, error) {
	r, ok := d.nets[network]
	if !ok {
		return nil, fmt.Errorf("settle: network %s is no longer configured, but settlements wait on it: configure it "+
			"until they are resolved", network)
	}
	return r, d.cfg.Gas.Ready(context.Background(), network)
}

// newID is the id of a settlement whose order names none.
func newID() string { return "set_" + strings.ToLower(rand.Text()) }
