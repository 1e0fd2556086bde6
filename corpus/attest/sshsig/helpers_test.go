package sshsig

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// testKey returns a fixed key, one per seed byte.
func testKey(seed byte) *attest.Key {
	k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		panic(err) // 32 bytes are there
	}
	return k
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

func testRing(t testing.TB) attest.Ring {
	t.Helper()
	return must[attest.Ring](t)(attest.NewRing("2026-01-02", map[attest.Purpose]ed25519.PublicKey{
		attest.PurposeIdentity: testKey(1).Public(), attest.PurposeLog: testKey(2).Public(),
		attest.PurposeGit: testKey(3).Public(), attest.PurposeWebhook: testKey(4).Public(),
	}))
}
