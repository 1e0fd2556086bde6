package pages

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// The API description shows an order of each good that takes inputs, as a query and as a body.
func TestOrdersByExample(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey()}
	query := func(name string) api.Param {
		return api.Param{Name: name, In: api.QueryP, Type: "string", MaxLength: 9}
	}
	in.API = []api.Route{{Name: "buy", Method: "GET", Pattern: "/api/buy/{item_id}",
		Params: []api.Param{query("detail"), query("url"), query("source")}}, {Name: "buy_by_post", Method: "POST",
		Pattern: "/api/buy/{item_id}", Body: &api.Body{ContentType: api.JSON, Schema: api.SchemaFor[struct{}]()}}}
	s, err := NewSource(&in, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := renderOpenAPI(s, Unit{}, api.JSON, attest.Digest{})
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
