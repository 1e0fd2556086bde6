package feed

import (
	"strings"
	"testing"
)

// TestScreened: whatever a door passes on, nobody reads an address in it, however it is spelled or
// set.
func TestScreened(t *testing.T) {
	const evm, solana = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	for _, text := range []string{evm, solana, strings.ToUpper(evm), "0x" + strings.ToUpper(evm[2:]),
		"payer_" + evm, evm + "_1", "eip155:8453:" + evm, "of" + evm, solana + "_", "x_" + solana,
		"000000000000000000000000" + evm[2:]} {
		got := Word{"H", `{"payer":"` + text + `"}`}.Screened().Text
		if strings.Contains(strings.ToLower(got), strings.ToLower(evm[2:])) || strings.Contains(got, solana) {
			t.Errorf("%s: %s", text, got)
		}
	}
	const kept = `{"bazaar":{"status":"rejected","reason":"no method in /accepts/0 of https://door.example/v1"}}`
	if got := (Word{"H", kept}).Screened().Text; got != kept {
		t.Errorf("%s", got)
	}
}
