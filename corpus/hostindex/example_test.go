package hostindex_test

import (
	"context"
	"fmt"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
)

// An index is built once from a record, and answers by host and by address from then on.
func Example() {
	r, err := record.Open(os.DirFS(".."), attest.SpecimenRing())
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := hostindex.Build(context.Background(), r, dir); err != nil {
		panic(err)
	}
	x, err := hostindex.Open(dir)
	if err != nil {
		panic(err)
	}
	stale, err := x.Check(r)
	fmt.Println("stale:", stale, err)
	for host, err := range x.Hosts("") {
		if err != nil {
			panic(err)
		}
		history, ok, err := x.Host(host)
		fmt.Println(history.Host == host, ok, err)
		break
	}
	// Output:
	// stale: false <nil>
	// true true <nil>
}
