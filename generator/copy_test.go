package generator

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/content/api"
	"store.example/agentstore/templates"
)

// pressed presses the first button that copies a program, and the last digest as a reader by
// keyboard does, and waits until the page's own texts stand there again. A browser without a window
// has no clipboard: what is written to it is kept here.
const pressed = `(async () => {
	const copied = [], button = document.querySelector(".copy > button");
	const digest = [...document.querySelectorAll("code.digest")].pop();
	Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied.push(text); } } });
	const shown = digest.textContent, said = [];
	button.click();
	button.click();
	digest.focus();
	digest.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
	await null;
	said.push(button.textContent, digest.textContent);
	while ([button, digest].some((e) => e.textContent === "copied")) await new Promise((r) => setTimeout(r, 20));
	return { copied, said, placed: getComputedStyle(button).position,
		back: digest.textContent === shown && button.textContent === "copy",
		want: [document.querySelector("main pre").textContent, digest.title.split(" ").pop()],
		buttons: document.querySelectorAll(".copy > button").length, pres: document.querySelectorAll("main pre").length };
})()`

// TestCopying: a program is copied by its button, once, and a shortened digest whole, by keyboard.
func TestCopying(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	_, tree := specimenSite.get(t)
	files := http.FileServerFS(tree)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	p := b.Open(server.URL+"/", browser.Screen{Width: 390})
	for _, at := range []string{"/menu/hello/", "/docs/buying/"} {
		p.Go(server.URL + at)
		var got struct {
			Copied, Said, Want []string
			Back               bool
			Placed             string
			Buttons, Pres      int
		}
		p.Eval(pressed, &got)
		if !slices.Equal(got.Copied, got.Want) || !slices.Equal(got.Said, []string{"copied", "copied"}) || !got.Back ||
			got.Placed != "absolute" || got.Buttons != got.Pres || got.Buttons == 0 || len(got.Want[1]) != 64 {
			t.Errorf("%s: %+v", at, got)
		}
	}
}

// TestRobots: crawlers may read what the free instruments say of themselves, and nothing else below
// /api/. Of the rules the longest that fits counts (RFC 9309, section 2.2.2).
func TestRobots(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.outputs = only("robots")
	row := func(method, pattern string, serve api.Serve, params ...api.Param) api.Route {
		return api.Route{Name: strings.Trim(pattern, "/"), Method: method, Pattern: pattern, Serve: serve,
			Tag: "instruments", Params: params}
	}
	in.API = append(slices.Clone(in.API), row("GET", "/api/rules", api.Clock),
		row("POST", "/api/probe", api.Metered),
		row("GET", "/api/of", api.Clock, api.Param{Name: "of", In: api.QueryP, Type: "string", MaxLength: 9,
			Required: true}),
		row("GET", "/api/of/{it}", api.Clock), row("GET", "/api/ticket", api.Private))
	mustBuild(t, in)
	body, err := fs.ReadFile(os.DirFS(in.OutDir), "robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^(Allow|Disallow): (\S+)$`).FindAllStringSubmatch(string(body), -1)
	for at, want := range map[string]string{"/api/rules": "Allow", "/api/probe": "Disallow", "/api/of": "Disallow",
		"/api/ticket": "Disallow", "/api/rules/x": "Disallow", "/api/buy/hello": "Disallow", "/menu/hello": "Allow"} {
		longest, got := 0, ""
		for _, r := range rules {
			path, whole := strings.CutSuffix(r[2], "$")
			if fits := at == path || !whole && strings.HasPrefix(at, path); fits && len(r[2]) > longest {
				longest, got = len(r[2]), r[1]
			}
		}
		if got != want {
			t.Errorf("%s: %q in\n%s", at, got, body)
		}
	}
}
