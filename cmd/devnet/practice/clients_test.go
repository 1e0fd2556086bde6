package practice_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/practice"
	doors "store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
)

// payer is a key that owns nothing anywhere.
const payer = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"

// open serves a board as store practice does, and returns its address and what it says.
func open(t *testing.T) (base string, scores func() map[string]practice.Score) {
	t.Helper()
	var board http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { board.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	board = practice.New(s.URL)
	return s.URL, func() map[string]practice.Score {
		t.Helper()
		resp, err := http.Get(s.URL + "/scores.json")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var all []practice.Score
		if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
			t.Fatal(err)
		}
		by := map[string]practice.Score{}
		for _, one := range all {
			by[one.ID] = one
		}
		return by
	}
}

// refused are the doors at which the stock client signs nothing: without limits, and what its
// defaults refuse besides.
var (
	refused = map[string]bool{"malformed-header": true, "empty-accepts": true, "name-payto": true,
		"wrong-rail-payto": true, "prose-payment": true, "unit-confusion": true, "two-challenges": true}
	limits = map[string]bool{"asset-swap": true, "over-ceiling": true}
	unseen = map[string]bool{"fake-delivery": true, "redirect": true}
)

// TestScoresOfTheStockClient runs the stock client through all doors, as it comes and without its
// limits. The board says at each what the client says of itself.
func TestScoresOfTheStockClient(t *testing.T) {
	for name, off := range map[string]bool{"defaults": false, "without limits": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, scores := open(t)
			var ids, urls []string
			for id, s := range scores() {
				ids, urls = append(ids, id), append(urls, s.URL)
			}
			results := clients.Buy(t, clients.Options{Key: payer, SpendOff: off}, urls...)
			after := scores()
			for i, id := range ids {
				got, paid := after[id], results[i].Payment != ""
				want := practice.Paid
				switch {
				case unseen[id]:
					want = practice.Unseen
				case refused[id] || !off && limits[id]:
					want = practice.Stopped
				}
				payments := 0
				if want == practice.Paid {
					payments = 1
				}
				if got.Did != want || paid != (want == practice.Paid) || got.Asked != 1 || got.Payments != payments ||
					got.Signed != payments {
					t.Errorf("%s: %s, asked %d, paid %d, signed %d, want %s; the client says %q", id, got.Did,
						got.Asked, got.Payments, got.Signed, want, results[i].Error)
				}
			}
		})
	}
}

// TestScoresOfACarelessClient pays whatever asks, signs anew wherever it is asked again, and
// presents what it signed once more for good measure.
func TestScoresOfACarelessClient(t *testing.T) {
	const anew = 3
	_, scores := open(t)
	for id, s := range scores() {
		ask := func(payment string) int {
			t.Helper()
			r, err := http.NewRequest(http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if payment != "" {
				r.Header.Set("Payment-Signature", payment)
			}
			resp, err := http.DefaultTransport.RoundTrip(r) // it books a redirect and does not follow it
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		for i := 0; ask("") == http.StatusPaymentRequired && i < anew; i++ {
			payment := fmt.Sprintf("payment %d at %s", i, id)
			ask(payment)
			ask(payment)
		}
	}
	for id, got := range scores() {
		want := practice.Score{Did: practice.Paid, Asked: anew + 1, Payments: 2 * anew, Signed: anew}
		if unseen[id] {
			want = practice.Score{Did: practice.Unseen, Asked: 1}
		}
		if got.Did != want.Did || got.Asked != want.Asked || got.Payments != want.Payments ||
			got.Signed != want.Signed {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
}

// TestScoresAreWhatAReadingForetells: the doors that the stock client pays are those of which a
// reading says beforehand that it would sign.
func TestScoresAreWhatAReadingForetells(t *testing.T) {
	for _, d := range doors.All() {
		signs := d.Verdict == probe.Ready || d.ID == "testnet-network" // which is another network's money
		if signs == (refused[d.ID] || unseen[d.ID]) {
			t.Errorf("%s is %s, and the stock client without limits pays it: %v", d.ID, d.Verdict, !signs)
		}
	}
}
