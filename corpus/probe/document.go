package probe

import (
	"crypto/sha256"
	"fmt"

	"store.example/agentstore/corpus/attest"
)

// BatteryFormat names the form of a battery's document.
const BatteryFormat = "store-battery/v1"

// batteryDocument is what a battery asks, as it is published: what a stranger can hash.
type batteryDocument struct {
	Format  string            `json:"format"`
	Version string            `json:"version"`
	Since   string            `json:"since"`
	About   string            `json:"about"`
	Checks  []documentedCheck `json:"checks"`
}

// documentedCheck leaves out how to mend a door, which may be told better without asking more.
type documentedCheck struct {
	Name  string `json:"name"`
	After string `json:"after,omitzero"`
	Since string `json:"since"`
	Doc
}

// Document is the battery's published file, /spec/batteries/<version>.json.
func (b Battery) Document() ([]byte, error) {
	doc := batteryDocument{Format: BatteryFormat, Version: b.Version, Since: b.Since, About: b.About}
	for _, c := range b.Checks {
		doc.Checks = append(doc.Checks, documentedCheck{c.Name, c.After, c.Since, c.Doc})
	}
	raw, err := attest.Canonical(doc)
	if err != nil {
		return nil, fmt.Errorf("telling battery %s: %w", b.Version, err)
	}
	return append(raw, '\n'), nil
}

// DocumentDigest is the SHA-256 of the file of a version, which a round's header carries: a version
// whose checks are told otherwise is another battery under its name.
func DocumentDigest(version string) (attest.Digest, error) {
	b, err := batteryOf(version)
	if err != nil {
		return attest.Digest{}, err
	}
	raw, err := b.Document()
	return sha256.Sum256(raw), err
}
