package solana_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// observed is a cluster on which arrivals are counted.
type observed interface {
	pay(amount int64) pay
	land(wire []byte)
	Pass(d time.Duration)
}

// observe counts at a node, which is asked again at once where it answers otherwise.
func observe(t *testing.T, url string, from, to time.Time, change func(*solana.Config), who ...string) (rail.Arrivals,
	error) {
	t.Helper()
	cfg, _ := solana.Preset(networks.Solana)
	cfg.RPC, cfg.Poll = []string{url}, time.Nanosecond
	if change != nil {
		change(&cfg)
	}
	o, err := solana.NewObserver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	return o.Arrivals(t.Context(), who, from, to)
}

func said(a rail.Arrivals, err error) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%d to %d: %s", a.Transfers, a.Addresses, a.Total)
	if a.LeftOut > 0 {
		text += fmt.Sprintf(", without %d", a.LeftOut)
	}
	return text
}

// countsArrivals is what every cluster is held to.
func countsArrivals(t *testing.T, c observed, url string) {
	to := person("payto").PublicKey().String()
	from := time.Now().Add(-time.Second)
	for _, amount := range []int64{5, 70} {
		c.land(c.pay(amount).wire(t))
	}
	other := c.pay(600)
	other.buyer, other.to = person("buyer-1"), person("buyer-0").PublicKey()
	c.land(other.wire(t))
	first := time.Now().Add(30 * time.Second) // the clocks are ahead by what blocks were made for
	local := func(c *solana.Config) { c.AnyGenesis = true }
	if got := said(observe(t, url, from, first, local, to)); got != "0 to 0: 0" {
		t.Errorf("nothing is final: %s", got)
	}
	c.Pass(time.Minute) // past finality, and past the span
	second := first.Add(30 * time.Minute)
	c.land(c.pay(8000).wire(t))
	c.Pass(time.Hour)
	for name, q := range map[string]struct {
		from, to time.Time
		who      []string
		want     string
	}{
		"the span":           {from, first, []string{to}, "2 to 1: 75"},
		"all of it":          {from, second, []string{to}, "3 to 1: 8075"},
		"after it":           {first, second, []string{to}, "1 to 1: 8000"},
		"two addresses":      {from, second, []string{person("buyer-0").PublicKey().String(), to, to}, "4 to 2: 8675"},
		"nobody":             {from, second, nil, "0 to 0: 0"},
		"who has no account": {from, second, []string{person("nobody").PublicKey().String()}, "0 to 0: 0"},
		"spellings that are not": {from, second,
			[]string{"x", "", strings.ToLower(to), "1" + to, strings.Repeat("1", 32)}, "0 to 0: 0"},
	} {
		if got := said(observe(t, url, q.from, q.to, nil, q.who...)); got != q.want {
			t.Errorf("%s: %s, want %s", name, got, q.want)
		}
	}
	if got := said(observe(t, url, from, time.Now().Add(24*time.Hour), nil, to)); !strings.Contains(got,
		"before the end of the span") {
		t.Errorf("a span that is not over: %s", got)
	}
	elsewhere := func(c *solana.Config) { c.Network = networks.SolanaDevnet }
	if got := said(observe(t, url, from, second, elsewhere, to)); !strings.Contains(got, "is of the cluster") {
		t.Errorf("another cluster: %s", got)
	}
}

func TestArrivals(t *testing.T) {
	h := open(t)
	countsArrivals(t, h, h.srv.URL)
}

func TestArrivalsOnTheDevnetsCluster(t *testing.T) {
	m := openMachine(t, svm.Start(t))
	countsArrivals(t, m, m.URL)
}

// A node whose answers contradict each other is told, and what is counted is right or nothing.
func TestArrivalsOfALyingNode(t *testing.T) {
	h := open(t)
	to, from := person("payto").PublicKey().String(), time.Now().Add(-time.Second)
	early := h.pay(3)
	early.memo = "before the span"
	h.land(early.wire(t))
	h.Pass(time.Minute)
	from = from.Add(30 * time.Second)
	for _, amount := range []int64{5, 70, 600} {
		h.land(h.pay(amount).wire(t))
	}
	h.deposit(ata(t, person("payto").PublicKey(), otherUSD), 9) // another token of the same owner
	poor := h.pay(9)
	poor.buyer = person("poor") // lands with an error
	h.land(poor.wire(t))
	until := from.Add(time.Minute)
	h.Pass(time.Hour)
	const all, list, one = "3 to 1: 675", "getSignaturesForAddress", "getTransaction"
	set := func(name string, value any) func(any) any {
		return func(v any) any {
			v.(map[string]any)[name] = value
			return v
		}
	}
	setEach := func(name string, value any) func(any) any {
		return func(v any) any {
			for _, e := range v.([]any) {
				e.(map[string]any)[name] = value
			}
			return v
		}
	}
	for name, c := range map[string]struct {
		method string
		lie    func(any) any
		want   string // part of it
	}{
		"honest":                  {"", nil, all},
		"a transaction is gone":   {one, func(any) any { return nil }, "does not know it"},
		"an unknown version":      {one, func(any) any { return &fault{-32015, "version"} }, "0 to 0: 0"},
		"of another slot":         {one, set("slot", 7), "one chain"},
		"of another time":         {one, set("blockTime", 7), "one chain"},
		"without a time":          {one, set("blockTime", nil), "one chain"},
		"of another signature":    {one, anotherTransaction(), "one chain"},
		"failed, says one alone":  {list, setEach("err", "x"), "one chain"},
		"succeeded, says one":     {list, setEach("err", nil), "one chain"},
		"before the span, says":   {list, setEach("blockTime", 7), "one chain"},
		"listed without a time":   {list, setEach("blockTime", nil), "without its time"},
		"listed and not final":    {list, setEach("confirmationStatus", "confirmed"), "not final"},
		"from old to new":         {list, func(v any) any { slices.Reverse(v.([]any)); return v }, "order"},
		"more than was asked for": {list, func(v any) any { return slices.Repeat(v.([]any), 400) }, "than it was"},
		"not a list":              {list, func(any) any { return "x" }, "unexpected form"},
		"a short ledger": {"getFirstAvailableBlock", func(any) any { return h.blocks[h.finalHeight()].slot },
			"after the beginning"},
		"an old clock": {"getMultipleAccounts", func(any) any { return value(5, []any{nil}) }, "clock"},
	} {
		if h.honest(); c.lie != nil {
			h.lying(c.method, c.lie)
		}
		if got := said(observe(t, h.srv.URL, from, until, nil, to)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}

	// Pages may be shorter than was asked for: the end is an empty one.
	h.mu.Lock()
	h.lie = func(m string, _ []json.RawMessage, honest any) (any, *fault) {
		if list, is := honest.([]any); is && m == "getSignaturesForAddress" && len(list) > 1 {
			return list[:1], nil
		}
		return honest, nil
	}
	h.mu.Unlock()
	if got := said(observe(t, h.srv.URL, from, until, nil, to)); got != all {
		t.Errorf("pages of one: %s, want %s", got, all)
	}
	if got := said(observe(t, h.srv.URL, time.Unix(0, 0), until, func(c *solana.Config) { c.AnyGenesis = true },
		to)); got != "4 to 1: 678" {
		t.Errorf("pages of one to the end: %s", got)
	}

	h.lying("getSignaturesForAddress", repeated())
	if got := said(observe(t, h.srv.URL, time.Unix(0, 0), until, func(c *solana.Config) { c.AnyGenesis = true },
		to)); !strings.Contains(got, "twice") {
		t.Errorf("the same page for ever: %s", got)
	}

	// What fails once or twice is asked again.
	failed := 0
	h.mu.Lock()
	h.lie = func(m string, _ []json.RawMessage, honest any) (any, *fault) {
		if failed++; failed%5 == 0 {
			return nil, &fault{-32005, "Node is behind"}
		}
		return honest, nil
	}
	h.mu.Unlock()
	if got := said(observe(t, h.srv.URL, from, until, nil, to)); got != all {
		t.Errorf("a node that is behind now and then: %s, want %s", got, all)
	}
}

// Whoever floods addresses ends the count of these alone, which is told, and of nobody's who was
// written to less. What is left out is not read.
func TestArrivalsOfFloodedAddresses(t *testing.T) {
	h := open(t)
	to, from := person("payto").PublicKey(), time.Now().Add(-time.Second)
	for range 12 {
		h.land(h.pay(5).wire(t))
	}
	until := from.Add(time.Minute)
	h.Pass(time.Hour)
	floods := map[string]int{}
	h.mu.Lock()
	slot := h.blocks[h.finalHeight()].slot
	h.lie = func(m string, params []json.RawMessage, honest any) (any, *fault) {
		var account string
		if m != "getSignaturesForAddress" || json.Unmarshal(params[0], &account) != nil || floods[account] == 0 {
			return honest, nil
		}
		o, first, page := options(params, 1), 0, []any{}
		if o.Before != "" {
			fmt.Sscanf(o.Before, "flood-%d", &first)
			first++
		}
		for i := first; i < floods[account] && len(page) < o.Limit; i++ {
			page = append(page, map[string]any{"signature": fmt.Sprintf("flood-%d", i), "slot": slot, "err": nil,
				"blockTime": from.Unix() + 1, "confirmationStatus": "finalized"})
		}
		return page, nil
	}
	h.mu.Unlock()
	for _, q := range []struct {
		floods []int
		want   string
	}{
		{nil, "12 to 1: 60"},
		{[]int{20_001}, "12 to 1: 60, without 1"},
		{[]int{1 << 30}, "12 to 1: 60, without 1"},
		{[]int{20_000}, "12 to 1: 60, without 1"}, // which could be read alone, but not with the other
		{[]int{19_990, 19_990, 19_990}, "12 to 1: 60, without 3"},
	} {
		clear(floods)
		who := []string{to.String()}
		for i, n := range q.floods {
			p := person(fmt.Sprint("flooded ", i)).PublicKey()
			who = append(who, p.String())
			floods[ata(t, p, usdc).String()] = n
		}
		if got := said(observe(t, h.srv.URL, from, until, nil, who...)); got != q.want {
			t.Errorf("floods of %d: %s, want %s", q.floods, got, q.want)
		}
	}
}

// anotherTransaction gives every question about a transaction the answer to the first.
func anotherTransaction() func(any) any {
	var first any
	return func(v any) any {
		if first == nil {
			first = v
			return nil
		}
		return first
	}
}

// repeated gives the first page for every other.
func repeated() func(any) any {
	var first any
	return func(v any) any {
		if first == nil {
			first = v
		}
		return first
	}
}
