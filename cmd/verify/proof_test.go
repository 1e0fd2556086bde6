package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// proofWorld is a record whose head a witness cosigned, with the files that a stranger has of it.
type proofWorld struct {
	w                 *seal.Writer
	ring, policy, dir string
}

func provable(t *testing.T) proofWorld {
	t.Helper()
	p := proofWorld{w: writeRecord(t, "a.example", "b.example"), dir: t.TempDir()}
	x := newWitness(t, "x.example", 21)
	r, err := record.Open(os.DirFS(p.w.Dir), p.w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.w.Cosign(t.Context(), x.sign(t, r.Log.Head().Text, 1_790_000_000),
		[]tlog.Witness{x.Witness}); err != nil {
		t.Fatal(err)
	}
	grow(t, p.w, 3, "a.example")
	p.ring = filepath.Join(p.w.Dir, record.RingFile)
	p.policy = p.put(t, "policy", []byte("log "+tlog.VerifierKey(p.w.Origin, p.w.LogKey.Public())+"\nwitness X "+
		x.Key()+"\nquorum X\n"))
	return p
}

func (p proofWorld) put(t *testing.T, name string, raw []byte) string {
	t.Helper()
	name = filepath.Join(p.dir, name)
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// prove writes the proof of a leaf by command.
func (p proofWorld) prove(t *testing.T, what string) (file string, raw []byte) {
	t.Helper()
	file = filepath.Join(p.dir, strings.Trim(what, "@")+".tlog-proof")
	if code, out := checkWith(p.w.Dir, "-proof", what, "-o", file); code != 0 {
		t.Fatalf("%s: exit %d: %s", what, code, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, raw
}

func TestProofsByCommand(t *testing.T) {
	p := provable(t)
	for _, c := range []struct{ what, says, policySays string }{
		{"b.example@1", `"host":"b.example"`, "verified"},
		{"a.example@2026-W38", `"sequence":2`, "verified"},
		{"@2", `"sequence":2,"type":"round"`, "verified"},
		{"7", `"type":"hosts"`, "verified"},
		{"a.example@3", `"sequence":3`, "that the quorum X of the policy saw it: it is not cosigned by X"},
	} {
		file, _ := p.prove(t, c.what)
		if code, out := checkWith(file, "-ring", p.ring); code != 0 || !strings.Contains(out, c.says) {
			t.Errorf("%s with the ring: exit %d: %s", c.what, code, out)
		}
		want := 4
		if c.policySays == "verified" {
			want = 0
		}
		if code, out := checkWith(file, "-policy", p.policy); code != want || !strings.Contains(out, c.policySays) {
			t.Errorf("%s with the policy: exit %d: %s", c.what, code, out)
		}
	}
	for what, says := range map[string]string{"c.example@1": "no row of this host", "a.example@9": "no round",
		"nonsense": "neither HOST@ROUND", "11": "leaf 11: of 11", "-1": "-1"} {
		if code, out := checkWith(p.w.Dir, "-proof", what, "-o", filepath.Join(p.dir, "none")); code != 1 ||
			!strings.Contains(out, says) {
			t.Errorf("-proof %s: exit %d: %s", what, code, out)
		}
	}
	file, raw := p.prove(t, "b.example@1")
	// As the store's own answers give it: the leaf beside the proof.
	_, rest, _ := bytes.Cut(raw, []byte("\nindex "))
	extra, _, _ := bytes.Cut(raw[len(tlog.ProofFormat+"\nextra "):], []byte("\n"))
	leaf, err := base64.StdEncoding.DecodeString(string(extra))
	if err != nil {
		t.Fatal(err)
	}
	bare := p.put(t, "bare.tlog-proof", append([]byte(tlog.ProofFormat+"\nindex "), rest...))
	for _, c := range []struct {
		file  string
		flags []string
		code  int
		says  string
	}{
		{bare, []string{"-ring", p.ring, "-leaf", p.put(t, "leaf", leaf)}, 0, `"host":"b.example"`},
		{bare, []string{"-ring", p.ring}, 1, "name the file with its exact bytes with -leaf"},
		{bare, []string{"-ring", p.ring, "-leaf", p.put(t, "other", append(leaf, '\n'))}, 3, "NOT verified"},
		{file, []string{"-ring", p.ring, "-leaf", p.put(t, "other", []byte("{}"))}, 3, "NOT verified"},
		{file, nil, 1, "whose log is it?"},
		{file, []string{"-ring", p.ring, "-remember", p.put(t, "seen", nil)}, 1, "no history"},
		{p.policy, []string{"-leaf", bare}, 1, "which -leaf is for"},
		{p.put(t, "cut.tlog-proof", raw[:len(raw)/2]), []string{"-ring", p.ring}, 3, "NOT verified"},
	} {
		if code, out := checkWith(c.file, c.flags...); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s %v: exit %d, want %d and %q: %s", c.file, c.flags, code, c.code, c.says, out)
		}
	}
}

// TestEveryByteOfAProof changes each byte of a proof that a quorum cosigned: leaf, index, hashes,
// size, root and signatures.
func TestEveryByteOfAProof(t *testing.T) {
	p := provable(t)
	_, raw := p.prove(t, "b.example@1")
	text, err := os.ReadFile(p.policy)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := tlog.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	sound := func(raw []byte, ring *attest.Ring) bool {
		t.Helper()
		r, err := kit.CheckProof(raw, nil, ring, &policy)
		return err == nil && r.Sound()
	}
	for _, ring := range []*attest.Ring{nil, &p.w.Ring} {
		if !sound(raw, ring) {
			t.Fatal("the unchanged proof is refused")
		}
		for i := range raw {
			for _, x := range []byte{1, 2, 0x20, 0x80} {
				changed := bytes.Clone(raw)
				changed[i] ^= x
				if sound(changed, ring) {
					t.Fatalf("byte %d of %d changed by %#x is accepted: %q", i, len(raw), x, changed)
				}
			}
		}
	}
	// Another leaf of the same log, its size and its root, each well formed.
	for _, c := range [][2]string{{"index 1\n", "index 0\n"}, {"index 1\n", "index 2\n"}, {"\n8\n", "\n9\n"},
		{"\n8\n", "\n7\n"}} {
		changed := bytes.Replace(raw, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(changed, raw) || sound(changed, nil) {
			t.Errorf("%q in place of %q: %s", c[1], c[0], changed)
		}
	}
	// A log that was forked: signed by the same key, and what the witness signed is of the other.
	forked := writeRecord(t, "a.example", "c.example")
	file := filepath.Join(p.dir, "forked.tlog-proof")
	if code, out := checkWith(forked.Dir, "-proof", "c.example@1", "-o", file); code != 0 {
		t.Fatal(out)
	}
	alone, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, signed, _ := bytes.Cut(raw, []byte("— x.example "))
	both := append(alone, append([]byte("— x.example "), signed...)...)
	for code, file := range map[int]string{4: file, 3: p.put(t, "both.tlog-proof", both)} {
		if got, out := checkWith(file, "-policy", p.policy); got != code {
			t.Errorf("of a forked log: exit %d, want %d: %s", got, code, out)
		}
	}
}
