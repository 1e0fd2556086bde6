package generator

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/browser"
)

// TestQueryOfServers asks servers that give no ranges, and files that change, end early, or are
// none.
func TestQueryOfServers(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	many(t, s.database, 60)
	body, err := os.ReadFile(s.database)
	if err != nil {
		t.Fatal(err)
	}
	const query = "SELECT count(*), sum(length(url)) FROM rows"
	answer := strings.Join(onFile(t, s.database, query)[0], " ")
	bare := func(r *http.Request) *http.Request {
		r = r.Clone(r.Context())
		r.Header = http.Header{}
		return r
	}
	// after the first requests another file is served
	later := func(n int64, first, then http.HandlerFunc) http.HandlerFunc {
		var seen atomic.Int64
		return func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) > n {
				first = then
			}
			first(w, r)
		}
	}
	unconditional := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Match")
			r.Header.Del("If-Unmodified-Since")
			h(w, r)
		}
	}
	whole := ranged(body, `"a"`)
	without := ranged(body, "")
	longer := append(append([]byte{}, body...), make([]byte, 4096)...)
	// dated gives a time alone
	dated := func(body []byte, day int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), bytes.NewReader(body))
		}
	}
	// says answers with a status, some fields and a body, whatever was asked for.
	says := func(status int, body []byte, fields ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(fields); i += 2 {
				w.Header().Set(fields[i], fields[i+1])
			}
			w.Header().Set("ETag", `"a"`)
			w.WriteHeader(status)
			_, _ = w.Write(body) // the browser may have hung up
			if f, ok := w.(http.Flusher); ok {
				f.Flush() // so that the body has no length of its own
			}
		}
	}
	p := s.open(b)
	// changed answers as it should, but for the body and some fields.
	changed := func(body []byte, fields ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			a := httptest.NewRecorder()
			whole(a, r)
			says(a.Code, body, append(fields, "Content-Range", a.Header().Get("Content-Range"))...)(w, r)
		}
	}
	const part = http.StatusPartialContent
	size := strconv.Itoa(len(body))
	first := "bytes 0-32767/" + size
	var small bytes.Buffer
	zipped := gzip.NewWriter(&small)
	if _, err := zipped.Write(body[:32768]); err != nil || zipped.Close() != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"ranges, a tag":           {whole, answer},
		"ranges, weak tag":        {ranged(body, `W/"a"`), answer},
		"ranges, a time":          {dated(body, 1), answer},
		"ranges, nothing to tell": {without, answer},
		"no ranges":               {func(w http.ResponseWriter, r *http.Request) { whole(w, bare(r)) }, answer},
		"no ranges and too large": {func(w http.ResponseWriter, _ *http.Request) {
			for range 70 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, "larger than the 64 MB that this page takes. Serve the files with a server that answers Range"},
		"no ranges and too large, by its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<40))
			w.WriteHeader(http.StatusOK)
		}, "larger than the 64 MB"},
		"changed": {later(2, whole, ranged(longer, `"b"`)), "The file changed on the server"},
		"changed, conditions ignored": {later(2, whole, unconditional(ranged(body, `"b"`))),
			"The file changed on the server"},
		"changed, its time alone": {later(2, dated(body, 1), unconditional(dated(body, 2))),
			"The file changed on the server"},
		"changed, nothing to tell":  {later(2, without, ranged(make([]byte, len(body)), "")), answer},
		"changed, its length alone": {later(2, whole, ranged(longer, `"a"`)), "another part of the file"},
		"whole, later": {later(2, whole, func(w http.ResponseWriter, r *http.Request) { whole(w, bare(r)) }),
			"answered 200 to a request for a part"},
		"gone later": {later(2, whole, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"a"`)
			http.NotFound(w, r)
		}), "answered 404 to a request for a part"},
		"cut off":       {ranged(body[:len(body)/2], `"a"`), "The file is damaged or was cut off"},
		"cut off early": {ranged(body[:50], `"a"`), "The file is damaged or was cut off"},
		"empty":         {func(w http.ResponseWriter, _ *http.Request) {}, "The file is damaged or was cut off"},
		"no database":   {ranged([]byte(strings.Repeat("<html>", 50000)), `"a"`), "The file is damaged or was cut off"},
		"not there":     {http.NotFound, "/corpus/bulk/rows-2026.sqlite is not here."},
		"broken": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			"answers 502"},
		"more than asked":   {says(part, body[:65536], "Content-Range", first), "The server sent more of"},
		"less than asked":   {says(part, body[:1000], "Content-Range", first), "The server sent less of"},
		"nothing of it":     {says(part, nil, "Content-Range", first), "The server sent less of"},
		"broken off":        {says(part, body[:1000], "Content-Range", first, "Content-Length", "32768"), "broke off"},
		"a part, not said":  {says(part, body[:32768]), "does not say which part"},
		"of unknown length": {says(part, body[:32768], "Content-Range", "bytes 0-32767/*"), "does not say which part"},
		"another part":      {says(part, body[1:32769], "Content-Range", "bytes 1-32768/"+size), "which part"},
		"less, and says so": {says(part, body[:100], "Content-Range", "bytes 0-99/"+size), "sent another part"},
		"beyond all sizes": {says(part, body[:32768], "Content-Range", "bytes 0-32767/999999999999999"),
			"which it has not"},
		"beyond all numbers": {says(part, body[:32768], "Content-Range", first+strings.Repeat("9", 400)), "which part"},
		"compressed": {says(part, small.Bytes(), "Content-Range", first, "Content-Encoding", "gzip"),
			"or its answer cannot be read"},
		"compressed later":  {later(1, whole, changed(small.Bytes(), "Content-Encoding", "gzip")), "no answer"},
		"less, later":       {later(1, whole, changed(body[:1000])), "another part of the file"},
		"broken off, later": {later(1, whole, says(part, body[:1000], "Content-Length", "32768")), "broke off"},
		"wrong part": {later(1, whole, func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=0-32767")
			whole(w, r)
		}), "The server sent another part of the file"},
	} {
		s.serve = c.serve
		a := askPage(p, query)
		got := a.Why
		if len(a.Rows) == 1 {
			got = strings.Join(a.Rows[0], " ")
			p.Eval(`(() => { document.getElementById("stop").click(); return 0 })()`, nil) // ends the worker
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: the page says %+v, want %q", name, a, c.want)
		}
	}
	// The same page answers as soon as the server does.
	s.serve = ranged(body, `"c"`)
	if a := askPage(p, query); len(a.Rows) != 1 || strings.Join(a.Rows[0], " ") != answer {
		t.Errorf("once the server is mended: %+v", a)
	}
}

// TestQueryIsRefused asks what is no question, what never ends and what takes too much.
func TestQueryIsRefused(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	before, err := os.ReadFile(s.database)
	if err != nil {
		t.Fatal(err)
	}
	p := s.open(b)
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
	for query, want := range map[string]string{
		"DELETE FROM rows": "This one asks for DELETE", "INSERT INTO rounds SELECT * FROM rounds": "asks for INSERT",
		"UPDATE rows SET host = 'x'": "asks for UPDATE", "DROP TABLE rows": "asks for a change of the schema",
		"CREATE TEMP TABLE t(a)": "asks for a change of the schema", "ATTACH 'other.sqlite' AS o": "asks for ATTACH",
		"DETACH main": "asks for DETACH", "BEGIN": "asks for a transaction", "VACUUM": "Only questions",
		"VACUUM INTO 'x'": "Only questions", "PRAGMA query_only=0": "asks for PRAGMA", "REINDEX": "asks for REINDEX",
		"PRAGMA writable_schema=1": "asks for PRAGMA", "ANALYZE": "Only questions",
		"SELECT load_extension('x')": "No extension can be loaded here",
		"SELECT 1; DROP TABLE rows":  "asks for a change of the schema", "SELECT 1; SELECT 2": "Ask one at a time",
		" -- nothing\n":                          "no question in the box",
		"SELECT nobody FROM rows":                "SQLite says: no such column: nobody",
		"SELEC":                                  `SQLite says: near "SELEC": syntax error`,
		"SELECT zeroblob(100000000)":             "SQLite says: string or blob too big",
		strings.Repeat("SELECT 1 -- ", 1<<20/12): "longer than 100000 letters",
		strings.Repeat("(", 90000):               "SQLite says: ",
		"SELECT 1 \x00 FROM rows":                "There is a NUL in the question",
		endless + "i FROM n ORDER BY i":          "takes more memory than the 128 MB",
		endless + "group_concat(i) FROM (SELECT i FROM n LIMIT 3000000)": "string or blob too big",
	} {
		a := askPage(p, query)
		if a.Head != "No answer" || !strings.Contains(a.Why, want) {
			t.Errorf("%.80s: the page says %.300s, want %q", query, a.Why, want)
		}
	}
	if a := askPage(p, "PRAGMA table_info(rounds)"); len(a.Rows) < 10 || a.Rows[0][1] != "sequence" {
		t.Errorf("the columns of a table: %+v", a)
	}
	// One with an answer too long to show has its beginning shown.
	for query, want := range map[string]string{
		endless + "i, * FROM n": "The first 500 rows. There are more",
		endless + "hex(zeroblob(1500)), hex(zeroblob(500)) FROM n": "The first 348 rows. There are more, which",
		"SELECT 1" + strings.Repeat(", 1", 450):                    "1 row. It has more columns",
		"SELECT hex(zeroblob(8000000)) AS a, 2 AS b":               "1 row.",
		"SELECT '" + strings.Repeat("é", 49_000) + "' AS a":        "1 row.",
	} {
		if a := askPage(p, query); a.Head != "The answer" || !strings.Contains(a.Caption, want) {
			t.Errorf("%.80s: the page says %.300q %.300q, want %q", query, a.Why, a.Caption, want)
		}
	}
	// One that never ends is stopped, and says meanwhile how far it is; the next is answered.
	p.Eval(`(() => { const end = Worker.prototype.terminate; window.ended = 0;
		Worker.prototype.terminate = function () { window.ended++; end.call(this); }; return 0 })()`, nil)
	begin(p, endless+"count(*) FROM n")
	p.Until(`/^Asking: .* fetched so far/.test(said.textContent)`)
	p.Eval(`(() => { document.getElementById("stop").click(); return 0 })()`, nil)
	var told string
	var ended int
	p.Eval("window.ended", &ended)
	if p.Eval("said.textContent", &told); told != "Stopped. There is no answer." || ended != 1 {
		t.Errorf("once it is stopped the page says %q, and ended %d workers", told, ended)
	}
	if a := askPage(p, "SELECT count(*) FROM rounds"); len(a.Rows) != 1 || a.Rows[0][0] != "3" {
		t.Errorf("after one was stopped: %+v", a)
	}
	if after, err := os.ReadFile(s.database); err != nil || string(after) != string(before) {
		t.Errorf("the file is another: %v", err)
	}
}

// TestQueryOfAHostileFile asks a database whose texts and schema are made to do harm.
func TestQueryOfAHostileFile(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	const markup = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`
	const quoted = `"><img src=x onerror="document.title='run'">`
	change(t, s.database, "UPDATE rows SET host = '"+strings.ReplaceAll(markup, "'", "''")+"', url = 'javascript:'",
		"DROP TABLE rounds", `CREATE VIEW rounds AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
			SELECT i AS sequence, '2026-W01' AS week FROM n`,
		"DROP VIEW hosts", "CREATE VIEW hosts AS SELECT load_extension('x') AS host",
		"DROP VIEW gaps", "CREATE TABLE gaps(a)", "CREATE TRIGGER t AFTER INSERT ON gaps BEGIN SELECT 1; END")
	p := s.open(b)
	harmless := func() {
		t.Helper()
		var harm struct {
			Title string
			Made  int
		}
		p.Eval(`({title: document.title,
			made: document.querySelectorAll("#found :is(img, script, b, a:not([download]))").length})`, &harm)
		if harm.Title == "run" || harm.Made > 0 {
			t.Errorf("of texts became elements: %+v", harm)
		}
	}
	a := askPage(p, `SELECT host, url, '`+strings.ReplaceAll(quoted, "'", "''")+`' AS "`+
		strings.ReplaceAll(markup, `"`, `""`)+`" FROM rows LIMIT 2`)
	if len(a.Rows) != 2 || a.Rows[0][0] != markup || a.Rows[0][2] != quoted ||
		!strings.Contains(a.Columns[2], "<script>") {
		t.Errorf("markup: %+v", a)
	}
	harmless()
	a = askPage(p, "SELECT * FROM hosts")
	if !strings.Contains(a.Why, "load_extension") {
		t.Errorf("a view that loads: %+v", a)
	}
	a = askPage(p, "SELECT * FROM [<b>]")
	if !strings.Contains(a.Why, "no such table: <b>") {
		t.Errorf("markup in an error: %+v", a)
	}
	harmless()
	// Texts of bytes that are no text, and blobs with a type of their own.
	a = askPage(p, `SELECT CAST(x'61006200' AS TEXT) AS nul, CAST(x'61ff62c3' AS TEXT) AS torn, x'' AS none,
		CAST(x'efbbbf61' AS TEXT) AS marked, CAST(x'eda08061' AS TEXT) AS half, zeroblob(1500) AS blob, 1e999 AS much`)
	want := []string{"a\x00b\x00", "a\ufffdb\ufffd", "x''", "\ufeffa", "\ufffd\ufffd\ufffda",
		"x'" + strings.Repeat("00", 1000) + "'… (1500 bytes)", "Inf"}
	if len(a.Rows) != 1 || !slices.Equal(a.Rows[0], want) {
		t.Errorf("bytes: %q, want %q", a.Rows, want)
	}
	// The ready question about rounds meets a view without an end.
	begin(p, "SELECT week FROM rounds ORDER BY sequence DESC LIMIT 1")
	p.Until(`/^Asking: .* so far/.test(said.textContent)`)
	p.Eval(`(() => { document.getElementById("stop").click(); return 0 })()`, nil)
	if a := askPage(p, "SELECT 1"); len(a.Rows) != 1 {
		t.Errorf("after a view without an end: %+v", a)
	}
}

// TestQueryOfADamagedFile strikes bytes of a database at many places: each question has an outcome,
// and the page goes on.
func TestQueryOfADamagedFile(t *testing.T) {
	b := browser.Start(t)
	s := newQuerySite(t)
	whole, err := os.ReadFile(s.database)
	if err != nil {
		t.Fatal(err)
	}
	p := s.open(b)
	random := rand.New(rand.NewPCG(1, 2))
	outcomes := make(map[string]int)
	for i := range 12 {
		body := bytes.Clone(whole)
		within := len(body)
		if i%2 == 0 {
			within = 4096 // the header, and the schema
		}
		for range 1 << (i % 7) {
			body[random.IntN(within)] = byte(random.Uint32())
		}
		s.serve = ranged(body, `"`+strconv.Itoa(i)+`"`)
		a := askPage(p, "SELECT r.host, r.failed, o.week, length(r.url) FROM rows AS r JOIN rounds AS o "+
			"USING (sequence)")
		outcomes[a.Head]++
		if a.Head == "No answer" && !strings.Contains(a.Why, "damaged") && !strings.Contains(a.Why, "SQLite says") &&
			!strings.Contains(a.Why, "memory") {
			t.Errorf("damage %d: %+v", i, a)
		}
		p.Eval(`(() => { document.getElementById("stop").click(); return 0 })()`, nil) // ends the worker
	}
	if outcomes["No answer"] == 0 || outcomes["The answer"] == 0 {
		t.Errorf("of damaged files: %v", outcomes)
	}
	s.serve = nil
	if a := askPage(p, "SELECT count(*) FROM rounds"); len(a.Rows) != 1 || a.Rows[0][0] != "3" {
		t.Errorf("of the whole file: %+v", a)
	}
}
