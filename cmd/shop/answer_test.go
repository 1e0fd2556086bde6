package shop

import (
	"errors"
	"flag"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/keeper"
)

// People read sentences and short tables, in which nothing that a stranger wrote moves the cursor;
// programs read a line of JSON each; and an error in a list stands behind what was read.
func TestAnswersForPeople(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 11, 12, 0, time.UTC)
	order := KeeperOrder{OrderID: "order_a", ItemID: "a\x1bb", DueAt: at, HoursLeft: -0.125, PaidUSDC: "3",
		Asked: "Shall I?\n\x1b[2J\tYes.", AgentName: strings.Repeat("long ", 20)}
	seq := iter.Seq2[KeeperPost, error](func(yield func(KeeperPost, error) bool) {
		_ = yield(KeeperPost{ID: "let_a", At: "2026-11-22T10:11:12Z"}, nil) && yield(KeeperPost{}, errors.New("cut"))
	})
	for name, c := range map[string]struct {
		answer      any
		people, raw string
		err         bool
	}{
		"a table": {[]KeeperOrder{order, {OrderID: "order_bcd", ItemID: "x", PaidUSDC: "0.1"}},
			"order_a    a\\x1bb   2026-11-22 10:11  -0.13       LONG  3\n" +
				"    Shall I?\n    \\x1b[2J\\tYes.\norder_bcd  x  ", `{"order_id":"order_bcd"`, false},
		"one":      {KeeperAccount{Account: "a", Provisioned: true}, "provisioned        yes\n", `"provisioned":true`, false},
		"none":     {[]KeeperOrder{}, "Nothing.\n", "", false},
		"no more":  {seq, "id     at\nlet_a  2026-11-22 10:11\n", `{"id":"let_a"`, true},
		"no debt":  {(*KeeperDebt)(nil), "Nothing.\n", "", false},
		"as it is": {asIs((keeper.Books{}).CSV), "network,time,block", "network,time,block", false},
		"quiet": {keeper.Today{Waiting: []keeper.Waiting{{Title: "Orders"}}, Last: []keeper.Past{{What: "sale", At: at},
			{What: "census", At: at}}}, "All quiet. Last sale 2026-11-22 10:11, census 2026-11-22 10:11.\n",
			`"title":"Orders"`, false},
		"busy": {keeper.Today{Waiting: []keeper.Waiting{{Title: "Notes"}, {Title: "Gas", Count: 1, Late: 1,
			Entries: []keeper.Entry{{ID: "base", Says: "Fund it.", Late: true}}, Error: "away\a",
			Actions: []keeper.Action{{Verb: "store keeper x"}}}}},
			"Gas: 1 (1 past their time)\ncould not be read: away\\a\n" +
				"id    late\nbase  yes\n    Fund it.\n→ store keeper x\n", "Notes", false},
		"sales": {keeper.Sales{Weeks: []keeper.WeekOfSale{{Week: "w1"}, {Week: "w2", Name: "w2",
			Purchases: 1, USDC: "2"}}}, "By week\nname  purchases  usdc\nw2    1          2\n", `"week":"w1"`, false},
		"what was found": {keeper.Found{Purchases: []keeper.Bought{{PurchaseID: "pur_a"}}, More: true},
			"There are older ones.\n", `"more":true`, false},
		"unread": {keeper.Books{Month: "2026-11", Networks: []keeper.NetworkBooks{{Network: "base", Error: "away"}}},
			"not every chain could be read.\n\nbase\nThe chain cannot be read: away\n", `"error":"away"`, false},
		"open already": {reopened{}, "The store is open on every network.\n", "", false},
		"books": {keeper.Books{Month: "2026-11", Differences: 1, Lines: []keeper.Line{{PurchaseID: "pur_a",
			Kinds: []keeper.Kind{"tip"}, Says: []string{"Too much."}}, {PurchaseID: "pur_b"}}},
			"pur_a        0             0              0\n    Too much.\n\nAmounts", `"month":"2026-11"`, false},
	} {
		for asJSON, want := range map[bool]string{false: c.people, true: c.raw} {
			var out strings.Builder
			err := writeAnswer(&out, c.answer, asJSON)
			want = strings.ReplaceAll(want, "LONG", strings.Repeat("long ", 12)[:59]+"…")
			if got := out.String(); (err != nil) != c.err || !strings.Contains(got, want) || want == "" && got != "" ||
				strings.Contains(got, "w1 ") || !asJSON && strings.ContainsAny(got, "\x1b\a\t") {
				t.Errorf("%s, JSON %v: %v\n%s\nwant\n%s", name, asJSON, err, got, want)
			}
		}
	}
	for _, v := range Verbs() {
		var out strings.Builder
		v.Tells(&out)
		if n := len(out.String()); n == 0 && (v.Name != "today" && v.Name != "find" && v.Name != "sales" &&
			v.Name != "reconcile" && v.Name != "note" && v.Name != "statement" && v.Name != "token") {
			t.Errorf("%s tells nothing of its answer", v.Name)
		}
	}
}

// What the desk and today tell the keeper to type is a verb with flags that it has.
func TestWhatIsToldToTypeIsThere(t *testing.T) {
	s := &Shop{}
	for _, row := range slices.Concat(keeper.Rows, s.visitorRows(), s.launchRows(),
		[]keeper.Row{s.bountyRow(), s.callbackRow()}) {
		for _, a := range row.Actions {
			for told := range strings.SplitSeq(strings.TrimPrefix(a.Verb, "store keeper "), ", or ") {
				words := strings.Fields(told)
				v, ok := VerbNamed(words[0])
				flags := flag.NewFlagSet("", flag.ContinueOnError)
				if ok {
					v.Call().Declare(flags)
				}
				for _, word := range words[1:] {
					name, is := strings.CutPrefix(word, "-")
					ok = ok && (!is || flags.Lookup(name) != nil)
				}
				if !ok || (len(words) > 1) != (v.About() != "") {
					t.Errorf("%s: %q is no verb with its flags", row.Name, told)
				}
			}
		}
	}
}
