package services

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
)

// keyOf is the key of a seed, as a file of it is loaded.
func keyOf(t *testing.T, seed string) *attest.Key {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(seed)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(raw))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := attest.LoadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The vectors of the asymmetric signature that stands as the example in the specification, made by
// the reference implementation, and of the symmetric one, made by the specification's own libraries
// (whose secret is given in base64, MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw).
func TestSignaturesAreThoseOfTheReference(t *testing.T) {
	const id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	key := keyOf(t, "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=")
	if got := Sign(key, id, at, body); got !=
		"v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==" {
		t.Errorf("v1a: %s", got)
	}
	if got := PublicKey(key.Public()); got != "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=" {
		t.Errorf("the public key is %s", got)
	}
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	if got := SignShared(string(secret), id, at, body); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("v1: %s", got)
	}
}

// The published page of receivers has vectors that are ours.
func TestThePagesVectorsHold(t *testing.T) {
	page, err := os.ReadFile("../../content/pages/spec/store-callback-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	key := attest.SpecimenKeyFor(attest.PurposeWebhook)
	at, body := time.Unix(1795413600, 0), []byte(`{"type":"order.completed","timestamp":"2026-11-23T06:00:00Z",`+
		`"data":{"order_id":"order_abcdefghij2345672345","item_id":"quick_judgment","status":"completed",`+
		`"deliverable":{"text":"Keep the cat."}}}`)
	const id, token = "msg_SPECIMEN2345672345672345", "st_abcdefghij234567abcdefghij234567abcdefghij23456"
	for _, want := range []string{PublicKey(key.Public()), id, token, string(body), Sign(key, id, at, body),
		SignShared(token, id, at, body), "1795413600"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
