package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// counted is the answer of /api/verify/{id} for a certificate, as far as a stranger checks it.
type counted struct {
	*attest.Proof
	Issued struct {
		Index       int64           `json:"index"`
		Hashes      []attest.Digest `json:"hashes"`
		Observation struct {
			Entry string `json:"entry"`
			Proof string `json:"proof"`
		} `json:"observation"`
	} `json:"issued"`
}

// TestCertificatesInTheLog proves of a certificate that it was counted, and refuses what is another
// certificate's, another tree's, another log's or nobody's.
func TestCertificatesInTheLog(t *testing.T) {
	p := provable(t)
	certificate := func(id string) *attest.Proof {
		proof, err := attest.SignPayload(attest.SpecimenKey(), attest.Certificate{CertID: id, Item: "hello",
			Date: "2026-12-20T00:00:00Z"})
		if err != nil {
			t.Fatal(err)
		}
		return &proof
	}
	leaf := func(c *attest.Proof) attest.Digest {
		d := sha256.Sum256([]byte(c.SignedPayload))
		return attest.LeafHash(d[:])
	}
	one, two, other := certificate("cert_abcdefghij2345672345"), certificate("cert_bbcdefghij2345672345"),
		certificate("cert_cbcdefghij2345672345")
	count := func(at string, n int64, total int64, through string, root attest.Digest) {
		told, err := p.w.Observe(t.Context(), record.Observation{At: at, Number: n,
			Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: total,
				Classes:      []record.IssuedClass{{Class: "certificate", Total: total}},
				Certificates: &record.IssuedTree{Through: through, Size: total, Root: root.String()}}})
		if err != nil || len(told) != 1 {
			t.Fatal(told, err)
		}
	}
	count("2026-12-30T00:00:00Z", 1, 2, "2026-W52", attest.NodeHash(leaf(one), leaf(two)))
	count("2027-01-05T00:00:00Z", 2, 2, "2026-W53", attest.NodeHash(leaf(two), leaf(other)))
	answer := func(c *attest.Proof, index int64, at string, hashes ...attest.Digest) counted {
		out := counted{Proof: c}
		out.Issued.Index, out.Issued.Hashes = index, hashes
		_, raw := p.prove(t, at)
		proof, entry, err := tlog.ParseProofFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		out.Issued.Observation.Entry, out.Issued.Observation.Proof = string(entry), string(proof.Text())
		return out
	}
	first := func() counted { return answer(one, 0, "11", leaf(two)) }
	edited := func(f func(c *counted)) counted {
		c := first()
		f(&c)
		return c
	}
	verdicts := make(map[string]bool) // by file: whether it is accepted
	for name, c := range map[string]struct {
		file counted
		code int
		says string
	}{
		"the first":    {first(), 0, "certificate 0 of those through 2026-W52, whose tree observation 1 of 2026-12-30"},
		"the second":   {answer(two, 1, "11", leaf(one)), 0, "certificate 1 of those"},
		"in the next":  {answer(other, 1, "12", leaf(two)), 0, "through 2026-W53, whose tree observation 2"},
		"another":      {answer(other, 0, "11", leaf(two)), 3, "is not at leaf 0"},
		"elsewhere":    {edited(func(c *counted) { c.Issued.Index = 1 }), 3, "is not at leaf 1"},
		"below":        {edited(func(c *counted) { c.Issued.Index = -1 }), 3, "is not at leaf -1"},
		"beyond":       {edited(func(c *counted) { c.Issued.Index = 2 }), 3, "is not at leaf 2"},
		"another tree": {answer(one, 0, "12", leaf(two)), 3, "is not at leaf 0"},
		"no hashes":    {edited(func(c *counted) { c.Issued.Hashes = nil }), 3, "is not at leaf 0"},
		"more hashes": {edited(func(c *counted) { c.Issued.Hashes = append(c.Issued.Hashes, leaf(two)) }), 3,
			"is not at leaf 0"},
		"a row": {answer(one, 0, "@2", leaf(two)), 3, "the leaf that counts certificates"},
		"nobody's leaf": {edited(func(c *counted) {
			c.Issued.Observation.Entry = strings.Replace(c.Issued.Observation.Entry, "2026-W52", "2026-W51", 1)
		}), 3, "that the certificate is counted in the log"},
		"no proof": {edited(func(c *counted) { c.Issued.Observation.Proof = "" }), 3,
			"that the certificate is counted in the log"},
		"another head": {edited(func(c *counted) {
			c.Issued.Observation.Proof = strings.Replace(c.Issued.Observation.Proof, "index 11", "index 10", 1)
		}), 3, "that the certificate is counted in the log"},
	} {
		raw, err := json.Marshal(c.file)
		if err != nil {
			t.Fatal(err)
		}
		file := p.put(t, strings.ReplaceAll(name, " ", "-")+".json", raw)
		if code, out := checkWith(file, "-ring", p.ring, "-artifact"); code != c.code ||
			!strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d, want %d and %q: %s", name, code, c.code, c.says, out)
		}
		verdicts[file] = c.code == 0
		// Whose log it is, nobody knows without keys.
		if code, out := checkWith(file, "-artifact"); code != 4 || strings.Contains(out, "In the log") {
			t.Errorf("%s without keys: exit %d: %s", name, code, out)
		}
	}
	raw, err := json.Marshal(answer(two, 1, "11", leaf(one)))
	if err != nil {
		t.Fatal(err)
	}
	good := p.put(t, "good.json", raw)
	if code, out := checkWith(good, "-json", "-ring", p.ring, "-artifact"); code != 0 ||
		!strings.Contains(out, `"log_size":13`) {
		t.Errorf("as JSON: exit %d: %s", code, out)
	}
	// A byte of what shows it is another: it is refused, or what is found is the same.
	_, want := checkWith(good, "-ring", p.ring, "-artifact")
	refused := 0
	for i := strings.Index(string(raw), `"issued"`) + 8; i < len(raw)-2; i++ {
		bad := slices.Clone(raw)
		bad[i] ^= 1
		file := p.put(t, fmt.Sprintf("byte %d.json", i), bad)
		code, out := checkWith(file, "-ring", p.ring, "-artifact")
		if i%10 == 0 || os.Getenv("STORE_SOAK") != "" { // the others are slower
			verdicts[file] = code == 0
		}
		out = strings.Replace(out, file, good, 1)
		switch {
		case code != 0:
			refused++
		case out != want:
			t.Fatalf("byte %d of %s: %s", i, bad, out)
		}
	}
	if refused < 600 {
		t.Errorf("%d bytes are refused when they are others", refused)
	}
	published, err := attest.SigningKeyDocument("store.example", p.w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	artifactsByOthers(t, p.dir, published, verdicts)
}
