package view_test

import (
	"context"
	"fmt"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/view"
)

// A view is built once from a record, and answers by host and by address from then on.
func Example() {
	r, err := record.Open(os.DirFS(".."), attest.SpecimenRing())
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "view")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := view.Build(context.Background(), r, dir); err != nil {
		panic(err)
	}
	v, err := view.Open(dir)
	if err != nil {
		panic(err)
	}
	stale, err := v.Check(r)
	fmt.Println("stale:", stale, err)
	for host, err := range v.Hosts("") {
		if err != nil {
			panic(err)
		}
		history, ok, err := v.Host(host)
		fmt.Println(history.Host == host, ok, err)
		break
	}
	// Output:
	// stale: false <nil>
	// true true <nil>
}
