package content

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What is packed is the site that Load reads, wherever its pools lie, and the same files are the
// same bytes.
func TestPackKeepsTheSite(t *testing.T) {
	stock, err := Specimen.ReadDir("pools")
	if err != nil {
		t.Fatal(err)
	}
	apart := Sources{Content: fstest.MapFS{}, Stock: fstest.MapFS{}}
	for _, e := range stock {
		b, err := Specimen.ReadFile("pools/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		apart.Stock.(fstest.MapFS)[e.Name()] = &fstest.MapFile{Data: b}
	}
	l := gather(Sources{})
	for name, b := range l.files {
		if strings.HasPrefix(name, poolFolder) {
			continue
		}
		if strings.HasPrefix(name, paidFolder) {
			apart.Stock.(fstest.MapFS)[name] = &fstest.MapFile{Data: b}
			continue
		}
		apart.Content.(fstest.MapFS)[name] = &fstest.MapFile{Data: b}
	}
	want, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := Pack(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	again, site, err := Pack(apart)
	if err != nil || !bytes.Equal(first, again) || site.Digest != want.Digest {
		t.Fatalf("the pools apart are packed otherwise: %v", err)
	}
	got, err := Unpack(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Site{})); diff != "" {
		t.Errorf("what is unpacked differs (-want +got):\n%s", diff)
	}
	m := specimen(t)
	edit(t, m, "shelf/dibs.md", `example = "`, `# example = "`)
	older, _, err := Pack(Sources{Content: m})
	if err == nil {
		t.Error("what is required has no example, and is packed")
	}
	if _, err := Unpack(older); err != nil {
		t.Errorf("what a program packed that knew no examples: %v", err)
	}
	if _, err := Unpack(again[:len(again)/2]); err == nil {
		t.Error("half an archive was unpacked")
	}
	delete(apart.Content.(fstest.MapFS), "site.toml")
	if _, _, err := Pack(apart); err == nil {
		t.Error("a site without site.toml was packed")
	}
}
