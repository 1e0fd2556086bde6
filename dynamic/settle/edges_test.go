package settle_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// What lacks exactly what is left of the subsidy is offered, taken and signed; one unit more is
// not.
func TestTheLastOfTheSubsidy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for lack, ok := range map[int64]bool{2000: true, 2001: false} {
			s := newStreet(t, settle.GasConfig{Subsidy: 2000})
			const price = 1000
			s.a.set(func(n *node) { n.standing.Cost = (price + lack + 1) / 2 })
			p := 2*((price+lack+1)/2) - lack // lacks so much to twice the cost
			stop := s.run()
			if o := s.Offer(t.Context(), one, p); (o == nil) != ok {
				t.Errorf("lacking %d: offered %v", lack, o)
			}
			if err := s.Take(t.Context(), one, p, 0); (err == nil) != ok {
				t.Errorf("lacking %d: taken %v", lack, err)
			}
			err := s.update(func(tx ledger.Tx) error {
				_, err := s.Sign(tx, one, "payer", p, rail.Price{Cost: (price + lack + 1) / 2})
				return err
			})
			if errors.Is(err, settle.ErrGasDear) == ok {
				t.Errorf("lacking %d: signed %v", lack, err)
			}
			stop()
		}
	})
}

// A cost that cannot be doubled is too dear for any price, and is not taken for a small one.
func TestACostBeyondAllPrices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cost := range []int64{1 << 61, 1<<61 + 1, 1 << 62, 1<<62 + 1, 1<<63 - 1} {
			s := newStreet(t, settle.GasConfig{Subsidy: 5000})
			s.a.set(func(n *node) { n.standing.Cost = cost })
			stop := s.run()
			if s.Offer(t.Context(), one, 1_000_000) == nil || s.Take(t.Context(), one, 1_000_000, 0) == nil {
				t.Errorf("a cost of %d is taken", cost)
			}
			err := s.update(func(tx ledger.Tx) error {
				_, err := s.Sign(tx, one, "payer", 1_000_000, rail.Price{Cost: cost})
				return err
			})
			if !errors.Is(err, settle.ErrGasDear) {
				t.Errorf("a cost of %d is signed for: %v", cost, err)
			}
			stop()
		}
	})
}

// broken is a transaction that answers nothing.
type broken struct{ ledger.Tx }

var errBroken = errors.New("broken")

func (broken) Get([]byte) ([]byte, error) { return nil, errBroken }

// A ledger that does not answer says of nobody whether they have settled.
func TestProvenByABrokenLedger(t *testing.T) {
	s := newStreet(t, settle.GasConfig{})
	for _, code := range []string{"", "code"} {
		if proven, err := s.Proven(broken{}, one, "payer", code); proven || !errors.Is(err, errBroken) {
			t.Errorf("Proven = %v, %v", proven, err)
		}
	}
}

// A network that failed is read anew, but not again while another's reading is young.
func TestSuspectReadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{Every: 10 * time.Second})
		asked := func() (n int) {
			s.a.set(func(a *node) { n = a.asked })
			return n
		}
		s.Suspect(t.Context(), one)
		first := asked()
		time.Sleep(time.Second - 1)
		s.Suspect(t.Context(), one)
		if n := asked(); n != first {
			t.Errorf("read %d times, want %d", n, first)
		}
		time.Sleep(time.Nanosecond)
		s.Suspect(t.Context(), one)
		if n := asked(); n != first+1 {
			t.Errorf("read %d times, want %d", n, first+1)
		}
	})
}

// full is a transaction that takes no more writes.
type full struct{ ledger.Tx }

func (full) Set([]byte, []byte) error { return errBroken }

// What cannot be counted is not signed for.
func TestSigningNeedsItsCount(t *testing.T) {
	for name, price := range map[string]rail.Price{"code": {Cost: 1, Most: 5, Code: "code"},
		"subsidy": {Cost: 1_000_000}} {
		s := newStreet(t, settle.GasConfig{Subsidy: 5_000_000})
		err := s.update(func(tx ledger.Tx) error {
			_, err := s.Sign(full{tx}, one, "payer", 1_000_000, price)
			return err
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: Sign = %v", name, err)
		}
	}
}

// mute is a transaction that does not answer one of its reads.
type mute struct {
	ledger.Tx
	at *int // which, counted down
}

func (m mute) Get(key []byte) ([]byte, error) {
	if *m.at--; *m.at == 0 {
		return nil, errBroken
	}
	return m.Tx.Get(key)
}

// A payment counts as landed only where all that is to be noted of it was: one read that is not
// answered is an error, whichever it is.
func TestSettledByABrokenLedger(t *testing.T) {
	s := newStreet(t, settle.GasConfig{})
	landed := func(at int) error {
		return s.update(func(tx ledger.Tx) error {
			at := at // it may run more than once
			return s.Settled(mute{tx, &at}, settle.GasPayer{Network: one, Address: "payer", Code: "code"}, 5,
				[]settle.GasHeld{{Day: "2026-08-01", Amount: 1}})
		})
	}
	const reads = 4 // what is held, of the day and of the payer, the payer, what reverted alike
	for at := 1; at <= reads; at++ {
		if err := landed(at); !errors.Is(err, errBroken) {
			t.Errorf("without an answer to read %d: %v", at, err)
		}
	}
	if err := landed(reads + 1); err != nil {
		t.Errorf("with all answers: %v", err)
	}
}
