package onchaintest_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/problem"
)

// A purchase at a door is claimed, becomes a paid walk, and is paid once, however often it is
// claimed or redeemed; an authorization that has expired is signed anew and pays the same.
func TestAClaimIsPaidOnce(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	ctx, buyer := t.Context(), w.Buyers[0]
	b := w.post("doors.shop.example")
	if b.Domain != "shop.example" || w.status(b.ID) != bounty.StatusOpen {
		t.Errorf("posted: %+v", b)
	}
	in := claimOf(b, w.buy(buyer), buyer)
	in.Said, in.Report = "It sold me \x1b[2J soup.", &bounty.Report{Status: 200, BodySHA256: strings.Repeat("ab", 32),
		Bytes: 7, ContentType: "Application/JSON; charset=x"}
	w.signed(&in, buyer, buyer)
	first := w.taken(in)
	if first.Status != bounty.StatusHeld || first.Reward != strconv.Itoa(reward) || first.Payout.Trouble != "" ||
		first.Payout.Authorization.To != buyer.Address.Hex() {
		t.Fatalf("claimed: %+v", first)
	}
	in.TxHash = "0X" + strings.ToUpper(in.TxHash[2:])
	if again := w.taken(in); again.Payout != first.Payout {
		t.Errorf("claimed again: %+v", again.Payout)
	}
	var walks []record.Observation
	if err := w.db.View(ctx, func(tx ledger.Tx) (err error) {
		walks, err = feed.Since(tx, 1, 10)
		return err
	}); err != nil || len(walks) != 1 || walks[0].Walk == nil || walks[0].Walk.Host != "doors.shop.example" ||
		walks[0].Walk.Transaction != strings.ToLower(in.TxHash) || walks[0].Walk.USDC != "0.01" ||
		walks[0].Walk.Claim.ContentType != "application/json" || first.Observation != "observation_1" {
		t.Errorf("the record is told of %+v, %v", walks, err)
	}
	proof, ok, err := w.desk.Signed(ctx, b.ID)
	if err != nil || !ok || !strings.Contains(proof.SignedPayload, first.Payout.Signature) ||
		strings.Contains(proof.SignedPayload, "soup") {
		t.Errorf("signed: %+v, %v", proof, err)
	}
	// Thirty days later.
	w.edit(b.ID, func(b *bounty.Bounty) {
		b.Claim.Payouts[0].ValidBefore = time.Now().Add(-hours(1)).Unix()
	})
	fresh := w.taken(in)
	if fresh.Payout.Authorization.Nonce != first.Payout.Authorization.Nonce ||
		fresh.Payout.Authorization.ValidBefore == strconv.FormatInt(time.Now().Add(-hours(1)).Unix(), 10) {
		t.Errorf("signed anew: %+v", fresh.Payout)
	}
	had := w.Balance(buyer.Address)
	if !w.redeem(fresh.Payout) || w.redeem(fresh.Payout) || w.redeem(first.Payout) ||
		w.Balance(buyer.Address)-had != reward {
		t.Errorf("redeemed three times, the buyer has %d more", w.Balance(buyer.Address)-had)
	}
	if w.status(b.ID) != bounty.StatusHeld {
		t.Error("paid before it is known")
	}
	w.finalize()
	if err := errors.Join(w.desk.Refresh(ctx), w.desk.Refresh(ctx)); err != nil {
		t.Fatal(err)
	}
	if paid := w.taken(in); w.status(b.ID) != bounty.StatusPaid || paid.Status != bounty.StatusPaid ||
		paid.Payout.PaidTx == "" {
		t.Errorf("paid: %+v", paid)
	}
	if list, err := w.desk.Waiting(ctx); err != nil || len(list) != 0 {
		t.Errorf("waiting: %+v, %v", list, err)
	}
}

// Every refusal has its name, and holds nothing: what is right with a claim can be sent again.
func TestABountyIsRefused(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	buyer, other := w.Buyers[0], w.Buyers[1]
	before := w.buy(buyer)
	b := w.post("shop.example")
	good := claimOf(b, w.buy(buyer), buyer)
	with := func(f func(*bounty.ClaimRequest)) bounty.ClaimRequest {
		in := good
		f(&in)
		return in
	}
	plain := w.Send(buyer, w.Asset, token.PayCall(w.seller.Address, big.NewInt(doorCost))).Hash().Hex()
	cheap := w.Send(w.Minter, w.Asset, w.SignTransfer(buyer, w.seller.Address, doorCost-1).Call()).Hash().Hex()
	pay := w.SignTransfer(other, w.seller.Address, doorCost)
	w.Send(w.Minter, w.Asset, pay.Call())
	failed := w.Send(w.Minter, w.Asset, pay.Call()).Hash().Hex()
	w.MustSeal()
	w.finalize()
	young := w.Send(w.Minter, w.Asset, w.SignTransfer(buyer, w.seller.Address, doorCost).Call()).Hash().Hex()
	w.MustSeal()
	long := strings.Repeat("é", bounty.MaxText)
	for name, c := range map[string]struct {
		in   bounty.ClaimRequest
		code string
	}{
		"no id":      {with(func(c *bounty.ClaimRequest) { c.BountyID = "bty_" }), "invalid_input"},
		"no address": {with(func(c *bounty.ClaimRequest) { c.PayoutTo = "0x1" }), "invalid_input"},
		"an address of Solana": {with(func(c *bounty.ClaimRequest) { c.PayoutTo = strings.Repeat("1", 44) }),
			"invalid_input"},
		"no payer":       {with(func(c *bounty.ClaimRequest) { c.Payer = "ada.eth" }), "invalid_input"},
		"no transaction": {with(func(c *bounty.ClaimRequest) { c.TxHash = "0x12" }), "invalid_input"},
		"a long text":    {with(func(c *bounty.ClaimRequest) { c.Said = long + "é" }), "invalid_input"},
		"no such status": {with(func(c *bounty.ClaimRequest) { c.Report = &bounty.Report{Status: 99} }),
			"invalid_input"},
		"the seller": {with(func(c *bounty.ClaimRequest) {
			c.Payer, c.PayoutTo = w.seller.Address.Hex(), w.seller.Address.Hex()
		}), "invalid_input"},
		"a thief": {with(func(c *bounty.ClaimRequest) { c.PayoutTo = other.Address.Hex() }), "invalid_input"},
		"a forging thief": {with(func(c *bounty.ClaimRequest) { w.signed(c, other, other) }),
			"claim_signature_invalid"},
		"an unknown id": {with(func(c *bounty.ClaimRequest) {
			c.BountyID = "bty_" + strings.Repeat("a",
				20)
		}), "not_found"},
		"before it":        {claimOf(b, before, buyer), "settlement_predates"},
		"another's":        {claimOf(b, good.TxHash, other), "settlement_mismatch"},
		"a plain transfer": {claimOf(b, plain, buyer), "settlement_mismatch"},
		"too little":       {claimOf(b, cheap, buyer), "settlement_mismatch"},
		"that failed":      {claimOf(b, failed, other), "transfer_failed"},
		"that is young":    {claimOf(b, young, buyer), "settlement_not_final"},
		"that is nowhere":  {claimOf(b, "0x"+strings.Repeat("ab", 32), buyer), "settlement_not_final"},
	} {
		row, _ := problem.Lookup(c.code)
		w.refused(name, c.in, c.code, row.Status)
	}
	w.lists = buyer.Address.Hex() + "\n"
	w.reload()
	w.refused("a listed payer", good, "screened", 403)
	w.lists = ""
	w.reload()
	w.refused("without a list", good, "screen_unavailable", 503)
	w.lists = "# none of ours\n0x" + strings.Repeat("ee", 20) + "\n"
	w.reload()
	w.out = "shop.example"
	w.refused("at a host that opted out since", good, "opted_out", 409)
	w.out = ""
	poor := w.cfg
	poor.Account = nil
	w.desk = w.replica(poor)
	w.refused("without an account", good, "payouts_disabled", 503)
	w.desk = w.replica(w.cfg)

	// One past the week's budget, then exactly at its edge.
	week := ledger.BountyKey("week", record.ISOWeek(time.Now()), "spent")
	w.set(week, strconv.Itoa(bounty.WeeklyBudget-reward+1))
	w.refused("past the budget", good, "budget_spent", 409)
	w.set(week, strconv.Itoa(bounty.WeeklyBudget-reward))
	good.Said = long
	w.signed(&good, buyer, other) // to another address, as the payer wants
	if c := w.taken(good); c.Payout.Authorization.To != other.Address.Hex() {
		t.Errorf("claimed: %+v", c)
	}
	w.refused("one that is claimed", claimOf(b, w.buy(buyer), buyer), "not_open", 409)
	w.set(week, "0")
	sister := w.post("www.shop.example")
	w.refused("the same settlement", claimOf(sister, good.TxHash, buyer), "already_claimed", 409)
	again := claimOf(sister, w.buy(buyer), buyer)
	w.refused("another of the domain", again, "domain_paid_this_week", 409)
	w.edit(sister.ID, func(b *bounty.Bounty) { b.Expires = time.Now().Add(-time.Second) })
	w.refused("one that has expired", again, "expired", 410)
	if got := w.status(sister.ID); got != bounty.StatusExpired {
		t.Errorf("it is %s", got)
	}
}

// signed has a claim pay to an address, by the word of whoever signs.
func (w *town) signed(c *bounty.ClaimRequest, by, to chaintest.Key) {
	key, err := wallet.ParseKey(by.Hex())
	if err != nil {
		w.t.Fatal(err)
	}
	c.PayoutTo = to.Address.Hex()
	sig := key.Sign(wallet.PersonalHash(w.desk.PayoutText(c.BountyID, c.TxHash, c.PayoutTo)))
	c.Signature = attest.Hex(sig).String()
	if !strings.HasPrefix(c.Signature, "0x") {
		c.Signature = "0x" + c.Signature
	}
}

func (w *town) reload() { _ = w.cfg.Screen.Reload(w.t.Context()) } // what it says is asked of the desk

func (w *town) set(key []byte, value string) {
	w.t.Helper()
	if err := w.db.Update(w.t.Context(), func(tx ledger.Tx) error { return tx.Set(key, []byte(value)) }); err != nil {
		w.t.Fatal(err)
	}
}

// A hundred claims for one bounty, with a hundred settlements, at two stores: one is paid.
func TestAHundredClaimsOnePayout(t *testing.T) {
	t.Parallel()
	address := ledgertest.Postgres(t)
	var dbs [2]ledger.DB
	for i := range dbs {
		db, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		dbs[i] = db
	}
	w := openTown(t, dbs[0])
	second := w.cfg
	second.DB = dbs[1]
	desks := [2]*bounty.Service{w.desk, w.replica(second)}
	b, buyer := w.post("shop.example"), w.Buyers[0]
	var claims []bounty.ClaimRequest
	for range 100 {
		tx := w.Send(w.Minter, w.Asset, w.SignTransfer(buyer, w.seller.Address, doorCost).Call())
		claims = append(claims, claimOf(b, tx.Hash().Hex(), buyer))
	}
	w.MustSeal()
	w.finalize()
	var paid atomic.Int64
	var wg sync.WaitGroup
	for i, in := range claims {
		wg.Go(func() {
			_, err := desks[i%2].Claim(t.Context(), in, "client")
			var e *problem.Error
			switch {
			case err == nil:
				paid.Add(1)
			case !errors.As(err, &e) || e.Code != "not_open":
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if paid.Load() != 1 {
		t.Errorf("%d claims were taken", paid.Load())
	}
	if err := dbs[1].View(t.Context(), func(tx ledger.Tx) error {
		walks, err := feed.Since(tx, 1, 10)
		spent, e := tx.Get(ledger.BountyKey("week", record.ISOWeek(tx.Now()), "spent"))
		if len(walks) != 1 || string(spent) != strconv.Itoa(reward) {
			t.Errorf("%d walks, and %s is spent", len(walks), spent)
		}
		return errors.Join(err, e)
	}); err != nil {
		t.Error(err)
	}
}

// A claim that meets an empty account is taken, told to its claimant, to everybody and to the
// keeper, and good once the account is filled.
func TestAnEmptyFloat(t *testing.T) {
	t.Parallel()
	w := openTown(t, ledger.NewMem(ledger.MemOptions{}))
	ctx, buyer, poor := t.Context(), w.Buyers[0], chaintest.NewKey(t)
	w.cfg.Account = w.account(poor)
	w.desk = w.replica(w.cfg)
	b := w.post("shop.example")
	in := claimOf(b, w.buy(buyer), buyer)
	c := w.taken(in)
	if !strings.Contains(c.Payout.Trouble, "has 0 USDC") || w.redeem(c.Payout) {
		t.Errorf("claimed of an empty account: %+v", c.Payout)
	}
	if err := w.desk.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	list, err := w.desk.Waiting(ctx)
	if err != nil || len(list) != 2 || !strings.HasPrefix(list[0].Says, "Fund it") || list[1].ID != b.ID ||
		!list[1].Late {
		t.Errorf("waiting: %+v, %v", list, err)
	}
	var board struct {
		Short bool `json:"float_is_short"`
	}
	if err := json.Unmarshal(w.get("/api/bounties", "", 200), &board); err != nil || !board.Short {
		t.Errorf("the board does not say so: %v", err)
	}
	w.Send(w.Minter, w.Asset, w.SignTransfer(buyer, poor.Address, reward).Call())
	w.MustSeal()
	if again := w.taken(in); again.Payout.Signature != c.Payout.Signature || !w.redeem(again.Payout) {
		t.Errorf("filled: %+v", again.Payout)
	}
}
