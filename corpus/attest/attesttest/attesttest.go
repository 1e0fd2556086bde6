// Package attesttest helps to test what is signed: fixed keys, a ring of them, and every change of
// one byte.
package attesttest

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// Key returns a fixed key, one per seed byte.
func Key(seed byte) *attest.Key {
	key, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		panic(err)
	}
	return key
}

// Ring names the keys of seeds 1 to 4, in the order of the purposes.
func Ring(t testing.TB) attest.Ring {
	t.Helper()
	return Must[attest.Ring](t)(attest.NewRing("2026-01-02", map[attest.Purpose]ed25519.PublicKey{
		attest.PurposeIdentity: Key(1).Public(), attest.PurposeLog: Key(2).Public(),
		attest.PurposeGit: Key(3).Public(), attest.PurposeWebhook: Key(4).Public(),
	}))
}

// Must returns a value that came without an error.
func Must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// EveryByteChange fails for a variant of raw that differs in one byte and is accepted. Each byte is
// changed in fifteen ways, which differ from byte to byte, so that seventeen bytes have all of
// them.
func EveryByteChange(t *testing.T, raw []byte, accepted func([]byte) bool) {
	t.Helper()
	if !accepted(bytes.Clone(raw)) {
		t.Fatal("the unchanged artifact is refused")
	}
	changed := bytes.Clone(raw)
	for i := range raw {
		for x := 1 + i%17; x < 256; x += 17 {
			if changed[i] = raw[i] ^ byte(x); accepted(changed) {
				t.Fatalf("byte %d changed from %#02x to %#02x is accepted", i, raw[i], changed[i])
			}
		}
		changed[i] = raw[i]
	}
}
