package main

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// witnesses are three of transparency.dev's own, each a process, behind addresses of the web.
type witnesses struct {
	names []string
	keys  []tlog.Witness
	stop  []func()
	far   farStreet
}

// startWitnesses builds and starts three witnesses that know one log.
func startWitnesses(t *testing.T, origin, vkey string) *witnesses {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "omniwitness")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile="+filepath.Join(".tools", "witness.mod"), "-o",
		bin, "github.com/transparency-dev/witness/cmd/omniwitness")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("building the witness: %w: %s", err, out))
	}
	put := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	logs := put("logs.yaml", fmt.Sprintf("Logs:\n  - Origin: %s\n    URL: http://127.0.0.1:1\n    PublicKey: %s\n",
		origin, vkey))
	w := &witnesses{}
	fronts := map[string]*httputil.ReverseProxy{}
	for i := range 3 {
		name := fmt.Sprintf("w%d.example", i+1)
		key := recordtest.Key(t, byte(31+i))
		// The text form of a note's private key names the id of the public one.
		id := strings.Split(tlog.VerifierKey(name, key.Public()), "+")[1]
		secret := append([]byte{1}, bytes.Repeat([]byte{byte(31 + i)}, 32)...)
		file := put(name, fmt.Sprintf("PRIVATE+KEY+%s+%s+%s", name, id, base64.StdEncoding.EncodeToString(secret)))
		address := loopback(t)
		_, stop, err := daemon.Open("HTTP server goroutine started", bin, "-listen", address, "-metrics_listen=",
			"-private_key_path", file, "-additional_logs", logs)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		w.names, w.stop = append(w.names, name), append(w.stop, stop)
		w.keys = append(w.keys, tlog.Witness{Name: name, Public: key.Public()})
		fronts[name+".com"] = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
		fronts[name+".com"].ErrorLog = log.New(io.Discard, "", 0)
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fronts[r.Host].ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	w.far = farStreet{PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
		Doors: map[string]string{}}
	for host := range fronts {
		w.far.Doors[host] = s.Listener.Addr().String()
	}
	return w
}

// loopback is an address that nobody listens at.
func loopback(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// store is the configuration of a store with these witnesses, and the writer of its record.
func (w *witnesses) store(t *testing.T) (file string, writer *seal.Writer) {
	t.Helper()
	var config strings.Builder
	config.WriteString(`base_url = "http://127.0.0.1:4020"
ledger = "bolt:ledger"
record = "record"
[keys]
identity = "specimen"
log = "specimen"
ring = "specimen"
secret = "secret"
`)
	for i, k := range w.keys {
		fmt.Fprintf(&config, "[[witness]]\nurl = \"https://%s.com\"\nkey = %q\n", w.names[i], k.Key())
	}
	file = filepath.Join(t.TempDir(), "store.toml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := shop.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if writer, err = shop.RecordWriter(cfg); err != nil {
		t.Fatal(err)
	}
	return file, writer
}

// ask runs store witness.
func (w *witnesses) ask(t *testing.T, config string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	run := &call{flags: flag.NewFlagSet("store", flag.ContinueOnError), stdout: &out, stderr: t.Output(),
		args: []string{"-config", config}}
	run.logger = newLogger(t.Output(), &run.level, true)
	err := witnessReaching(t.Context(), run, w.far.reach)
	return out.String(), err
}

// TestLongWitnessesOfTransparencyDev has three of them cosign the log of a store as it grows. A
// policy that asks for two of the three is met as long as two are there, and a log that forks gets
// none.
func TestLongWitnessesOfTransparencyDev(t *testing.T) {
	const origin = "127.0.0.1:4020/corpus"
	w := startWitnesses(t, origin, tlog.VerifierKey(origin, attest.SpecimenKeyFor(attest.PurposeLog).Public()))
	file, writer := w.store(t)
	if writer.Origin != origin {
		t.Fatalf("the log is %s", writer.Origin)
	}
	policy := filepath.Join(t.TempDir(), "policy")
	var text strings.Builder
	text.WriteString("log " + tlog.VerifierKey(origin, writer.LogKey.Public()) + "\n")
	for i, k := range w.keys {
		fmt.Fprintf(&text, "witness W%d %s\n", i+1, k.Key())
	}
	if err := os.WriteFile(policy, []byte(text.String()+"group two 2 W1 W2 W3\nquorum two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	verify := func(code int, says string) {
		t.Helper()
		var out strings.Builder
		if got := kit.Run(t.Context(), kit.Program{Name: "verify", Judge: rejudge.Batteries{}},
			[]string{"-policy", policy, writer.Dir}, &out,
			io.Discard); got != code || !strings.Contains(out.String(), says) {
			t.Errorf("exit %d, want %d and %q: %s", got, code, says, out.String())
		}
	}
	cosigned := func(want int, says ...string) {
		t.Helper()
		out, err := w.ask(t, file)
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		for _, s := range append(says, fmt.Sprintf("cosigned by %d of 3 witnesses", want)) {
			if !strings.Contains(out, s) {
				t.Errorf("it does not say %q: %s", s, out)
			}
		}
		head := recordtest.Open(t, writer).Log.Head()
		lines, err := os.ReadFile(filepath.Join(writer.Dir, "log", "cosignatures", fmt.Sprint(head.Size)))
		if err != nil {
			t.Fatal(err)
		}
		if by, err := tlog.Cosignatures(head, lines, w.keys); err != nil || len(by) != want {
			t.Errorf("beside the head of %d leaves stand %d cosignatures, want %d: %v", head.Size, len(by), want, err)
		}
	}
	grow := func(word string) {
		t.Helper()
		recordtest.Observe(t, writer, word)
		if err := writer.Cover(t.Context(), filetree.Meta{BaseURL: "http://127.0.0.1:4020",
			ContentDigest: strings.Repeat("0", 64)}); err != nil {
			t.Fatal(err)
		}
	}
	grow("synergy")
	verify(4, "it is not cosigned by W1, W2, W3")
	cosigned(3)
	verify(0, "The quorum two of the policy is met by its head of 1 leaves")
	cosigned(3, "w1.example: signed before")
	grow("seamless")
	grow("leverage")
	cosigned(3)
	fork(t, w)
	w.stop[1]()
	grow("holistic")
	verify(4, "it is not cosigned by W1, W2, W3")
	cosigned(2, "w2.example: asking witness w2.example: ")
	verify(0, "The quorum two of the policy is met by its head of 4 leaves")
}

// fork shows the witnesses logs of the same name and key that are not the one they saw: larger, as
// large, and smaller.
func fork(t *testing.T, w *witnesses) {
	t.Helper()
	for _, size := range []int{2, 3, 5} {
		file, writer := w.store(t)
		for i := range size {
			recordtest.Observe(t, writer, fmt.Sprintf("another %d", i))
		}
		out, err := w.ask(t, file)
		if !errors.Is(err, errNo) || strings.Count(out, "SPLIT VIEW: ") != 3 ||
			!strings.Contains(out, "cosigned by 0 of 3 witnesses") {
			t.Errorf("a forked log of %d leaves: %v: %s", size, err, out)
		}
		if _, err := os.Stat(filepath.Join(writer.Dir, "log", "cosignatures")); !os.IsNotExist(err) {
			t.Errorf("a forked log of %d leaves has cosignatures: %v", size, err)
		}
	}
}
