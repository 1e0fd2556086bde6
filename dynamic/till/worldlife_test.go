package till_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// wish is something that somebody comes for.
type wish struct {
	item string
	in   url.Values
}

// humanGoods are those of the keeper's time.
var humanGoods = []string{"quick_judgment", "human_witness", "the_collab", "phone_call", "app_gutcheck"}

// wish is what a buyer comes for.
func (w *world) wish(who string, i int) wish {
	v := url.Values{}
	receiver := []string{"well", "well", "away", "never", "gone"}[w.dice.intN(who, 5)]
	told := func() {
		if w.dice.chance(who, 70) {
			v.Set("callback_url", fmt.Sprintf("https://%s-%d.example.com/hook", receiver, i))
		}
	}
	switch n := w.dice.intN(who, 100); {
	case n < 40:
		told()
		v.Set("detail", fmt.Sprintf("The question of buyer %d.", i))
		return wish{humanGoods[n%len(humanGoods)], v}
	case n < 54:
		if id := w.pass(who); id != "" && w.dice.chance(who, 60) {
			v.Set("pass_id", id)
		}
		return wish{"recurring_patronage", v}
	case n < 72:
		v.Set("url", fmt.Sprintf("http://door-%d.example.com/", i))
		return wish{"phantom_check", v}
	case n < 82:
		told()
		v.Set("url", fmt.Sprintf("https://daily-%d.example.com/", i))
		return wish{"conformance_watch", v}
	case n < 84: // each is 168 slots
		told()
		v.Set("url", fmt.Sprintf("https://hourly-%d.example.com/", i))
		return wish{"standing_watch", v}
	}
	return wish{"small_blessing", v}
}

// pass is one of the passes that were bought, "" for none.
func (w *world) pass(who string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.passes) == 0 {
		return ""
	}
	return w.passes[w.dice.intN(who, len(w.passes))]
}

// comes is a buyer: asks for terms, signs once or twice under one key, and presents each payment,
// now and then in two places at once, until it is answered or he tires.
func (w *world) comes(i int, what wish) {
	who := fmt.Sprint("buyer ", i)
	path := "/api/buy/" + what.item + "?" + what.in.Encode()
	holds := slices.Contains(humanGoods, what.item) && w.dice.chance(who, 50)
	if holds {
		path = strings.Replace(path, "buy", "hold", 1)
	}
	var terms map[string]any
	for range 3 {
		if p := w.some(who); p != nil {
			from := time.Now()
			r, ok := p.ask(path, nil)
			if ok && r.Code() == "sold_out" {
				w.note(refusal{what.item, from, time.Now()})
				return
			}
			if ok && r.Status == 402 && r.Header.Get("PAYMENT-REQUIRED") != "" {
				terms = tilltest.DecodeChallenge(w.t, r.Header.Get("PAYMENT-REQUIRED"))
				break
			}
		}
		w.dice.wait(who, 5*time.Minute)
	}
	if terms == nil {
		return
	}
	if by := entry(terms, rail.SchemeVouchers); by != nil && w.dice.chance(who, 70) {
		w.spends(who, path, terms, by)
		return
	}
	key, signs := "", 1
	if w.dice.chance(who, 50) { // who signs twice without one buys twice
		key, signs = fmt.Sprintf("the-key-of-an-order-%d", i), 1+w.dice.intN(who, 2)
	}
	var all sync.WaitGroup
	defer all.Wait()
	for n := range signs {
		payer, nonce := fmt.Sprintf("payer-%d", i), fmt.Sprintf("nonce-%d-%d", i, n)
		s := (&model{t: w.t}).signed(path, payer, nonce, terms, 2*time.Minute)
		if holds {
			s = authorized(path, payer, nonce, terms)
		}
		s.key = key
		w.mu.Lock()
		w.sales = append(w.sales, s)
		w.mu.Unlock()
		for m := range 1 + w.dice.intN(who, 4)/3 {
			all.Go(func() { w.presents(fmt.Sprint(who, " ", n, " ", m), what.item, s) })
		}
	}
}

// presents presents a payment until it is answered.
func (w *world) presents(who, item string, s *modelSale) {
	h := map[string]string{"PAYMENT-SIGNATURE": s.header}
	if s.key != "" {
		h["Idempotency-Key"] = s.key
	}
	for range 6 {
		w.dice.wait(who, 20*time.Second)
		p := w.some(who)
		if p == nil {
			continue
		}
		k := call{from: time.Now()}
		r, ok := p.ask(s.path, h)
		k.to = time.Now()
		if ok && r.Code() == "sold_out" && r.Str("recovery", "purchase_id") == "" {
			w.note(refusal{item, k.from, k.to})
		}
		k.answered, k.purchase, k.fresh = ok, r.Purchase(), r.Status < 300 && r.Body["idempotent_replay"] == false
		w.mu.Lock()
		s.calls = append(s.calls, k)
		if r.Status == 200 && item == "recurring_patronage" && k.fresh {
			w.passes = append(w.passes, r.Str("artifact", "id"))
		}
		w.mu.Unlock()
		if ok && (r.Status < 300 || r.Status < 500 && r.Str("retry") != "same_payment" && r.Str("retry") != "after") {
			return
		}
		if ok {
			if err := tilltest.AnswersPayment(r, true); err != nil {
				w.t.Errorf("%s: %d %s: %v", s.path, r.Status, r.Raw, err)
			}
		}
		w.dice.wait(who, 2*time.Minute)
	}
}

// spends buys by a voucher, and may withdraw after it, or ask back what is left.
func (w *world) spends(who, path string, terms, by map[string]any) {
	s := w.spenders[[]string{"spender", "another", "code:spender"}[w.dice.intN(who, 3)]]
	m := &model{t: w.t, chain: w.chain, dice: w.dice}
	sale := m.spend(s, path, terms, by, 0)
	ask := func(path string, header map[string]string) (tilltest.Reply, bool) {
		if p := w.some(who); p != nil {
			return p.ask(path, header)
		}
		return tilltest.Reply{}, false
	}
	for range 6 {
		w.dice.wait(who, 20*time.Second)
		r, ok := ask(path, map[string]string{"PAYMENT-SIGNATURE": sale.header})
		if ok {
			if err := tilltest.AnswersPayment(r, true); err != nil {
				w.t.Errorf("%s: %d %s: %v", path, r.Status, r.Raw, err)
			}
			if s.heard(sale, r); r.Status == 200 || r.Status == 402 {
				break
			}
		}
		w.dice.wait(who, 2*time.Minute)
	}
	switch n := w.dice.intN(who, 8); {
	case n == 0 && w.withdraws:
		m.withdraws(who, s)
	case n == 1:
		m.takesBack(who, s, ask)
	}
}

func (w *world) note(r refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, r)
}

// keeps is the keeper until a time: every day or two he answers what waits for him, once a week he
// pays what he owes, but for what he never answers and the weeks when he is away.
func (w *world) keeps(until time.Time) {
	const me = "keeper"
	ctx := context.Background()
	for time.Now().Before(until) {
		w.dice.wait(me, 60*time.Hour)
		if w.dice.chance(me, 5) {
			w.dice.wait(me, 20*24*time.Hour)
		}
		p := w.some(me)
		if p == nil {
			continue
		}
		p.by(func() {
			orders, err := p.till.HumanOrders(ctx, false)
			if err != nil && !p.dead.Load() {
				w.t.Error(err)
			}
			for _, o := range orders {
				held := o.Purchase.Held != nil
				switch fate := newDice(w.dice.seed).intN("fate of "+o.ID, 20); {
				case fate < 2, held && !time.Now().Before(o.Work.DueAt): // never, or it goes back
					continue
				case fate < 6 && held:
					if _, err := p.till.DeclineOrder(ctx, o.ID, false); err == nil {
						w.keep(o.ID, declined)
					} else if !p.dead.Load() {
						w.t.Errorf("declining %s: %v", o.ID, err)
					}
					continue
				}
				w.keep(o.ID, answering)
				if _, err := p.till.AnswerOrder(ctx, o.ID, till.Answer{Text: "Keep the cat."}, false); err == nil {
					w.keep(o.ID, answered)
				} else if !p.dead.Load() {
					w.t.Errorf("answering %s: %v", o.ID, err)
				}
			}
			if w.dice.chance(me, 30) {
				w.pays(ctx, p)
			}
		})
	}
}

func (w *world) keep(order string, did keeping) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept[order] = max(did, w.kept[order])
}

// pays notes most of what is owed as paid.
func (w *world) pays(ctx context.Context, p *process) {
	debts, err := p.till.Debts(ctx, false)
	if err != nil && !p.dead.Load() {
		w.t.Error(err)
	}
	for _, d := range debts {
		if !w.dice.chance("pays", 70) {
			continue
		}
		if _, err := p.till.PaidByHand(ctx, d.ID, "0x"+d.ID, false); err == nil {
			w.mu.Lock()
			w.paid[d.ID]++
			w.mu.Unlock()
		} else if !p.dead.Load() {
			w.t.Errorf("paying %s: %v", d.ID, err)
		}
	}
}

// fates end and kill what runs in a place, and start another, until a time.
func (w *world) fates(place int, until time.Time, every, away time.Duration) {
	me := fmt.Sprint("fate ", place)
	for {
		w.dice.wait(me, every)
		if !time.Now().Before(until) {
			return
		}
		w.mu.Lock()
		p := w.processes[place]
		w.mu.Unlock()
		if w.dice.chance(me, 80) {
			d := &doom{place: places[w.dice.intN(me, len(places))]}
			d.left.Store(int64(1 + w.dice.intN(me, 2)))
			p.doom.Store(d)
			for range 12 {
				if w.dice.wait(me, every/12); p.dead.Load() {
					break
				}
			}
			p.kill("between")
		}
		w.end(place)
		w.dice.wait(me, away)
		w.start(place)
	}
}
