package desk_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/corpustest"
)

// atom is an Atom feed as a reader takes it.
type atom struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Entries []struct {
		ID      string `xml:"id"`
		Title   string `xml:"title"`
		Updated string `xml:"updated"`
		Summary string `xml:"summary"`
	} `xml:"entry"`
}

func TestFeedOfAHost(t *testing.T) {
	w := plain(t)
	corpustest.Append(t, w, 3, corpustest.Weeks)
	l := newListing(t, w)
	changes := map[string]int{}
	for _, host := range []string{"standing.example", "broken.example", "moved.example", "never-seen.example"} {
		status, body := l.get(t, "/corpus/host/"+host+"/feed.xml")
		var f atom
		if err := xml.Unmarshal(body, &f); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v\n%s", host, status, err, body)
		}
		if again, other := l.get(t, "/corpus/host/"+strings.ToUpper(host)+"/feed.xml"); again != status ||
			!bytes.Equal(body, other) {
			t.Errorf("%s: another spelling gives another feed", host)
		}
		valid(t, host, body)
		ids := map[string]bool{}
		for i, e := range f.Entries {
			if ids[e.ID] || e.Title == "" || e.Summary == "" || i > 0 && e.Updated > f.Entries[i-1].Updated {
				t.Errorf("%s: entry %d: %+v", host, i, e)
			}
			ids[e.ID] = true
		}
		changes[host] = len(f.Entries)
		if f.ID != base+"/corpus/host/"+host+"/feed.xml" || len(f.Entries) > 0 && f.Updated != f.Entries[0].Updated {
			t.Errorf("%s: %+v", host, f)
		}
	}
	if changes["standing.example"] != 1 || changes["broken.example"] < 2 || changes["never-seen.example"] != 0 {
		t.Errorf("entries: %v", changes)
	}
	_, body := l.get(t, "/corpus/host/moved.example/feed.xml")
	if !strings.Contains(string(body), "pay-to address: ") {
		t.Errorf("no new address in\n%s", body)
	}
	for _, host := range []string{"nobody.example", "standing.example%2F..", "%3Cscript%3E"} {
		if status, body := l.get(t, "/corpus/host/"+host+"/feed.xml"); status != http.StatusNotFound ||
			bytes.Contains(body, []byte("<script>")) {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

// valid holds a feed to its schema, in RELAX NG.
func valid(t *testing.T, name string, body []byte) {
	t.Helper()
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not here")
	}
	path := filepath.Join(t.TempDir(), "feed.xml")
	check := func(text []byte) error {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return exec.CommandContext(ctx, lint, "--nonet", "--noout", "--relaxng", "../../templates/testdata/atom.rng",
			path).Run()
	}
	if err := check(body); err != nil {
		t.Errorf("%s: %v\n%s", name, err, body)
	}
	for _, spoilt := range [][2]string{{"<updated>", "<updated>yesterday "}, {`rel="self"`, `rell="self"`},
		{"<updated>", "<id>urn:another</id><updated>"}} {
		text := bytes.Replace(slices.Clone(body), []byte(spoilt[0]), []byte(spoilt[1]), 1)
		if check(text) == nil {
			t.Errorf("%s: valid with %s", name, spoilt[1])
		}
	}
}
