package templates

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// fullest is a host of whose rounds each has as much to show as a row may hold (the bounds of
// record.Row), and of which the record holds all else many times and at its longest. Texts consist
// of a character that HTML spells in a fifth of the bytes, or of plain ones.
func fullest(rounds int, character string) derive.Host {
	fill := func(n int) string { return strings.Repeat(character, n/len(character)) }
	host := strings.Repeat(strings.Repeat("a", 61)+".", 4) + "exam1"
	digest := attest.Digest(sha256.Sum256([]byte(host)))
	h := derive.Host{Format: derive.HostFormat, Host: host, Listing: "not_listed", RoundsInChain: int64(rounds),
		Rounds: int64(rounds), Signed: strings.Repeat("Nothing of this is signed. ", 8),
		FirstObserved: "2026-08-31T00:00:00Z", LastObserved: "2027-08-31T00:00:00Z", Cannot: derive.CannotSee(),
		Tier: derive.HostTier{Tier: tier.TierIndeterminate, Line: "indeterminate — 0 of 4, W31–W34",
			Rule: tier.TierRule(tier.TierIndeterminate), Fraction: derive.Fraction{Rounds: 4, FirstWeek: "2027-W31",
				LastWeek: "2027-W34"}, Latest: &tier.Latest{Verdict: record.VerdictUnreachable, Sequence: 123_456,
				ObservedAt: "2027-08-31T00:00:00Z"}}}
	monday := time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC)
	for i := range rounds {
		w := derive.HostWeek{Sequence: 123_456 + int64(i), Week: record.ISOWeek(monday.AddDate(0, 0, 7*i)),
			Digest: digest, RowSHA256: digest, Probed: tier.Probed, Verdict: record.VerdictNotReady,
			URL: "https://" + host + "/" + fill(2299)}
		for n := range 24 { // the names of checks and protocols are the store's own
			w.Failed = append(w.Failed, fmt.Sprintf("%02d-%s", n, strings.Repeat("check-", 4)))
		}
		for n := range 8 {
			w.Protocols = append(w.Protocols, fmt.Sprintf("%02d-%s", n, strings.Repeat("proto-", 2)))
		}
		if i%3 == 1 { // and some that were not walked
			w.Probed, w.Verdict, w.Failed, w.Protocols, w.Gap = tier.NotWalked, "", nil, nil, "instrument_degraded"
			h.Gaps = append(h.Gaps, tier.Count{Name: fmt.Sprintf("%02d_instrument_degraded", i), Count: 1})
		}
		if i%5 == 0 {
			w.Corrected = &record.Correction{Observation: 999_999, At: "2027-08-31T00:00:00Z",
				Signed: record.VerdictUnreachable, Now: w.Verdict, Reason: fill(498), Evidence: digest.String()}
		}
		h.Timeline = append(h.Timeline, w)
	}
	h.Payment = &derive.Payment{Week: "2027-W34", Sequence: 123_456, Captured: true, LeftOut: 1 << 53,
		Caveat: derive.SharedWalletCaveat}
	for range record.MaxPayTo {
		h.Payment.Addresses = append(h.Payment.Addresses, derive.Paid{Others: 99_999,
			Network: "abcdefgh:" + strings.Repeat("x", 32), Digest: digest.String()})
	}
	h.Citation = derive.Citation{
		Cites: "One row of a signed weekly census: what the store saw of " + host + " in 2027-W34.", Host: host,
		Week: "2027-W34", Sequence: 123_456, ObservedAt: "2027-08-31T00:00:00Z", Digest: digest,
		RowSHA256: digest, Leaf: 1 << 53, Rows: "https://store.example/corpus/123456.json",
		Index: "https://store.example/corpus.json", License: derive.License,
		How: strings.Repeat("It is checked. ", 16), Row: fill(record.MaxRow),
		Inclusion: strings.Repeat("proof of twenty characters and more\n", 40)}
	for i := range 300 {
		at := monday.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		h.PaidWalks = append(h.PaidWalks, derive.Walked{Observation: int64(i), At: at,
			Network: "abcdefgh:" + strings.Repeat("x", 32), USDC: strings.Repeat("9", 80),
			Transaction: strings.Repeat("f", 128),
			Claim:       &record.WalkClaim{Status: 200, Bytes: 1 << 53, LatencyMS: 1 << 53}})
		h.Refreshes = append(h.Refreshes, derive.Refreshed{Observation: int64(i), At: at,
			Verdict: record.VerdictNotReady, Failed: h.Timeline[0].Failed})
	}
	h.Declaration = derive.Declared{Value: "declared", Observation: 1, At: "2027-08-31T00:00:00Z", Shape: fill(40),
		Foreign: 1}
	for range record.MaxDoors {
		h.Declaration.Doors = append(h.Declaration.Doors, "https://"+host+"/"+fill(600))
	}
	held := derive.NoteHeld{Observation: 1, Statement: strings.Repeat(character, record.MaxStatement), Lane: "wallet",
		By: digest.String(), At: "2027-08-31T00:00:00Z"}
	h.Note = &held
	for range derive.MaxEarlier {
		h.Earlier = append(h.Earlier, held)
	}
	return h
}

// shopChrome is a header and a footer that are longer than those of the specimen.
func shopChrome(t testing.TB) *Chrome {
	t.Helper()
	v := Chrome{Title: "The General Store of Somewhere", Tagline: "Small goods",
		BaseURL: "https://general.store.example", Keeper: "Hanne Pellworth",
		Contact: "https://general.store.example/contact", PublicKey: strings.Repeat("ab", 32),
		KID: strings.Repeat("k", 43), Specimen: true, Date: time.Date(2027, 9, 1, 0, 0, 0, 0, time.UTC)}
	for word := range strings.FieldsSeq("shop shelves record instruments verify docs search about news") {
		v.Nav = append(v.Nav, Link{Text: word, Href: "/" + word})
	}
	c, err := NewChrome(v)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheFullestPagesAreBounded: whatever strangers and ten years put on the record of a host, its
// page is no larger than MostPage, has each round of the table and says what it left out, and so
// does its twin. The JSON has all of it.
func TestTheFullestPagesAreBounded(t *testing.T) {
	c := shopChrome(t)
	for _, character := range []string{"x", `"`, "é"} {
		for _, rounds := range []int{1, 12, 52, 520} {
			h := fullest(rounds, character)
			v, err := NewHostView(c, h)
			if err != nil {
				t.Fatal(err)
			}
			page, err := RenderHost(v)
			if err != nil {
				t.Fatal(err)
			}
			twin, err := RenderHostMarkdown(v)
			if err != nil {
				t.Fatal(err)
			}
			if PageSize(page) > MostPage {
				t.Errorf("%d rounds of %q: %d bytes, more than %d", rounds, character, PageSize(page), MostPage)
			}
			for form, text := range map[string]string{"the page": string(page), "the twin": string(twin)} {
				for _, w := range h.Timeline[max(0, rounds-derive.TimelineWeeks/2):] {
					if !strings.Contains(text, derive.RoundPath(w.Sequence)) {
						t.Errorf("%d rounds of %q: %s does not lead to %s", rounds, character, form, w.Week)
					}
				}
				for _, says := range []string{"298 more in the JSON", " more in the JSON)", "Further addresses",
					"and stands in the JSON", "Notes that stood before", "and 23 more"} {
					if !strings.Contains(text, says) {
						t.Errorf("%d rounds of %q: %s does not say %q", rounds, character, form, says)
					}
				}
			}
			if rounds == 520 && (!strings.Contains(string(page), "<dt>2035</dt>") || v.Left.Rounds == 0) {
				t.Errorf("%d rounds: %d are left out of %s", rounds, v.Left.Rounds, page)
			}
			if n := strings.Count(string(HostJSON(v)), `"protocols"`); n < rounds*2/3 {
				t.Errorf("%d rounds of %q: the JSON has %d", rounds, character, n)
			}
		}
	}
}
