package criteria

import (
	"slices"
	"strings"

	"store.example/agentstore/corpus/probe"
)

// DefectVersion counts the versions of the vocabulary.
const DefectVersion = "1"

// Where a defect can be seen.
const (
	Unpaid = "unpaid" // by a probe that pays nothing
	Paid   = "paid"   // by a purchase only
)

// A Defect is a stable name for one way in which a door is broken. Ids are permanent.
type Defect struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Asserts     string `json:"asserts"`
	Costs       string `json:"costs"`
	Detectable  string `json:"detectable"` // Unpaid or Paid
	OurSignal   string `json:"our_signal"`
	FalsifiedBy string `json:"falsified_by"`
	RepairHint  string `json:"repair_hint"`
	BuyerHint   string `json:"buyer_hint"`

	// Signals names the checks and advisories that show the defect to one unpaid probe: none for a
	// defect that only a purchase shows, or that only a series of rounds shows.
	Signals []string `json:"-"`
	// Series says that rounds have to be compared.
	Series bool `json:"-"`
}

// Defects returns the vocabulary: what an unpaid probe sees of x402, what only a purchase shows,
// what an unpaid probe sees of MPP.
func Defects() []Defect {
	out := append(append(defectsUnpaid(), defectsPaid()...), defectsMPP()...)
	for i := range out {
		if out[i].OurSignal == "" {
			out[i].OurSignal = signalText(out[i].Signals)
		}
	}
	return out
}

func signalText(names []string) string {
	var said strings.Builder
	for i, name := range names {
		kind := "advisory "
		for _, b := range probe.Batteries() {
			if slices.ContainsFunc(b.Checks, func(c probe.Check) bool { return c.Name == name }) {
				kind = "check "
			}
		}
		if i > 0 {
			said.WriteString(", or ")
		}
		said.WriteString(kind + name)
	}
	return said.String()
}
