package stockclient

import (
	"strings"
	"testing"
)

// TestWhatIsChosenBesideExact: without the scheme registered its entry is passed over; with it the
// order decides between exact and batch-settlement, escrow loses against every authorization, and a
// hold without that word wins by its place.
func TestWhatIsChosenBesideExact(t *testing.T) {
	open := strings.Replace(captureEntry, `"paymentFlow":"escrow",`, "", 1)
	for _, c := range []struct {
		name, client string
		entries      []string
		index        int
		stage        string // of an entry that was dropped, or that throws
	}{
		{"exact alone is known", "", []string{batchEntry, payable}, 1, StageScheme},
		{"vouchers first", "x402-js-batch/2.27.0", []string{batchEntry, payable}, 0, StageSelector},
		{"vouchers behind", "x402-js-batch/2.27.0", []string{payable, batchEntry}, 0, StageSelector},
		{"holds are not vouchers", "x402-js-batch/2.27.0", []string{captureEntry, payable}, 1, StageScheme},
		{"escrow first", "x402-js-capture/2.27.0", []string{captureEntry, payable}, 1, StagePrefer},
		{"escrow alone", "x402-js-capture/2.27.0", []string{captureEntry}, 0, ""},
		{"a hold that names no flow, first", "x402-js-capture/2.27.0", []string{open, payable}, 0, StageSelector},
		{"a hold that names no flow, behind", "x402-js-capture/2.27.0", []string{payable, open}, 0, StageSelector},
		{"nothing that is known", "", []string{batchEntry, captureEntry}, -1, StageScheme},
	} {
		a := judge(t, answered(`{"x402Version":2,"accepts":[`+strings.Join(c.entries, ",")+`]}`),
			Profile{Client: c.client})
		switch {
		case c.index < 0:
			if a.Outcome != WouldThrow || a.Stage != c.stage ||
				!strings.Contains(a.ThrowsWith, `"schemes":["exact","exact"]`) {
				t.Errorf("%s: %+v", c.name, a)
			}
		case a.Outcome != WouldSign || a.Chosen.Index != c.index:
			t.Errorf("%s: %+v", c.name, a)
		case c.stage == "" && len(a.Dropped) != 0,
			c.stage != "" && (len(a.Dropped) != 1 || a.Dropped[0].Stage != c.stage):
			t.Errorf("%s: dropped %+v", c.name, a.Dropped)
		case (a.Chosen.Stake == nil) != (a.Chosen.Scheme == schemeExact):
			t.Errorf("%s: by %s, with the stake %+v", c.name, a.Chosen.Scheme, a.Chosen.Stake)
		}
	}
}

// TestStakes: what is at risk is the deposit and not the price, or the price while it is held, with
// its ends and with those who may take it.
func TestStakes(t *testing.T) {
	twenty := 20.0
	for _, c := range []struct {
		name, entry, old, new string
		profile               Profile
		atomic, usd           string
		says                  []string
	}{
		{"the seller's deposit", batchEntry, "", "", Profile{}, "1000000", "1", []string{
			"a deposit of 1 USDC into one, which pays for 1000 calls",
			"a voucher for 0.001 USDC", "the payer's own way out takes 14 days",
			"payTo, as much as"}},
		{"no deposit is named", batchEntry, `"minDeposit":"1000000",`, "", Profile{}, "5000", "0.005",
			[]string{"pays for 5 calls"}},
		{"more than the client gives", batchEntry, `"1000000"`, `"90000000"`, Profile{}, "5000000", "5", nil},
		{"with a higher limit", batchEntry, `"1000000"`, `"90000000"`, Profile{MaxAmountPerPaymentUSD: &twenty},
			"90000000", "90", nil},
		{"without a limit", batchEntry, `"1000000"`, `"900000000"`, Profile{NoMax: true}, "900000000", "900", nil},
		{"a delay that is text", batchEntry, `1209600`, `"1209600"`, Profile{}, "1000000", "1",
			[]string{"takes 15 minutes"}},
		{"a delay of odd length", batchEntry, `1209600`, `901`, Profile{}, "1000000", "1",
			[]string{"takes 901 seconds"}},
		{"a hold", captureEntry, "", "", Profile{}, "250000", "0.25", []string{
			"a transfer of 0.25 USDC into the escrow 0xf968",
			"until 2026-12-06 07:24 UTC", "which ends at 2026-12-13 05:24 UTC",
			"captureAuthorizer 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 alone",
			"less a fee of at most 0.0025 USDC"}},
		{"a hold of another contract", captureEntry, EscrowV11, EscrowV10, Profile{}, "250000", "0.25",
			[]string{"into the escrow " + EscrowV10}},
	} {
		c.profile.Client = "x402-js-batch/2.27.0"
		if c.entry == captureEntry {
			c.profile.Client = "x402-js-capture/2.27.0"
		}
		entry := strings.Replace(c.entry, c.old, c.new, 1)
		a := judge(t, answered(`{"x402Version":2,"accepts":[`+entry+`]}`), c.profile)
		if a.Outcome != WouldSign || a.Chosen.Stake == nil {
			t.Errorf("%s: %+v", c.name, a)
			continue
		}
		s := *a.Chosen.Stake
		if s.Atomic != c.atomic || s.USD != c.usd {
			t.Errorf("%s: %s atomic units, %s dollars", c.name, s.Atomic, s.USD)
		}
		for _, want := range c.says {
			if !strings.Contains(s.Says(), want) {
				t.Errorf("%s: %q does not say %q", c.name, s.Says(), want)
			}
		}
		v, err := parse([]byte(entry))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Alone(0, v.(*object), judged)
		if err != nil || alone == nil || c.profile.MaxAmountPerPaymentUSD == nil && !c.profile.NoMax && *alone != s {
			t.Errorf("%s: alone %+v, %v; chosen %+v", c.name, alone, err, s)
		}
	}
	for _, entry := range []string{payable,
		strings.Replace(batchEntry, "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", 1)} {
		v, _ := parse([]byte(entry))
		if s, err := Alone(0, v.(*object), judged); s != nil || err != nil {
			t.Errorf("%s: %+v, %v", entry, s, err)
		}
	}
}
