package desk

import (
	"net/http"

	"store.example/agentstore/corpus/probe"
)

// Checks is the manifest of the batteries.
type Checks struct {
	Batteries  []BatteryRow  `json:"batteries"` // the oldest first
	Advisories []CheckRow    `json:"advisories"`
	Ladder     []probe.Level `json:"ladder"`
	Verdicts   []Word        `json:"verdicts"`
	Faults     []Word        `json:"faults"`
	Note       string        `json:"note"`
}

// BatteryRow is one version.
type BatteryRow struct {
	Version string     `json:"version"`
	Since   string     `json:"since"`
	Methods []string   `json:"methods"`
	Route   string     `json:"route"`
	Checks  []CheckRow `json:"checks"` // in the order in which they are asked
}

// CheckRow is one check or advisory.
type CheckRow struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Reason   string `json:"reason"`
	Citation string `json:"citation"`
	Fix      string `json:"fix"`
	After    string `json:"after,omitzero"`
	Since    string `json:"since"`
	Retired  string `json:"retired,omitzero"`
}

// Word is a word of a fixed list with its meaning.
type Word struct {
	Word    string `json:"word"`
	Meaning string `json:"meaning"`
}

// manifest is made from the rows of the batteries alone.
func manifest(base string) Checks {
	out := Checks{Ladder: probe.Levels(), Note: "Checks decide the verdict; advisories change none. Names are " +
		"permanent.",
		Verdicts: []Word{
			{string(probe.Ready), "every check that could be asked passed"},
			{string(probe.NotReady), "a check failed; remediation says what to change"},
			{string(probe.Unreachable), "nothing answered; see fault"},
			{string(probe.MethodUnresolved), "the door refused GET and declares no other method that may be used: it " +
				"was not judged"},
			{string(probe.NotProbed), "the instrument itself was in doubt, so nothing is said"},
		},
		Faults: []Word{
			{string(probe.FaultNone), "nothing is wrong"},
			{string(probe.FaultDoor), "the door's own answer"},
			{string(probe.FaultPath), "between the instrument and the door; it may lie on either side"},
			{string(probe.FaultInstrument), "on the store's side"},
		}}
	for _, b := range probe.Batteries() {
		row := BatteryRow{Version: b.Version, Since: b.Since, Methods: []string{http.MethodGet}, Route: base +
			"/api/preflight/" + b.Version}
		if b.Post {
			row.Methods = append(row.Methods, "POST of an empty object, where the door itself declares POST")
		}
		for _, c := range b.Checks {
			row.Checks = append(row.Checks, CheckRow{c.Name, c.Doc.Title, c.Doc.Reason, c.Doc.Citation, c.Fix, c.After,
				c.Since, c.Retired})
		}
		out.Batteries = append(out.Batteries, row)
	}
	for _, a := range probe.Advisories() {
		out.Advisories = append(out.Advisories, CheckRow{a.Name, a.Doc.Title, a.Doc.Reason, a.Doc.Citation, a.Fix, "",
			a.Since, a.Retired})
	}
	return out
}

func (d *Desk) checks(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return writeJSON(w, manifest(d.cfg.BaseURL))
}
