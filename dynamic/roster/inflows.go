package roster

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/rail"
)

// Inflows counts what arrived at advertised addresses, by the observers of networks. Close it.
type Inflows map[string]Observer

var _ census.Inflows = Inflows(nil)

// Observer reads one network.
type Observer interface {
	// Arrivals counts what came in at addresses in [from, to); it is an error where that has not
	// been seen whole.
	Arrivals(ctx context.Context, addresses []string, from, to time.Time) (rail.Arrivals, error)
	Close()
}

// maxUnread bounds how many networks without an RPC are named: doors write down whatever they like.
const maxUnread = 50

var networkForm = regexp.MustCompile(`^[a-z0-9-]{3,8}:[-_a-zA-Z0-9]{1,32}$`) // CAIP-2

// Close lets go of idle connections.
func (in Inflows) Close() {
	for _, o := range in {
		o.Close()
	}
}

// Count implements census.Inflows: each configured network, and each further one on which an
// address was advertised, by name. One that could not be read says why, and counts nothing.
func (in Inflows) Count(ctx context.Context, from, to time.Time,
	addresses map[string][]string) ([]record.NetworkInflow, error) {
	out := make([]record.NetworkInflow, 0, len(in))
	var mu sync.Mutex // guards out
	var wg sync.WaitGroup
	for network, o := range in {
		wg.Go(func() {
			n := record.NetworkInflow{Network: network, USDC: "0"}
			got, err := o.Arrivals(ctx, addresses[network], from, to)
			switch {
			case err == nil && !got.Total.IsInt64():
				n.Reason = "more arrived than can be"
			case err != nil:
				n.Reason = ReasonOf(err)
			default:
				n.Read, n.Transfers, n.Addresses, n.AddressesLeftOut, n.USDC = true, got.Transfers, got.Addresses,
					got.LeftOut, content.FormatUSDC(got.Total.Int64())
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, n)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	unread := 0
	for _, network := range slices.Sorted(maps.Keys(addresses)) {
		if in[network] != nil || len(addresses[network]) == 0 || !networkForm.MatchString(network) {
			continue
		}
		if unread++; unread > maxUnread {
			break
		}
		out = append(out, record.NetworkInflow{Network: network, USDC: "0",
			Reason: "no RPC of this network is configured"})
	}
	slices.SortFunc(out, func(a, b record.NetworkInflow) int { return strings.Compare(a.Network, b.Network) })
	return out, nil
}

// nodeNames are where errors name our nodes, which are nobody's business.
var nodeNames = regexp.MustCompile(`\brpc [^ ]+: |\b(dial|lookup|read|write) (tcp|udp)?[^ ]* ?[^ ]+: `)

// ReasonOf is an error as a signed round may say it: one line, bounded, without our nodes.
func ReasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it could not be read within the time"
	}
	text := nodeNames.ReplaceAllString(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "), "")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text
}
