// Package corpustest writes a small signed record for tests of what is made from records: twelve
// weeks, a few hosts with a story each, and as many plain ones as a test wants.
package corpustest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// Weeks is how many weekly rounds there are.
const Weeks = 12

// Monday is the first moment of the first week, W36 of 2026.
var Monday = time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC)

// stories give a host one letter a week: R ready, N not ready, U unreachable, D unreachable through
// our own fault, - not probed, M ready with another address, P ready at another price, and a blank
// for no row at all. The last one goes on for ever.
var stories = []struct{ host, weeks, address string }{
	{"standing.example", "RRRRRRRRRRRR", "0x1"},
	{"api.weather.example", "RRRRRRRRRRRR", "0x2"},
	{"established.example", "RNRRRRUURRRR", "0x2"},
	{"broken.example", "RRRRRRRRRRRN", "0x3"},
	{"gone.example", "RRRRUUUUUUUU", "0x4"},
	{"returned.example", "RRR     -RRR", "0x5"},
	{"late.example", "          RR", "0x6"},
	{"missed.example", "RRRR-D-RRR-D", "0x7"},
	{"moved.example", "RRRRRRRMMMMM", "0x8"},
	{"dear.example", "RRRRPPPPPPPP", "0x9"},
	{"never-seen.example", "------------", "0xa"},
	{"vanished.example", "RRRR        ", "0xb"},
	{"xn--bcher-kva.example", "NNNNNNNNNNNN", "0xc"},
}

// Write writes the record with plain hosts besides those that have a story, and with one of each of
// the further names, which is ready in every round, and returns its folder. The fourth round before
// the last is capped.
func Write(t testing.TB, plain int, names ...string) fs.FS {
	t.Helper()
	w := &seal.Writer{
		Dir: t.TempDir(), Origin: "general.store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing(),
	}
	Append(t, w, plain, Weeks, names...)
	return os.DirFS(w.Dir)
}

// Append adds the rounds that are missing up to a number of weeks, and the observations born in
// them.
func Append(t testing.TB, w *seal.Writer, plain, weeks int, names ...string) {
	t.Helper()
	sealed := 0
	if r, err := record.Open(os.DirFS(w.Dir), w.Ring); err == nil {
		sealed = len(r.Rounds())
	}
	for i := sealed; i < weeks; i++ {
		at := Monday.AddDate(0, 0, 7*i+6)
		if _, err := w.Seal(t.Context(), draft(i, at, plain, names)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Observe(t.Context(), observations(i, at)...); err != nil {
			t.Fatal(err)
		}
	}
}

func draft(i int, at time.Time, plain int, names []string) seal.Draft {
	return seal.Draft{
		Sequence: int64(i + 1), Week: record.ISOWeek(at), TakenAt: at, Battery: "v2", Control: record.Control{Walks: 2},
		Roster: record.Roster{Listed: int64(len(stories) + plain + len(names)), Capped: i == Weeks-4,
			Sources: []record.RosterSource{
				{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: int64(len(stories) + plain + len(names)),
					Complete: true}}},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{
				{Network: "eip155:8453", Read: true, Transfers: int64(3 * i), Addresses: int64(i),
					USDC: fmt.Sprintf("%d.5", i)},
				{Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", USDC: "0", Reason: "no endpoint is configured"}}},
		Rows: rows(i, at, plain, names),
	}
}

func rows(week int, at time.Time, plain int, names []string) iter.Seq2[record.Row, error] {
	var all []record.Row
	for _, s := range stories {
		if c := s.weeks[min(week, Weeks-1)]; c != ' ' {
			all = append(all, row(s.host, s.address, c, at))
		}
	}
	for n := range plain {
		all = append(all, row(fmt.Sprintf("door-%05d.plain.example", n), fmt.Sprintf("0xf%d", n),
			"RRRRNRRU"[(n+week*n)%8], at))
	}
	for _, host := range names {
		all = append(all, row(host, "0x"+host, 'R', at))
	}
	slices.SortFunc(all, func(a, b record.Row) int { return strings.Compare(a.Host, b.Host) })
	return func(yield func(record.Row, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

const base, solana = "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"

func row(host, address string, c byte, at time.Time) record.Row {
	r := record.Row{
		Host: host, URL: "https://" + host + "/paid", Listed: true, Source: record.SourceDiscovery, Catalog: "bazaar",
		Battery: "v2", Failed: []string{}, Advisories: []string{}, Protocols: []string{}, Fault: record.FaultNone,
	}
	observed := func(verdict, level, fault string) {
		r.Verdict, r.ReachedLevel, r.Fault = verdict, level, fault
		r.ObservedAt = at.Add(-time.Duration(len(host)) * time.Minute).Format(time.RFC3339)
		r.EvidenceDigest = fmt.Sprintf("%x", sha256.Sum256([]byte(host+r.ObservedAt)))
		r.ProbeMethod = &record.ProbeMethod{Used: "GET", Attempted: []string{"GET"}}
	}
	price := "0.01"
	switch c {
	case 'N':
		observed(record.VerdictNotReady, "L1", record.FaultDoor)
		r.Failed = []string{"status-402"}
		return r
	case 'U':
		observed(record.VerdictUnreachable, "L0", record.FaultPath)
		r.ProbeMethod, r.Failed = nil, []string{"reachable"}
		return r
	case 'D':
		observed(record.VerdictUnreachable, "L0", record.FaultInstrument)
		r.ProbeMethod, r.Failed = nil, []string{"reachable"}
		return r
	case '-':
		r.Verdict, r.Reason = record.VerdictNotProbed, "interrupted"
		return r
	case 'M':
		address += "moved"
	case 'P':
		price = "0.25"
	}
	observed(record.VerdictReady, "L4", record.FaultNone)
	r.Protocols = []string{"x402"}
	r.Offer = &record.RowOffer{Networks: []string{base}, Schemes: []string{"exact"}, MinUSDC: price, MaxUSDC: "1",
		PayTo: []record.PayTo{{Network: base, Digest: exchange.PayToDigest(base, address)}}}
	if len(host)%3 == 0 {
		r.Offer.Networks = append(r.Offer.Networks, solana)
		r.Advisories = []string{"no-signed-offers"}
	}
	return r
}

func observations(week int, at time.Time) []record.Observation {
	when := at.Add(time.Hour).Format(time.RFC3339)
	digest := strings.Repeat("ab", sha256.Size)
	switch week {
	case 2:
		return []record.Observation{
			{At: when, Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: "standing.example",
				URL: "https://standing.example/paid", Network: base,
				Transaction: "0x" + digest, USDC: "0.01", Claim: &record.WalkClaim{Status: 200, BodySHA256: digest,
					Bytes: 812, LatencyMS: 340, ContentType: "application/json"}}},
			{At: when, Kind: record.ObservationDeclaration, Declaration: &record.Declaration{Host: "standing.example",
				Shape: "x402-v1", Doors: []string{"https://standing.example/paid"}, Foreign: 1}},
		}
	case 7:
		return []record.Observation{{At: when, Kind: record.ObservationStandingNote,
			Note: &record.StandingNote{Host: "moved.example", Lane: "host",
				Statement: record.Said{Text: "We moved to a new wallet in W43 <b>on purpose</b>; see [our " +
					"note](https://moved.example/)."}, SignedAt: when}}}
	case 8:
		return []record.Observation{{At: when, Kind: record.ObservationPaidRefresh,
			Refresh: &record.Refresh{Host: "established.example", URL: "https://established.example/paid",
				Verdict: record.VerdictReady, ReachedLevel: "L4", Failed: []string{}, Battery: "v2",
				Fault: record.FaultNone, EvidenceDigest: digest}}}
	}
	return nil
}
