package desk_test

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/archive"
)

// stockList is the answer of GET /discovery/resources as the stock schema has it (x402 version 2,
// bazaar extension): what is not in it a stock client does not see.
type stockList struct {
	X402Version int `json:"x402Version"`
	Items       []struct {
		Resource    string    `json:"resource"`
		Type        string    `json:"type"`
		X402Version int       `json:"x402Version"`
		Accepts     []any     `json:"accepts"`
		LastUpdated time.Time `json:"lastUpdated"`
	} `json:"items"`
	Pagination struct {
		Limit  int `json:"limit"`
		Offset int `json:"offset"`
		Total  int `json:"total"`
	} `json:"pagination"`
}

// listing is a record with its view and the desk that lists it.
type listing struct {
	http.Handler
	archive *archive.Archive
	writer  *seal.Writer
	view    string
}

func newListing(t testing.TB, w *seal.Writer) listing {
	t.Helper()
	l := listing{writer: w, view: filepath.Join(t.TempDir(), "view")}
	var err error
	l.archive, err = archive.Open(t.Context(), archive.Config{Record: w.Dir, Index: l.view, Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	o := street(t, http.NotFoundHandler())
	o.archive = l.archive
	l.Handler = openTest(t, o)
	return l
}

// sealed puts the record's newest round in force.
func (l listing) sealed(t testing.TB) {
	t.Helper()
	r, err := record.Open(os.DirFS(l.writer.Dir), l.writer.Ring)
	if err == nil {
		err = hostindex.Build(t.Context(), r, l.view)
	}
	if err == nil {
		err = l.archive.Refresh()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (l listing) get(t testing.TB, path string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	l.ServeHTTP(w, httptest.NewRequest("GET", base+path, nil))
	return w.Code, w.Body.Bytes()
}

// list asks for a page as a stock client does.
func (l listing) list(t testing.TB, query string) stockList {
	t.Helper()
	status, body := l.get(t, "/corpus/discovery/resources?"+query)
	var page stockList
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK || page.X402Version != 2 {
		t.Fatalf("%s: %d, %v\n%s", query, status, err, body)
	}
	return page
}

// whole pages through a list by limit and offset; between is called behind each page.
func (l listing) whole(t testing.TB, query string, limit int, between func(page int)) []string {
	t.Helper()
	var all []string
	for n := 0; ; n++ {
		page := l.list(t, fmt.Sprintf("%s&limit=%d&offset=%d", query, limit, len(all)))
		for _, item := range page.Items {
			if item.Type != "http" || len(item.Accepts) != 0 || item.Accepts == nil || item.LastUpdated.IsZero() {
				t.Fatalf("item %+v", item)
			}
			all = append(all, item.Resource)
		}
		if len(page.Items) == 0 || len(all) >= page.Pagination.Total {
			return all
		}
		between(n)
	}
}

func plain(t testing.TB) *seal.Writer {
	t.Helper()
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.test/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

// TestDiscoveryIsStableWhileARoundIsSealed pages a list whole while a round with other hosts comes.
func TestDiscoveryIsStableWhileARoundIsSealed(t *testing.T) {
	w := plain(t)
	corpustest.Append(t, w, 40, 4, "zz.example")
	l := newListing(t, w)
	want := l.whole(t, "", 100, func(int) {})
	seal := func(page int) {
		if page == 2 {
			corpustest.Append(t, w, 40, 5, "aa.example", "bb.example")
			l.sealed(t)
		}
	}
	for _, query := range []string{"", "tier=observed"} {
		want := l.whole(t, query, 100, func(int) {})
		if got := l.whole(t, query, 7, func(int) {}); !slices.Equal(got, want) {
			t.Errorf("%q: paged %v, whole %v", query, got, want)
		}
	}
	got := l.whole(t, "", 7, seal)
	if !slices.Equal(got, want) {
		t.Errorf("paged while a round is sealed\n%v\nbefore\n%v", got, want)
	}
	after := l.whole(t, "", 100, func(int) {})
	if slices.Equal(after, want) || !slices.Contains(after, "https://aa.example/paid") {
		t.Errorf("begun anew %v", after)
	}
}

// TestDiscoveryFilters holds the rule of the public notes on discovery filters (x402 issue 3173 and
// its vectors): a filter is applied or named in unappliedFilters, or its value is refused; a value
// that nothing has gives an empty page, and never the whole list.
func TestDiscoveryFilters(t *testing.T) {
	w := plain(t)
	corpustest.Append(t, w, 16, 12)
	l := newListing(t, w)
	all := l.list(t, "limit=100")
	if all.Pagination.Total != len(all.Items) || all.Pagination.Total < 16 {
		t.Fatalf("%d of %d", len(all.Items), all.Pagination.Total)
	}
	empty := []string{"network=eip155:999999", "payTo=0x000000000000000000000000000000000000dEaD", "scheme=nothing",
		"type=mcp", "network=eip155:8453&scheme=nothing", "max_price_usdc=0.000001", "protocol=mpp-v1"}
	for _, query := range empty {
		if page := l.list(t, query); len(page.Items) != 0 || page.Pagination.Total != 0 {
			t.Errorf("%s: %d rows, want none", query, page.Pagination.Total)
		}
	}
	some := []string{"network=eip155:8453", "scheme=exact", "verdict=ready", "tier=broken", "max_price_usdc=0.01",
		"payTo=0xf2", "network=eip155:8453&verdict=ready"}
	for _, query := range some {
		if n := l.list(t, query+"&limit=100").Pagination.Total; n == 0 || n >= all.Pagination.Total {
			t.Errorf("%s: %d rows of %d", query, n, all.Pagination.Total)
		}
	}
	for _, query := range []string{"tier=best", "limit=0", "limit=101", "offset=-1", "networks=eip155:8453",
		"network=a&network=b", "max_price_usdc=1e3", "client=curl", "scheme=" + strings.Repeat("x", 60_000)} {
		status, body := l.get(t, "/corpus/discovery/resources?"+query)
		var said struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(body, &said); err != nil || status != http.StatusBadRequest || said.Error == "" {
			t.Errorf("%.60s: %d %s", query, status, body)
		}
	}
	if _, body := l.get(t, "/corpus/discovery/resources?extensions=bazaar"); !strings.Contains(string(body),
		`"unappliedFilters":["extensions"]`) {
		t.Errorf("extensions: %s", body)
	}
	if page := l.list(t, "offset=1000000"); len(page.Items) != 0 || page.Pagination.Total != all.Pagination.Total {
		t.Errorf("beyond the end: %+v", page.Pagination)
	}
}

// TestDiscoveryItemsCiteTheirRow follows an item to its row.
func TestDiscoveryItemsCiteTheirRow(t *testing.T) {
	w := plain(t)
	corpustest.Append(t, w, 3, 12)
	l := newListing(t, w)
	var page struct {
		Items []struct {
			Host      string `json:"host"`
			Tier      string `json:"tier"`
			Leaf      int64  `json:"leaf"`
			RowSHA256 string `json:"row_sha256"`
			AtDoor    bool   `json:"terms_at_door"`
			Proof     string `json:"proof"`
		} `json:"items"`
	}
	_, body := l.get(t, "/corpus/discovery/resources?limit=100")
	if err := json.Unmarshal(body, &page); err != nil || len(page.Items) == 0 {
		t.Fatal(err, len(page.Items))
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		h, _, err := l.archive.Now().Index.Host(item.Host)
		if err != nil {
			t.Fatal(err)
		}
		row := h.Rows[len(h.Rows)-1]
		leaf, err := r.Log.Prove(row.Leaf, r.Log.Head().Size, w.Ring)
		if err != nil || item.Leaf != row.Leaf || item.RowSHA256 != recordtest.Digest(string(row.Raw)) ||
			!item.AtDoor || item.Proof != base+"/corpus/host/"+item.Host+".json" || len(leaf.Text()) == 0 {
			t.Errorf("%+v: row %d, %v", item, row.Leaf, err)
		}
		if want, _, err := l.archive.Now().History(item.Host); err != nil || tier.StandingOf(want).Tier != item.Tier {
			t.Errorf("%s is %s, want %s (%v)", item.Host, item.Tier, tier.StandingOf(want).Tier, err)
		}
	}
}

// search joins the pages of a query by their cursor. After each it calls what is given.
func (l listing) search(t *testing.T, query string, limit int, after func(page int)) (all []string) {
	t.Helper()
	cursor := ""
	for n := 1; n < 2000; n++ {
		var page struct {
			Resources []struct {
				Host string `json:"host"`
			} `json:"resources"`
			Pagination struct {
				Cursor *string `json:"cursor"`
			} `json:"pagination"`
		}
		status, body := l.get(t, fmt.Sprintf("/corpus/discovery/search?query=%s&limit=%d%s", query, limit, cursor))
		if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
			t.Fatalf("%d %v %s", status, err, body)
		}
		for _, r := range page.Resources {
			all = append(all, r.Host)
		}
		after(n)
		if page.Pagination.Cursor == nil {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Pagination.Cursor)
	}
	return all
}

// TestDiscoverySearch joins pages by their cursor.
func TestDiscoverySearch(t *testing.T) {
	w := plain(t)
	corpustest.Append(t, w, 30, 4)
	l := newListing(t, w)
	all := l.search(t, "plain+DOOR", 7, func(int) {})
	if len(all) != 30 || !slices.IsSorted(all) || len(slices.Compact(all)) != 30 {
		t.Errorf("%d hosts: %v", len(all), all)
	}
	long := "/corpus/discovery/search?query=" + strings.Repeat("a", 121)
	if status, _ := l.get(t, long); status != http.StatusBadRequest {
		t.Errorf("a long query: %d", status)
	}
}

// TestDiscoveryBeforeTheFirstRound has an empty list.
func TestDiscoveryBeforeTheFirstRound(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	if page := (listing{Handler: h}).list(t, ""); page.Items == nil || page.Pagination.Total != 0 {
		t.Errorf("%+v", page)
	}
}

// TestSoakDiscovery pages 100,000 hosts whole, listed and searched, while a round is sealed: no
// gap, no duplicate, 99 of 100 pages within 50 ms of processor time, the client's share included,
// and memory that does not grow with pages.
func TestSoakDiscovery(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	const hosts = 100_000
	w := recordtest.Writer(t)
	seal := func(sequence int64, n int) {
		d := recordtest.Draft(sequence)
		d.Rows, d.Roster.Listed = recordtest.ManyRows(n, d.TakenAt), int64(n)
		recordtest.Seal(t, w, d)
	}
	seal(1, hosts)
	l := newListing(t, w)
	if _, err := l.archive.Catalogue(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for sequence, pages := range []func(after func(int)) []string{
		func(after func(int)) []string { return l.whole(t, "", 100, after) },
		func(after func(int)) []string { return l.search(t, "example", 100, after) },
	} {
		var took []time.Duration
		last, before := processor(t), heap()
		got := pages(func(page int) {
			took = append(took, processor(t)-last)
			if page == 400 {
				seal(int64(sequence)+2, hosts+1000*(sequence+1))
				l.sealed(t)
				if _, err := l.archive.Catalogue(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			last = processor(t)
		})
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		grown := int64(heap()) - int64(before)
		t.Logf("%d pages, p99 %v, heap before %d MB, grown by %d MB (a second list)", len(took), p99, before>>20,
			grown>>20)
		want := hosts + 1000*sequence // those of the round in which the client began
		if len(got) != want || !slices.IsSorted(got) || len(slices.Compact(got)) != want {
			t.Errorf("%d rows, want %d", len(got), want)
		}
		if p99 > 50*time.Millisecond {
			t.Errorf("p99 is %v", p99)
		}
		if grown > 80<<20 {
			t.Errorf("the heap grew by %d MB", grown>>20)
		}
	}
}

// processor is the processor time that this process has used.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
