package generator

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
)

// firstScreen are the facts that a reader should find in ten seconds: each stands on the first
// screen of its page, in these words of the specimen.
var firstScreen = []struct{ page, fact, words string }{
	{"/corpus/", "which week is the newest, and when it was walked", "2026-W46, taken at 2026-11-10"},
	{"/corpus/", "how many doors were reached, of how many", "59 of 61 hosts due"},
	{"/corpus/", "how many are ready", "48 of 59 probed"},
	{"/corpus/", "how many answer and are not ready", "8 of 59 probed"},
	{"/corpus/", "how many do not answer", "3 of 59 probed"},
	{"/corpus/", "how many the store itself missed", "1 of 61 due"},
	{"/corpus/", "what changed in the week", "2 of 57 hosts seen in both"},
	{"/corpus/", "how many hosts were ready for eight weeks", "standing 19"},
	{"/corpus/host/bakery.mill.street/", "whether a host is ready now", "Ready now, as of 2026-11-10"},
	{"/corpus/host/bakery.mill.street/", "its tier, and of how many rounds", "standing, 8 ready of 8"},
}

// TestTenFactsStandOnTheFirstScreen looks for them on a laptop's screen, in light and dark.
func TestTenFactsStandOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	_, tree := streetSite.get(t)
	server := httptest.NewServer(http.FileServerFS(tree))
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/", browser.Screen{Width: 1280})
	for _, dark := range []bool{false, true} {
		p.Show(browser.Screen{Width: 1280, Dark: dark})
		at := ""
		for _, f := range firstScreen {
			if at != f.page {
				at = f.page
				p.Go(server.URL + at)
			}
			var bottom float64
			p.Eval(`(() => {
				const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
				const words = new RegExp("(^|[^0-9])" + `+strconv.Quote(f.words)+`);
				while (texts.nextNode()) if (words.test(texts.currentNode.data)) {
					const range = document.createRange();
					range.selectNode(texts.currentNode);
					const at = range.getBoundingClientRect();
					return at.width > 0 ? at.bottom : 1e6;
				}
				return 1e6;
			})()`, &bottom)
			if bottom > 800 {
				t.Errorf("%s, dark %v: %s (%q) ends at %.0f of 800", f.page, dark, f.fact, f.words, bottom)
			}
		}
	}
}
