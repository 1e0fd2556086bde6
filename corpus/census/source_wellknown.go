package census

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"agentstore/corpus"
	"agentstore/corpus/exchange"
	"agentstore/corpus/fetch"
	"agentstore/corpus/probe"
)

// wellKnownPath is where a host says which doors it has.
const wellKnownPath = "/.well-known/x402"

// wellKnownReads is how many hosts' files are read at once.
const wellKnownReads = 32

// WellKnown reads the discovery files of the hosts that the keeper's list names without a URL, each at its own
// /.well-known/x402. A host whose file cannot be read is known by name, with the reason, and has no door.
func WellKnown(name string, fsys fs.FS, file string) Source {
	return Source{Name: name, Kind: corpus.SourceWellKnown, Read: func(ctx context.Context, on Reading, put func(Named)) error {
		var hosts []string
		err := readList(ctx, fsys, file, func(line string) error {
			if !strings.Contains(line, "://") && !strings.ContainsAny(line, " /") {
				hosts = append(hosts, line)
			}
			return nil
		})
		if err != nil {
			return err
		}
		found := make([][]Named, len(hosts))
		g, reading := errgroup.WithContext(ctx)
		g.SetLimit(wellKnownReads)
		for i, host := range hosts {
			g.Go(func() error {
				found[i] = readWellKnown(reading, on, host)
				return reading.Err()
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, doors := range found {
			for _, d := range doors {
				put(d)
			}
		}
		return nil
	}}
}

// readWellKnown reads the doors of one host on itself.
func readWellKnown(ctx context.Context, on Reading, host string) []Named {
	none := func(format string, args ...any) []Named {
		return []Named{{Host: strings.ToLower(host), Reason: fmt.Sprintf("its %s names no door: %s", wellKnownPath, fmt.Sprintf(format, args...))}}
	}
	at, err := on.Client.Parse("https://"+host+wellKnownPath, fetch.Rule{})
	if err != nil {
		return none("%v", err)
	}
	x, err := on.Client.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at, Header: http.Header{"Accept": {"application/json"}}}, fetch.Rule{})
	switch {
	case err != nil:
		return none("%v", err)
	case x.Error.Stage != "":
		return none("%s", x.Error.Text)
	case x.Response.Status != http.StatusOK:
		return none("it answers %d", x.Response.Status)
	case x.Response.Truncated:
		return none("it is longer than is read")
	}
	doors, err := probe.ParseDiscovery(x.Response.Body, at)
	if err != nil {
		return none("it is in no known shape")
	}
	var out []Named
	for _, d := range doors {
		if hostOf(d.URL) == hostOf(at) {
			out = append(out, Named{URL: d.URL, Method: d.Method, By: "well-known"})
		}
	}
	if out == nil {
		return none("it lists none on this host")
	}
	return out
}
