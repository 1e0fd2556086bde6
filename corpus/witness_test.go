package corpus

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"agentstore/corpus/attest"
)

// cosign is what a witness answers with.
func cosign(k *attest.Key, name string, c Checkpoint, at uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, keyID(name, algCosigned, k.Public()))
	b = binary.BigEndian.AppendUint64(b, at)
	b = append(b, k.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, c.Text))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(b))
}

func TestCosignatures(t *testing.T) {
	w := smallRecord(t)
	head := open(t, w).Log.Head()
	k := fixedKey(t, 7)
	witness, err := ParseWitness(Witness{Name: "witness.example", Public: k.Public()}.Key())
	if err != nil {
		t.Fatal(err)
	}
	line := cosign(k, witness.Name, head, 1_790_000_000)
	stranger := cosign(fixedKey(t, 8), "stranger.example", head, 1)
	got, err := w.Cosign(t.Context(), append(bytes.Clone(stranger), line...), []Witness{witness})
	if err != nil || len(got) != 1 || got[0].Witness != witness.Name || got[0].At.Unix() != 1_790_000_000 {
		t.Fatalf("%v, %v", got, err)
	}
	if again, err := w.Cosign(t.Context(), line, []Witness{witness}); err != nil || again != nil {
		t.Errorf("the same again: %v, %v", again, err)
	}
	published, err := open(t, w).Log.Published()
	if err != nil || string(published) != string(head.Raw)+string(line) {
		t.Errorf("published %q, %v", published, err)
	}
	if report := check(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
	everyByteChange(t, line, func(raw []byte) bool {
		got, err := Cosignatures(head, raw, []Witness{witness})
		return err == nil && len(got) == 1
	})
	if _, err := Cosignatures(head, append(bytes.Clone(line), line...), []Witness{witness}); err == nil {
		t.Error("a witness signs twice")
	}
	for _, bad := range []string{"", "a+b", witness.Key() + "A", strings.Replace(witness.Key(), "witness", "other", 1), VerifierKey("x", k.Public())} {
		if _, err := ParseWitness(bad); err == nil {
			t.Errorf("%q is a witness", bad)
		}
	}
	body, err := open(t, w).Log.WitnessRequest(5)
	if err != nil {
		t.Fatal(err)
	}
	top, rest, _ := strings.Cut(string(body), "\n\n")
	if lines := strings.Split(top, "\n"); lines[0] != "old 5" || len(lines) < 2 || rest != string(head.Raw) {
		t.Errorf("request %q", body)
	}
}
