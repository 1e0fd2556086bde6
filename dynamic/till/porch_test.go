package till_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// Who knows a page's digest and guesses its text learns nothing without the salt, and the salt of
// one page is not that of another with the same text.
func TestDigestsTellNothingOfGuesses(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	key := attest.SpecimenKey()
	salts := make(map[string]bool)
	for _, i := range site.IssuesOf("zodiac") {
		body, url := site.Expand(i.Body), site.Config.BaseURL+i.Path()
		salt := attest.PaidPageSalt(key, url, body)
		digest := attest.PaidPageDigest(salt, body).String()
		for _, guess := range []string{body, url + body, i.Title + body, i.Summary + "\n\n" + body} {
			if sum := sha256.Sum256([]byte(guess)); hex.EncodeToString(sum[:]) == digest {
				t.Fatalf("%s: the digest has no salt", i.ID)
			}
		}
		if salts[salt.String()] {
			t.Fatalf("%s: its salt is another page's", i.ID)
		}
		salts[salt.String()] = true
	}
	if len(salts) == 0 {
		t.Error("no week is over")
	}
}
