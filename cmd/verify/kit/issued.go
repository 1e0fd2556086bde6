package kit

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// issuedIn is what an answer says of the tree that its certificate stands in.
type issuedIn struct {
	Index       int64           `json:"index"`
	Hashes      []attest.Digest `json:"hashes"`
	Observation struct {
		Entry string `json:"entry"` // the exact bytes of the leaf of the log
		Proof string `json:"proof"` // the text of c2sp.org/tlog-proof
	} `json:"observation"`
}

// IssuedFinding says that a certificate stands in a tree of those that the store counted in public.
type IssuedFinding struct {
	Observation int64  `json:"observation"` // its number
	At          string `json:"at"`          // when it was signed: the certificate was there
	Through     string `json:"through"`     // the ISO week of the last deliveries in the tree
	Index       int64  `json:"index"`
	LogSize     int64  `json:"log_size"` // of the checkpoint
}

// check shows that the payload of a certificate is a leaf of the tree, and that its root is in the
// log whose keys the ring holds.
func (i issuedIn) check(payload string, ring attest.Ring) (IssuedFinding, error) {
	entry := []byte(i.Observation.Entry)
	r, err := CheckProof([]byte(i.Observation.Proof), entry, &ring, nil)
	if err == nil && r.Refused() {
		err = errors.New(r.Problems[0])
	}
	if err != nil {
		return IssuedFinding{}, fmt.Errorf("that the certificate is counted in the log: %w", err)
	}
	o, err := record.VerifyObservation(entry, ring)
	if err != nil {
		return IssuedFinding{}, fmt.Errorf("the leaf that counts certificates: %w", err)
	}
	if o.Issued == nil || o.Issued.Certificates == nil {
		return IssuedFinding{}, errors.New("the leaf that is to count certificates has no tree of them")
	}
	t := *o.Issued.Certificates
	digest := sha256.Sum256([]byte(payload))
	root, err := attest.ParseDigest(t.Root)
	if err == nil {
		err = tlog.CheckInclusion(i.Hashes, t.Size, root, i.Index, attest.LeafHash(digest[:]))
	}
	if err != nil {
		return IssuedFinding{}, fmt.Errorf("the certificate is not at leaf %d of the certificates through %s: %w",
			i.Index, t.Through, err)
	}
	return IssuedFinding{o.Number, o.At, t.Through, i.Index, r.Size}, nil
}
