package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/attest"
)

// purchase is the answer to one, as far as it is signed.
type purchase struct {
	Certificate any `json:"certificate,omitempty"` // as it is shown
	*attest.Proof
	Artifact *attest.Proof `json:"artifact,omitempty"`
}

// A purchase's file is verified without the store: with its keys it is proved, without them it is
// unproven whose it is, and with anything changed it is refused.
func TestArtifactFiles(t *testing.T) {
	t.Parallel()
	key, stranger := attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog)
	ring, err := attest.SpecimenRing().Encode()
	if err != nil {
		t.Fatal(err)
	}
	signed := func(k *attest.Key, v any) *attest.Proof {
		p, err := attest.SignPayload(k, v)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	anchor := attest.ContextAnchor{AnchorID: "anchor_abcdefghij2345672345", Class: attest.ClassContextAnchor,
		PatronNumber: 1, Date: "2026-11-22T10:11:12Z", Summary: "\x1b[2J</script> 𐍈"}
	bought := func(k *attest.Key) purchase {
		p := purchase{Artifact: signed(k, anchor)}
		sum := sha256.Sum256([]byte(p.Artifact.SignedPayload))
		p.Proof = signed(k, attest.Certificate{CertID: "cert_abcdefghij2345672345", Item: "context_anchor",
			Date: anchor.Date, CrossRef: "sha256:" + hex.EncodeToString(sum[:])})
		return p
	}
	other := bought(key)
	anchor.Summary = "Another."
	other.Artifact = signed(key, anchor)
	certificate := attest.Certificate{CertID: "cert_abcdefghij2345672345", Item: "hello", Date: anchor.Date}
	shown := func(v any) purchase { return purchase{Certificate: v, Proof: signed(key, certificate)} }
	boast := map[string]any{"cert_id": certificate.CertID, "item": "hello", "date": anchor.Date, "rank": "first"}
	changed := bought(key)
	changed.Artifact.SignedPayload = strings.Replace(changed.Artifact.SignedPayload, "Another", "another", 1)
	dir := t.TempDir()
	keys := filepath.Join(dir, "ring.json")
	if err := os.WriteFile(keys, ring, 0o600); err != nil {
		t.Fatal(err)
	}
	files := make(map[string]bool) // and whether it is good
	for name, c := range map[string]struct {
		file any
		ring bool
		code int
		says string
	}{
		"a purchase":                 {bought(key), true, 0, "verified"},
		"shown as it is":             {shown(certificate), true, 0, "cert_abcdefghij2345672345"},
		"shown with more":            {shown(boast), true, 3, "that is shown"},
		"shown as another":           {shown(attest.Certificate{Item: "grudge"}), true, 3, "that is shown"},
		"shown, and nothing signed":  {map[string]any{"certificate": boast}, true, 1, "holds no signed_payload"},
		"an artifact alone":          {bought(key).Artifact, true, 0, "context_anchor anchor_abcdefghij2345672345"},
		"without keys":               {bought(key), false, 4, "UNPROVEN"},
		"by a stranger":              {bought(stranger), true, 3, "no published key matches"},
		"beside another certificate": {other, true, 3, "does not name the artifact"},
		"changed":                    {changed, true, 3, "does not fit the signed payload"},
		"changed, and without keys":  {changed, false, 3, "NOT verified"},
		"nothing signed":             {map[string]string{"a": "b"}, true, 1, "holds no signed_payload"},
		"no JSON":                    {json.RawMessage(`"x"`), true, 1, "reading an artifact"},
		"a class of nobody's": {signed(key, map[string]string{"class": "title_deed"}), true, 3, "does not " +
			"know"},
		"what a certificate is not":   {signed(key, map[string]string{"cert_id": "cert_1"}), true, 3, "item and date"},
		"a signature of another form": {attest.Proof{SignedPayload: "{}"}, true, 3, "algorithm"},
	} {
		raw, err := json.Marshal(c.file)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.ring { // the program in Python trusts nobody else
			files[file] = c.code == 0
		}
		args := []string{"-artifact", file}
		if c.ring {
			args = append([]string{"-ring", keys}, args...)
		}
		var out, errs bytes.Buffer
		code := judging(args, &out, &errs)
		if said := out.String() + errs.String(); code != c.code || !strings.Contains(said, c.says) ||
			strings.ContainsRune(said, '\x1b') {
			t.Errorf("%s: exit %d, want %d with %q:\n%s", name, code, c.code, c.says, said)
		}
	}
	whole, err := json.Marshal(bought(key))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(14, 1))
	for i := range 200 { // a byte of a good file is another
		raw := slices.Clone(whole)
		raw[rng.IntN(len(raw))] ^= byte(1 + rng.IntN(31)) // no letter in the other case, which Go's names may be in
		file := filepath.Join(dir, fmt.Sprintf("byte %d.json", i))
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		files[file] = judging([]string{"-ring", keys, "-artifact", file}, &out, &out) == 0
	}
	published, err := attest.SigningKeyDocument("store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	artifactsByOthers(t, dir, published, files)
}

// artifactsByOthers holds two programs to what our kit says of files with the published keys:
// artifact.py, which was made from the page /spec/store-attestation/v1 and from nothing else, and
// the store's npm package.
func artifactsByOthers(t *testing.T, dir string, published []byte, files map[string]bool) {
	t.Helper()
	needsPython(t)
	keys := filepath.Join(dir, "signing-key.json")
	if err := os.WriteFile(keys, published, 0o600); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(files))
	byNPM := filepath.Join(npmtest.Own(t, "../../templates/npm/testdata", "artifact.mjs"), "artifact.mjs")
	for _, program := range [][]string{{python, "-B", "testdata/artifact.py"}, {npmtest.Node(t), byNPM}} {
		args := append(append(program[1:], keys), names...)
		// What is refused is told by its status.
		out, _ := exec.CommandContext(t.Context(), program[0], args...).Output()
		said := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(said) != len(names) {
			t.Fatalf("%v: %d verdicts on %d files:\n%s", program, len(said), len(names), out)
		}
		for i, name := range names {
			if good := strings.HasPrefix(said[i], name+": verified: "); good != files[name] {
				t.Errorf("ours says %v of it, and %s %s", files[name], program[0], said[i])
			}
		}
	}
}
