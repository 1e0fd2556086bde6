package record_test

import (
	"fmt"
	"os"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The record in this repository is the specimen. Every row that is read is compared with the log.
func ExampleOpen() {
	r, err := record.Open(os.DirFS(".."), attest.SpecimenRing())
	if err != nil {
		panic(err)
	}
	round, ok := r.Round(1)
	var rows int64
	for _, err := range r.Rows(1) {
		if err != nil {
			panic(err)
		}
		rows++
	}
	fmt.Println(ok, rows == round.Rows)
	// Output: true true
}

// A row is signed as a line of JSON, and verified from the bytes of that line.
func ExampleVerifyRow() {
	key := attest.SpecimenKey()
	line, err := record.SignRow(record.Row{
		Origin: "store.example/corpus", Sequence: 1, Week: "2026-W47", Host: "away.example",
		URL: "https://away.example/", Source: record.SourceRevisit, Verdict: record.VerdictNotProbed,
		Reason: "interrupted", Battery: "v2", Fault: record.FaultInstrument, Failed: []string{}, Advisories: []string{},
		Protocols: []string{},
	}, key)
	if err != nil {
		panic(err)
	}
	row, err := record.VerifyRow(line, key.Public())
	fmt.Println(row.Host, row.Verdict, err)

	_, err = record.VerifyRow([]byte(strings.Replace(string(line), "away", "home", 2)), key.Public())
	fmt.Println(err != nil)
	// Output:
	// away.example not_probed <nil>
	// true
}
