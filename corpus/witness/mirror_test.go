package witness

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/tlog"
)

const mirroredLog = "store.example/corpus"

// mirrorAt is a remote mirror that a handler plays.
func mirrorAt(t *testing.T, vkey string, h http.Handler) *Remote {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	at := street{s.Listener.Addr().String()}
	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example/criteria)", Key: attest.SpecimenKey(),
		Agent: "https://store.example", Resolver: at, Dialer: at, Roots: roots, Timeout: time.Minute, Unrecorded: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(c, "https://mirror.example.com", vkey)
	if err != nil {
		t.Fatal(err)
	}
	r.Mirror = true
	return r
}

// grown is a log that grows, of leaves that a name makes.
type grown struct {
	dir *durable.Folder
	log *tlog.Log
}

func growing(t *testing.T) *grown {
	t.Helper()
	dir, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	log, err := tlog.Open(dir.Root.FS(), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	return &grown{dir, log}
}

func (g *grown) to(t *testing.T, size int64, name string) *tlog.Log {
	t.Helper()
	var leaves iter.Seq2[[]byte, error] = func(yield func([]byte, error) bool) {
		for i := g.log.Head().Size; i < size; i++ {
			if !yield(fmt.Appendf(nil, "%s %d", name, i), nil) {
				return
			}
		}
	}
	log, err := tlog.Append(t.Context(), g.dir, g.log,
		tlog.Signer{Origin: mirroredLog, Key: attest.SpecimenKeyFor(attest.PurposeLog)}, leaves)
	if err != nil {
		t.Fatal(err)
	}
	g.log = log
	return log
}

// signed demands that what a mirror answered is its signature of the log's head.
func signed(t *testing.T, r *Remote, log *tlog.Log, lines []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%d leaves: %v", log.Head().Size, err)
	}
	by, err := tlog.Cosignatures(log.Head(), lines, []tlog.Witness{r.Witness})
	if err != nil || len(by) != 1 {
		t.Fatalf("%d leaves: %v, %v", log.Head().Size, by, err)
	}
}

// TestMirrors gives a log that grows to mirrors of several manners. The mirror checks each package
// by its own hands; where the log is large, so many requests do as 32 packages each make.
func TestMirrors(t *testing.T) {
	public := attest.SpecimenKeyFor(attest.PurposeLog).Public()
	plain := corpustest.NewMirror("mirror.example/plain", mirroredLog, public)
	slow := corpustest.NewMirror("mirror.example/slow", mirroredLog, public)
	slow.Packages = 1
	g := growing(t)
	at, behind := mirrorAt(t, plain.Key(), plain), mirrorAt(t, slow.Key(), slow)
	for i, size := range []int64{1, 3, 255, 256, 257, 258, 513, 700, 1025, 20_000} {
		log := g.to(t, size, "leaf")
		lines, err := at.Upload(t.Context(), log)
		signed(t, at, log, lines, err)
		if i%3 == 0 && size < 20_000 { // the other one is behind by several heads
			lines, err = behind.Upload(t.Context(), log)
			signed(t, behind, log, lines, err)
		}
	}
	if leaves, requests := plain.Holds(); leaves != 20_000 || requests > 10*4+3 {
		t.Errorf("%d leaves in %d requests", leaves, requests)
	}
	// Nothing is new, and it has forgotten the head that it was shown.
	_, before := plain.Holds()
	lines, err := at.Upload(t.Context(), g.log)
	signed(t, at, g.log, lines, err)
	if _, after := plain.Holds(); after-before > 3 {
		t.Errorf("%d requests for nothing new", after-before)
	}
	plain.Forgets = 1
	lines, err = at.Upload(t.Context(), g.to(t, 20_001, "leaf"))
	signed(t, at, g.log, lines, err)
	// Another history, larger and smaller.
	for _, size := range []int64{20_002, 20_001, 300} {
		fork := growing(t)
		if _, err := at.Upload(t.Context(), fork.to(t, size, "other")); !errors.Is(err, ErrSplit) {
			t.Errorf("a fork of %d leaves: %v", size, err)
		}
	}
	if leaves, _ := plain.Holds(); leaves != 20_001 {
		t.Errorf("it holds %d leaves behind the forks", leaves)
	}
	stranger := corpustest.NewMirror("mirror.example/stranger", "other.example/corpus", public)
	if _, err := mirrorAt(t, stranger.Key(), stranger).Upload(t.Context(), g.log); err == nil {
		t.Error("a mirror of another log takes this one")
	}
}

// TestMirrorsThatMisbehave: whatever a mirror answers, it is asked a bounded number of times, and
// nothing that it says is believed but its signature.
func TestMirrorsThatMisbehave(t *testing.T) {
	g := growing(t)
	log := g.to(t, 300, "leaf")
	key, err := corpusWitnessKey()
	if err != nil {
		t.Fatal(err)
	}
	const info = "text/x.tlog.mirror-info"
	long := strings.Repeat("AAAA", 23_334)
	for name, c := range map[string]struct {
		status      int
		contentType string
		body, want  string
		split       bool
	}{
		"no three lines":            {409, info, "300\n", "three lines", false},
		"no number":                 {409, info, "300\n-1\n\n", "no number", false},
		"two spellings":             {409, info, "300\n007\n\n", "no number", false},
		"no base64":                 {202, info, "300\n0\n*\n", "reading what it holds", false},
		"a ticket of 70 kB":         {202, info, "300\n0\n" + long + "\n", "too large", false},
		"another type":              {409, "text/plain", "300\n0\n\n", "not with what it holds", false},
		"the same each time":        {202, info, "300\n0\n\n", "lacks leaf 0", false},
		"a size beyond":             {409, info, "301\n0\n\n", "size 301", true},
		"leaves beyond":             {409, info, "300\n301\n\n", "301 leaves", true},
		"the package refused":       {422, "", "", "refuses the leaves", true},
		"unknown":                   {404, "", "", "does not mirror", false},
		"not now":                   {503, "", "", "status 503", false},
		"an answer without its end": {200, "", strings.Repeat("x", maxAnswer+1), "too large", false},
	} {
		var asked atomic.Int64
		r := mirrorAt(t, key, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/add-checkpoint" {
				return
			}
			asked.Add(1)
			if c.contentType != "" {
				rw.Header().Set("Content-Type", c.contentType)
			}
			rw.WriteHeader(c.status)
			fmt.Fprint(rw, c.body)
		}))
		_, err = r.Upload(t.Context(), log)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrSplit) != c.split {
			t.Errorf("%s: %v", name, err)
		}
		if asked.Load() > maxStalls {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
	}
}

// TestMirrorsThatForget: one that takes leaves and then says that it has none of them, or takes
// them one by one, is not given the log for ever.
func TestMirrorsThatForget(t *testing.T) {
	g := growing(t)
	log := g.to(t, 700, "leaf")
	key, err := corpusWitnessKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]func(n int64) (status int, next int64){
		"forgets what it took": func(n int64) (int, int64) { return []int{409, 202}[n%2], n % 2 * 256 },
		"takes leaf by leaf":   func(n int64) (int, int64) { return 202, min(n, 700) },
		"takes it anew":        func(n int64) (int, int64) { return 202, n % 3 * 256 },
	} {
		const most = 40
		var asked atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		r := mirrorAt(t, key, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/add-checkpoint" {
				return
			}
			n := asked.Add(1) - 1
			if n == most {
				stop()
			}
			status, next := says(n)
			rw.Header().Set("Content-Type", "text/x.tlog.mirror-info")
			rw.WriteHeader(status)
			fmt.Fprintf(rw, "700\n%d\n\n", next)
		}))
		_, err := r.Upload(ctx, log)
		if n := asked.Load(); err == nil || n >= most || !strings.Contains(err.Error(), "lacks leaf") {
			t.Errorf("%s: asked %d times, %v", name, n, err)
		}
		stop()
	}
}
