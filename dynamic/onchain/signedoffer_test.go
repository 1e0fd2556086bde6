package onchain_test

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
)

// The offer in a challenge says what accepts says, under the store's key, in the one version there
// is.
func TestTheOfferIsSigned(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	raw, err := json.Marshal(s.challenge("/api/buy/hello"))
	if err != nil {
		t.Fatal(err)
	}
	var ch struct {
		Resource struct{ URL string }
		Accepts  []struct {
			Scheme, Network, Asset, PayTo, Amount string
			MaxTimeoutSeconds                     int64
		}
		Extensions map[string]struct {
			Info struct {
				Offers []struct{ Signature string }
			}
		}
	}
	if err := json.Unmarshal(raw, &ch); err != nil || len(ch.Accepts) == 0 ||
		len(ch.Extensions["offer-receipt"].Info.Offers) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	now := time.Now().Unix()
	o, err := attest.OpenOffer(ch.Extensions["offer-receipt"].Info.Offers[0].Signature,
		func(string) (ed25519.PublicKey, error) { return attest.SpecimenKey().Public(), nil })
	if err != nil {
		t.Fatal(err)
	}
	a := ch.Accepts[0]
	want := attest.Offer{Version: 1, ResourceURL: ch.Resource.URL, Scheme: a.Scheme, Network: a.Network, Asset: a.Asset,
		PayTo: a.PayTo, Amount: a.Amount, ValidUntil: o.ValidUntil}
	if o != want {
		t.Errorf("signed %+v, want %+v", o, want)
	}
	if o.ValidUntil < now+a.MaxTimeoutSeconds || o.ValidUntil > now+2*24*3600 {
		t.Errorf("the offer is valid until %d, at %d, for payments of %d s", o.ValidUntil, now, a.MaxTimeoutSeconds)
	}
}
