package keeper

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// Quotes counts the terms that were asked for, by good: what purchases are held against. A 402
// writes nothing; what was counted is added to the ledger once a minute, one entry a good and week:
//
//	budget/quoted/<week>/<offer>   how many, in decimal, of all processes
type Quotes struct {
	db ledger.DB

	mu    sync.Mutex
	count map[string]int64 // by offer, not in the ledger yet; guarded by mu
}

// NewQuotes counts into a ledger.
func NewQuotes(db ledger.DB) *Quotes { return &Quotes{db: db, count: map[string]int64{}} }

const nameQuoted = "quoted"

// Add counts one. Offers are named by the shelf, so there are only so many.
func (q *Quotes) Add(offer string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count[offer]++
}

// Run writes down what is counted until ctx ends, and then what is left.
func (q *Quotes) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return q.Flush(context.WithoutCancel(ctx))
		}
		_ = q.Flush(ctx) // what could not be written stays counted
	}
}

// Flush writes down what is counted.
func (q *Quotes) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q.mu.Lock()
	add := maps.Clone(q.count)
	clear(q.count)
	q.mu.Unlock()
	if len(add) == 0 {
		return nil
	}
	err := q.db.Update(ctx, func(tx ledger.Tx) error {
		for offer, n := range add {
			key := ledger.BudgetKey(nameQuoted, goods.ISOWeek(tx.Now()), offer)
			have, _, err := ledger.FindJSON[int64](tx, key)
			if err != nil {
				return err
			}
			if err := ledger.SetJSON(tx, key, have+n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ledger.ErrUnknown) { // then it may be counted: rather too few than too many
		q.mu.Lock()
		defer q.mu.Unlock()
		for offer, n := range add {
			q.count[offer] += n
		}
	}
	return err
}

// Sold is what was sold of something.
type Sold struct {
	Name      string `json:"name" doc:"What was sold, or where, or by what."`
	Purchases int    `json:"purchases" doc:"Purchases."`
	Atomic    int64  `json:"atomic"` // tips with it
	USDC      string `json:"usdc" doc:"What they brought, tips with it."`
	Tips      int64  `json:"tips_atomic,omitzero"`
	Quoted    int64  `json:"quoted,omitzero" doc:"How often its terms were asked for."`
}

// Sales is what was sold in the newest weeks.
type Sales struct {
	At        time.Time    `json:"at"`
	Weeks     []WeekOfSale `json:"weeks"` // oldest first, without holes
	Goods     []Sold       `json:"goods"` // most money first; all weeks
	Networks  []Sold       `json:"networks"`
	Protocols []Sold       `json:"protocols"`
	Total     Sold         `json:"total"`
}

// WeekOfSale is one ISO week.
type WeekOfSale struct {
	Week string `json:"week"`
	Sold
	Goods []Sold `json:"goods"`
}

// sold reports a purchase that brought money for something: not one whose money is owed, and one by
// voucher only when it was delivered.
func sold(p *till.Purchase) bool {
	return p.State == till.Delivered || p.State == till.Promised ||
		p.State == till.Settled && p.Spent == nil && (p.Held == nil || p.Proof != nil)
}

// Sales counts the newest weeks, the present one among them, from the ledger. It reads every
// purchase once.
func (d *Inbox) Sales(ctx context.Context, weeks int) (Sales, error) {
	s := Sales{}
	var of [4]map[string]*Sold // goods, networks, protocols, week and good
	err := d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		s = Sales{At: tx.Now().UTC().Truncate(time.Second)}
		of = [4]map[string]*Sold{{}, {}, {}, {}}
		first := map[string]int{}
		for i := range weeks {
			week := goods.ISOWeek(s.At.AddDate(0, 0, -7*(weeks-1-i)))
			first[week] = i
			s.Weeks = append(s.Weeks, WeekOfSale{Week: week, Name: week})
		}
		add := func(m map[string]*Sold, name string, p *till.Purchase) {
			if m[name] == nil {
				m[name] = &Sold{Name: name}
			}
			m[name].add(p)
		}
		for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
			if err != nil {
				return err
			}
			if !sold(&p) || p.SettledAt().IsZero() {
				continue
			}
			i, shown := first[goods.ISOWeek(p.SettledAt())]
			if !shown {
				continue
			}
			s.Weeks[i].add(&p)
			s.Total.add(&p)
			add(of[0], p.Item, &p)
			add(of[1], p.Payment.Network, &p)
			add(of[2], cmp.Or(p.Protocol, "unknown"), &p)
			add(of[3], s.Weeks[i].Week+"\x00"+p.Item, &p)
		}
		return s.quoted(tx, first, of[0], of[3])
	})
	s.Goods, s.Networks, s.Protocols = ranked(of[0]), ranked(of[1]), ranked(of[2])
	for _, x := range ranked(of[3]) {
		week, item, _ := strings.Cut(x.Name, "\x00")
		i := slices.IndexFunc(s.Weeks, func(w WeekOfSale) bool { return w.Week == week })
		x.Name = item
		s.Weeks[i].Goods = append(s.Weeks[i].Goods, x)
	}
	for i := range s.Weeks {
		s.Weeks[i].USDC = content.FormatUSDC(s.Weeks[i].Atomic)
	}
	s.Total.Name, s.Total.USDC = "all", content.FormatUSDC(s.Total.Atomic)
	return s, err
}

// quoted adds how often terms were asked for.
func (s *Sales) quoted(tx ledger.Tx, weeks map[string]int, items, byWeek map[string]*Sold) error {
	for week, i := range weeks {
		for e, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey(nameQuoted, week))) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			n, err := ledger.DecodeJSON[int64](e)
			if err != nil {
				return err
			}
			item := parts[len(parts)-1]
			for _, x := range []struct {
				m    map[string]*Sold
				name string
			}{{items, item}, {byWeek, week + "\x00" + item}} {
				if x.m[x.name] == nil {
					x.m[x.name] = &Sold{Name: x.name}
				}
				x.m[x.name].Quoted += n
			}
			s.Weeks[i].Quoted += n
			s.Total.Quoted += n
		}
	}
	return nil
}

func (s *Sold) add(p *till.Purchase) {
	s.Purchases++
	s.Atomic += p.Amount
	s.Tips += p.Tip
}

// ranked are totals, most money first.
func ranked(m map[string]*Sold) (list []Sold) {
	for _, s := range m {
		s.USDC = content.FormatUSDC(s.Atomic)
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Sold) int {
		return cmp.Or(cmp.Compare(b.Atomic, a.Atomic), cmp.Compare(b.Quoted, a.Quoted), cmp.Compare(a.Name, b.Name))
	})
	return list
}
