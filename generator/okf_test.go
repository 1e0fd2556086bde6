package generator

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
)

// roundOf is a round that has only its place.
func roundOf(n int) record.Round {
	return record.Round{Sequence: int64(n), Week: fmt.Sprintf("%04d-W%02d", 2026+n/53, n%53+1),
		Digest: sha256.Sum256([]byte{byte(n)})}
}

// frontMatter is what stands between the first two lines of three hyphens.
func frontMatter(body []byte) (fields map[string]string, rest []byte, ok bool) {
	head, rest, ok := bytes.Cut(bytes.TrimPrefix(body, []byte("---\n")), []byte("\n---\n"))
	if !ok || !bytes.HasPrefix(body, []byte("---\n")) {
		return nil, body, false
	}
	fields = map[string]string{}
	line := regexp.MustCompile(`^( *)(?:- )?([a-z_]+):(?: (.*))?$`)
	for l := range strings.Lines(string(head)) {
		m := line.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil {
			return nil, rest, false
		}
		if m[1] == "" {
			fields[m[2]] = strings.Trim(m[3], `"`)
		}
	}
	return fields, rest, true
}

// TestBundleConforms checks the three rules of OKF 0.2 and that every link of an index leads to a
// concept.
func TestBundleConforms(t *testing.T) {
	_, tree := specimenSite.get(t)
	var problems []string
	concepts, linked := map[string]bool{}, map[string]bool{}
	item := regexp.MustCompile(`^\* \[[^\]]+\]\(([^)]+)\)`)
	err := fs.WalkDir(tree, "okf", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		problems = append(problems, okfProblems(name, body)...)
		if base := path.Base(name); base != "index.md" && base != "log.md" {
			concepts[name] = true
			return nil
		}
		for l := range strings.Lines(string(body)) {
			if m := item.FindStringSubmatch(l); m != nil {
				// As a browser resolves it, from where the file is served.
				to := path.Join(path.Dir(name), m[1])
				if _, err := fs.Stat(tree, to); err != nil || path.IsAbs(m[1]) {
					t.Errorf("%s links to %s, which is not there", name, m[1])
				}
				linked[to] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	for c := range concepts {
		if !linked[c] {
			t.Errorf("no index names %s", c)
		}
	}
	if len(concepts) < 12+5+20 {
		t.Errorf("only %d concepts", len(concepts))
	}
}

// okfProblems are the ways in which a file of a bundle breaks the three rules.
func okfProblems(name string, body []byte) (problems []string) {
	fail := func(says string) { problems = append(problems, name+": "+says) }
	fields, rest, has := frontMatter(body)
	switch path.Base(name) {
	case "index.md":
		keys := []string{}
		for k := range fields {
			keys = append(keys, k)
		}
		if name == "okf/index.md" && (!slices.Equal(keys, []string{"okf_version"}) || fields["okf_version"] != "0.2") {
			fail("the index at the root must say its version and nothing else")
		}
		if name != "okf/index.md" && has {
			fail("an index has front matter")
		}
		for l := range strings.Lines(string(rest)) {
			l = strings.TrimSpace(l)
			if l != "" && !strings.HasPrefix(l, "#") &&
				!regexp.MustCompile(`^\* \[[^\]]+\]\([^)\s]+\) - \S`).MatchString(l) {
				fail("a line of an index that is no item: " + l)
			}
		}
	case "log.md":
		if has || !bytes.HasPrefix(body, []byte("# ")) {
			fail("a log begins with a heading")
		}
		last := "9999-99-99"
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllSubmatch(body, -1) {
			day := string(m[1])
			if !regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`).MatchString(day) || day >= last {
				fail("days are not dates, newest first: " + day)
			}
			last = day
		}
	default:
		if !has {
			fail("no front matter that can be read")
		}
		if fields["type"] == "" {
			fail("no type")
		}
	}
	return problems
}

// TestBundleRulesCanFail shows that the check of the three rules sees each broken.
func TestBundleRulesCanFail(t *testing.T) {
	for name, body := range map[string]string{
		"okf/a.md": "# A\n", "okf/b.md": "---\ntitle: \"B\"\n---\n\n# B\n", "okf/c.md": "---\ntype: \"\"\n---\n",
		"okf/index.md": "# Bundle\n", "okf/x/index.md": "---\nokf_version: \"0.2\"\n---\n",
		"okf/y/index.md": "# Y\n\nprose\n", "okf/log.md": "# Log\n\n## 2026-01-01\n\n## 2026-02-01\n",
	} {
		if len(okfProblems(name, []byte(body))) == 0 {
			t.Errorf("%s passes:\n%s", name, body)
		}
	}
}
