package calendar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"store.example/agentstore/cmd/devnet/bitcoin"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/ots"
)

// A question is put to a verifier that is not ours.
type question struct {
	Proof    string           `json:"proof"`
	Digest   string           `json:"digest"`
	Headers  map[int64]string `json:"headers,omitempty"`  // for the one who reads block headers
	Explorer string           `json:"explorer,omitempty"` // for the one who asks an explorer
}

type answer struct {
	OK     bool   `json:"ok"`
	Height int64  `json:"height"`
	Time   int64  `json:"time"`
	Error  string `json:"error"`
}

// python asks Debian's python3-opentimestamps.
func python(t *testing.T, questions []question) (answers []answer) {
	t.Helper()
	const script = `
import sys, io, json
from bitcoin.core import CBlockHeader, x
from opentimestamps.core.timestamp import DetachedTimestampFile
from opentimestamps.core.serialize import StreamDeserializationContext, BytesSerializationContext
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation

def answer(q):
    raw = x(q['proof'])
    f = DetachedTimestampFile.deserialize(StreamDeserializationContext(io.BytesIO(raw)))
    out = BytesSerializationContext(); f.serialize(out)
    assert out.getbytes() == raw, 'written otherwise'
    assert f.file_digest == x(q['digest']), 'about another digest'
    best = None
    for msg, a in f.timestamp.all_attestations():
        if isinstance(a, BitcoinBlockHeaderAttestation):
            header = CBlockHeader.deserialize(x(q['headers'][str(a.height)]))
            best = min(filter(None, [best, (a.height, a.verify_against_blockheader(msg, header))]))
    assert best, 'no attestation of Bitcoin'
    return {'ok': True, 'height': best[0], 'time': best[1]}

for line in sys.stdin:
    try:
        a = answer(json.loads(line))
    except Exception as e:
        a = {'ok': False, 'error': repr(e)}
    print(json.dumps(a))
`
	const interpreter = "/usr/bin/python3"
	if out, err := exec.CommandContext(t.Context(), interpreter, "-c",
		"import opentimestamps.core.timestamp, bitcoin.core").CombinedOutput(); err != nil {
		npmtest.Unavailable(t, errors.New("python3-opentimestamps is missing: "+string(out)))
	}
	var in, stderr bytes.Buffer
	for _, q := range questions {
		if err := json.NewEncoder(&in).Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", script)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	for line := range bytes.Lines(out) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions: %s", len(answers), len(questions), stderr.Bytes())
	}
	return answers
}

// TestLongOthersAcceptOurProofs stamps a digest at two calendars, mines, upgrades, and asks two
// verifiers that share no line with us, one in Python with the block headers of a node, one in
// JavaScript with an explorer of its chain. Both must agree with ours: on the proof, on every proof
// with one byte changed, and on one of a digest that was not stamped.
func TestLongOthersAcceptOurProofs(t *testing.T) {
	node := bitcoin.Start(t)
	explorer := httptest.NewServer(node)
	defer explorer.Close()
	hosts := []string{"a.example.com", "b.example.com"}
	var served []*bitcoin.Calendar
	for _, host := range hosts {
		served = append(served, bitcoin.NewCalendar(node, "https://"+host))
	}
	client := calendars(t, func(w http.ResponseWriter, r *http.Request) {
		for i, host := range hosts {
			if r.Host == host {
				served[i].ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
	var at []ots.Calendar
	for _, host := range hosts {
		c, err := New(client, "https://"+host)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, c)
	}
	digest := sha256.Sum256([]byte("round"))
	proofs, _, err := ots.Stamp(t.Context(), digest, at)
	if err != nil {
		t.Fatal(err)
	}
	// Others stamp too, so that the calendars commit to trees.
	for i := range 4 {
		if _, _, err := ots.Stamp(t.Context(), sha256.Sum256([]byte{byte(i)}), at); err != nil {
			t.Fatal(err)
		}
	}
	pending, err := ots.Merge(proofs...)
	if err != nil {
		t.Fatal(err)
	}
	headers := make(map[int64]ots.Header)
	known := make(map[int64]string)
	for _, c := range served {
		height := c.Mine()
		raw := node.Header(height)
		headers[height], known[height] = ots.Header(raw), hex.EncodeToString(raw)
	}
	merged, changed, err := ots.Upgrade(t.Context(), pending, at)
	if err != nil || !changed {
		t.Fatalf("upgrading: %v, %v", changed, err)
	}
	// Where there is one way alone, a changed byte leaves nothing to verify.
	single, _, err := ots.Upgrade(t.Context(), proofs[0], at[:1])
	if err != nil {
		t.Fatal(err)
	}

	ask := func(raw []byte, about [32]byte) question {
		return question{Proof: hex.EncodeToString(raw), Digest: hex.EncodeToString(about[:]), Headers: known,
			Explorer: explorer.URL}
	}
	ours := func(raw []byte, about [32]byte) ots.Status {
		p, err := ots.Parse(raw)
		if err != nil || p.Digest != about {
			return ots.Status{}
		}
		return p.Check(headers, 1e-12)
	}
	raw := single.Encode()
	questions := []question{ask(merged.Encode(), digest), ask(raw, digest), ask(pending.Encode(), digest),
		ask(raw, sha256.Sum256([]byte("another round")))}
	// But for the calendar's promise, which proves nothing and is not looked at once there is a
	// block.
	promise := bytes.Index(raw, []byte{0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e})
	end := promise + bytes.Index(raw[max(0, promise):], []byte(hosts[0])) + len(hosts[0])
	if promise < 0 || end < promise+len(hosts[0]) {
		t.Fatal("the proof has no promise of its calendar")
	}
	var changes [][]byte
	for i := range raw {
		if i < promise || i >= end {
			c := bytes.Clone(raw)
			c[i] ^= 1 << (i % 8)
			changes = append(changes, c)
			questions = append(questions, ask(c, digest))
		}
	}
	s := ours(merged.Encode(), digest)
	if s.State != ots.StateVerified || len(headers) != 2 {
		t.Fatalf("ours says %+v", s)
	}
	const npm = "opentimestamps of npm"
	judges := map[string][]answer{"python3-opentimestamps": python(t, questions)}
	var js []answer
	oracles.Ask(t, "timestamps.mjs", questions, &js)
	judges[npm] = js
	// The last byte but one is how long the height is, of which npm's takes what there is.
	lax := bytes.Clone(raw)
	lax[len(raw)-2] ^= 1 << ((len(raw) - 2) % 8)
	for name, answers := range judges {
		for i, want := range []bool{true, true, false, false} {
			if answers[i].OK != want {
				t.Errorf("%s, question %d: %+v", name, i, answers[i])
			}
		}
		if a := answers[0]; a.Height != s.Height || a.Time != s.Time.Unix() {
			t.Errorf("%s says %+v, ours %+v", name, a, s)
		}
		for i, c := range changes {
			if theirs := answers[i+4]; theirs.OK && !(name == npm && bytes.Equal(c, lax)) {
				t.Errorf("%s says %+v of the changed proof %x", name, theirs, c)
			}
		}
		t.Logf("%s was asked of %d changed proofs", name, len(changes))
	}
	for _, c := range changes {
		if s := ours(c, digest); s.State == ots.StateVerified {
			t.Errorf("ours says %+v of the changed proof %x", s, c)
		}
	}
}
