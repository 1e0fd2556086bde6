package x402_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// The terms say version 2 and every entry of accepts, each with an offer that is signed until the
// last moment of its use.
func TestTerms(t *testing.T) {
	until := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	accepts := []rail.Requirement{
		{Scheme: "exact", Network: "eip155:8453", Amount: "1", Asset: "0x1", PayTo: "0x2", MaxTimeoutSeconds: 300},
		{Scheme: "exact", Network: "eip155:1", Amount: "2", Asset: "0x1", PayTo: "0x2", MaxTimeoutSeconds: 60},
	}
	var signed []string
	store := pay.Store{SignOffer: func(a rail.Requirement, resource string, at time.Time) (string, error) {
		signed = append(signed, a.Network+" "+resource+" "+at.Format(time.RFC3339))
		return "jws-" + a.Network, nil
	}}
	q := &pay.Quote{URL: "https://store.example/api/buy/x", Method: http.MethodGet, Accepts: accepts, Until: until,
		Inputs: []pay.Input{{Name: "detail", Type: "string", Max: 500, Required: true, Example: "a word"},
			{Name: "color", Type: "string"}}}
	terms, err := x402.Row.New(store).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(signed, "\n"),
		"eip155:8453 https://store.example/api/buy/x 2026-11-20T10:05:00Z"; got != want {
		t.Errorf("signed\n%s\nwant\n%s", got, want)
	}
	members := map[string]string{}
	for _, m := range terms.Members() {
		members[m.Name] = string(m.Value)
	}
	var offers []x402.Offer
	if err := json.Unmarshal([]byte(members["offers"]), &offers); err != nil || len(offers) != 1 ||
		offers[0].Signature != "jws-eip155:8453" || strings.Contains(members["extensions"], "jws-") {
		t.Errorf("offers %s, %v", members["offers"], err)
	}
	if members["x402Version"] != "2" {
		t.Errorf("version %s", members["x402Version"])
	}
	// What an order must have is named, and has an example; what it may have is described alone.
	var ext map[string]struct {
		Info struct {
			Input struct {
				QueryParams map[string]string
			}
		}
		Schema struct {
			Properties struct {
				Input struct {
					Properties struct {
						QueryParams struct {
							Properties map[string]any
							Required   []string
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(members["extensions"]), &ext); err != nil {
		t.Fatal(err)
	}
	b := ext[x402.ExtBazaar]
	contract := b.Schema.Properties.Input.Properties.QueryParams
	if len(contract.Required) != 1 || contract.Required[0] != "detail" || len(contract.Properties) != 2 ||
		len(b.Info.Input.QueryParams) != 1 || b.Info.Input.QueryParams["detail"] != "a word" {
		t.Errorf("bazaar %s", members["extensions"])
	}
	// Where one of several may come, the first shows how.
	q.Inputs = []pay.Input{{Name: "color", Type: "string", Example: "red"}}
	if terms, err = x402.Row.New(store).Terms(q); err != nil || !strings.Contains(fmt.Sprintf("%s", terms.Members()),
		`"queryParams":{"color":"red"}`) {
		t.Errorf("%v: %s", err, terms.Members())
	}
}
