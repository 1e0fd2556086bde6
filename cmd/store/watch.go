package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/generator"
)

// runWatch builds on every change into a folder of its own and shows the pages on a loopback
// address.
func runWatch(ctx context.Context, c *call) error {
	file := c.flags.String("config", "", "configuration file (default \"store.toml\"; where there is none, the "+
		"specimen's sources in ./content are watched)")
	listen := c.flags.String("listen", "127.0.0.1:4024", "loopback address on which the pages are shown")
	out := c.flags.String("out", filepath.Join("var", "watch"), "folder of the watcher's own for what it builds")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := siteConfig(file)
	if err != nil {
		return err
	}
	if *file == "" {
		if _, err := os.Stat(filepath.Join("content", "site.toml")); errors.Is(err, fs.ErrNotExist) {
			return errors.New("there is no content/site.toml here: run this in a site's folder or name its " +
				"configuration with -config")
		}
		cfg.Content = "content"
	}
	built, err := watchFolder(cfg, *out)
	if err != nil {
		return err
	}
	ln, err := listenAt("-listen", *listen)
	if err != nil {
		return err
	}
	folders := []string{cfg.Content}
	if cfg.Stock != "" {
		folders = append(folders, cfg.Stock)
	}
	fmt.Fprintf(c.stdout, "watching %v, pages at http://%s/ (Ctrl-C ends)\n", folders, ln.Addr())
	return generator.Watch(ctx, generator.WatchInput{
		Folders: folders, Listener: ln,
		Load: func(context.Context) (generator.Input, error) {
			in, err := shop.BuildInput(cfg)
			if err != nil {
				return in, err
			}
			in.OutDir, in.TwinsDir, in.Cache = built, "", built+".record.json"
			if *file == "" {
				in.PublicPools = true
			}
			return in, nil
		},
		Built: func(r generator.Report, err error) {
			if err != nil {
				fmt.Fprintf(c.stderr, "not built, the last good pages stay: %v\n", err)
				return
			}
			fmt.Fprintf(c.stdout, "built: %d rendered, %d written, %d deleted\n", r.Rendered, r.Written, r.Deleted)
		},
	})
}

// watchFolder is where the watcher builds. What it builds is not for the public, and a build
// removes what is not its own, so no folder that something else uses will do, nor one within it or
// around it.
func watchFolder(cfg *shop.Config, out string) (string, error) {
	dir, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	for _, used := range []struct{ key, path string }{
		{"content", cfg.Content}, {"stock", cfg.Stock}, {"public", cfg.Public}, {"record", cfg.Record},
		{"twins", cfg.Twins}, {"view", shop.ViewDir(cfg)}, {"verifier", cfg.Verifier},
	} {
		if used.path == "" {
			continue
		}
		path, err := filepath.Abs(used.path)
		if err != nil {
			return "", err
		}
		if within(dir, path) || within(path, dir) {
			return "", fmt.Errorf("-out %s meets %s, the folder %s of the configuration; hint: name an empty folder "+
				"beside it, or leave -out away", out, path, used.key)
		}
	}
	return dir, nil
}

// within reports whether one clean path is the other or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
