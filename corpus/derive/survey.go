package derive

import (
	"slices"
	"strings"

	"store.example/agentstore/corpus/record"
)

// FreshLimit is the most rows of a fresh set.
const FreshLimit = 2000

// Figures is all that is derived from the rows of one round alone.
type Figures struct {
	Week    Week
	Wallets Wallets
	Market  Market
	Sharing Sharing
	// of the newest round: ready hosts with their terms, sorted, at most FreshLimit; FreshReady
	// says of how many
	Fresh []Fresh
	// FreshReady counts the ready hosts.
	FreshReady int64
}

// Fresh is a host that was ready in a round.
type Fresh struct {
	Host       string   `json:"host"`
	URL        string   `json:"url"`
	Rails      []string `json:"rails"`
	Schemes    []string `json:"schemes"`
	MinUSDC    string   `json:"min_usdc,omitzero"`
	HistoryURL string   `json:"history_url"`
}

// survey gathers the figures of a round.
type survey struct {
	newest  bool
	base    string
	round   *record.Round
	out     Figures
	wallets *wallets
	market  *market
}

func newSurvey(base string, r *record.Round, a *addresses) *survey {
	return &survey{base: base, round: r, out: Figures{Week: newWeek(*r), Fresh: []Fresh{}}, wallets: newWallets(*r, a),
		market: newMarket(*r)}
}

// add takes a row of the round. They must come in the order of their hosts.
func (s *survey) add(row *record.Row) {
	s.out.Week.add(s.round, row)
	s.wallets.add(row)
	s.market.add(row)
	if row.Verdict != record.VerdictReady {
		return
	}
	if s.out.FreshReady++; s.newest && len(s.out.Fresh) < FreshLimit {
		f := Fresh{Host: strings.Clone(row.Host), URL: strings.Clone(row.URL), HistoryURL: s.base + HostPath(row.Host),
			Rails: []string{}, Schemes: []string{}}
		if row.Offer != nil {
			f.Rails, f.Schemes, f.MinUSDC = cloned(row.Offer.Networks), cloned(row.Offer.Schemes),
				strings.Clone(row.Offer.MinUSDC)
		}
		s.out.Fresh = append(s.out.Fresh, f)
	}
}

// cloned is a copy that keeps nothing of a row.
func cloned(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.Clone(w)
	}
	return out
}

func (s *survey) done() Figures {
	var named []int64
	s.out.Wallets, s.out.Sharing, named = s.wallets.done()
	s.out.Week.Errors = s.out.Week.Errors.rated()
	s.out.Market = s.market.done(s.out.Wallets.Addresses, named)
	return s.out
}

// largest keeps the five largest numbers and the sum of the others behind them.
func largest(named []int64, n int64) []int64 {
	at, _ := slices.BinarySearchFunc(named[:min(5, len(named))], n, func(a, b int64) int { return int(b - a) })
	named = slices.Insert(named, at, n)
	if len(named) > 6 {
		named[5] += named[6]
		named = named[:6]
	}
	return named
}
