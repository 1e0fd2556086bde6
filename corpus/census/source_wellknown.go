package census

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
)

// wellKnownReads is how many hosts' files are read at once.
const wellKnownReads = 32

// WellKnown reads the discovery files of the hosts that the keeper's list names without a URL, each
// at its own /.well-known/x402, or where its agent card says. A host whose file cannot be read is
// known by name, with the reason, and has no door.
func WellKnown(name string, fsys fs.FS, file string) Source {
	return Source{Name: name, Kind: record.SourceWellKnown, Read: func(ctx context.Context, on Reading,
		put func(Named)) error {
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

// readWellKnown reads the doors of one host on itself, as a host that declares itself is read.
func readWellKnown(ctx context.Context, on Reading, host string) []Named {
	none := func(why string) []Named {
		return []Named{{Host: strings.ToLower(host), Reason: fmt.Sprintf("its %s names no door: %s",
			declarations.FilePath,
			why)}}
	}
	parse := func(raw string) (string, error) { return on.Client.Parse(raw, fetch.Rule{}) }
	at, err := parse(declarations.Start(host))
	if err != nil {
		return none(err.Error())
	}
	report, _, err := fetch.Walk(ctx, on.Client, declarations.Checker{Host: hostOf(at)},
		fetch.WalkStart{URL: at, Kinds: []string{"get"}})
	switch {
	case err != nil:
		return none(err.Error())
	case report.Kind != declarations.Doors:
		return none(report.Reason)
	}
	var out []Named
	for _, d := range report.File.On(hostOf(at), parse).Doors {
		out = append(out, Named{URL: d.URL, Method: d.Method, By: "well-known"})
	}
	if out == nil {
		return none("it lists none on this host")
	}
	return out
}
