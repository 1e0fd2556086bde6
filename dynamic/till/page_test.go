package till_test

import (
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/paidpage"
)

// A salt follows from key, address and text alone, and tells nothing to who has no key.
func TestPageSalt(t *testing.T) {
	key, other := attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog)
	first := paidpage.Salt(key, "https://a.example/almanac/x", "text")
	if again := paidpage.Salt(key, "https://a.example/almanac/x", "text"); again.String() != first.String() {
		t.Error("another salt for the same page")
	}
	for what, salt := range map[string]attest.Hex{
		"key":  paidpage.Salt(other, "https://a.example/almanac/x", "text"),
		"url":  paidpage.Salt(key, "https://a.example/almanac/y", "text"),
		"body": paidpage.Salt(key, "https://a.example/almanac/x", "text."),
	} {
		if salt.String() == first.String() {
			t.Errorf("the same salt for another %s", what)
		}
	}
	if paidpage.Digest(first, "text").String() == paidpage.Digest(first, "text.").String() {
		t.Error("two texts with one digest")
	}
}
