package attest_test

import (
	"fmt"
	"strings"

	"store.example/agentstore/corpus/attest"
)

// A certificate is signed over its own fields in their fixed order, and verified from the bytes
// that it carries.
func Example() {
	key := attest.SpecimenKey()
	signed, err := attest.Certificate{CertID: "cert_aaaaaaaaaaaaaaaaaaaa", Item: "hello", PatronNumber: 1,
		Date: "2026-11-20"}.Sign(key)
	if err != nil {
		panic(err)
	}
	fmt.Println(signed.SignedPayload)
	fmt.Println(signed.Verify(key.Public()))

	forged := signed
	forged.SignedPayload = strings.Replace(forged.SignedPayload, "hello", "grudge", 1)
	fmt.Println(forged.Verify(key.Public()) != nil)
	// Output:
	// {"cert_id":"cert_aaaaaaaaaaaaaaaaaaaa","item":"hello","patron_number":1,"date":"2026-11-20"}
	// <nil>
	// true
}
