package tlog_test

import (
	"fmt"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// A proof shows that a leaf stands in the log to somebody who has the log's key and nothing else.
func Example() {
	ring := attest.SpecimenRing()
	log, err := tlog.Open(os.DirFS(".."), ring)
	if err != nil {
		panic(err)
	}
	leaf, err := log.Entry(3)
	if err != nil {
		panic(err)
	}
	proof, err := log.Prove(3, log.Head().Size, ring)
	if err != nil {
		panic(err)
	}

	read, err := tlog.ParseProof(proof.Text())
	if err != nil {
		panic(err)
	}
	head, err := read.Verify(leaf, ring)
	fmt.Println(head.Root == log.Head().Root, err)
	_, err = read.Verify(append(leaf, ' '), ring)
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}
