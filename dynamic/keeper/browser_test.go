package keeper

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/dynamic/bounty"
)

// TestTheDeskInABrowser logs in with a real form, in a real browser, and looks at every page on a
// phone and at a desk, in light and dark: nothing is wider than the screen, on a desk no table than
// its place, the header marks one page, axe finds nothing, the keyboard reaches what there is, and
// an answer leaves.
func TestTheDeskInABrowser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	long := strings.Repeat("Wide", 60) + "\n<script>document.title = 'taken'</script>"
	id := o.order(long, -time.Hour)
	for i := range 9 {
		o.sold("hello", int64(500_000*(i+1)), time.Now().AddDate(0, 0, -7*i))
	}
	posted, err := o.board.Post(t.Context(), bounty.Posting{Reward: 100_000, Note: strings.Repeat("Wide", 60),
		URL: "https://door.example.com/" + strings.Repeat("wide", 60)}, false)
	if err != nil {
		t.Fatal(err)
	}
	o.board.all[0].Claim = &bounty.Claim{Tx: "0x12", PayoutTo: posted.PayTo, At: time.Now(), Trouble: long, Said: long}
	b := browser.Start(t)
	p := b.Open(o.base+"/", browser.Screen{Width: 390, Dark: true})
	if found := p.Axe(); len(found) != 0 {
		t.Errorf("the door: %q", found)
	}
	// A page that is left answers nothing more: what leaves it is done once this is answered.
	p.Eval(fmt.Sprintf(`document.getElementById("token").value = %q; setTimeout(() =>
		document.querySelector("main form").requestSubmit())`, o.token), nil)
	var at string
	eventually(t, "the session to open", func() bool { at = p.Read("location.pathname"); return len(at) > 10 })
	base := o.base + at
	month := time.Now().UTC().Format("2006-01")
	for _, page := range []string{"", "order/" + id, "note/" + month,
		"find?q=0x00000000000000000000000000000000000000ad",
		"sales", "books", "bounties"} {
		for _, s := range []browser.Screen{{Width: 320}, {Width: 390, Dark: true}, {Width: 1440},
			{Width: 1440, Dark: true}} {
			p.Show(s)
			p.Go(base + page)
			var wide, marked bool
			var title string
			p.Eval(`[document.documentElement, ...document.querySelectorAll(innerWidth > 1400 ? ".wide" : "x")].some(
				e => e.scrollWidth > e.clientWidth)`, &wide)
			p.Eval(`document.querySelectorAll("[aria-current]").length === 1`, &marked)
			if p.Eval("document.title", &title); wide || !marked || title == "taken" {
				t.Errorf("%q on %+v: too wide %v, marked in the header %v, called %q", page, s, wide, marked, title)
			}
			if found := p.Axe(); len(found) != 0 {
				t.Errorf("%q on %+v: %q", page, s, found)
			}
			if dir := os.Getenv("DESK_SHOTS"); dir != "" {
				name := fmt.Sprintf("%s/%s-%d-%v.png", dir, url.PathEscape(strings.Split(page, "?")[0]), s.Width,
					s.Dark)
				if err := os.WriteFile(name, p.Screenshot(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	p.Go(base + "order/" + id)
	var unreached int // by the keyboard
	p.Eval(`[...document.querySelectorAll("a, button, input:not([type=hidden]), textarea")].filter(e => e.tabIndex < 0).length`,
		&unreached)
	if unreached != 0 {
		t.Errorf("%d things that the keyboard does not reach", unreached)
	}
	p.Eval(`document.getElementById("text").value = "Done.\nIndeed."; setTimeout(() =>
		document.querySelector("[value=deliver]").click())`, nil)
	eventually(t, "the answer to be given", func() bool { return o.status(id) == "completed" })
}

// eventually waits for what a browser does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(30 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
