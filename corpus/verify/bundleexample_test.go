package verify_test

import (
	"fmt"
	"os"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// A bundle is one file with all that shows what a record says of a host. Verify needs the file and
// the keys to trust.
func Example() {
	keys, err := os.ReadFile("../keys/ring.json")
	if err != nil {
		panic(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		panic(err)
	}
	r, err := record.Open(os.DirFS(".."), ring)
	if err != nil {
		panic(err)
	}
	b, err := verify.Export(r, keys, []verify.Want{{Host: "nobody.example"}})
	if err != nil {
		panic(err)
	}
	raw, err := b.Encode()
	if err != nil {
		panic(err)
	}
	report, err := verify.VerifyBundle(raw, verify.BundleOptions{Judge: rejudge.Batteries{}, Ring: keys})
	if err != nil {
		panic(err)
	}
	fmt.Println("refused:", report.Refused(), "trusted:", report.Trusted)
	for _, h := range report.Hosts {
		fmt.Println(h.Host, h.Rows, "rows, and this is all:", h.Whole)
	}
	// Output:
	// refused: false trusted: true
	// nobody.example 0 rows, and this is all: true
}
