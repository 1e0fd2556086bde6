package rail_test

import (
	"fmt"
	"math/big"

	"store.example/agentstore/dynamic/rail"
)

// An authorization is known for ever by what makes it unique on its chain, not by its amount or its
// signature.
func ExamplePayment_ClaimKey() {
	p := rail.Payment{Network: "eip155:8453", Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Method: "eip3009",
		Payer: "0x1111111111111111111111111111111111111111", Nonce: "0x01", Amount: big.NewInt(500_000)}
	again := p
	again.Amount, again.Signature = big.NewInt(1), []byte("another")
	fmt.Println(p.ClaimKey() == again.ClaimKey())
	again.Nonce = "0x02"
	fmt.Println(p.ClaimKey() == again.ClaimKey())
	// Output:
	// true
	// false
}
