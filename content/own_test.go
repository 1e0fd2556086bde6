package content

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// own is a shop with goods of its keeper's own, in a stock folder that errors call var/stock.
func own(t *testing.T) (Sources, fstest.MapFS, fstest.MapFS) {
	m, stock := specimen(t), fstest.MapFS{}
	for name, f := range m {
		base, pool := strings.CutPrefix(name, poolFolder)
		if pool || strings.HasPrefix(name, paidFolder) {
			stock[base] = f
			delete(m, name)
		}
	}
	put := func(fs fstest.MapFS, name, text string) { fs[name] = &fstest.MapFile{Data: []byte(text)} }
	head := "+++\nname = \"%\"\nprice = \"0.10\"\ndescription = \"What it is.\"\n"
	good := func(id, rest string) {
		put(m, "shelf/"+id+".md", strings.Replace(head, "%", id, 1)+rest+"\n+++\n")
	}
	good("tea", `file = "tea.pdf"`)
	good("keys", "folder = \"keys\"\nartifact = \"none\"")
	good("letter", "text = \"letter.md\"\n[[input]]\nname = \"detail\"\nhelp = \"Whom it is to.\"")
	good("forecast", "[upstream]\nurl = \"http://127.0.0.1:9000/forecast\"")
	good("cup", `pool = "cups"`)
	put(stock, "files/tea.pdf", "%PDF tea")
	put(stock, "files/keys/a.txt", "A")
	put(stock, "files/keys/b.txt", "B")
	put(stock, "texts/letter.md", "# Dear {detail}\n\nYours, {keeper}")
	put(stock, "cups.toml", "[[entry]]\ntext = \"A cup that is not chipped.\"\n")
	return Sources{Content: m, Stock: stock, StockName: "var/stock"}, m, stock
}

// Goods of one's own need a name, a price, a description and what they are made of; the rest has
// defaults.
func TestAGoodOfOnesOwn(t *testing.T) {
	src, m, stock := own(t)
	packed, s, err := Pack(src)
	if err != nil {
		t.Fatal(err)
	}
	for id, kind := range map[string]string{"tea": KindFile, "keys": KindFile, "letter": KindText,
		"forecast": KindUpstream, "cup": KindGreeting} {
		g, _ := s.Good(id)
		if g.Kind != kind || g.PriceUSDC() != "0.1" || g.Fulfilment != Instant || g.Cadence != "one_off" ||
			g.Body != "What it is." || g.DoesNotProve == "" || g.Artifact == "" {
			t.Errorf("%s = %+v", id, g)
		}
	}
	var last []string
	for _, g := range s.Goods[len(s.Goods)-5:] {
		last = append(last, g.ID)
	}
	if !slices.IsSorted(last) {
		t.Errorf("without an order they stand as %v", last)
	}
	tea, _ := s.Good("tea")
	if f := tea.Stored; f == nil || f.MediaType != "application/pdf" || f.Size != 8 || f.Name != "tea.pdf" {
		t.Errorf("file = %+v", f)
	}
	if n := len(s.Pool("files/keys").Entries); n != 2 || len(s.Files()) != 3 {
		t.Errorf("%d units, %d files", n, len(s.Files()))
	}
	if strings.Contains(string(packed), "%PDF") {
		t.Error("a file was packed")
	}
	if again, err := Unpack(packed); err != nil || again.Digest != s.Digest ||
		!reflect.DeepEqual(again.Goods, s.Goods) || !reflect.DeepEqual(again.Pools, s.Pools) {
		t.Errorf("unpacked it is another site: %v", err)
	}
	before := s.Digest
	stock["files/tea.pdf"] = &fstest.MapFile{Data: []byte("%PDF TEA")}
	if s, err = Load(src); err != nil || s.Digest == before {
		t.Errorf("with another file of that name: %v, %s", err, s.Digest)
	}
	f, err := src.OpenFile(*tea.Stored)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, bad := range []struct{ file, old, new, want string }{
		{"shelf/tea.md", "tea.pdf", "../tea.pdf", `file: "../tea.pdf" is no path below var/stock/files`},
		{"shelf/tea.md", "tea.pdf", "no.pdf", "there is no var/stock/files/no.pdf: put the file there"},
		{"shelf/tea.md", "file =", "folder = \"keys\"\nfile =", "give file, or folder"},
		{"shelf/tea.md", "file =", "media_type = \"pdf\"\nfile =", "is no media type"},
		{"shelf/tea.md", "file =", "pool = \"cups\"\nfile =", "pool: a file has none: it is for greeting, "},
		{"shelf/keys.md", `"keys"` + "\nart", `"none"` + "\nart", "there are no files in var/stock/files/none"},
		{"files/keys/b.txt", "B", "A", "var/stock/files/keys/b.txt: is the same file as keys/a.txt"},
		{"shelf/letter.md", "letter.md", "l.md", "there is no var/stock/texts/l.md"},
		{"texts/letter.md", "{detail}", "{url}", "var/stock/texts/letter.md: {url} is no input of letter"},
		{"shelf/forecast.md", "[upstream]", "artifact = \"none\"\nfile = \"tea.pdf\"\n[upstream]",
			"upstream: a file has none: it is for upstream"},
		{"shelf/forecast.md", "http://127", "ftp://127", "is no http or https address"},
		{"shelf/forecast.md", "url = ", "seconds = 31\nurl = ", "seconds: 31, must be at least 0 and at most 30"},
		{"shelf/forecast.md", "url = ", "method = \"PUT\"\nurl = ", `method: "PUT" is none of: GET, POST`},
		{"shelf/forecast.md", "[upstream]", "media_type = \"image/png\"\n[upstream]", `is a file: answer = "file"`},
		{"shelf/hello.md", `"certificate"`, `"none"`, "artifact: a greeting has one: none is for file, text, upstream"},
		{"shelf/hello.md", `pool = "hello"`, `pool = "nowhere"`, "var/stock/nowhere.toml: missing, hello draws from it"},
		{"shelf/cup.md", `pool = "cups"`, "", "kind: missing"},
		{"shelf/cup.md", "price = ", "# price = ", `price: missing: What it costs in USDC, with at most six decimals. ` +
			`Example: price = "0.10"`},
		{"cups.toml", `text = "A cup that is not chipped."`, "", "var/stock/cups.toml:1: text: missing"},
	} {
		fs := m
		if _, is := stock[bad.file]; is {
			fs = stock
		}
		whole := fs[bad.file]
		edit(t, fs, bad.file, bad.old, bad.new)
		if _, err := Load(src); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v\nwant %q", bad.new, err, bad.want)
		}
		fs[bad.file] = whole
	}
	stock["files/spare.txt"] = &fstest.MapFile{Data: []byte("x")}
	if _, err := Load(src); err == nil || !strings.Contains(err.Error(), "var/stock/files/spare.txt: unknown file: no "+
		"good is made of it") {
		t.Errorf("a file nobody sells: %v", err)
	}
}

// A file beyond the bound is refused while it is read, and not held.
func TestAFileThatIsTooLarge(t *testing.T) {
	src, _, stock := own(t)
	stock["files/tea.pdf"] = &fstest.MapFile{Data: make([]byte, MaxStored+1)}
	if _, err := Load(src); err == nil || !strings.Contains(err.Error(), "var/stock/files/tea.pdf: larger than") {
		t.Error(err)
	}
}

// Each key that is decoded has a row, and each row is decoded.
func TestKeysAreWhatIsRead(t *testing.T) {
	rows := map[string]bool{}
	for _, k := range Keys() {
		rows[k.Table+"."+k.Name] = true
		if k.Meaning == "" || !strings.HasSuffix(k.Meaning, ".") {
			t.Errorf("%s.%s means %q", k.Table, k.Name, k.Meaning)
		}
	}
	read := map[string]bool{}
	for table, raw := range map[string]any{"": &rawGood{}, "certificate": &rawCertificate{}, "input": &rawInput{},
		"upstream": &rawUpstream{}} {
		for name := range fields(raw) {
			if table != "" || !slices.Contains([]string{"certificate", "input", "upstream"}, name) {
				read[table+"."+name] = true
			}
		}
	}
	if !reflect.DeepEqual(rows, read) {
		t.Errorf("described %v\nread %v", rows, read)
	}
	for _, k := range kinds {
		if k.says == "" {
			t.Errorf("nothing says what a %s is", k.name)
		}
	}
}
