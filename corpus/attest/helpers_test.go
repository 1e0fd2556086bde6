package attest

import (
	"bytes"
	"crypto/ed25519"
	"testing"
)

// testKey returns a fixed key, one per seed byte.
func testKey(seed byte) *Key { return newKey(bytes.Repeat([]byte{seed}, ed25519.SeedSize)) }

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// everyByteChange fails for a variant of raw that differs in one byte and is accepted: of each byte
// there are fifteen, which differ from byte to byte, so that seventeen bytes have all of them.
func everyByteChange(t *testing.T, raw []byte, accepted func([]byte) bool) {
	t.Helper()
	if !accepted(bytes.Clone(raw)) {
		t.Fatal("the unchanged artifact is refused")
	}
	changed := bytes.Clone(raw)
	for i := range raw {
		for x := 1 + i%17; x < 256; x += 17 {
			changed[i] = raw[i] ^ byte(x)
			if accepted(changed) {
				t.Fatalf("byte %d changed from %#02x to %#02x is accepted", i, raw[i], changed[i])
			}
		}
		changed[i] = raw[i]
	}
}

func testRing(t testing.TB) Ring {
	t.Helper()
	return must[Ring](t)(NewRing("2026-01-02", map[Purpose]ed25519.PublicKey{
		PurposeIdentity: testKey(1).Public(), PurposeLog: testKey(2).Public(),
		PurposeGit: testKey(3).Public(), PurposeWebhook: testKey(4).Public(),
	}))
}
