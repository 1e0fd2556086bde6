package keeper

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Nobody reads or does anything at the desk who did not give its token at this desk.
func TestTheDeskIsClosed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.order("Shall I?", time.Hour)
	h := o.login()
	stolen := h.client.Jar.Cookies(must(url.Parse(h.base)))
	if len(stolen) != 1 {
		t.Fatalf("%d cookies", len(stolen))
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"a name that leads to loopback": {func(r *http.Request) { r.Host = "rebound.example" }, 421},
		"a name and our port":           {func(r *http.Request) { r.Host = "rebound.example:" + r.URL.Port() }, 421},
		"a form elsewhere": {func(r *http.Request) {
			r.Header.Set("Origin",
				"https://elsewhere.example")
		}, 403},
		"another port of this machine":  {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"a form in a sandbox":           {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"no word of where it is from":   {func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"our origin without its scheme": {func(r *http.Request) { r.Header.Set("Origin", "https://"+r.URL.Host) }, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.posting(h.base+"order/"+id, url.Values{"form": {h.form}, "text": {"No."}, "do": {"deliver"}})
			c.change(r)
			if status, body, _ := h.send(r); status != c.status {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	if status, _, _ := h.post(h.base+"order/"+id, url.Values{"text": {"No."}, "do": {"deliver"}}); status != 403 {
		t.Errorf("without the form's token: %d", status)
	}
	other := o.login()
	if status, _, _ := h.post(h.base+"order/"+id, url.Values{"form": {other.form}, "text": {"No."}}); status != 403 {
		t.Errorf("with the form's token of another session: %d", status)
	}
	nobody := o.visitor()
	for _, path := range []string{"", "order/" + id, "sales", "find"} {
		nobody.base = h.base
		if _, body := nobody.get(path); !strings.Contains(body, `name="token"`) || strings.Contains(body, "Shall I") {
			t.Errorf("%q without the cookie: %s", path, body)
		}
	}
	// The cookie of one session opens the path of no other.
	r := must(http.NewRequest("GET", other.base, nil))
	r.AddCookie(stolen[0])
	if _, body, _ := nobody.send(r); !strings.Contains(body, `name="token"`) {
		t.Errorf("with the cookie of another session: %s", body)
	}
	if got := o.status(id); got != "queued" {
		t.Errorf("the order is %s", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (o *office) status(order string) string {
	o.t.Helper()
	got, ok, err := o.till.HumanOrder(o.t.Context(), order)
	if err != nil || !ok {
		o.t.Fatal(ok, err)
	}
	return got.Status()
}

// The cookie goes to no other page of this machine, cannot be read by scripts, and ends.
func TestTheCookie(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.visitor()
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := h.client.Do(h.posting(o.base+"/", url.Values{"token": {o.token}}))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	c := resp.Cookies()[0]
	to := resp.Header.Get("Location")
	ends, _, _ := strings.Cut(c.Value, ".")
	h.client.Jar = nil // what is sent is what the test says
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 12*60*60 || c.Path != to || len(to) < 20 ||
		c.Domain != "" || strings.Contains(to, o.token) || strings.Contains(to, c.Value) {
		t.Errorf("%s: %+v", to, c)
	}
	for name, value := range map[string]string{
		"one that ended":       "1700000000." + mac(o.token, "session", strings.Split(to, "/")[2], "1700000000"),
		"one that is made up":  "9999999999." + strings.Repeat("a", 40),
		"one put off":          "9" + c.Value,
		"of another token":     ends + "." + mac("x", "session", strings.Split(to, "/")[2], ends),
		"nothing":              "",
		"the form's own token": ends + "." + mac(o.token, "form", strings.Split(to, "/")[2]),
	} {
		r := must(http.NewRequest("GET", o.base+to, nil))
		r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
		if resp := must(h.client.Do(r)); resp.StatusCode != 303 || resp.Header.Get("Location") != "/" {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	r := must(http.NewRequest("GET", o.base+to, nil))
	r.AddCookie(c)
	if resp := must(h.client.Do(r)); resp.StatusCode != 200 || resp.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") ||
		strings.Contains(resp.Header.Get("Content-Security-Policy"), "script") {
		t.Errorf("with its own: %s %v", resp.Status, resp.Header)
	}
	o.token = strings.Repeat("n", LeastToken) // the keeper changes it
	if resp := must(h.client.Do(r)); resp.StatusCode != 303 {
		t.Errorf("after the token was changed: %s", resp.Status)
	}
}

// Tokens are not guessed at for long, and one that is too short opens nothing.
func TestTokensAreNotGuessed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.visitor()
	for i := range wrongTokens {
		if status, _, _ := h.post(o.base+"/", url.Values{"token": {"guess"}}); status != 403 {
			t.Fatalf("guess %d: %d", i, status)
		}
	}
	if status, _, _ := h.post(o.base+"/", url.Values{"token": {o.token}}); status != 429 {
		t.Errorf("after %d wrong ones: %d", wrongTokens, status)
	}
	o.token = "short"
	if status, _, _ := h.post(o.base+"/", url.Values{"token": {"short"}}); status != 503 {
		t.Errorf("a short token: %d", status)
	}
}

// The link of a first run opens the desk one time to who presses its button, and to nobody who only
// looks, comes later, or comes from another page.
func TestALinkOpensTheDeskOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	link := o.base + o.desk.OpenOnce()
	for range 2 {
		if status, body, at := o.visitor().send(must(http.NewRequest("GET", link, nil))); status != 200 ||
			!strings.Contains(body, "Open the desk") || at.Path == "/" {
			t.Errorf("looked at: %d at %s: %s", status, at, body)
		}
	}
	abroad := o.visitor().posting(link, nil)
	abroad.Header.Set("Origin", "https://elsewhere.example")
	if status, _, _ := o.visitor().send(abroad); status != 403 {
		t.Errorf("from another page: %d", status)
	}
	for i, c := range []struct {
		to, says string
		status   int
	}{{o.base + oncePath + "guess", "This link was used", 403}, {o.base + oncePath, "This link was used", 403},
		{link, "What waits for you", 200}, {link, "This link was used", 403}} {
		h := o.visitor()
		if status, body, at := h.post(c.to, nil); status != c.status || !strings.Contains(body, c.says) ||
			strings.HasPrefix(at.Path, "/d/") != (status == 200) {
			t.Errorf("%d: %d at %s: %s", i, status, at, body)
		}
	}
	link = o.base + o.desk.OpenOnce()
	o.desk.mu.Lock()
	o.desk.until = time.Now().Add(-time.Second)
	o.desk.mu.Unlock()
	if status, _, _ := o.visitor().post(link, nil); status != 403 {
		t.Errorf("too late: %d", status)
	}
	if _, body, _ := o.visitor().send(must(http.NewRequest("GET", o.base+WhoPath, nil))); !IsWho(o.token, body) ||
		IsWho(strings.Repeat("u", LeastToken), body) || strings.Contains(body, o.token) {
		t.Errorf("whose desk it is: %s", body)
	}
}

// Where nothing waits the page says so in a line.
func TestAQuietDay(t *testing.T) {
	var page strings.Builder
	quiet := Today{Waiting: []Waiting{{Title: "Orders"}, {Title: "Notes due"}}}
	if err := views.ExecuteTemplate(&page, "today", webShown{Data: quiet}); err != nil ||
		!strings.Contains(page.String(), "<p>All quiet.</p>") || strings.Contains(page.String(), "<h2") {
		t.Errorf("%v: %s", err, page.String())
	}
}

// The keeper looks, answers once, and what a stranger wrote does nothing on the page.
func TestAnAnswerIsGivenOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.order("<script>alert(1)</script>\n\u202e=1+1\x00 <img src=x onerror=y>", -2*time.Hour)
	one, two := o.login(), o.login()
	_, today := one.get("")
	_, page := one.get("order/" + id)
	for _, body := range []string{today, page} {
		if !strings.Contains(body, "&lt;script&gt;") || strings.Contains(body, "<script") || strings.Contains(body,
			"<img") ||
			strings.Contains(body, "\u202e") || !strings.Contains(body, `\u202e=1&#43;1`) {
			t.Errorf("a stranger's words: %s", body)
		}
	}
	if !strings.Contains(page, "3 USDC are owed") {
		t.Errorf("the window was missed: %s", page)
	}
	status, body, _ := one.post(one.base+"order/"+id, url.Values{"form": {one.form}, "text": {"Rest.\r\nThen rewrite."},
		"do": {"look"}})
	if status != 200 || !strings.Contains(body, "This can be delivered") || o.status(id) != "queued" {
		t.Errorf("looked at: %d, %s, %s", status, o.status(id), body)
	}
	for _, bad := range []url.Values{{"text": {""}}, {"text": {"\u202e"}}, {"link": {"http://plain.example"}}} {
		bad.Set("form", one.form)
		bad.Set("do", "deliver")
		if status, body, _ := one.post(one.base+"order/"+id, bad); status != 409 || o.status(id) != "queued" {
			t.Errorf("%v: %d %s", bad, status, body)
		}
	}
	if status, _ := one.answer(id, "", "big.bin", make([]byte, 1<<20+1)); status != 409 {
		t.Errorf("a file that is too large: %d", status)
	}
	if status, _ := one.answer(id, "", "huge.bin", make([]byte, 3<<20)); status != 413 {
		t.Errorf("a file that is far too large: %d", status)
	}
	if status, body := one.answer(id, "Rest.\r\nThen rewrite.", "../a b\u202e.txt", []byte("x")); status != 200 ||
		!strings.Contains(body, "Completed on") || !strings.Contains(body, "a-b.txt") {
		t.Errorf("delivered: %d %s", status, body)
	}
	if status, body := two.answer(id, "No!", "b.txt", []byte("y")); status != 409 ||
		!strings.Contains(body, "takes no answer") {
		t.Errorf("by the other desk: %d %s", status, body)
	}
	if got, _, err := o.till.HumanOrder(t.Context(), id); err != nil || got.Work.Text != "Rest.\nThen rewrite." ||
		got.Work.File.Name != "a-b.txt" {
		t.Errorf("%+v, %v", got.Work, err)
	}
}

// A note is looked at, signed, and not signed again.
func TestANoteIsSigned(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.login()
	v := url.Values{"form": {h.form}, "text": {"Quiet.\r\n<b>Rain</b>."}, "do": {"look"}}
	month := time.Now().UTC().Format("2006-01")
	if status, body, _ := h.post(h.base+"note/"+month, v); status != 200 || !strings.Contains(body, "can be signed") {
		t.Errorf("looked at: %d %s", status, body)
	}
	v.Set("do", "deliver")
	for i, want := range []int{200, 409} {
		if status, body, _ := h.post(h.base+"note/"+month, v); status != want {
			t.Errorf("time %d: %d %s", i+1, status, body)
		}
	}
	if n, _, err := o.till.Note(t.Context()); err != nil || n == nil || n.Note.Text != "Quiet.\n<b>Rain</b>." {
		t.Errorf("%+v, %v", n, err)
	}
	if status, _ := h.get("note/2026-13"); status != 404 {
		t.Errorf("a month that is none: %d", status)
	}
}

// What was sold is found, and counted, with the numbers of each chart.
func TestSalesAndPurchasesAreShown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.sold("hello", 1_500_000, time.Now().UTC())
	h := o.login()
	if _, body := h.get("sales"); !strings.Contains(body, "1 purchases brought 1.5 USDC") ||
		!strings.Contains(body, "<svg") || !strings.Contains(body, "x402") || strings.Contains(body, "style=") {
		t.Errorf("sales: %s", body)
	}
	for q, want := range map[string]string{"pur_" + strings.Repeat("a", 20): "Nothing was found",
		"%3Cscript%3E": "none of what"} {
		if _, body := h.get("find?q=" + q); !strings.Contains(body, want) ||
			strings.Contains(body, "<script") {
			t.Errorf("found by %s: %s", q, body)
		}
	}
	for path, want := range map[string]string{"books": "differences between ledger", "books.csv": "not_on_chain",
		"books.json": `"differences":`} {
		if status, body := h.get(path + "?month=" + time.Now().UTC().Format("2006-01")); status != 200 ||
			!strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, _ := h.get(path + "?month=2026-13"); status != 404 {
			t.Errorf("%s of no month: %d", path, status)
		}
	}
	if status, _, at := h.post(h.base+"logout", url.Values{"form": {h.form}}); status != 200 || at.Path != "/" {
		t.Errorf("logout: %d at %s", status, at)
	}
	if _, body := h.get(""); !strings.Contains(body, `name="token"`) {
		t.Errorf("after logging out: %s", body)
	}
}
