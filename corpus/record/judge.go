package record

import (
	"fmt"

	"store.example/agentstore/corpus/attest"
)

// Judge judges what is kept of walks again. Package judge holds the one that knows the batteries;
// whoever reads a record without one learns that the rows are as they were signed, and not whether
// they say what was seen. Its errors name a rule of the record.
type Judge interface {
	// Door is the URL that a judgement is of.
	Door(judgement []byte) (url string, err error)
	// Walk is what a judgement gives.
	Walk(judgement []byte) (Walk, error)
	// Row demands that a judgement gives the row, whose exact bytes are raw, in every field that a
	// judgement decides.
	Row(row Row, raw, judgement []byte) error
	// Refresh demands that a judgement gives the refresh, and was taken no later than it is dated.
	Refresh(r Refresh, at string, judgement []byte) error
}

// Walk is a door with its verdict, and with the checks that it failed, none without a verdict.
type Walk struct {
	URL, Battery, Verdict string
	Failed                []string
}

// MaxJudgement is the most bytes of a judgement that is kept.
const MaxJudgement = 256 << 10

// What was signed of a door for a buyer before this date cites the first battery.
const (
	citesFirstBefore = "2026-09-01"
	firstBattery     = "v1"
)

// readyFrom is the first level that a battery calls ready.
var readyFrom = map[string]string{"v1": "L3", "v2": "L4"}

// Batteries are those that a round may cite, with the digests of their documents, which do not
// change: what is published as /spec/batteries/<version>.json is for ever.
var Batteries = map[string]string{
	"v1": "bd636ef28811dc31a14d7715440cc668afc361020aae79490071a820cc3d0903",
	"v2": "3e0718309248e232520993ca211c91e475bf9331e5553ac616d46ff67756e48b",
}

// batteryDigest is the SHA-256 of the document of a battery.
func batteryDigest(version string) (out attest.Digest, err error) {
	known, ok := Batteries[version]
	if !ok {
		return out, fmt.Errorf("battery %.40q is not known here", version)
	}
	return out, out.UnmarshalText([]byte(known))
}
