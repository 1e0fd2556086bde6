package derive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// The networks that the market's rails are told apart by, as CAIP-2 names them.
const (
	Base   = "eip155:8453"
	Solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
)

// Market is one point of the registry: what the doors of one round asked for. Every figure says of
// how many. Percentages are whole and rounded down.
type Market struct {
	Cited
	TakenAt      string       `json:"taken_at"`
	Probed       int64        `json:"probed"`
	Ready        int64        `json:"ready"`
	Rot          Rot          `json:"rot"`
	SignedOffers SignedOffers `json:"signed_offers"`
	Rails        Rails        `json:"rails"`
	Price        Price        `json:"price_usdc"`
	Schemes      tier.Counts  `json:"schemes"`
	Addresses    int64        `json:"distinct_addresses"`
	Top          Top          `json:"top5"`
}

// Rot counts doors that could not be reached.
type Rot struct {
	Dead    int64 `json:"dead_doors"`
	Of      int64 `json:"of_probed"`
	Percent int64 `json:"pct"`
}

// SignedOffers counts ready doors that signed what they offered.
type SignedOffers struct {
	Serving int64 `json:"serving"`
	Of      int64 `json:"of_ready"`
	Percent int64 `json:"pct"`
}

// Rails counts the offers of ready doors by the networks they take. TestnetFlagged counts probed
// doors whose offer named a test network.
type Rails struct {
	Both           int64 `json:"both"`
	BaseOnly       int64 `json:"base_only"`
	SolanaOnly     int64 `json:"solana_only"`
	Other          int64 `json:"other"`
	Of             int64 `json:"of"`
	TestnetFlagged int64 `json:"testnet_flagged"`
}

// Price is of the cheapest ask of each ready door, as decimal strings, absent for no sample.
type Price struct {
	Median string `json:"median,omitzero"`
	P25    string `json:"p25,omitzero"`
	P75    string `json:"p75,omitzero"`
	Sample int64  `json:"sample"`
}

// Top counts how often the five addresses that were named most were named, of all times that a door
// named an address.
type Top struct {
	Named   int64 `json:"named"`
	Of      int64 `json:"of"`
	Percent int64 `json:"pct"`
}

type market struct {
	m      Market
	prices map[int64]int64 // doors at each cheapest ask, in atomic units
}

func newMarket(r record.Round) *market {
	return &market{m: Market{Cited: cite(r), TakenAt: r.TakenAt, Schemes: tier.Counts{}}, prices: make(map[int64]int64)}
}

func (m *market) add(row *record.Row) {
	if !tier.Observed(row) {
		return
	}
	m.m.Probed++
	if slices.Contains(row.Failed, "network-mainnet") || slices.Contains(row.Advisories, "testnet-network") {
		m.m.Rails.TestnetFlagged++
	}
	switch {
	case row.Verdict == record.VerdictUnreachable:
		m.m.Rot.Dead++
		return
	case row.Verdict != record.VerdictReady:
		return
	}
	m.m.Ready++
	if !slices.Contains(row.Advisories, "no-signed-offers") {
		m.m.SignedOffers.Serving++
	}
	if row.Offer == nil {
		return
	}
	m.m.Rails.Of++
	base, solana := slices.Contains(row.Offer.Networks, Base), slices.Contains(row.Offer.Networks, Solana)
	switch {
	case base && solana:
		m.m.Rails.Both++
	case base:
		m.m.Rails.BaseOnly++
	case solana:
		m.m.Rails.SolanaOnly++
	default:
		m.m.Rails.Other++
	}
	for i, scheme := range row.Offer.Schemes {
		if !slices.Contains(row.Offer.Schemes[:i], scheme) {
			m.m.Schemes = m.m.Schemes.Add(scheme)
		}
	}
	if ask, err := atomic(row.Offer.MinUSDC); err == nil {
		m.prices[ask]++
		m.m.Price.Sample++
	}
}

func (m *market) done(addresses int64, named []int64) Market {
	out := m.m
	out.Rot.Of, out.SignedOffers.Of = out.Probed, out.Ready
	out.Rot.Percent, out.SignedOffers.Percent = percent(out.Rot.Dead, out.Rot.Of),
		percent(out.SignedOffers.Serving, out.SignedOffers.Of)
	out.Addresses = addresses
	for i, n := range named {
		if i < 5 {
			out.Top.Named += n
		}
		out.Top.Of += n
	}
	out.Top.Percent = percent(out.Top.Named, out.Top.Of)
	if n := out.Price.Sample; n > 0 {
		asks := slices.Sorted(maps.Keys(m.prices))
		// The nearest rank: the smallest ask that a share of the sample does not exceed.
		rank := func(share int64) string {
			want, seen := (n*share+99)/100, int64(0)
			for _, ask := range asks {
				if seen += m.prices[ask]; seen >= want {
					return usdc(ask)
				}
			}
			return ""
		}
		out.Price.P25, out.Price.Median, out.Price.P75 = rank(25), rank(50), rank(75)
	}
	return out
}

func percent(part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	return part * 100 / whole
}

// atomic reads a decimal amount of USDC, as rows spell it, in units of a millionth.
func atomic(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" || len(fraction) > 6 {
		return 0, fmt.Errorf("amount %q", s)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("amount %q: %w", s, err)
	}
	return n, nil
}

// usdc spells an amount in millionths as a decimal.
func usdc(n int64) string {
	s := fmt.Sprintf("%d.%06d", n/1_000_000, n%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
