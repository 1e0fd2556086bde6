package browser_test

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
)

// TestAxeComplains shows a page with one mistake of each kind that the pages are held against, on
// the screen that shows it.
func TestAxeComplains(t *testing.T) {
	const page = `data:text/html,<!doctype html><html lang=en><title>x</title><meta name=viewport content="width=device-width">
		<style>@media (prefers-color-scheme: dark) { body { background: %23111; color: %23333 } }</style>
		<main><p>Text that is long enough to be looked at.</p><div style="overflow-x:auto;width:100px"><p style="white-space:nowrap">Text that is far too long for so narrow a box to show</p></div>
		<a href="%23a" style="display:inline-block;height:8px;width:8px;overflow:hidden">a</a><a href="%23b" style="display:inline-block;height:8px;width:8px;overflow:hidden">b</a></main>`
	b := browser.Start(t)
	p := b.Open(page, browser.Screen{Width: 320, Dark: true})
	var width int
	if p.Eval("innerWidth", &width); width != 320 {
		t.Errorf("the page is %d wide", width)
	}
	for _, rule := range []string{"scrollable-region-focusable", "target-size", "color-contrast"} {
		if found := p.Axe(rule); !slices.ContainsFunc(found,
			func(s string) bool { return strings.HasPrefix(s, rule) }) {
			t.Errorf("%s is not among %q", rule, found)
		}
	}
	if found := p.Axe(); len(found) < 3 {
		t.Errorf("by all rules: %q", found)
	}
	p.Show(browser.Screen{Width: 1440})
	if found := p.Axe("color-contrast"); len(found) != 0 {
		t.Errorf("in the light: %q", found)
	}
	p.Close()
}
