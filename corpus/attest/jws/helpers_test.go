package jws

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// testKey returns a fixed key, one per seed byte.
func testKey(seed byte) *attest.Key {
	key, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		panic(err)
	}
	return key
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// everyByteChange fails for a variant of raw that differs in one byte and is accepted.
func everyByteChange(t *testing.T, raw []byte, accepted func([]byte) bool) {
	t.Helper()
	if !accepted(bytes.Clone(raw)) {
		t.Fatal("the unchanged artifact is refused")
	}
	changed := bytes.Clone(raw)
	for i := range raw {
		for x := 1; x < 256; x++ {
			if changed[i] = raw[i] ^ byte(x); accepted(changed) {
				t.Fatalf("byte %d changed from %#02x to %#02x is accepted", i, raw[i], changed[i])
			}
		}
		changed[i] = raw[i]
	}
}

func testRing(t testing.TB) attest.Ring {
	t.Helper()
	return must[attest.Ring](t)(attest.NewRing("2026-01-02", map[attest.Purpose]ed25519.PublicKey{
		attest.PurposeIdentity: testKey(1).Public(), attest.PurposeLog: testKey(2).Public(),
	}))
}
