package dynamic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/schedule"
)

type say struct {
	Say string `json:"say" jsonschema:"what to say"`
}

// testRows are rows of every shape.
func testRows() []route.Row {
	one, ten := 1.0, 10.0
	reply := func(w http.ResponseWriter, v any) error {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(v)
	}
	ok := []api.Response{{Status: 200, ContentType: api.JSON, Description: "Done."}}
	row := func(name, method, pattern string, serve api.Serve, h route.Handler) route.Row {
		return route.Row{Handle: h, Name: name, Method: method, Pattern: pattern, Summary: "Test.",
			Tag:   "verify",
			Serve: serve, Paid: serve == api.Paid, Responses: ok}
	}
	echo := row("test_echo", "GET", "/test/echo/{id}", api.Ledger, func(w http.ResponseWriter, r *http.Request) error {
		in := route.Inputs(r)
		return reply(w, map[string]any{"id": r.PathValue("id"), "word": in.String("word"), "n": in.Int("n")})
	})
	echo.Params = []api.Param{
		{Name: "id", In: api.Path, Type: "string", Required: true, MaxLength: 10, Pattern: "^[a-z]+$",
			Description: "An id."},
		{Name: "word", In: api.QueryP, Type: "string", MaxLength: 10, Description: "A word."},
		{Name: "long", In: api.QueryP, Type: "string", MaxLength: 10, Multiline: true, Description: "A text."},
		{Name: "n", In: api.QueryP, Type: "integer", Required: true, Minimum: &one, Maximum: &ten,
			Description: "A number."},
		{Name: "X-Mode", In: api.Header, Type: "string", Enum: []string{"fast", "exact"}, Description: "A mode."},
	}
	anything := row("test_any", "GET", "/test/any/{id}", api.Ledger,
		func(w http.ResponseWriter, r *http.Request) error {
			return reply(w, map[string]any{"id": r.PathValue("id")})
		})
	anything.Params = []api.Param{{Name: "id", In: api.Path, Type: "string", Required: true, MaxLength: 40,
		Description: "Anything."}}
	post := row("test_post", "POST", "/test/post", api.Metered, func(w http.ResponseWriter, r *http.Request) error {
		in, err := route.ReadJSON[say](r, false)
		if err != nil {
			return err
		}
		return reply(w, map[string]any{"got": in.Say})
	})
	post.Body = &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[say](), Limit: 64,
		Description: "Something."}
	post.Budget = "test"
	return []route.Row{
		echo, post,
		row("test_paid", "GET", "/test/paid", api.Paid, func(w http.ResponseWriter, r *http.Request) error {
			return &problem.Error{Code: "payment_required", Header: http.Header{"Payment-Required": {"e30="}}}
		}),
		row("test_panic", "GET", "/test/panic", api.Private,
			func(http.ResponseWriter, *http.Request) error { panic("secret") }),
		row("test_fault", "GET", "/test/fault", api.Private,
			func(http.ResponseWriter, *http.Request) error { return errors.New("secret") }),
		anything,
	}
}

func testBudgets(t testing.TB, limits ...budget.Limit) *budget.Set {
	t.Helper()
	set, err := budget.New(ledger.NewMem(ledger.MemOptions{}), append(Budgets(), limits...))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// fullServer serves every document and the test rows.
func fullServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	dir := t.TempDir()
	files := testFiles()
	for _, d := range api.Documents {
		for _, f := range d.Files {
			if name := f.Path; !strings.Contains(name, "{") && files[name] == "" {
				files[name] = "{}"
			}
		}
	}
	cfg.Site = openTestSite(t, publish(t, dir, "tree", base, "d1", files), "")
	if cfg.Rows == nil {
		cfg.Rows = testRows()
	}
	cfg.Budgets = testBudgets(t, budget.Limit{Name: "test", Window: time.Minute, Process: 5})
	return newServer(t, cfg)
}

func TestConversations(t *testing.T) {
	var s *Server
	s = fullServer(t, Config{Log: slog.New(slog.DiscardHandler),
		Rows: slices.Concat(testRows(), shopRowsOf(t, &s, ledger.NewMem(ledger.MemOptions{})))})
	converse(t, "testdata/scripts", nil, s)
	for _, row := range route.Describe(s.Table()) {
		if got := answered(t, s.metrics, row.Name); got == row.Uncounted {
			t.Errorf("route %s: answered by a script and counted is %v", row.Name, got)
		}
	}
}

// TestDesksConverseOnTwoReplicas has the scripts of the shelves and desks answered by two servers
// in turn, which share nothing but a PostgreSQL ledger.
func TestDesksConverseOnTwoReplicas(t *testing.T) {
	address := ledgertest.Postgres(t)
	var servers [2]*Server
	for i := range servers {
		db, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		servers[i] = fullServer(t, Config{Log: slog.New(slog.DiscardHandler),
			Rows: slices.Concat(testRows(), shopRowsOf(t, &servers[i], db))})
	}
	var files []string
	for _, name := range []string{"bounties", "desk", "storefront", "trade", "visitors"} {
		files = append(files, "testdata/scripts/"+name+".txt")
	}
	converse(t, "", files, servers[:]...)
}

// walk lists what the mux really holds, as "METHOD pattern".
func (m mux) walk() ([]string, error) {
	var found []string
	err := chi.Walk(m, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		found = append(found, method+" "+pattern)
		return nil
	})
	slices.Sort(found)
	return found, err
}

// addresses lists the table in the same form.
func addresses(rows []api.Route) []string {
	var list []string
	for _, r := range rows {
		list = append(list, r.Method+" "+r.Pattern)
		if r.Method == http.MethodGet {
			list = append(list, http.MethodHead+" "+r.Pattern)
		}
	}
	slices.Sort(list)
	return list
}

// TestTableIsMuxIsOpenAPI: no route exists in one of the three alone.
func TestTableIsMuxIsOpenAPI(t *testing.T) {
	rows := slices.Concat(testRows(), publicRows())
	s := fullServer(t, Config{Rows: rows})
	walked, err := s.mux.walk()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(walked, addresses(route.Describe(s.Table()))); d != "" {
		t.Errorf("mux - table +\n%s", d)
	}
	raw, err := api.BuildOpenAPI(api.Info{BaseURL: base, Title: "Store"}, route.Describe(rows), api.Documents)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(described)
	var public []string
	for _, r := range s.Table() {
		if !r.Internal {
			public = append(public, r.Method+" "+r.Pattern)
		}
	}
	for _, d := range api.Documents { // files that no route is needed for
		for _, r := range d.OwnPaths() {
			public = append(public, r.Method+" "+r.Pattern)
		}
	}
	slices.Sort(public)
	if d := cmp.Diff(described, public); d != "" {
		t.Errorf("OpenAPI - table +\n%s", d)
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	good := testRows()[0]
	change := func(f func(*route.Row)) []route.Row {
		r := testRows()[0]
		f(&r)
		return []route.Row{r}
	}
	for name, rows := range map[string][]route.Row{
		"name twice":      {good, change(func(r *route.Row) { r.Pattern = "/other/{id}" })[0]},
		"address twice":   {good, change(func(r *route.Row) { r.Name = "other" })[0]},
		"no handler":      change(func(r *route.Row) { r.Handle = nil }),
		"no such budget":  change(func(r *route.Row) { r.Budget = "nothing" }),
		"no limit":        change(func(r *route.Row) { r.Params[1].MaxLength = 0 }),
		"undescribed":     change(func(r *route.Row) { r.Params = r.Params[1:] }),
		"not in the path": change(func(r *route.Row) { r.Pattern = "/test" }),
		"not anchored":    change(func(r *route.Row) { r.Params[0].Pattern = "[a-z]" }),
		"body with GET":   change(func(r *route.Row) { r.Body = &api.Body{ContentType: api.JSON, Limit: 1} }),
		"paid or not":     change(func(r *route.Row) { r.Paid = true }),
		"of no date":      change(func(r *route.Row) { r.Version = "v1" }),
		"short sunset": change(func(r *route.Row) {
			r.Deprecated = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
			r.Sunset = r.Deprecated.AddDate(0, 0, 89)
		}),
	} {
		if _, err := New(Config{BaseURL: base, Rows: rows}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for _, url := range []string{"", "store.example", "https://store.example/", "ftp://store.example"} {
		if _, err := New(Config{BaseURL: url}); err == nil {
			t.Errorf("base URL %q: taken", url)
		}
	}
}

func TestHeaderLimit(t *testing.T) {
	s := fullServer(t, Config{})
	if res := ask(t, s, "GET", "/test/paid", "X-Filler", strings.Repeat("x", 95<<10)); res.StatusCode != 402 {
		t.Errorf("95 KiB of header: %d", res.StatusCode)
	}
	res := ask(t, s, "GET", "/test/paid", "X-Filler", strings.Repeat("x", 97<<10))
	if text := body(t, res); res.StatusCode != 431 || !strings.Contains(text, "/problems/header_too_large") {
		t.Errorf("97 KiB of header: %d %s", res.StatusCode, text)
	}
}

// Four thousand characters of a long script, escaped in the query beside a payment, are no header
// too large.
func TestTheLongestInputsFitTheHead(t *testing.T) {
	s := fullServer(t, Config{Rows: shopRows(t)})
	summary := url.QueryEscape(strings.Repeat("\u6f22", 4000))
	res := ask(t, s, "GET", "/api/buy/hello?summary="+summary, "PAYMENT-SIGNATURE", strings.Repeat("A", 12<<10))
	// hello takes no summary, which is all that is wrong.
	if text := body(t, res); res.StatusCode != 400 ||
		!strings.Contains(text, `"summary","problem":"is not an input of hello"`) {
		t.Errorf("4000 characters of summary: %d %.300s", res.StatusCode, text)
	}
}

func TestLogsHoldNoQueryAndNoHeader(t *testing.T) {
	var b bytes.Buffer
	s := fullServer(t, Config{Log: slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, target := range []string{"/test/echo/abc?n=3&word=topsecret", "/what?word=topsecret",
		"/no/such?word=topsecret", "/test/fault"} {
		ask(t, s, "GET", target, "Authorization", "Bearer topsecret", "User-Agent", "topsecret")
	}
	if strings.Contains(b.String(), "topsecret") {
		t.Errorf("a query or header value was logged:\n%s", &b)
	}
	for _, want := range []string{`"route":"test_echo"`, `"route":"what"`, `"status":404`, `"err":"secret"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, &b)
		}
	}
}

func TestClientAddress(t *testing.T) {
	s := newServer(t, Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8")}})
	for _, c := range []struct{ remote, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"}, // a stranger may say anything
		{"10.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"},
		{"10.0.0.1:5", "nonsense", "10.0.0.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"[fd00::1]:5", "2001:db8::1", "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", "198.51.100.7", "198.51.100.7"},
		{"not an address", "198.51.100.7", "invalid IP"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := s.client(r).String(); got != c.want {
			t.Errorf("client of %s via %q = %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestRetirement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		row := testRows()[4]
		row.Handle = func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(204); return nil }
		row.Deprecated, row.Sunset = start.Add(24*time.Hour), start.Add(100*24*time.Hour)
		s := newServer(t, Config{Rows: []route.Row{row}})
		if res := ask(t, s, "GET", "/test/fault"); res.StatusCode != 204 || res.Header.Get("Deprecation") != "" {
			t.Errorf("before: %d %v", res.StatusCode, res.Header)
		}
		time.Sleep(25 * time.Hour)
		res := ask(t, s, "GET", "/test/fault")
		if got, want := res.Header.Get("Deprecation"), fmt.Sprintf("@%d", row.Deprecated.Unix()); got != want {
			t.Errorf("Deprecation %q, want %q", got, want)
		}
		if got, want := res.Header.Get("Sunset"), row.Sunset.UTC().Format(http.TimeFormat); got != want ||
			res.StatusCode != 204 {
			t.Errorf("Sunset %q, want %q; status %d", got, want, res.StatusCode)
		}
		if !strings.Contains(res.Header.Get("Link"), `</deprecation>; rel="deprecation"`) &&
			!strings.Contains(res.Header.Get("Link"), base+`/deprecation>; rel="deprecation"`) {
			t.Errorf("Link %q", res.Header.Get("Link"))
		}
		time.Sleep(100 * 24 * time.Hour)
		if res := ask(t, s, "GET", "/test/fault"); res.StatusCode != 410 || res.Header.Get("Sunset") == "" {
			t.Errorf("after: %d %v", res.StatusCode, res.Header)
		}
	})
}

func TestSlowHandlersAreAnsweredFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := testRows()[4]
		row.Timeout = 3 * time.Second
		row.Handle = func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			return r.Context().Err()
		}
		s := newServer(t, Config{Rows: []route.Row{row}})
		start := time.Now()
		res := ask(t, s, "GET", "/test/fault")
		if took := time.Since(start); res.StatusCode != 503 || took != row.Timeout ||
			res.Header.Get("Retry-After") == "" {
			t.Errorf("status %d after %v", res.StatusCode, took)
		}
	})
}

func TestPanicAfterTheAnswerBeganCutsItOff(t *testing.T) {
	row := testRows()[4]
	row.Handle = func(w http.ResponseWriter, _ *http.Request) error {
		fmt.Fprint(w, "half of it")
		panic("secret")
	}
	s := newServer(t, Config{Rows: []route.Row{row}, Log: slog.New(slog.DiscardHandler)})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panic %v, want http.ErrAbortHandler", p)
		}
	}()
	ask(t, s, "GET", "/test/fault")
}

// Every error after a payment was presented says what became of the payment, also where no handler
// was reached or the handler broke off; what may have been taken is 503, so that no stock client
// signs again.
func TestErrorsSpeakOfThePayment(t *testing.T) {
	rows := testRows()
	for i := range rows {
		if rows[i].Name == "test_panic" || rows[i].Name == "test_fault" {
			rows[i].Serve, rows[i].Paid = api.Paid, true
		}
	}
	s := fullServer(t, Config{Rows: rows, Log: slog.New(slog.DiscardHandler), Limits: Limits{Header: 8 << 10}})
	for _, c := range []struct {
		method, path, field string
		status              int
		billed, retry       string
	}{
		{"GET", "/test/panic", "", 503, "unknown", "same_payment"},
		{"GET", "/test/fault", "", 503, "unknown", "same_payment"},
		{"POST", "/test/fault", "", 405, "no", "same_payment"},
		{"GET", "/test/fault/", "", 404, "no", "same_payment"},
		{"GET", "/test//fault", "", 404, "no", "same_payment"},
		{"GET", "/test/fault", strings.Repeat("x", 9000), 431, "no", "same_payment"},
		{"GET", "/test/echo/a", "", 400, "no", "same_payment"},
	} {
		res := ask(t, s, c.method, c.path, "PAYMENT-SIGNATURE", "e30=", "X-More", c.field)
		var got struct {
			Delivered *bool
			Billed    string
			Retry     string
			Next      string `json:"next_step"`
		}
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status || got.Delivered == nil || *got.Delivered || got.Billed != c.billed ||
			got.Retry != c.retry || got.Next == "" ||
			(c.status == 503) != (res.Header.Get("Retry-After") != "") {
			t.Errorf("%s %s: status %d, %+v, want %d, billed %s, retry %s", c.method, c.path, res.StatusCode, got,
				c.status, c.billed, c.retry)
		}
	}
	if res := ask(t, s, "GET", "/test/fault"); res.StatusCode != 500 {
		t.Errorf("a fault without a payment: status %d, want 500", res.StatusCode)
	}
}

// A body that is too large is that, whether its length was told before or not.
func TestTooLargeOfNoLength(t *testing.T) {
	s := newServer(t, Config{Rows: shopRows(t), Budgets: testBudgets(t)})
	for _, path := range []string{"/api/claims", "/api/claims/challenge"} {
		r := httptest.NewRequest("POST", path, io.MultiReader(strings.NewReader(`{"address":"`),
			strings.NewReader(strings.Repeat("0", 17<<10))))
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if r.ContentLength != -1 || rec.Code != http.StatusRequestEntityTooLarge || !strings.Contains(rec.Body.String(),
			"/problems/body_too_large") {
			t.Errorf("POST %s: status %d %s", path, rec.Code, rec.Body)
		}
	}
}

type drain struct {
	until  <-chan struct{}
	called chan struct{}
}

func (d *drain) Drain(ctx context.Context) error {
	close(d.called)
	select {
	case <-d.until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestOrderlyStop: a request and a drain under way at the stop are finished, new connections are
// not taken.
func TestOrderlyStop(t *testing.T) {
	entered, leave, drained := make(chan struct{}), make(chan struct{}), make(chan struct{})
	row := testRows()[4]
	row.Handle = func(w http.ResponseWriter, _ *http.Request) error {
		close(entered)
		<-leave
		fmt.Fprint(w, "finished")
		return nil
	}
	d := &drain{until: drained, called: make(chan struct{})}
	s := newServer(t, Config{Rows: []route.Row{row}, Drains: []Drain{d}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + ln.Addr().String() + "/test/fault")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		answer <- string(b)
	}()
	<-entered
	stop()
	for { // the listener closes as soon as the stop is noticed
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			break
		}
		conn.Close()
	}
	select {
	case <-d.called:
		t.Error("drained before the requests were finished")
	case err := <-done:
		t.Errorf("stopped with a request under way: %v", err)
	default:
	}
	close(leave)
	if got := <-answer; got != "finished" {
		t.Errorf("the request under way got %q", got)
	}
	<-d.called
	close(drained)
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestStopGivesUp(t *testing.T) {
	d := &drain{called: make(chan struct{})}
	s := newServer(t, Config{Drains: []Drain{d}, Limits: Limits{Stop: time.Millisecond}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Serve(ctx, ln); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve = %v, want a deadline", err)
	}
}

func TestDebug(t *testing.T) {
	var level slog.LevelVar
	s := fullServer(t, Config{Level: &level})
	ask(t, s, "GET", "/test/paid")
	ask(t, s, "GET", "/test/panic")
	ask(t, s, "GET", "/what")
	s.metrics.Purchase("eip155:8453", "delivered")
	s.metrics.Late(schedule.Task{Job: "purchase"}, 3*time.Second)
	debug := s.Debug()
	text := body(t, ask(t, debug, "GET", "http://localhost/metrics"))
	for _, want := range []string{
		`store_requests_total{code="402",route="test_paid"} 1`, `store_requests_total{code="200",route="what"} 1`,
		"store_panics_total 1", `store_purchases_total{network="eip155:8453",outcome="delivered"} 1`,
		"store_requests_in_flight 0", `store_request_seconds_count{route="test_paid"} 1`,
		`store_task_late_seconds_bucket{job="purchase",le="2"} 0`,
		`store_task_late_seconds_bucket{job="purchase",le="5"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics do not hold %s", want)
		}
	}
	r := httptest.NewRequest("PUT", "http://127.0.0.1:4021/debug/log-level", strings.NewReader("debug"))
	rec := httptest.NewRecorder()
	debug.ServeHTTP(rec, r)
	if level.Level() != slog.LevelDebug || rec.Code != 200 {
		t.Errorf("level %v, status %d", level.Level(), rec.Code)
	}
	if res := ask(t, debug, "GET", "http://rebound.example/metrics"); res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign host name: %d", res.StatusCode)
	}
	if res := ask(t, debug, "GET", "http://[::1]:1/debug/pprof/"); res.StatusCode != 200 {
		t.Errorf("pprof: %d", res.StatusCode)
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := s.ServeDebug(t.Context(), ln); err == nil {
		t.Error("the debug listener was served on every address")
	}
}

// What is posted to answers at its address with a last slash too, which some clients add.
func TestALastSlashIsLeftOut(t *testing.T) {
	row := route.Row{Name: "door", Method: "POST", Pattern: "/door", Serve: api.Metered, Summary: "x",
		Responses: []api.Response{{Status: 200}},
		Handle:    func(w http.ResponseWriter, r *http.Request) error { w.Write([]byte(r.URL.Path)); return nil }}
	s := newServer(t, Config{Rows: []route.Row{row}})
	for path, want := range map[string]int{"/door": 200, "/door/": 200, "/door//": 404, "/other/": 404} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if w.Code != want || want == 200 && w.Body.String() != "/door" {
			t.Errorf("POST %s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}
