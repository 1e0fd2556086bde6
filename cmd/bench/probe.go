package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// streetServer is the first argument with which this program is the door that is probed.
const streetServer = "serve-street"

// readyDoor is the door that is probed: it sells as most doors do.
const readyDoor = "ready-eip155-8453-usdc"

// openDoor is how a door of the street is reached from another process.
type openDoor struct {
	URL     string
	Host    string
	Address string // on loopback
	PEM     []byte // of the authority that made its certificate
}

// serveStreet opens the street, says in a file how its ready door is reached, and stays until it is
// stopped.
func serveStreet(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes a file", streetServer)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := street.Open()
	if err != nil {
		return err
	}
	doors := s.Doors()
	i := slices.IndexFunc(doors, func(d street.Door) bool { return d.Name == readyDoor })
	if i < 0 {
		return errors.Join(fmt.Errorf("the street has no door %s", readyDoor), s.Close())
	}
	b, err := json.Marshal(openDoor{URL: doors[i].URL(), Host: doors[i].Host, Address: s.Listen(doors[i]),
		PEM: s.PEM()})
	if err == nil {
		err = os.WriteFile(args[0]+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(args[0]+".new", args[0])
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, s.Close())
}

// LookupNetIP gives the door an address that looks public.
func (d openDoor) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// DialContext reaches the door, whatever the address.
func (d openDoor) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, d.Address)
}

// openProbe sets a live probe, from the URL to the report, against a bare GET over a TLS connection
// of its own, which is what a walk of strangers' doors cannot do without. What is compared is this
// process's processor time, not the wall's: the door stands in another process, on the other core.
func openProbe(ctx context.Context, l *lab) (*contest, error) {
	door, roots, err := l.street(ctx)
	if err != nil {
		return nil, err
	}
	look, err := looker(door, roots)
	if err != nil {
		return nil, err
	}
	get := getter(door, roots)
	return &contest{
		ours: func(ctx context.Context) (float64, error) { return l.processorTime(ctx, look) },
		peer: func(ctx context.Context) (float64, error) { return l.processorTime(ctx, get) },
	}, nil
}

// street starts the street in a process of its own and returns its ready door.
func (l *lab) street(ctx context.Context) (openDoor, *x509.CertPool, error) {
	var door openDoor
	dir, err := l.folder("street")
	if err != nil {
		return door, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return door, nil, err
	}
	file := filepath.Join(dir, "door.json")
	p, err := l.start(ctx, serverCore, dir, self, streetServer, file)
	if err != nil {
		return door, nil, err
	}
	if err := p.until(ctx, func() bool { _, err := os.Stat(file); return err == nil }); err != nil {
		return door, nil, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return door, nil, err
	}
	if err := json.Unmarshal(b, &door); err != nil {
		return door, nil, fmt.Errorf("reading where the door is: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(door.PEM) {
		return door, nil, errors.New("the street's authority is no certificate")
	}
	return door, roots, nil
}

// looker probes the door as the instruments do.
func looker(door openDoor, roots *x509.CertPool) (func(context.Context) error, error) {
	key, err := attest.Generate(rand.Reader)
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{UserAgent: "bench/1 (+https://store.example/criteria)", Key: key,
		Agent:    "https://store.example",
		Resolver: door, Dialer: door, Roots: roots})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		p, err := probe.NewPreflight(probe.V2, door.URL, probe.Declaration{})
		if err != nil {
			return err
		}
		report, _, err := fetch.Walk(ctx, client, p, fetch.WalkStart{URL: door.URL})
		if err != nil {
			return err
		}
		if report.Verdict != probe.Ready {
			return fmt.Errorf("the door is %s", report.Verdict)
		}
		return nil
	}, nil
}

// getter asks the door and reads the answer.
func getter(door openDoor, roots *x509.CertPool) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{DialContext: door.DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, door.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusPaymentRequired {
			err = errors.Join(err, fmt.Errorf("the door answers %d", resp.StatusCode))
		}
		return errors.Join(err, resp.Body.Close())
	}
}

// processorTime does something again and again for the length of a run and returns the milliseconds
// of processor time that each took in this process, the collecting of garbage included.
func (l *lab) processorTime(ctx context.Context, do func(context.Context) error) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as every process here has
	runtime.GC()
	before, err := processor()
	if err != nil {
		return 0, err
	}
	n := 0
	for end := time.Now().Add(time.Duration(l.seconds) * time.Second); time.Now().Before(end); n++ {
		if err := do(ctx); err != nil {
			return 0, err
		}
	}
	after, err := processor()
	return float64(after-before) / float64(time.Millisecond) / float64(max(n, 1)), err
}

// processor is the processor time that this process has used.
func processor() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
