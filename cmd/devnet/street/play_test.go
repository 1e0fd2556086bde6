package street

import (
	"bytes"
	"encoding/base64"
	"encoding/json/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"

	"github.com/google/go-cmp/cmp"
)

var monday = time.Date(2026, 8, 24, 6, 0, 0, 0, time.UTC) // of week 35

// everyone is a play in which each row that can be played is a role, as itself.
func everyone() Play {
	var p Play
	for _, d := range Doors() {
		if d.wire == nil && !d.Plain && !d.Slow && !d.addressless() {
			p.Roles = append(p.Roles, Role{Host: d.Name + ".play.street", Plot: map[int]string{35: d.Name}})
		}
	}
	return p
}

// addressless are rows that want the host to be named or declared as they have it.
func (d Door) addressless() bool { return strings.HasPrefix(d.Name, "name-") }

func scripted(t testing.TB, p Play, at time.Time) (*Street, *Clock, *Walker) {
	t.Helper()
	clock := NewClock(at)
	s, err := OpenScripted(p, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := s.Walker(fetch.Config{UserAgent: "walker/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
		Agent: "https://store.test", Random: zeros{}})
	if err != nil {
		t.Fatal(err)
	}
	return s, clock, c
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestAPlayIsTheSameEveryTime gives every row twice, on streets with other certificates and other
// ports, in one order and in the other, and compares all that a judgement is made of.
func TestAPlayIsTheSameEveryTime(t *testing.T) {
	give := func(backwards bool) []byte {
		s, _, c := scripted(t, everyone(), monday)
		roles := slices.Clone(s.play.play.Roles)
		if backwards {
			slices.Reverse(roles)
		}
		var lines []string
		for _, r := range roles {
			x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: r.URL()}, fetch.Rule{})
			row, _ := r.As(35)
			if (err != nil) != (row.Want.Refused != "") {
				t.Fatalf("%s: %v", r.Host, err)
			}
			red, err := x.Redact()
			if err != nil {
				t.Fatal(err)
			}
			b, err := red.Encode()
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(b))
		}
		slices.Sort(lines)
		return []byte(strings.Join(lines, "\n"))
	}
	first, second := give(false), give(true)
	a, b := bytes.Split(first, []byte{'\n'}), bytes.Split(second, []byte{'\n'})
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			t.Errorf("once\n%s\nand then\n%s", a[i], b[i])
		}
	}
	if bytes.Contains(first, []byte("127.0.0.1:")) {
		t.Error("a port of this run is on record")
	}
}

// terms402 reads the terms of a role's door.
func terms402(t *testing.T, c *Walker, url string) (networks, payTo, amounts []string) {
	t.Helper()
	x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: url}, fetch.Rule{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(x.Response.Header.Get("Payment-Required"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Accepts []struct{ Network, PayTo, Amount string } `json:"accepts"`
	}
	if err := json.Unmarshal(text, &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for _, a := range got.Accepts {
		networks, payTo, amounts = append(networks, a.Network), append(payTo, a.PayTo), append(amounts, a.Amount)
	}
	return networks, payTo, amounts
}

func TestRolesChangeWithTheWeeks(t *testing.T) {
	base, polygon := "eip155:8453", "eip155:137"
	p := Play{
		Roles: []Role{
			{Host: "mover.play.street", Plot: map[int]string{35: "ready-bare"},
				Price: map[int]string{35: "2500", 37: "9000"}, Networks: map[int]string{37: base + " " + polygon},
				Payee: map[int]string{38: "another"}, Lists: map[int]string{35: "index.play.street", 38: ""}},
			{Host: "late.play.street", Plot: map[int]string{37: "ready-bare"},
				Lists: map[int]string{36: "index.play.street"}},
			{Host: "slip.play.street", Plot: map[int]string{35: "ready-bare", 36: "tls-expired",
				37: "connection-refused", 38: "ready-bare"}, Lists: map[int]string{35: "index.play.street"}},
		},
		Lists:   []List{{Host: "index.play.street", Page: 2, Breaks: map[int]int{39: 2}}},
		Outages: []Span{{From: monday.AddDate(0, 0, 34), To: monday.AddDate(0, 0, 36)}},
	}
	_, clock, c := scripted(t, p, monday)
	week := func(n int) { clock.Set(monday.AddDate(0, 0, 7*(n-35))) }

	networks, payTo, amounts := terms402(t, c, p.Roles[0].URL())
	if own := Address(base, "mover.play.street"); !slices.Equal(networks, []string{base}) ||
		!slices.Equal(payTo, []string{own}) || !slices.Equal(amounts, []string{"2500"}) {
		t.Errorf("in week 35: %v %v %v", networks, payTo, amounts)
	}
	week(38)
	networks, payTo, amounts = terms402(t, c, p.Roles[0].URL())
	if another := Address(base, "another"); !slices.Equal(networks, []string{base, polygon}) ||
		!slices.Equal(payTo, []string{another, another}) || !slices.Equal(amounts, []string{"9000", "9000"}) {
		t.Errorf("in week 38: %v %v %v", networks, payTo, amounts)
	}

	stage := func(n int, host string) string {
		week(n)
		x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: "https://" + host + "/" + path},
			fetch.Rule{})
		if err != nil {
			t.Fatal(err)
		}
		return x.Error.Stage
	}
	for _, w := range []struct {
		week        int
		host, stage string
	}{
		{36, "late.play.street", exchange.StageResolve}, {37, "late.play.street", ""},
		{35, "slip.play.street", ""}, {36, "slip.play.street", exchange.StageTLS},
		// the line is down
		{37, "slip.play.street", exchange.StageConnect}, {38, "slip.play.street", ""},
		{40, "mover.play.street", exchange.StageConnect},
	} {
		if got := stage(w.week, w.host); got != w.stage {
			t.Errorf("%s in week %d stopped at %q, want %q", w.host, w.week, got, w.stage)
		}
	}

	list := func(n int, query string) (listed []string, status int) {
		week(n)
		at := "https://index.play.street/discovery/resources?" + query
		x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: at}, fetch.Rule{})
		if err != nil {
			t.Fatal(err)
		}
		file, _ := declarations.Parse(x.Response.Body, at)
		for _, d := range file.Entries {
			listed = append(listed, strings.TrimPrefix(d.URL, "https://"))
		}
		return listed, x.Response.Status
	}
	for _, w := range []struct {
		week  int
		query string
		doors []string
		code  int
	}{
		{35, "limit=20&offset=0", []string{"mover.play.street/paid", "slip.play.street/paid"}, 200},
		{36, "limit=20&offset=0", []string{"late.play.street/paid", "mover.play.street/paid"}, 200},
		{36, "limit=20&offset=2", []string{"slip.play.street/paid"}, 200},
		{36, "offset=9", nil, 200},
		{38, "offset=0", []string{"late.play.street/paid", "slip.play.street/paid"}, 200},
		{39, "offset=2", nil, 503},
	} {
		doors, code := list(w.week, w.query)
		if diff := cmp.Diff(w.doors, doors); diff != "" || code != w.code {
			t.Errorf("in week %d, %s: %d (-want +got)\n%s", w.week, w.query, code, diff)
		}
	}
}

func TestDiscoveryFilesHaveTheirShapes(t *testing.T) {
	var p Play
	for _, shape := range Shapes() {
		p.Roles = append(p.Roles, Role{Host: shape + ".play.street", Plot: map[int]string{35: "post-undeclared"},
			File: map[int]string{35: shape}})
	}
	_, _, c := scripted(t, p, monday)
	read := map[string]int{"objects": 1, "strings": 1, "items": 1, "proposal": 1, "foreign": 3, "empty": 0}
	told := map[string]string{"strings": declarations.ShapeStrings, "methods": declarations.ShapeStrings,
		"objects": declarations.ShapeObjects, "mixed": declarations.ShapeMixed, "items": declarations.ShapeFacilitator,
		"proposal": declarations.ShapeProposal, "pointed": declarations.ShapeStrings,
		"foreign": declarations.ShapeStrings,
		"empty":   declarations.ShapeEmpty, "words": declarations.ShapeUnknown}
	for _, r := range p.Roles {
		shape := has(r.File, 35)
		at := "https://" + r.Host + "/.well-known/x402"
		switch shape {
		case "openapi":
			at = "https://" + r.Host + "/openapi.json"
		case "pointed":
			at = "https://" + r.Host + "/x402.json"
		}
		x, err := c.Do(t.Context(), exchange.Request{Method: http.MethodGet, URL: at}, fetch.Rule{})
		if err != nil || x.Response.Status != 200 {
			t.Fatalf("%s: %v, %d", shape, err, x.Response.Status)
		}
		found, err := declarations.Parse(x.Response.Body, at)
		if want, known := read[shape]; known && (err != nil || len(found.Entries) != want) || shape == "words" &&
			err == nil {
			t.Errorf("%s: %v, %v in %s", shape, found, err, x.Response.Body)
		}
		report, _, err := fetch.Walk(t.Context(), c, declarations.Checker{Host: r.Host},
			fetch.WalkStart{URL: declarations.Start(r.Host), Kinds: []string{"get"}})
		if err != nil || report.File.Shape != told[shape] {
			t.Errorf("%s is read as %+v, %v", shape, report, err)
		}
		own := report.File.On(r.Host, func(u string) (string, error) { return c.Parse(u, fetch.Rule{}) })
		if none := shape == "empty" || shape == "words" || shape == "openapi"; none != (len(own.Doors) == 0) ||
			(own.Foreign == 2) != (shape == "foreign") {
			t.Errorf("%s is read as %+v", shape, own)
		}
		if shape == "objects" && found.Entries[0].Method != http.MethodPost {
			t.Errorf("%s declares %+v", shape, found.Entries)
		}
	}
}

func TestAPlayMustBeWhole(t *testing.T) {
	for _, p := range []Play{
		{Roles: []Role{{Host: "a.street", Plot: map[int]string{35: "no-such-row"}}}},
		{Roles: []Role{{Host: "a.street", Plot: map[int]string{35: "tls-silent"}}}},
		{Roles: []Role{{Host: "a.street"}, {Host: "a.street"}}},
		{Roles: []Role{{Host: "a.street", Lists: map[int]string{35: "b.street"}}}},
		{Roles: []Role{{Host: "a.street", File: map[int]string{35: "round"}}}},
	} {
		if s, err := OpenScripted(p, NewClock(monday)); err == nil {
			s.Close()
			t.Errorf("played %+v", p)
		}
	}
}
