package pages

import (
	"embed"
	"fmt"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/templates"
)

//go:embed texts
var texts embed.FS

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
	clients = programPage{"Clients, and what each signs",
		"Which of several ways to pay each known client takes, by its version and its limits.",
		func(*Input) string {
			return strings.NewReplacer("CLIENTS", clientTable(), "\nSCHEMES\n", "\n"+schemeTable()+"\n").Replace(
				programText("clients"))
		}}
	goodsReference = programPage{"Goods of your own",
		"Every key of a good's file, every kind of goods and every input, from the table that the store reads them by.",
		func(*Input) string { return strings.Replace(programText("goods"), "TABLES", GoodTables(), 1) }}
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

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| Rule | Is broken by |\n| --- | --- |")
	for _, e := range rule.RuleTable() {
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

// clientTable has the clients that are replayed at a door, and those that were read.
func clientTable() string {
	var b strings.Builder
	b.WriteString("| Client | Its limits | Signs | Known by |\n| --- | --- | --- | --- |")
	for _, c := range probe.KnownClients() {
		by := "reading"
		if c.Checked {
			by = "a run"
		}
		fmt.Fprintf(&b, "\n| %s | %s | %s | %s |", cell(c.Package), cell(c.Configured), cell(c.Signs), by)
	}
	return b.String()
}

// schemeTable has the advisories of entries by other schemes than exact.
func schemeTable() string {
	var b strings.Builder
	b.WriteString("| Advisory | What it says, and what it costs | The way out |\n| --- | --- | --- |")
	for _, a := range probe.Advisories() {
		if a.Scheme != "" {
			fmt.Fprintf(&b, "\n| `%s` | %s. %s | %s |", a.Name, cell(a.Doc.Title), cell(a.Doc.Reason), cell(a.Fix))
		}
	}
	return b.String()
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

// file is the page as a file of its own, beside the record in its repository.
func (p programPage) file(in *Input) []byte {
	return fmt.Appendf(nil, "# %s\n\n%s\n", p.title, in.Site.Expand(p.body(in)))
}

// GoodTables are the tables of keys, kinds and inputs by which the files of goods are read.
func GoodTables() string {
	var b strings.Builder
	for _, t := range content.KeyTables {
		heading := "Keys"
		if t.Name != "" {
			heading = "Keys of " + t.Name
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| Key | Is | Left out | Means |\n| --- | --- | --- | --- |\n", heading, t.Says)
		for _, k := range content.Keys() {
			if k.Table == t.Name {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, typeOfKey(k), leftOut(k), meaningOf(k))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Kinds\n\n| Kind | Gives | Its pool |\n| --- | --- | --- |\n")
	for _, k := range content.KindTable() {
		pool := "none"
		if k.Least > 0 {
			pool = fmt.Sprintf("at least %d", k.Least)
			for _, f := range k.Fields {
				pool += fmt.Sprintf(", each with `%s`", f)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, cell(k.Says), pool)
	}
	b.WriteString("\n## Inputs\n\nAn order may say these. `agent_name`, `source` and, for what is not delivered at " +
		"once, `callback_url` every good takes by itself.\n\n" +
		"| Input | Is | At most | Says |\n| --- | --- | --- | --- |\n")
	for _, in := range content.EveryInput() {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", in.Name, in.Type, in.Max, cell(in.Help))
	}
	return strings.TrimSpace(b.String())
}

func typeOfKey(k content.Key) string {
	says := string(k.Type)
	if k.Max > 0 && k.Type != content.KeySwitch {
		says += fmt.Sprintf(", at most %d", k.Max)
		if k.Type == content.KeyText || k.Type == content.KeyList {
			says += " characters"
		}
	}
	return says
}

func leftOut(k content.Key) string {
	switch v := k.Default(); {
	case k.Need:
		return "must be there"
	case k.Type == content.KeySwitch:
		return "`false`"
	case v == "":
		return "nothing"
	default:
		return cell(v)
	}
}

func meaningOf(k content.Key) string {
	says := cell(k.Meaning)
	if kinds := k.Kinds(); kinds != nil {
		says += " For " + strings.Join(kinds, ", ") + "."
	}
	if k.Example != "" {
		says += " Such as `" + k.Example + "`."
	}
	return says
}

// cell is a text in a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "[", `\[`, "*", `\*`).Replace(s)
}
