package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/generator"
	"store.example/agentstore/generator/tree"

	"github.com/schollz/progressbar/v3"
)

// specimenConfig is what is built without a configuration: the specimen of this repository, at its
// one fixed address.
func specimenConfig() (*shop.Config, error) {
	c := &shop.Config{Public: "public", Record: "corpus", Twins: filepath.Join("var", "twins"),
		Keys: shop.KeysConfig{Identity: "specimen", Ring: "specimen", Log: "specimen"}}
	site, err := shop.LoadSpecimen()
	if err != nil {
		return nil, err
	}
	c.BaseURL = site.Config.BaseURL
	return c, nil
}

// siteConfig loads the configuration of a verb that needs one: the named one, or the store.toml of
// the folder, as the other verbs do. Only where there is none is it the specimen's, and file is "":
// nobody's site may become the specimen by a word left out.
func siteConfig(file *string) (*shop.Config, error) {
	if *file == "" {
		if _, err := os.Stat(ownConfig); errors.Is(err, fs.ErrNotExist) {
			if entries, err := os.ReadDir("."); err == nil && len(entries) == 0 {
				return nil, because(errUsage, "this folder is empty: store init DIR makes a shop, and its folder "+
					"is where it is built")
			}
			return specimenConfig()
		}
		*file = ownConfig
	}
	return shop.Load(*file)
}

// ownConfig is the configuration of a keeper's folder, as store init makes it.
const ownConfig = "store.toml"

// runBuild renders content into public.
func runBuild(ctx context.Context, c *call) error {
	file := c.flags.String("config", "", "configuration file (default \"store.toml\"; where there is none, the "+
		"specimen is built into ./public)")
	out := c.flags.String("out", "", "build one tree into this folder, in place, instead of the configured one")
	beside := c.flags.Bool("tree", false, "build a new tree beside the current one and move the pointer to it, as it "+
		"is done anyway for a configured site")
	full := c.flags.Bool("full", false, "ignore the record of the last build")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	verifier := c.flags.String("verifier", "", "folder with the verifier for browsers, as make verifier makes it, "+
		"instead of the configured one")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := siteConfig(file)
	if err != nil {
		return err
	}
	if *out != "" {
		cfg.Public = *out
	}
	if *verifier != "" {
		cfg.Verifier = *verifier
	}
	if n, err := shop.ExportObservations(ctx, cfg); err != nil {
		return err
	} else if n > 0 && !*asJSON {
		fmt.Fprintf(c.stdout, "%s: %d new observations on the record\n", shop.ObservationsDir(cfg), n)
	}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		return err
	}
	in.Full = *full
	if _, err := tree.Current(cfg.Public); err == nil || *file != "" && *out == "" {
		*beside = true
	}
	if err := shop.KeepSources(cfg, in.Site); err != nil {
		return err
	}
	built, report, err := c.build(ctx, in, cfg.Public, *beside)
	if err != nil {
		return err
	}
	if err := shop.SweepSources(cfg); err != nil {
		return err
	}
	// The pages of a new round come first, so that whatever an answer cites can be read.
	if err := shop.BuildView(ctx, cfg); err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	fmt.Fprintf(c.stdout, "%s: %d files, %d rendered, %d written, %d deleted, root %s\n",
		built, report.Files, report.Rendered, report.Written, report.Deleted, report.Root)
	return nil
}

// build builds into a folder, or a tree beside the one that a pointer leads to, and returns where
// the files are.
func (c *call) build(ctx context.Context, in generator.Input, public string, beside bool) (string, generator.Report,
	error) {
	show, done := c.progress("building")
	defer done()
	in.Progress = show
	if beside {
		t, err := generator.BuildTree(ctx, in, public)
		return t.Dir, t.Report, err
	}
	report, err := generator.Build(ctx, in)
	return public, report, err
}

// progress returns what shows a bar on a person's terminal, nil elsewhere, and what wipes it.
func (c *call) progress(what string) (show func(done, total int), wipe func()) {
	if !isTerminal(c.stderr) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	var drawing sync.Mutex
	show = func(done, total int) {
		drawing.Lock()
		defer drawing.Unlock()
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr),
				progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish())
		}
		bar.ChangeMax(max(total, 1))
		_ = bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
	return show, func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
}
