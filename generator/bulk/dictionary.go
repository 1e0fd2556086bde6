package bulk

import (
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// Dictionary says what is in the files, column by column and field by field.
type Dictionary struct {
	Format  string             `json:"format"` // DictionaryFormat
	InEvery []string           `json:"in_every_row"`
	Columns []DictionaryColumn `json:"columns"`
	Tables  []DictionaryTable  `json:"tables"`
	Views   []DictionaryView   `json:"views"`
}

// DictionaryFormat names the format of a Dictionary.
const DictionaryFormat = "store-bulk-dictionary/v1"

// DictionaryColumn is a column of the CSV and Parquet files and of the table rows.
type DictionaryColumn struct {
	Name    string `json:"name"`
	Type    string `json:"type"`             // text, integer, flag or list
	Member  string `json:"member,omitempty"` // path in the row's JSON, absent for what is not in the row itself
	Absent  bool   `json:"may_be_absent"`
	Meaning string `json:"meaning"`
}

// DictionaryTable is another table of the database.
type DictionaryTable struct {
	Name    string `json:"name"`
	Columns string `json:"columns"` // as they were declared
	Meaning string `json:"meaning"`
}

// DictionaryView is a view of the database.
type DictionaryView struct {
	Name     string `json:"name"`
	Question string `json:"question"` // that it answers
	Query    string `json:"query"`
}

// dictionary is a function of this package's tables alone.
func dictionary() Dictionary {
	d := Dictionary{Format: DictionaryFormat, InEvery: inEvery}
	for _, c := range columns {
		d.Columns = append(d.Columns, DictionaryColumn{Name: c.name, Type: c.kind, Member: c.member, Absent: c.absent,
			Meaning: c.meaning})
	}
	for _, t := range tables {
		d.Tables = append(d.Tables, DictionaryTable{Name: t.name, Columns: oneLine(t.columns), Meaning: t.meaning})
	}
	for _, v := range views {
		d.Views = append(d.Views, DictionaryView{Name: v.name, Question: v.question, Query: oneLine(v.query)})
	}
	return d
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// json is the dictionary's file for programs.
func (d Dictionary) json() ([]byte, error) {
	b, err := attest.Canonical(d)
	if err != nil {
		return nil, fmt.Errorf("encoding the dictionary: %w", err)
	}
	return append(b, '\n'), nil
}

// markdown is the dictionary's file for people.
func (d Dictionary) markdown() []byte {
	var b strings.Builder
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	fmt.Fprintf(&b, "# The bulk files of the record\n\n`%s` has every signed row of a week as its exact bytes, a line "+
		"each, by host. `%s` and `%s` hold the columns below, and so does the table `rows` of `%s`, which has all "+
		"weeks of a year. The whole history is its weeks, oldest first: `%s` lists each file with its digest, and "+
		"JSON lines that are joined are one file of them.\n\n", partName("<week>", ".jsonl.gz"),
		partName("<week>", ".csv.gz"), partName("<week>", ".parquet"), partName("<year>", ".sqlite"), fileDigests)
	fmt.Fprintf(&b, "The members `%s` are alike in every row and stand in the table `record` and in the JSON lines "+
		"alone.\n", strings.Join(d.InEvery, "` and `"))
	b.WriteString("In CSV a list is JSON, a flag is true or false, and what is absent is empty. In Parquet a list is " +
		"a string of the logical type JSON, a flag a boolean, and what is absent null. In SQLite a list is JSON " +
		"text, a flag is 1 or 0, and what is absent is NULL.\n\n")
	b.WriteString("Rows stand here as they were signed, and so the views count them. Where the store has corrected " +
		"one since, an observation of kind `erratum` in the feed, `/corpus/feed.json`, names its `leaf` and the " +
		"`verdict_now` that is counted on the pages of hosts and weeks.\n\n")
	b.WriteString("## Columns\n\n| column | type | member of the row | meaning |\n| --- | --- | --- | --- |\n")
	for _, c := range d.Columns {
		kind, member := c.Type, "–"
		if c.Absent {
			kind += ", may be absent"
		}
		if c.Member != "" {
			member = "`" + c.Member + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, kind, member, cell(c.Meaning))
	}
	b.WriteString("\n## Other tables of the database\n\n")
	for _, t := range d.Tables {
		fmt.Fprintf(&b, "- `%s`: %s\n  `%s`\n", t.Name, t.Meaning, t.Columns)
	}
	b.WriteString("\n## Views of the database\n\n")
	for _, v := range d.Views {
		fmt.Fprintf(&b, "- `%s`: %s\n", v.Name, v.Question)
	}
	return []byte(b.String())
}
