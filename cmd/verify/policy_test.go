package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// witnessOf is a witness and the key that it signs with.
type witnessOf struct {
	tlog.Witness
	key *attest.Key
}

func newWitness(t *testing.T, name string, seed byte) witnessOf {
	t.Helper()
	k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return witnessOf{tlog.Witness{Name: name, Public: k.Public()}, k}
}

// sign is the line of a cosignature of the text of a checkpoint.
func (w witnessOf) sign(t *testing.T, text string, at uint64) []byte {
	t.Helper()
	id, err := strconv.ParseUint(strings.Split(w.Key(), "+")[1], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(id)), at)
	b = append(b, w.key.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text))...)
	return fmt.Appendf(nil, "— %s %s\n", w.Name, base64.StdEncoding.EncodeToString(b))
}

// TestPolicyByCommand holds a record and the cosignatures beside it against policies, with an
// attacker who writes what he likes into the file of cosignatures.
func TestPolicyByCommand(t *testing.T) {
	w := writeRecord(t, "a.example", "b.example")
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	head := r.Log.Head()
	x, y, z := newWitness(t, "x.example", 21), newWitness(t, "y.example", 22), newWitness(t, "z.example", 23)
	stranger := newWitness(t, "stranger.example", 24)
	const at = 1_790_000_000
	dir := t.TempDir()
	policy := func(rules string) string {
		t.Helper()
		file := filepath.Join(dir, "policy")
		text := "witness X " + x.Key() + "\nwitness Y " + y.Key() + "\nwitness Z " + z.Key() + "\n" + rules + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	ours := "log " + tlog.VerifierKey(w.Origin, w.LogKey.Public()) + "\n"
	const two = "group g 2 X Y Z\nquorum g"
	other := fmt.Sprintf("%s\n1\n%s\n", w.Origin, base64.StdEncoding.EncodeToString(make([]byte, 32)))
	elsewhere := strings.Replace(head.Text, w.Origin, "other.example/corpus", 1)
	late := x.sign(t, head.Text, at)
	late = bytes.Replace(late, late[len(late)-20:], []byte("AAAAAAAAAAAAAAAAAA=\n"), 1)
	lines := func(all ...[]byte) []byte { return bytes.Join(all, nil) }
	for _, c := range []struct {
		what, rules string
		lines       []byte
		code        int
		says        string
	}{
		{"nobody", ours + two, nil, 4, "seen by the quorum g of the policy: it is not cosigned by X, Y, Z"},
		{"one of two", ours + two, y.sign(t, head.Text, at), 4, "it is not cosigned by X, Z"},
		{"two", ours + two, lines(x.sign(t, head.Text, at), z.sign(t, head.Text, at)), 0,
			"The quorum g of the policy is met by its head of 8 leaves"},
		{"without logs", two, lines(x.sign(t, head.Text, at), z.sign(t, head.Text, at)), 0, "The quorum g"},
		{"none is demanded", ours + "quorum none", nil, 0, "The quorum none"},
		{"an unlisted key", ours + two, lines(x.sign(t, head.Text, at), stranger.sign(t, head.Text, at)), 4,
			"it is not cosigned by Y, Z"},
		{"an unlisted key under a listed name", ours + two, lines(x.sign(t, head.Text, at),
			witnessOf{tlog.Witness{Name: "y.example", Public: stranger.Public}, stranger.key}.sign(t, head.Text, at)),
			4, "it is not cosigned by Y, Z"},
		{"one twice", ours + two, lines(x.sign(t, head.Text, at), x.sign(t, head.Text, at+1)), 3, "signs twice"},
		{"another checkpoint", ours + two, lines(x.sign(t, head.Text, at), y.sign(t, other, at)), 3,
			"the signature of y.example does not fit"},
		{"another origin", ours + two, lines(x.sign(t, head.Text, at), y.sign(t, elsewhere, at)), 3, "does not fit"},
		{"a changed signature", ours + two, lines(y.sign(t, head.Text, at), late), 3, "log/cosignatures/8"},
		{"a time of another age", ours + two, lines(y.sign(t, head.Text, 1<<41), z.sign(t, head.Text, at)), 3,
			"does not fit"},
		{"another log", "log " + tlog.VerifierKey(w.Origin, stranger.Public) + "\n" + two, nil, 3,
			"not signed by a log that the policy names"},
		{"another origin of the log", "log " + tlog.VerifierKey("other.example", w.LogKey.Public()) + "\n" + two, nil,
			3, "not signed by a log that the policy names"},
	} {
		file := filepath.Join(w.Dir, "log", "cosignatures", fmt.Sprint(head.Size))
		if err := errors.Join(os.RemoveAll(filepath.Dir(file)), os.MkdirAll(filepath.Dir(file), 0o755)); err != nil {
			t.Fatal(err)
		}
		if c.lines != nil {
			if err := os.WriteFile(file, c.lines, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
			ContentDigest: strings.Repeat("0", 64)}); err != nil {
			t.Fatal(err)
		}
		if code, out := checkWith(w.Dir, "-policy", policy(c.rules)); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d, want %d, and %q in: %s", c.what, code, c.code, c.says, out)
		}
	}
	// What was signed of an older head does not speak for the new one.
	file := filepath.Join(w.Dir, "log", "cosignatures", fmt.Sprint(head.Size))
	if err := os.WriteFile(file, lines(x.sign(t, head.Text, at), y.sign(t, head.Text, at)), 0o644); err != nil {
		t.Fatal(err)
	}
	grow(t, w, 3, "a.example")
	if code, out := checkWith(w.Dir, "-policy", policy(ours+two)); code != 4 ||
		!strings.Contains(out, "its head of 11 leaves was seen by the quorum g of the policy: it is not "+
			"cosigned by X, Y, Z") {
		t.Errorf("an older head: exit %d: %s", code, out)
	}
	for what, rules := range map[string]string{"a malformed one": "quorum nobody", "one without a quorum": ""} {
		code, out := checkWith(w.Dir, "-policy", policy(rules))
		if code != 2 || !strings.Contains(out, "reading policy") {
			t.Errorf("%s: exit %d: %s", what, code, out)
		}
	}
}

// TestForkedLogMeetsNoQuorum forks a log behind a head that witnesses cosigned: the store's own key
// signs both, and what they signed of the one does not speak for the other.
func TestForkedLogMeetsNoQuorum(t *testing.T) {
	w, forked := writeRecord(t, "a.example", "b.example"), writeRecord(t, "a.example", "c.example")
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	x := newWitness(t, "x.example", 21)
	signed := x.sign(t, r.Log.Head().Text, 1_790_000_000)
	policy := filepath.Join(t.TempDir(), "policy")
	if err := os.WriteFile(policy, []byte("log "+tlog.VerifierKey(w.Origin, w.LogKey.Public())+"\nwitness X "+x.Key()+
		"\nquorum X\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, file string // the cosignature is put there; "" for nowhere
		code      int
	}{{w.Dir, "8", 0}, {forked.Dir, "8", 3}, {forked.Dir, "", 4}} {
		dir := filepath.Join(c.dir, "log", "cosignatures")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if c.file != "" {
			if err := errors.Join(os.MkdirAll(dir, 0o755),
				os.WriteFile(filepath.Join(dir, c.file), signed, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		writer := w
		if c.dir == forked.Dir {
			writer = forked
		}
		if err := writer.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
			ContentDigest: strings.Repeat("0", 64)}); err != nil {
			t.Fatal(err)
		}
		if code, out := checkWith(c.dir, "-policy", policy); code != c.code {
			t.Errorf("exit %d, want %d: %s", code, c.code, out)
		}
	}
}
