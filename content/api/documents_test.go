package api

import (
	"strings"
	"testing"
)

func TestFileFor(t *testing.T) {
	for _, c := range []struct{ url, mediaType, want string }{
		{"/", HTML, "index.html"}, {"/", Markdown, "index.md"}, {"/", JSON, "index.json"},
		{"/what", HTML, "what/index.html"}, {"/what", Markdown, "what.md"}, {"/what", JSON, "what.json"},
		{"/menu.json", JSON, "menu.json"}, {"/menu.json", Markdown, "menu.md"},
		{"/menu/{item_id}", JSON, "menu/{item_id}.json"}, {"/menu/{item_id}", HTML, "menu/{item_id}/index.html"},
		{"/pricing.md", Markdown, "pricing.md"},
		{"/spec/store-attestation/v1", HTML, "spec/store-attestation/v1/index.html"},
		{"/spec/store-attestation/v1", Markdown, "spec/store-attestation/v1.md"},
		{"/.well-known/store-signing-key", PlainText, ".well-known/store-signing-key"},
		{"/.well-known/did.json", DIDJSON, ".well-known/did.json"},
		{"/corpus", JSON, "corpus.json"}, {"/corpus/{sequence}.ots", Binary, "corpus/{sequence}.ots"},
		{"/corpus/host/shop.md", HTML, "corpus/host/shop.md/index.html"},
		{"/corpus/host/shop.md", Markdown, "corpus/host/shop.md/index.md"},
		{"/corpus/host/shop.md", JSON, "corpus/host/shop.md.json"}, {"/llms.txt", PlainText, "llms.txt"},
		{"/sitemap.xml", XML, "sitemap.xml"},
	} {
		if got := FileFor(c.url, c.mediaType); got != c.want {
			t.Errorf("FileFor(%q, %q) = %q, want %q", c.url, c.mediaType, got, c.want)
		}
	}
}

func TestDocumentsAreWellFormed(t *testing.T) {
	names, paths, files := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range Documents {
		if d.Name == "" || d.Summary == "" || len(d.Files) == 0 || d.Cache == "" {
			t.Errorf("document %q %s: name, summary, files or cache class missing", d.Name, d.Path)
		}
		if names[d.Name] {
			t.Errorf("document %s is there twice", d.Name)
		}
		names[d.Name] = true
		if negotiated := len(d.Files) > 1; negotiated != (d.Serve == Negotiated) {
			t.Errorf("document %s has %d representations and is served as %s", d.Name, len(d.Files), d.Serve)
		}
		if !d.Hidden && d.Tag == "" {
			t.Errorf("document %s has no tag", d.Name)
		}
		for _, f := range d.Files {
			if files[f.Path] {
				t.Errorf("document %s: file %s is there twice", d.Name, f.Path)
			}
			files[f.Path] = true
			if d.Path != "" && f.Path != FileFor(d.Path, f.MediaType) {
				t.Errorf("document %s: file %s, but the rule says %s", d.Name, f.Path, FileFor(d.Path, f.MediaType))
			}
			if d.Path != "" && strings.Contains(d.Path, "{") != strings.Contains(f.Path, "{") {
				t.Errorf("document %s: %s and %s do not hold the same parameters", d.Name, d.Path, f.Path)
			}
		}
		for _, r := range d.Routes() {
			if paths[r.Pattern] {
				t.Errorf("document %s: path %s is there twice", d.Name, r.Pattern)
			}
			paths[r.Pattern] = true
		}
	}
}

func TestTwinsAreRoutesOfTheirOwn(t *testing.T) {
	d := Document{Name: "what", Path: "/what", Summary: "Short.", Files: pages("/what", JSON, Markdown, HTML),
		Serve: Negotiated}
	var got []string
	for _, r := range d.Routes() {
		got = append(got, r.Name+" "+r.Pattern+" "+string(r.Serve))
	}
	want := []string{"what /what negotiated", "what_json /what.json file", "what_md /what.md file"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("routes %q, want %q", got, want)
	}
	if r := (Document{Name: "x", Files: []Representation{{HTML, "404.html"}}}).Routes(); r != nil {
		t.Errorf("a file without a URL has routes %v", r)
	}
}
