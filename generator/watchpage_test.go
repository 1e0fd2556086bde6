package generator

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// TestFaultsInABrowser edits a site while a page of it is open: each fault stands in that page by
// itself, with its file, its line and how it is mended, as text; and goes when it is mended.
func TestFaultsInABrowser(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop")
	if err := Init(dir, LikeSpecimen); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	built := make(chan error, 64)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, WatchInput{Folders: []string{filepath.Join(dir, "content")}, Listener: listener,
			Load: func(context.Context) (Input, error) {
				site, err := content.Load(siteSources(dir))
				return Input{Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(), PublicPools: true,
					OutDir: filepath.Join(out, "public"), Cache: filepath.Join(out, "record")}, err
			},
			Built: func(_ Report, err error) { built <- err },
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch: %v", err)
		}
	}()
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	p := browser.Start(t).Open("http://"+listener.Addr().String()+"/verify", browser.Screen{Width: 390})
	good := func(file string) string {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page, site, hello := good("content/pages/what.md"), good("content/site.toml"), good("content/shelf/hello.md")
	for _, fault := range []struct{ file, text, whole, says string }{
		{"content/pages/what.md", "no front matter", page, "pages/what.md:1: "},
		{"content/pages/what.md", page + "\n[dead](/nowhere) <script>document.title='taken'</script>\n", page,
			"pages/what.md:"},
		{"content/site.toml", site + "\nnonsense = [\n", site, "site.toml:"},
		{"content/shelf/hello.md", strings.Replace(hello, "+++\n",
			"+++\n<img/src=x/onerror=document.title='taken'> = 1\n", 1), hello, "shelf/hello.md:2"},
	} {
		writeFile(t, filepath.Join(dir, fault.file), fault.text)
		p.Until(`document.querySelector("[role=alert]")?.textContent.includes(` + "`" + fault.says + "`" + `)`)
		var says string
		if p.Eval(`document.querySelector("[role=alert]").textContent`, &says); !strings.Contains(says, "save it") {
			t.Errorf("%s: the page does not say how it is mended: %s", fault.file, says)
		}
		var left bool
		if p.Eval(`document.title === "taken" || !document.querySelector("h1")`, &left); left {
			t.Errorf("%s: the page is gone, or the fault ran", fault.file)
		}
		t.Logf("%s", says)
		writeFile(t, filepath.Join(dir, fault.file), fault.whole)
		p.Until(`document.querySelector("h1") && !document.querySelector("[role=alert]")`)
	}
}
