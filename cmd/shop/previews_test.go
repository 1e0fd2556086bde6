package shop

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/generator"
)

// TestPreviewsAreDrawnOnRequest: no tree holds the picture of a host or of what was signed, the
// pages name theirs, and the server draws it, of the size that the page says.
func TestPreviewsAreDrawnOnRequest(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	c.View = dir + "/view"
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	corpustest.Append(t, w, 3, 4)
	s, _, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]counter.Verification{}
	for id, name := range map[string]string{"cert_aaaaaaaaaaaaaaaaaaaa": "Ada",
		"cert_bbbbbbbbbbbbbbbbbbbb": strings.Repeat("\u202e<b>", 40)} {
		signed, err := attest.Certificate{CertID: id, Item: "hello", PatronNumber: 7, Date: "2026-11-20T09:00:00Z",
			PaidUSDC: "0.5", Name: name}.Sign(attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		known[id] = counter.Verification{Valid: true, ArtifactClass: attest.ClassCertificate, Status: "active",
			Certificate: &signed.Certificate, Proof: &signed.Proof}
	}
	reversed := known["cert_aaaaaaaaaaaaaaaaaaaa"]
	reversed.Status = "reversed"
	known["cert_cccccccccccccccccccc"] = reversed
	known["letter_aaaaaaaaaaaaaaaaaaaa"] = counter.Verification{ArtifactClass: attest.ClassLetter}
	in, err := BuildInput(&Config{BaseURL: c.BaseURL, Record: c.Record, Keys: c.Keys, Public: dir + "/public"})
	if err != nil {
		t.Fatal(err)
	}
	in.Bulk = nil
	if _, err := generator.Build(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	site, err := dynamic.OpenSite(dynamic.SiteConfig{Pointer: dir + "/public", Ring: w.Ring, BaseURL: c.BaseURL})
	if err != nil {
		t.Fatal(err)
	}
	h, err := dynamic.New(dynamic.Config{Site: site, BaseURL: c.BaseURL,
		Renderers: s.renderers(func(_ context.Context, id string) (counter.Verification, bool, error) {
			v, ok := known[id]
			return v, ok, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) *httptest.ResponseRecorder {
		r, a := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", "text/html,image/*")
		h.ServeHTTP(a, r)
		return a
	}
	image := regexp.MustCompile(`<meta property="og:image" content="` + regexp.QuoteMeta(c.BaseURL) + `([^"]+)">`)
	drawn := map[string]string{}
	see := func(what, page string) {
		t.Helper()
		found := image.FindStringSubmatch(page)
		if found == nil || !strings.Contains(page, `og:image:width" content="1200"`) {
			t.Fatalf("%s names no picture: %s", what, page)
		}
		a := ask(found[1])
		if a.Code != http.StatusOK || a.Header().Get("Content-Type") != api.PNG || a.Header().Get("Etag") == "" {
			t.Fatalf("%s: %d %v", found[1], a.Code, a.Body)
		}
		body := a.Body.String()
		picture, err := png.Decode(a.Body)
		if err != nil || picture.Bounds().Dx() != 1200 || picture.Bounds().Dy() != 630 || len(body) > 20_000 {
			t.Errorf("%s: %d bytes, %v", found[1], len(body), err)
		}
		if other, ok := drawn[body]; ok {
			t.Errorf("%s has the picture of %s", what, other)
		}
		drawn[body] = what
	}
	for rows, err := range s.archive.Now().Record.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		a := ask("/corpus/host/" + rows.Host)
		see(rows.Host, a.Body.String())
	}
	for id, v := range known {
		if v.Certificate == nil {
			continue
		}
		page, err := s.certificatePage(id, v)
		if err != nil || !bytes.Contains(page, []byte(`name="robots" content="noindex"`)) {
			t.Errorf("%s: %v", id, err)
		}
		see(id, string(page))
	}
	if len(drawn) < 10 {
		t.Errorf("%d pictures", len(drawn))
	}
	page, err := s.certificatePage("cert_unknown", counter.Verification{})
	if err != nil || image.Match(page) {
		t.Errorf("an unknown id has a picture: %v %s", err, page)
	}
	for path, want := range map[string]int{"/preview/host/nobody.example/card.png": 404,
		"/preview/host/Standing.EXAMPLE/card.png": 308, "/preview/verify/cert_dddddddddddddddddddd.png": 404,
		"/preview/verify/letter_aaaaaaaaaaaaaaaaaaaa.png": 200, "/preview/host//card.png": 404} {
		if a := ask(path); a.Code != want {
			t.Errorf("%s: %d %s, want %d", path, a.Code, a.Body, want)
		}
	}
}
