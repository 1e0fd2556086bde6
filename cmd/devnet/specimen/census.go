package specimen

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/roster"
)

//go:embed doors.txt
var keepersList embed.FS

// The weeks in which the census itself does not do well.
const (
	// In interrupted the process dies on its walk to interruptedHost.
	interrupted     = 43
	interruptedHost = "jetty.quay.street"
)

// most is how many hosts are walked in a week, 0 for all.
func most(week int) int { return map[int]int{37: 14, 45: 56}[week] }

// census runs the week's census and returns the round that it sealed.
func (m *maker) census(ctx context.Context, week int) (record.Round, error) {
	w := m.writer()
	rec := func() (*record.Record, error) { return record.Open(os.DirFS(m.dir), w.Ring) }
	cfg := census.Config{
		Owner: "first", Store: m.store, Client: m.client, Nodes: fetch.Nodes{networks.Solana: street.Node},
		Control: census.Control{URL: "https://" + controlHost + "/paid", Client: m.own},
		Sources: []census.Source{
			census.Declared("declared doors", nil),
			census.Discovery("bazaar", "https://"+bazaar), census.Discovery("catalog", "https://"+catalog),
			census.List("keeper's list", keepersList, "doors.txt"), census.WellKnown("keeper's hosts", keepersList,
				"doors.txt"),
			census.Revisits("revisits", census.DefaultRevisits),
		},
		Inflows: &inflows{week: week}, Record: rec, Writer: w, Cap: most(week), Batch: 8,
		// Walks in the order of the roster, which no timing changes, make the same batches for the
		// control door every time.
		Domain: func(host string) string { return host },
		Salt:   salt,
		Now:    m.clock.Now,
		Sleep:  func(ctx context.Context, _ time.Duration) error { runtime.Gosched(); return ctx.Err() },
	}
	// For another site its store numbers what is observed, so that rounds made for it say nothing
	// of a lot.
	if m.site == nil {
		cfg.Publish = func(ctx context.Context, closed record.ClosedRoster) (time.Time, error) {
			return m.publish(ctx, closed, closes(week))
		}
	}
	// values of a specimen are no secret, and the same every time
	cfg.Random, cfg.Difficulty = &counter{n: uint64(week) << 40}, leastWork
	if week != withoutBlock {
		cfg.Headers = chain{week: week, at: closes(week)}
	}
	if week == interrupted {
		if err := m.die(ctx, cfg); err != nil {
			return record.Round{}, err
		}
		cfg.Owner = "second"
	}
	report, err := census.Run(ctx, cfg)
	if err != nil {
		return record.Round{}, err
	}
	r, err := rec()
	if err != nil {
		return record.Round{}, err
	}
	round, ok := r.Round(report.Sequence)
	if !ok || report.Outcome != census.OutcomeSealed {
		return record.Round{}, fmt.Errorf("the census ended %s with round %d", report.Outcome, report.Sequence)
	}
	return round, nil
}

// die runs a census that ends on its first walk, which is to interruptedHost, as if its machine had
// lost power: nothing of the walk is kept but that it was begun.
func (m *maker) die(ctx context.Context, cfg census.Config) error {
	mortal := &mortal{Store: m.store, at: interruptedHost}
	cfg.Store = mortal
	if _, err := census.Run(ctx, cfg); !errors.Is(err, errDied) {
		return fmt.Errorf("the census was to be interrupted: %w", err)
	}
	// Nobody waits here for the lease to run out.
	m.clock.Advance(time.Hour)
	return m.store.Release(ctx, mortal.held)
}

var errDied = errors.New("the process died")

// mortal is a store whose process dies when the walk to a host is begun.
type mortal struct {
	*roster.Store
	at   string
	held census.Lease
}

// TakeShard takes the shard that has the host, writes down that its walk is begun, and dies.
func (m *mortal) TakeShard(ctx context.Context, week, owner string, ttl time.Duration) (census.Shard, error) {
	s, err := m.Store.TakeShard(ctx, week, owner, ttl)
	if err != nil {
		return s, err
	}
	i := slices.IndexFunc(s.Todo, func(e census.Entry) bool { return e.Host == m.at })
	if i < 0 {
		return s, fmt.Errorf("%s is not to be walked", m.at)
	}
	m.held = s.Lease
	return census.Shard{}, errors.Join(errDied, m.Store.Commit(ctx, s, census.Commit{Claims: s.Todo[i : i+1]}, ttl))
}

// inflows tells of transfers that follow from the week and the addresses. On Solana nothing could
// be read in one week.
type inflows struct{ week int }

// Count implements census.Inflows.
func (f *inflows) Count(_ context.Context, _, _ time.Time, addresses map[string][]string) ([]record.NetworkInflow,
	error) {
	var out []record.NetworkInflow
	for _, network := range slices.Sorted(maps.Keys(addresses)) {
		n := record.NetworkInflow{Network: network, Read: true}
		var atomic int64
		for _, a := range addresses[network] {
			sum := sha256.Sum256(fmt.Append(nil, f.week, " ", network, " ", a))
			if sum[0] < 96 || sum[1]%40 == 0 {
				continue // nothing arrived
			}
			n.Addresses++
			n.Transfers += int64(sum[1] % 40)
			atomic += int64(sum[1]%40) * int64(binary.BigEndian.Uint16(sum[2:])) * 10
		}
		n.USDC = dollars(atomic)
		if network == networks.Solana && f.week == 38 {
			n = record.NetworkInflow{Network: network, USDC: "0", Reason: "the RPC did not answer"}
		}
		out = append(out, n)
	}
	return out, nil
}

// dollars writes atomic units as a decimal.
func dollars(atomic int64) string {
	if atomic%1_000_000 == 0 {
		return fmt.Sprint(atomic / 1_000_000)
	}
	text := fmt.Sprintf("%d.%06d", atomic/1_000_000, atomic%1_000_000)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return text
}

// salt is no secret in a specimen, and the same every time.
func salt(week, host string, n int) probe.Salt {
	return sha256.Sum256(fmt.Appendf(nil, "specimen salt|%s|%s|%d", week, host, n))
}

// walk reads one door.
func (m *maker) walk(ctx context.Context, url string) (probe.Report, probe.Judgement, error) {
	checker, err := probe.NewPreflight(probe.Current(), url, probe.Declaration{})
	if err != nil {
		return probe.Report{}, probe.Judgement{}, err
	}
	report, recording, err := fetch.Walk(ctx, m.client, checker, fetch.WalkStart{URL: url})
	if err != nil {
		return probe.Report{}, probe.Judgement{}, err
	}
	judgement, err := checker.Judgement(recording.Exchanges, salt("", url, int(m.clock.Now().Unix())))
	return report, judgement, err
}
