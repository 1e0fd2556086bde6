package verify_test

import (
	"context"
	"fmt"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// Record checks a record from its files alone: signatures, the log, the host index, and every
// verdict, judged again.
func ExampleRecord() {
	keys, err := os.ReadFile("../keys/ring.json") // better: a copy that was had elsewhere
	if err != nil {
		panic(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		panic(err)
	}
	report, err := verify.Record(context.Background(), os.DirFS(".."), ring,
		verify.RecordOptions{Judge: rejudge.Batteries{}, AsOf: "2026-W36"})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Rounds > 0, report.Problems)
	// Output: true []
}
