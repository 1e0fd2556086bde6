package generator

import (
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
)

// A page of the keeper's is listed at /search by its title and summary: other prose makes its own
// two forms anew, and another title those of the list too.
func TestProseOfAPageIsItsOwn(t *testing.T) {
	const page = "+++\ntitle = \"A note\"\nsummary = \"What it is about.\"\n+++\nFirst it said this.\n"
	dir := t.TempDir()
	in := specimenInput(t, dir+"/public")
	in.Record = dir + "/record"
	build := func(page string) int {
		src := sourceTree(t)
		src["pages/notes/one.md"] = &fstest.MapFile{Data: []byte(page)}
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatal(err)
		}
		in.Site = site
		return mustBuild(t, in).Rendered
	}
	build(page)
	other := strings.Replace(page, "First", "Then", 1)
	if n := build(other); n != 2 {
		t.Errorf("other prose: %d files were made anew, want 2", n)
	}
	if n := build(strings.Replace(other, "A note", "A remark", 1)); n < 4 {
		t.Errorf("another title: %d files were made anew, want 4 at least", n)
	}
}
