package templates

import (
	"fmt"
	"strings"

	"store.example/agentstore/corpus/criteria/lab"
)

// LaboratorySheet is /criteria/laboratory. Doors at which all went alike share a line; the JSON has
// one for each, with what it does.
func LaboratorySheet(v SheetView, l lab.Table) SheetView {
	differ := &Table{Caption: "Where the verdict and the client differ", Head: heads("Reason", "#Doors", "Why")}
	for _, d := range l.Differ {
		differ.Rows = append(differ.Rows, []Cell{mono(d.Name), num(d.Doors), words(d.Reason)})
	}
	type kind struct{ verdict, failed, did, difference string }
	var kinds []kind
	doors := map[kind][]string{}
	for _, d := range l.Table {
		verdict := InWords(d.Verdict)
		if d.Reason != "" {
			verdict += ": " + InWords(d.Reason)
		}
		k := kind{verdict, few(d.Failed), did(d), d.Difference}
		if doors[k] == nil {
			kinds = append(kinds, k)
		}
		doors[k] = append(doors[k], d.Door)
	}
	all := &Table{Caption: fmt.Sprintf("%d doors, by what was said and done", l.Doors), Dense: true,
		Head: heads("We said", "Failed", "The client", "Difference", "#Count", "Doors")}
	for _, k := range kinds {
		all.Rows = append(all.Rows, []Cell{words(k.verdict), mono(k.failed), words(k.did), mono(k.difference),
			num(int64(len(doors[k]))), words(strings.Join(doors[k], ", "))})
	}
	v.Sections = []Section{
		{ID: "verdicts", Title: "The run", Facts: []Fact{
			{Name: "Battery", Value: l.Battery, Mono: true},
			{Name: "Client", Value: l.Client, Mono: true},
			{Name: "Alike", Value: fmt.Sprintf("%d of %d doors", l.Alike, l.Doors)},
			{Name: "Paid", Value: fmt.Sprintf("%d of %d doors", l.Paid, l.Doors)},
		}},
		{ID: "differences", Title: "Differences", Table: differ},
		{ID: "doors", Title: "Doors", Table: all},
	}
	return v
}

// did says what the client did at a door.
func did(d lab.Door) string {
	switch {
	case d.Settles && d.SignsLimited:
		return "pays"
	case d.Settles:
		return "pays without its limits"
	case d.Signs:
		return "signs what does not settle"
	}
	return "signs nothing"
}
