package generator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
)

func specimenInput(t testing.TB, dir string) Input {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(),
		OutDir: filepath.Join(dir, "public"), PublicPools: true,
	}
}

// smallInput is a site of a few pages, for what a build does with files whatever is in them.
func smallInput(t testing.TB, dir string) Input {
	t.Helper()
	in := specimenInput(t, dir)
	in.outputs = only(small...)
	return in
}

var small = []string{"home", "menu", "menu_item", "what", "style"}

// only are the rows of the table whose names fit a pattern.
func only(patterns ...string) []pages.Output {
	return slices.DeleteFunc(pages.Table(), func(o pages.Output) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { fits, _ := path.Match(p, o.Name); return fits })
	})
}

func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
}

func mustBuild(t testing.TB, in Input) Report {
	t.Helper()
	r, err := Build(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTableIsComplete compares the table with the documents of the API.
func TestTableIsComplete(t *testing.T) {
	rows, err := pages.Prepare(pages.Table())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range api.Documents {
		if !slices.ContainsFunc(rows, func(o pages.Output) bool { return o.Name == d.Name }) {
			t.Errorf("nothing renders the document %s", d.Name)
		}
	}
}

func TestSpecimenVerifies(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	report := mustBuild(t, in)
	found, err := attest.VerifyTree(t.Context(), os.DirFS(in.OutDir), attest.PublicLayout(), in.Ring)
	if err != nil || len(found.Problems) > 0 {
		t.Fatalf("VerifyTree: %v, %v", err, found.Problems)
	}
	if found.Manifest.ContentDigest != in.Site.Digest || found.Manifest.Root.String() != report.Root {
		t.Errorf("manifest %+v does not belong to the build %+v", found.Manifest, report)
	}
	if n := len(readTree(t, in.OutDir)); n != report.Files {
		t.Errorf("%d files, %d reported", n, report.Files)
	}
}

// TestBuildIsReproducible builds twice with another number of workers, and once
// over a tree in which everything was meddled with.
func TestBuildIsReproducible(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.Workers = 1
	mustBuild(t, in)
	want := readTree(t, in.OutDir)
	other := in
	other.OutDir, other.Workers = filepath.Join(t.TempDir(), "public"), 7
	mustBuild(t, other)
	if d := diffTrees(want, readTree(t, other.OutDir)); d != "" {
		t.Errorf("another number of workers:\n%s", d)
	}

	meddle := func(name string, do func(string) error) {
		if err := do(filepath.Join(in.OutDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	meddle("index.html", func(f string) error { return os.WriteFile(f, []byte("other"), 0o644) })
	meddle("what.md", os.Remove)
	meddle("menu/hello", os.RemoveAll)
	meddle("problems", func(f string) error { return errors.Join(os.RemoveAll(f), os.WriteFile(f, nil, 0o644)) })
	meddle("llms.txt", func(f string) error {
		return errors.Join(os.Remove(f),
			os.MkdirAll(filepath.Join(f, "deep"), 0o755))
	})
	meddle("robots.txt", func(f string) error { return errors.Join(os.Remove(f), os.Symlink("index.html", f)) })
	meddle("extra/deep/file.html", func(f string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, []byte("x"), 0o644))
	})
	r := mustBuild(t, in)
	if d := diffTrees(want, readTree(t, in.OutDir)); d != "" {
		t.Errorf("after meddling:\n%s", d)
	}
	if info, err := os.Lstat(filepath.Join(in.OutDir, "robots.txt")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("robots.txt is still a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(in.OutDir, "extra")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder stays: %v", err)
	}
	if r.Deleted == 0 || r.Written == 0 || r.Written > 180 {
		t.Errorf("report %+v", r)
	}
	if again := mustBuild(t, in); again.Written != 0 || again.Deleted != 0 {
		t.Errorf("building the same again wrote: %+v", again)
	}
}

// sourceTree is a copy of the specimen's sources that can be edited.
func sourceTree(t *testing.T) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	err := fs.WalkDir(content.Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(content.Specimen, name)
		tree[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// kindsOfEdits is how many ways there are in which edit changes something.
const kindsOfEdits = 11

// edit changes something in one way and says what.
func edit(t *testing.T, rng *rand.Rand, src, observations fstest.MapFS, routes *[]api.Route, kind, step int) string {
	t.Helper()
	shelf := slices.DeleteFunc(slices.Sorted(maps.Keys(src)),
		func(n string) bool { return !strings.HasPrefix(n, "shelf/") })
	pages := slices.DeleteFunc(slices.Sorted(maps.Keys(src)),
		func(n string) bool { return !strings.HasPrefix(n, "pages/") })
	pick := func(names []string) string { return names[rng.IntN(len(names))] }
	set := func(name, body string) { src[name] = &fstest.MapFile{Data: []byte(body)} }
	get := func(name string) string { return string(src[name].Data) }
	switch kind {
	case 10:
		name := pick(shelf)
		set(name, regexp.MustCompile(`(?m)^price = .*`).ReplaceAllString(get(name),
			fmt.Sprintf(`price = "%d"`, 100+step)))
		return "price of " + name
	case 9:
		*routes = append(slices.Clone(*routes), api.Route{
			Name: fmt.Sprintf("route_%d", step), Method: "GET", Pattern: fmt.Sprintf("/api/step/%d/v1", step),
			Version: "v1", Summary: "A route of the test.", Tag: "agents", Serve: api.Metered,
			Responses: []api.Response{{Status: 200, Description: "Yes."}},
		})
		return "a route"
	case 0:
		name := pick(shelf)
		set(name, get(name)+fmt.Sprintf("\n\nA line of step %d.\n", step))
		return "body of " + name
	case 1:
		name := pick(shelf)
		set(name, strings.Replace(get(name), "description = \"", fmt.Sprintf("description = \"Step %d. ", step), 1))
		return "description of " + name
	case 2:
		name := pick(pages)
		set(name, get(name)+fmt.Sprintf("\n\nA line of step %d.\n", step))
		return "body of " + name
	case 3:
		name := pick(pages)
		set(name, strings.Replace(get(name), "summary = \"", fmt.Sprintf("summary = \"Step %d. ", step), 1))
		return "summary of " + name
	case 4:
		set("site.toml", strings.Replace(get("site.toml"), "tagline = \"", "tagline = \"So. ", 1))
		return "tagline"
	case 5:
		set("site.toml", strings.Replace(get("site.toml"), "keeper = \"", "keeper = \"M. ", 1))
		return "keeper"
	case 6:
		name := pick(shelf)
		if name == "shelf/hello.md" {
			return "nothing"
		}
		draws := regexp.MustCompile(`pool = "(.*)"`).FindStringSubmatch(get(name))
		delete(src, name)
		if draws == nil {
			return "removal of " + name
		}
		pool := draws[1]
		for _, other := range slices.Sorted(maps.Keys(src)) {
			if strings.Contains(get(other), "pool = \""+pool+"\"") {
				return "removal of " + name
			}
		}
		delete(src, "pools/"+pool+".toml")
		return "removal of " + name + " and its pool"
	case 7:
		name := pick(shelf)
		added := fmt.Sprintf("shelf/added_%d.md", step)
		lines := strings.Split(get(name), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "order = ") {
				lines[i] = fmt.Sprintf("order = %d", 1000+step)
			}
			if strings.HasPrefix(line, "name = ") && i < 4 {
				lines[i] = fmt.Sprintf("name = \"Copy %d\"", step)
			}
		}
		set(added, strings.Join(lines, "\n"))
		return "copy of " + name
	default:
		n := int64(len(observations)/2 + 1) // each with its file of words
		word, err := record.Say(strings.NewReader(fmt.Sprintf("%032d", n)), fmt.Sprintf("word%d", n))
		if err != nil {
			t.Fatal(err)
		}
		o := record.Observation{Number: n, At: "2026-11-20T09:00:00Z", Kind: record.ObservationRetiredWord, Word: &word,
			Epitaph: "It rests."}
		raw, err := record.SignObservation(o, attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Appendf(nil, `{"format":%q,"salt":"%s","text":%q}`+"\n", record.WordsFormat, word.Salt, word.Text)
		observations["words/"+word.SHA256+".json"] = &fstest.MapFile{Data: text}
		observations["observations/"+o.File()] = &fstest.MapFile{Data: raw}
		return "a retired word"
	}
}

// TestIncrementalEqualsFull walks through random edits, one of each kind, and compares, after every
// second one, the tree that was brought up to date with one made from nothing.
func TestIncrementalEqualsFull(t *testing.T) { incrementalEqualsFull(t, 1+kindsOfEdits) }

func TestSoakIncrementalEqualsFull(t *testing.T) {
	soak(t)
	incrementalEqualsFull(t, 40)
}

func incrementalEqualsFull(t *testing.T, steps int) {
	t.Helper()
	seed := uint64(20261120)
	rng := rand.New(rand.NewPCG(seed, 7))
	dir := t.TempDir()
	src, observations := sourceTree(t), fstest.MapFS{}
	var routes []api.Route
	partial, tried, compared := 0, 0, 0
	kinds := rng.Perm(kindsOfEdits)
	for step := range steps {
		before := copyOf(src)
		what := "the specimen"
		if step > 0 {
			what = edit(t, rng, src, observations, &routes, kinds[step%len(kinds)], step)
		}
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Logf("step %d, %s: %v", step, what, err)
			src = before // the edit made no site: it is taken back
			continue
		}
		in := Input{
			Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(), Corpus: observations, PublicPools: true,
			API: routes, OutDir: filepath.Join(dir, "public"), TwinsDir: filepath.Join(dir, "twins"),
			Cache: filepath.Join(dir, "record"),
		}
		report := mustBuild(t, in)
		tried++
		if step%2 == 1 && step < steps-1 {
			continue // what it left wrong stands there after the next edit too
		}
		full := in
		fresh := t.TempDir()
		full.OutDir, full.TwinsDir, full.Cache = filepath.Join(fresh, "public"), filepath.Join(fresh, "twins"), ""
		if step%8 != 6 {
			full.TwinsDir = "" // compressing everything takes most of a full build
		}
		whole := mustBuild(t, full)
		if d := diffTrees(readTree(t, full.OutDir), readTree(t, in.OutDir)); d != "" {
			t.Fatalf("seed %d, step %d, %s: incremental differs from full:\n%s", seed, step, what, d)
		}
		if full.TwinsDir != "" {
			if d := diffTrees(readTree(t, full.TwinsDir), readTree(t, in.TwinsDir)); d != "" {
				t.Fatalf("seed %d, step %d, %s: twins differ:\n%s", seed, step, what, d)
			}
		}
		if report.Files != whole.Files || report.Bytes != whole.Bytes || report.Root != whole.Root {
			t.Fatalf("step %d, %s: reports differ: %+v, %+v", step, what, report, whole)
		}
		compared++
		if report.Rendered < whole.Rendered/2 {
			partial++
		}
	}
	t.Logf("%d edits, after %d compared, %d of these rendered less than half", tried, compared, partial)
	if tried < steps*7/8 || compared < steps*3/8 || partial < compared/3 {
		t.Error("the test or the record does not work")
	}
}

func copyOf(m fstest.MapFS) fstest.MapFS {
	c := fstest.MapFS{}
	maps.Copy(c, m)
	return c
}

// TestBrokenRecordMeansFullBuild cuts and flips the record.
func TestBrokenRecordMeansFullBuild(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, dir)
	in.Cache = filepath.Join(dir, "var", "record")
	full := mustBuild(t, in)
	if r := mustBuild(t, in); r.Rendered != 0 {
		t.Fatalf("with a good record %d files were rendered", r.Rendered)
	}
	good, err := os.ReadFile(in.Cache)
	if err != nil {
		t.Fatal(err)
	}
	want := readTree(t, in.OutDir)
	for _, cut := range []int{0, 1, len(buildcache.Format), len(buildcache.Format) + 1, len(good) / 2, len(good) - 1} {
		if err := os.WriteFile(in.Cache, good[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		if r := mustBuild(t, in); r.Rendered != full.Rendered {
			t.Errorf("record cut at %d: %d files rendered, want %d", cut, r.Rendered, full.Rendered)
		}
	}
	head := attest.Digest(sha256.Sum256([]byte(want[attest.PublicLayout().Head()])))
	for i := range 200 {
		bad := bytes.Clone(good)
		bad[(i*7919)%len(bad)] ^= byte(1 + i)
		if err := os.WriteFile(in.Cache, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if buildcache.Open(in.Cache, head) != nil {
			t.Fatalf("a cache with a changed byte, %d, was taken", (i*7919)%len(bad))
		}
	}
	// Another head in the tree: the record is not for it.
	if err := os.WriteFile(filepath.Join(in.OutDir, attest.PublicLayout().Head()), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := mustBuild(t, in); r.Rendered != full.Rendered {
		t.Errorf("another head: %d files rendered, want %d", r.Rendered, full.Rendered)
	}
	if d := diffTrees(want, readTree(t, in.OutDir)); d != "" {
		t.Errorf("after broken records:\n%s", d)
	}
}

// TestPrivateTextFailsTheBuild lets a page of the keeper's repeat a private
// text, in plain words and in ways that escaping would hide.
func TestPrivateTextFailsTheBuild(t *testing.T) {
	const secret = `The lamp in the third window is lit for a ship that "came home" & left again in 1911.`
	for name, body := range map[string]string{
		"as it is":  "As told: " + secret,
		"a part":    "…" + secret[3:3+publish.LeakLength] + "…",
		"in a code": "`" + secret + "`",
	} {
		src := sourceTree(t)
		src["pages/what.md"] = &fstest.MapFile{Data: append(bytes.Clone(src["pages/what.md"].Data), "\n\n"+body+
			"\n"...)}
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatal(err)
		}
		pool := site.Pools["secrets"]
		pool.Entries = append(slices.Clone(pool.Entries), content.Entry{Digest: strings.Repeat("0", 64), Text: secret})
		site.Pools["secrets"] = pool
		in := smallInput(t, t.TempDir())
		in.Site = site
		in.PublicPools = false
		_, err = Build(t.Context(), in)
		if !errors.Is(err, publish.ErrPrivate) || !strings.Contains(err.Error(), "what") {
			t.Errorf("%s: Build: %v, want ErrPrivate naming the file", name, err)
		}
		in.PublicPools = true
		if _, err := Build(t.Context(), in); err != nil {
			t.Errorf("%s, pools public on purpose: %v", name, err)
		}
	}
	in := specimenInput(t, t.TempDir())
	in.PublicPools = false
	if _, err := Build(t.Context(), in); err != nil {
		t.Errorf("the specimen repeats one of its own pools: %v", err)
	}
}

// TestFailedBuildLeavesTheRecordUnfit fails a build of other content in the middle, and builds what
// was there before.
func TestFailedBuildLeavesTheRecordUnfit(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, dir)
	in.Cache = filepath.Join(dir, "record")
	mustBuild(t, in)
	want := readTree(t, in.OutDir)
	broken := in
	site := *in.Site
	site.Config.Tagline = "Another line, which the failed build writes into pages that it gets to."
	broken.Site = &site
	broken.outputs = append(slices.Clone(in.outputs), pages.Output{
		Name: "zz_broken", Files: []api.Representation{{MediaType: api.PlainText, Path: "zz.txt"}},
		Render: func(*pages.Source, pages.Unit, string, attest.Digest) ([]byte, error) {
			return nil, errors.New("no ink")
		},
	})
	if _, err := Build(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "no ink") {
		t.Fatalf("Build: %v", err)
	}
	mustBuild(t, in)
	if d := diffTrees(want, readTree(t, in.OutDir)); d != "" {
		t.Errorf("after a failed build:\n%s", d)
	}
}

func TestTwinsUncompressToTheirFiles(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, dir)
	in.TwinsDir = filepath.Join(dir, "twins")
	writeFile(t, filepath.Join(in.TwinsDir, strings.Repeat("0", 64)+".gz"), "stale")
	mustBuild(t, in)
	twins := readTree(t, in.TwinsDir)
	pairs := 0
	for name, body := range readTree(t, in.OutDir) {
		sum := attest.Digest(sha256.Sum256([]byte(body))).String()
		for _, ext := range []string{".gz", ".br"} {
			twin, ok := twins[sum+ext]
			if !ok {
				continue
			}
			pairs++
			if got := uncompress(t, ext, twin); got != body {
				t.Errorf("%s%s gives other bytes", name, ext)
			}
			if len(twin) >= len(body) {
				t.Errorf("%s%s does not save anything", name, ext)
			}
		}
	}
	if pairs < 200 {
		t.Errorf("only %d twins", pairs)
	}
	if _, ok := twins[strings.Repeat("0", 64)+".gz"]; ok {
		t.Error("a twin of nothing stays")
	}
}

// TestTwinsAfterAKilledBuild leaves of every twin what a build that was killed over it leaves.
func TestTwinsAfterAKilledBuild(t *testing.T) {
	in := smallInput(t, t.TempDir())
	in.TwinsDir = t.TempDir()
	mustBuild(t, in)
	want := readTree(t, in.TwinsDir)
	if len(want) < 6 {
		t.Fatalf("only %d twins", len(want))
	}
	in.OutDir, in.TwinsDir = filepath.Join(t.TempDir(), "public"), t.TempDir()
	for twin := range want {
		writeFile(t, filepath.Join(in.TwinsDir, "."+twin+".new"), "half of")
	}
	mustBuild(t, in)
	if d := diffTrees(want, readTree(t, in.TwinsDir)); d != "" {
		t.Errorf("after a killed build:\n%s", d)
	}
}

// TestNothingHoldsWhatIsUsedAgain writes over what a worker renders into as soon as its bytes were
// taken: whatever else held a part of that would show it in a page that is made later.
func TestNothingHoldsWhatIsUsedAgain(t *testing.T) {
	in, _ := recordInput(t, 40, 6)
	in.Workers = 4
	mustBuild(t, in)
	want := readTree(t, in.OutDir)
	in.outputs = pages.Table()
	spoil := func(b []byte) {
		b = b[:cap(b)]
		for i := range b {
			b[i] = '#'
		}
	}
	for i := range in.outputs {
		o := &in.outputs[i]
		if render := o.Render; render != nil {
			o.Render = func(s *pages.Source, u pages.Unit, mediaType string, made attest.Digest) ([]byte, error) {
				b, err := render(s, u, mediaType, made)
				b = bytes.Clone(b)
				spoil(u.Scratch.File)
				return b, err
			}
		}
	}
	in.OutDir, in.Cache = filepath.Join(t.TempDir(), "public"), ""
	mustBuild(t, in)
	if d := diffTrees(want, readTree(t, in.OutDir)); d != "" {
		t.Error(d)
	}
}
