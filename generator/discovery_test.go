package generator

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/probe"
)

// Readers of /.well-known/x402 take twenty doors, so it lists the twenty that serve them most: the
// cheapest goods of the shelf, and no page before a good.
func TestDeclaredDoors(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.outputs = only("x402")
	build := func() declarations.File {
		t.Helper()
		mustBuild(t, in)
		raw, err := os.ReadFile(filepath.Join(in.OutDir, ".well-known/x402"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := declarations.Parse(raw, in.Site.Config.BaseURL+declarations.FilePath)
		if err != nil || f.Shape != declarations.ShapeObjects || f.Refused > 0 {
			t.Fatalf("a %s file, %d refused, %v\n%s", f.Shape, f.Refused, err, raw)
		}
		return f
	}
	buy := in.Site.Config.BaseURL + "/api/buy/"
	first := []probe.DeclaredDoor{{URL: buy + "small_blessing"}, {URL: buy + "daily_fortune"},
		{URL: buy + "the_confession"}, {URL: buy + "spot_check"}, {URL: buy + "phantom_check"}, {URL: buy + "hello"}}
	if got := build().Entries; len(got) != declarations.MaxOwn || !slices.Equal(got[:len(first)], first) {
		t.Errorf("%d doors: %v", len(got), got)
	}
	in.Site.Goods = in.Site.Goods[:2]
	if got := build().Entries; len(got) < 4 || got[2].URL != in.Site.Config.BaseURL+in.Site.Issues[0].Path() {
		t.Errorf("with two goods: %v", got)
	}
}
