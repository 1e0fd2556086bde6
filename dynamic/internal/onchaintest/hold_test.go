package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
)

const secret = "/api/buy/a_secret"

// Terms, signed offers, match and verification agree on how long a payment for a counted good may
// be valid.
func TestCountedGoodsAskForTwoMinutes(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	held := railtest.HostileNamed("holds stock").Holds.Seconds()
	for path, want := range map[string]float64{
		secret: held, "/api/buy/the_drawer": held, "/api/buy/jar_of_tuesday": held, "/api/buy/retired_word": held,
		"/api/buy/hello": 300, "/api/buy/pet_rock": 300,
	} {
		r := s.do("GET", path, nil)
		made := time.Now().Unix()
		for i, a := range r.Body["accepts"].([]any) {
			if got := a.(map[string]any)["maxTimeoutSeconds"]; got != want {
				t.Errorf("%s asks for %v s in accepts[%d], want %v", path, got, i, want)
			}
		}
		for i, o := range r.Body["offers"].([]any) {
			jws := strings.Split(o.(map[string]any)["signature"].(string), ".")
			raw, err := base64.RawURLEncoding.DecodeString(jws[1])
			if err != nil {
				t.Fatal(err)
			}
			var offer struct{ ValidUntil int64 }
			if err := json.Unmarshal(raw, &offer); err != nil {
				t.Fatal(err)
			}
			if left := offer.ValidUntil - made; left > 60+int64(want) || left < int64(want)-1 {
				t.Errorf("%s: offer %d stands for %d s, want a minute and %v s at most", path, i, left, want)
			}
		}
	}
	ch := s.challenge(secret)
	long := s.sign(ch, 0, s.net.Buyers[0], tenMinutes)
	r := s.present(secret, long)
	s.want("a payment for a secret that is valid for ten minutes", r, 402, "payment_invalid")
	if got := r.Str("reason"); !strings.HasSuffix(got, "valid_before") {
		t.Errorf("it is refused for %s", got)
	}
	set := s.sign(ch, 0, s.net.Buyers[0], nil)
	set.wire["accepted"] = func() map[string]any {
		a := map[string]any{}
		maps.Copy(a, set.wire["accepted"].(map[string]any))
		a["maxTimeoutSeconds"] = 300
		return a
	}()
	s.want("a payment that accepts other terms", s.present(secret, set), 402, "payment_invalid")
	bought, _ := s.buy(secret, s.net.Buyers[0], nil)
	s.want("a payment within the two minutes", bought, 200, "")
}

// On a chain: the first settlement that reverts, because the wallet was emptied meanwhile or by its
// code, gives the unit back at once, and costs what is stated.
func TestHoldEndsAtTheFirstRevert(t *testing.T) {
	t.Parallel()
	for _, row := range railtest.Hostile {
		if row.Holds == 0 {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			code := hostileCode[row.Name].code
			s := newShop(t, shopOptions{manual: true, site: tilltest.Scarce(t, map[string]int{"secrets": 1}),
				chain: chaintest.Options{Code: [][]byte{code}}})
			hog := s.net.Buyers[0]
			p := s.sign(s.challenge(secret), 0, hog, nil)
			if code != nil {
				p = s.signAs(s.challenge(secret), 0, hog, s.net.Coded[0].Address, nil)
			}
			wait := s.pending(secret, p)
			r := s.do("GET", secret, nil)
			s.want("the last secret while it is held", r, 409, "sold_out")
			if r.Str("held_until") == "" {
				t.Errorf("what is held is told as %s", r.Raw)
			}
			if code == nil {
				all := s.net.SignTransfer(hog, s.net.Buyers[1].Address, s.net.Balance(hog.Address))
				s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, all.Call()))
			}
			s.net.MustSeal()
			until(t, "the secret to come back", func() bool { return s.do("GET", secret, nil).Status == 402 })
			if r := wait()[0]; r.Status != 402 || r.Str("billed") != "no" {
				t.Errorf("the one who held it is answered %d %s", r.Status, r.Raw)
			}
			s.net.SetAutomine(true)
			sold, _ := s.buy(secret, s.net.Buyers[2], nil)
			s.want("another buyer of the last secret", sold, 200, "")
			n, gas := s.reverted()
			t.Logf("%d settlements reverted, %d gas", n, gas)
			if n != row.Reverts || gas > row.Measured {
				t.Errorf("%d settlements reverted and burnt %d gas, want %d and %d at most", n, gas, row.Reverts,
					row.Measured)
			}
		})
	}
}
