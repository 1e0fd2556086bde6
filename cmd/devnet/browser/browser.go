// Package browser lets tests look at pages in a Chromium: it speaks the DevTools protocol with it
// through two pipes, gives a page the screen that a test wants, asks it for values, and holds it
// against axe-core, at the version of package-lock.json.
//
//	b := browser.Start(t)
//	p := b.Open(server.URL+"/menu", browser.Screen{Width: 320, Dark: true})
//	var wide bool
//	p.Eval("document.documentElement.scrollWidth > innerWidth", &wide)
package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// Browser is a test's part of a Chromium without a window, which all tests of a process share: what
// its pages store, no other test's do. One goroutine may use it and its pages.
type Browser struct {
	t       testing.TB
	context string
	axe     string
}

// Start is a fresh part of the browser that ends with the test. Without a Chromium the test is
// skipped; with CI set it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		npmtest.Unavailable(t, err)
	}
	b := &Browser{t: t}
	var made struct{ BrowserContextID string }
	b.call("", "Target.createBrowserContext", nil, &made)
	b.context = made.BrowserContextID
	t.Cleanup(func() {
		b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": b.context}, nil)
	})
	return b
}

// patience is how long an answer may take: what a page waits for is a test's to bound, and no page
// is looked at for so long.
const patience = 10 * time.Minute

// program is a Chromium, which ends when this process lets go of its pipes, be it by dying.
type program struct {
	mu      sync.Mutex
	out     *os.File
	last    int                // guarded by mu
	waiting map[int]chan reply // guarded by mu; nil when it has ended
}

// reply is an answer of the browser.
type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
}

// shared is the browser of this process.
var shared = sync.OnceValues(func() (*program, error) {
	theirs, mine, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	back, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Its helpers write into its folder until they are gone.
	cmd := exec.Command("/bin/sh", "-c", `d=$(mktemp -d) && chromium --user-data-dir="$d" "$@"
		while rm -rf "$d"; [ -e "$d" ]; do sleep 1; done`, "sh",
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--enable-features=WebMCP", "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, answers} // 3 and 4
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = theirs.Close(), answers.Close()
	p := &program{out: mine, waiting: map[int]chan reply{}}
	go p.read(bufio.NewReader(back))
	return p, nil
})

// read hands out answers until there are no more; events are read over.
func (p *program) read(in *bufio.Reader) {
	for {
		raw, err := in.ReadBytes(0)
		p.mu.Lock()
		if err != nil {
			for _, to := range p.waiting {
				close(to)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
		var r reply
		if json.Unmarshal(raw[:len(raw)-1], &r) == nil && p.waiting[r.ID] != nil {
			p.waiting[r.ID] <- r
			delete(p.waiting, r.ID)
		}
		p.mu.Unlock()
	}
}

// ask makes one call and waits for its answer.
func (p *program) ask(session, method string, params map[string]any) (reply, error) {
	p.mu.Lock()
	p.last++
	msg := map[string]any{"id": p.last, "method": method, "params": params}
	if session != "" {
		msg["sessionId"] = session
	}
	raw, err := json.Marshal(msg)
	to := make(chan reply, 1)
	if err == nil && p.waiting == nil {
		err = errors.New("the browser has ended")
	}
	if err == nil {
		p.waiting[p.last] = to
		_, err = p.out.Write(append(raw, 0))
	}
	p.mu.Unlock()
	if err != nil {
		return reply{}, err
	}
	select {
	case r, ok := <-to:
		if !ok {
			return reply{}, errors.New("the browser has ended")
		}
		return r, nil
	case <-time.After(patience):
		return reply{}, errors.New("the browser does not answer")
	}
}

// call makes one call and decodes its result into result, which may be nil.
func (b *Browser) call(session, method string, params map[string]any, result any) {
	b.t.Helper()
	if refused := b.ask(session, method, params, result); refused != nil {
		b.t.Fatalf("%s: %v", method, refused)
	}
}

// ask is call, but gives the error that the browser answers with.
func (b *Browser) ask(session, method string, params map[string]any, result any) (refused any) {
	b.t.Helper()
	p, err := shared()
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := p.ask(session, method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	if r.Error != nil || result == nil {
		return r.Error
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return nil
}

// Screen is what a page is shown on. The zero Screen is Chromium's own.
type Screen struct {
	Width int // in CSS pixels; 0 for Chromium's own
	Dark  bool
}

// Page is an open page.
type Page struct {
	b               *Browser
	session, target string
}

// Open opens an empty page, and shows an address on it once it has its screen.
func (b *Browser) Open(address string, s Screen) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": b.context}, &target)
	var session struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p := &Page{b, session.SessionID, target.TargetID}
	p.Show(s)
	p.Go(address)
	return p
}

// Show changes the page's screen.
func (p *Page) Show(s Screen) {
	p.b.t.Helper()
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	p.b.call(p.session, "Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	if s.Width > 0 {
		p.b.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": s.Width, "height": 900,
			"deviceScaleFactor": 1, "mobile": false}, nil)
	}
}

// Go shows an address and waits until it is whole.
func (p *Page) Go(address string) {
	p.b.t.Helper()
	var at struct{ ErrorText string }
	p.b.call(p.session, "Page.navigate", map[string]any{"url": address}, &at)
	if at.ErrorText != "" {
		p.b.t.Fatalf("%s: %s", address, at.ErrorText)
	}
	for whole := false; !whole; {
		p.Eval(`document.readyState === "complete" && location.href !== "about:blank"`, &whole)
	}
}

// WithoutScripts runs no script of the pages that are shown from now on. What a test evaluates runs
// all the same, but no timer of it does.
func (p *Page) WithoutScripts() {
	p.b.t.Helper()
	p.b.call(p.session, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
}

// Eval evaluates an expression on the page, awaits it where it is a promise, and decodes its value
// into v.
func (p *Page) Eval(expression string, v any) {
	p.b.t.Helper()
	var answer struct {
		Result struct{ Value json.RawMessage }
		Failed *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true}, &answer)
	if f := answer.Failed; f != nil {
		p.b.t.Fatalf("%.200s: %s %s", expression, f.Text, f.Exception.Description)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, v); err != nil {
		p.b.t.Fatalf("%.200s is %s: %v", expression, answer.Result.Value, err)
	}
}

// Read is the text of an expression, "" on a page that is just left for another one.
func (p *Page) Read(expression string) string {
	p.b.t.Helper()
	var answer struct{ Result struct{ Value any } }
	p.b.ask(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	text, _ := answer.Result.Value.(string)
	return text
}

// Until waits for an expression to become true, also on a page that the present one goes to.
func (p *Page) Until(expression string) {
	p.b.t.Helper()
	for range 6000 {
		var answer struct{ Result struct{ Value any } }
		// A timer of the page's own, so that others have time to answer it.
		refused := p.b.ask(p.session, "Runtime.evaluate", map[string]any{"awaitPromise": true, "returnByValue": true,
			"expression": "new Promise(r => setTimeout(r, 20)).then(() => Boolean(" + expression + "))"}, &answer)
		if refused == nil && answer.Result.Value == true {
			return
		}
	}
	var text string
	p.Eval("location.href + ' ' + document.body.innerText", &text)
	p.b.t.Fatalf("never true: %s\n%.3000s", expression, text)
}

// Screenshot is a picture of the whole page, PNG.
func (p *Page) Screenshot() (png []byte) {
	p.b.t.Helper()
	var shot struct{ Data []byte }
	p.b.call(p.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	return shot.Data
}

// Close closes the page.
func (p *Page) Close() {
	p.b.t.Helper()
	p.b.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}

// Axe returns what axe-core finds wrong with the page as it is shown, by the named rules, each
// finding with the rule and the elements. Without rules it is every rule for WCAG 2.2 at the levels
// A and AA.
func (p *Page) Axe(rules ...string) []string {
	p.b.t.Helper()
	if p.b.axe == "" {
		source, err := os.ReadFile(filepath.Join(npmtest.Packages(p.b.t), "axe-core", "axe.min.js"))
		if err != nil {
			p.b.t.Fatal(err)
		}
		p.b.axe = string(source)
	}
	var there bool
	if p.Eval("!!window.axe", &there); !there {
		p.Eval(p.b.axe+";0", nil)
	}
	options := map[string]any{"resultTypes": []string{"violations"},
		"rules": map[string]any{"target-size": map[string]bool{"enabled": true}},
		"runOnly": map[string]any{"type": "tag", "values": []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa",
			"wcag22aa"}}}
	if len(rules) > 0 {
		options = map[string]any{"resultTypes": []string{"violations"}, "runOnly": map[string]any{"type": "rule",
			"values": rules}}
	}
	raw, err := json.Marshal(options)
	if err != nil {
		p.b.t.Fatal(err)
	}
	var found []struct {
		ID    string
		Nodes []struct {
			Target         []any
			FailureSummary string
		}
	}
	p.Eval("axe.run(document, "+string(raw)+").then(r => r.violations)", &found)
	var out []string
	for _, f := range found {
		for _, n := range f.Nodes {
			out = append(out, fmt.Sprintf("%s at %v: %s", f.ID, n.Target, strings.Join(strings.Fields(n.FailureSummary),
				" ")))
		}
	}
	return out
}
