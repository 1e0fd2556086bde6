package generator

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// syntheticGoods gives a site n goods with prose of their own.
func syntheticGoods(tb testing.TB, n int) Input {
	tb.Helper()
	in := specimenInput(tb, tb.TempDir())
	model, ok := in.Site.Good("pet_rock")
	if !ok {
		tb.Fatal("no pet_rock")
	}
	in.Site.Goods = slices.DeleteFunc(in.Site.Goods, func(g content.Good) bool { return g.ID != "hello" })
	for i := range n - 1 {
		g := model
		g.ID, g.Name, g.Order = fmt.Sprintf("thing_%06d", i), fmt.Sprintf("Thing %d", i), 1000+i
		g.Kind = content.KindGreeting
		g.Body = strings.Repeat(fmt.Sprintf("Thing %d is a good thing, and *this* is what is said of it. ", i), 12)
		in.Site.Goods = append(in.Site.Goods, g)
	}
	return in
}

// host is a family of pages like those of the record: three files each, each
// page a function of its own digest alone.
func host(n int, changed func(i int) int) output {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("host-%06d.example", i)
	}
	paragraph := strings.Repeat("This door was seen on a day of that week and answered as it says below. ", 20)
	return output{
		name: "host",
		files: []api.Representation{
			{MediaType: api.HTML, Path: "host/{host}/index.html"},
			{MediaType: api.Markdown, Path: "host/{host}/index.md"}, {MediaType: api.JSON, Path: "host/{host}.json"},
		},
		keys: func(*source) []string { return keys },
		deps: func(_ *source, i int, d *digester) { d.text(keys[i]); d.number(int64(changed(i))) },
		render: func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
			return fmt.Appendf(nil, "%s %s %d\n%s%s", u.key, mediaType, changed(u.at), made, paragraph), nil
		},
	}
}

// BenchmarkOneChangedPage asks what one changed page among 100,000 costs beside
// the full build.
func BenchmarkOneChangedPage(b *testing.B) {
	var version atomic.Int64
	in := specimenInput(b, b.TempDir())
	in.outputs = append(table(), host(100_000, func(i int) int {
		if i == 77_777 {
			return int(version.Load())
		}
		return 0
	}))
	in.Record = filepath.Join(b.TempDir(), "record")
	start := time.Now()
	mustBuild(b, in)
	full := time.Since(start)
	var changes []time.Duration
	for b.Loop() {
		version.Add(1)
		start := time.Now()
		if r := mustBuild(b, in); r.Rendered != 3 {
			b.Fatalf("%d files rendered, want 3", r.Rendered)
		}
		changes = append(changes, time.Since(start))
	}
	b.ReportMetric(full.Seconds(), "full-s")
	b.ReportMetric(median(changes).Seconds()*1000, "change-ms")
	b.ReportMetric(100*median(changes).Seconds()/full.Seconds(), "percent")
}

// BenchmarkPublish asks what publishing 30,000 files takes beside git add and
// git commit, in alternating runs.
func BenchmarkPublish(b *testing.B) {
	in := syntheticGoods(b, 10_000)
	mustBuild(b, in)
	var ours, gits []time.Duration
	for b.Loop() {
		bare, tree := b.TempDir(), b.TempDir()
		gitRun(b, bare, "init", "-q", "--bare", "-b", "main")
		start := time.Now()
		r, err := Publish(b.Context(), publishInput(bare, in.OutDir))
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		if r.Files < 30_000 {
			b.Fatalf("%d files", r.Files)
		}
		gitRun(b, tree, "init", "-q", "-b", "main")
		if err := os.CopyFS(filepath.Join(tree, "public"), os.DirFS(in.OutDir)); err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		gitRun(b, tree, "add", "-A")
		gitRun(b, tree, "commit", "-q", "-m", "all")
		gits = append(gits, time.Since(start))
	}
	b.ReportMetric(median(ours).Seconds(), "publish-s")
	b.ReportMetric(median(gits).Seconds(), "git-s")
	b.ReportMetric(median(ours).Seconds()/median(gits).Seconds(), "ratio")
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
