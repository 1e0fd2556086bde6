package onchaintest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/route"
)

// What is for sale is listed a page at a time: twenty where nobody says how many, and no further
// than there is something.
func TestWhatIsForSaleIsListed(t *testing.T) {
	rows := newShop(t, shopOptions{}).count.Rows()
	row := rows[slices.IndexFunc(rows, func(r route.Row) bool { return r.Pattern == counter.DiscoveryPath })]
	inputs, err := route.NewValidator(&row.Route)
	if err != nil {
		t.Fatal(err)
	}
	list := func(query string) (urls []string, limit, offset, total int) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, counter.DiscoveryPath+"?"+query, nil)
		read, bad := inputs.Read(r)
		if bad != nil {
			t.Fatal(query, bad)
		}
		var page counter.Discovered
		err := row.Handle(w, r.WithContext(route.With(t.Context(), &route.Request{Inputs: read})))
		if err = errors.Join(err, json.Unmarshal(w.Body.Bytes(), &page)); err != nil || page.Items == nil {
			t.Fatalf("%s: %s, %v", query, w.Body, err)
		}
		for _, item := range page.Items {
			// This shop has neither calendars nor a wallet that buys.
			_, id, _ := strings.Cut(item.URL, "/api/buy/")
			why := map[string]string{"bitcoin_anchor": "calendar", "launch_check": "wallet"}[id]
			if item.Available != (item.Why == "") || !strings.Contains(item.Why, why) || why != "" && item.Available {
				t.Errorf("%s: available %v, %q", item.URL, item.Available, item.Why)
			}
			urls = append(urls, item.URL)
		}
		return urls, page.Pagination.Limit, page.Pagination.Offset, page.Pagination.Total
	}
	first, limit, _, total := list("")
	if len(first) != 20 || limit != 20 || total <= 20 {
		t.Fatalf("%d of %v are listed, with a limit of %v", len(first), total, limit)
	}
	for _, c := range []struct {
		query                 string
		n, limit, offset, all int
		from                  string
	}{
		{"limit=3&offset=2", 3, 3, 2, total, first[2]},
		{"type=http&limit=1", 1, 1, 0, total, first[0]},
		{"type=mcp", 0, 20, 0, 0, ""},
		{fmt.Sprintf("offset=%v", total-1), 1, 20, total - 1, total, ""},
		{"offset=9999", 0, 20, total, total, ""},
	} {
		urls, limit, offset, all := list(c.query)
		if len(urls) != c.n || limit != c.limit || offset != c.offset || all != c.all ||
			c.from != "" && urls[0] != c.from {
			t.Errorf("%s: %v, limit %v, offset %v, total %v", c.query, urls, limit, offset, all)
		}
	}
}

// Who asks with HEAD is told how long the terms are, as who asks with GET is.
func TestTermsHaveALength(t *testing.T) {
	s := newShop(t, shopOptions{})
	whole := s.do(http.MethodGet, "/api/buy/hello", nil)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r := s.do(method, "/api/buy/hello", nil)
		if got, want := r.Header.Get("Content-Length"), strconv.Itoa(len(whole.Raw)); r.Status != 402 || got != want {
			t.Errorf("%s: %d, a length of %q, want %s", method, r.Status, got, want)
		}
	}
}
