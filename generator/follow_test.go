package generator

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/verify"
)

// TestThePublishedRecordIsFollowed has a monitor follow what a plain file server has of the record,
// for a host of each kind of history, and finds them as their pages say.
func TestThePublishedRecordIsFollowed(t *testing.T) {
	_, tree := streetSite.get(t)
	server := httptest.NewServer(http.FileServerFS(tree))
	defer server.Close()
	hosts := []string{"bakery.mill.street", "kettle.dock.street", "hull.quay.street", "never.street"}
	step := func(before *verify.FollowState) (verify.FollowReport, *verify.FollowState) {
		t.Helper()
		source, err := verify.OpenLogSource(t.Context(), server.URL+"/corpus")
		if err != nil {
			t.Fatal(err)
		}
		report, next, err := verify.Follow(source, before, verify.FollowOptions{Hosts: hosts})
		if err != nil || !report.Sound() || next == nil {
			t.Fatalf("%+v, %v", report, err)
		}
		return report, next
	}
	report, state := step(nil)
	for _, h := range report.Hosts {
		page, err := fs.ReadFile(tree, "corpus/host/"+h.Host+".json")
		if (h.Rows > 0) != (err == nil) || (h.Host == "never.street") != (h.Rows == 0) || err == nil && !strings.Contains(string(page), `"line": "`+h.Line+`"`) {
			t.Errorf("%s has %d rows, %s; its page is %.600s, %v", h.Host, h.Rows, h.Line, page, err)
		}
	}
	raw, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if state, err = verify.ParseFollowState(raw); err != nil {
		t.Fatal(err)
	}
	again, _ := step(state)
	if again.Remembered != report.Leaves || len(again.Changes) > 0 || !slices.Equal(again.Hosts, report.Hosts) {
		t.Errorf("again: %+v, before: %+v", again, report)
	}
}
