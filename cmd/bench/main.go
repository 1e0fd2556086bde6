// Bench measures what the store promises about its speed, and says of each promise whether it holds
// on this machine.
//
//	go run ./cmd/bench [-only NAME,NAME] [-pairs 5] [-seconds 10] [-json]
//
// Nothing is judged by absolute time. Every row of the table sets the store against a peer that
// does the same work: a bare handler, Caddy, the stock seller, Hugo, git. The two run in turn,
// ours, peer, ours, peer, so that what else the machine does falls on both, and the median of the
// pairs' ratios is compared with the limit. Server and loader are pinned to a core each, and where
// two servers answer the same request, they answer with equally many bytes.
//
// It ends with 0 when all rows hold, with 1 when one is missed, with 2 when something could not be
// measured. It needs Linux, two cores, Go, git, taskset, wrk and Caddy (Debian: wrk, caddy,
// util-linux), and Node with npm for anvil and the stock seller, which are installed once from
// their lock files. Keys are made for the run. What was written stays until the end: 2 GB of disk a
// pair, and 3 GB for the records.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// peers are what this program becomes when it starts itself, by its first argument.
var peers = map[string]func(args []string) error{bareServer: serveBare, streetServer: serveStreet,
	siteBuilder: buildSite, weekSealer: sealAnother}

func main() {
	if len(os.Args) > 1 && peers[os.Args[1]] != nil {
		if err := peers[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only := flag.String("only", "", "measure these rows alone, separated by commas")
	pairs := flag.Int("pairs", 5, "pairs of runs for each row")
	seconds := flag.Int("seconds", 10, "length of a run that goes by time")
	asJSON := flag.Bool("json", false, "print the results as JSON")
	flag.Usage = func() { usage(flag.CommandLine.Output()) }
	flag.Parse()
	rows, err := choose(*only)
	if err != nil || flag.NArg() > 0 || *pairs < 1 || *seconds < 1 {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		flag.Usage()
		os.Exit(2)
	}
	held, err := run(ctx, rows, *pairs, *seconds, *asJSON)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case !held:
		os.Exit(1)
	}
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: bench [flags]")
	flag.PrintDefaults()
	fmt.Fprintln(w, "\nrows:")
	for _, r := range rows {
		fmt.Fprintf(w, "  %-18s %s %s of %s\n", r.name, r.what, r.mark(), r.peer)
	}
}

// choose returns the named rows, all for no name.
func choose(only string) ([]row, error) {
	if only == "" {
		return rows, nil
	}
	var chosen []row
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no row is named %q", name)
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}

// run measures rows and prints each as soon as it is known.
func run(ctx context.Context, chosen []row, pairs, seconds int, asJSON bool) (held bool, err error) {
	l, err := openLab(ctx, seconds)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	held = true
	results := []result{}
	for _, r := range chosen {
		res, err := l.compare(ctx, r, pairs)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		held = held && res.Holds
		results = append(results, res)
		if !asJSON {
			fmt.Println(res.text(r))
		}
	}
	if asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return held, enc.Encode(results)
	}
	return held, nil
}
