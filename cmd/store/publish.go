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
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/generator"
	"store.example/agentstore/generator/publish"
)

// runPublish commits the published tree and the record to a publication repository, signed by the
// git key, or puts the tree into an object store, and then gives mirrors the log.
func runPublish(ctx context.Context, c *call) error { return publishReaching(ctx, c, nil) }

// publishReaching is runPublish with another way to mirrors.
func publishReaching(ctx context.Context, c *call, reach func(*fetch.Config)) error {
	file := c.flags.String("config", "", "configuration file (default \"store.toml\"; where there is none, the "+
		"specimen in ./public is published)")
	branch := c.flags.String("branch", "main", "branch to commit to")
	message := c.flags.String("message", "publish", "commit message")
	asJSON := c.flags.Bool("json", false, "print the report as JSON")
	var urls []string
	c.flags.Func("mirror", "submission prefix (`URL`) of a mirror of the configuration ([[witness]] with "+
		"mirror = true) that is given the record's log when the publication is done; may be given several times",
		func(v string) error {
			urls = append(urls, v)
			return nil
		})
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
	mirrors, err := cfg.Mirrors(urls)
	if err != nil {
		return because(errUsage, "%w", err)
	}
	to := mirroring{call: c, cfg: cfg, mirrors: mirrors, asJSON: *asJSON, reach: reach}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		return err
	}
	tree, err := shop.Tree(cfg)
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.flags.Arg(0), "s3:") {
		return to.publishBucket(ctx, in, tree, publish.BucketConfig{Address: c.flags.Arg(0),
			Endpoint: cmp.Or(*endpoint, os.Getenv("AWS_ENDPOINT_URL_S3")),
			Region:   cmp.Or(*region, os.Getenv("AWS_REGION"))})
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
	signers, err := attest.AllowedSigners(shop.GitEmail(in.Site), in.Ring)
	if err != nil {
		return err
	}
	return to.tell(ctx, report, func() {
		if report.Unchanged {
			fmt.Fprintf(c.stdout, "%s: nothing to publish, %s is up to date\n", c.flags.Arg(0), report.Commit)
			return
		}
		fmt.Fprintf(c.stdout, "%s: commit %s, %d files, %d changed, %d deleted\nA clone is checked with: git -c "+
			"gpg.ssh.allowedSignersFile=FILE verify-commit HEAD, where FILE holds\n%s",
			c.flags.Arg(0), report.Commit, report.Files, report.Changed, report.Deleted, signers)
	})
}

// mirroring is what comes behind a publication.
type mirroring struct {
	*call
	cfg     *shop.Config
	mirrors []shop.WitnessConfig
	asJSON  bool
	reach   func(*fetch.Config)
}

// tell says what was published, gives the mirrors the log and says what they answered: as JSON, a
// line for each of the two. The answer is no (exit code 3) where a mirror does not sign that it
// holds the log; what was published is.
func (m mirroring) tell(ctx context.Context, report any, plainly func()) error {
	lines := json.NewEncoder(m.stdout)
	if !m.asJSON {
		plainly()
	} else if err := lines.Encode(report); err != nil {
		return err
	}
	if len(m.mirrors) == 0 {
		return nil
	}
	held, err := shop.Mirror(ctx, m.cfg, m.mirrors, shop.Outside{Log: m.logger, Reach: m.reach})
	if err != nil {
		return err
	}
	if !m.asJSON {
		m.printWitnessed(held)
	} else if err := lines.Encode(held); err != nil {
		return err
	}
	if refused(held) || held.Signed < len(held.By) {
		return errNo
	}
	return nil
}

// publishBucket puts the tree into a folder of an object store.
func (m mirroring) publishBucket(ctx context.Context, in generator.Input, tree string,
	to publish.BucketConfig) error {
	b, err := publish.OpenBucket(to)
	if err != nil {
		return because(errUsage, "%w", err)
	}
	show, wipe := m.progress("publishing")
	report, err := publish.ToBucket(ctx, publish.BucketInput{Bucket: b, Tree: tree, Site: in.Site,
		PublicPools: in.PublicPools, Corpus: in.Corpus, Ring: in.Ring, Progress: show})
	wipe()
	if err != nil {
		return err
	}
	return m.tell(ctx, report, func() {
		fmt.Fprintf(m.stdout, "%s: %d files, %d sent (%d bytes), %d deleted\n", b.At(""), report.Files, report.Sent,
			report.Bytes, report.Deleted)
		if report.Left > 0 {
			fmt.Fprintf(m.stdout, "%d objects there are of no publication and were left alone\n", report.Left)
		}
	})
}
