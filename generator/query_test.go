package generator

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/generator/bulk"
	"store.example/agentstore/templates"
)

const databaseFile = "/corpus/bulk/rows-2026.sqlite"

// A querySite is a built site on a plain file server that sends the site's policies. Requests for
// the database meet serve, and are counted.
type querySite struct {
	*httptest.Server
	database string           // the site's, of the test's own
	serve    http.HandlerFunc // nil for the plain file server

	mu              sync.Mutex
	requests, bytes int
}

func newQuerySite(t *testing.T) *querySite {
	t.Helper()
	_, tree := bulkSite.get(t)
	s := &querySite{database: filepath.Join(t.TempDir(), "rows.sqlite")}
	body, err := fs.ReadFile(tree, strings.TrimPrefix(databaseFile, "/"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.database, string(body))
	files := http.FileServerFS(tree)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.PolicyAt(path.Clean(r.URL.Path)))
		if r.URL.Path != databaseFile {
			files.ServeHTTP(w, r)
			return
		}
		c := &countedWriter{ResponseWriter: w}
		if s.serve != nil {
			s.serve(c, r)
		} else {
			http.ServeFile(c, r, s.database)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests, s.bytes = s.requests+1, s.bytes+c.n
	}))
	t.Cleanup(s.Close)
	return s
}

// counted are the requests and bytes of the database since it was last called.
func (s *querySite) counted() (requests, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, bytes = s.requests, s.bytes
	s.requests, s.bytes = 0, 0
	return requests, bytes
}

type countedWriter struct {
	http.ResponseWriter
	n int
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += n
	return n, err
}

// open opens the page.
func (s *querySite) open(b *browser.Browser) *browser.Page {
	return b.Open(s.URL+"/corpus/query/", browser.Screen{Width: 1280})
}

// said is what the page says of a question.
type said struct {
	Head, Said, Why, Caption string
	Columns                  []string
	Rows                     [][]string
}

// shown waits for an outcome and reads it. A text that is shown shortened stands in its title.
func shown(p *browser.Page) (a said) {
	p.Until(`document.getElementById("outcome")`)
	p.Eval(`(() => { const all = (e, s) => [...e.querySelectorAll(s)], text = (e) => e ? e.textContent : "";
		const whole = (e) => (e.querySelector("[title]") || e).title || e.textContent;
		return {head: text(outcome), said: said.textContent, why: text(found.querySelector(".money")),
			caption: text(found.querySelector("caption")), columns: all(found, "thead th").map(whole),
			rows: all(found, "tbody tr").map(r => all(r, "td").map(whole))} })()`, &a)
	return a
}

// begin types a question and runs it.
func begin(p *browser.Page, query string) {
	p.Eval(`(() => { found.replaceChildren(); sql.value = `+strconv.Quote(query)+
		`; question.requestSubmit(); return 0 })()`, nil)
}

func askPage(p *browser.Page, query string) said {
	begin(p, query)
	return shown(p)
}

// onFile asks the file itself, with the values as texts.
func onFile(t *testing.T, file, query string) (rows [][]string) {
	t.Helper()
	conn, err := sqlite3.OpenFlags(file, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stmt, _, err := conn.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for stmt.Step() {
		var row []string
		for i := range stmt.ColumnCount() {
			if stmt.ColumnType(i) == sqlite3.NULL {
				row = append(row, "NULL")
				continue
			}
			row = append(row, stmt.ColumnText(i))
		}
		rows = append(rows, row)
	}
	if err := stmt.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// change carries out statements on a database.
func change(t *testing.T, file string, statements ...string) {
	t.Helper()
	conn, err := sqlite3.Open((&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if err := conn.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// many makes some megabytes of a database: each host n times, all of a week side by side.
func many(t *testing.T, file string, n int) {
	t.Helper()
	var columns []string
	for _, row := range onFile(t, file, `SELECT name FROM pragma_table_info('rows')`) {
		switch name := row[0]; name {
		case "leaf":
			columns = append(columns, "(leaf + 1) * 1000000 + s.value")
		case "host":
			columns = append(columns, "printf('%05d.%s', s.value, host)")
		default:
			columns = append(columns, name)
		}
	}
	change(t, file, fmt.Sprintf("CREATE TEMP TABLE more AS SELECT %s FROM rows, generate_series(1, %d) AS s",
		strings.Join(columns, ", "), n), "INSERT INTO rows SELECT * FROM more ORDER BY 1", "DROP TABLE more", "VACUUM")
}

// TestQueryInABrowser asks every question that the page has ready, and holds the rows against those
// of SQLite on the file itself.
func TestQueryInABrowser(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	p := s.open(b)
	host := onFile(t, s.database, "SELECT host FROM rows ORDER BY leaf LIMIT 1")[0][0]
	for i, q := range bulk.Questions(host) {
		p.Eval(fmt.Sprintf(`(() => { found.replaceChildren();
			document.querySelectorAll("#question li a")[%d].click(); return 0 })()`, i), nil)
		a := shown(p)
		want := onFile(t, s.database, q.Query)
		if !slices.EqualFunc(a.Rows, want, slices.Equal) || len(want) == 0 && a.Head != "The answer" {
			t.Errorf("%s: the page says %+v, the file %q", q.Title, a, want)
		}
		var typed, address string
		p.Eval("sql.value", &typed)
		p.Eval("location.hash", &address)
		if from, err := url.ParseQuery(strings.TrimPrefix(address, "#")); typed != q.Query || err != nil ||
			from.Get("q") != q.Query || from.Get("year") != "2026" {
			t.Errorf("%s: the box has %q, the address %q", q.Title, typed, address)
		}
	}
	if a := askPage(p, "SELECT value FROM generate_series(1, 600)"); len(a.Rows) != 500 ||
		!strings.HasPrefix(a.Caption, "The first 500 rows. There are more") {
		t.Errorf("600 rows: %d, %q", len(a.Rows), a.Caption)
	}
	a := askPage(p, "SELECT 1 AS one, NULL AS none, 0.5 AS half, x'00ff' AS bytes, 9007199254740993 AS large,\n"+
		"  printf('%.5000c', 'y') AS long, datetime('now') > '2020' AS later -- and a remark")
	want := []string{"1", "NULL", "0.5", "x'00ff'", "9007199254740993", strings.Repeat("y", 2000) + "… (5000 bytes)",
		"1"}
	if len(a.Rows) != 1 || !slices.Equal(a.Rows[0], want) {
		t.Errorf("values of each kind: %+v", a)
	}
	p.Show(browser.Screen{Width: 320})
	askPage(p, "SELECT * FROM rows")
	var wide bool
	if p.Eval("document.documentElement.scrollWidth > innerWidth", &wide); wide {
		t.Error("with an answer the page is wider than a small telephone")
	}
	for _, screen := range []browser.Screen{{Width: 320, Dark: true}, {Width: 1280}} {
		p.Show(screen)
		for _, found := range p.Axe() {
			t.Errorf("with an answer at %+v: %s", screen, found)
		}
	}
}

// TestQueryLinks follows links to questions, ours and those of strangers, back and forth. None is
// run unasked, and nothing of them becomes more than text.
func TestQueryLinks(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	const markup = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`
	var at struct {
		Typed, Year, Told, Title, Hash string
		Made, Workers                  int
	}
	look := func(p *browser.Page) {
		p.Eval(`({typed: sql.value, year: year.value, told: said.textContent, title: document.title, hash: location.hash,
			made: document.querySelectorAll("main :is(img, script:not([src]))").length, workers: window.workers})`, &at)
	}
	// step moves the address, and waits until the page knows.
	step := func(p *browser.Page, move, event string) {
		p.Eval(`new Promise(r => { addEventListener("`+event+`", () => setTimeout(r, 0), {once: true}); `+move+
			` }).then(() => 0)`, nil)
	}
	open := func(hash string) *browser.Page {
		p := s.open(b)
		p.Eval(`(() => { window.workers = 0; const W = Worker;
			window.Worker = function (at) { workers++; return new W(at) } })()`, nil)
		step(p, "location.hash = "+strconv.Quote(hash), "hashchange")
		look(p)
		return p
	}
	for hash, want := range map[string]string{
		"#year=2026&q=SELECT+1":                                              "SELECT 1",
		"#q=SELECT%201%20--%20%C3%A9%ED%A0%80%FF":                            "SELECT 1 -- é\ufffd\ufffd\ufffd\ufffd",
		"#year=" + url.QueryEscape(markup) + "&q=" + url.QueryEscape(markup): markup,
		"#q=" + markup: markup,
		"#year=../../../x&q=SELECT+2&q=DROP+TABLE+rows": "SELECT 2",
		"#q=": "",
	} {
		p := open(hash)
		if at.Typed != want || at.Year != "2026" || !strings.Contains(at.Told, "came with the link") ||
			at.Workers > 0 || at.Made > 0 || at.Title == "run" {
			t.Errorf("%s: %+v", hash, at)
		}
		p.Close()
	}
	if requests, _ := s.counted(); requests > 0 {
		t.Errorf("links alone made %d requests for the database", requests)
	}
	first := bulk.Questions("")[0].Query
	open("#q=" + strings.Repeat("x", 1<<20)).Close()
	if at.Typed != first || !strings.Contains(at.Told, "more than 100000 letters") {
		t.Errorf("a link of 1 MiB: %.300q %q", at.Typed, at.Told)
	}
	p := open("#q=" + url.QueryEscape(markup))
	if a := askPage(p, markup); !strings.Contains(a.Why, `near "<": syntax error`) {
		t.Errorf("markup: %+v", a)
	}
	// Half a letter is no reason to do nothing, and a question that is refused for its length
	// leaves the address alone.
	p.Eval(`(() => { found.replaceChildren(); sql.value = "SELECT 'a\uD800b' AS half"; question.requestSubmit(); return 0 })()`, nil)
	if a := shown(p); len(a.Rows) != 1 || a.Rows[0][0] != "a\ufffdb" {
		t.Errorf("half a letter: %+v", a)
	}
	look(p)
	before := at.Hash
	p.Eval(`(() => { found.replaceChildren(); sql.value = "SELECT 1 --" + "x".repeat(1 << 21); question.requestSubmit(); return 0 })()`, nil)
	if a := shown(p); !strings.Contains(a.Why, "longer than 100000 letters") {
		t.Errorf("a question of 2 MiB: %+v", a)
	}
	if look(p); at.Hash != before {
		t.Errorf("the address of a question of 2 MiB has %d letters", len(at.Hash))
	}
	// Back and forth: the box has the question of the address, and an answer stays while its
	// question does.
	askPage(p, "SELECT 'one' AS a")
	askPage(p, "SELECT 'two' AS a")
	for _, c := range []struct{ move, want, answer string }{
		{`location.hash = "#without-this-page"`, "SELECT 'two' AS a", "two"},
		{"history.back()", "SELECT 'two' AS a", "two"},
		{"history.back()", "SELECT 'one' AS a", ""},
		{"history.forward()", "SELECT 'two' AS a", ""},
	} {
		step(p, c.move, "popstate")
		var cells string
		p.Eval(`[...found.querySelectorAll("td")].map(e => e.textContent).join()`, &cells)
		if look(p); at.Typed != c.want || cells != c.answer {
			t.Errorf("%s: the box has %q, the answer is %q, want %q and %q", c.move, at.Typed, cells, c.want, c.answer)
		}
	}
	// Back from a question that is still being asked ends it.
	askPage(p, "SELECT 'three' AS a")
	begin(p, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
	p.Until(`/^Asking: .* fetched so far/.test(said.textContent)`)
	step(p, "history.back()", "popstate")
	if a := askPage(p, "SELECT 4 AS a"); len(a.Rows) != 1 || a.Rows[0][0] != "4" {
		t.Errorf("after a question that was left: %+v", a)
	}
	// Who writes goes on writing; who presses the button is led to the answer.
	for press, want := range map[string]string{"run.click()": "outcome",
		`sql.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, cancelable: true}))`: "sql"} {
		p.Eval(`(() => { found.replaceChildren(); sql.value = "SELECT 5"; sql.focus(); `+press+`; return 0 })()`, nil)
		a := shown(p)
		var focus string
		if p.Eval("document.activeElement.id", &focus); focus != want || len(a.Rows) != 1 {
			t.Errorf("%s: the focus is at %q, want %q: %+v", press, focus, want, a)
		}
	}
}

// TestQueryReadsLittle looks a host up in a database of 100,000 rows, by its index, and reads all
// of it.
func TestQueryReadsLittle(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	many(t, s.database, 2500)
	info, err := os.Stat(s.database)
	if err != nil {
		t.Fatal(err)
	}
	host := onFile(t, s.database, "SELECT host FROM rows ORDER BY leaf LIMIT 1 OFFSET 4000")[0][0]
	p := s.open(b)
	query := "SELECT week, verdict, failed FROM rows WHERE host = '" + host + "' ORDER BY sequence"
	a := askPage(p, query)
	requests, bytes := s.counted()
	if want := onFile(t, s.database, query); !slices.EqualFunc(a.Rows, want, slices.Equal) || len(want) == 0 {
		t.Errorf("the page says %+v, the file %q", a, want)
	}
	t.Logf("%d of %d bytes in %d requests: %s", bytes, info.Size(), requests, a.Said)
	if rows := onFile(t, s.database, "SELECT count(*) FROM rows")[0][0]; len(rows) < 6 ||
		int64(bytes)*200 > info.Size() || requests > 15 {
		t.Errorf("a look-up read %d of %d bytes in %d requests, of %s rows", bytes, info.Size(), requests, rows)
	}
	if !strings.Contains(a.Said, fmt.Sprintf("%d requests, %d kB of %d MB fetched", requests, (bytes+500)/1000,
		(info.Size()+500000)/1000000)) {
		t.Errorf("after %d requests for %d bytes the page says %q", requests, bytes, a.Said)
	}
	if a := askPage(p, query); !strings.Contains(a.Said, "nothing fetched") {
		t.Errorf("the same question again: %q", a.Said)
	}
	// What reads on is fetched in larger and larger parts.
	a = askPage(p, "SELECT count(*), sum(length(url)) FROM rows")
	requests, bytes = s.counted()
	t.Logf("all of it: %d bytes in %d requests", bytes, requests)
	if want := onFile(t, s.database, "SELECT count(*), sum(length(url)) FROM rows"); len(a.Rows) != 1 ||
		!slices.Equal(a.Rows[0], want[0]) {
		t.Errorf("the page says %+v, the file %q", a, want)
	}
	if int64(bytes) > info.Size() || requests > bytes/400_000 {
		t.Errorf("all of %d bytes took %d in %d requests", info.Size(), bytes, requests)
	}
}

// ranged serves bytes as a file of a tag, as http.ServeContent does.
func ranged(body []byte, tag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		w.Header().Set("Content-Type", "application/vnd.sqlite3")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(body)))
	}
}

// TestQueryProgramHasItsNotice holds what the worker's script says of SQLite's build against the
// licence of the module that it is from.
func TestQueryProgramHasItsNotice(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f={{.Dir}}",
		"github.com/ncruces/go-sqlite3").Output()
	if err != nil {
		t.Fatal(err)
	}
	notice, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	begins, _, _ := strings.Cut(string(templates.Asset("askworker.js")), "*/")
	if !strings.Contains(begins, string(notice)) {
		t.Errorf("the script begins with %s\nwant in it\n%s", begins, notice)
	}
}

// TestQueryPage builds the page without databases, and with them.
func TestQueryPage(t *testing.T) {
	in, _ := bulkInput(t)
	with := in.Bulk
	in.Bulk = nil
	mustBuild(t, in)
	tree := readTree(t, in.OutDir)
	program := "corpus/query/sqlite-" + bulk.ProgramDigest() + ".wasm"
	if page := tree["corpus/query/index.html"]; !strings.Contains(page, "has no database") ||
		strings.Contains(page, "query.js") || tree[program] != "" {
		t.Errorf("without databases:\n%s", page)
	}
	in.Bulk = with
	mustBuild(t, in)
	tree = readTree(t, in.OutDir)
	page := tree["corpus/query/index.html"]
	if tree[program] != string(bulk.Program()) || !strings.Contains(page, `data-program="/`+program+`"`) ||
		!strings.Contains(page, "<option>2026</option>") || !strings.Contains(page, `<script src="/corpus/query.js" defer>`) {
		t.Errorf("with databases:\n%s", page)
	}
	if size := templates.PageSize([]byte(page)); size > templates.MostPage {
		t.Errorf("the page has %d bytes with its styles", size)
	}
	for _, q := range bulk.Questions("api.weather.example") {
		if !strings.Contains(tree["corpus/query.md"], "## "+q.Title+"\n\n```sql\n"+q.Query+"\n```\n") {
			t.Errorf("the twin lacks %s", q.Query)
		}
	}
	for _, name := range []string{"corpus/index.html", "corpus.md", "sitemap.xml", "verify.md"} {
		if !strings.Contains(tree[name], "/corpus/query") {
			t.Errorf("%s does not lead to the page", name)
		}
	}
}
