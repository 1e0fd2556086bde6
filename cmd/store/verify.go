package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/record"
)

// runVerify checks a clone or a bundle, or makes one, as the binary verify does. A keeper's folder
// is no clone: of it what is served is checked, and then the record.
func runVerify(ctx context.Context, c *call) error {
	code := kit.ExitVerified
	for _, args := range halves(c.args) {
		if code = kit.Run(ctx, "store verify", judge.Batteries{}, args, c.stdout, c.stderr); code != kit.ExitVerified {
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

// halves is what is to be verified: the arguments as they are, or, where they end in a keeper's
// folder, once with its published tree and once with its record, if it has begun.
func halves(args []string) [][]string {
	ofRecord := func(a string) bool {
		name := strings.TrimLeft(a, "-")
		return name != a && (strings.HasPrefix(name, "export") || strings.HasPrefix(name, "proof"))
	}
	if len(args) == 0 || slices.ContainsFunc(args, ofRecord) {
		return [][]string{args}
	}
	flags, dir := args[:len(args)-1], args[len(args)-1]
	if _, err := os.Stat(filepath.Join(dir, "store.toml")); err != nil {
		return [][]string{args}
	}
	tree, err := filepath.EvalSymlinks(filepath.Join(dir, "public", "current"))
	if err != nil {
		return [][]string{args}
	}
	all := [][]string{append(slices.Clone(flags), tree)}
	if _, err := os.Stat(filepath.Join(dir, "corpus", record.RingFile)); err == nil {
		all = append(all, append(slices.Clone(flags), filepath.Join(dir, "corpus")))
	}
	return all
}
