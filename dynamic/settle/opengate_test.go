package settle_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// payment is the n-th of a payer.
func payment(payer string, n int) settle.OpenPayment {
	return settle.OpenPayment{ID: fmt.Sprint("p", n), Network: "eip155:1", Payer: payer, Nonce: fmt.Sprint(n),
		Amount: 10}
}

// purse is a network on which every payer has as much.
type purse struct {
	rail.Prover
	has   int64
	spent map[string]bool
	asked int
	err   error
}

func (p *purse) Funds(context.Context, string, []string) (rail.Funds, error) {
	p.asked++
	return rail.Funds{Balance: big.NewInt(p.has), Spent: p.spent}, p.err
}

func update(t *testing.T, db ledger.DB, f func(ledger.Tx) error) {
	t.Helper()
	if err := db.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// admit takes a payment on, waiting for room for a second at most.
func admit(t *testing.T, g *settle.OpenGate, db ledger.DB, net rail.Prover, p settle.OpenPayment,
	take func(ledger.Tx, settle.OpenPayment) error) error {
	_, err := admitBeside(t, g, db, net, p, nil, take)
	return err
}

// admitBeside is admit for a payment of a payer of whom some nonces are known to be open. It counts
// how often the ledger was asked.
func admitBeside(t *testing.T, g *settle.OpenGate, db ledger.DB, net rail.Prover, p settle.OpenPayment, beside []string,
	take func(ledger.Tx, settle.OpenPayment) error) (tries int, err error) {
	a := &settle.Admission{OpenPayment: p, Beside: beside, Proven: func(ledger.Tx, string, string, string) (bool,
		error) {
		return p.Payer == "known", nil
	}}
	err = g.Admit(t.Context(), a, net, time.Second, func(ctx context.Context) error {
		tries++
		return db.Update(ctx, func(tx ledger.Tx) error {
			if err := a.Check(tx); err != nil {
				return err
			}
			return take(tx, p)
		})
	})
	return tries, err
}

func why(err error) settle.Why {
	if full, ok := errors.AsType[*settle.NoRoom](err); ok {
		return full.Why
	}
	return ""
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g settle.OpenGate
		db := ledger.NewMem(ledger.MemOptions{})
		rich := &purse{has: 1000}
		for n := range settle.MostOpen {
			if err := admit(t, &g, db, rich, payment("a", n), settle.EnterOpen); err != nil {
				t.Fatalf("payment %d: %v", n, err)
			}
		}
		if err := admit(t, &g, db, rich, payment("a", 8), settle.EnterOpen); why(err) != settle.ManyOpen {
			t.Errorf("one too many: %v", err)
		}
		update(t, db, func(tx ledger.Tx) error { return settle.LeaveOpen(tx, payment("a", 3)) })
		if err := admit(t, &g, db, rich, payment("a", 8), settle.EnterOpen); err != nil {
			t.Errorf("after one left: %v", err)
		}

		poor := &purse{has: 20}
		for n := range 2 {
			if err := admit(t, &g, db, poor, payment("b", n), settle.EnterOpen); err != nil {
				t.Fatalf("payment %d: %v", n, err)
			}
		}
		ref, ok := errors.AsType[*rail.Refusal](admit(t, &g, db, poor, payment("b", 2), settle.EnterOpen))
		if !ok || ref.Reason != "insufficient_funds" {
			t.Errorf("money for two and three open: %v", ref)
		}
		poor.spent = map[string]bool{"0": true} // mined, and out of the balance
		if err := admit(t, &g, db, poor, payment("b", 2), settle.EnterOpen); err != nil {
			t.Errorf("money for two beside one that is mined: %v", err)
		}
		poor.err = errors.New("no node")
		if _, ok := errors.AsType[*settle.Unread](admit(t, &g, db, poor, payment("b", 3), settle.EnterOpen)); !ok {
			t.Error("taken although the funds cannot be read")
		}

		unit := payment("c", 0)
		unit.Unit = "drawer"
		if err := admit(t, &g, db, rich, unit, settle.EnterOpen); err != nil {
			t.Fatal(err)
		}
		unit.ID, unit.Nonce = "other", "1"
		if err := admit(t, &g, db, rich, unit, settle.EnterOpen); why(err) != settle.HoldsUnit {
			t.Errorf("a second unit: %v", err)
		}
	})
}

// Who waits for room hears at once when there is some, and 64 may wait at a time, over and over.
func TestRoomIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g settle.OpenGate
		db := ledger.NewMem(ledger.MemOptions{})
		rich := &purse{has: 1000}
		for n := range settle.MostOpen {
			if err := admit(t, &g, db, rich, payment("a", n), settle.EnterOpen); err != nil {
				t.Fatal(err)
			}
		}
		var admitted, refused, late int
		round := func(waiters int) {
			t.Helper()
			admitted, refused, late = 0, 0, 0
			var mu sync.Mutex
			for n := range waiters {
				go func() {
					began := time.Now()
					err := admit(t, &g, db, rich, payment("a", settle.MostOpen+n), settle.EnterOpen)
					mu.Lock()
					defer mu.Unlock()
					switch took := time.Since(began); {
					case err == nil && took == 10*time.Millisecond:
						admitted++
					case err != nil && took == 0:
						refused++
					case err != nil && took == time.Second:
						late++
					default:
						t.Errorf("after %s: %v", took, err)
					}
				}()
			}
			synctest.Wait()
		}
		for range 2 {
			round(65)
			time.Sleep(time.Second)
			synctest.Wait()
			if admitted != 0 || refused != 1 || late != 64 {
				t.Errorf("of 65 %d got in, %d were sent away at once and %d later, want 0, 1 and 64", admitted, refused,
					late)
			}
		}
		round(2)
		time.Sleep(10 * time.Millisecond)
		update(t, db, func(tx ledger.Tx) error {
			return errors.Join(settle.LeaveOpen(tx, payment("a", 0)), settle.LeaveOpen(tx, payment("a", 1)))
		})
		g.Freed()
		synctest.Wait()
		if admitted != 2 {
			t.Errorf("%d of two that waited got in at once", admitted)
		}
	})
}

// Whose other payments are known is taken on at the first try. Who has others than those is asked
// about once more, and nobody is turned away for what need not have been read.
func TestFundsAreAskedForAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g settle.OpenGate
		db := ledger.NewMem(ledger.MemOptions{})
		net := &purse{has: 1000}
		for n := range 2 {
			if err := admit(t, &g, db, net, payment("a", n), settle.EnterOpen); err != nil {
				t.Fatal(err)
			}
		}
		foreign := payment("a", 7)
		foreign.Network = "eip155:10"
		var nonces []string
		update(t, db, func(tx ledger.Tx) (err error) {
			err = settle.EnterOpen(tx, foreign)
			if err == nil {
				nonces, err = settle.OpenNonces(tx, "eip155:1", settle.Holder("eip155:1", "a", false))
			}
			return err
		})
		if !slices.Equal(nonces, []string{"0", "1"}) {
			t.Fatalf("open: %q", nonces)
		}
		for _, c := range []struct {
			what         string
			beside       []string
			node         error
			tries, asked int
			ok           bool
		}{
			{"all are known", nonces, nil, 1, 1, true},
			{"one is not", nonces[:1], nil, 2, 2, true},
			{"none is", nil, nil, 2, 1, true},
			{"no node", nonces, errors.New("no node"), 1, 1, false},
		} {
			net.asked, net.err = 0, c.node
			tries, err := admitBeside(t, &g, db, net, payment("a", 3), c.beside, settle.EnterOpen)
			if tries != c.tries || net.asked != c.asked || (err == nil) != c.ok {
				t.Errorf("%s: %d tries, the node asked %d times, %v; want %d and %d", c.what, tries, net.asked, err,
					c.tries, c.asked)
			}
			if _, unread := errors.AsType[*settle.Unread](err); unread == c.ok {
				t.Errorf("%s: %v", c.what, err)
			}
			update(t, db, func(tx ledger.Tx) error { return settle.LeaveOpen(tx, payment("a", 3)) })
		}
		tries, err := admitBeside(t, &g, db, net, payment("b", 0), []string{"left"}, settle.EnterOpen)
		if tries != 1 || err != nil {
			t.Errorf("without a node, of a payer with nothing open any more: %d tries, %v", tries, err)
		}
		net.err, net.has = nil, 25
		if _, err := admitBeside(t, &g, db, net, payment("a", 3), nonces, settle.EnterOpen); err == nil {
			t.Error("taken on with money for two and two open")
		}
	})
}

func TestPayersWithCodeShareABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g settle.OpenGate
		db := ledger.NewMem(ledger.MemOptions{})
		rich := &purse{has: 1000}
		coded := func(payer string) settle.OpenPayment {
			p := payment(payer, 0)
			p.ID, p.Local = payer, true
			return p
		}
		taken := 0
		for n := range settle.MostCoded {
			if admit(t, &g, db, rich, coded(fmt.Sprint("contract", n)), settle.EnterOpen) == nil {
				taken++
			}
		}
		if taken != settle.MostCoded*3/4 {
			t.Errorf("%d strangers with code, want three quarters of %d", taken, settle.MostCoded)
		}
		if err := admit(t, &g, db, rich, coded("stranger"), settle.EnterOpen); why(err) != settle.ManyCoded {
			t.Errorf("one more stranger: %v", err)
		}
		if err := admit(t, &g, db, rich, coded("known"), settle.EnterOpen); err != nil {
			t.Errorf("one who settled here before: %v", err)
		}
		if err := admit(t, &g, db, rich, payment("plain", 0), settle.EnterOpen); err != nil {
			t.Errorf("a plain wallet: %v", err)
		}
	})
}

// What was reserved by a process that died is free again after its time, and what was entered
// never.
func TestAReservationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g settle.OpenGate
		db := ledger.NewMem(ledger.MemOptions{})
		net := &purse{has: 10}
		reserve := func(tx ledger.Tx, p settle.OpenPayment) error { return settle.ReserveOpen(tx, p, time.Minute) }
		if err := admit(t, &g, db, net, payment("a", 0), reserve); err != nil {
			t.Fatal(err)
		}
		if err := admit(t, &g, db, net, payment("a", 1), reserve); err == nil {
			t.Error("money for one reserved two")
		}
		time.Sleep(2 * time.Minute)
		if err := admit(t, &g, db, net, payment("a", 1), settle.EnterOpen); err != nil {
			t.Errorf("after the reservation's end: %v", err)
		}
		time.Sleep(time.Hour)
		if err := admit(t, &g, db, net, payment("a", 2), settle.EnterOpen); err == nil {
			t.Error("an open payment was forgotten")
		}
	})
}

// While strangers go one at a time, a second one waits for the first to end, by itself or with the
// process that reserved for it, and who does not go alone waits for nobody.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		var g settle.OpenGate
		enter := func(n int, payer string, alone bool, take func(ledger.Tx, settle.OpenPayment) error) error {
			a := &settle.Admission{OpenPayment: payment(payer, n), Alone: alone}
			return g.Admit(t.Context(), a, &purse{has: 1000}, time.Second, func(ctx context.Context) error {
				return db.Update(ctx, func(tx ledger.Tx) error {
					if err := a.Check(tx); err != nil {
						return err
					}
					return take(tx, a.OpenPayment)
				})
			})
		}
		if err := enter(1, "a", true, settle.EnterOpen); err != nil {
			t.Fatal(err)
		}
		if err := enter(2, "b", true, settle.EnterOpen); why(err) != settle.OneAtATime {
			t.Errorf("a second one: %v", err)
		}
		if err := enter(3, "c", false, settle.EnterOpen); err != nil {
			t.Errorf("one who does not go alone: %v", err)
		}
		update(t, db, func(tx ledger.Tx) error { return settle.LeaveOpen(tx, payment("a", 1)) })
		if err := enter(4, "d", true, func(tx ledger.Tx, p settle.OpenPayment) error {
			return settle.ReserveOpen(tx, p, time.Minute)
		}); err != nil {
			t.Errorf("after the first: %v", err)
		}
		if err := enter(5, "e", true, settle.EnterOpen); why(err) != settle.OneAtATime {
			t.Errorf("beside one that is reserved for: %v", err)
		}
		time.Sleep(time.Minute)
		if err := enter(6, "e", true, settle.EnterOpen); err != nil {
			t.Errorf("after a reservation that nobody came back to: %v", err)
		}
	})
}
