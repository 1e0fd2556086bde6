package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentstore/templates"
)

// browser speaks the DevTools protocol with a Chromium through two pipes.
type browser struct {
	t    *testing.T
	in   *bufio.Reader
	out  *os.File
	next int
}

func startBrowser(t *testing.T, program string) *browser {
	t.Helper()
	theirs, mine, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, answers} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), answers.Close()
	t.Cleanup(func() {
		// Its helpers write into its folder until they are gone, which closing waits for and killing does not.
		if _, err := mine.Write([]byte("{\"id\":0,\"method\":\"Browser.close\"}\x00")); err != nil {
			cancel()
		}
		_ = cmd.Wait() // it was told to stop
		cancel()
		_, _ = mine.Close(), back.Close()
	})
	return &browser{t: t, in: bufio.NewReader(back), out: mine}
}

// call makes one call and returns its result; events are read over.
func (b *browser) call(session, method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.next++
	msg := map[string]any{"id": b.next, "method": method, "params": params}
	if session != "" {
		msg["sessionId"] = session
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(raw, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		raw, err := b.in.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int            `json:"id"`
			Result map[string]any `json:"result"`
			Error  any            `json:"error"`
		}
		if err := json.Unmarshal(raw[:len(raw)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID == b.next {
			if answer.Error != nil {
				b.t.Fatalf("%s: %v", method, answer.Error)
			}
			return answer.Result
		}
	}
}

// awaited is what the page says once the check is over: the stamp and the text.
const awaited = `new Promise((ok) => { const look = () => {
  const v = document.getElementById("verdict"), said = document.getElementById("said").textContent;
  if (v) ok(v.textContent + "\n" + said + "\n" + document.getElementById("found").textContent);
  else if (/Nothing was checked/.test(said)) ok(said);
  else setTimeout(look, 50);
}; look(); })`

// TestVerifierInChromium opens the page on a plain file server with the policies of the site and lets it check a good
// bundle, a changed one and a part of one, which stand beside it.
func TestVerifierInChromium(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium here; the same program runs in Node.js in the other test")
	}
	_, evidence, part := record(t)
	site := t.TempDir()
	if err := os.Mkdir(filepath.Join(site, "verify"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(site, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := program(t)
	for _, name := range []string{"verify.wasm", "wasm_exec.js"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(site, "verify", name)); err != nil {
			t.Fatal(err)
		}
	}
	page, err := templates.RenderVerifier(templates.VerifierView{Chrome: &templates.Chrome{}, Page: templates.Page{Title: "Check"}, Here: true})
	if err != nil {
		t.Fatal(err)
	}
	put("run.html", page)
	put("verify/run.js", templates.VerifierScript())
	put("verify/worker.js", templates.VerifierWorker())
	put("good.json", evidence)
	put("part.json", part)
	put("bad.json", []byte(strings.Replace(string(evidence), "not_ready", "not_reads", 1)))
	files := http.FileServer(http.Dir(site))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
		if r.URL.Path == "/verify/worker.js" {
			w.Header().Set("Content-Security-Policy", templates.VerifierPolicy())
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := startBrowser(t, chromium)
	for query, want := range map[string]string{
		"good.json": "verified\nChecked in this browser", "bad.json": "not verified\nChecked in this browser", "part.json": "unproven\nChecked in this browser", "nothing.json": "It could not be read: /nothing.json answers 404",
	} {
		target := b.call("", "Target.createTarget", map[string]any{"url": fmt.Sprintf("%s/run.html?check=/%s", server.URL, query)})["targetId"]
		session := b.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
		for ready := false; !ready; {
			got := b.call(session, "Runtime.evaluate", map[string]any{"expression": `document.readyState === "complete" && !!document.getElementById("said")`, "returnByValue": true})
			ready = got["result"].(map[string]any)["value"] == true
		}
		got := b.call(session, "Runtime.evaluate", map[string]any{"expression": awaited, "awaitPromise": true, "returnByValue": true})
		said, _ := got["result"].(map[string]any)["value"].(string)
		if !strings.HasPrefix(said, want) {
			t.Errorf("%s: the page says %q", query, said)
		}
		if query == "good.json" && !strings.Contains(said, "door03.example: a row in 2 of 2 rounds") {
			t.Errorf("%s: the page says %q", query, said)
		}
	}
}
