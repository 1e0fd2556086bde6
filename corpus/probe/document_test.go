package probe_test

import (
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/probe"
)

// TestDocumentsAreFrozen: v1's document never changes, v2's not once a real round was sealed by it.
// The page from which verifiers are made names every digest.
func TestDocumentsAreFrozen(t *testing.T) {
	frozen := map[string]string{
		"v1": "bd636ef28811dc31a14d7715440cc668afc361020aae79490071a820cc3d0903",
		"v2": "3e0718309248e232520993ca211c91e475bf9331e5553ac616d46ff67756e48b",
	}
	page, err := os.ReadFile("../../content/pages/spec/store-corpus-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range probe.Versions() {
		digest, err := probe.DocumentDigest(version)
		if err != nil || digest.String() != frozen[version] {
			t.Errorf("the document of %s has the digest %s, not %s: %v", version, digest, frozen[version], err)
		}
		if !strings.Contains(string(page), "`"+version+"` `"+digest.String()+"`") {
			t.Errorf("the page of the record does not name %s and its digest %s", version, digest)
		}
	}
	if _, err := probe.DocumentDigest("v0"); err == nil {
		t.Error("v0 has a digest")
	}
}
