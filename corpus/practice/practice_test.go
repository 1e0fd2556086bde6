package practice

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// TestAll judges the exact bytes of every practice door.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.ID] || p.Title == "" || p.Teaches == "" || p.RightBuyer == "" ||
			!slices.Contains([]probe.Verdict{probe.Ready, probe.NotReady}, p.Verdict) {
			t.Errorf("%s: a field of the row is empty, or its id is taken", p.ID)
		}
		seen[p.ID] = true
		url := "https://store.example/api/practice/" + p.ID
		a, again := p.Answer(url), p.Answer(url)
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("%s answers twice unlike:\n%s", p.ID, diff)
		}
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", p.ID)
		}
		// A refusal is told as RFC 9457 has it, except where the body is the fault itself.
		if body := object(a.Body); a.Status >= 400 &&
			!slices.Contains([]string{"prose-payment", "rail-switch", "price-conflict"}, p.ID) &&
			(a.Header.Get("Content-Type") != "application/problem+json" ||
				body["type"] != "https://store.example/problems/payment_required" ||
				body["status"] != 402.0 || body["instance"] != "/api/practice/"+p.ID ||
				body["error"] == nil || body["title"] == nil || body["detail"] == nil) {
			t.Errorf("%s tells its refusal as %s %s", p.ID, a.Header.Get("Content-Type"), a.Body)
		}
		x := exchange.Exchange{Request: exchange.Request{Method: "GET", URL: url},
			StartedAt: time.Date(2026, 11, 20, 10, 11, 12, 0, time.UTC),
			Response:  exchange.Response{Status: a.Status, Proto: "HTTP/2.0", Header: a.Header, Body: a.Body}}
		look, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := look.Step([]exchange.Exchange{x})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != p.Verdict || !slices.Equal(r.Reading().Failed, p.Failed) {
			t.Errorf("%s: %s %v, want %s %v", p.ID, r.Verdict, r.Reading().Failed, p.Verdict, p.Failed)
		}
		for _, name := range p.Advisories {
			if !slices.ContainsFunc(r.Advisories, func(n probe.Note) bool { return n.Name == name }) {
				t.Errorf("%s does not raise %s: %v", p.ID, name, r.Advisories)
			}
		}
		for _, e := range []string{"resource-host-mismatch", "placement-mismatch", "conflicting-amounts",
			"settles-before-delivery", "testnet-network"} {
			if slices.ContainsFunc(r.Advisories, func(n probe.Note) bool { return n.Name == e }) &&
				!slices.Contains(p.Advisories, e) {
				t.Errorf("%s raises %s, which its row does not say", p.ID, e)
			}
		}
	}
	want := []string{"malformed-header", "empty-accepts", "testnet-network", "name-payto", "wrong-rail-payto",
		"dust-correct"}
	var got []string
	for _, p := range All()[:6] {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(All()) != 6+16 {
		t.Errorf("%d practice doors:\n%s", len(All()), diff)
	}
}

// object is a JSON object, nil where it is none.
func object(raw []byte) (members map[string]any) {
	_ = json.Unmarshal(raw, &members)
	return members
}

// TestNamesAreForEver holds ids and order.
func TestNamesAreForEver(t *testing.T) {
	var b strings.Builder
	for _, p := range All() {
		b.WriteString("practice " + p.ID + "\n")
	}
	want, err := os.ReadFile("testdata/names.golden")
	if err != nil || b.String() != string(want) {
		t.Errorf("names.golden is not as it was (%v):\n%s", err, &b)
	}
}
