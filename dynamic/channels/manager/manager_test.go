package manager_test

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/settle"
)

// store is a store's ledger and rail on a chain that seals by itself, and its buyers' channels.
type store struct {
	*chaintest.Net
	t    *testing.T
	db   ledger.DB
	rail *evm.Rail
	cfg  manager.Config
	key  chaintest.Key // of the authorizer
	stop func(step string)
}

func open(t *testing.T) *store {
	s := &store{Net: chaintest.New(t, chaintest.Options{Lead: 3600}), t: t, key: chaintest.NewKey(t),
		db: ledger.NewMem(ledger.MemOptions{}), stop: func(string) {}}
	cfg, _ := evm.Preset(s.ID())
	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{s.URL}, s.PayTo.Hex(), s.Relayer.Private
	cfg.CoinPrice, cfg.GenesisHash = 1_000_000, s.GenesisHash().Hex()
	cfg.Depth, cfg.Finality, cfg.Poll = 1, 0, 20*time.Millisecond
	cfg.Authorizer = s.key.Private
	var err error
	if s.rail, err = evm.New(cfg); err == nil {
		err = s.rail.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.rail.Close)
	rails := []rail.Rail{s.rail}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: s.db, Rails: rails})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: s.db, Rails: rails, Gas: g, Log: slog.New(slog.DiscardHandler),
		Pause: 5 * time.Millisecond, AfterStep: func(step string) { s.stop(step) }})
	if err != nil {
		t.Fatal(err)
	}
	s.cfg = manager.Config{DB: s.db, Rails: rails, Settles: d, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Sum: 500_000, Fresh: time.Nanosecond, Sweep: 100_000}
	return s
}

func (s *store) escrow() token.Escrow { return token.Escrow{ChainID: s.Node.ChainID} }

// channel is a channel of a buyer.
func (s *store) channel(payer common.Address, signer common.Address) token.Channel {
	return token.Channel{Payer: payer, PayerAuthorizer: signer, Receiver: s.PayTo, ReceiverAuthorizer: s.key.Address,
		Token: s.Asset, Delay: 1_209_600}
}

// fund puts two dollars into a channel; k signs for its payer.
func (s *store) fund(c token.Channel, k chaintest.Key) {
	s.t.Helper()
	a := s.Authorize(c.Payer, token.DepositAddress, 2_000_000)
	a.Nonce = token.DepositNonce(s.escrow().ID(c), common.Hash{1})
	sig := s.SignDigest(k, a.Digest(token.ReceiveKind, s.DomainSeparator()))
	data := token.CollectorData(0, a.ValidBefore, common.Hash{1}, sig)
	s.call(s.Minter, token.DepositCall(c, a.Value, token.DepositAddress, data))
}

func (s *store) call(k chaintest.Key, data []byte) {
	s.t.Helper()
	if r := s.Await(s.Send(k, token.EscrowAddress, data).Hash()); r.Status != 1 {
		s.t.Fatalf("a call reverted: %s", s.Revert(k.Address, token.EscrowAddress, data))
	}
}

// buy sells out of a channel for a voucher that k signs.
func (s *store) buy(c token.Channel, k chaintest.Key, max, amount int64) {
	s.t.Helper()
	id := s.escrow().ID(c)
	of := rail.Channel{ID: id.Hex(), Payer: c.Payer.Hex(), Receiver: c.Receiver.Hex(),
		Authorizer: c.ReceiverAuthorizer.Hex(), Token: c.Token.Hex(), Delay: int64(c.Delay), Salt: c.Salt.Hex()}
	if c.PayerAuthorizer != (common.Address{}) {
		of.Signer = c.PayerAuthorizer.Hex()
	}
	seen := s.state(c)
	s.update(func(tx ledger.Tx) error {
		b := channels.Bid{Network: s.ID(), Amount: amount, Purchase: "p", Seen: seen, Channel: of,
			Voucher: rail.Voucher{Max: max, Signature: s.SignDigest(k, s.escrow().Voucher(id, big.NewInt(max)))}}
		_, err := channels.Limits{}.Reserve(tx, b)
		if err == nil {
			_, err = channels.Take(tx, s.ID(), of.ID, "p", 0)
		}
		return err
	})
}

func (s *store) update(f func(ledger.Tx) error) {
	s.t.Helper()
	if err := s.db.Update(context.Background(), f); err != nil {
		s.t.Fatal(err)
	}
}

// state is a channel as the newest block has it.
func (s *store) state(c token.Channel) rail.ChannelState {
	s.t.Helper()
	states, err := s.rail.ReadChannels(s.t.Context(), []string{s.escrow().ID(c).Hex()}, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return states[0]
}

// round does a round with what is configured now.
func (s *store) round() error {
	m, err := manager.New(s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Round(s.t.Context(), s.ID(), func(ledger.Tx) error { return nil })
}

func (s *store) rounds() {
	s.t.Helper()
	if err := s.round(); err != nil {
		s.t.Fatal(err)
	}
}

// claimed holds what was claimed of channels against what is expected.
func (s *store) claimed(when string, want map[*token.Channel]int64) {
	s.t.Helper()
	for c, n := range want {
		if got := s.state(*c).Claimed; got != n {
			s.t.Errorf("%s: %d of the channel of %s are claimed, want %d", when, got, c.Payer, n)
		}
	}
}

// Channels are claimed by value and by age, at once where a payer withdraws, and never with one
// that would revert; what was claimed comes to payTo.
func TestRounds(t *testing.T) {
	s := open(t)
	s.rounds() // without a look nothing is sold
	much, little, flips := s.channel(s.Buyers[0].Address, s.Buyers[0].Address),
		s.channel(s.Buyers[1].Address, s.Buyers[1].Address), s.channel(s.Buyers[2].Address, common.Address{})
	for i, c := range []token.Channel{much, little, flips} {
		s.fund(c, s.Buyers[i])
	}
	s.buy(much, s.Buyers[0], 400_000, 400_000)
	s.buy(much, s.Buyers[0], 600_000, 200_000)
	s.buy(little, s.Buyers[1], 100_000, 100_000)
	s.buy(flips, s.Buyers[2], 700_000, 700_000)
	bad := s.channel(s.Buyers[3].Address, s.Buyers[3].Address)
	s.fund(bad, s.Buyers[3])
	s.buy(bad, s.Buyers[0], 700_000, 700_000) // as if a disk had turned over a bit of its signature
	// The payer of the third has code from now on, which refuses what it signed.
	s.Await(s.Delegate(s.Buyers[2], chain.Multicall).Hash())
	s.rounds()
	s.claimed("by value", map[*token.Channel]int64{&much: 600_000, &little: 0, &flips: 0,
		&bad: 0})
	if got := s.Node.Balance(s.PayTo); got != 600_000 {
		t.Errorf("%d came to payTo", got)
	}
	s.call(s.Buyers[1], token.WithdrawCall(little, big.NewInt(1_900_000)))
	s.rounds()
	s.claimed("a payer withdraws", map[*token.Channel]int64{&little: 100_000})

	s.buy(much, s.Buyers[0], 650_000, 50_000)
	s.rounds()
	s.claimed("too little, and young", map[*token.Channel]int64{&much: 600_000})
	s.cfg.Age = time.Nanosecond
	s.rounds()
	s.claimed("by age", map[*token.Channel]int64{&much: 650_000})
	s.buy(much, s.Buyers[0], 650_001, 1)
	s.rounds()
	s.claimed("for less than twenty times its cost", map[*token.Channel]int64{&much: 650_000})
}

// A withdrawal of a channel with nothing unclaimed is seen too, and nothing is sold for its money.
func TestIdleChannelWithdraws(t *testing.T) {
	s := open(t)
	s.rounds()
	k := s.Buyers[0]
	c := s.channel(k.Address, k.Address)
	s.fund(c, k)
	s.buy(c, k, 600_000, 600_000)
	s.rounds() // claims
	for range 8 {
		s.MustSeal()
	}
	s.rounds() // and that is final
	s.call(k, token.WithdrawCall(c, big.NewInt(1_400_000)))
	s.rounds()
	err := s.db.View(t.Context(), func(tx ledger.Tx) error {
		row, err := channels.Read(tx, s.ID(), s.escrow().ID(c).Hex())
		if err == nil && row.Seen.Withdrawing != 1_400_000 {
			t.Errorf("the row has %+v", row.Seen)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A process that dies at any step is followed by another, and everything happens once.
func TestKilled(t *testing.T) {
	for _, step := range []string{"settling", "sent"} {
		t.Run(step, func(t *testing.T) {
			s := open(t)
			s.rounds()
			k := s.Buyers[0]
			c := s.channel(k.Address, k.Address)
			s.fund(c, k)
			s.buy(c, k, 600_000, 600_000)
			died := false
			s.stop = func(at string) {
				if !died && at == step {
					died = true
					panic("killed")
				}
			}
			func() {
				defer func() { recover() }()
				s.rounds()
			}()
			if !died {
				t.Fatalf("no step %s", step)
			}
			s.cfg.Age = time.Nanosecond // which would claim anything that is not claimed yet
			s.rounds()
			s.rounds()
			s.claimed("in the end", map[*token.Channel]int64{&c: 600_000})
			if nonce, err := s.RPC.NonceAt(t.Context(), s.Relayer.Address, nil); err != nil || nonce != 2 {
				t.Errorf("%d transactions were sent, want a claim and a sweep; %v", nonce, err)
			}
		})
	}
}

// What a payer asks back is given back, with what was charged claimed first; where its gas is spent
// for the day the channel is opened again.
func TestRefund(t *testing.T) {
	s := open(t)
	s.rounds()
	k := s.Buyers[0]
	c := s.channel(k.Address, k.Address)
	s.fund(c, k)
	s.buy(c, k, 1000, 1000)
	id := s.escrow().ID(c).Hex()
	ask := func() error {
		return s.db.Update(t.Context(), func(tx ledger.Tx) error {
			_, err := channels.BeginRefund(tx, s.ID(), asking(id, 1000), 10)
			return err
		})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	s.rounds()
	if st := s.state(c); st.Balance != 1000 || st.Claimed != 1000 || st.RefundNonce != 1 {
		t.Errorf("after a refund the channel is %+v", st)
	}
	if over, ok := errors.AsType[*channels.Over](ask()); !ok || over.Limit != "refund" {
		t.Errorf("a second one the same day: %v", over)
	}

	s.cfg.Limits.Gas = 1
	other := s.channel(s.Buyers[1].Address, s.Buyers[1].Address)
	s.fund(other, s.Buyers[1])
	s.buy(other, s.Buyers[1], 1, 1)
	id = s.escrow().ID(other).Hex()
	s.update(func(tx ledger.Tx) error {
		_, err := channels.BeginRefund(tx, s.ID(), asking(id, 1), 10)
		return err
	})
	s.rounds()
	s.buy(other, s.Buyers[1], 2, 1) // it is open again
	if st := s.state(other); st.Balance != 2_000_000 {
		t.Errorf("without gas for it the channel is %+v", st)
	}
}

// Another process has the task: nothing is written and nothing is sent.
func TestFenced(t *testing.T) {
	s := open(t)
	s.rounds()
	k := s.Buyers[0]
	c := s.channel(k.Address, k.Address)
	s.fund(c, k)
	s.buy(c, k, 600_000, 600_000)
	m, err := manager.New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("another has it")
	if err := m.Round(t.Context(), s.ID(), func(ledger.Tx) error { return lost }); !errors.Is(err, lost) {
		t.Errorf("a round of another: %v", err)
	}
	s.claimed("fenced", map[*token.Channel]int64{&c: 0})
}

// asking is a payer who wants back all that is left of a channel.
func asking(id string, charged int64) *rail.ChannelPayment {
	return &rail.ChannelPayment{Channel: rail.Channel{ID: id}, Voucher: rail.Voucher{Max: charged}}
}
