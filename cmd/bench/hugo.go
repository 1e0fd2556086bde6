package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
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

// The templates of the peer's site say what our pages say: a line for each round, the terms of
// each, the same in Markdown and as JSON. What our pages say besides stands in for by as many
// bytes.
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

const hugoProse = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ .Title }} · {{ site.Title }}</title><meta name="description" content="{{ .Params.summary }}"><link rel="canonical" href="{{ .Permalink }}"></head><body><h1>{{ .Title }}</h1>
<p class="lede">{{ .Params.summary }}</p>
{{ .Content }}
<p>`

const hugoPageEnd = "</p></body></html>\n"

func hugoConfig(outputs ...string) string {
	return `baseURL = "https://bench.store.example/"
title = "bench"
disableKinds = ["taxonomy", "term", "rss", "sitemap", "robotstxt", "404", "section", "home"]
[outputFormats.twin]
mediaType = "text/markdown"
baseName = "index"
isPlainText = true
[outputs]
page = ["` + strings.Join(outputs, `", "`) + `"]
`
}

// hugoSite is a site of the peer's, of which each page has the files of one of ours.
type hugoSite struct {
	config  string
	content func(dir string) (sample string, err error) // writes the sources, and names one page of them
	// a kind of file each, up to where its words begin that stand in for ours
	templates map[string]string
	ends      map[string]string
	files     []string                             // of a page of the peer's, from its folder, in the order of kinds
	kinds     []string                             // the names of templates
	ours      func(public, sample string) []string // the same files of ours
}

// hostsInHugo are the pages of hosts.
func hostsInHugo(rec string) hugoSite {
	return hugoSite{
		config: hugoConfig("html", "json", "twin"), kinds: []string{"single.html", "single.json", "single.twin.md"},
		files: []string{"index.html", "index.json", "index.md"}, templates: map[string]string{"single.html": hugoPage,
			"single.json": hugoData, "single.twin.md": hugoTwin},
		ends:    map[string]string{"single.html": hugoPageEnd, "single.json": "\"}\n", "single.twin.md": "\n"},
		content: func(dir string) (string, error) { return hugoHosts(rec, filepath.Join(dir, "host")) },
		ours: func(public, sample string) []string {
			at := filepath.Join(public, "corpus", sample)
			return []string{at + "/index.html", at + ".json", at + "/index.md"}
		},
	}
}

// proseInHugo are pages of prose, from the very sources that ours are made from.
func proseInHugo(source string) hugoSite {
	return hugoSite{
		config: hugoConfig("html", "twin"), kinds: []string{"single.html", "single.twin.md"},
		files: []string{"index.html", "index.md"}, templates: map[string]string{"single.html": hugoProse,
			"single.twin.md": "# {{ .Title }}\n\n{{ .Params.summary }}\n\n{{ .RawContent }}\n"},
		ends: map[string]string{"single.html": hugoPageEnd, "single.twin.md": "\n"},
		content: func(dir string) (string, error) {
			return pageName(0), os.CopyFS(filepath.Join(dir, "notes"),
				os.DirFS(filepath.Join(source, "pages", "notes")))
		},
		ours: func(public, sample string) []string {
			return []string{filepath.Join(public, sample, "index.html"), filepath.Join(public, sample+".md")}
		},
	}
}

// openHosts sets a build of the pages of hosts against Hugo's, from the same rows, into files of
// the same sizes.
func openHosts(ctx context.Context, l *lab) (*contest, error) {
	rec, err := l.record(ctx, someHosts, recordWeeks)
	if err != nil {
		return nil, err
	}
	return l.againstHugo(ctx, "", rec, hostsInHugo(rec), someHosts)
}

// openPages sets a build of pages of prose against Hugo's, from the same sources, into files of the
// same sizes.
func openPages(ctx context.Context, l *lab) (*contest, error) {
	_, source, err := l.pagesSite(somePages)
	if err != nil {
		return nil, err
	}
	return l.againstHugo(ctx, source, "", proseInHugo(source), somePages)
}

// againstHugo sets our build of n pages against Hugo's. Both are processes of their own, from their
// start to their end.
func (l *lab) againstHugo(ctx context.Context, sources, rec string, h hugoSite, n int) (*contest, error) {
	hugo, err := hugoProgram(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("hugo")
	if err != nil {
		return nil, err
	}
	site := filepath.Join(dir, "site")
	sample, err := h.content(filepath.Join(site, "content"))
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, out string) error {
		cmd := exec.CommandContext(ctx, hugo, "--quiet", "--noBuildLock", "--source", site, "--destination", out,
			"--cacheDir", filepath.Join(dir, "cache"))
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("hugo: %w\n%s", err, said)
		}
		return nil
	}
	more := make([]int, len(h.kinds))
	if err := h.write(site, more); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "public")
	if err := run(ctx, out); err != nil {
		return nil, err
	}
	public, err := l.build(ctx, sources, rec)
	if err != nil {
		return nil, err
	}
	for i, name := range h.ours(public, sample) {
		ours, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		theirs, err := os.Stat(filepath.Join(out, sample, h.files[i]))
		if err != nil {
			return nil, err
		}
		more[i] = int(max(0, ours.Size()-theirs.Size()))
		fmt.Fprintf(os.Stderr, "a page's %s has %d bytes, of which Hugo writes %d as they are\n", h.files[i],
			ours.Size(), more[i])
	}
	if err := h.write(site, more); err != nil {
		return nil, err
	}
	rate := func(f func() error) (float64, error) {
		took, err := timed(f)
		return float64(n) / took, err
	}
	return &contest{
		ours: func(ctx context.Context) (float64, error) {
			return rate(func() error { _, err := l.build(ctx, sources, rec); return err })
		},
		peer: func(ctx context.Context) (float64, error) {
			out, err := l.place("hugo")
			if err != nil {
				return 0, err
			}
			return rate(func() error { return run(ctx, out) })
		},
	}, nil
}

// write writes the configuration and the templates, with so many bytes more in each kind of file.
func (h hugoSite) write(site string, more []int) error {
	layouts := filepath.Join(site, "layouts", "_default")
	if err := os.MkdirAll(layouts, 0o755); err != nil {
		return err
	}
	text := func(n int) string { return strings.Repeat("words that stand here. ", n/23+1)[:n] }
	for i, kind := range h.kinds {
		if err := os.WriteFile(filepath.Join(layouts, kind), []byte(h.templates[kind]+text(more[i])+h.ends[kind]),
			0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(site, "hugo.toml"), []byte(h.config), 0o644)
}

// hugoHosts writes a page for each host of a record, with its rows as data, and names one.
func hugoHosts(rec, dir string) (sample string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	keys, err := os.ReadFile(filepath.Join(rec, record.RingFile))
	if err != nil {
		return "", err
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		return "", err
	}
	r, err := record.Open(os.DirFS(rec), ring)
	if err != nil {
		return "", err
	}
	for h, err := range r.RawHistories() {
		if err != nil {
			return "", err
		}
		sample = "host/" + h.Host
		var rows []string
		for _, row := range h.Rows {
			rows = append(rows, string(row.Raw))
		}
		page := fmt.Appendf(nil, "{\n\"title\": %q,\n\"rows\": [%s]\n}\n\nWhat the record holds about **%s**, as it "+
			"was [signed](/corpus).\n", h.Host, strings.Join(rows, ",\n"), h.Host)
		if err := os.WriteFile(filepath.Join(dir, h.Host+".md"), page, 0o644); err != nil {
			return "", err
		}
	}
	return sample, nil
}
