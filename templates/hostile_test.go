package templates_test

import (
	jsonv2 "encoding/json/v2"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/templates"
)

// TestHostileDoorsHavePages renders the pages of doors that wish the record ill, and the trajectory
// that counts them: each has one in every spelling, and nothing on it turns the writing round.
func TestHostileDoorsHavePages(t *testing.T) {
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for i := range 2 {
		h := corpustest.NewHostile(uint64(50+i), corpustest.Monday.AddDate(0, 0, 7*i+6).Add(-time.Hour))
		if _, err := w.Seal(t.Context(), h.Draft(int64(i+1), 150)); err != nil {
			t.Fatal(err)
		}
	}
	hosts := hostsOf(t, os.DirFS(w.Dir))
	if len(hosts) != 150 {
		t.Fatalf("%d hosts", len(hosts))
	}
	visible := func(name, text string) {
		if at := strings.IndexFunc(text, func(c rune) bool {
			return c != '\n' && c != '\t' && !unicode.IsPrint(c) &&
				!unicode.IsSpace(c)
		}); at >= 0 {
			t.Errorf("%s: %q", name, text[max(0, at-60):min(len(text), at+60)])
		}
	}
	for name, host := range hosts {
		view, err := templates.NewHostView(chrome(t), host)
		if err != nil {
			t.Fatal(err)
		}
		page, twin := render(t, view)
		for _, text := range []string{page, twin, string(templates.HostJSON(view))} {
			visible(name, text)
		}
		if has := strings.Contains(page, `type="application/atom+xml" href="/corpus/host/`+host.Host+`/feed.xml"`) &&
			strings.Count(page, "/feed.xml") == 2 && strings.Contains(twin, "/feed.xml"); has !=
			(derive.HostName(host.Host) == host.Host) {
			t.Errorf("%s: a link to its feed is %v", name, has)
		}
		if host.Payment == nil || !host.Payment.Captured && host.Payment.WhyNot == "" {
			t.Errorf("%s: address %+v", name, host.Payment)
		}
	}
	trajectory := trajectoryOf(t, os.DirFS(w.Dir))
	if len(trajectory.Weeks) != 2 || len(trajectory.Weeks[1].Networks) < 5 {
		t.Errorf("the doors name too few networks: %+v", trajectory.Weeks)
	}
	sheet := templates.TrajectorySheet(templates.SheetView{Chrome: chrome(t)}, trajectory)
	page, err := templates.HTML(&sheet)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := templates.Markdown(&sheet)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jsonv2.Marshal(trajectory)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{page, twin, raw} {
		visible("trajectory", string(text))
	}
}

// trajectoryOf derives one point a round of a record.
func trajectoryOf(t *testing.T, fsys fs.FS) derive.TrajectoryView {
	t.Helper()
	r, err := record.Open(fsys, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	return bookOf(t, r).Trajectory()
}

// bookOf is a record with the figures of its rounds, without its observations.
func bookOf(t testing.TB, r *record.Record) *derive.Book {
	t.Helper()
	none := func(string) []record.Observation { return nil }
	roll, figures, err := derive.CallRoll("https://store.example", r.Rounds(), none, r.Histories())
	if err != nil {
		t.Fatal(err)
	}
	return &derive.Book{Rounds: r.Rounds(), Figures: figures, Roll: roll}
}
