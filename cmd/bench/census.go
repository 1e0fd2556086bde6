package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/roster"
)

// The census that is measured: so many doors, so many of them walked at once, by it and by its peer
// alike.
const (
	censusDoors   = 3000
	censusAtOnce  = 256
	censusTimeout = fetch.DefaultTimeout
)

// far is a world of hosts, all of them one door of the street, at distances that the number of the
// host tells:
//
//	50 %  20 to 98 ms            the time that a connection takes to open
//	30 %  100 to 395 ms
//	10 %  400 to 1,480 ms
//	 5 %  the connection is refused
//	 3 %  the name does not exist
//	 2 %  nothing ever answers: the caller gives up after 8 s
type far struct {
	door  openDoor
	open  *atomic.Int64 // nanoseconds for which connections, those that never opened among them, took a socket
	begun *atomic.Int64 // connections
}

func (f far) host(n int) string { return strconv.Itoa(n) + "." + f.door.Host }

func (f far) url(n int) string { return "https://" + f.host(n) + "/paid" }

// LookupNetIP puts the number of the host into its address.
func (f far) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	number, _, _ := strings.Cut(host, ".")
	n, err := strconv.Atoi(number)
	if err != nil || n%100 >= 95 && n%100 < 98 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{44, byte(n >> 16), byte(n >> 8), byte(n)})}, nil
}

func (f far) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	b := at.Addr().As4()
	n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	f.begun.Add(1)
	began := time.Now()
	var wait time.Duration
	switch k := n % 100; {
	case k < 50:
		wait = time.Duration(20+n*7%79) * time.Millisecond
	case k < 80:
		wait = time.Duration(100+n*13%296) * time.Millisecond
	case k < 90:
		wait = time.Duration(400+n*31%1081) * time.Millisecond
	case k < 95:
		f.open.Add(int64(time.Since(began)))
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	default:
		wait = time.Hour
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		f.open.Add(int64(time.Since(began)))
		return nil, ctx.Err()
	}
	conn, err := f.door.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, began: began, open: f.open}, nil
}

// counted counts for how long it was open.
type counted struct {
	net.Conn
	began time.Time
	open  *atomic.Int64
	once  sync.Once
}

func (t *counted) Close() error {
	t.once.Do(func() { t.open.Add(int64(time.Since(t.began))) })
	return t.Conn.Close()
}

// openCensus sets a whole census, from the reading of the list to the sealed round, against a loop
// that asks each door once over a TLS connection of its own and reads the answer. Both have one
// processor; the street has the other.
func openCensus(ctx context.Context, l *lab) (*contest, error) {
	door, roots, err := l.street(ctx)
	if err != nil {
		return nil, err
	}
	f := far{door: door, open: new(atomic.Int64), begun: new(atomic.Int64)}
	measured := func(what string, run func(context.Context) error) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			runtime.GC()
			f.open.Store(0)
			f.begun.Store(0)
			before, err := processor()
			if err != nil {
				return 0, err
			}
			began := time.Now()
			if err := run(ctx); err != nil {
				return 0, err
			}
			took := time.Since(began)
			after, err := processor()
			fmt.Fprintf(os.Stderr, "  %s: %.2f ms of processor and %.3f socket-seconds a door, %d connections\n", what,
				float64(after-before)/float64(time.Millisecond)/censusDoors,
				time.Duration(f.open.Load()).Seconds()/censusDoors, f.begun.Load())
			return censusDoors / took.Seconds(), err
		}
	}
	loop := func(ctx context.Context) error { return bareLoop(ctx, f, roots) }
	// The street makes a certificate for each name when it is first asked for.
	if err := loop(ctx); err != nil {
		return nil, err
	}
	return &contest{
		ours: measured("census", func(ctx context.Context) error { return l.census(ctx, f, roots) }),
		peer: measured("loop", loop),
	}, nil
}

// bareLoop asks every door once.
func bareLoop(ctx context.Context, f far, roots *x509.CertPool) error {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		at, err := f.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		return f.DialContext(ctx, network, net.JoinHostPort(at[0].String(), port))
	}
	client := &http.Client{Timeout: censusTimeout, Transport: &http.Transport{DialContext: dial,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	next := make(chan int)
	var answered atomic.Int64
	var wg sync.WaitGroup
	for range censusAtOnce {
		wg.Go(func() {
			for n := range next {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url(n), nil)
				if err != nil {
					continue
				}
				resp, err := client.Do(req)
				if err != nil {
					continue // a dead door
				}
				if _, err := io.Copy(io.Discard, resp.Body); err == nil &&
					resp.StatusCode == http.StatusPaymentRequired {
					answered.Add(1)
				}
				_ = resp.Body.Close() // it was read
			}
		})
	}
	for n := range censusDoors {
		next <- n
	}
	close(next)
	wg.Wait()
	if got := answered.Load(); got != censusDoors*90/100 {
		return fmt.Errorf("%d doors answered the loop, of %d", got, censusDoors*90/100)
	}
	return ctx.Err()
}

// census walks all doors with a new ledger and seals them into a new record.
func (l *lab) census(ctx context.Context, f far, roots *x509.CertPool) error {
	dir, err := l.folder("census")
	if err != nil {
		return err
	}
	db, err := bolt.Open(ctx, filepath.Join(dir, "ledger.bolt"))
	if err != nil {
		return err
	}
	defer db.Close() // it goes with its folder
	keys := make([]*attest.Key, 2)
	for i := range keys {
		if keys[i], err = attest.Generate(rand.Reader); err != nil {
			return err
		}
	}
	ring, err := attest.NewRing("2026-11-01",
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: keys[0].Public(),
			attest.PurposeLog: keys[1].Public()})
	if err != nil {
		return err
	}
	w := &seal.Writer{Dir: filepath.Join(dir, "record"), Origin: "store.example/corpus", Identity: keys[0],
		LogKey: keys[1], Ring: ring, Judge: judge.Batteries{}}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		return err
	}
	folder, err := census.OpenFolder(filepath.Join(dir, "recordings"), "bench")
	if err != nil {
		return err
	}
	defer folder.Close() // likewise
	client, err := fetch.New(fetch.Config{UserAgent: "bench/1 (+https://store.example/criteria)", Key: keys[0],
		Agent:    "https://store.example",
		Resolver: f, Dialer: f, Roots: roots, Timeout: censusTimeout, Concurrent: censusAtOnce + 8})
	if err != nil {
		return err
	}
	var list strings.Builder
	for n := range censusDoors {
		list.WriteString(f.url(n) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "doors.txt"), []byte(list.String()), 0o600); err != nil {
		return err
	}
	report, err := census.Run(ctx, census.Config{
		Owner: "bench", Store: roster.New(db), Client: client, Control: census.Control{URL: f.url(censusDoors * 100),
			Client: client}, Workers: censusAtOnce,
		Domain:  func(host string) string { return host }, // one machine is all of them
		Sources: []census.Source{census.List("list", os.DirFS(dir), "doors.txt")},
		Record:  func() (*record.Record, error) { return record.Open(os.DirFS(w.Dir), ring) }, Writer: w, Raw: folder,
	})
	if err != nil {
		return err
	}
	record, err := record.Open(os.DirFS(w.Dir), ring)
	if err != nil {
		return err
	}
	// On a machine that is busy with other things a control walk may fail, and then shelters those
	// who did not answer.
	round, ok := record.Round(report.Sequence)
	if !ok || round.Rows != censusDoors || round.Coverage.Probed < censusDoors*95/100 {
		return fmt.Errorf("the round has %d rows and probed %d doors, control %+v", round.Rows, round.Coverage.Probed,
			round.Control)
	}
	return nil
}
