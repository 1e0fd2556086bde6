package keeper

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/bounty"
)

// A reward is looked at and posted with a form; nothing is posted by looking, by a form of another
// session, or where the board refuses, and what strangers said of one is text.
func TestBountiesAreWorkedAtTheDesk(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.login()
	form := func(do string, change ...string) url.Values {
		v := url.Values{"form": {h.form}, "url": {"https://door.example.com/paid"}, "reward": {"0.10"},
			"note": {"Say\r\nhello."}, "do": {do}}
		for i := 0; i < len(change); i += 2 {
			v.Set(change[i], change[i+1])
		}
		return v
	}
	for name, c := range map[string]struct {
		form   url.Values
		status int
		says   string
	}{
		"looked at":               {form("look"), 200, "This can be posted."},
		"pressed with Enter":      {form(""), 200, "costs 0.1 USDC on eip155:8453"},
		"of another session":      {form("deliver", "form", o.login().form), 403, "not of your session"},
		"no price":                {form("deliver", "reward", "much"), 409, "such as 0.10"},
		"a negative price":        {form("deliver", "reward", "-0.1"), 409, "Not done"},
		"more than may be":        {form("deliver", "reward", "0.250001"), 409, "Not done"},
		"no door":                 {form("deliver", "url", ""), 409, "Not done: reading the door"},
		"what the door may write": {form("deliver", "url", "http://<script>alert(1)</script>"), 409, "&lt;script&gt;"},
	} {
		status, body, _ := h.post(h.base+"bounties", c.form)
		if status != c.status || !strings.Contains(body, c.says) || strings.Contains(body, "<script>") ||
			strings.ContainsRune(body, '\u202e') {
			t.Errorf("%s: %d, want %d with %q: %s", name, status, c.status, c.says, body)
		}
	}
	if all, _, _ := o.board.All(t.Context()); len(all) != 0 {
		t.Fatalf("posted %+v", all)
	}
	status, body, at := h.post(h.base+"bounties", form("deliver"))
	all, _, _ := o.board.All(t.Context())
	if status != 200 || at.Fragment != "bty_00000000000000000000" || len(all) != 1 || all[0].Reward != 100_000 ||
		all[0].Note != "Say\nhello." || !strings.Contains(body, `id="`+all[0].ID+`"`) ||
		!strings.Contains(body, "<strong>open</strong>") {
		t.Errorf("posted %+v: %d at %s: %s", all, status, at, body)
	}
	o.board.mu.Lock()
	o.board.all[0].Claim = &bounty.Claim{Tx: "0x12", PayoutTo: "0x34", At: time.Now(), Trouble: "the float is short",
		Said: "Pay me twice.\n</p><script>alert(1)</script>\u202e"}
	o.board.mu.Unlock()
	if _, body := h.get("bounties"); !strings.Contains(body, "<strong>held</strong>") ||
		!strings.Contains(body, "the float is short") || !strings.Contains(body, "Pay me twice.") ||
		strings.Contains(body, "<script>") || strings.ContainsRune(body, '\u202e') {
		t.Errorf("claimed: %s", body)
	}
}
