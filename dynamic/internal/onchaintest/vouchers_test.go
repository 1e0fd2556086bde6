package onchaintest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// voucherShop is a shop that takes vouchers, and somebody who pays by them.
type voucherShop struct {
	*shop
	from chaintest.Key
	// broken has the line of the hour fail, and the step at which the next purchase is let lie.
	broken atomic.Bool
	lies   atomic.Value
}

func newVoucherShop(t *testing.T, limits channels.Limits) *voucherShop {
	return newVoucherShopOn(t, shopOptions{networks: []uint64{8453}, buyers: 2}, limits, chaintest.NewKey(t), nil)
}

func newVoucherShopOn(t *testing.T, o shopOptions, limits channels.Limits, authorizer chaintest.Key,
	high till.HighWater) *voucherShop {
	s := &voucherShop{}
	s.lies.Store("")
	o.evm = func(c *evm.Config) { c.Authorizer = authorizer.Private }
	o.config = func(c *till.Config) {
		c.Vouchers, c.Shelves = &limits, []till.Shelf{till.Goods(c.Kinds), s.porch}
		if high != nil {
			c.HighWater = high
		}
		c.AfterStep = func(step string) {
			if s.lies.CompareAndSwap(step, "") {
				runtime.Goexit()
			}
		}
	}
	s.shop = newShop(t, o)
	s.from = s.net.Buyers[0]
	err := s.db.Update(t.Context(), func(tx ledger.Tx) error {
		return channels.Looked(tx, s.net.ID(), 1, tx.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "vouchers to be offered", func() bool {
		r := s.do("GET", voucherDoor, nil)
		return r.Status == 503 || strings.Contains(answer(t, r, "PAYMENT-REQUIRED"), rail.SchemeVouchers)
	})
	return s
}

// porch is the shelf of the line of the hour, which fails while it is broken.
func (s *voucherShop) porch(site *content.Site, id string) *till.Offer {
	o := till.Porch(nil)(site, id)
	if o == nil {
		return nil
	}
	line := o.Kind.Make
	o.Kind.Make = func(ctx context.Context, m goods.Maker, order *goods.Order) (*goods.Made, error) {
		if s.broken.Load() {
			return nil, errors.New("broken")
		}
		return line(ctx, m, order)
	}
	return o
}

// voucher is a payment at a door for max in all, with a deposit unless that is 0.
func (s *voucherShop) voucher(path string, max, deposit int64) map[string]string {
	s.t.Helper()
	return voucher(s.t, s.net, s.from, s.challenge(path), max, deposit)
}

// voucher is a payment by voucher for the terms of a challenge.
func voucher(t testing.TB, net *chaintest.Net, from chaintest.Key, ch map[string]any, max,
	deposit int64) map[string]string {
	t.Helper()
	c, accepted := channelOf(t, net, from, ch)
	e := token.Escrow{ChainID: 8453}
	id := e.ID(c)
	payload := map[string]any{"type": "voucher", "channelConfig": map[string]any{"payer": c.Payer.Hex(),
		"payerAuthorizer": c.PayerAuthorizer.Hex(), "receiver": c.Receiver.Hex(), "token": c.Token.Hex(),
		"receiverAuthorizer": c.ReceiverAuthorizer.Hex(), "withdrawDelay": c.Delay, "salt": c.Salt.Hex()},
		"voucher": map[string]any{"channelId": id.Hex(), "maxClaimableAmount": fmt.Sprint(max),
			"signature": fmt.Sprintf("0x%x", net.SignDigest(from, e.Voucher(id, big.NewInt(max))))}}
	if deposit > 0 {
		a := net.Authorize(c.Payer, token.DepositAddress, deposit)
		salt := common.BigToHash(big.NewInt(max))
		a.Nonce = token.DepositNonce(id, salt)
		sig := net.SignDigest(from, a.Digest(token.ReceiveKind, net.DomainSeparator()))
		payload["type"], payload["deposit"] = "deposit", map[string]any{"amount": fmt.Sprint(deposit),
			"authorization": map[string]any{"erc3009Authorization": map[string]any{"validAfter": "0",
				"validBefore": fmt.Sprint(a.ValidBefore), "salt": salt.Hex(),
				"signature": fmt.Sprintf("0x%x", sig)}}}
	}
	b, err := json.Marshal(map[string]any{"x402Version": 2, "payload": payload, "accepted": accepted,
		"resource": ch["resource"], "extensions": ch["extensions"]})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"PAYMENT-SIGNATURE": base64.StdEncoding.EncodeToString(b)}
}

// channelOf is the channel of a payer by the terms of a challenge, and those terms.
func channelOf(t testing.TB, net *chaintest.Net, from chaintest.Key, ch map[string]any) (token.Channel,
	map[string]any) {
	t.Helper()
	accepts := ch["accepts"].([]any)
	accepted := accepts[len(accepts)-1].(map[string]any)
	if accepted["scheme"] != rail.SchemeVouchers || accepts[0].(map[string]any)["scheme"] != "exact" {
		t.Fatalf("the terms are %v", accepts)
	}
	extra := accepted["extra"].(map[string]any)
	return token.Channel{Payer: from.Address, PayerAuthorizer: from.Address, Receiver: net.PayTo,
		ReceiverAuthorizer: common.HexToAddress(extra["receiverAuthorizer"].(string)), Token: net.Asset,
		Delay: uint64(extra["withdrawDelay"].(float64))}, accepted
}

// answer is a header of an answer, decoded.
func answer(t *testing.T, r tilltest.Reply, name string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(r.Header.Get(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// holds reports a reply's status and what its header says.
func (s *voucherShop) holds(what string, r tilltest.Reply, status int, header string, says ...string) {
	s.t.Helper()
	said := answer(s.t, r, header)
	for _, want := range says {
		if r.Status != status || !strings.Contains(said, want) {
			s.t.Errorf("%s: %d %s, want %d and %s; %.300s", what, r.Status, said, status, want, r.Raw)
		}
	}
}

// A channel is funded with the first purchase, and all others take no transaction. Each is charged
// once, an answer that was lost comes again, and who is out of step is told how the channel stands.
func TestVouchers(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	const line, paid = "/porch/line", "PAYMENT-RESPONSE"
	relayed := func() uint64 {
		n, err := s.net.RPC.NonceAt(t.Context(), s.net.Relayer.Address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.read(t, line, rail.SchemeVouchers)
	first := s.do("GET", line, s.voucher(line, 1000, 1_000_000))
	s.holds("with a deposit", first, 200, paid, `"amount":"1000000"`, `"chargedAmount":"1000"`, `"transaction":"0x`,
		`"chargedCumulativeAmount":"1000"`, `"balance":"1000000"`)
	sent := relayed()
	second := s.do("GET", line, s.voucher(line, 2000, 0))
	s.holds("a voucher alone", second, 200, paid, `"transaction":""`, `"chargedCumulativeAmount":"2000"`)
	again := s.do("GET", line, s.voucher(line, 2000, 0))
	s.holds("the same again", again, 200, paid, `"chargedCumulativeAmount":"2000"`, `"chargedAmount":"1000"`)
	if again.Body["idempotent_replay"] != true || again.Str("recovery", "purchase_id") !=
		second.Str("recovery", "purchase_id") {
		t.Errorf("the same again: %s", again.Raw)
	}
	corrective := []string{`"error":"invalid_batch_settlement_evm_cumulative_amount_mismatch"`,
		`"chargedCumulativeAmount":"2000"`, `"signedMaxClaimable":"2000"`}
	s.holds("behind", s.do("GET", line, s.voucher(line, 1500, 0)), 402, "PAYMENT-REQUIRED", corrective...)
	s.holds("ahead", s.do("GET", line, s.voucher(line, 9000, 0)), 402, "PAYMENT-REQUIRED", corrective...)
	s.holds("an old one", s.do("GET", line, s.voucher(line, 1000, 0)), 402, "PAYMENT-REQUIRED", corrective...)

	const hello = "/api/buy/hello"
	s.holds("for another order", s.do("GET", hello, s.voucher(hello, 2000, 0)), 402, "PAYMENT-REQUIRED", corrective...)
	card := s.do("GET", hello, s.voucher(hello, 502_000, 0))
	s.holds("with a certificate", card, 200, paid, `"transaction":""`, `"chargedAmount":"500000"`)
	if cert := card.Body["certificate"].(map[string]any); cert["settlement_tx"] != nil && cert["settlement_tx"] != "" ||
		cert["paid_usdc"] != "0.5" || cert["settled_via"] != "x402 voucher" {
		t.Errorf("the certificate is %v", cert)
	}
	if v := s.do("GET", "/api/verify/"+card.Str("cert_id"), nil); v.Status != 200 || v.Body["valid"] != true {
		t.Errorf("verified: %d %s", v.Status, v.Raw)
	}
	s.holds("more than it holds", s.do("GET", hello, s.voucher(hello, 1_002_000, 0)), 402, "PAYMENT-REQUIRED",
		"cumulative_amount_mismatch", `"balance":"1000000"`)
	if n := relayed(); n != sent {
		t.Errorf("%d transactions were sent for vouchers", n-sent)
	}

	var wg sync.WaitGroup
	header := s.voucher(line, 503_000, 0)
	replies := make([]tilltest.Reply, 8)
	for i := range replies {
		wg.Go(func() { replies[i] = s.do("GET", line, header) })
	}
	wg.Wait()
	for _, r := range replies {
		if r.Status != 200 || r.Str("recovery", "purchase_id") != replies[0].Str("recovery", "purchase_id") {
			t.Errorf("eight at once: %d %s", r.Status, r.Raw)
		}
	}
	err := s.db.View(t.Context(), func(tx ledger.Tx) error {
		ids, err := channels.IDs(tx, s.net.ID())
		if err != nil || len(ids) != 1 {
			return fmt.Errorf("%d channels, %w", len(ids), err)
		}
		row, err := channels.Read(tx, s.net.ID(), ids[0])
		if err == nil && (row.Charged != 503_000 || row.Brought() != 503_000 || row.Held != nil) {
			t.Errorf("in the end the row is %+v", row)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What may not be sold by voucher is refused, and charges nothing.
func TestVouchersRefused(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{Channel: 1500})
	const line = "/porch/line"
	refused := func(what, reason string, header map[string]string) {
		t.Helper()
		s.holds(what, s.do("GET", line, header), 402, "PAYMENT-REQUIRED",
			`"error":"invalid_batch_settlement_evm_`+reason)
	}
	refused("without a channel", "cumulative_exceeds_balance", s.voucher(line, 1000, 0))
	refused("a small deposit", "deposit_below_min_deposit", s.voucher(line, 1000, 1000))
	if r := s.do("GET", line, s.voucher(line, 1000, 1_000_000)); r.Status != 200 {
		t.Fatalf("with a deposit: %d %s", r.Status, r.Raw)
	}
	refused("before the first is claimed", "limit_reached", s.voucher(line, 2000, 0))
	for _, a := range s.challenge("/api/buy/hello")["accepts"].([]any) {
		if a.(map[string]any)["scheme"] != "exact" {
			t.Errorf("what a channel may not owe is offered: %v", a)
		}
	}
}

// Goods that cannot be made charge nothing, and the same voucher buys later; what is let lie at any
// step is delivered, and charged once.
func TestVouchersAreReleasedAndRecovered(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	const line, paid = "/porch/line", "PAYMENT-RESPONSE"
	max := int64(1000)
	for _, deposit := range []int64{1_000_000, 0} {
		s.broken.Store(true)
		header := s.voucher(line, max, deposit)
		if r := s.do("GET", line, header); r.Status == 200 || r.Body["billed"] != "no" {
			t.Errorf("broken: %d %s", r.Status, r.Raw)
		}
		s.broken.Store(false)
		r := s.do("GET", line, s.voucher(line, max, deposit))
		s.holds("and mended", r, 200, paid, fmt.Sprintf(`"chargedCumulativeAmount":"%d"`, max))
		max += 1000
	}
	for _, step := range []string{"claimed", "settled", "delivered"} {
		s.lies.Store(step)
		s.try("GET", line, s.voucher(line, max, 0)) // the connection ends, or not
		if s.lies.Load() != "" {
			t.Errorf("no step %s", step)
		}
		r := s.do("GET", line, s.voucher(line, max, 0))
		s.holds("after "+step, r, 200, paid, fmt.Sprintf(`"chargedCumulativeAmount":"%d"`, max),
			`"chargedAmount":"1000"`)
		max += 1000
	}
}

// The stock client, unmodified, buys out of one channel; what it lost an answer of comes with its
// next request, and is charged once.
func TestStockClientBuysByVouchers(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	line, hello := s.url+"/porch/line", s.url+"/api/buy/hello"
	got := clients.Buy(t, clients.Options{Key: s.from.Hex(), RPC: s.net.URL, Vouchers: true, Lost: []int{2}},
		line, line, line, line, hello, line)
	var bought []string
	for i, r := range got {
		var body struct {
			Recovery struct {
				PurchaseID string `json:"purchase_id"`
			} `json:"recovery"`
		}
		if i == 2 {
			if r.Error != "the answer was lost" {
				t.Errorf("the third was to be lost: %+v", r)
			}
			continue
		}
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil || r.Status != 200 || !r.Settled {
			t.Fatalf("purchase %d: %d %s %s, %v", i, r.Status, r.Body, r.Error, err)
		}
		bought = append(bought, body.Recovery.PurchaseID)
	}
	var row *channels.Row
	err := s.db.View(t.Context(), func(tx ledger.Tx) error {
		ids, err := channels.IDs(tx, s.net.ID())
		if err != nil || len(ids) != 1 {
			return fmt.Errorf("%d channels, %w", len(ids), err)
		}
		row, err = channels.Read(tx, s.net.ID(), ids[0])
		return err
	})
	// Three lines, one of which was lost and came again; the greeting; one more line.
	if err != nil || row.Charged != 4*1000+500_000 || row.Last.Purchase != bought[4] {
		t.Errorf("the row is %+v, %v", row, err)
	}
}

// manage does rounds for the shop's channels until the test ends, or stop is called.
func (s *voucherShop) manage(cfg manager.Config) (stop func()) {
	d, err := settle.New(settle.Config{DB: s.db, Rails: s.rails, Gas: s.till.Config().Gas, Log: slog.Default()})
	if err != nil {
		s.t.Fatal(err)
	}
	cfg.DB, cfg.Rails, cfg.Settles, cfg.Log = s.db, s.rails, d, slog.Default()
	m, err := manager.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		schedule.Every(ctx, cmp.Or(cfg.Every, 50*time.Millisecond), func(ctx context.Context) {
			if err := m.Round(ctx, s.net.ID(), func(ledger.Tx) error { return nil }); err != nil && ctx.Err() == nil {
				s.t.Error(err)
			}
		})
	}()
	stop = func() { cancel(); <-done }
	s.t.Cleanup(stop)
	return stop
}

// A payer has what is left given back at the door, once a day, and buys on in the same channel.
// What that claims is told beside the certificate, comes to payTo, and is owed to nobody.
func TestVouchersAreRefunded(t *testing.T) {
	t.Parallel()
	s := newVoucherShop(t, channels.Limits{})
	s.manage(manager.Config{Sweep: 1})
	const line, hello, paid = "/porch/line", "/api/buy/hello", "PAYMENT-RESPONSE"
	refund := func(max int64) tilltest.Reply {
		header := s.voucher(line, max, 0)["PAYMENT-SIGNATURE"]
		raw, err := base64.StdEncoding.DecodeString(header)
		if err != nil {
			t.Fatal(err)
		}
		asks := strings.Replace(string(raw), `"type":"voucher"`, `"amount":"400000","type":"refund"`, 1)
		header = base64.StdEncoding.EncodeToString([]byte(asks))
		return s.do("GET", line, map[string]string{"PAYMENT-SIGNATURE": header})
	}
	s.holds("of no channel", refund(0), 402, "PAYMENT-REQUIRED", "channel_not_found")
	card := s.do("GET", hello, s.voucher(hello, 500_000, 1_000_000))
	if card.Status != 200 {
		t.Fatalf("%d %s", card.Status, card.Raw)
	}
	verify := func() tilltest.Reply { return s.do("GET", "/api/verify/"+card.Str("cert_id"), nil) }
	before := verify()
	if before.Str("voucher", "channel_id") == "" || before.Str("voucher", "sum_usdc") != "0.5" {
		t.Errorf("before it is claimed: %s", before.Raw)
	}
	s.holds("out of step", refund(500), 402, "PAYMENT-REQUIRED", "cumulative_amount_mismatch",
		`"signedMaxClaimable":"500000"`)
	had := s.net.Node.Balance(s.from.Address)
	r := refund(500_000)
	s.holds("of what is left", r, 200, paid, `"amount":"400000"`, `"transaction":"0x`, `"balance":"600000"`,
		`"totalClaimed":"500000"`, `"refundNonce":"1"`)
	if back := s.net.Node.Balance(s.from.Address) - had; back != 400_000 ||
		r.Str("message") != "Refund acknowledged" || r.Str("channelId") == "" {
		t.Errorf("%d came back: %s", back, r.Raw)
	}
	s.holds("again the same day", refund(500_000), 402, "PAYMENT-REQUIRED", "limit_reached")
	s.holds("and on", s.do("GET", line, s.voucher(line, 501_000, 0)), 200, paid,
		`"chargedCumulativeAmount":"501000"`)
	var after tilltest.Reply
	until(t, "the claim to be final", func() bool {
		after = verify()
		return after.Str("voucher", "claim_tx") != ""
	})
	status := s.do("GET", "/api/purchase-status/"+card.Str("recovery", "purchase_id"),
		map[string]string{"Authorization": "Bearer " + card.Str("recovery", "status_token")})
	if in := after.Str("voucher", "claim_tx"); !strings.Contains(answer(t, r, paid), in) ||
		status.Str("voucher", "claim_tx") != in || after.Body["valid"] != true ||
		after.Body["signed_payload"] != before.Body["signed_payload"] {
		t.Errorf("claimed: %s, status %s", after.Raw, status.Raw)
	}
	s.moved(500_000, 501_000)
}

// A ledger that was restored from an older backup claims what was sold since, sells nothing of it
// again, and knows by which transactions it was claimed.
func TestVouchersAfterARestore(t *testing.T) {
	t.Parallel()
	const line, paid = "/porch/line", "PAYMENT-RESPONSE"
	file := filepath.Join(t.TempDir(), "high-water")
	high, err := restore.OpenHighWater(file, attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	defer high.Close()
	key := chaintest.NewKey(t)
	s := newVoucherShopOn(t, shopOptions{networks: []uint64{8453}, buyers: 2, chain: chaintest.Options{Lead: 200}},
		channels.Limits{}, key, high)
	buy := func(buyer int, max, deposit int64) {
		t.Helper()
		s.from = s.net.Buyers[buyer]
		s.holds("a purchase", s.do("GET", line, s.voucher(line, max, deposit)), 200, paid, `"chargedAmount":"1000"`)
	}
	buy(0, 1000, 1_000_000)
	var backup bytes.Buffer
	if err := ledger.Backup(t.Context(), s.db, &backup); err != nil {
		t.Fatal(err)
	}
	buy(0, 2000, 0)
	buy(1, 1000, 1_000_000)
	buy(0, 3000, 0)
	stop := s.manage(manager.Config{Sum: 2500, Fresh: 1}) // claims the first channel, moves nothing
	var claim string
	rows := func() (all []*channels.Row) {
		t.Helper()
		err := s.db.View(t.Context(), func(tx ledger.Tx) error {
			all = nil
			ids, err := channels.IDs(tx, s.net.ID())
			for _, id := range ids {
				r, readErr := channels.Read(tx, s.net.ID(), id)
				err, all = errors.Join(err, readErr), append(all, r)
				if r.Channel.Payer == s.net.Buyers[0].Address.Hex() && err == nil {
					claim, err = channels.ClaimOf(tx, s.net.ID(), id, 2000)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	until(t, "the claim to be final", func() bool { rows(); return claim != "" })
	was := claim
	stop()
	s.stop()

	db, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "restored"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := ledger.Restore(t.Context(), db, &backup, ledger.Shut); err != nil {
		t.Fatal(err)
	}
	marks, err := restore.ReadHighWater(file, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	s = newVoucherShopOn(t, shopOptions{net: s.net, db: db}, channels.Limits{}, key, high)
	if _, err := restore.Reconcile(t.Context(), s.till, marks, nil); err != nil {
		t.Fatal(err)
	}
	restoredEarlier(t, db, 15*time.Minute)
	s.reopens()
	if all := rows(); len(all) != 2 || all[0].Charged+all[1].Charged != 4000 || claim != was {
		t.Errorf("restored are %+v %+v, claimed by %s, want %s", all[0], all[1], claim, was)
	}
	s.manage(manager.Config{Sum: 1, Fresh: 1, Sweep: 1})
	until(t, "the store to notice that it is open", func() bool { return s.do("GET", line, nil).Status == 402 })
	s.holds("what was bought before", s.do("GET", line, s.voucher(line, 3000, 0)), 402, "PAYMENT-REQUIRED",
		"cumulative_amount_mismatch",
		`"chargedCumulativeAmount":"3000"`)
	s.holds("and on", s.do("GET", line, s.voucher(line, 4000, 0)), 200, paid, `"chargedAmount":"1000"`)
	s.moved(5000, 2000)
}

// moved waits until the books have a sum that the escrow moved to payTo, without a difference, and
// another for what was sold.
func (s *voucherShop) moved(sum, sold int64) {
	s.t.Helper()
	desk := keeper.New(keeper.Config{Till: s.till, DB: s.db, Rails: s.rails})
	var b keeper.Books
	until(s.t, "the sweep to be in the books", func() bool {
		var err error
		if b, err = desk.Books(s.t.Context(), time.Now().UTC().Format("2006-01")); err != nil {
			s.t.Fatal(err)
		}
		return slices.ContainsFunc(b.Networks[0].Sums, func(x keeper.Sum) bool {
			return x.Name == string(keeper.Moved) && x.Chain == sum
		})
	})
	owed, err := till.ListOwed(s.t.Context(), s.db)
	if c := b.Networks[0].Channels; b.Differences != 0 || c.Moved != sum || c.Sold != sold || err != nil ||
		len(owed) != 0 {
		s.t.Errorf("the books: %+v, owed %v, %v", b, owed, err)
	}
}
