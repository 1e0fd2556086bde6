package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
)

// Plant adds a version to the table until the test ends, as one more row of it would.
func Plant(t *testing.T, b Battery) {
	t.Helper()
	before := batteries
	batteries = append(slices.Clone(before), b)
	t.Cleanup(func() { batteries = before })
}

func knownBattery(version string) Battery {
	b, err := batteryOf(version)
	if err != nil {
		panic(err)
	}
	return b
}

// Digest is the SHA-256 of Encode in lower-case hexadecimal, "" only for what cannot be encoded.
func (j Judgement) Digest() string {
	b, err := j.Encode()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
