package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agentstore/corpus/attest"
	"agentstore/corpus/record"
)

// hugoVersion is the peer's. It is built once from its module and kept in the user's cache.
const hugoVersion = "v0.160.0"

func hugoProgram(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "store-bench", "hugo-"+strings.TrimPrefix(hugoVersion, "v"))
	program := filepath.Join(bin, "hugo")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintln(os.Stderr, "building Hugo, once")
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/gohugoio/hugo@"+hugoVersion)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOBIN="+bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building Hugo: %w\n%s", err, out)
	}
	return program, nil
}

// The templates of the peer's site say what our pages say: a line for each round, the terms of each, the same in
// Markdown and as JSON. What our pages say besides stands in for by as many bytes.
const hugoPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ .Title }}</title><link rel="canonical" href="{{ .Permalink }}"></head><body><h1>{{ .Title }}</h1>
<p>{{ len .Params.rows }} rounds.</p>{{ .Content }}
<table><thead><tr><th>Week<th>Round<th>Verdict<th>Level<th>Failed<th>Seen</tr></thead><tbody>
{{ range .Params.rows }}<tr><td>{{ .week }}<td>{{ .sequence }}<td>{{ .verdict }}<td>{{ .reached_level }}<td>{{ delimit .failed ", " }}<td>{{ .observed_at }}<td>{{ with .offer }}{{ .min_usdc }} to {{ .max_usdc }} on {{ delimit .networks ", " }}{{ range .pay_to }} <code>{{ .digest }}</code>{{ end }}{{ end }}</tr>
{{ end }}</tbody></table><p>`

const hugoTwin = `# {{ .Title }}

{{ .RawContent }}

| Week | Round | Verdict | Level | Seen |
|---|---|---|---|---|
{{ range .Params.rows }}| {{ .week }} | {{ .sequence }} | {{ .verdict }} | {{ .reached_level }} | {{ .observed_at }} |
{{ end }}
`

const hugoData = `{"host":{{ .Title | jsonify }},"rows":{{ .Params.rows | jsonify }},"more":"`

const hugoConfig = `baseURL = "https://bench.store.example/"
title = "bench"
disableKinds = ["taxonomy", "term", "rss", "sitemap", "robotstxt", "404", "section", "home"]
[outputFormats.twin]
mediaType = "text/markdown"
baseName = "index"
isPlainText = true
[outputs]
page = ["html", "json", "twin"]
`

// openHugo sets a build of the pages of hosts against Hugo's, from the same rows, into files of the same sizes.
func openHugo(ctx context.Context, l *lab) (*contest, error) {
	record, err := l.record(ctx, someHosts)
	if err != nil {
		return nil, err
	}
	hugo, err := hugoProgram(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("hugo")
	if err != nil {
		return nil, err
	}
	// The sizes of our files of one host, as good as any other's.
	first := ""
	site := filepath.Join(dir, "site")
	if err := hugoContent(record, filepath.Join(site, "content", "host"), func(host string) { first = host }); err != nil {
		return nil, err
	}
	_, public, err := l.build(ctx, record)
	if err != nil {
		return nil, err
	}
	want, err := fileSizes(filepath.Join(public, "corpus", "host"), first+"/index.html", first+".json", first+"/index.md")
	if err != nil {
		return nil, err
	}
	if err := hugoTemplates(site, [3]int{}); err != nil {
		return nil, err
	}
	run := func(ctx context.Context, out string) error {
		return runHugo(ctx, hugo, "--source", site, "--destination", out, "--cacheDir", filepath.Join(dir, "cache"))
	}
	out := filepath.Join(dir, "public")
	if err := run(ctx, out); err != nil {
		return nil, err
	}
	more, err := fileSizes(filepath.Join(out, "host", first), "index.html", "index.json", "index.md")
	if err != nil {
		return nil, err
	}
	for i := range more {
		more[i] = max(0, want[i]-more[i])
	}
	fmt.Fprintf(os.Stderr, "a host has files of %d bytes (HTML, JSON, Markdown), of which Hugo writes %d as they are\n", want, more)
	if err := hugoTemplates(site, more); err != nil {
		return nil, err
	}
	return &contest{
		ours: l.hostsPerSecond(record, someHosts),
		peer: func(ctx context.Context) (float64, error) {
			out, err := l.place("hugo")
			if err != nil {
				return 0, err
			}
			took, err := timed(func() error { return run(ctx, out) })
			return someHosts / took, err
		},
	}, nil
}

func runHugo(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"--quiet", "--noBuildLock"}, args...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("hugo: %w\n%s", err, said)
	}
	return nil
}

// fileSizes are the sizes of a host's three files in a folder.
func fileSizes(dir string, names ...string) (sizes [3]int, err error) {
	for i, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return sizes, err
		}
		sizes[i] = int(info.Size())
	}
	return sizes, nil
}

// hugoContent writes a page for each host of a record, with its rows as data.
func hugoContent(rec, dir string, seen func(host string)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	keys, err := os.ReadFile(filepath.Join(rec, record.RingFile))
	if err != nil {
		return err
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		return err
	}
	r, err := record.Open(os.DirFS(rec), ring)
	if err != nil {
		return err
	}
	for h, err := range r.RawHistories() {
		if err != nil {
			return err
		}
		seen(h.Host)
		var rows []string
		for _, row := range h.Rows {
			rows = append(rows, row.Text)
		}
		page := fmt.Appendf(nil, "{\n\"title\": %q,\n\"rows\": [%s]\n}\n\nWhat the record holds about **%s**, as it was [signed](/corpus).\n", h.Host, strings.Join(rows, ",\n"), h.Host)
		if err := os.WriteFile(filepath.Join(dir, h.Host+".md"), page, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hugoTemplates writes the site's templates, with so many bytes more in each kind of file.
func hugoTemplates(site string, more [3]int) error {
	layouts := filepath.Join(site, "layouts", "_default")
	if err := os.MkdirAll(layouts, 0o755); err != nil {
		return err
	}
	text := func(n int) string { return strings.Repeat("words that stand here. ", n/23+1)[:n] }
	for name, body := range map[string]string{
		filepath.Join(site, "hugo.toml"):         hugoConfig,
		filepath.Join(layouts, "single.html"):    hugoPage + text(more[0]) + "</p></body></html>\n",
		filepath.Join(layouts, "single.json"):    hugoData + text(more[1]) + "\"}\n",
		filepath.Join(layouts, "single.twin.md"): hugoTwin + text(more[2]) + "\n",
	} {
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
			return err
		}
	}
	return nil
}
