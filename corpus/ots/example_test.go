package ots_test

import (
	"bytes"
	"fmt"
	"os"

	"store.example/agentstore/corpus/ots"
)

// A proof leads from a file's digest to the header of a block, which is all that is needed to check
// it.
func Example() {
	file, err := os.ReadFile("testdata/corpus.txt.ots")
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile("testdata/header106.simnet.hex")
	if err != nil {
		panic(err)
	}
	proof, err := ots.Parse(file)
	if err != nil {
		panic(err)
	}
	header, err := ots.ParseHeader(append(bytes.TrimSpace(text), '\n'))
	if err != nil {
		panic(err)
	}

	const simnet = 1e-12 // a test network's blocks cost next to nothing
	status := proof.Check(map[int64]ots.Header{106: header}, simnet)
	fmt.Println(status.State, status.Height, status.Time.Format("2006-01-02"))
	fmt.Println(proof.Check(nil, simnet).State)
	// Output:
	// bitcoin_verified 106 2026-11-20
	// bitcoin_unchecked
}
