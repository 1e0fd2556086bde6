package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/content"
)

// lookInWindow holds what the window shows against the places where it comes from.
func (s *stall) lookInWindow(t *testing.T) {
	t.Helper()
	ask := func(path string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.page(t, path)), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	type title struct {
		Title, Publication, Date string
		BuyURL                   string `json:"buy_url"`
	}
	var window struct {
		Stock []struct {
			ItemID  string `json:"item_id"`
			Waiting *int
		}
		Porch, Stamp map[string]string
		Newest       []title
	}
	var porch struct{ Line, Hour string }
	ask("/porch", &porch)
	ask("/api/window/v1", &window)
	if in := window.Porch; in["line"] == "" || in["hour"] == porch.Hour && in["line"] != porch.Line {
		t.Errorf("the porch says %+v, in the window %v", porch, in)
	}
	resp, err := http.Post(s.url+"/api/stamp", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var given struct{ Stamp struct{ Week, Line string } }
	if err := json.NewDecoder(resp.Body).Decode(&given); err != nil || given.Stamp.Line == "" ||
		window.Stamp["week"] == given.Stamp.Week && window.Stamp["line"] != given.Stamp.Line {
		t.Errorf("the stamp is %+v, in the window %v: %v", given, window.Stamp, err)
	}
	if len(window.Newest) != len(content.Publications) {
		t.Errorf("%d titles are in the window", len(window.Newest))
	}
	for i, in := range window.Newest {
		if i > 0 && in.Date > window.Newest[i-1].Date {
			t.Errorf("%+v comes after %+v", in, window.Newest[i-1])
		}
		unpaid, err := http.Get(in.BuyURL)
		if err != nil {
			t.Fatal(err)
		}
		unpaid.Body.Close()
		if unpaid.StatusCode != http.StatusPaymentRequired || in.Title == "" || in.Publication == "" {
			t.Errorf("%+v: status %d", in, unpaid.StatusCode)
		}
	}
	hands := 0
	for _, d := range window.Stock {
		if d.Waiting != nil {
			hands++
		}
	}
	if hands != 5 || !strings.HasPrefix(window.Stamp["how"], "POST "+s.url) {
		t.Errorf("%d goods are made by hand; %v", hands, window.Stamp)
	}
}
