package onchaintest_test

import (
	"context"
	"errors"
	"testing"

	"store.example/agentstore/dynamic/counter"
)

// TestVerificationShowsWhatTheRecordHolds buys a word and asks for its certificate while the record
// holds it, holds nothing, and cannot be read.
func TestVerificationShowsWhatTheRecordHolds(t *testing.T) {
	var asked counter.Recorded
	held, fault := &counter.Inclusion{ID: "observation_7", Kind: "retired_word", Leaf: 41, LogSize: 60,
		Proof: "c2sp.org/tlog-proof@v1\n"}, error(nil)
	s := newShop(t, shopOptions{networks: []uint64{8453},
		counter: counter.Config{Recorded: func(what counter.Recorded) (*counter.Inclusion, error) {
			asked = what
			return held, fault
		}}})
	r, _ := s.buy("/api/buy/retired_word?detail=Synergy", s.net.Buyers[0], nil)
	if r.Status != 200 {
		t.Fatalf("buy = %d %s", r.Status, r.Raw)
	}
	path := "/api/verify/" + r.Str("cert_id")
	v := s.do("GET", path, nil)
	in, _ := v.Body["inclusion"].(map[string]any)
	if v.Status != 200 || v.Body["valid"] != true || in["id"] != "observation_7" || in["leaf"] != 41.0 ||
		asked.Word != "synergy" {
		t.Errorf("verify = %d %s, asked for %+v", v.Status, v.Raw, asked)
	}
	held = nil
	if v := s.do("GET", path, nil); v.Status != 200 || v.Body["inclusion"] != nil {
		t.Errorf("nothing on record: %d %s", v.Status, v.Raw)
	}
	fault = errors.New("the disk is gone")
	if v := s.do("GET", path, nil); v.Status != 200 || v.Body["valid"] != true || v.Body["inclusion"] != nil {
		t.Errorf("an unreadable record: %d %s", v.Status, v.Raw)
	}
}

// What the record holds has its printable page, as a certificate has.
func TestBrowsersGetAPageOfWhatTheRecordHolds(t *testing.T) {
	var classes []counter.Class
	for _, name := range []string{"row", "round", "observation"} {
		classes = append(classes, counter.Class{Name: name, Prefix: name + "_",
			Load: func(*counter.Counter, context.Context, string) (*counter.Verification, error) {
				return &counter.Verification{Valid: true, ArtifactClass: name,
					Report: map[string]any{"host": "shop.example"}}, nil
			},
			Page: func(id string, _ counter.Verification) ([]byte, error) { return []byte("<p>" + id), nil },
		})
	}
	s := newShop(t, shopOptions{networks: []uint64{8453}, counter: counter.Config{Classes: classes}})
	for accept, want := range map[string]string{"text/html,*/*;q=0.8": "text/html; charset=utf-8",
		"*/*": "application/json", "": "application/json"} {
		for _, id := range []string{"row_4711", "round_12", "observation_3"} {
			r := s.do("GET", "/api/verify/"+id, map[string]string{"Accept": accept})
			if r.Status != 200 || r.Header.Get("Content-Type") != want ||
				r.Header.Get("Vary") != "Accept, Accept-Encoding, User-Agent" {
				t.Errorf("%s as %q: %d %s, Vary %s", id, accept, r.Status, r.Header.Get("Content-Type"),
					r.Header.Get("Vary"))
			}
		}
	}
}
