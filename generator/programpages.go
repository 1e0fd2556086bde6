package generator

import (
	"embed"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/rule/rulebook"
	"store.example/agentstore/templates"
)

// Pages of the program say what is so on every store of this release. Their text comes with the
// program and not with the keeper's sources, so that those of a former release go on building.

//go:embed texts
var texts embed.FS

// programPage is a page whose text comes with the program. Its body is Markdown.
type programPage struct {
	title, summary string
	body           func(in *Input) string
}

var (
	evidenceFormat = programPage{"store-evidence/v1",
		"What the rows of the signed record were judged by, byte for byte: judgements, exchanges, opt-outs, and the " +
			"packs that hold them.", func(*Input) string { return programText("store-evidence-v1") }}
	recordRules = programPage{"store-corpus/v1: the rules",
		"What a verifier of the signed record refuses, by a name for each rule and in the order in which it is " +
			"looked at, and the test vectors.", func(*Input) string {
			return strings.Replace(programText("store-corpus-v1-rules"), "\nRULES\n", "\n"+ruleTable()+"\n", 1)
		}}
	query = programPage{"Ask the record",
		"Questions in SQL, answered in this browser, which fetches only the parts of a year's database that they need.",
		func(*Input) string { return programText("query") }}
	glossary = programPage{"Words",
		"What the words of these pages mean, and which words the signed record and the API have for the same.",
		func(*Input) string { return strings.Replace(programText("glossary"), "GAPS", gapTable(), 1) }}
	goodsReference = programPage{"Goods of your own",
		"Every key of a good's file, every kind of goods and every input, from the table that the store reads them by.",
		func(*Input) string { return strings.Replace(programText("goods"), "TABLES", goodTables(), 1) }}
	configuration = programPage{"The configuration of a store",
		"Every key of store.toml with its meaning, table by table, as store config prints it.", settingsText}
)

// programText is a text that the program brings.
func programText(name string) string {
	b, err := texts.ReadFile("texts/" + name + ".md")
	if err != nil {
		panic(err) // the embedded files are part of the program
	}
	return strings.TrimSpace(string(b))
}

// depsForms: the table of the record's forms comes with the program too.
func depsForms(_ *source, _ int, d *digester) { d.text(string(rulebook.Forms())) }

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| Rule | Is broken by |\n| --- | --- |")
	for _, e := range rulebook.Table() {
		fmt.Fprintf(&b, "\n| `%s` | %s |", e.Rule, e.Says)
	}
	return b.String()
}

// gapTable has the reasons for which a week has no check of a host.
func gapTable() string {
	var b strings.Builder
	b.WriteString("| Here | In the record and the API | What it is |\n| --- | --- | --- |")
	for _, g := range derive.CurrentRules().Gaps {
		fmt.Fprintf(&b, "\n| %s | `%s` | %s%s. |", templates.InWords(g.Reason), g.Reason,
			strings.ToUpper(g.Meaning[:1]), g.Meaning[1:])
	}
	return b.String()
}

// Setting is a table of the configuration, or, without a name, the keys that stand before all
// tables.
type Setting struct {
	// Name is what stands between the brackets.
	Name string
	// Text is TOML with what each key means above it.
	Text string
}

func settingsText(in *Input) string {
	var b strings.Builder
	b.WriteString(programText("configuration"))
	for _, s := range in.Settings {
		heading := s.Name
		if heading == "" {
			heading = "The store"
		}
		fmt.Fprintf(&b, "\n\n## %s\n\n```toml\n%s\n```", heading, strings.TrimSpace(s.Text))
	}
	return b.String()
}

func (p programPage) deps(s *source, _ int, d *digester) { d.text(p.title, p.summary, p.body(s.Input)) }

func (p programPage) render(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	body, err := s.prose(p.body(s.Input), plainFrame)
	if err != nil {
		return nil, err
	}
	v := templates.PlainView{Chrome: s.chrome, Page: s.viewOf(u, p.title, p.summary, made), Body: body}
	v.Contents = s.contents(v.Page.Path, p.body(s.Input), plainFrame)
	return u.twin(&v, mediaType)
}

// file is the page as a file of its own, beside the record in its repository.
func (p programPage) file(in *Input) []byte {
	return fmt.Appendf(nil, "# %s\n\n%s\n", p.title, in.Site.Expand(p.body(in)))
}
