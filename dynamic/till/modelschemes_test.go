package till_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// channelDeposit is what a payer puts into a channel at a time: four greetings.
const channelDeposit = 2_000_000

// spender pays out of one channel. What it knows of it is what its answers said.
type spender struct {
	mu       sync.Mutex // guards everything
	channel  rail.Channel
	spent    int64 // by what it was told
	balance  int64 // likewise
	signed   int64 // the most that it signed for
	deposits int
}

// newSpender is somebody whose vouchers its own key signs, or its contract, by its name.
func newSpender(payer string, delay time.Duration) *spender {
	c := rail.Channel{Payer: payer, Signer: payer, Receiver: fakePayTo, Authorizer: fakeAuthorizer, Token: fakeAsset,
		Delay: int64(delay / time.Second), Salt: "0x0"}
	if (fakeRail{}).code(&rail.Payment{Payer: payer}) != "" {
		c.Signer = ""
	}
	c.ID = channelID(c)
	return &spender{channel: c}
}

// spenders are those of some names.
func spenders(delay time.Duration, payers ...string) map[string]*spender {
	all := map[string]*spender{}
	for _, p := range payers {
		all[p] = newSpender(p, delay)
	}
	return all
}

// entry are the terms of a scheme in a challenge, nil where it is not among them.
func entry(ch map[string]any, scheme string) map[string]any {
	accepts, _ := ch["accepts"].([]any)
	for _, a := range accepts {
		if a := a.(map[string]any); a["scheme"] == scheme {
			return a
		}
	}
	return nil
}

// header is a payment by some terms of a challenge.
func header(ch, accepted map[string]any, payload any) string {
	return base64.StdEncoding.EncodeToString(wireOf(map[string]any{"x402Version": 2, "payload": payload,
		"accepted": accepted, "extensions": tilltest.Unsuggested(ch), "resource": ch["resource"]}))
}

// spend signs a voucher for the terms of a challenge: for more than it should be where over is set.
// A deposit comes with it where the spender knows of too little money in the channel.
func (m *model) spend(s *spender, path string, ch, accepted map[string]any, over int64) *modelSale {
	s.mu.Lock()
	defer s.mu.Unlock()
	amount, err := strconv.ParseInt(accepted["amount"].(string), 10, 64)
	if err != nil {
		m.t.Error(err)
	}
	most := s.spent + amount + over
	s.signed = max(s.signed, most)
	w := fakeSpend{Form: rail.FormVoucher, Channel: s.channel, Voucher: voucher(s.channel, most)}
	sale := &modelSale{path: path, most: most}
	if most > s.balance {
		s.deposits++
		w.Form, w.Deposit = rail.FormDeposit, &fakePayload{Payer: s.channel.Payer,
			Nonce: fmt.Sprintf("%s/%d", s.channel.ID, s.deposits), To: fakeEscrowAt, Amount: fmt.Sprint(channelDeposit),
			Before: time.Now().Add(4 * time.Minute).Unix()}
		w.Deposit.Sig = w.Deposit.signature()
		sale.payload = *w.Deposit
		sale.payload.Wire = string((&fakeCall{Does: rail.MethodDeposit, Channel: s.channel,
			Amount: channelDeposit}).wire())
	}
	sale.header = header(ch, accepted, w)
	return sale
}

// heard takes over what an answer says of a channel, as the stock client does.
func (s *spender) heard(sale *modelSale, r tilltest.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Status == 200 {
		s.spent = max(s.spent, sale.most)
		s.balance = max(s.balance, told(r.Response(), "balance"))
		return
	}
	raw, err := base64.StdEncoding.DecodeString(r.Header.Get("PAYMENT-REQUIRED"))
	var ch map[string]any
	if err != nil || json.Unmarshal(raw, &ch) != nil {
		return
	}
	if e := entry(ch, rail.SchemeVouchers); e != nil {
		if x, _ := e["extra"].(map[string]any); x["channelState"] != nil {
			s.spent, s.balance = told(e, "chargedCumulativeAmount"), told(e, "balance")
		}
	}
	if reason, _ := ch["error"].(string); reason == "invalid_batch_settlement_evm_"+rail.ReasonExceeds {
		s.balance = 0
	}
}

// told is a number of the channel's state beside an answer, 0 where there is none.
func told(of map[string]any, name string) int64 {
	x, _ := of["extra"].(map[string]any)
	state, _ := x["channelState"].(map[string]any)
	text, _ := state[name].(string)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// spends is a visit of somebody who pays by vouchers: loses answers and asks again with the same
// one, sends two with one, signs for too much, withdraws when that hurts most, has the rest given
// back.
func (m *model) spends(me string, s *spender) {
	for range 1 + m.dice.intN(me, 4) {
		path := []string{hello, "/api/buy/small_blessing"}[m.dice.intN(me, 5)/4]
		r, ok := m.do(path, nil)
		if !ok || r.Status != 402 {
			return
		}
		ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
		accepted := entry(ch, rail.SchemeVouchers)
		m.note("%s: terms %d, by voucher %v", me, r.Status, accepted != nil)
		if accepted == nil {
			return
		}
		over := int64(0)
		if m.dice.chance(me, 10) {
			over = int64(m.dice.intN(me, 1_000_000)) - 500_000
		}
		sale := m.spend(s, path, ch, accepted, over)
		if sale.payload.Payer != "" {
			m.mu.Lock()
			m.sales = append(m.sales, sale)
			m.mu.Unlock()
		}
		var twice sync.WaitGroup
		if m.dice.chance(me, 25) {
			twice.Go(func() { m.pays(me+" again", s, sale) })
		}
		m.pays(me, s, sale)
		twice.Wait()
	}
	switch m.dice.intN(me, 7) {
	case 0:
		m.wallets.Go(func() { m.withdraws(me, s) })
	case 1:
		m.takesBack(me, s, m.do)
	}
}

// pays presents a voucher until it is answered, or its client tires.
func (m *model) pays(me string, s *spender, sale *modelSale) {
	for range 1 + m.dice.intN(me, 5) {
		m.dice.wait(me, 20*time.Second)
		m.mu.Lock()
		n := len(sale.answers)
		m.mu.Unlock()
		over := m.present(sale)
		m.mu.Lock()
		if len(sale.answers) == n { // lost
			m.mu.Unlock()
			continue
		}
		r := sale.answers[len(sale.answers)-1]
		m.mu.Unlock()
		m.note("%s: %d of %d %s", me, r.Status, sale.most, r.Raw)
		if s.heard(sale, r); over || r.Status == 402 {
			return
		}
	}
}

// withdraws has a payer take all back that it can, in spite of the store: it begins, waits for the
// delay, and ends it.
func (m *model) withdraws(me string, s *spender) {
	c := m.chain
	c.mu.Lock()
	state := c.head().channel(s.channel.ID)
	if state.Balance > state.Claimed && state.Withdrawing == 0 {
		c.byPayer(s.channel.Payer, me+" begins", &fakeCall{Does: doesWithdraw, Channel: s.channel,
			Amount: state.Balance - state.Claimed})
	}
	c.mu.Unlock()
	time.Sleep(time.Duration(s.channel.Delay) * time.Second)
	for i := range 40 {
		m.dice.wait(me, 3*time.Minute)
		c.mu.Lock()
		state = c.head().channel(s.channel.ID)
		if state.Withdrawing > 0 {
			c.byPayer(s.channel.Payer, fmt.Sprint(me, " ends ", i), &fakeCall{Does: doesFinalize, Channel: s.channel})
		}
		c.mu.Unlock()
		if state.Withdrawing == 0 {
			return
		}
	}
}

// asks makes a request; false where no answer came.
type asks func(path string, header map[string]string) (tilltest.Reply, bool)

// takesBack asks the store for less than giving it back costs, and then for what is left in a
// channel, or a part of it.
func (m *model) takesBack(me string, s *spender, do asks) {
	for _, amount := range []int64{fakeGas / 2, int64(m.dice.intN(me, 2)) * 300_000} {
		m.asksBack(me, s, amount, do)
	}
}

func (m *model) asksBack(me string, s *spender, amount int64, do asks) {
	r, ok := do(hello, nil)
	if !ok || r.Status != 402 {
		return
	}
	ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	accepted := entry(ch, rail.SchemeVouchers)
	if accepted == nil {
		return
	}
	s.mu.Lock()
	w := fakeSpend{Form: rail.FormRefund, Channel: s.channel, Voucher: voucher(s.channel, s.spent),
		Refund: amount}
	s.mu.Unlock()
	r, ok = do(hello, map[string]string{"PAYMENT-SIGNATURE": header(ch, accepted, w)})
	m.note("%s: asks back: %d %s", me, r.Status, r.Raw)
	if ok && r.Status == 200 {
		s.mu.Lock()
		s.balance = told(r.Response(), "balance")
		s.mu.Unlock()
	}
}

const heldJudgment = "/api/hold/quick_judgment?detail=Tea"

// orders buys the keeper's time into a hold.
func (m *model) orders(me, payer string) {
	r, ok := m.do(heldJudgment, nil)
	m.note("%s: terms of a hold %d %s", me, r.Status, r.Code())
	if !ok || r.Status != 402 {
		return
	}
	s := authorized(heldJudgment, payer, me, tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED")))
	m.mu.Lock()
	m.sales = append(m.sales, s)
	m.mu.Unlock()
	for range 1 + m.dice.intN(me, 6) {
		if m.present(s) {
			return
		}
		m.dice.wait(me, time.Minute)
	}
}

// authorized is a payment into a hold by the terms of a challenge.
func authorized(path, payer, salt string, ch map[string]any) *modelSale {
	accepted := entry(ch, rail.SchemeCapture)
	extra := accepted["extra"].(map[string]any)
	amount := accepted["amount"].(string)
	before := time.Now().Add(time.Duration(accepted["maxTimeoutSeconds"].(float64)) * time.Second).Unix()
	hold, nonce := holdOf(agreed(payer, amount, salt, before, int64(extra["captureDeadline"].(float64)),
		int64(extra["refundDeadline"].(float64))))
	p := fakePayload{Payer: payer, Nonce: nonce, To: fakeHoldsAt, Amount: amount, Before: before}
	p.Sig = p.signature()
	s := &modelSale{path: path, payload: p, header: header(ch, accepted, fakeHeld{p, salt}), hold: &hold}
	s.payload.Wire = string((&fakeCall{Does: rail.MethodHold, Hold: hold, Amount: p.value()}).wire())
	return s
}

// keeps is the keeper until a time: he completes much of what waits, more of it where it is late,
// declines some, and leaves the rest.
func (m *model) keeps(until time.Time, late bool) {
	const me = "keeper"
	for time.Now().Before(until) {
		m.dice.wait(me, 90*time.Second)
		m.mu.Lock()
		tl := m.till
		m.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			orders, err := tl.HumanOrders(context.Background(), false)
			m.note("keeper: %d orders, %v", len(orders), err)
			for _, o := range orders {
				did := leaves
				switch n := newDice(m.dice.seed).intN("fate of "+o.ID, 10); {
				case n < 4, late && n < 6:
					m.keep(o.ID, answering)
					if _, err = tl.AnswerOrder(context.Background(), o.ID, till.Answer{Text: "Keep the cat."},
						false); err == nil {
						did = answered
					}
				case n > 7:
					if _, err = tl.DeclineOrder(context.Background(), o.ID, false); err == nil {
						did = declined
					}
				}
				m.note("keeper: %s: %v, %v", o.ID, did, err)
				m.keep(o.ID, did)
			}
		}()
		<-done
	}
}

// What the keeper did about an order: an answer may have come to something though he was told
// otherwise.
type keeping int

const (
	leaves keeping = iota
	answering
	answered
	declined
)

func (m *model) keep(order string, did keeping) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if did > leaves {
		m.kept[order] = max(did, m.kept[order])
	}
}

// reclaims has payers take back what is held for them still, once its deadline is there.
func (m *model) reclaims(sales []*modelSale) {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	for i, s := range sales {
		if s.hold != nil && m.chain.head().escrow.holds[s.hold.Hash].Capturable > 0 &&
			time.Now().Unix() >= s.hold.Info.AuthorizationExpiry {
			m.chain.byPayer(s.payload.Payer, fmt.Sprint("reclaim ", i), &fakeCall{Does: doesReclaim, Hold: *s.hold})
		}
	}
}

// modelDelay is how long a withdrawal from a channel takes in a model: half of it is over when the
// weather is good again. modelWindow is the window of the keeper's work, in hours.
const (
	modelDelay  = time.Hour
	modelWindow = 1
)

// evening is what comes after: windows break, deadlines pass, and in half of the models no node is
// there from before a window's end until a deadline was.
func (m *model) evening(site *content.Site) {
	m.stop()
	m.poll = 2 * time.Minute
	m.start(site)
	away := m.dice.seed/2%2 == 0
	m.note("evening, the nodes are away: %v", away)
	m.chain.mu.Lock()
	m.chain.silent = away
	m.chain.mu.Unlock()
	m.keeps(time.Now().Add(time.Minute), true)
	for i := range 5 * 30 {
		time.Sleep(2 * time.Minute)
		m.chain.mu.Lock()
		m.chain.silent = away && i < 4*30
		m.chain.seal(false)
		m.chain.mu.Unlock()
		m.reclaims(m.sales)
	}
}

// looksAfter is the task that looks after channels.
func (m *model) looksAfter(tl *till.Till, db ledger.DB, r rail.Rail) ([]schedule.Job, error) {
	g, err := manager.New(manager.Config{DB: db, Rails: []rail.Rail{r}, Settles: tl.Settles(),
		Log: slog.New(slog.DiscardHandler), Sum: 1_200_000, Age: m.age, Fresh: 20 * time.Second,
		Every: max(11*time.Second, m.poll)})
	if err != nil {
		return nil, err
	}
	return []schedule.Job{g.Job()}, g.Start(context.Background())
}

// judgeVouchers: what was delivered by voucher was charged once and is no more than was signed for,
// and it is claimed, or can be still; no refund cost more than it gave back.
func (m *model) judgeVouchers(all []till.Purchase, states map[string]int) {
	sold, lost := map[string]int64{}, map[string]bool{}
	for _, p := range all {
		if p.Spent == nil {
			continue
		}
		states["voucher "+string(p.State)]++
		if p.Spent.Deposit != nil {
			if _, b := m.chain.use(p.Spent.Deposit.Payer + "|" + p.Spent.Deposit.Nonce); b == nil {
				lost[p.Spent.Channel.ID] = true // a reorganisation took it
			}
		}
		if !p.DeliveredAt.IsZero() {
			sold[p.Spent.Channel.ID] += p.Amount
		}
	}
	e := m.chain.head().escrow
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		for payer, s := range m.spenders {
			id := s.channel.ID
			c := e.channels[id]
			row, err := channels.Read(tx, fakeNetwork, id)
			if err != nil {
				if sold[id] > 0 || c.Claimed > 0 {
					m.t.Errorf("%s has no channel: %v", payer, err)
				}
				continue
			}
			if row.Held != nil || row.Refund != nil {
				m.t.Errorf("something is under way for the channel of %s: %+v", payer, row)
			}
			if row.Brought() != sold[id] {
				m.t.Errorf("%d were delivered out of the channel of %s, it was charged %d", sold[id], payer,
					row.Brought())
			}
			if row.Charged > s.signed || c.Claimed > row.Charged {
				m.t.Errorf("%s signed for %d, was charged %d, and %d are claimed", payer, s.signed, row.Charged,
					c.Claimed)
			}
			switch open := row.Charged - c.Claimed; {
			case open > c.Balance-c.Claimed && !lost[id]:
				m.t.Errorf("%d that %s bought can be claimed no more: %+v of %+v", open-(c.Balance-c.Claimed), payer,
					c, row)
			case open > 0:
				states["unclaimed"] += int(open)
			}
			if c.Withdrawing > 0 {
				m.t.Errorf("the channel of %s still withdraws: %+v", payer, c)
			}
			states["claimed"] += int(c.Claimed)
			states["channel withdrawn or refunded"] += int(m.chain.paidOut(payer))
		}
		return nil
	})
	for _, b := range m.chain.blocks {
		for _, x := range b.txs {
			for _, p := range x.Pays {
				if k := p.call(); k != nil && k.Does == rail.MethodRefund && k.Amount < fakeGas*m.chain.gasPrice {
					m.t.Errorf("a refund gave back %d, which is less than it cost", k.Amount)
				}
			}
		}
	}
}

// judgeHolds: what was held is captured if its order is completed, and went back if it is not.
func (m *model) judgeHolds(all []till.Purchase, states map[string]int) (captured int64) {
	for _, p := range all {
		if p.Held == nil {
			continue
		}
		u, b := m.chain.use(fakeOperator + "|" + p.Held.Hash)
		_, held := m.chain.use(p.Payment.Payer + "|" + p.Payment.Nonce)
		end := u.end
		if b == nil && held != nil && !m.cancelled(p.Payment.Payer+"|"+p.Payment.Nonce) {
			m.t.Errorf("the money of %s, which is %s, is still held", p.ID, p.State)
		}
		work := p.State == till.Delivered
		if work != (end == rail.EndCaptured) || work != (p.CertID != "" && p.Number > 0) || p.Held.Ended != end &&
			(b != nil || p.Held.Ended != "") {
			m.t.Errorf("order %s of %s is %s (%s), its hold %q, and on the chain %q", p.Artifact, p.ID, p.State,
				p.Reason, p.Held.Ended, end)
		}
		kept := m.kept[p.Artifact]
		if done := kept == answering || kept == answered; end == rail.EndCaptured && !done {
			m.t.Errorf("order %s was captured, and nobody completed it", p.Artifact)
		} else if kept == answered && end != rail.EndCaptured && b != nil && b.time.Before(p.Held.Deadline()) {
			m.t.Errorf("order %s was completed, and %s at %s, before %s", p.Artifact, end, b.time, p.Held.Deadline())
		}
		if end == rail.EndCaptured {
			captured += u.amount
			if p.Proof == nil || p.Proof.Tx != u.tx.id() || p.Amount != u.amount {
				m.t.Errorf("%s names another capture than the chain", p.ID)
			}
		}
		states[strings.TrimSpace(fmt.Sprint("hold ", p.State, " ", p.Held.Why, " ", end))]++
	}
	return captured
}

func (m *model) cancelled(key string) bool {
	u, b := m.chain.use(key)
	return b != nil && u.cancelled
}
