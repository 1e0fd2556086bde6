package witness

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// street leads every name to one listener on loopback.
type street struct{ address string }

func (street) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (s street) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.address)
}

func clientTo(t *testing.T, h http.Handler) *fetch.Client {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	at := street{s.Listener.Addr().String()}
	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)", Key: attest.SpecimenKey(),
		Agent: "https://store.example", Resolver: at, Dialer: at, Roots: roots, Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start builds and starts the witness of testdata/witness.txtar and returns its key and a front of
// it.
func start(t *testing.T, logKey string) (vkey string, front http.Handler) {
	t.Helper()
	dir := t.TempDir()
	source, err := txtar.ParseFile(filepath.Join("testdata", "witness.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range source.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "witness")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the witness: %v: %s", err, out)
	}
	cmd := exec.Command(bin, "witness.example/w1", logKey)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the witness did not start")
	}
	vkey = lines.Text()
	lines.Scan()
	target := &url.URL{Scheme: "http", Host: lines.Text()}
	return vkey, httputil.NewSingleHostReverseProxy(target)
}

func writer(t *testing.T) *seal.Writer {
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

func observe(t *testing.T, w *seal.Writer, words ...string) *tlog.Log {
	t.Helper()
	for _, word := range words {
		if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
			Kind: record.ObservationRetiredWord, Word: &record.Said{Text: word}}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := tlog.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLongAWitnessThatIsNotOurs(t *testing.T) {
	w := writer(t)
	log := observe(t, w, "a", "b", "c")
	vkey, front := start(t, tlog.VerifierKey(w.Origin, w.LogKey.Public()))
	var requests atomic.Int64
	client := clientTo(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		front.ServeHTTP(rw, r)
	}))
	r, err := New(client, "https://witness.example.com", vkey)
	if err != nil {
		t.Fatal(err)
	}
	cosign := func(old int64, wantRequests int64) {
		t.Helper()
		before := requests.Load()
		lines, err := r.Ask(t.Context(), log, old)
		if err != nil {
			t.Fatal(err)
		}
		added, err := w.Cosign(t.Context(), lines, []tlog.Witness{r.Witness})
		if err != nil || len(added) != 1 || added[0].Witness != "witness.example/w1" {
			t.Fatalf("%v, %v", added, err)
		}
		if n := requests.Load() - before; n != wantRequests {
			t.Errorf("%d requests, want %d", n, wantRequests)
		}
	}
	cosign(0, 1)
	log = observe(t, w, "d", "e", "f", "g")
	cosign(3, 1) // it is known what the witness saw
	log = observe(t, w, "h", "i")
	cosign(0, 2) // it is not, and the witness says it
	// The same head once more: the witness signs again and nothing more is kept.
	lines, err := r.Ask(t.Context(), log, 0)
	if err != nil {
		t.Fatal(err)
	}
	if added, err := w.Cosign(t.Context(), lines, []tlog.Witness{r.Witness}); err != nil || len(added) != 0 {
		t.Errorf("%v, %v", added, err)
	}
	// A cosignature that does not fit is refused, and so is one of another head.
	i := strings.LastIndexByte(string(lines), '=')
	bad := []byte(string(lines[:i-12]) + strings.Map(func(c rune) rune {
		if c == 'A' {
			return 'B'
		}
		return 'A'
	}, string(lines[i-12:i-11])) + string(lines[i-11:]))
	if added, err := w.Cosign(t.Context(), bad, []tlog.Witness{r.Witness}); err == nil {
		t.Errorf("a bad cosignature is kept: %v", added)
	}
	observe(t, w, "j")
	if added, err := w.Cosign(t.Context(), lines, []tlog.Witness{r.Witness}); err == nil {
		t.Errorf("a cosignature of another head is kept: %v", added)
	}
	// Another history of the same log, well signed, and an older one of this.
	fork := writer(t)
	log = observe(t, fork, "a", "b", "c", "D", "e", "f", "g", "h", "i", "j", "k")
	if _, err := r.Ask(t.Context(), log, 0); !errors.Is(err, ErrSplit) {
		t.Errorf("a fork: %v", err)
	}
	young := writer(t)
	log = observe(t, young, "a")
	if _, err := r.Ask(t.Context(), log, 0); !errors.Is(err, ErrSplit) {
		t.Errorf("a log that shrank: %v", err)
	}
	stranger := writer(t)
	stranger.Origin = "other.example/corpus"
	log = observe(t, stranger, "a")
	if _, err := r.Ask(t.Context(), log, 0); err == nil || !strings.Contains(err.Error(), "does not know this log") {
		t.Errorf("a log that it does not know: %v", err)
	}
}

func TestWitnessesThatMisbehave(t *testing.T) {
	w := writer(t)
	log := observe(t, w, "a", "b")
	const vkey = "w+00000000+" // completed below
	key, err := corpusWitnessKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		status      int
		contentType string
		body, want  string
		split       bool
	}{
		"a size that is none":          {409, "text/x.tlog.size", "many\n", "names no size", false},
		"another size each time":       {409, "text/x.tlog.size", "1\n", "another size each time", false},
		"a size beyond":                {409, "text/x.tlog.size", "9\n", "size 9", true},
		"a conflict without a size":    {409, "text/plain", "", "refuses the root", true},
		"the proof refused":            {422, "", "", "refuses the proof", true},
		"the key refused":              {403, "", "", "the key of this log", false},
		"too many requests":            {429, "", "", "status 429", false},
		"a redirect":                   {302, "", "", "status 302", false},
		"an answer that does not stop": {200, "", strings.Repeat("x", maxAnswer+1), "too large", false},
	} {
		var asked atomic.Int64
		client := clientTo(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			if c.contentType != "" {
				rw.Header().Set("Content-Type", c.contentType)
			}
			rw.WriteHeader(c.status)
			fmt.Fprint(rw, c.body)
		}))
		r, err := New(client, "https://witness.example.com/prefix", key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Ask(t.Context(), log, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrSplit) != c.split {
			t.Errorf("%s: %v", name, err)
		}
		if asked.Load() > 3 {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
	}
	if _, err := New(clientTo(t, http.NotFoundHandler()), "https://witness.example.com", vkey); err == nil {
		t.Error("a witness without a key is taken")
	}
	if _, err := New(clientTo(t, http.NotFoundHandler()), "http://witness.example.com", key); err == nil {
		t.Error("a witness without TLS is taken")
	}
}

// corpusWitnessKey is the text form of some witness's key.
func corpusWitnessKey() (string, error) {
	k, err := attest.Generate(strings.NewReader(strings.Repeat("w", 32)))
	if err != nil {
		return "", err
	}
	return tlog.Witness{Name: "w", Public: k.Public()}.Key(), nil
}
