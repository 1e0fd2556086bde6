package record

import (
	"fmt"
	"io/fs"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// OpenObservation reads and verifies observation n of a record's folder and returns its exact bytes
// beside it, without its texts.
func OpenObservation(fsys fs.FS, n int64, ring attest.Ring) (Observation, []byte, error) {
	name := "observations/" + Observation{Number: n}.File()
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Observation{}, nil, err
	}
	o, err := VerifyObservation(raw, ring)
	if err == nil && o.Number != n {
		err = rule.ObservationNumber.Errorf("it holds observation %d", o.Number)
	}
	if err != nil {
		return Observation{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, raw, nil
}
