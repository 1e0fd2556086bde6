package templates_test

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"agentstore/corpus/attest"
	"agentstore/corpus/corpustest"
	"agentstore/corpus/record"
	"agentstore/templates"
)

// TestHostileDoorsHavePages renders the pages of doors that wish the record ill: each has one in every spelling, and
// nothing on it turns the writing round.
func TestHostileDoorsHavePages(t *testing.T) {
	w := &record.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(), LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
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
	for name, host := range hosts {
		view, err := templates.NewHostView(chrome(t), host)
		if err != nil {
			t.Fatal(err)
		}
		page, twin := render(t, view)
		for _, text := range []string{page, twin, string(templates.HostJSON(view))} {
			if at := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) && !unicode.IsSpace(c) }); at >= 0 {
				t.Errorf("%s: %q", name, text[max(0, at-60):min(len(text), at+60)])
			}
		}
		if host.Payment == nil || !host.Payment.Captured && host.Payment.WhyNot == "" {
			t.Errorf("%s: address %+v", name, host.Payment)
		}
	}
}
