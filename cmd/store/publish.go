package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator"

	"store.example/agentstore/generator/publish"
)

// runPublish commits the published tree and the record to a publication repository, signed by the
// git key, or puts the tree into an object store.
func runPublish(ctx context.Context, c *call) error {
	file := c.flags.String("config", "", "configuration file (default \"store.toml\"; where there is none, the "+
		"specimen in ./public is published)")
	branch := c.flags.String("branch", "main", "branch to commit to")
	message := c.flags.String("message", "publish", "commit message")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	endpoint := c.flags.String("endpoint", "", "of an object store: its URL (default $AWS_ENDPOINT_URL_S3, or else "+
		publish.DefaultEndpoint+")")
	region := c.flags.String("region", "", "of an object store: the bucket's (default $AWS_REGION, or asked for)")
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
	tree, err := shop.Tree(cfg)
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.flags.Arg(0), "s3:") {
		return c.publishBucket(ctx, in, tree, publish.BucketConfig{Address: c.flags.Arg(0),
			Endpoint: cmp.Or(*endpoint, os.Getenv("AWS_ENDPOINT_URL_S3")),
			Region:   cmp.Or(*region, os.Getenv("AWS_REGION"))}, *asJSON)
	}
	if *endpoint != "" || *region != "" {
		return because(errUsage, "-endpoint and -region are of an object store, s3://BUCKET")
	}
	key, err := shop.GitKey(cfg)
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
	report, err := publish.ToGit(ctx, publish.GitInput{
		Repo: c.flags.Arg(0), Branch: *branch, Folders: folders, Message: *message,
		Name: in.Site.Config.Keeper, Email: shop.GitEmail(in.Site), When: time.Now().UTC(),
		Signer: attest.NewSSHSigner(key), Site: in.Site, PublicPools: in.PublicPools, Corpus: in.Corpus, Ring: in.Ring,
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

// publishBucket puts the tree into a folder of an object store.
func (c *call) publishBucket(ctx context.Context, in generator.Input, tree string, to publish.BucketConfig,
	asJSON bool) error {
	b, err := publish.OpenBucket(to)
	if err != nil {
		return because(errUsage, "%w", err)
	}
	show, wipe := c.progress("publishing")
	report, err := publish.ToBucket(ctx, publish.BucketInput{Bucket: b, Tree: tree, Site: in.Site,
		PublicPools: in.PublicPools, Corpus: in.Corpus, Ring: in.Ring, Progress: show})
	wipe()
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(c.stdout).Encode(report)
	}
	fmt.Fprintf(c.stdout, "%s: %d files, %d sent (%d bytes), %d deleted\n", b.At(""), report.Files, report.Sent,
		report.Bytes, report.Deleted)
	if report.Left > 0 {
		fmt.Fprintf(c.stdout, "%d objects there are of no publication and were left alone\n", report.Left)
	}
	return nil
}
