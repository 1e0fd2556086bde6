package onchaintest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

// told is what a payer tells of a purchase at a door, signed.
func (w *town) told(by chaintest.Key, host, tx string, change func(*buyer.PurchaseReport)) buyer.PurchaseReport {
	w.t.Helper()
	key, err := wallet.ParseKey(by.Hex())
	if err != nil {
		w.t.Fatal(err)
	}
	p := buyer.PurchaseReport{URL: "https://" + host + "/paid", By: record.BoughtBySeller, Network: w.ID(), TxHash: tx,
		Payer: by.Address.Hex(), Status: 200, BodySHA256: strings.Repeat("ab", 32), Bytes: 7,
		ContentType: "application/json"}
	if change != nil {
		change(&p)
	}
	p.Sign("store.example", key, nil)
	return p
}

// walks are the paid walks on the feed.
func (w *town) walks() (all []record.Observation) {
	w.t.Helper()
	err := w.db.View(w.t.Context(), func(tx ledger.Tx) (err error) {
		all, err = feed.Since(tx, 1, 500)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A purchase that its payer tells of is read from its chain, stands on the record once, as the
// walker's word, and in no rate. Nobody tells of another's transaction, and none counts twice,
// neither here nor for a bounty.
func TestAPurchaseIsToldOf(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	ctx, seller, other := t.Context(), w.Buyers[0], w.Buyers[1]
	const host = "doors.shop.example"
	tx, second := w.buy(seller), w.buy(seller)
	report := func(p buyer.PurchaseReport) (bounty.Reported, string) {
		t.Helper()
		out, err := w.desk.Report(ctx, p, "client")
		e, is := errors.AsType[*problem.Error](err)
		switch {
		case err == nil:
			return out, ""
		case !is || e.Next == "" && e.Fields == nil:
			t.Errorf("it does not say what to do next: %v", err)
			return out, "?"
		}
		return out, e.Code
	}
	refused := func(name, code string, p buyer.PurchaseReport) {
		t.Helper()
		if _, got := report(p); got != code {
			t.Errorf("%s: %q, want %q", name, got, code)
		}
	}
	unsigned := w.told(seller, host, tx, nil)
	unsigned.Signature = ""
	refused("unsigned", "invalid_input", unsigned)
	stolen := w.told(other, host, tx, func(p *buyer.PurchaseReport) { p.Payer = seller.Address.Hex() })
	refused("signed by another", "claim_signature_invalid", stolen)
	refused("paid by another", "settlement_mismatch", w.told(other, host, tx, nil))
	changed := w.told(seller, host, tx, nil)
	changed.Status = 500
	refused("another answer than was signed", "claim_signature_invalid", changed)
	refused("with a query", "invalid_input",
		w.told(seller, host, tx, func(p *buyer.PurchaseReport) { p.URL += "?key=private" }))
	refused("by the store", "invalid_input",
		w.told(seller, host, tx, func(p *buyer.PurchaseReport) { p.By = record.BoughtByStore }))
	refused("an answer without a status", "invalid_input",
		w.told(seller, host, tx, func(p *buyer.PurchaseReport) { p.Status = 0 }))
	refused("charged twice in one", "invalid_input", w.told(seller, host, tx, func(p *buyer.PurchaseReport) {
		p.ChargedTwice, p.SecondTx = record.ChargedYes, tx
	}))
	refused("charged again in nothing", "settlement_not_final", w.told(seller, host, tx, func(p *buyer.PurchaseReport) {
		p.ChargedTwice, p.SecondTx = record.ChargedYes, "0x"+strings.Repeat("ee", 32)
	}))
	elsewhere := w.Send(w.Minter, w.Asset, w.SignTransfer(seller, other.Address, doorCost).Call()).Hash().Hex()
	less := w.Send(w.Minter, w.Asset, w.SignTransfer(seller, w.seller.Address, 1).Call()).Hash().Hex()
	w.MustSeal()
	w.finalize()
	refused("to whom the door does not pay", "settlement_mismatch", w.told(seller, host, elsewhere, nil))
	refused("less than the door asks", "settlement_mismatch", w.told(seller, host, less, nil))
	refused("the door pays itself", "settlement_mismatch", w.told(w.seller, host, tx, nil))
	refused("at a door that is not read", "opted_out", w.told(seller, "closed.example", tx, nil))
	if all := w.walks(); len(all) != 0 {
		t.Fatalf("a refusal is on the record: %+v", all)
	}

	good := w.told(seller, host, tx, func(p *buyer.PurchaseReport) {
		p.ChargedTwice, p.SecondTx = record.ChargedYes, second
	})
	out, code := report(good)
	if code != "" || out.Observation != "observation_1" || out.By != record.BoughtBySeller {
		t.Fatalf("told: %+v, %q", out, code)
	}
	if again, code := report(good); code != "" || again.Observation != out.Observation {
		t.Errorf("told again: %+v, %q", again, code)
	}
	refused("told otherwise", "already_claimed", w.told(seller, host, tx, nil))
	refused("told by its second", "already_claimed", w.told(seller, host, second, nil))
	w.desk = w.replica(w.cfg)
	if again, _ := report(good); again.Observation != out.Observation {
		t.Errorf("told to a process that began anew: %+v", again)
	}
	b := w.post(host)
	w.refused("a bounty for what was told of", claimOf(b, second, seller), "already_claimed", 409)

	failed := w.buy(other)
	if _, code := report(w.told(other, host, failed, func(p *buyer.PurchaseReport) {
		p.By, p.Status, p.BodySHA256, p.Bytes, p.ContentType = record.BoughtByStranger, 0, "", 0, ""
	})); code != "" {
		t.Fatalf("a stranger: %s", code)
	}
	all := w.walks()
	book := derive.Book{Feed: all}
	v := book.Purchases()
	if len(all) != 2 || v.All.Own != (derive.Purchases{}) || v.All.Rate != nil ||
		v.All.BySellers != (derive.Purchases{Tried: 1, Delivered: 1, Charged: 1, AskedTwice: 1, ChargedTwice: 1}) ||
		v.All.ByStrangers != (derive.Purchases{Tried: 1, Charged: 1, NotDelivered: 1}) {
		t.Errorf("the series has %+v of %+v", v.All, all)
	}
	if x := all[0].Walk; x.Transaction != tx || x.Second != second || x.USDC != "0.01" || x.Host != host {
		t.Errorf("on the record: %+v", x)
	}
}

// What the store's own wallet bought is on the record as that: nobody claims a bounty with it, and
// it is told of no second time.
func TestTheStoresOwnPurchaseIsNotClaimed(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	own := w.Buyers[0]
	w.cfg.Own = []string{strings.ToLower(own.Address.Hex())}
	w.desk = w.replica(w.cfg)
	b := w.post("doors.shop.example")
	tx := w.buy(own)
	w.refused("claimed by who read the chain", claimOf(b, tx, own), "invalid_input", 400)
	_, err := w.desk.Report(t.Context(), w.told(own, "doors.shop.example", tx, nil), "client")
	if e, is := errors.AsType[*problem.Error](err); !is || e.Code != "invalid_input" {
		t.Errorf("told of: %v", err)
	}
	if all := w.walks(); len(all) != 0 || w.status(b.ID) != bounty.StatusOpen {
		t.Errorf("on the record: %+v, the bounty is %s", all, w.status(b.ID))
	}
}

// Nobody fills the record: a domain has ten a week, and what is beyond them costs no look.
func TestAWeekOfReports(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	read, reads := w.cfg.Read, 0
	w.cfg.Read = func(ctx context.Context, url string) (bounty.Door, error) {
		reads++
		return read(ctx, url)
	}
	w.desk = w.replica(w.cfg)
	for i := range 11 {
		tx := w.buy(w.Buyers[i%3])
		_, err := w.desk.Report(t.Context(), w.told(w.Buyers[i%3], "a.shop.example", tx, nil), "client")
		e, _ := errors.AsType[*problem.Error](err)
		if full := e != nil && e.Code == "budget_spent" && e.Retry > 0; full != (i == 10) || err != nil && !full {
			t.Errorf("report %d: %v", i, err)
		}
	}
	if reads != 10 {
		t.Errorf("the door was read %d times for ten reports that were taken", reads)
	}
}

// Whoever reads a purchase on its chain may claim its bounty for who paid, and says nothing of the
// answer: what is published as the payer's word is signed by the payer. Who tells of no status
// tells of no outcome.
func TestNobodyTellsOfAnothersPurchaseInAClaim(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	b, payer := w.post("doors.shop.example"), w.Buyers[0]
	in := claimOf(b, w.buy(payer), payer)
	in.Report = &bounty.Report{Status: 500}
	w.refused("told by who read the chain", in, "invalid_input", 400)
	w.signed(&in, w.Buyers[1], payer)
	w.refused("signed by another", in, "claim_signature_invalid", 403)
	in.Report = nil
	w.taken(in)
	other := w.post("a.example")
	second := claimOf(other, w.buy(payer), payer)
	second.Report = &bounty.Report{BodySHA256: strings.Repeat("ab", 32), Bytes: 7}
	w.signed(&second, payer, payer)
	w.taken(second)
	third := w.post("b.example")
	last := claimOf(third, w.buy(payer), payer)
	last.Report = &bounty.Report{Status: 500}
	w.signed(&last, payer, payer)
	w.taken(last)
	book := derive.Book{Feed: w.walks()}
	if v := book.Purchases(); v.All.Untold != 2 ||
		v.All.ByStrangers != (derive.Purchases{Tried: 1, Charged: 1, NotDelivered: 1}) {
		t.Errorf("the series has %+v", v.All)
	}
}
