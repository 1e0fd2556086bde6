package mpp

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"store.example/agentstore/dynamic/pay"
)

// vector is a challenge with what a stock client and server make of it.
type vector struct {
	SecretKey string
	Challenge struct {
		Realm, Method, Intent   string
		Expires, Digest, Opaque string
		Description, ExternalID string
		Request                 json.RawMessage
	}
	RequestB64, RequestJCS, ID, WWWAuthenticate, ChallengeHash, Authorization string
	Payload                                                                   authorization
}

// Ids, hashes and fields are those of the stock implementation.
func TestVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]vector
	if err := json.Unmarshal(b, &all); err != nil || len(all) != 6 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	for name, v := range all {
		ch := v.Challenge
		c := challenge{Realm: ch.Realm, Method: ch.Method, Intent: ch.Intent, Request: v.RequestB64,
			Expires: ch.Expires, Digest: ch.Digest, Opaque: ch.Opaque}
		c.ID = c.id(pay.NewMACs([]byte(v.SecretKey)))
		if c.ID != v.ID || c.hash() != v.ChallengeHash {
			t.Errorf("%s: id %s, hash %s, want %s, %s", name, c.ID, c.hash(), v.ID, v.ChallengeHash)
		}
		if name != "description_not_bound" && c.field() != v.WWWAuthenticate {
			t.Errorf("%s: %s, want %s", name, c.field(), v.WWWAuthenticate)
		}
		if name == "externalId_unicode" {
			continue // its request is not of our making
		}
		asks, err := readCharge([]byte(ch.Request))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		object, err := asks.canonical()
		if err != nil || string(object) != v.RequestJCS ||
			base64.RawURLEncoding.EncodeToString(object) != v.RequestB64 {
			t.Errorf("%s: request %s, %v, want %s", name, object, err, v.RequestJCS)
		}
		if echoed, err := readCharge([]byte(`"` + v.RequestB64 + `"`)); err != nil || !sameCharge(echoed, asks) {
			t.Errorf("%s: request echoed as %+v, %v", name, echoed, err)
		}
	}
}

func sameCharge(a, b charge) bool {
	x, err := a.canonical()
	y, err2 := b.canonical()
	return err == nil && err2 == nil && string(x) == string(y)
}

// The stock credentials are read, but for their opaque, which is another store's or none.
func TestStockCredentials(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	p := New(pay.Store{Realm: "shop.example", Secret: []byte("s")})
	for name, v := range all {
		got, err := p.Read(header{headerCredential: {v.Authorization}})
		if got != nil || reasonOf(err) != invalidChallenge {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, invalidChallenge)
		}
	}
}
