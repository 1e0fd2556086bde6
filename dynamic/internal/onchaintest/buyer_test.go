package onchaintest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// ownBuyer is the buyer of this project with a folder, on the first chain of a shop.
type ownBuyer struct {
	*buyer.Buyer
	t    *testing.T
	dir  string
	cfg  buyer.Config
	lost atomic.Int32 // how many answers to payments are lost yet
	paid atomic.Int32 // requests with a payment
}

// RoundTrip loses answers to payments when the door has given them.
func (o *ownBuyer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Header.Get("PAYMENT-SIGNATURE") == "" {
		return resp, err
	}
	o.paid.Add(1)
	if o.lost.Add(-1) >= 0 {
		_, err := io.Copy(io.Discard, resp.Body)
		return nil, errors.Join(errors.New("lost"), err, resp.Body.Close())
	}
	return resp, nil
}

func newOwnBuyer(t *testing.T, node *chaintest.Net, k chaintest.Key, change func(*buyer.Config)) *ownBuyer {
	t.Helper()
	key, err := wallet.ParseKey(k.Hex())
	if err != nil {
		t.Fatal(err)
	}
	o := &ownBuyer{t: t, dir: filepath.Join(t.TempDir(), "purchases")}
	o.cfg = buyer.Config{Wallet: key, Journal: buyer.Folder(o.dir), Nodes: map[string]string{node.ID(): node.URL},
		Client: &http.Client{Transport: o}}
	if change != nil {
		change(&o.cfg)
	}
	o.reopen()
	return o
}

// reopen is the process started anew.
func (o *ownBuyer) reopen() {
	o.t.Helper()
	b, err := buyer.New(o.cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	o.Buyer = b
}

// voucher buys by voucher.
func (o *ownBuyer) voucher(url string) (*buyer.Result, error) {
	return o.Buy(o.t.Context(), url, buyer.Options{Choice: buyer.Choice{Scheme: rail.SchemeVouchers}})
}

// bought demands that a purchase by voucher cost so much and deposited so much.
func (o *ownBuyer) bought(what, url string, charged, deposit int64) *buyer.Result {
	o.t.Helper()
	r, err := o.voucher(url)
	if err != nil {
		o.t.Fatalf("%s: %v", what, err)
	}
	if v := r.Voucher; v == nil || v.Charged != charged || v.Deposit != deposit || r.Billed != "yes" ||
		len(r.Warnings) != 0 || (r.Transaction != "") != (deposit > 0) {
		o.t.Errorf("%s: %+v, %+v", what, r, r.Voucher)
	}
	return r
}

// stands demands how the one channel of the folder stands.
func (o *ownBuyer) stands(what string, charged, balance int64) *buyer.ChannelView {
	o.t.Helper()
	all, err := o.Channels(o.t.Context())
	if err != nil || len(all) != 1 || all[0].Charged != charged || all[0].Balance != balance {
		o.t.Fatalf("%s: %+v, %v, want %d of %d spent", what, all, err, charged, balance)
	}
	return all[0]
}

// charged is what the shop has charged its only channel.
func (s *voucherShop) charged() int64 {
	s.t.Helper()
	var row *channels.Row
	err := s.db.View(s.t.Context(), func(tx ledger.Tx) error {
		ids, err := channels.IDs(tx, s.net.ID())
		if err != nil || len(ids) != 1 {
			return errors.Join(errors.New("not one channel"), err)
		}
		row, err = channels.Read(tx, s.net.ID(), ids[0])
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return row.Charged
}

// The project's own buyer buys out of one channel: lost answers come again and are charged once, a
// lost folder is made good from the chain and the door, and what is left comes back, with the store
// and without it.
func TestOwnBuyerPaysByVouchers(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	s.manage(manager.Config{Sweep: 1})
	line, hello := s.url+"/porch/line", s.url+"/api/buy/hello"
	o := newOwnBuyer(t, s.net, s.from, nil)
	if terms, err := o.Terms(t.Context(), line, buyer.Options{}); err != nil ||
		terms.Entries[terms.Chosen].Scheme != "exact" {
		t.Fatalf("unconfigured: %+v, %v", terms, err)
	}
	o.bought("the first", line, 1000, 1_000_000)
	o.bought("the second", line, 1000, 0)
	o.stands("after two", 2000, 1_000_000)

	o.lost.Store(1)
	if r := o.bought("a lost answer", line, 1000, 0); !r.Replay {
		t.Errorf("lost: %+v", r)
	}
	o.bought("a certificate", hello, 500_000, 0)
	o.stands("with one", 503_000, 1_000_000)

	// Its process dies with the answer, and buys something else before it resumes.
	o.lost.Store(1 << 30)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		until(t, "the payment to be answered", func() bool { return o.lost.Load() < 1<<30 })
		cancel()
	}()
	if _, err := o.Buy(ctx, line, buyer.Options{Choice: buyer.Choice{Scheme: rail.SchemeVouchers}}); !errors.Is(err,
		buyer.ErrUnknown) {
		t.Fatalf("killed: %v", err)
	}
	o.lost.Store(0)
	o.reopen()
	if _, err := o.voucher(hello); !errors.Is(err, buyer.ErrUnfinished) {
		t.Errorf("beside a voucher without an answer: %v", err)
	}
	for range 2 { // the second finds nothing
		if _, err := o.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	o.stands("resumed", 504_000, 1_000_000)
	if got := s.charged(); got != 504_000 {
		t.Errorf("the shop charged %d", got)
	}

	// The folder is lost: the balance is on the chain, the count is the door's and proved.
	if err := os.RemoveAll(o.dir); err != nil {
		t.Fatal(err)
	}
	o.bought("without its folder", line, 1000, 0)
	o.stands("without its folder", 505_000, 1_000_000)
	// What does not fit any more is topped up, by as little as the door takes.
	o.bought("more than is left", hello, 500_000, 1_000_000)
	at := o.stands("topped up", 1_005_000, 2_000_000)

	// Cooperatively, then without the store.
	had := s.net.Node.Balance(s.from.Address)
	v, err := o.Refund(t.Context(), hello, 400_000)
	if back := s.net.Node.Balance(s.from.Address) - had; err != nil || back != 400_000 || v.Left != 595_000 {
		t.Fatalf("refunded %d: %+v, %v", back, v, err)
	}
	if v, err := o.Refund(t.Context(), at.Channel.ID, 0); err == nil || v.Left != 595_000 {
		t.Errorf("again the same day: %+v, %v", v, err)
	}
	o.bought("and on", line, 1000, 0)
	if err := os.RemoveAll(o.dir); err != nil { // the withdrawal needs the door's terms alone
		t.Fatal(err)
	}
	v, err = o.Withdraw(t.Context(), hello)
	if err != nil || v.Withdrawing == 0 || v.Transaction == "" || v.Finalize.IsZero() {
		t.Fatalf("begun: %+v, %v", v, err)
	}
	if _, err := o.voucher(line); !errors.Is(err, buyer.ErrChannel) {
		t.Errorf("bought by what is being withdrawn: %v", err)
	}
	if early, err := o.Withdraw(t.Context(), v.Channel.ID); !errors.Is(err, buyer.ErrEarly) ||
		!early.Finalize.Equal(v.Finalize) {
		t.Errorf("too early: %+v, %v", early, err)
	}
	until(t, "the store to claim what is its", func() bool {
		v, err := o.Withdraw(t.Context(), v.Channel.ID)
		return errors.Is(err, buyer.ErrEarly) && s.net.Node.Balance(s.net.PayTo) == 1_006_000 && v != nil
	})
	s.net.Pass(14*24*time.Hour + time.Minute)
	had = s.net.Node.Balance(s.from.Address)
	v, err = o.Withdraw(t.Context(), v.Channel.ID)
	if back := s.net.Node.Balance(s.from.Address) - had; err != nil || back != 594_000 || v.Left != 0 {
		t.Errorf("ended with %d: %+v, %v", back, v, err)
	}
	if _, err := o.Withdraw(t.Context(), v.Channel.ID); !errors.Is(err, buyer.ErrNothing) {
		t.Errorf("of an empty channel: %v", err)
	}
}

// Deposits keep within the ceiling of one purchase, and a buyer without a node pays none.
func TestOwnBuyerBoundsDeposits(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	line := s.url + "/porch/line"
	o := newOwnBuyer(t, s.net, s.from, func(c *buyer.Config) { c.Ceiling = 999_999 })
	if _, err := o.voucher(line); !errors.Is(err, buyer.ErrCeiling) ||
		!strings.Contains(err.Error(), "deposit of 1 USDC") {
		t.Errorf("a deposit above the ceiling: %v", err)
	}
	o.cfg.Nodes = nil
	o.reopen()
	if _, err := o.voucher(line); !errors.Is(err, buyer.ErrNotPayable) || !strings.Contains(err.Error(), "no node") {
		t.Errorf("without a node: %v", err)
	}
	if o.paid.Load() != 0 {
		t.Errorf("%d payments were presented", o.paid.Load())
	}
}

// What is held for an order is reclaimed from its deadline on by the folder alone, and never twice.
func TestOwnBuyerReclaimsAHold(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 2})
	k := s.net.Buyers[0]
	o := newOwnBuyer(t, s.net, k, func(c *buyer.Config) { c.Ceiling = 10_000_000 })
	door := s.url + heldJudgment
	if _, err := o.Buy(t.Context(), door, buyer.Options{}); !errors.Is(err, buyer.ErrNotPayable) {
		t.Fatalf("unconfigured: %v", err)
	}
	o.cfg.Hold.Longest = 24 * time.Hour
	o.reopen()
	if _, err := o.Buy(t.Context(), door, buyer.Options{}); !errors.Is(err, buyer.ErrNotPayable) ||
		!strings.Contains(err.Error(), "longer than 24h") {
		t.Fatalf("held for longer than may be: %v", err)
	}
	o.cfg.Hold.Longest = 8 * 24 * time.Hour
	o.reopen()
	had := s.net.Node.Balance(k.Address)
	o.lost.Store(1)
	r, err := o.Buy(t.Context(), door, buyer.Options{})
	if err != nil || r.Status != 202 || r.Hold == nil || r.Billed != "yes" || len(r.Warnings) != 0 ||
		s.net.Node.Balance(k.Address) != had-price {
		t.Fatalf("held: %+v, %v", r, err)
	}
	id := r.Hold.Purchase
	state := func(want string) {
		t.Helper()
		all, err := o.Holds(t.Context())
		if err != nil || len(all) != 1 || all[0].State != want || all[0].Purchase != id {
			t.Errorf("holds %+v, %v, want one that is %s", all, err, want)
		}
	}
	state(buyer.HoldHeld)
	if _, err := o.Reclaim(t.Context(), id); !errors.Is(err, buyer.ErrEarly) {
		t.Errorf("early: %v", err)
	}
	s.stop() // the store is gone for ever
	s.net.Pass(171 * time.Hour)
	o.reopen()
	if v, err := o.Reclaim(t.Context(), id); err != nil || v.Transaction == "" ||
		s.net.Node.Balance(k.Address) != had {
		t.Errorf("reclaimed: %+v, %v", v, err)
	}
	state(buyer.HoldBack)
	if _, err := o.Reclaim(t.Context(), id); !errors.Is(err, buyer.ErrNothing) {
		t.Errorf("twice: %v", err)
	}
}
