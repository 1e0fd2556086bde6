package generator

import (
	"bytes"
	"encoding/xml"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/templates"
)

// TestFeeds holds each feed to RFC 4287: by its own schema in RELAX NG, and
// where it asks for what a schema cannot say: ids that are one's own, whole addresses, times in
// their order, a link to itself and to the page that it is of, which links back.
func TestFeeds(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		npmtest.Unavailable(t, err)
	}
	site, tree := hostileSite.get(t)
	base := site.Config.BaseURL
	for file, page := range map[string]string{"almanac.atom": "almanac", "gazette.atom": "gazette",
		"corpus.atom": "corpus"} {
		body, err := fs.ReadFile(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		schema := exec.CommandContext(t.Context(), lint, "--nonet", "--noout", "--relaxng",
			"../templates/testdata/atom.rng", "-")
		schema.Stdin = bytes.NewReader(body)
		if out, err := schema.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		var f templates.Feed
		if err := xml.Unmarshal(body, &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		self, back := base+"/"+file, base+"/"+page
		if f.ID != self || len(f.Links) != 2 || f.Links[0].Href != self || f.Links[1].Href != back ||
			len(f.Entries) == 0 || f.Updated != f.Entries[0].Updated || f.Author.Name == "" {
			t.Errorf("%s: %+v", file, f)
		}
		html, err := fs.ReadFile(tree, page+"/index.html")
		if err != nil || !bytes.Contains(html, []byte(`type="application/atom+xml" href="/`+file+`"`)) {
			t.Errorf("%s does not link %s: %v", page, file, err)
		}
		ids := map[string]bool{f.ID: true}
		for i, e := range f.Entries {
			at, err := time.Parse(time.RFC3339, e.Updated)
			if ids[e.ID] || !strings.HasPrefix(e.ID, base+"/") || e.Title == "" || e.Summary == "" || err != nil ||
				i > 0 && e.Updated > f.Entries[i-1].Updated || at.IsZero() || len(e.Links) != 1 {
				t.Errorf("%s: entry %d: %+v %v", file, i, e, err)
			}
			ids[e.ID] = true
			if _, ok := resolves(tree, base, page, e.Links[0].Href); !ok {
				t.Errorf("%s: a link to %s", file, e.Links[0].Href)
			}
			if page != "corpus" && strings.TrimSpace(e.Title) != strings.TrimSpace(hostileName) {
				t.Errorf("%s: the title %q became %q", file, hostileName, e.Title)
			}
		}
	}
}
