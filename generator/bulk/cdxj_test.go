package bulk

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/kept"
)

// TestKeysAreThoseOfOtherIndexers: the keys are those that the Internet Archive's program makes,
// whose tests have most of these.
func TestKeysAreThoseOfOtherIndexers(t *testing.T) {
	for address, want := range map[string]string{
		"http://www.archive.org/":                           "org,archive)/",
		"http://archive.org":                                "org,archive)/",
		"http://www34.archive.org/index.html?b=a&b=b&a=b":   "org,archive)/index.html?a=b&b=a&b=b",
		"http://www2foo.com/":                               "com,www2foo)/",
		"http://archive.org/goo/":                           "org,archive)/goo",
		"http://archive.org/goo/?":                          "org,archive)/goo",
		"http://archive.org/goo/?b&a":                       "org,archive)/goo?a&b",
		"http://archive.org/goo/?a=2&b&a=1":                 "org,archive)/goo?a=1&a=2&b",
		"https://www.archive.org:443/":                      "org,archive)/",
		"https://www.archive.org:80/":                       "org,archive:80)/",
		"http://www.google.com.../":                         "com,google)/",
		"http://evil.com/foo#bar#baz":                       "com,evil)/foo",
		"http://host.com//twoslashes?more//slashes":         "com,host)/twoslashes?more//slashes",
		"http://www.google.com/blah/..":                     "com,google)/",
		"http://host/%25%32%35":                             "host)/%25",
		"http://host/%2525252525252525":                     "host)/%25",
		"http://host.com/ab%23cd":                           "com,host)/ab%23cd",
		"http://example.com/foo?X=Y":                        "com,example)/foo?x=y",
		"http://195.127.0.11/%20%20/A":                      "11,0,127,195)/%20%20/a",
		"rpc:solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp":       "rpc:solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
		"https://u:p@almanac.mill.street/paid":              "street,mill,almanac)/paid",
		"http://y.com/v.gif?&r=http%3A//a.org/&b=N%205%3Bc": "com,y)/v.gif?&b=n%205;c&r=http://a.org/",
	} {
		if got := surt(target(address)); got != want {
			t.Errorf("%s has key %s, want %s", address, got, want)
		}
	}
}

// hostileURLs are urls that a door or a catalogue may have given.
var hostileURLs = []string{
	"https://a.example/x y\"z'<>\\^`{|}",
	"https://a.example/\r\nWARC-Type: response\r\n\r\n{\"a\":1}",
	"https://a.example/\n\nWARC/1.1\r\nContent-Length: 0",
	"https://a.example/?q=\" 20261116060020 {\"url\":\"x\"}\ncom,example)/ 1 {}",
	"https://b\u00fccher.example/\u2028\u0085\u00a0\u2603?\u00fc",
	"https://a.example/%0d%0aX: y/%zz/100%",
	"https://a.example/" + strings.Repeat("\u2603", 847),
	"https://a.example/" + strings.Repeat("%25", 847),
	"https://a.example/\x00\x07\x7f\t",
	"https://a.example:99999999/", "https://[::1/", "https://a b.example/", "://", "", "\n", "%", "/paid", "a b",
}

// TestHostileURLs: no url ends a field or a line, or makes a record that cannot be read.
func TestHostileURLs(t *testing.T) {
	const week = "2026-W47"
	dir := t.TempDir()
	var blocks []string
	fillArchive(t, dir, week, func(a *archive) {
		for i, address := range hostileURLs {
			spelt, err := json.Marshal(address)
			if err != nil {
				t.Fatal(err)
			}
			lines := []string{fmt.Sprintf("{\"format\":\"f\",\"url\":%s}\n", spelt), fmt.Sprintf(
				"{\"url\":%s,\"started_at\":\"2026-11-16T06:00:20Z\",\"status\":402}\n", spelt)}
			blocks = append(blocks, lines...)
			k := kept.Judgement{EvidenceEntry: record.EvidenceEntry{SHA256: fmt.Sprintf("%064d", i)}, Signed: "x"}
			if err := a.add(k, []byte(strings.Join(lines, ""))); err != nil {
				t.Errorf("%q: %v", address, err)
			}
		}
	})
	records := warcRecords(t, filepath.Join(dir, evidenceName(week, endingWARC)))
	if len(records) != len(blocks)+1 {
		t.Fatalf("%d records of %d lines", len(records), len(blocks))
	}
	known := []string{"WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Warcinfo-ID", "WARC-Target-URI",
		"WARC-Concurrent-To", "Store-Evidence-Digest", "Store-Evidence-Line", "Store-Signed-In", "WARC-Block-Digest",
		"Content-Type", "Content-Length"}
	targets := 0
	for i, r := range records[1:] {
		if string(r.block) != blocks[i] {
			t.Errorf("block %d is %q, want %q", i, r.block, blocks[i])
		}
		for _, f := range *r.WarcHeader() {
			if !slices.Contains(known, f.Name) || len(r.WarcHeader().GetAll(f.Name)) != 1 {
				t.Errorf("of %q there is a field %s: %q", hostileURLs[i/2], f.Name, f.Value)
			}
		}
		if r.WarcHeader().Has("WARC-Target-URI") {
			targets++
		}
	}
	if lines := checkIndex(t, dir, week); lines != targets || targets != 2*8 {
		t.Errorf("%d lines of %d targets", lines, targets)
	}
}

// fillArchive writes the files of a round that add fills.
func fillArchive(t testing.TB, dir, week string, add func(*archive)) {
	t.Helper()
	w := writer{work: dir}
	err := w.archive(evidencePart{round: record.Round{Origin: "store.example/corpus", Week: week,
		TakenAt: "2026-11-22T00:00:00Z"}}, func(a *archive) error { add(a); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestEvidenceThatIsNoneIsRefused(t *testing.T) {
	fillArchive(t, t.TempDir(), "2026-W47", func(a *archive) {
		for _, raw := range []string{"", "\n", "{}\n", "{\"url\":\"https://a.example/\"}\n", "{}\n{}\n",
			"{}\n{\"started_at\":\"2026-11-16T06:00:20Z\\r\\nX: y\"}\n", "{}\n{\"started_at\":\"2026-11-16\"}\n",
			"{}\nx\n",
			"{}\n{\"started_at\":\"2026-11-16T06:00:20Z\"}\n{\"url\":1}\n"} {
			if err := a.add(kept.Judgement{}, []byte(raw)); err == nil {
				t.Errorf("%q is taken for evidence", raw)
			}
		}
	})
}

// TestLongStockIndexer: warcio.js, which Webrecorder's programs read archives with, reads each
// record and makes the index that is there, but for the digests and statuses of what it takes for
// files.
func TestLongStockIndexer(t *testing.T) {
	script, err := filepath.Abs(filepath.Join("testdata", "warcio", "read.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	modules := npmtest.Packages(t)
	w, dir := judgedRecord(t, 1), t.TempDir()
	week := write(t, w, dir).Week
	name := filepath.Join(dir, evidenceName(week, endingWARC))
	cmd := exec.CommandContext(t.Context(), npmtest.Node(t), script, name)
	cmd.Dir = filepath.Dir(modules)
	raw, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	var got struct {
		Index  []string
		Blocks []string
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	var blocks []string
	for _, r := range warcRecords(t, name) {
		blocks = append(blocks, string(r.block))
	}
	if diff := cmp.Diff(blocks, got.Blocks); diff != "" {
		t.Errorf("blocks (-ours +theirs):\n%s", diff)
	}
	slices.Sort(got.Index)
	theirs, ours := cdxjLines(t, []byte(strings.Join(got.Index, "\n")+"\n")),
		cdxjLines(t, read(t, dir, evidenceName(week, endingCDXJ)))
	for _, lines := range [][]cdxjLine{theirs, ours} {
		for _, l := range lines {
			delete(l.fields, "digest")
			delete(l.fields, "status")
		}
		slices.SortFunc(lines, func(a, b cdxjLine) int { return int(a.offset - b.offset) })
	}
	if diff := cmp.Diff(ours, theirs, cmp.AllowUnexported(cdxjLine{})); diff != "" {
		t.Errorf("index (-ours +theirs):\n%s", diff)
	}
}
