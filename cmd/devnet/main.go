// Devnet runs the whole shop on real local chains: four go-ethereum chains in this process and,
// where there is Node.js, a Solana cluster beside it, a site built for the run, the store on
// loopback, and one purchase by the built-in buyer. It keeps serving until Ctrl-C.
//
//	store demo                                # of a release: the program beside it, with a record
//	go run ./cmd/devnet
//	store practice                            # instead of the record the practice doors and their scoreboard
//	go run ./cmd/devnet practice              # the same from here
//	go run ./cmd/devnet specimen -out DIR     # instead: makes the record that the repository is shown with
//
// Every key is made for the run. The chains stand in for real networks, id, token address and
// signing domain included, so what is signed here is valid there: never use a key of your own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/generator"

	"github.com/ethereum/go-ethereum/log"
	"github.com/lmittmann/tint"
)

type flags struct {
	listen, rpc, state, config, ready string
	practice                          string
	chainOnly, noPurchase             bool
	street, record                    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends at once what takes long to end well
	if len(os.Args) > 1 && os.Args[1] == "specimen" {
		switch err := runSpecimen(ctx, os.Args[2:], os.Stdout, os.Stderr); {
		case errors.Is(err, flag.ErrHelp):
			os.Exit(2)
		case err != nil:
			fmt.Fprintln(os.Stderr, "devnet:", err)
			os.Exit(1)
		}
		return
	}
	var f flags
	flag.StringVar(&f.practice, "practice", "", "loopback address of the practice doors and their scoreboard, for "+
		"somebody who writes a client; the word practice before all flags is -practice 127.0.0.1:4030")
	flag.StringVar(&f.listen, "listen", "127.0.0.1:4020", "loopback address of the store")
	flag.StringVar(&f.rpc, "rpc", "127.0.0.1:4041",
		"loopback address of the first chain's JSON-RPC; the others follow, each a port higher")
	flag.StringVar(&f.state, "state", "", "empty folder for site, keys and ledger; by default a temporary one that "+
		"is removed at the end")
	flag.BoolVar(&f.chainOnly, "chain-only", false, "run the chains and prepare a site, but no store")
	flag.StringVar(&f.config, "write-config", "",
		"write a configuration to this `file`, with which store serve -config runs on these chains")
	flag.StringVar(&f.ready, "ready", "", "write this JSON file when everything is up: base_url, networks, buyers "+
		"with their keys")
	flag.BoolVar(&f.noPurchase, "no-purchase", false, "do not buy anything at the start")
	flag.BoolVar(&f.street, "street", false, "open the street of test doors beside the store; its list is written to "+
		"the state folder")
	flag.BoolVar(&f.record, "record", false, "begin with a record of twelve weeks, which takes some seconds")
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "practice" {
		f.practice, args = "127.0.0.1:4030", args[1:]
	}
	flag.CommandLine.Parse(args) // which exits where it fails
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(ctx, f, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "devnet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags, stdout, stderr io.Writer) (err error) {
	log.SetDefault(log.NewLogger(slog.DiscardHandler)) // the node's own log; ours says what matters
	began := time.Now()
	// What is signed here is valid on the real networks too, and whoever reaches these chains can
	// do as he likes with them.
	for name, address := range map[string]string{"-listen": f.listen, "-rpc": f.rpc, "-practice": f.practice} {
		if address == "" && name == "-practice" {
			continue
		}
		if err := loopback(address); err != nil {
			if name == "-practice" {
				err = fmt.Errorf("%w (store practice calls it -doors)", err)
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var ln net.Listener
	if !f.chainOnly { // before what takes long
		if ln, err = net.Listen("tcp", f.listen); err != nil {
			return fmt.Errorf("opening the store: %w; name another address with -listen", err)
		}
		defer ln.Close() // again, where it was served
	}
	state, remove, err := stateFolder(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()

	fmt.Fprintln(stdout, "starting the chains")
	world, err := newWorld(f.rpc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.stop()) }()
	left := world.openSolana(f.rpc)
	fmt.Fprintf(stdout, "chains up after %s:\n", since(began))
	for _, c := range world.chains {
		fmt.Fprintf(stdout, "  %-18s %-14s %s\n", c.network.Name, c.network.ID(), c.RPCURL())
	}
	if left == nil {
		fmt.Fprintf(stdout, "  %-18s %-14s %s\n", "Solana", networks.Solana, world.solana.URL)
	} else {
		fmt.Fprintf(stdout, "  Solana is left out: %v\n", left)
	}

	cfg, err := world.prepare(state, f.listen)
	if err != nil {
		return err
	}
	purse := filepath.Join(state, buyerFile)
	if err := shop.WriteNew(purse, []byte(world.buyers[1].secret()+"\n"), 0o600); err != nil {
		return err
	}
	practice := ""
	if f.practice != "" {
		var stop func() error
		if practice, stop, err = openPractice(f.practice, stdout); err != nil {
			return err
		}
		defer stop()
	}
	var reach func(*fetch.Config)
	if f.street {
		doors, err := openStreet(state, stdout)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, doors.Close()) }()
		reach = func(c *fetch.Config) { *c = doors.Config(*c) }
	}
	if err := furnish(ctx, f, cfg, began, stdout); err != nil {
		return err
	}
	if f.chainOnly {
		if err := world.writeReady(f.ready, cfg.BaseURL); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "running the chains only; Ctrl-C ends")
		<-ctx.Done()
		return nil
	}
	near, err := openNeighbours(cfg.BaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, near.Close()) }()
	if err := near.equip(cfg, filepath.Join(state, "keys"), world.launch); err != nil {
		return err
	}
	reach = near.reach(reach)
	return world.serve(ctx, f, opening{cfg, ln, practice, reach, began}, stdout, stderr)
}

// furnish writes the configuration and makes the record where they are asked for, and builds the
// site.
func furnish(ctx context.Context, f flags, cfg *shop.Config, began time.Time, stdout io.Writer) error {
	if f.config == "" && f.state != "" {
		f.config = filepath.Join(f.state, "store.toml") // which store init -demo reads
	}
	if f.config != "" {
		text := "# Written by the devnet for this run; its chains end with it.\n\n" + shop.Annotated(*cfg)
		if err := os.WriteFile(f.config, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if f.record {
		fmt.Fprintln(stdout, "making a record of twelve weeks")
		if err := openRecord(ctx, cfg); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "record of twelve weeks made after %s\n", since(began))
	}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		return err
	}
	in.PublicPools = true
	fmt.Fprintln(stdout, "rendering the site")
	quarter := 0
	in.Progress = func(done, total int) {
		if now := 4 * done / max(total, 1); now > quarter {
			quarter = now
			fmt.Fprintf(stdout, "  %d of some %d files\n", done, total)
		}
	}
	report, err := generator.BuildTree(ctx, in, cfg.Public)
	if err != nil {
		return fmt.Errorf("building the site: %w", err)
	}
	fmt.Fprintf(stdout, "site built after %s: %d files\n", since(began), report.Files)
	return nil
}

// opening is the store that is served, where, and since when; reach leads its instruments to the
// street.
type opening struct {
	cfg      *shop.Config
	ln       net.Listener
	practice string
	reach    func(*fetch.Config)
	began    time.Time
}

// serve opens the store, buys in it and serves until ctx ends. practice is the address of the
// practice doors, if any; reach, where it is given, leads the store's instruments to the street.
func (w *world) serve(ctx context.Context, f flags, o opening, stdout, stderr io.Writer) error {
	var level slog.LevelVar
	level.Set(slog.LevelWarn)
	logger := slog.New(tint.NewTextHandler(stderr, &tint.Options{Level: &level, NoColor: true}))
	s, err := shop.Open(ctx, o.cfg, shop.Options{Log: logger, Level: &level, Reach: o.reach})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	go func() { served <- s.Serve(serving, o.ln, nil) }()
	fmt.Fprintf(stdout, "store open at %s after %s\n", o.cfg.BaseURL, since(o.began))
	err = w.writeReady(f.ready, o.cfg.BaseURL)
	if err == nil && !f.noPurchase {
		err = w.buyHello(ctx, o.cfg, stdout)
	}
	if err == nil {
		w.howTo(stdout, o.cfg.BaseURL, filepath.Join(filepath.Dir(o.cfg.Public), buyerFile), o.practice)
		select {
		case <-ctx.Done():
		case err = <-served:
			return errors.Join(err, s.Close())
		}
	}
	stop()
	return errors.Join(err, <-served, s.Close())
}

// stateFolder is the folder of the run. One that holds something is refused: its chains are gone,
// and a ledger without its chains would be wrong about everything.
func stateFolder(dir string) (string, func() error, error) {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "devnet-")
		return tmp, func() error { return os.RemoveAll(tmp) }, err
	}
	keep := func() error { return nil }
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", keep, err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		keep = func() error {
			_ = os.Remove(dir) // where it could not start, the folder is empty, and only then it goes
			return nil
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", keep, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", keep, err
	}
	if len(entries) > 0 {
		return "", keep, fmt.Errorf("%s is not empty: the chains are new in every run, so name a new folder", dir)
	}
	return dir, keep, nil
}

// loopback refuses an address that others could reach.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is not a loopback address such as 127.0.0.1:4020", address)
	}
	return nil
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
