package census

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"store.example/agentstore/corpus/record"
)

// The bounds of a keeper's list.
const (
	maxListBytes = 256 << 20
	maxListLine  = 8 << 10
)

// List reads the keeper's own list of doors: a file with a URL a line. Lines without a scheme are
// names of hosts, which WellKnown reads. What follows a # is a comment.
func List(name string, fsys fs.FS, file string) Source {
	return Source{Name: name, Kind: record.SourceList, Read: func(ctx context.Context, _ Reading,
		put func(Named)) error {
		return readList(ctx, fsys, file, func(line string) error {
			switch {
			case strings.ContainsAny(line, " \t"):
				return errors.New("it holds more than one word")
			case strings.Contains(line, "://"):
				put(Named{URL: line})
			}
			return nil
		})
	}}
}

// readList calls take for each line that says something.
func readList(ctx context.Context, fsys fs.FS, file string, take func(line string) error) (err error) {
	f, err := fsys.Open(file)
	if err != nil {
		return errors.New("the list cannot be opened") // a path of this machine is nothing for a round's header
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(io.LimitReader(f, maxListBytes))
	lines.Buffer(nil, maxListLine)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := take(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	return nil
}
