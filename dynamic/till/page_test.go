package till_test

import (
	"testing"

	"store.example/agentstore/corpus/attest"
)

// A salt follows from key, address and text alone, and tells nothing to who has no key.
func TestPageSalt(t *testing.T) {
	key, other := attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog)
	first := attest.PaidPageSalt(key, "https://a.example/almanac/x", "text")
	if again := attest.PaidPageSalt(key, "https://a.example/almanac/x", "text"); again.String() != first.String() {
		t.Error("another salt for the same page")
	}
	for what, salt := range map[string]attest.Hex{
		"key":  attest.PaidPageSalt(other, "https://a.example/almanac/x", "text"),
		"url":  attest.PaidPageSalt(key, "https://a.example/almanac/y", "text"),
		"body": attest.PaidPageSalt(key, "https://a.example/almanac/x", "text."),
	} {
		if salt.String() == first.String() {
			t.Errorf("the same salt for another %s", what)
		}
	}
	if attest.PaidPageDigest(first, "text").String() == attest.PaidPageDigest(first, "text.").String() {
		t.Error("two texts with one digest")
	}
}
