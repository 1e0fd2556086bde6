package dynamic

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/templates"
)

// hostPages renders from a record of twelve rounds and a few hosts of odd names.
func hostPages(t *testing.T) (HostPages, *record.Record) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog),
		Ring:   attest.SpecimenRing()}
	corpustest.Append(t, w, 4, corpustest.Weeks)
	odd := record.Row{URL: "https://x/", Source: record.SourceDiscovery, Verdict: record.VerdictNotProbed,
		Reason: "interrupted", Battery: "v2", Fault: record.FaultNone,
		Failed: []string{}, Advisories: []string{}, Protocols: []string{}}
	at := corpustest.Monday.AddDate(0, 0, 7*corpustest.Weeks+6)
	if _, err := w.Seal(t.Context(), seal.Draft{Sequence: corpustest.Weeks + 1, Week: record.ISOWeek(at), TakenAt: at,
		Battery: "v2", Rows: func(yield func(record.Row, error) bool) {
			for _, host := range []string{strings.Repeat("a.", 110) + "example", "h-" + strings.Repeat("0", 64),
				"odd(name.example"} {
				if odd.Host, odd.URL = host, "https://"+host+"/"; !yield(odd, nil) {
					return
				}
			}
		}}); err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(t.Context(), archive.Config{Record: w.Dir, Index: filepath.Join(t.TempDir(), "view"),
		Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return HostPages{Archive: a, Chrome: func() *templates.Chrome { return chrome }, BaseURL: base,
		Spell: strings.ToLower}, r
}

// TestHostPagesAreThoseOfTheRecord makes every page of every host straight from the record, slowly,
// and compares.
func TestHostPagesAreThoseOfTheRecord(t *testing.T) {
	p, r := hostPages(t)
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	others := func(sequence int64, address record.PayTo) (n int64) {
		for row, err := range r.Rows(sequence) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Offer != nil && len(row.Offer.PayTo) > 0 && row.Offer.PayTo[0] == address {
				n++
			}
		}
		return n - 1
	}
	hosts := 0
	for rows, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		hosts++
		h := tier.HistoryOf(r.Rounds(), rows, feed)
		described, err := derive.DescribeHost(r.Rounds(), h, tier.StandingOf(h),
			derive.HostParts{BaseURL: base, Feed: feed,
				Others: others,
				Prove:  func(leaf, size int64) (tlog.Proof, error) { return r.Log.Prove(leaf, size, r.Ring()) }})
		if err != nil {
			t.Fatal(err)
		}
		view, err := templates.NewHostView(p.Chrome(), described)
		if err != nil {
			t.Fatal(err)
		}
		page, err := templates.RenderHost(view)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := templates.RenderHostMarkdown(view)
		if err != nil {
			t.Fatal(err)
		}
		name := derive.HostName(rows.Host)
		if to := p.Canonical(name); to != name {
			t.Errorf("%s is sent to %s", name, to)
		}
		for mediaType, want := range map[string][]byte{api.HTML: page, api.Markdown: twin,
			api.JSON: templates.HostJSON(view)} {
			got, err := p.Render(t.Context(), name, mediaType)
			if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
				t.Errorf("%s as %s: %v (-want +got):\n%s", rows.Host, mediaType, err, diff)
			}
		}
	}
	if hosts != 20 {
		t.Errorf("%d hosts", hosts)
	}
}

// TestPagesKeepNothingOfEachOther: what was rendered stays as it is while others are.
func TestPagesKeepNothingOfEachOther(t *testing.T) {
	p, _ := hostPages(t)
	for _, mediaType := range []string{api.HTML, api.Markdown, api.JSON} {
		page, err := p.Render(t.Context(), "standing.example", mediaType)
		before := strings.Clone(string(page))
		_, other := p.Render(t.Context(), derive.HostName("odd(name.example"), mediaType)
		if err != nil || other != nil || string(page) != before {
			t.Errorf("%s: %v, %v: became\n%s", mediaType, err, other, page)
		}
	}
}

func TestHostThatWasNeverMet(t *testing.T) {
	p, _ := hostPages(t)
	for _, name := range []string{"nobody.example", "standing.exampl", "h-" + strings.Repeat("1", 64),
		strings.Repeat("b.", 110) + "example"} {
		b, err := p.Render(t.Context(), p.Canonical(name), api.HTML)
		e, ok := errors.AsType[*problem.Error](err)
		if !ok || e.Code != "not_found" || len(b) > 0 || !strings.Contains(e.Next, base+"/api/why/") ||
			!strings.Contains(e.Next, base+"/api/declare-door") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// A digest is no host, and nobody can be sent on to ask about one.
		if hashed := isHashed(p.Canonical(name)); hashed == strings.Contains(e.Next, "/api/why/"+p.Canonical(name)) ||
			hashed == (e.Extra["host"] != nil) {
			t.Errorf("%s: %s %v", name, e.Next, e.Extra)
		}
	}
	for name, want := range map[string]string{"Standing.EXAMPLE": "standing.example",
		"h-" + strings.Repeat("1", 64): "h-" + strings.Repeat("1", 64)} {
		if got := p.Canonical(name); got != want {
			t.Errorf("%s is spelled %s, want %s", name, got, want)
		}
	}
	if _, err := p.Render(t.Context(), "standing.example", "image/png"); err == nil {
		t.Error("rendered a picture")
	}
	p.Archive = nil
	if _, err := p.Render(t.Context(), "standing.example", api.HTML); err == nil {
		t.Error("rendered without a record")
	}
}
