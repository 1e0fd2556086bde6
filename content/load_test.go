package content

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// specimen copies the specimen into a file system that a test may damage.
func specimen(t *testing.T) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(Specimen, name)
		m[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func load(t *testing.T) *Site {
	t.Helper()
	s, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// edit replaces the first occurrence of old, which must be there.
func edit(t *testing.T, m fstest.MapFS, file, old, new string) {
	t.Helper()
	f, ok := m[file]
	if !ok || !strings.Contains(string(f.Data), old) {
		t.Fatalf("%s does not contain %q", file, old)
	}
	m[file] = &fstest.MapFile{Data: []byte(strings.Replace(string(f.Data), old, new, 1))}
}

func TestLoadRefusesWhatIsMalformed(t *testing.T) {
	const entry = "[[entry]]\n"
	tests := []struct {
		name           string
		file, old, new string // new file if old is empty
		want           string // in the error, with file and line
	}{
		{"unknown key", "shelf/hello.md", "kind =", "colour = \"red\"\nkind =", `shelf/hello.md:4: unknown key colour`},
		{"key in another case", "shelf/hello.md", "kind =", "Kind =", `shelf/hello.md:4: unknown key Kind`},
		{"key twice", "shelf/hello.md", "kind =", "name = \"Again\"\nkind =", "shelf/hello.md:4: "},
		{"unknown key in a table", "shelf/hello.md", "attests =", "atests =",
			"shelf/hello.md:17: unknown key certificate.atests"},
		{"not TOML", "shelf/hello.md", "order = 10", "order = ten", "shelf/hello.md:5: "},
		{"wrong type", "shelf/hello.md", "order = 10", `order = "10"`, "shelf/hello.md"},
		{"no front matter", "shelf/hello.md", "+++\n", "", "shelf/hello.md:1: front matter"},
		{"front matter not closed", "shelf/hello.md", "\n+++\n", "\n", "shelf/hello.md:1: front matter"},
		{"price of nothing", "shelf/hello.md", `"0.5"`, `"0"`, "shelf/hello.md:6: price: must be more than 0"},
		{"price with seven decimals", "shelf/hello.md", `"0.5"`, `"0.0000001"`, "shelf/hello.md:6: price:"},
		{"negative price", "shelf/hello.md", `"0.5"`, `"-1"`, "shelf/hello.md:6: price:"},
		{"unknown kind", "shelf/hello.md", `"greeting"`, `"shouting"`, `shelf/hello.md:4: kind: "shouting" is none of`},
		{"unknown fulfilment", "shelf/hello.md", `"instant"`, `"later"`, "shelf/hello.md:7: fulfilment:"},
		{"human good without a window", "shelf/hello.md", `"instant"`, `"human"`, "window_hours: human goods need one"},
		{"instant good with a window", "shelf/hello.md", "cadence", "window_hours = 4\ncadence",
			"shelf/hello.md:8: window_hours:"},
		{"wrong cadence", "shelf/hello.md", `"one_off"`, `"term"`, "shelf/hello.md:8: cadence:"},
		{"unknown artifact", "shelf/hello.md", `artifact = "certificate"`, `artifact = "diploma"`,
			"shelf/hello.md:9: artifact:"},
		{"no description", "shelf/hello.md", `description = "`, `description = ""  # `,
			"shelf/hello.md:11: description: missing"},
		{"name too long", "shelf/hello.md", `"Hello"`, `"` + strings.Repeat("Hello", 13) + `"`,
			"shelf/hello.md:2: name: 65 characters, at most 60"},
		{"spaces in a row", "shelf/hello.md", `"Hello"`, `"Hel  lo"`, "shelf/hello.md:2: name: has spaces"},
		{"line break", "shelf/hello.md", `"Hello"`, `"Hel\nlo"`, "shelf/hello.md:2: name: must be one line"},
		{"order twice", "shelf/hello.md", "order = 10", "order = 20", "order: 20 is also that of"},
		{"name twice", "shelf/hello.md", `"Hello"`, `"dibs"`, `name: "Dibs" is also that of hello`},
		{"control character", "shelf/hello.md", "Every shop", "Every\x01shop",
			"shelf/hello.md:20: control character U+0001"},
		{"not UTF-8", "shelf/hello.md", "Every shop", "Every\xffshop", "shelf/hello.md:20: not UTF-8"},
		{"unknown placeholder", "shelf/hello.md", "Every shop", "Every {shop}",
			"shelf/hello.md: unknown placeholder {shop}"},
		{"unknown input", "shelf/dibs.md", `name = "detail"`, `name = "shoe_size"`,
			`shelf/dibs.md:21: input: "shoe_size"`},
		{"input twice", "shelf/dibs.md", "+++\nThe oldest",
			"[[input]]\nname = \"detail\"\nhelp = \"Again.\"\n+++\nThe oldest",
			"shelf/dibs.md:27: input: detail stands twice"},
		{"input over its limit", "shelf/dibs.md", "max = 600", "max = 601",
			"shelf/dibs.md:21: max: 601, must be at most 600"},
		{"input without help", "shelf/dibs.md", `help = "`, `help = "" # `, "shelf/dibs.md:21: help: missing"},
		{"pattern not anchored", "shelf/retired_word.md", `’-]*$'`, `’-]*'`, "shelf/retired_word.md:26: pattern:"},
		{"no example", "shelf/dibs.md", `example = "`, `# example = "`, "shelf/dibs.md:21: example: missing"},
		{"example over its limit", "shelf/retired_word.md", `"synergy"`, `"` + strings.Repeat("y", 41) + `"`,
			"shelf/retired_word.md:26: example: 41 characters, at most 40"},
		{"example that is too long", "shelf/dibs.md", `example = "`, `example = "` + strings.Repeat("y", 80),
			"characters, at most 80"},
		{"example off its pattern", "shelf/bitcoin_anchor.md", `"2cf2`, `"2CF2`, "does not match ^[0-9a-f]{64}$"},
		{"example that is no URL", "shelf/onpage_audit.md", `"https://shop.example/about"`, `"/about"`,
			`example: "/about" is not a URL`},
		{"example that is no number", "shelf/good_buyer.md", `"5"`, `"NaN"`, `example: "NaN" is not a number`},
		{"example that is no truth value", "shelf/good_buyer.md", `"true"`, `"yes"`, "is neither true nor false"},
		{"id with a capital", "shelf/Hello2.md", "", "", `"Hello2" is not an id`},
		{"good in a folder", "shelf/odd/hello2.md", "", "", "shelf/odd/hello2.md: unknown file"},
		{"unknown file", "shelf/notes.txt", "", "", "shelf/notes.txt: unknown file"},
		{"unknown file at the root", "todo.md", "", "", "todo.md: unknown file"},
		{"pool nobody draws from", "pools/spare.toml", "", "", "pools/spare.toml: unknown file"},
		{"missing pool", "shelf/hello.md", `pool = "hello"`, `pool = "nowhere"`,
			"pools/nowhere.toml: missing, hello draws from it"},
		{"pool of two kinds", "shelf/hello.md", `pool = "hello"`, `pool = "names"`,
			"pool: names is also drawn from by hello"},
		{"stock from a shared pool", "shelf/smoker_blessing.md", `pool = "smokers"`,
			"pool = \"blessings\"\nstock = true", "pool: blessings is also drawn from by small_blessing"},
		{"entry twice", "pools/hello.toml", entry,
			entry + "text = \"HELLO. We have been practising, and we think this is a good one.\"\n\n" + entry,
			"stands already in pools/hello.toml"},
		{"entry of another pool", "pools/hello.toml", entry, entry + "text = \"May the deploy be dull.\"\n\n" + entry,
			"stands already in pools/hello.toml"},
		{"entry without text", "pools/hello.toml", entry, entry + "text = \"\"\n\n" + entry,
			"pools/hello.toml:1: text: missing"},
		{"entry too long", "pools/hello.toml", `text = "Hello. `, `text = "` + strings.Repeat("ho ", 80) + `Hello. `,
			"pools/hello.toml:1: text: "},
		{"field of another kind", "pools/hello.toml", entry, entry + "animal = \"cat\"\n",
			"pools/hello.toml:1: animal: has no place"},
		{"field missing", "pools/rocks.toml", `temperament = "patient"`, "",
			"pools/rocks.toml:1: temperament: missing"},
		{"rock twice", "pools/rocks.toml", `"Hortensia"`, `"Gerald"`, "pools/rocks.toml:6: name: gerald stands twice"},
		{"strength unheard of", "pools/luckies.toml", `"solid"`, `"invincible"`,
			`pools/luckies.toml:1: strength: "invincible"`},
		{"animal in capitals", "pools/luckies.toml", `"tortoise"`, `"Tortoise"`,
			"pools/luckies.toml:1: animal: must be lower case"},
		{"Wednesday", "pools/tuesdays.toml", "1897-05-11", "1897-05-12",
			"pools/tuesdays.toml:1: date: 1897-05-12 was a Wednesday, must be a Tuesday"},
		{"no such day", "pools/tuesdays.toml", "1897-05-11", "1897-02-30",
			"pools/tuesdays.toml:1: date: must be a date"},
		{"Tuesday twice", "pools/tuesdays.toml", "1897-05-11", "1903-09-08",
			"pools/tuesdays.toml:5: date: 1903-09-08 stands twice"},
		{"page without title", "pages/what.md", "title =", "# title =", "pages/what.md: title: missing"},
		{"unknown page", "pages/About us.md", "", "+++\ntitle = \"About\"\nsummary = \"Us.\"\n+++\nUs.\n",
			"pages/About us.md: no page of a store has this name"},
		{"unknown problem page", "pages/problems/odd.md", "",
			"+++\nstatus = 404\ntitle = \"Odd\"\nsummary = \"Odd.\"\n+++\nOdd.\n",
			"pages/problems/odd.md: no page of a store has this name"},
		{"own page with a status", "pages/about.md", "",
			"+++\nstatus = 404\ntitle = \"About\"\nsummary = \"Us.\"\n+++\nUs.\n", "pages/about.md:2: status:"},
		{"row for a page of the store", "pages/what.md", "title =", "nav = \"what\"\ntitle =",
			"pages/what.md: nav: this page has its place"},
		{"long row", "pages/about.md", "", "+++\nnav = \"a row that is far too long\"\ntitle = \"About\"\nsummary = " +
			"\"Us.\"\n+++\nUs.\n", "pages/about.md:2: nav: 26 characters, at most 20"},
		{"problem page with another status", "pages/problems/gone.md", "status = 410", "status = 404",
			"pages/problems/gone.md:2: status: 404, must be 410"},
		{"problem page without status", "pages/problems/gone.md", "status = 410\n", "",
			"problem pages have an HTTP error status"},
		{"page with status", "pages/what.md", "title =", "status = 404\ntitle =", "pages/what.md:2: status:"},
		{"site without keeper", "site.toml", `keeper = "Hanne Pellworth"`, "", "site.toml: keeper: missing"},
		{"base URL with a slash", "site.toml", "store.example\"", "store.example/\"", "site.toml:3: base_url:"},
		{"base URL in the clear", "site.toml", "https://", "http://", "site.toml:3: base_url:"},
		{"contact of no kind", "site.toml", "mailto:", "tel:", "site.toml:5: contact:"},
		{"security.txt for two years", "site.toml", "2027-05-18", "2028-05-18", "site.toml:7: security_expires:"},
		{"security.txt expired", "site.toml", "2027-05-18", "2026-11-20", "site.toml:7: security_expires:"},
		{"retired and sold", "retired.toml", `"sympathy_card"`, `"hello"`, "retired.toml:1: id: hello is on the shelf"},
		{"folded into nothing", "retired.toml", `"small_blessing"`, `"sympathy"`,
			"retired.toml:1: folded_into: sympathy is not on the shelf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := specimen(t)
			switch {
			case test.old == "":
				if test.new == "" {
					test.new = string(m["shelf/hello.md"].Data)
				}
				m[test.file] = &fstest.MapFile{Data: []byte(test.new)}
			default:
				edit(t, m, test.file, test.old, test.new)
			}
			_, err := Load(Sources{Content: m})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Load: %v\nwant an error with %q", err, test.want)
			}
		})
	}
}

// oneOfEach is a file of each folder that others name, and those that stand in none.
func oneOfEach(m fstest.MapFS) (names []string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		folder := path.Dir(name)
		if folder != "." && seen[folder] || strings.HasPrefix(name, shelfFolder) &&
			!strings.Contains(string(m[name].Data), "\npool = ") {
			continue
		}
		seen[folder] = true
		names = append(names, name)
	}
	return names
}

func TestLoadNamesAMissingFile(t *testing.T) {
	for _, name := range oneOfEach(specimen(t)) {
		if name == retiredFile || name == porchFile || name == directoryFile || strings.HasPrefix(name, paidFolder) ||
			strings.HasPrefix(name, pageFolder+problemFolder) {
			continue // nothing else names it
		}
		m := specimen(t)
		delete(m, name)
		_, err := Load(Sources{Content: m})
		if strings.HasPrefix(name, shelfFolder) {
			name = "unknown file" // its pool is left over
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestLoadReportsEverythingAtOnce(t *testing.T) {
	m := specimen(t)
	edit(t, m, "shelf/hello.md", `"0.5"`, `"x"`)
	edit(t, m, "site.toml", "mailto:", "tel:")
	_, err := Load(Sources{Content: m})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two faults, got: %v", err)
	}
}

func TestPoolBelowTheMinimum(t *testing.T) {
	m := specimen(t)
	entries := strings.SplitAfter(string(m["pools/secrets.toml"].Data), "[[entry]]\n")
	m["pools/secrets.toml"] = &fstest.MapFile{Data: []byte(strings.TrimSuffix(strings.Join(entries[:MinEntries], ""),
		"[[entry]]\n"))}
	_, err := Load(Sources{Content: m})
	if err == nil || !strings.Contains(err.Error(),
		"pools/secrets.toml: holds 39 entries, must hold at least 40 for a secret") {
		t.Errorf("39 entries: %v", err)
	}
}

func TestWhatNoKeeperWroteIsPassedOver(t *testing.T) {
	m := specimen(t)
	m[".git/config"] = &fstest.MapFile{Data: []byte("x")}
	for _, name := range []string{".hello.md.swp", "hello.md~", "#hello.md#", "4913", "Thumbs.db", "desktop.ini",
		"hello.md.orig", "hello.md.rej"} {
		m["shelf/"+name] = &fstest.MapFile{Data: []byte("\xff")}
	}
	if _, err := Load(Sources{Content: m}); err != nil {
		t.Error(err)
	}
	m["shelf/4914"] = &fstest.MapFile{Data: []byte("x")}
	if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), "shelf/4914: ") {
		t.Errorf("a file that somebody wrote: %v", err)
	}
}

// TestContentOfWindows loads the specimen as an editor of Windows, or git with core.autocrlf,
// leaves it, and with blanks behind its fences.
func TestContentOfWindows(t *testing.T) {
	m := specimen(t)
	agents := m["pages/agents.md"].Data
	fences := regexp.MustCompile(`(?m)^\+\+\+$`)
	for name, f := range m {
		text := fences.ReplaceAllString(string(f.Data), "+++ ")
		m[name] = &fstest.MapFile{Data: []byte("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n"))}
	}
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	want := load(t)
	if !reflect.DeepEqual(s.Goods, want.Goods) || !reflect.DeepEqual(s.Pages, want.Pages) {
		t.Error("the same texts with other ends of lines are another site")
	}
	for _, spoilt := range []string{"\ufeff\ufeff", "\r"} {
		m["pages/agents.md"] = &fstest.MapFile{Data: append([]byte(spoilt), agents...)}
		if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), "control character") {
			t.Errorf("%q before a text: %v", spoilt, err)
		}
	}
}

// TestOnlyFilesAreRead puts what has no end, and links, where files are expected.
func TestOnlyFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, specimen(t)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		make func(at string) error
		said string
	}{
		"shelf/pipe.md":   {func(at string) error { return syscall.Mkfifo(at, 0o600) }, "is no file but a pipe"},
		"shelf/folder.md": {func(at string) error { return os.Symlink(dir, at) }, "is a link to a folder"},
		"shelf/none.md":   {func(at string) error { return os.Symlink(at+"x", at) }, "leads to nothing"},
	} {
		at := filepath.Join(dir, name)
		if err := want.make(at); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Sources{Content: os.DirFS(dir)})
		if err == nil || !strings.Contains(err.Error(), name+": "+want.said) {
			t.Errorf("%s: %v, want %q", name, err, want.said)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(t.TempDir(), "agents.md")
	linked := filepath.Join(dir, "pages/agents.md")
	if err := errors.Join(os.Rename(linked, kept), os.Symlink(kept, linked)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Sources{Content: os.DirFS(dir)}); err != nil {
		t.Errorf("a link to a file: %v", err)
	}
}

func TestSpecimenLoadsFromItsFolder(t *testing.T) {
	s, err := Load(Sources{Content: os.DirFS(".")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Digest != load(t).Digest {
		t.Error("the folder and what is embedded of it differ")
	}
}

func TestStockFolder(t *testing.T) {
	m := specimen(t)
	stock := fstest.MapFS{}
	for name, f := range m {
		base, is := strings.CutPrefix(name, poolFolder)
		if !is && strings.HasPrefix(name, paidFolder) {
			base, is = name, true
		}
		if is {
			stock[base] = f
			delete(m, name)
		}
	}
	s, err := Load(Sources{Content: m, Stock: stock})
	if err != nil {
		t.Fatal(err)
	}
	if whole := load(t); s.Digest != whole.Digest {
		t.Error("the same sources in two folders have another digest")
	}
	m["pools/hello.toml"] = stock["hello.toml"]
	if _, err := Load(Sources{Content: m, Stock: stock}); err == nil ||
		!strings.Contains(err.Error(), "pools: the pools are kept in the stock folder") {
		t.Errorf("pools in two places: %v", err)
	}
	delete(m, "pools/hello.toml")
	stock["deep/hello.toml"] = stock["hello.toml"]
	if _, err := Load(Sources{Content: m, Stock: stock}); err == nil ||
		!strings.Contains(err.Error(), "pools/deep: unknown folder") {
		t.Errorf("folder in the stock: %v", err)
	}
}

func TestDigestCoversEachFolder(t *testing.T) {
	whole := load(t).Digest
	m := specimen(t)
	for _, name := range oneOfEach(m) {
		f := m[name]
		m[name] = &fstest.MapFile{Data: append(slices.Clone(f.Data), '\n')}
		s, err := Load(Sources{Content: m})
		if err != nil {
			t.Fatalf("%s with a line feed more: %v", name, err)
		}
		if s.Digest == whole {
			t.Errorf("digest does not cover %s", name)
		}
		m[name] = f
	}
}

func TestEntriesAreKnownByWhatTheySay(t *testing.T) {
	before := load(t)
	m := specimen(t)
	parts := strings.Split(strings.TrimSpace(string(m["pools/secrets.toml"].Data)), "\n\n")
	slices.Reverse(parts)
	m["pools/secrets.toml"] = &fstest.MapFile{Data: []byte(strings.Join(parts, "\n\n") + "\n")}
	after, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	a, b := before.Pools["secrets"], after.Pools["secrets"]
	if a.Entries[0].Text == b.Entries[0].Text {
		t.Fatal("the pool was not rearranged")
	}
	if !slices.Equal(a.Digests(), b.Digests()) {
		t.Error("rearranging a pool changes digests")
	}
	e, ok := b.Entry(a.Entries[0].Digest)
	if !ok || e.Text != a.Entries[0].Text {
		t.Errorf("Entry(%s) = %q, %v", a.Entries[0].Digest, e.Text, ok)
	}
}

func TestDigestTellsFieldsApart(t *testing.T) {
	a := Entry{Name: "x", Text: "y"}.digest()
	for _, e := range []Entry{{Word: "x", Text: "y"}, {Text: "x\ny"}, {Name: "xy"}, {Name: "x", Text: "y "},
		{Text: "y"}} {
		if e.digest() == a {
			t.Errorf("%+v has the digest of another entry", e)
		}
	}
}

func TestBorrowed(t *testing.T) {
	all, err := load(t).Borrowed()
	if err != nil || !slices.Contains(all, "dibs") || len(all) <= len(Publications) {
		t.Fatalf("the specimen borrows %v, want its pools and %d publications: %v", all, len(Publications), err)
	}
	m := specimen(t)
	own := strings.ReplaceAll(string(m["pools/dibs.toml"].Data), `."`, `, on the day."`)
	m["pools/dibs.toml"] = &fstest.MapFile{Data: []byte(own)}
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.Borrowed()
	if err != nil || slices.Contains(names, "dibs") || len(names) != len(all)-1 {
		t.Errorf("with a pool of one's own: %v, %v", names, err)
	}
}

// A kind that draws from no pool has goods without one, and none with one.
func TestAGoodWithoutAPool(t *testing.T) {
	kinds = append(kinds, kindRow{name: "reading"})
	defer func() { kinds = kinds[:len(kinds)-1] }()
	m := specimen(t)
	edit(t, m, "shelf/hello.md", `kind = "greeting"`, `kind = "reading"`)
	if _, err := Load(Sources{Content: m}); err == nil ||
		!strings.Contains(err.Error(), "pool: a reading has none: it is for greeting, ") {
		t.Errorf("with a pool: %v", err)
	}
	edit(t, m, "shelf/hello.md", "pool = \"hello\"\n", "")
	delete(m, "pools/hello.toml")
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := s.Good("hello"); !ok || g.Pool != "" || len(s.Pool(g.Pool).Entries) != 0 {
		t.Errorf("good = %+v", g)
	}
}

// A page that is paid for is found by its id, newest first; what is wrong with one is said where.
func TestIssues(t *testing.T) {
	m := specimen(t)
	put := func(name, front, body string) {
		m["paid/"+name] = &fstest.MapFile{Data: []byte("+++\n" + front + "\n+++\n" + body)}
	}
	const front = "title = \"%s\"\nsummary = \"One sentence.\"\ndate = \"%s\""
	put("gazette/issue-90.md", fmt.Sprintf(front, "Ninety", "2026-11-20"), "Bought at {base_url}.\n")
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	i, ok := s.Issue("gazette/issue-90")
	if of := s.IssuesOf("gazette"); !ok || i.Path() != "/gazette/issue-90" || i.Words() != 3 || of[0].ID != i.ID {
		t.Errorf("issue = %+v, %v", i, ok)
	}
	if _, ok := s.Issue("gazette/issue-91"); ok {
		t.Error("there is an issue 91")
	}
	for want, put := range map[string]func(){
		"no issue of the gazette has this name": func() {
			put("gazette/ninety.md",
				fmt.Sprintf(front, "A", "2026-11-20"), "x")
		},
		"must be a date": func() { put("gazette/issue-92.md", fmt.Sprintf(front, "A", "soon"), "x") },
		"stands twice":   func() { put("gazette/issue-92.md", fmt.Sprintf(front, "NINETY", "2026-11-20"), "x") },
		"has no body":    func() { put("almanac/a.md", fmt.Sprintf(front, "A", "2026-11-20"), "\n") },
		"is longer than": func() {
			put("almanac/a.md", fmt.Sprintf(front, "A", "2026-11-20"), strings.Repeat("word ", 14_000))
		},
		"unknown placeholder": func() { put("almanac/a.md", fmt.Sprintf(front, "A", "2026-11-20"), "{secret}") },
		"unknown file":        func() { put("weekly/a.md", fmt.Sprintf(front, "A", "2026-11-20"), "x") },
	} {
		before := maps.Clone(m)
		put()
		if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		m = before
	}
}
