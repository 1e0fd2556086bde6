package derive_test

import (
	"fmt"
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// The newest note stands, the ones before it are told the newest first, so many and no more; one
// whose text was withdrawn stands nowhere and is told as such.
func TestNotesOfAHost(t *testing.T) {
	feed := func(texts ...string) (list []record.Observation) {
		for i, text := range texts {
			list = append(list, record.Observation{Number: int64(i + 1), Kind: record.ObservationStandingNote,
				Note: &record.StandingNote{Host: "a.example", Lane: "host", SignedAt: fmt.Sprint("day ", i+1),
					Statement: record.Said{Text: text}}})
		}
		return append(list, record.Observation{Number: 99, Kind: record.ObservationStandingNote,
			Note: &record.StandingNote{Host: "b.example", Statement: record.Said{Text: "another's"}}})
	}
	describe := func(texts ...string) derive.Host {
		t.Helper()
		h, err := derive.DescribeHost(nil, tier.History{Host: "a.example"}, tier.Standing{Tier: tier.TierBroken},
			derive.HostParts{Feed: feed(texts...)})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := describe(); h.Note != nil || h.Earlier != nil {
		t.Errorf("without a note: %+v, %+v", h.Note, h.Earlier)
	}
	if h := describe("one"); h.Note == nil || h.Note.Statement != "one" || h.Earlier != nil {
		t.Errorf("of one: %+v, %+v", h.Note, h.Earlier)
	}
	h := describe("one", "", "three", "four")
	if h.Note.Statement != "four" || len(h.Earlier) != 3 || h.Earlier[0].Statement != "three" ||
		h.Earlier[1].Observation != 2 || h.Earlier[1].Statement != "" || h.Earlier[2].At != "day 1" {
		t.Errorf("of four: %+v, %+v", h.Note, h.Earlier)
	}
	if h := describe("one", ""); h.Note != nil || len(h.Earlier) != 2 || h.Earlier[0].Observation != 2 {
		t.Errorf("withdrawn: %+v, %+v", h.Note, h.Earlier)
	}
	var many []string
	for i := range derive.MaxEarlier + 8 {
		many = append(many, fmt.Sprint("no. ", i+1))
	}
	if h := describe(many...); len(h.Earlier) != derive.MaxEarlier || h.LeftOut != 7 ||
		h.Earlier[0].Observation != derive.MaxEarlier+7 || h.Earlier[derive.MaxEarlier-1].Observation != 8 {
		t.Errorf("of many: %d and %d left out, the first %+v", len(h.Earlier), h.LeftOut, h.Earlier[0])
	}
}
