// Package web lets tests hold pages against three checkers that are not ours, at the versions of
// package-lock.json and without a network: html-validate (their markup),
// structured-data-testing-tool (what they say of themselves to who links to them) and Lighthouse
// (what a browser makes of them).
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// Markup returns what html-validate finds wrong with the pages below a folder, a line a finding.
func Markup(t testing.TB, dir string) (found []string) {
	t.Helper()
	run(t, &found, "markup", absolute(t, dir))
	return found
}

// Shared returns what structured-data-testing-tool finds lacking on the pages below a folder that
// are meant to be found, a line a finding.
func Shared(t testing.TB, dir string) (found []string) {
	t.Helper()
	run(t, &found, "shared", absolute(t, dir))
	return found
}

// The categories of Lighthouse.
const (
	Performance   = "performance"
	Accessibility = "accessibility"
	BestPractices = "best-practices"
	SEO           = "seo"
)

// Score is what Lighthouse gives a page in one category.
type Score struct {
	URL      string   `json:"url"`
	Category string   `json:"category"`
	Score    int      `json:"score"` // of 100
	Less     []string `json:"less"`  // audits that took from it, with what they say
}

// Lighthouse gives pages on this machine their scores in some categories, leaving out audits by
// name. Performance is judged as on a slow telephone, which Lighthouse computes from what was
// loaded; without it nothing is slowed down.
func Lighthouse(t testing.TB, categories, skipped, urls []string) (scores []Score) {
	t.Helper()
	throttling := "provided"
	if categories[0] == Performance {
		throttling = "simulate"
	}
	run(t, &scores, append([]string{"lighthouse", strings.Join(skipped, ","), strings.Join(categories, ","),
		throttling}, urls...)...)
	return scores
}

func absolute(t testing.TB, dir string) string {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs the program and decodes what it prints.
func run(t testing.TB, found any, args ...string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		npmtest.Unavailable(t, err)
	}
	packages := npmtest.Packages
	if args[0] == "lighthouse" {
		packages = npmtest.LongPackages
	}
	_, here, _, _ := runtime.Caller(0)
	dir := npmtest.Folder(t, packages(t), filepath.Dir(here), "web.mjs")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, npmtest.Node(t), append([]string{"web.mjs"}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "CHROME_PATH="+chromium)
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, found)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%.2000s", args[0], err, complaint.Bytes(), out)
	}
}
