package witness_test

import (
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/witness"
)

// A witness is named by its prefix and its key, which its keeper publishes.
func ExampleNew() {
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)",
		Key: attest.SpecimenKey(), Agent: "https://store.example"})
	if err != nil {
		panic(err)
	}
	key, err := attest.Generate(strings.NewReader(strings.Repeat("w", 32)))
	if err != nil {
		panic(err)
	}
	vkey := tlog.Witness{Name: "witness.example/w1", Public: key.Public()}.Key()

	w, err := witness.New(client, "https://witness.example.com/prefix", vkey)
	fmt.Println(w.Name, err)
	_, err = witness.New(client, "http://witness.example.com/prefix", vkey)
	fmt.Println(err != nil) // TLS alone
	// Output:
	// witness.example/w1 <nil>
	// true
}
