package derive

import (
	"iter"
	"slices"

	"agentstore/corpus"
)

// FreshLimit is the most rows of a fresh set.
const FreshLimit = 2000

// Figures is all that is derived from the rows of one round alone.
type Figures struct {
	Week    Week
	Wallets Wallets
	Market  Market
	Sharing Sharing
	Fresh   []Fresh // ready hosts with their terms, sorted, at most FreshLimit; FreshReady says of how many
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

// Survey reads the rows of a round once and derives everything from them. Memory grows by 16 bytes with each address
// that a row names, and does not follow the rows otherwise.
func Survey(base string, r corpus.Round, rows iter.Seq2[corpus.StoredRow, error]) (Figures, error) {
	out := Figures{Week: newWeek(r), Fresh: []Fresh{}}
	w, m := newWallets(r), newMarket(r)
	for row, err := range rows {
		if err != nil {
			return Figures{}, err
		}
		out.Week.add(r, &row.Row)
		w.add(&row.Row)
		m.add(&row.Row)
		if row.Verdict != corpus.VerdictReady {
			continue
		}
		if out.FreshReady++; len(out.Fresh) < FreshLimit {
			f := Fresh{Host: row.Host, URL: row.URL, HistoryURL: base + HostPath(row.Host), Rails: []string{}, Schemes: []string{}}
			if row.Offer != nil {
				f.Rails, f.Schemes, f.MinUSDC = row.Offer.Networks, row.Offer.Schemes, row.Offer.MinUSDC
			}
			out.Fresh = append(out.Fresh, f)
		}
	}
	var named []int64
	out.Wallets, out.Sharing, named = w.done()
	out.Market = m.done(out.Wallets.Addresses, named)
	return out, nil
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
