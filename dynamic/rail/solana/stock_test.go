package solana_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/dynamic/rail"
)

// lines runs a script with the stock packages on lines of input, against a cluster, with somebody's
// key.
func lines(t *testing.T, script, url, key string, in *bytes.Buffer) (answers [][]byte) {
	t.Helper()
	node := npmtest.Node(t)
	modules := npmtest.Packages(t)
	want := bytes.Count(in.Bytes(), []byte{'\n'})
	cmd := exec.CommandContext(t.Context(), node, "testdata/stock/"+script, url, hex.EncodeToString(person(key)))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin, cmd.Stderr = in, t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(out) {
		answers = append(answers, l)
	}
	if len(answers) != want {
		t.Fatalf("%d answers to %d questions", len(answers), want)
	}
	return answers
}

// The unmodified stock client pays terms with a memo and a blockhash, on the real token program,
// and pays one offer twice with one and the same payment.
func TestStockClientPays(t *testing.T) {
	m := openMachine(t, svm.Start(t))
	seen := m.rail.Changed()
	ctx := t.Context()
	go m.rail.Run(ctx)
	select {
	case <-seen:
	case <-time.After(patience):
		t.Fatal("the rail saw nothing")
	}
	h, ok := m.rail.Hint()
	if !ok {
		t.Fatal("no hint")
	}
	var in bytes.Buffer
	var wants []rail.Requirement
	for i := range 4 {
		want := m.rail.Requirement(price)
		values := want.Varying.Values(fmt.Sprint("nonce ", i/2), "door") // each offer twice
		want.Extra["memo"] = values[0]
		offered := want
		offered.Extra = maps.Clone(want.Extra)
		for i, m := range want.Varying.Members {
			offered.Extra[m.Name] = values[i]
		}
		b, err := json.Marshal(offered)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(b, '\n'))
		wants = append(wants, want)
	}
	keys := map[string]bool{}
	for i, l := range lines(t, "pay.cjs", m.URL, "buyer-0", &in) {
		p, err := m.rail.Parse(l, wants[i])
		if err != nil {
			t.Fatal(err)
		}
		if keys[p.ClaimKey()] != (i%2 == 1) {
			t.Errorf("payment %d: its claim key is known: %v", i, i%2 == 0)
		}
		if keys[p.ClaimKey()] {
			continue
		}
		keys[p.ClaimKey()] = true
		seen, err := m.rail.Verify(t.Context(), p, wants[i], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.rail.Draft(t.Context(), []*rail.Payment{p})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := d.Sign(nil)
		if err != nil {
			t.Fatal(err)
		}
		if signed.Sequence != h.LastValid {
			t.Errorf("the settlement can land until %d, want the hint's %d", signed.Sequence, h.LastValid)
		}
		if err := m.rail.Send(t.Context(), signed); err != nil {
			t.Fatal(err)
		}
		m.Seal()
		f, err := newRail(t, m.cfg).Status(t.Context(), p, []rail.Signed{signed}, seen, time.Now())
		if err != nil || f.State != rail.Paid {
			t.Fatalf("Status = %+v, %v", f, err)
		}
	}
	if len(keys) != 2 || m.Balance() != 2*price {
		t.Errorf("%d payments brought %d", len(keys), m.Balance())
	}
}
