package census

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// api is a client whose every request is answered by a function.
type api func(u *url.URL) exchange.Response

func (a api) Do(_ context.Context, req exchange.Request, _ fetch.Rule) (exchange.Exchange, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return exchange.Exchange{}, err
	}
	x := exchange.Exchange{Request: req, Response: a(u)}
	if x.Response.Status == 0 {
		x.Error = exchange.Error{Stage: exchange.StageConnect, Text: "no route"}
	}
	return x, nil
}

func (api) Parse(raw string, _ fetch.Rule) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" {
		return "", &fetch.Refusal{Code: fetch.CodeTarget, Reason: "it is not https"}
	}
	if u.Hostname() == "store.example" {
		return "", &fetch.Refusal{Code: fetch.CodeOwnHost, Reason: "it is this store"}
	}
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

func (api) Private() bool { return false }

// reading reads with a client, and counts how long it would have slept.
func reading(c api, slept *time.Duration) Reading {
	return Reading{Client: c, Week: "2026-W47",
		Now:   func() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) },
		Log:   slog.New(slog.DiscardHandler),
		Sleep: func(_ context.Context, d time.Duration) error { *slept += d; return nil }}
}

// read reads a source to its end.
func read(t *testing.T, s Source, c api) (named []string, slept time.Duration, err error) {
	t.Helper()
	err = s.Read(t.Context(), reading(c, &slept), func(n Named) {
		text := n.URL
		if n.Method != "" {
			text = n.Method + " " + text
		}
		if n.URL == "" {
			text = n.Host + ": " + n.Reason
		}
		named = append(named, text)
	})
	return named, slept, err
}

// catalogue answers like a discovery API with so many items, of which one answer holds at most so
// many.
func catalogue(items, most int, change ...func(offset int, r *exchange.Response)) api {
	return func(u *url.URL) exchange.Response {
		q := u.Query()
		offset, err1 := strconv.Atoi(q.Get("offset"))
		limit, err2 := strconv.Atoi(q.Get("limit"))
		if err1 != nil || err2 != nil || u.Path != "/v2/x402/discovery/resources" || q.Get("type") != "http" {
			return exchange.Response{Status: 400}
		}
		list := []string{}
		for i := offset; i < min(items, offset+min(limit, most)); i++ {
			list = append(list, fmt.Sprintf(
				`{"resource":"https://h%d.example/paid","type":"http","x402Version":2,"accepts":[],"lastUpdated":"2026-11-20T00:00:00Z"}`, i))
		}
		r := exchange.Response{Status: 200,
			Body: fmt.Appendf(nil, `{"x402Version":2,"items":[%s],"pagination":{"limit":%d,"offset":%d,"total":%d}}`,
				strings.Join(list, ","), limit, offset, items)}
		for _, c := range change {
			c(offset, &r)
		}
		return r
	}
}

func TestDiscovery(t *testing.T) {
	tries := map[int]int{}
	failing := func(times int, status int, header http.Header) func(int, *exchange.Response) {
		return func(offset int, r *exchange.Response) {
			if tries[offset]++; tries[offset] <= times {
				*r = exchange.Response{Status: status, Header: header}
			}
		}
	}
	body := func(text string) api {
		return func(*url.URL) exchange.Response { return exchange.Response{Status: 200, Body: []byte(text)} }
	}
	for _, row := range []struct {
		name    string
		api     api
		hosts   int
		slept   time.Duration
		problem string
	}{
		{name: "pages", api: catalogue(250, 100), hosts: 250},
		{name: "smaller pages than asked for", api: catalogue(50, 20), hosts: 50},
		{name: "nothing", api: catalogue(0, 100)},
		{name: "a record's own list", hosts: 1, api: body(`{"items":[
			{"resource":"https://a.example/","type":"http","accepts":[],"terms_at_door":true},
			{"resource":"https://b.example/","type":"http","accepts":[]}],"pagination":{"offset":0,"total":2}}`)},
		{name: "fails twice", api: catalogue(150, 100, failing(2, 503, nil)), hosts: 150, slept: 6 * time.Second},
		{name: "asks for patience", api: catalogue(10, 100, failing(1, 429, http.Header{"Retry-After": {"90"}})),
			hosts: 10, slept: 90 * time.Second},
		{name: "too much patience", api: catalogue(10, 100, failing(1, 429, http.Header{"Retry-After": {"90000"}})),
			hosts: 10, slept: 5 * time.Minute},
		{name: "does not come back", api: catalogue(150, 100, func(offset int, r *exchange.Response) {
			if offset > 0 {
				*r = exchange.Response{}
			}
		}), hosts: 100, slept: 31 * time.Second, problem: "at offset 100: no route"},
		{name: "refuses", api: catalogue(150, 100, func(offset int, r *exchange.Response) {
			if offset > 0 {
				*r = exchange.Response{Status: 403}
			}
		}), hosts: 100, problem: "at offset 100: it answered 403"},
		{name: "page too long", api: func(u *url.URL) exchange.Response {
			r := catalogue(60, 100)(u)
			if n, err := strconv.Atoi(u.Query().Get("limit")); err != nil || n > 25 {
				r.Truncated = true
			}
			return r
		}, hosts: 60},
		{name: "every page too long", api: catalogue(3, 100, func(_ int, r *exchange.Response) { r.Truncated = true }),
			problem: "at offset 0: the page is longer than is read"},
		{name: "same page for ever", api: func(u *url.URL) exchange.Response {
			q := u.Query()
			q.Set("offset", "0")
			r := catalogue(300, 100)(&url.URL{Path: u.Path, RawQuery: q.Encode()})
			r.Body = []byte(strings.Replace(string(r.Body), `"offset":0,`, "", 1))
			return r
		}, hosts: 100, problem: "at offset 100: the same page came again"},
		{name: "another offset", api: catalogue(300, 100, func(offset int, r *exchange.Response) {
			r.Body = []byte(strings.Replace(string(r.Body), `"offset":100,`, `"offset":0,`, 1))
		}), hosts: 100, problem: "at offset 100: it answered with offset 0"},
		{name: "ends early", api: catalogue(30, 100, func(_ int, r *exchange.Response) {
			r.Body = []byte(strings.Replace(string(r.Body), `"total":30`, `"total":90`, 1))
		}), hosts: 30, problem: "it ended after 30 of 90"},
		{name: "no pagination", api: body(`{"items":[{"resource":"https://a.example/x"}],"pagination":null}`),
			hosts: 1},
		{name: "other things", api: body(
			`{"items":[{"resource":"https://a.example/x","type":"mcp"},{"resource":"tool://x","type":"http"},{"type":"http"},7,{"resource":"https://b.example/x","type":"http","extensions":{"bazaar":{"info":{"input":{"method":"POST"}}}}}]}`), hosts: 1},
		{name: "no list", api: body(`{"error":"x"}`), problem: "at offset 0: its answer has no items"},
		{name: "twice a name", api: body(`{"items":[],"items":[]}`),
			problem: "at offset 0: its answer is not JSON of the shape of a discovery list"},
		{name: "a page", api: body("<html>"),
			problem: "at offset 0: its answer is not JSON of the shape of a discovery list"},
	} {
		t.Run(row.name, func(t *testing.T) {
			clear(tries)
			named, slept, err := read(t, Discovery("bazaar", "https://api.example/v2/x402"), row.api)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			hosts := map[string]bool{}
			for _, n := range named {
				hosts[n] = true
			}
			if len(hosts) != row.hosts || slept != row.slept || problem != row.problem {
				t.Errorf("%d hosts after %s, problem %q; want %d after %s, %q", len(hosts), slept, problem, row.hosts,
					row.slept, row.problem)
			}
		})
	}
	named, _, err := read(t, Discovery("bazaar", "https://api.example"),
		body(`{"items":[{"resource":"https://b.example/x","extensions":{"bazaar":{"info":{"input":{"method":"post"}}}}}]}`))
	if diff := cmp.Diff([]string{"POST https://b.example/x"}, named); diff != "" || err != nil {
		t.Errorf("- want + got\n%s%v", diff, err)
	}
}

func TestListAndWellKnown(t *testing.T) {
	fsys := fstest.MapFS{"doors.txt": {Data: []byte("# ours\nhttps://a.example/paid # the " +
		"first\n\nB.example\nnone.example\nfar.example\nsecond.example\ncard.example\nmoved.example\n10.0.0.1/x\n")},
		"bad.txt": {Data: []byte("https://a.example/ https://b.example/\n")}}
	bodies := map[string]string{
		"b.example/.well-known/x402":          `{"version":1,"resources":[{"url":"https://b.example/one","method":"POST","type":"http"},"https://b.example/two","https://c.example/x"]}`,
		"far.example/.well-known/x402":        `{"version":1,"resources":["https://c.example/x"]}`,
		"second.example/.well-known/x402":     `{"version":2,"resources":["/a"]}`,
		"card.example/.well-known/agent.json": `{"x402Discovery":{"url":"/doors.json"}}`,
		"card.example/doors.json":             `{"version":1,"resources":["/paid"]}`,
	}
	files := api(func(u *url.URL) exchange.Response {
		if body, ok := bodies[strings.ToLower(u.Hostname())+u.Path]; ok {
			return exchange.Response{Status: 200, Body: []byte(body)}
		}
		if u.Hostname() == "moved.example" {
			return exchange.Response{Status: 302, Header: http.Header{"Location": {"https://c.example/x402"}}}
		}
		return exchange.Response{Status: 404}
	})
	named, _, err := read(t, List("keeper", fsys, "doors.txt"), files)
	if diff := cmp.Diff([]string{"https://a.example/paid"}, named); diff != "" || err != nil {
		t.Errorf("list: - want + got\n%s%v", diff, err)
	}
	// A host of the keeper's is read as one that declares itself: the same shapes, the same hop
	// over its card.
	named, _, err = read(t, WellKnown("files", fsys, "doors.txt"), files)
	const no = ": its /.well-known/x402 names no door: "
	want := []string{"POST https://b.example/one", "https://b.example/two",
		"none.example" + no + "there is no file at /.well-known/x402 and no agent card at /.well-known/agent.json",
		"far.example" + no + "it lists none on this host", "second.example" + no + "its version is not the number 1",
		"https://card.example/paid", "moved.example" + no + "it redirects to another host, or to nowhere"}
	if diff := cmp.Diff(want, named); diff != "" || err != nil {
		t.Errorf("well-known: - want + got\n%s%v", diff, err)
	}
	for _, file := range []string{"bad.txt", "absent.txt"} {
		if _, _, err := read(t, List("keeper", fsys, file), files); err == nil {
			t.Errorf("%s was read", file)
		}
	}
}

// TestRosterMerges: one door a host, by the weight of the sources; refused and foreign ones are
// known by name alone.
func TestRosterMerges(t *testing.T) {
	names := func(name, kind string, list ...Named) Source {
		return Source{Name: name, Kind: kind, Read: func(_ context.Context, _ Reading, put func(Named)) error {
			for _, n := range list {
				put(n)
			}
			return nil
		}}
	}
	r, err := newRun(Config{Owner: "x", Store: struct{ Store }{}, Client: api(nil), Week: "2026-W47",
		Now: func() time.Time { return time.Date(2026, 11, 20, 1, 2, 3, 4, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	sources := []Source{
		names("bazaar", record.SourceDiscovery, Named{URL: "https://a.example/catalogue"},
			Named{URL: "https://b.example/new", Method: "post", By: "catalog"}, Named{URL: "https://b.example/old"},
			Named{URL: "https://store.example/buy"}, Named{URL: "http://plain.example/"},
			Named{URL: "https://d.example/1"}, Named{URL: "https://d.example/2"}),
		names("second", record.SourceDiscovery, Named{URL: "https://c.example/second"},
			Named{URL: "https://a.example/second"}),
		names("declared", record.SourceDeclared, Named{URL: "https://a.example/first"},
			Named{URL: "https://a.example/other"}),
		names("revisits", record.SourceRevisit, Named{URL: "https://b.example/old"},
			Named{URL: "https://gone.example/"}, Named{Host: "tired.example", Reason: "it did not answer"}),
		names("well-known", record.SourceWellKnown, Named{URL: "https://gone.example/file"},
			Named{URL: "https://c.example/file"}),
		{Name: "broken", Kind: record.SourceDiscovery,
			Read: func(context.Context, Reading, func(Named)) error { return errors.New("\xff broken") }},
	}
	got, err := r.readSources(t.Context(), sources, nil, "2026-W47")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	known, placed := got.known([]byte("salt"), newQuota(0, false, 0), false)
	for k := range known {
		if k.Entry == nil {
			lines[k.Host] = "- " + k.Reason
			continue
		}
		e := k.Entry
		lines[k.Host] = fmt.Sprintf("%s %s %s %v %s %d", e.URL, e.Source, e.Catalog, e.Listed, e.Declared.Method,
			len(k.Named))
	}
	want := map[string]string{
		"a.example":     "https://a.example/first well-known bazaar true  3",
		"b.example":     "https://b.example/old discovery bazaar true  2",
		"c.example":     "https://c.example/second discovery second true  2",
		"d.example":     "https://d.example/1 discovery bazaar true  1",
		"gone.example":  "https://gone.example/file well-known  false  2",
		"tired.example": "- it did not answer",
		"plain.example": "- it is not https",
		"store.example": "- it is this store",
	}
	for host := range lines {
		// The words are the client's.
		if host == "plain.example" || host == "store.example" {
			lines[host] = "- " + lines[host][strings.LastIndex(lines[host], "it is"):]
		}
	}
	if diff := cmp.Diff(want, lines); diff != "" ||
		!slices.Equal(placed, []string{"a.example", "b.example", "c.example", "d.example", "gone.example"}) {
		t.Errorf("with a place %v: - want + got\n%s", placed, diff)
	}
	if s := got.report[5]; s.Complete || s.Problem != "? broken" || got.report[0].Hosts != 5 {
		t.Errorf("sources %+v", got.report)
	}
}

func TestMonday(t *testing.T) {
	for week, want := range map[string]string{"2026-W01": "2025-12-29", "2026-W47": "2026-11-16",
		"2026-W53": "2026-12-28", "2027-W01": "2027-01-04", "2025-W53": "", "2026-W00": "", "2026-47": "", "": "",
		"2026-W54": ""} {
		at, err := Monday(week)
		got := ""
		if err == nil {
			got = at.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("Monday(%q) = %q, %v; want %q", week, got, err, want)
		}
	}
}

func TestAddressesAreThoseThatWereJudged(t *testing.T) {
	const base, sepolia, one, two = "eip155:8453", "eip155:84532", "0x52908400098527886E0F7030069857D2E4169EE7",
		"0x8617E340B3D01FA5F11F306F4090FD50E238070D"
	accepts := fmt.Sprintf(`{"x402Version":2,"accepts":[{"network":%q,"payTo":%q},{"network":%q,"payTo":%q},{"network":%q,"payTo":%q},{"network":%[1]q,"payTo":"a-name"}]}`, base, one, sepolia, one, base, two)
	judged := []probe.Requirement{{Network: base, PayToDigest: exchange.PayToDigest(base, one)},
		{Network: sepolia, PayToDigest: exchange.PayToDigest(sepolia, one)},
		{Network: base, PayToDigest: exchange.PayToDigest(base, "a-name")}}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
		header := http.Header{"Payment-Required": {encoding.EncodeToString([]byte(accepts))}}
		x := exchange.Exchange{Response: exchange.Response{Header: header}}
		got := addresses([]exchange.Exchange{x}, judged)
		// Not the one that was not judged, not the test network's, and not a name.
		if diff := cmp.Diff(map[string][]string{base: {strings.ToLower(one)}}, got); diff != "" {
			t.Errorf("- want + got\n%s", diff)
		}
	}
	if got := addresses([]exchange.Exchange{{}}, judged); got != nil {
		t.Errorf("addresses of nothing: %v", got)
	}
}
