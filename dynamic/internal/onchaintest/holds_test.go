package onchaintest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// holdShop is a shop that holds what is paid for the keeper's work, whose clock and chain can be
// put forward.
type holdShop struct {
	*shop
	clock *shifted
	lies  atomic.Value // the step at which the next hand lets an order lie
}

func newHoldShop(t *testing.T, o shopOptions) *holdShop {
	s := &holdShop{clock: &shifted{DB: ledger.NewMem(ledger.MemOptions{})}}
	s.lies.Store("")
	o.db, o.networks = s.clock, []uint64{8453}
	config := o.config
	o.config = func(c *till.Config) {
		c.Now, c.Holds = s.clock.now, true
		c.AfterStep = func(step string) {
			if step != "" && s.lies.CompareAndSwap(step, "") {
				runtime.Goexit()
			}
		}
		if config != nil {
			config(c)
		}
	}
	s.shop = newShop(t, o)
	return s
}

// signed is a payment for what a door of a hold asks, as the stock client makes it.
func (s *holdShop) signed(path string, k chaintest.Key, salt byte) map[string]string {
	s.t.Helper()
	return heldPayment(s.shop, s.challenge(path), k, int64(salt))
}

// heldPayment is a payment that is to be held, by the terms of a challenge.
func heldPayment(s *shop, ch map[string]any, k chaintest.Key, salt int64) map[string]string {
	s.t.Helper()
	accepts := ch["accepts"].([]any)
	accepted := accepts[0].(map[string]any)
	x := accepted["extra"].(map[string]any)
	if len(accepts) != 1 || accepted["scheme"] != rail.SchemeCapture || x["paymentFlow"] != "escrow" {
		s.t.Fatalf("the terms are %v", accepts)
	}
	amount, _ := new(big.Int).SetString(accepted["amount"].(string), 10)
	p := token.PaymentInfo{Operator: common.HexToAddress(x["captureAuthorizer"].(string)), Payer: k.Address,
		Receiver: s.net.PayTo, Token: s.net.Asset, MaxAmount: amount,
		PreApproval: uint64(time.Now().Unix()) + uint64(accepted["maxTimeoutSeconds"].(float64)),
		Capture:     uint64(x["captureDeadline"].(float64)), Refund: uint64(x["refundDeadline"].(float64)),
		Salt: big.NewInt(salt)}
	a := token.Authorization{From: p.Payer, To: token.CapturePayAddress, Value: amount, ValidBefore: p.PreApproval,
		Nonce: p.Nonce(8453)}
	sig := s.net.SignDigest(k, a.Digest(token.ReceiveKind, s.net.DomainSeparator()))
	b, err := json.Marshal(map[string]any{"x402Version": 2, "accepted": accepted, "resource": ch["resource"],
		"extensions": tilltest.Unsuggested(ch), "payload": map[string]any{"authorization": map[string]any{
			"from": p.Payer.Hex(), "to": a.To.Hex(), "value": amount.String(), "validAfter": "0",
			"validBefore": fmt.Sprint(p.PreApproval), "nonce": a.Nonce.Hex()}, "signature": hexutil.Encode(sig),
			"salt": common.BigToHash(p.Salt).Hex()}})
	if err != nil {
		s.t.Fatal(err)
	}
	return map[string]string{"PAYMENT-SIGNATURE": base64.StdEncoding.EncodeToString(b)}
}

const heldJudgment = "/api/hold/quick_judgment?detail=Tea"

// ordered has an order held, and waits until the keeper sees it.
func (s *holdShop) ordered(k chaintest.Key, salt byte) tilltest.Reply {
	s.t.Helper()
	return s.orderedAt(heldJudgment, k, salt)
}

func (s *holdShop) orderedAt(path string, k chaintest.Key, salt byte) tilltest.Reply {
	s.t.Helper()
	r := s.do("GET", path, s.signed(path, k, salt))
	s.want("an order", r, 202, "")
	s.state(r.Purchase(), till.Held)
	s.final(r.Purchase())
	return r
}

// nowhere is a network on which every host has an address, and nothing answers.
type nowhere struct{}

func (nowhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, 34})}, nil
}

func (nowhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("nothing is sent in this test")
}

// pass puts clock and chain forward.
func (s *holdShop) pass(d time.Duration) {
	s.net.Pass(d)
	s.clock.put(time.Duration(s.clock.by.Load()) + d)
}

// order reads an order.
func (s *holdShop) order(r tilltest.Reply) tilltest.Reply {
	s.t.Helper()
	s.unpolled(r.Str("order_id"))
	return s.do("GET", "/api/order/"+r.Str("order_id"), nil)
}

const price = 3_000_000 // of quick_judgment

// An order is held, completed, and captured; number and certificate are the capture's. A lost
// answer comes again at each stage, and costs nothing.
func TestHeldOrderIsCaptured(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 2})
	k := s.net.Buyers[0]
	if r := s.do("GET", "/api/hold/hello", nil); r.Status != 404 {
		t.Errorf("what is made at once is held: %d", r.Status)
	}
	for _, a := range s.challenge("/api/buy/quick_judgment?detail=Tea")["accepts"].([]any) {
		if a.(map[string]any)["scheme"] != "exact" {
			t.Errorf("the other door holds: %v", a)
		}
	}
	s.read(t, heldJudgment, rail.SchemeCapture)
	had := s.net.Node.Balance(k.Address)
	header := s.signed(heldJudgment, k, 1)
	r := s.do("GET", heldJudgment, header)
	s.want("an order", r, 202, "")
	paid := r.Response()
	if paid["success"] != true || paid["amount"] != fmt.Sprint(price) || r.Body["patron_number"] != nil ||
		r.Body["cert_id"] != nil || r.Str("held", "state") != "held" || r.Str("paid_usdc") != "0.00" &&
		r.Str("paid_usdc") != "0" || !strings.Contains(r.Str("held", "where"), "held by the escrow") {
		t.Errorf("held: %v %s", paid, r.Raw)
	}
	if s.net.Node.Balance(k.Address) != had-price || s.net.Node.Balance(s.net.PayTo) != 0 {
		t.Errorf("the payer has %d of %d, payTo %d", s.net.Node.Balance(k.Address), had,
			s.net.Node.Balance(s.net.PayTo))
	}
	again := s.do("GET", heldJudgment, header)
	if s.want("the same again", again, 202, ""); again.Body["idempotent_replay"] != true ||
		again.Str("order_id") != r.Str("order_id") || again.Response()["transaction"] != paid["transaction"] {
		t.Errorf("the same again: %s", again.Raw)
	}
	if s.net.Node.Balance(k.Address) != had-price {
		t.Error("an answer that came again was paid for")
	}
	if _, err := s.till.AnswerOrder(t.Context(), r.Str("order_id"), till.Answer{Text: "No."}, false); err == nil {
		t.Error("an order was answered that may still be taken back")
	}
	s.final(r.Purchase())
	if _, err := s.till.AnswerOrder(t.Context(), r.Str("order_id"), till.Answer{Text: "No."}, false); err != nil {
		t.Fatal(err)
	}
	p := s.state(r.Purchase(), till.Delivered)
	if got := s.net.Node.Balance(s.net.PayTo); got != price || p.Number != 1 || p.CertID == "" ||
		p.Proof.Tx == paid["transaction"] {
		t.Errorf("payTo has %d, the purchase is %+v", got, p)
	}
	done := s.order(r)
	if done.Str("status") != "completed" || done.Str("deliverable", "text") != "No." ||
		done.Str("held", "state") != "captured" || done.Str("held", "tx") != p.Proof.Tx {
		t.Errorf("completed: %s", done.Raw)
	}
	if v := s.do("GET", "/api/verify/"+p.CertID, nil); v.Body["valid"] != true ||
		v.Str("certificate", "settlement_tx") != p.Proof.Tx {
		t.Errorf("the certificate: %s", v.Raw)
	}
	last := s.do("GET", heldJudgment, header)
	if s.want("the same after all", last, 200, ""); last.Str("cert_id") != p.CertID {
		t.Errorf("the same after all: %s", last.Raw)
	}
	s.final(r.Purchase())
	// A keeper who holds no more has it for who paid before, and for nobody else.
	closed := newShop(t, shopOptions{net: s.net, db: s.clock, config: func(c *till.Config) { c.Now = s.clock.now }})
	closed.want("the same where none are held any more", closed.do("GET", heldJudgment, header), 200, "")
	closed.want("another there", closed.do("GET", heldJudgment, s.signed(heldJudgment, k, 2)), 404, "not_found")
}

// What is declined goes back, and so does what is not completed in its window; a keeper who comes
// too late is told before he works. What its payer took back first is seen.
func TestHeldOrdersGoBack(t *testing.T) {
	t.Parallel()
	var told sync.Map // by order
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Unsigned: true,
		Resolver: nowhere{}, Dialer: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	s := newHoldShop(t, shopOptions{buyers: 4, services: services.Config{
		Callbacks: services.CallbackConfig{Key: attest.SpecimenKey(), Client: client}},
		config: func(c *till.Config) {
			c.Tell = func(_ ledger.Tx, n goods.Notice) error {
				told.Store(n.Order, fmt.Sprint(n.URL, " ", n.Type, " ", n.Data))
				return nil
			}
		}})
	had := map[int]int64{}
	var all []tilltest.Reply
	for i := range 3 {
		had[i] = s.net.Node.Balance(s.net.Buyers[i].Address)
		all = append(all, s.orderedAt(heldJudgment+"&callback_url=https://hook.example/", s.net.Buyers[i], byte(i+1)))
	}
	back := func(i int, status string) {
		t.Helper()
		s.state(all[i].Purchase(), till.Released)
		o := s.order(all[i])
		has := s.net.Node.Balance(s.net.Buyers[i].Address)
		if has != had[i] || o.Str("status") != "released" || o.Str("held", "state") != status ||
			o.Body["window_breached"] != nil {
			t.Errorf("order %d went back with %d of %d: %s", i, has, had[i], o.Raw)
		}
	}
	if _, err := s.till.DeclineOrder(t.Context(), all[0].Str("order_id"), false); err != nil {
		t.Fatal(err)
	}
	back(0, "voided")
	if _, err := s.till.AnswerOrder(t.Context(), all[0].Str("order_id"), till.Answer{Text: "No."}, false); err == nil {
		t.Error("what went back was answered")
	}

	// The chain is ahead of the ledger, so the payer is first.
	s.net.Pass(172 * time.Hour)
	call := all[1].Body["held"].(map[string]any)["reclaim"].(map[string]any)
	s.net.Send(s.net.Buyers[1], common.HexToAddress(call["to"].(string)), common.FromHex(call["data"].(string)))
	until(t, "the payer to take it back", func() bool {
		return s.net.Node.Balance(s.net.Buyers[1].Address) == had[1]
	})
	s.clock.put(168*time.Hour - time.Minute)
	if _, err := s.till.AnswerOrder(t.Context(), all[2].Str("order_id"), till.Answer{Text: "No."}, true); err != nil {
		t.Errorf("a minute before it is over: %v", err)
	}
	s.clock.put(168*time.Hour + time.Minute)
	if _, err := s.till.AnswerOrder(t.Context(), all[2].Str("order_id"), till.Answer{Text: "No."}, true); err == nil ||
		!strings.Contains(err.Error(), "nothing would be paid") && !strings.Contains(err.Error(), "released") {
		t.Errorf("after it is over: %v", err)
	}
	back(1, "reclaimed")
	back(2, "voided")
	if s.net.Node.Balance(s.net.PayTo) != 0 {
		t.Errorf("payTo has %d", s.net.Node.Balance(s.net.PayTo))
	}
	for i := range all {
		id := all[i].Str("order_id")
		want := "https://hook.example/ order.released {" + id + " quick_judgment released <nil>}"
		if word, _ := told.Load(id); word != want {
			t.Errorf("of order %d was told %q, want %q", i, word, want)
		}
	}
	// What they cost the store, as the till's package comment says; the first void has the escrow
	// make the store of this operator's money.
	for i, most := range map[int]uint64{0: 360_000, 2: 200_000} {
		p := s.purchase(all[i].Purchase())
		gas := s.net.Receipt(common.HexToHash(p.Held.Proof.Tx)).GasUsed +
			s.net.Receipt(common.HexToHash(p.Held.Last.Tx)).GasUsed
		if t.Logf("order %d took %d gas", i, gas); gas > most {
			t.Errorf("order %d took %d gas, want at most %d", i, gas, most)
		}
	}
}

// An order that is let lie at any step goes on, and is captured or voided once.
func TestHeldOrdersAreRecovered(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 1})
	k := s.net.Buyers[0]
	salt, taken := byte(0), int64(0)
	for _, step := range []string{"claimed", "settling", "authorized", "held"} {
		salt++
		s.lies.Store(step)
		header := s.signed(heldJudgment, k, salt)
		s.try("GET", heldJudgment, header)
		r := s.do("GET", heldJudgment, header)
		until(t, "an answer", func() bool { r = s.do("GET", heldJudgment, header); return r.Status == 202 })
		if s.lies.Load() != "" {
			t.Errorf("no step %s", step)
		}
		s.final(r.Purchase())
		if _, err := s.till.DeclineOrder(t.Context(), r.Str("order_id"), false); err != nil {
			t.Fatal(err)
		}
		s.state(r.Purchase(), till.Released)
	}
	for _, step := range []string{"capturing", "resigned", "sent", "settled", "delivered"} {
		salt++
		r := s.ordered(k, salt)
		s.lies.Store(step)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.till.AnswerOrder(t.Context(), r.Str("order_id"), till.Answer{Text: "No."}, false)
		}()
		<-done
		s.state(r.Purchase(), till.Delivered)
		if s.lies.Load() != "" {
			t.Errorf("no step %s", step)
		}
		if taken += price; s.net.Node.Balance(s.net.PayTo) != taken {
			t.Errorf("after %s payTo has %d, want %d", step, s.net.Node.Balance(s.net.PayTo), taken)
		}
		s.release(r)
	}
}

// release gives an order's place of the week back, so that one week has as many as a test wants.
func (s *holdShop) release(r tilltest.Reply) {
	s.t.Helper()
	err := s.db.Update(s.t.Context(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("week"))) {
			if err != nil {
				return err
			}
			if bytes.Contains(e.Key, []byte(r.Purchase())) {
				return tx.Delete(e.Key)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Of a completion and a decline at one moment one is made, and the order ends by it alone.
func TestHeldOrderEndsOnce(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 1})
	other, err := till.New(s.till.Config()) // a second process
	if err != nil {
		t.Fatal(err)
	}
	k := s.net.Buyers[0]
	for i := range 3 {
		before, taken := s.net.Node.Balance(k.Address), s.net.Node.Balance(s.net.PayTo)
		r := s.ordered(k, byte(i+1))
		begin, declined := make(chan struct{}), make(chan error)
		go func() {
			<-begin
			_, err := other.DeclineOrder(t.Context(), r.Str("order_id"), false)
			declined <- err
		}()
		close(begin)
		_, answered := s.till.AnswerOrder(t.Context(), r.Str("order_id"), till.Answer{Text: "No."}, false)
		if no := <-declined; (answered == nil) == (no == nil) {
			t.Errorf("both or none: %v, %v", answered, no)
		}
		want := till.Released
		if answered == nil {
			want = till.Delivered
		}
		s.state(r.Purchase(), want)
		if took, left := s.net.Node.Balance(s.net.PayTo)-taken, before-s.net.Node.Balance(k.Address); took != left ||
			took != 0 && want == till.Released || took == 0 && want == till.Delivered {
			t.Errorf("%s: payTo has %d more, the payer %d less", want, took, left)
		}
	}
}

// The stock client, unmodified, orders at the door of holds, which the other door and its own page
// name; a lost answer comes again, and a store that holds nothing says where the same is sold.
func TestStockClientHasItsOrderHeld(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 1})
	const door = "/api/buy/quick_judgment?detail=Tea"
	if steps := fmt.Sprint(s.do("GET", door, nil).Body["next_steps"]); !strings.Contains(steps,
		s.url+"/api/hold/quick_judgment") {
		t.Errorf("the other door: %s", steps)
	}
	asked := s.do("GET", heldJudgment, nil)
	if steps := fmt.Sprint(asked.Body["next_steps"]); !strings.Contains(steps, s.url+"/api/buy/quick_judgment") ||
		strings.Contains(steps, "store buy") || asked.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("the door: %s %v", steps, asked.Header)
	}
	before := s.net.Node.Balance(s.net.Buyers[0].Address)
	url := s.url + heldJudgment
	got := clients.Buy(t, clients.Options{Key: s.net.Buyers[0].Hex(), SpendOff: true, Hold: true, Lost: []int{0}}, url,
		url)
	var body struct {
		OrderID string `json:"order_id"`
		Held    struct {
			PaymentInfo rail.PaymentInfo `json:"payment_info"`
		} `json:"held"`
	}
	if err := json.Unmarshal([]byte(got[1].Body), &body); err != nil || got[0].Error != "the answer was lost" ||
		got[1].Status != 202 || !got[1].Settled || body.OrderID == "" ||
		body.Held.PaymentInfo.MaxAmount != fmt.Sprint(price) {
		t.Fatalf("%+v, %v", got, err)
	}
	if paid := before - s.net.Node.Balance(s.net.Buyers[0].Address); paid != price {
		t.Errorf("the buyer paid %d, want %d once", paid, price)
	}

	at := newShop(t, shopOptions{buyers: 1})
	if r := at.do("GET", heldJudgment, nil); r.Status != 404 ||
		!strings.Contains(r.Str("detail"), "/api/buy/quick_judgment") {
		t.Errorf("where nothing is held: %d %s", r.Status, r.Raw)
	}
}

// Quoted work is held too, at the door that its request names.
func TestCommissionIsHeld(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 1})
	request := "req_" + strings.Repeat("a", 20)
	err := s.db.Update(t.Context(), func(tx ledger.Tx) error { return goods.Quote{Amount: 5_000_000}.Set(tx, request) })
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/hold/" + request
	r := s.do("GET", path, s.signed(path, s.net.Buyers[0], 1))
	s.want("a commission", r, 202, "")
	s.final(r.Purchase())
	if again := s.do("GET", path, nil); again.Status != 409 {
		t.Errorf("a second time: %d %s", again.Status, again.Raw)
	}
	if _, err := s.till.DeclineOrder(t.Context(), r.Str("order_id"), false); err != nil {
		t.Fatal(err)
	}
	s.state(r.Purchase(), till.Released)
	s.challenge(path)
}

// A week of orders of every fate: done, declined, left lying by the keeper, taken back by its
// payer, and completed when no node is to be had until the deadline. Each atomic unit is where it
// belongs, by the chain and by the books.
func TestWeekOfHeldOrders(t *testing.T) {
	t.Parallel()
	gate := &away{}
	s := newHoldShop(t, shopOptions{buyers: 5,
		rail: func(r rail.Rail) rail.Rail { return &awayRail{r.(holding), gate} }})
	had := make([]int64, 5)
	all := make([]tilltest.Reply, 5)
	for i := range all {
		had[i] = s.net.Node.Balance(s.net.Buyers[i].Address)
		all[i] = s.ordered(s.net.Buyers[i], byte(i+1))
	}
	const done, declined, broken, reclaimed, missed = 0, 1, 2, 3, 4
	id := func(i int) string { return all[i].Str("order_id") }
	answer := till.Answer{Text: "No."}
	if _, err := s.till.AnswerOrder(t.Context(), id(done), answer, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.till.DeclineOrder(t.Context(), id(declined), false); err != nil {
		t.Fatal(err)
	}
	s.state(all[done].Purchase(), till.Delivered)
	s.state(all[declined].Purchase(), till.Released)

	s.pass(167 * time.Hour)
	gate.set(true)
	if _, err := s.till.AnswerOrder(t.Context(), id(missed), answer, false); err != nil {
		t.Fatalf("without a node: %v", err)
	}
	s.state(all[missed].Purchase(), till.Capturing)
	s.pass(2 * time.Hour) // the window is over, and nothing can be given back
	s.state(all[broken].Purchase(), till.Voiding)
	s.pass(3 * time.Hour) // and the deadline
	held := all[reclaimed].Body["held"].(map[string]any)["reclaim"].(map[string]any)
	s.net.Send(s.net.Buyers[reclaimed], common.HexToAddress(held["to"].(string)),
		common.FromHex(held["data"].(string)))
	s.finalize()
	gate.set(false)
	for i, want := range map[int]till.State{done: till.Delivered, declined: till.Released, broken: till.Released,
		reclaimed: till.Released, missed: till.Released} {
		p := s.state(all[i].Purchase(), want)
		has, left := s.net.Node.Balance(s.net.Buyers[i].Address), had[i]
		if i == done {
			left -= price
		}
		if has != left || i == reclaimed && p.Held.Ended != "reclaimed" ||
			i == missed && p.Reason != "capture_expired" {
			t.Errorf("order %d is %s by %s (%s), and its payer has %d of %d", i, p.State, p.Held.Ended, p.Reason, has,
				left)
		}
	}
	if got := s.net.Node.Balance(s.net.PayTo); got != price {
		t.Errorf("payTo has %d, want %d", got, price)
	}
	if r := s.order(all[missed]); r.Body["deliverable"] != nil {
		t.Errorf("what was not paid for is handed over: %s", r.Raw)
	}
	s.finalize()
	until(t, "everything to be final", func() bool {
		for _, r := range all {
			if !s.purchase(r.Purchase()).Final {
				return false
			}
		}
		return true
	})
	desk := keeper.New(keeper.Config{Till: s.till, DB: s.db, Rails: s.rails})
	b, err := desk.Books(t.Context(), time.Now().UTC().Format("2006-01"))
	if err != nil || b.Differences != 0 || len(b.Networks) != 1 {
		t.Fatalf("the books: %+v, %v", b, err)
	}
	sold := int64(0)
	for _, sum := range b.Networks[0].Sums {
		if sum.Name == string(keeper.Sale) {
			sold = sum.Ledger
		}
	}
	owed, err := s.till.Debts(t.Context(), false)
	if sold != price || err != nil || len(owed) != 0 {
		t.Errorf("sold %d, want %d; owed %v, %v", sold, price, owed, err)
	}
}

// holding is a network that holds payments.
type holding interface {
	rail.Rail
	rail.Captures
}

// away says whether no node is to be had.
type away struct{ atomic.Bool }

func (a *away) set(yes bool) { a.Store(yes) }

// awayRail is a network whose node may be away from all that sends and looks.
type awayRail struct {
	holding
	gate *away
}

var errAway = errors.New("no node answers")

func (r *awayRail) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if r.gate.Load() {
		return nil, errAway
	}
	return r.holding.Draft(ctx, ps)
}

func (r *awayRail) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	if r.gate.Load() {
		return rail.Finding{}, errAway
	}
	return r.holding.Status(ctx, p, signed, since, now)
}
