package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// runVerify checks a clone or a bundle, or makes one, as the binary verify does. A keeper's folder
// is no clone: of it what is served is checked, and then the record.
func runVerify(ctx context.Context, c *call) error {
	code := kit.ExitVerified
	for _, args := range halves(c.args) {
		if code = kit.Run(ctx, kit.Program{Name: "store verify", Judge: rejudge.Batteries{}}, args, c.stdout,
			c.stderr); code != kit.ExitVerified {
			break
		}
	}
	switch code {
	case kit.ExitVerified:
		return nil
	case kit.ExitUsage:
		return errUsage
	case kit.ExitRefused:
		return errNo
	case kit.ExitUnproven:
		return errUnproven
	default:
		return errFailed
	}
}

// halves is what is to be verified: the arguments as they are, or, where one is a keeper's folder,
// once with its published tree in its place and once with its record, if that has begun.
func halves(args []string) [][]string {
	otherwise := func(a string) bool { // what puts together or follows, and finds the record by itself
		name := strings.TrimLeft(a, "-")
		return name != a && (strings.HasPrefix(name, "export") || strings.HasPrefix(name, "proof") ||
			strings.HasPrefix(name, "follow"))
	}
	at := slices.IndexFunc(args, func(a string) bool {
		_, err := os.Stat(filepath.Join(a, "store.toml"))
		return err == nil && a != ""
	})
	if at < 0 || slices.ContainsFunc(args, otherwise) {
		return [][]string{args}
	}
	with := func(folder string) []string {
		return slices.Concat(args[:at], []string{folder}, args[at+1:])
	}
	tree, err := filepath.EvalSymlinks(filepath.Join(args[at], "public", "current"))
	if err != nil {
		return [][]string{args}
	}
	all := [][]string{with(tree)}
	place := filepath.Join(args[at], "corpus")
	if _, err := os.Stat(filepath.Join(place, record.RingFile)); err == nil {
		all = append(all, with(place))
	}
	return all
}
