package attest

import (
	"math/big"
	"slices"
	"testing"
)

// TestSignatureHasNoTwin adds the group order to the second half of a
// signature, which a loose verifier would take as well.
func TestSignatureHasNoTwin(t *testing.T) {
	key, message := testKey(1), []byte("m")
	signature := key.Sign(message)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989",
		10)
	little := slices.Clone(signature[32:])
	slices.Reverse(little)
	s := new(big.Int).SetBytes(little)
	twin := slices.Clone(signature)
	s.Add(s, order).FillBytes(twin[32:])
	slices.Reverse(twin[32:])
	if !Verify(key.Public(), message, signature) || Verify(key.Public(), message, twin) {
		t.Error("a signature has two spellings")
	}
}
