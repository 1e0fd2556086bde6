package generator

import (
	"fmt"
	"strings"

	"store.example/agentstore/content"
)

// goodTables are the tables of keys, kinds and inputs by which the files of goods are read.
func goodTables() string {
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
