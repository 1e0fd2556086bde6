package templates_test

import (
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// What is left out of a network's figures stands beside them.
func TestInflowsTellWhatIsLeftOut(t *testing.T) {
	for left, want := range map[int64]string{0: "yes", 2: "yes, without addresses that were flooded: 2"} {
		week := derive.InflowWeek{Week: "2026-W40",
			Networks: []record.NetworkInflow{{Network: "eip155:8453", Read: true, USDC: "1", AddressesLeftOut: left}}}
		v := templates.InflowsSheet(templates.SheetView{}, derive.InflowsView{Weeks: []derive.InflowWeek{week}})
		row := v.Sections[0].Table.Rows[0]
		if got := row[len(row)-1].Text; got != want {
			t.Errorf("%d left out: %q, want %q", left, got, want)
		}
	}
}
