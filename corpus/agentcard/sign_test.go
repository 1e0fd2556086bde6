package agentcard

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// TestSign: a card that was signed passes every check, in every form; one changed in any member
// does not.
func TestSign(t *testing.T) {
	key := attest.SpecimenKey()
	const host = "store.example.test"
	did, err := attest.DIDDocument(host, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	// No form of its own may be left without a signature, whatever letters are in the card.
	for _, name := range []string{"Store", "Käthes Laden", ""} {
		open := strings.Replace(plain, `"name":"Store"`, `"name":"`+name+`"`, 1)
		card, err := Sign([]byte(open), attest.DIDURL(host, key.KID()), key)
		if err != nil {
			t.Fatal(err)
		}
		docs := map[string]string{"did https://" + host + "/.well-known/did.json": string(did)}
		r := look(t, Checker{URL: at}, served(string(card)), docs)
		for _, c := range r.Checks {
			if c.State != Pass && c.Number != 13 && c.Number != 14 && (name != "" || c.Number >= 15) {
				t.Errorf("%q: %s: %s %s %v", name, c.Name, c.State, c.Detail, c.Where)
			}
		}
		unsigned := slices.ContainsFunc(r.Gaps, func(g string) bool { return strings.Contains(g, "no signature") })
		if len(r.Signatures) < 2 || unsigned {
			t.Errorf("%q: %d signatures, gaps %q", name, len(r.Signatures), r.Gaps)
		}
		changed := strings.Replace(string(card), "Sells reports.", "Sells rocks.", 1)
		if r := look(t, Checker{URL: at}, served(changed), docs); r.Checks[17].State != Fail {
			t.Errorf("%q: a changed card: %s", name, r.Checks[17].State)
		}
	}
	for _, no := range []string{"", "[]", `{"a":1,"a":2}`, "{} {}"} {
		if _, err := Sign([]byte(no), "kid", key); err == nil {
			t.Errorf("%q was signed", no)
		}
	}
}
