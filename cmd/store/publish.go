package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator"
)

// runPublish commits the published tree and the record to a publication repository, signed by the
// git key.
func runPublish(ctx context.Context, c *call) error {
	file := c.flags.String("config", "", "configuration file (default \"store.toml\"; where there is none, the "+
		"specimen in ./public is published)")
	branch := c.flags.String("branch", "main", "branch to commit to")
	message := c.flags.String("message", "publish", "commit message")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	if err := c.parse(1, 1); err != nil {
		return err
	}
	cfg, err := siteConfig(file)
	if err != nil {
		return err
	}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		return err
	}
	key, err := shop.GitKey(cfg)
	if err != nil {
		return err
	}
	tree, err := shop.Tree(cfg)
	if err != nil {
		return err
	}
	folders := map[string]string{"public": tree}
	if cfg.Record != "" {
		for _, part := range []string{"evidence", "keys", "log", "manifest", "manifest.cosignatures.json",
			"manifest.json", "observations", "proofs", "rounds", "words"} {
			at := filepath.Join(cfg.Record, part)
			if _, err := os.Stat(at); err == nil {
				folders["corpus/"+part] = at
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	report, err := generator.Publish(ctx, generator.PublishInput{
		Repo: c.flags.Arg(0), Branch: *branch, Folders: folders, Message: *message,
		Name: in.Site.Config.Keeper, Email: shop.GitEmail(in.Site), When: time.Now().UTC(),
		Signer: attest.NewGitSigner(key), Site: in.Site, PublicPools: in.PublicPools, Corpus: in.Corpus, Ring: in.Ring,
	})
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	signers, err := attest.AllowedSigners(shop.GitEmail(in.Site), in.Ring)
	if err != nil {
		return err
	}
	if report.Unchanged {
		fmt.Fprintf(c.stdout, "%s: nothing to publish, %s is up to date\n", c.flags.Arg(0), report.Commit)
		return nil
	}
	fmt.Fprintf(c.stdout, "%s: commit %s, %d files, %d changed, %d deleted\nA clone is checked with: git -c "+
		"gpg.ssh.allowedSignersFile=FILE verify-commit HEAD, where FILE holds\n%s",
		c.flags.Arg(0), report.Commit, report.Files, report.Changed, report.Deleted, signers)
	return nil
}
