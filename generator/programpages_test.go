package generator

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/generator/pages"
)

// TestProgramPages: the pages whose text comes with the program say all that they are for, and the
// record's repository holds those from which a verifier is made.
func TestProgramPages(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.Cache = filepath.Join(t.TempDir(), "record.json")
	in.Settings = []pages.Setting{{Text: "# What one is.\none = 1\n\n"}, {Name: "two", Text: "# A table.\n[two]\n"}}
	mustBuild(t, in)
	s, err := pages.NewSource(&in.Input, nil)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := s.BesideRecord()
	if err != nil {
		t.Fatal(err)
	}
	read := func(page, file string) string {
		t.Helper()
		b, err := fs.ReadFile(os.DirFS(in.OutDir), page)
		if err != nil {
			t.Fatal(err)
		}
		if file != "" && !strings.Contains(string(beside["README.md"]), "`"+file+"`") {
			t.Errorf("the text of the repository does not name %s", file)
		}
		if _, text, _ := strings.Cut(string(beside[file]), "\n\n"); !strings.Contains(string(b), text) {
			t.Errorf("%s is not the page %s", file, page)
		}
		return string(b)
	}
	format := read("spec/store-corpus/v1.md", "spec/store-corpus-v1.md")
	rules := read("spec/store-corpus/v1/rules.md", "spec/store-corpus-v1-rules.md")
	read("spec/store-corpus/v1/forms.txt", "spec/store-corpus-v1-forms.txt")
	evidence := read("spec/store-evidence/v1.md", "spec/store-evidence-v1.md")
	at := 0
	for _, e := range rule.RuleTable() {
		line := "\n| `" + string(e.Rule) + "` | " + e.Says + " |"
		i := strings.Index(rules[at:], line)
		if i < 0 {
			t.Errorf("the rules do not have, behind those before it, %s", line)
			continue
		}
		at += i
	}
	// Each leads to the two others, and every form of the record is told on one of them.
	for page, others := range map[string][2]string{format: {"/spec/store-corpus/v1/rules", "/spec/store-evidence/v1"},
		rules:    {"/spec/store-corpus/v1", "/spec/store-evidence/v1"},
		evidence: {"/spec/store-corpus/v1", "/spec/store-corpus/v1/rules"}} {
		for _, other := range others {
			if !strings.Contains(page, "]("+other+")") {
				t.Errorf("no link to %s in %.300s", other, page)
			}
		}
	}
	for _, form := range []string{"store-row/v1", "store-round/v1", "store-roster/v1", "store-pay-to/v1",
		"store-observation/v1", "store-words/v1", "store-judgement/v1", "store-probe-evidence/v1", "store-opt-out/v1",
		"store-evidence-index/v1", "store-key-ring/v1", "store-key-handover/v1", "store-manifest/v1",
		"store-manifest-part/v1", "store-corpus-vector/v1"} {
		if !strings.Contains(format+rules+evidence, form) {
			t.Errorf("%s is told nowhere", form)
		}
	}
	settings := read("running/configuration.md", "")
	for _, want := range []string{"\n## The store\n\n```toml\n# What one is.\none = 1\n```",
		"\n## two\n\n```toml\n# A table.\n[two]\n```"} {
		if !strings.Contains(settings, want) {
			t.Errorf("the configuration does not have %q: %s", want, settings)
		}
	}
	// What the pages say is what they are made from: a build over this tree brings them up to date.
	in.Settings[1].Text = "# Another.\n[two]\n"
	mustBuild(t, in)
	if now := read("running/configuration.md", ""); !strings.Contains(now, "# Another.") {
		t.Errorf("after a change the configuration says %s", now)
	}
}
