package street

import (
	"fmt"
	"slices"
	"testing"

	"store.example/agentstore/corpus/agentcard"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/pagecheck"
	"store.example/agentstore/corpus/probe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// said is a report in the words that all instruments share.
type said struct {
	verdict string
	checks  map[string]string // those that are reached and not passed
}

func read[R any](t *testing.T, c *fetch.Client, checker probe.Checker[R], url string,
	words func(R) (string, []string)) said {
	t.Helper()
	r, recording, err := fetch.Walk(t.Context(), c, checker, fetch.WalkStart{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	again, err := probe.Replay(recording.Exchanges, checker)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("%s: judged again, the report is another:\n%s", url, diff)
	}
	out := said{checks: map[string]string{}}
	var pairs []string
	out.verdict, pairs = words(r)
	for i := 0; i < len(pairs); i += 2 {
		if name, state := pairs[i], pairs[i+1]; state != "pass" && state != "not_checked" && state != "not_reached" {
			out.checks[name] = state
		}
	}
	return out
}

func TestEverySightIsSeenAsItIs(t *testing.T) {
	s := opened(t)
	c := client(t, s, fetch.DefaultTimeout)
	var kinds []string
	for _, sight := range s.Sights() {
		var got said
		switch sight.Kind {
		case SightCard:
			got = read(t, c, agentcard.Checker{URL: sight.URL()}, sight.URL(),
				func(r agentcard.Report) (string, []string) {
					var p []string
					for _, k := range r.Checks {
						p = append(p, k.Name, string(k.State))
					}
					return string(r.Verdict), p
				})
		case SightDirectory:
			got = read(t, c, botauth.Checker{URL: sight.URL()}, sight.URL(), func(r botauth.Report) (string, []string) {
				var p []string
				for _, k := range r.Checks {
					p = append(p, k.Name, string(k.State))
				}
				return string(r.Verdict), p
			})
		case SightPage:
			got = read(t, c, pagecheck.Checker{URL: sight.URL()}, sight.URL(),
				func(r pagecheck.Report) (string, []string) {
					var p []string
					for _, k := range r.Checks {
						p = append(p, k.Name, string(k.State))
					}
					return string(r.Verdict), p
				})
		}
		if !slices.Contains(kinds, sight.Kind) {
			kinds = append(kinds, sight.Kind)
		}
		if got.verdict != sight.Verdict {
			t.Errorf("%s: %s is %s, want %s", sight.URL(), sight.Doc, got.verdict, sight.Verdict)
		}
		if diff := cmp.Diff(sight.Checks, got.checks, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", sight.URL(), sight.Doc, diff)
		}
	}
	if len(kinds) != 3 {
		t.Error(fmt.Sprint("sights of kinds ", kinds))
	}
}
