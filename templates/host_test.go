package templates_test

import (
	"encoding/json"
	"html"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/templates"
)

// hostViews makes the pages of all hosts of a small record.
func hostViews(t *testing.T) map[string]templates.HostView {
	t.Helper()
	views := map[string]templates.HostView{}
	for name, host := range hostsOf(t, corpustest.Write(t, 3)) {
		view, err := templates.NewHostView(chrome(t), host)
		if err != nil {
			t.Fatal(err)
		}
		views[name] = view
	}
	return views
}

// hostsOf describes all hosts of a record.
func hostsOf(t testing.TB, rec fs.FS) map[string]derive.Host {
	t.Helper()
	r, err := record.Open(rec, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	book := bookOf(t, r)
	hosts := map[string]derive.Host{}
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		history := tier.HistoryOf(r.Rounds(), h, feed)
		hosts[h.Host], err = derive.DescribeHost(r.Rounds(), history, tier.StandingOf(history), derive.HostParts{
			BaseURL: "https://store.example", Feed: feed,
			Others: book.Others,
			Prove:  func(leaf, size int64) (tlog.Proof, error) { return r.Log.Prove(leaf, size, r.Ring()) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return hosts
}

func render(t *testing.T, v templates.HostView) (page, twin string) {
	t.Helper()
	body, err := templates.RenderHost(v)
	if err != nil {
		t.Fatal(err)
	}
	md, err := templates.RenderHostMarkdown(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), string(md)
}

// TestHostPagesTellTheirStory reads the pages of hosts whose story is known.
func TestHostPagesTellTheirStory(t *testing.T) {
	views := hostViews(t)
	for host, want := range map[string][]string{
		"standing.example": {"standing — 8 of 8, W40–W47", "12 of 12 rounds since the first sighting, 100 %",
			"0x" + strings.Repeat("ab", 32), "status 200, 812 bytes, 340 ms", "x402-v1",
			"/badge/host.svg?host=standing.example", "/badge/check.svg?url=https%3A%2F%2Fstanding.example%2Fpaid"},
		"api.weather.example": {"1 other door of that round", "no_declaration"},
		"broken.example":      {"broken — 3 of 4, W44–W47", "status-402"},
		"returned.example":    {"indeterminate — 3 of 4, W44–W47", "interrupted", "not_listed"},
		"late.example": {"indeterminate — 2 of 2, W46–W47", "before_first_sighting",
			"2 of 2 rounds since the first sighting"},
		"missed.example": {"instrument_degraded", "indeterminate"},
		"never-seen.example": {"indeterminate — 0 of 4", "No round has observed this host",
			"not observed in this round"},
		"moved.example": {"no other door of that round", "in W43"},
	} {
		page, twin := render(t, views[host])
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s: the page lacks %q", host, w)
			}
			if !strings.Contains(twin, w) {
				t.Errorf("%s: the twin lacks %q", host, w)
			}
		}
	}
}

// TestTimelineSaysItsWords holds the columns of the timeline against the words that they may have,
// and demands that what a word means stands where it stands: a week that no list named the host in
// is no contradiction of listed_not_walked.
func TestTimelineSaysItsWords(t *testing.T) {
	protocol := regexp.MustCompile(`^[a-z0-9-]+(, [a-z0-9-]+)*$`)
	for host, v := range hostViews(t) {
		page, twin := render(t, v)
		for _, l := range v.Timeline {
			if (l.Listed == "not listed") != (l.Probed == "before_first_sighting") || l.Listed != "listed" &&
				l.Listed != "not listed" && l.Listed != "known from before" || l.Protocols != "not measured" &&
				(!protocol.MatchString(l.Protocols) || l.Verdict == "–") ||
				l.Probed != "probed" && l.Probed != "listed_not_walked" &&
					l.Probed != "turned_away" && l.Probed != "before_first_sighting" {
				t.Errorf("%s: %+v", host, l)
			}
		}
		for form, text := range map[string]string{"page": page, "twin": strings.ReplaceAll(twin, "`", "")} {
			text = regexp.MustCompile("</?code>").ReplaceAllString(text, "")
			if !strings.Contains(text, "listed_not_walked counts against the store: the host was on its books") ||
				strings.Contains(text, "none seen") {
				t.Errorf("%s: the %s does not say what its words mean", host, form)
			}
		}
		for _, g := range v.Reasons {
			if !strings.Contains(g.Value, " rounds: ") || !strings.Contains(page, html.EscapeString(g.Value)) {
				t.Errorf("%s: %+v says no reason", host, g)
			}
		}
	}
}

// TestThePaymentAddressIsAlwaysThere: the JSON of every host has the block and says whether an
// address was captured, and where none was, why.
func TestThePaymentAddressIsAlwaysThere(t *testing.T) {
	seen := map[string]int{}
	for host, v := range hostViews(t) {
		var doc struct {
			Payment *struct {
				Captured *bool  `json:"captured"`
				WhyNot   string `json:"not_captured_reason"`
				Digest   string `json:"digest"`
				Caveat   string `json:"shared_wallet_caveat"`
			} `json:"payment_address"`
		}
		if err := json.Unmarshal(templates.HostJSON(v), &doc); err != nil {
			t.Fatal(err)
		}
		p := doc.Payment
		if p == nil || p.Captured == nil || *p.Captured != (p.WhyNot == "") || *p.Captured != (p.Digest != "") ||
			p.Caveat == "" {
			t.Errorf("%s: %+v", host, p)
			continue
		}
		seen[p.WhyNot]++
	}
	if seen[""] == 0 || seen[derive.NotCapturedUnseen] == 0 || len(seen) < 3 {
		t.Errorf("the hosts are too much alike: %v", seen)
	}
}

// TestANoteIsNoMarkup looks for a stranger's markup in both spellings.
func TestANoteIsNoMarkup(t *testing.T) {
	page, twin := render(t, hostViews(t)["moved.example"])
	if strings.Contains(page, "<b>on purpose") || !strings.Contains(page, "&lt;b&gt;on purpose") {
		t.Error("the note's markup reached the page")
	}
	if strings.Contains(twin, "[our note](") || strings.Contains(twin, "<b>") && !strings.Contains(twin, `\<b\>`) {
		t.Error("the note's markup reached the twin")
	}
}

// TestCitedRowsCanBeChecked does with a page's citation what it says: the row hashes to its digest,
// carries a signature, and stands in the log.
func TestCitedRowsCanBeChecked(t *testing.T) {
	ring := attest.SpecimenRing()
	for host, v := range hostViews(t) {
		c := v.Host.Citation
		row, err := record.VerifyRow([]byte(c.Row), attest.SpecimenKey().Public())
		if err != nil || row.Host != host || row.Week != c.Week {
			t.Fatalf("%s: %v, row of %s in %s", host, err, row.Host, row.Week)
		}
		proof, err := tlog.ParseProof([]byte(c.Inclusion))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proof.Verify([]byte(c.Row), ring); err != nil || proof.Index != c.Leaf {
			t.Errorf("%s: %v, leaf %d cited as %d", host, err, proof.Index, c.Leaf)
		}
		if _, err := proof.Verify([]byte(c.Row+" "), ring); err == nil {
			t.Errorf("%s: the proof holds for another row", host)
		}
	}
}
