package shop

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"store.example/agentstore/corpus/census"
)

// DoorsHere are the doors of the keeper's list that are on this machine, for a shop that is there
// itself: a census refuses all of them.
func DoorsHere(ctx context.Context, c *Config) ([]string, error) {
	switch {
	case !onLoopback(c.BaseURL):
		return nil, errors.New("a store with a public base_url walks public doors alone: store census -dry-run says " +
			"which, and store check -local URL reads one of your own on this machine")
	case c.Census.List == "":
		return nil, errors.New("census.list names no file: write the doors into one, a URL a line, and name it there")
	}
	var doors []string
	list := census.List(sourceList, os.DirFS(filepath.Dir(c.Census.List)), filepath.Base(c.Census.List))
	if err := list.Read(ctx, census.Reading{}, func(n census.Named) {
		if onLoopback(n.URL) {
			doors = append(doors, n.URL)
		}
	}); err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.Census.List, err)
	}
	if len(doors) == 0 {
		return nil, fmt.Errorf("%s names no door on this machine, such as http://127.0.0.1:4021/api/buy/tea",
			c.Census.List)
	}
	return doors, nil
}

// onLoopback reports whether an address is of this machine alone.
func onLoopback(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && Loopback(u.Hostname())
}
