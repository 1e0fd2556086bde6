package generator

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/doors"
	"store.example/agentstore/corpus/probe"
)

// Readers of /.well-known/x402 take twenty doors, so it lists the twenty that serve them most: the
// cheapest goods of the shelf, and no page before a good.
func TestDeclaredDoors(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.outputs = only("x402")
	build := func() doors.File {
		t.Helper()
		mustBuild(t, in)
		raw, err := os.ReadFile(filepath.Join(in.OutDir, ".well-known/x402"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := doors.Parse(raw, in.Site.Config.BaseURL+doors.FilePath)
		if err != nil || f.Shape != doors.ShapeObjects || f.Refused > 0 {
			t.Fatalf("a %s file, %d refused, %v\n%s", f.Shape, f.Refused, err, raw)
		}
		return f
	}
	buy := in.Site.Config.BaseURL + "/api/buy/"
	first := []probe.DeclaredDoor{{URL: buy + "small_blessing"}, {URL: buy + "daily_fortune"},
		{URL: buy + "the_confession"}, {URL: buy + "spot_check"}, {URL: buy + "phantom_check"}, {URL: buy + "hello"}}
	if got := build().Entries; len(got) != doors.MaxOwn || !slices.Equal(got[:len(first)], first) {
		t.Errorf("%d doors: %v", len(got), got)
	}
	in.Site.Goods = in.Site.Goods[:2]
	if got := build().Entries; len(got) < 4 || got[2].URL != in.Site.Config.BaseURL+in.Site.Issues[0].Path() {
		t.Errorf("with two goods: %v", got)
	}
}

// The API description shows an order of each good that takes inputs, as a query and as a body.
func TestOrdersByExample(t *testing.T) {
	in := specimenInput(t, "")
	query := func(name string) api.Param {
		return api.Param{Name: name, In: api.QueryP, Type: "string", MaxLength: 9}
	}
	in.API = []api.Route{{Name: "buy", Method: "GET", Pattern: "/api/buy/{item_id}",
		Params: []api.Param{query("detail"), query("url"), query("source")}}, {Name: "buy_by_post", Method: "POST",
		Pattern: "/api/buy/{item_id}", Body: &api.Body{ContentType: api.JSON, Schema: api.SchemaFor[struct{}]()}}}
	s, err := newSource(&in, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := renderOpenAPI(s, unit{}, api.JSON, attest.Digest{})
	if err != nil {
		t.Fatal(err)
	}
	type examples map[string]struct{ Value jsontext.Value }
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name     string
					Examples examples
				}
			}
			Post struct {
				RequestBody struct {
					Content map[string]struct{ Examples examples }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	at := doc.Paths["/api/buy/{item_id}"]
	if p := at.Get.Parameters; len(p) != 3 || len(p[0].Examples) < 8 || p[2].Examples != nil ||
		string(p[1].Examples["spot_check"].Value) != `"https://shop.example/api/paid"` {
		t.Errorf("parameters %+v", p)
	}
	bodies := at.Post.RequestBody.Content[api.JSON].Examples
	if got := string(bodies["phantom_check"].Value); len(bodies) < 20 || got != `{"url":"http://shop.example/status"}` {
		t.Errorf("%d bodies, %s", len(bodies), got)
	}
	if in.API[0].Params[0].Examples != nil || in.API[1].Body.Examples != nil {
		t.Error("the table of routes was changed")
	}
}
