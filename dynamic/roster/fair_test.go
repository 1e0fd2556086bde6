package roster_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// spacing is the pause between two requests to one address.
const spacing = time.Second

// sharedAddress is the address of a network that many hosts share.
var sharedAddress = netip.MustParseAddr("8.8.8.8")

// town is a network in which nobody answers. It notes who was asked at which address, and when.
type town struct {
	mu    sync.Mutex // guards what follows
	at    map[string]netip.Addr
	next  netip.Addr
	asked map[netip.Addr][]time.Time
	looks int // at names
}

// LookupNetIP puts hosts whose name begins with cdn at one address, and gives all others their own.
func (n *town) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.looks++
	if strings.HasPrefix(host, "cdn") {
		return []netip.Addr{sharedAddress}, nil
	}
	if _, known := n.at[host]; !known {
		n.next = n.next.Next()
		n.at[host] = n.next
	}
	return []netip.Addr{n.at[host]}, nil
}

func (n *town) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.asked[at.Addr()] = append(n.asked[at.Addr()], time.Now())
	n.mu.Unlock()
	time.Sleep(200 * time.Millisecond)
	return nil, syscall.ECONNREFUSED
}

// walkTown walks a week of some hosts at most that a list names or that declared themselves, and
// returns how many of the honest were asked, and how long all of it took.
func walkTown(t *testing.T, most int, listed, declared []string) (honest int, took time.Duration, n *town) {
	n = &town{at: map[string]netip.Addr{}, next: netip.MustParseAddr("9.0.0.0"), asked: map[netip.Addr][]time.Time{}}
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)", Unsigned: true,
		Resolver: n, Dialer: n, Spacing: spacing, OnePerAddress: true, Concurrent: 72})
	if err != nil {
		t.Fatal(err)
	}
	source := func(kind string, hosts []string) census.Source {
		return census.Source{Name: kind, Kind: kind,
			Read: func(_ context.Context, _ census.Reading, put func(census.Named)) error {
				for _, h := range hosts {
					put(census.Named{URL: "https://" + h + "/paid"})
				}
				return nil
			}}
	}
	store := roster.New(ledger.NewMem(ledger.MemOptions{}))
	began := time.Now()
	report, err := census.Run(t.Context(), census.Config{Owner: "one", Store: store, Client: client, Cap: most,
		Sources: []census.Source{source(record.SourceList, listed), source(record.SourceDeclared, declared)}})
	if err != nil || report.Outcome != census.OutcomeWalked {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, h := range append(listed, declared...) {
		if !strings.Contains(h, "honest") {
			continue
		}
		why, err := store.Why(t.Context(), report.Week, h)
		if err != nil {
			t.Fatal(err)
		}
		if why.ThisWeek.State == census.StateWalked {
			honest++
		}
	}
	return honest, time.Since(began), n
}

// A wildcard domain declares 10,000 names, a platform's users 1,000, and 1,000 stand at an address
// that honest hosts share. The honest ones are walked as without them, and the shared address is
// asked once a spacing and not oftener.
func TestHonestHostsAreWalkedBesideACrowd(t *testing.T) { besideACrowd(t, 1000) }

// The same beside ten times as many.
func TestLongHonestHostsAreWalkedBesideACrowd(t *testing.T) { besideACrowd(t, 10_000) }

func besideACrowd(t *testing.T, crowd int) {
	t.Helper()
	many := func(n int, form string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(form, i))
		}
		return out
	}
	synctest.Test(t, func(t *testing.T) {
		listed := append(many(800, "x.honest%d.com"), many(50, "cdn.honest%d.net")...)
		declared := many(100, "own.honest%d.org")
		alone, _, _ := walkTown(t, 2*crowd+1000, listed, declared)
		if alone != 950 {
			t.Errorf("%d of 950 honest hosts were walked without a crowd", alone)
		}
		listed = append(listed, many(crowd, "cdn.parked%d.com")...)
		declared = append(append(declared, many(10*crowd, "w%d.wild.com")...), many(crowd, "p%d.vercel.app")...)
		crowded, took, n := walkTown(t, 2*crowd+1000, listed, declared)
		if 100*crowded <= 99*alone {
			t.Errorf("%d honest hosts were walked without a crowd, %d with it", alone, crowded)
		}
		if took > 6*24*time.Hour {
			t.Errorf("the week took %s", took)
		}
		asked := n.asked[sharedAddress]
		for i := 1; i < len(asked); i++ {
			if pause := asked[i].Sub(asked[i-1]); pause < spacing {
				t.Fatalf("the shared address was asked twice in %s", pause)
			}
		}
		// A name is looked up to learn its address, and then when it is its turn.
		if len(asked) != crowd+50 || n.looks > 5*(crowd+50) {
			t.Errorf("the shared address was asked %d times, names were looked up %d times", len(asked), n.looks)
		}
		t.Logf("%d honest of %d, %d requests to the shared address in %s, %d look-ups", crowded, alone, len(asked),
			took, n.looks)
	})
}
