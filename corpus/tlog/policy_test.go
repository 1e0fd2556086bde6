package tlog_test

import (
	"bytes"
	"crypto/mldsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/attesttest"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/tlog"
)

// x, y and z are keys of witnesses, l and m of logs.
func witnessKeys(t testing.TB) (x, y, z, l, m string) {
	vkey := func(seed byte, name string) string {
		return tlog.Witness{Name: name, Public: recordtest.Key(t, seed).Public()}.Key()
	}
	return vkey(1, "x.example"), vkey(2, "y.example"), vkey(3, "z.example"),
		tlog.VerifierKey("log.example", recordtest.Key(t, 4).Public()),
		tlog.VerifierKey("other.example", recordtest.Key(t, 5).Public())
}

// spelt puts keys in the place of their letters: «x» is one.
func spelt(t testing.TB, text string) []byte {
	x, y, z, l, m := witnessKeys(t)
	return []byte(strings.NewReplacer("«x»", x, "«y»", y, "«z»", z, "«l»", l, "«m»", m).Replace(text))
}

const threeWitnesses = "log «l» https://log.example/\n\n  # who looks at it\nwitness X\t«x»\nwitness Y «y» " +
	"https://y.example/w\nwitness Z «z»\n"

func TestPolicyQuorums(t *testing.T) {
	for _, c := range []struct{ rules, met string }{ // the sets of witnesses that meet it, of XYZ
		{"quorum none", " X Y Z XY XZ YZ XYZ"},
		{"quorum Y", "Y XY YZ XYZ"},
		{"group g any X Y Z\nquorum g", "X Y Z XY XZ YZ XYZ"},
		{"group g all X Y Z\nquorum g", "XYZ"},
		{"group g 2 X Y Z\nquorum g", "XY XZ YZ XYZ"},
		{"group g any X Y\ngroup h all g Z\nquorum h", "XZ YZ XYZ"},
		{"group g all X Y\ngroup h any g Z\nquorum h", "Z XY XZ YZ XYZ"},
		{"group g all X Y\nquorum X", "X XY XZ XYZ"},
		{"quorum Z\ngroup g any X", "Z XZ YZ XYZ"},
	} {
		p, err := tlog.ParsePolicy(spelt(t, threeWitnesses+c.rules+"\n"))
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		for _, signed := range []string{"", "X", "Y", "Z", "XY", "XZ", "YZ", "XYZ"} {
			met, lacking := p.Met(func(w tlog.Witness) bool {
				return strings.Contains(signed, strings.ToUpper(w.Name[:1]))
			})
			if want := slices.Contains(strings.Split(c.met, " "), signed); met != want || met != (lacking == nil) {
				t.Errorf("%s: met by %q: %v, want %v, lacking %q", c.rules, signed, met, want, lacking)
			}
			for _, name := range lacking {
				if strings.Contains(signed, name) {
					t.Errorf("%s: signed by %q, %q is said to lack", c.rules, signed, name)
				}
			}
		}
	}
}

func TestPolicyIsStrict(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "no quorum line"},
		{"log «l»\nwitness X «x»\n", "no quorum line"},
		{"quorum none", "line 1: it does not end in a newline"},
		{"quorum none\nquorum none\n", "line 2: a second quorum"},
		{"quorum\n", `line 1: 0 words behind "quorum"`},
		{"quorum none none\n", `line 1: 2 words behind "quorum"`},
		{"quorum X\nwitness X «x»\n", `line 1: quorum "X" is no witness or group`},
		{"\n# here\nwitness X «x»\nquorum Y\n", `line 4: quorum "Y" is no witness`},
		{"Quorum none\n", `line 1: "Quorum" is none of`},
		{"quorum none\r\n", `line 1: control character '\r'`},
		{"quorum none # why\n", "line 1: 3 words"},
		{"log «l» https://a.example/ b\nquorum none\n", "line 1: 3 words"},
		{"log «x»\nquorum none\n", "line 1: the key of the log: a key for cosignatures"},
		{"log «l»\nlog «l»\nquorum none\n", "line 2: a log with this key"},
		{"log log.example\nquorum none\n", "line 1: the key of the log: not name+id+key"},
		{"witness X\nquorum none\n", `line 1: 1 words behind "witness"`},
		{"witness X «l»\nquorum X\n", "line 1: reading witness key: a key that signs notes"},
		{"witness X «x»\nwitness Y «x»\nquorum X\n", `line 2: witness "Y" has the key of witness "X"`},
		{"witness X «x»\nwitness X «y»\nquorum X\n", `line 2: the name "X" is taken`},
		{"witness none «x»\nquorum none\n", `line 1: the name "none" is taken`},
		{"witness X «x»\ngroup X any X\nquorum X\n", `line 2: the name "X" is taken`},
		{"witness X «x»\ngroup g any X\ngroup g any g\nquorum g\n", `line 3: the name "g" is taken`},
		{"group g any g\nquorum g\n", `line 1: member "g" is no witness or group of a line before`},
		{"witness X «x»\ngroup g any none X\nquorum g\n", `line 2: member "none" is no witness`},
		{"witness X «x»\ngroup g all X X\nquorum g\n", `line 2: member "X" is counted in a group before`},
		{"witness X «x»\ngroup g all X\ngroup h all X g\nquorum h\n", `line 3: member "X" is counted`},
		{"witness X «x»\ngroup g any\nquorum g\n", `line 2: 2 words behind "group"`},
		{"witness X «x»\ngroup g 0 X\nquorum g\n", `line 2: "0" of 1 members`},
		{"witness X «x»\ngroup g 2 X\nquorum g\n", `line 2: "2" of 1 members`},
		{"witness X «x»\ngroup g +1 X\nquorum g\n", `line 2: "+1" of 1 members`},
		{"witness X «x»\ngroup g 01 X\nquorum g\n", `line 2: "01" of 1 members`},
		{"witness X «x»\ngroup g ANY X\nquorum g\n", `line 2: "ANY" of 1 members`},
		{strings.Repeat("#", 256<<10) + "\n", "a policy has at most 262144"},
	} {
		if p, err := tlog.ParsePolicy(spelt(t, c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80q: %v, %v, want %q", c.text, p, err, c.says)
		}
	}
	// The same key under another name is the same witness: it would count twice.
	again := tlog.Witness{Name: "again.example", Public: recordtest.Key(t, 1).Public()}.Key()
	if _, err := tlog.ParsePolicy(spelt(t, "witness X «x»\nwitness Y "+again+"\nquorum X\n")); err == nil {
		t.Error("one key is two witnesses")
	}
	var many strings.Builder
	for i := range 65 {
		fmt.Fprintf(&many, "witness W%d %s\n", i,
			tlog.Witness{Name: "w.example", Public: recordtest.Key(t, byte(i)).Public()}.Key())
		_, err := tlog.ParsePolicy([]byte(many.String() + "quorum none\n"))
		if (err == nil) != (i < 64) {
			t.Errorf("%d witnesses: %v", i+1, err)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(spelt(f, threeWitnesses+"log «m»\ngroup g 2 X Y\ngroup h any g Z\nquorum h\n"))
	f.Add([]byte("quorum none\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := tlog.ParsePolicy(raw)
		if err != nil {
			return
		}
		again, err := tlog.ParsePolicy(p.Text())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q is written %q, and read %v, %v", raw, p.Text(), again, err)
		}
		if met, _ := p.Met(func(tlog.Witness) bool { return true }); !met {
			t.Errorf("%q is met by nobody", raw)
		}
	})
}

// TestPolicyOpensItsLogsAlone: of another log, by another key and changed ones are refused.
func TestPolicyOpensItsLogsAlone(t *testing.T) {
	w := recordtest.Small(t)
	head := recordtest.Open(t, w).Log.Head()
	policy := func(origin string, key *attest.Key) tlog.Policy {
		p, err := tlog.ParsePolicy([]byte("log " + tlog.VerifierKey(origin, key.Public()) + "\nquorum none\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := policy(w.Origin, w.LogKey)
	line := recordtest.Cosign(recordtest.Key(t, 7), "witness.example", head, 1)
	c, others, err := p.OpenCheckpoint(append(bytes.Clone(head.Raw), line...))
	if err != nil || c.Root != head.Root || !bytes.Equal(c.Raw, head.Raw) || !bytes.Equal(others, line) {
		t.Fatalf("%v, %q, %v", c, others, err)
	}
	attesttest.EveryByteChange(t, head.Raw, func(raw []byte) bool {
		_, _, err := p.OpenCheckpoint(raw)
		return err == nil
	})
	_, signature, _ := strings.Cut(string(head.Raw), "\n\n")
	// The key of the log signs under the log's name a checkpoint of another origin.
	text := strings.Replace(head.Text, w.Origin, "other.example/log", 1)
	id, err := base64.StdEncoding.DecodeString(strings.Fields(signature)[2])
	if err != nil {
		t.Fatal(err)
	}
	foreign := fmt.Appendf(nil, "%s\n— %s %s\n", text, w.Origin,
		base64.StdEncoding.EncodeToString(append(id[:4:4], w.LogKey.Sign([]byte(text))...)))
	for what, err := range map[string]error{
		"of another origin under the log's name": open(p, foreign),
		"another origin":                         open(policy("other.example", w.LogKey), head.Raw),
		"another key":                            open(policy(w.Origin, recordtest.Key(t, 7)), head.Raw),
		"no log":                                 open(tlog.Policy{}, head.Raw),
		"signed twice":                           open(p, append(bytes.Clone(head.Raw), signature...)),
	} {
		if err == nil {
			t.Errorf("%s: it opens", what)
		}
	}
}

func open(p tlog.Policy, raw []byte) error {
	_, _, err := p.OpenCheckpoint(raw)
	return err
}

// TestCosignaturesByMLDSA signs what c2sp.org/tlog-cosignature says, written out here by hand.
func TestCosignaturesByMLDSA(t *testing.T) {
	const name = "witness.example/pq"
	head := recordtest.Open(t, recordtest.Small(t)).Log.Head()
	key, err := mldsa.NewPrivateKey(mldsa.MLDSA44(), bytes.Repeat([]byte{9}, mldsa.PrivateKeySize))
	if err != nil {
		t.Fatal(err)
	}
	public := key.PublicKey().Bytes()
	sum := sha256.Sum256(append([]byte(name+"\n\x06"), public...))
	vkey := fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(append([]byte{6}, public...)))
	witness, err := tlog.ParseWitness(vkey)
	if err != nil || witness.Key() != vkey {
		t.Fatalf("%v, %v", witness, err)
	}
	sign := func(at uint64, origin string, size uint64) []byte {
		message := []byte("subtree/v1\n\x00")
		message = append(append(message, byte(len(name))), name...)
		message = binary.BigEndian.AppendUint64(message, at)
		message = append(append(message, byte(len(origin))), origin...)
		message = binary.BigEndian.AppendUint64(message, 0)
		message = append(binary.BigEndian.AppendUint64(message, size), head.Root[:]...)
		signature, err := key.Sign(nil, message, nil)
		if err != nil {
			t.Fatal(err)
		}
		line := binary.BigEndian.AppendUint64(bytes.Clone(sum[:4]), at)
		return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(append(line, signature...)))
	}
	const at = 1_790_000_000
	good := sign(at, head.Origin, uint64(head.Size))
	got, err := tlog.Cosignatures(head, good, []tlog.Witness{witness})
	if err != nil || len(got) != 1 || got[0].At.Unix() != at {
		t.Fatalf("%v, %v", got, err)
	}
	timeless := sign(0, head.Origin, uint64(head.Size))
	if got, err := tlog.Cosignatures(head, timeless, []tlog.Witness{witness}); err != nil || len(got) != 1 ||
		!got[0].At.IsZero() {
		t.Errorf("without a time: %v, %v", got, err)
	}
	raw, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.TrimPrefix(string(good), "— "+name+" ")))
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		line := fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(changed))
		if got, err := tlog.Cosignatures(head, line, []tlog.Witness{witness}); err == nil && len(got) > 0 {
			t.Fatalf("byte %d changed: %v", i, got)
		}
	}
	for what, line := range map[string][]byte{
		"another origin": sign(at, "other.example", uint64(head.Size)), "another size": sign(at, head.Origin, 1),
		"twice": append(bytes.Clone(good), good...),
	} {
		if got, err := tlog.Cosignatures(head, line, []tlog.Witness{witness}); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestLogByMLDSA opens the checkpoint of a log that another implementation signed.
func TestLogByMLDSA(t *testing.T) {
	raw, err := os.ReadFile("testdata/mldsa.key")
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile("testdata/mldsa.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(raw))
	p, err := tlog.ParsePolicy([]byte("log " + key + "\nquorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, others, err := p.OpenCheckpoint(note)
	if err != nil || c.Origin != "example.com/mldsa-log" || c.Size != 1 || len(others) > 0 {
		t.Errorf("%v, %q, %v", c, others, err)
	}
	for _, other := range []string{"\n2\n", "\n0\n"} {
		if c, _, err := p.OpenCheckpoint(bytes.Replace(note, []byte("\n1\n"), []byte(other), 1)); err == nil {
			t.Errorf("of size %q: %v", other, c)
		}
	}
	if _, err := tlog.ParseWitness(key); err != nil {
		t.Errorf("its form is that of a witness's key too: %v", err)
	}
}
