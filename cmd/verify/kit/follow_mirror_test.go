package kit

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/corpus/witness"
)

// toMirror leads every name to a mirror's front.
type toMirror struct{ address string }

func (toMirror) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (m toMirror) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, m.address)
}

// mirror is a mirror of the log, where it is given leaves and where it is read.
type mirror struct {
	*corpustest.Mirror
	remote *witness.Remote
	read   string
}

func newMirror(t *testing.T, name string, log ed25519.PublicKey) mirror {
	t.Helper()
	m := mirror{Mirror: corpustest.NewMirror(name, recordtest.Origin, log)}
	given, read := httptest.NewTLSServer(m), httptest.NewServer(m)
	t.Cleanup(given.Close)
	t.Cleanup(read.Close)
	roots := x509.NewCertPool()
	roots.AddCert(given.Certificate())
	at := toMirror{given.Listener.Addr().String()}
	client, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Unsigned: true, Resolver: at,
		Dialer: at, Roots: roots, Timeout: time.Minute, Unrecorded: true})
	if err == nil {
		m.remote, err = witness.New(client, "https://mirror.example.com", m.Key())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.remote.Mirror, m.read = true, read.URL
	return m
}

// give has the mirror take the log of a record, and demands that its signature is kept beside the
// head.
func (m mirror) give(t *testing.T, w *seal.Writer) {
	t.Helper()
	got, err := witness.Cosign(t.Context(), w, []*witness.Remote{m.remote},
		witness.Asking{Log: slog.New(slog.DiscardHandler), Pause: time.Nanosecond})
	if err != nil || got.Signed != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// copied is a writer of the same keys on a copy of a record.
func copied(t *testing.T, w *seal.Writer) *seal.Writer {
	t.Helper()
	other := *w
	other.Dir = t.TempDir()
	if err := os.CopyFS(other.Dir, os.DirFS(w.Dir)); err != nil {
		t.Fatal(err)
	}
	return &other
}

// TestMirrorsThatAreSlow: mirrors that do not answer are told of, and leave a step the time for the
// record itself.
func TestMirrorsThatAreSlow(t *testing.T) {
	was := mirrorsTime
	mirrorsTime = 200 * time.Millisecond
	t.Cleanup(func() { mirrorsTime = was })
	s := serve(t, watched(t))
	ends := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ends:
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(ends) })
	stop := time.AfterFunc(20*time.Second, func() { slow.CloseClientConnections() })
	defer stop.Stop()
	began := time.Now()
	code, out := s.follow("-mirror", slow.URL, "-mirror", slow.URL+"/b", "-mirror", slow.URL+"/c")
	if code != ExitUnproven || strings.Count(out, "sees the same log") != 3 || s.remembered() == "" ||
		time.Since(began) > 10*time.Second {
		t.Errorf("exit %d after %v: %s", code, time.Since(began), out)
	}
}

// TestMirrorsOfTheLog: two mirrors stay consistent through a handover of the log's key, and a
// history that one of them was shown and nobody else is cried out, whichever of the two is longer.
// What a mirror says without the log's own signature counts for nothing.
func TestMirrorsOfTheLog(t *testing.T) {
	id, first, second := recordtest.Key(t, 1), recordtest.Key(t, 2), recordtest.Key(t, 3)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: id.Public(),
		attest.PurposeLog: first.Public()})
	if err != nil {
		t.Fatal(err)
	}
	w := &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: id, LogKey: first, Ring: ring}
	sealed := func(w *seal.Writer, round int64, verdict string) {
		t.Helper()
		recordtest.Seal(t, w, recordtest.Draft(round, recordtest.Walked("a.example", verdict)))
	}
	sealed(w, 1, record.VerdictReady)
	a, b := newMirror(t, "mirror.example/a", first.Public()), newMirror(t, "mirror.example/b", first.Public())
	a.give(t, w)
	b.give(t, w)
	s := serve(t, w)
	step := func(code int, says ...string) string {
		t.Helper()
		s.show(recordtest.MapFS(t, w.Dir))
		got, out := s.follow("-mirror", a.read, "-mirror", b.read)
		for _, text := range says {
			if !strings.Contains(out, text) {
				t.Errorf("it does not say %q: %s", text, out)
			}
		}
		if got != code {
			t.Errorf("exit %d, want %d: %s", got, code, out)
		}
		return out
	}
	step(ExitVerified, a.read+" shows its 3 leaves, of the same history", b.read+" shows its 3 leaves")

	thief := copied(t, w) // has the first key, which is handed over now
	if ring, err = w.HandOver(t.Context(), second.Public(), "2026-09-15", "yearly"); err != nil {
		t.Fatal(err)
	}
	w = &seal.Writer{Dir: w.Dir, Origin: w.Origin, Identity: id, LogKey: second, Ring: ring}
	forked := copied(t, w)
	sealed(w, 2, record.VerdictReady)
	a.Learn(second.Public())
	b.Learn(second.Public())
	a.give(t, w)
	step(ExitVerified, b.read+" shows its 3 leaves")
	b.give(t, w)
	step(ExitVerified, "as before")
	short := recordtest.MapFS(t, w.Dir)
	if leaves, _ := a.Holds(); int64(leaves) != recordtest.Open(t, w).Log.Head().Size {
		t.Errorf("the mirror holds %d leaves", leaves)
	}
	a.give(t, w)

	// Another history, by the key in force: as long, longer, and shorter than the one shown here.
	for rounds := range int64(3) {
		sealed(forked, rounds+2, record.VerdictNotReady)
		b.Gullible = true
		b.give(t, forked)
		step(ExitForked, "FORKED", b.read+" shows")
		if rounds == 1 {
			sealed(w, 3, record.VerdictReady)
			sealed(w, 4, record.VerdictReady)
			sealed(w, 5, record.VerdictReady)
			step(ExitForked, "FORKED", b.read+" shows")
			break
		}
	}
	kept, err := filepath.Glob(s.state + ".fork-*.json")
	if err != nil || len(kept) == 0 {
		t.Fatalf("%v, %v", kept, err)
	}
	var told verify.FollowReport
	raw, err := os.ReadFile(kept[0])
	if err == nil {
		err = json.Unmarshal(raw, &told)
	}
	if err != nil || told.Fork == nil || told.Fork.Mirror != b.read {
		t.Errorf("%+v, %v", told.Fork, err)
	}

	// Whoever has the key that was given up signs on with it.
	sealed(thief, 2, record.VerdictUnreachable)
	sealed(thief, 3, record.VerdictUnreachable)
	b.give(t, thief)
	step(ExitRefused, b.read+" shows a head that a key of the log signed when it might not")

	// Mirrors that say nothing of this log stop no step.
	before := s.remembered()
	b.Mirror.Origin = "other.example/corpus"
	out := step(ExitUnproven, "that "+b.read+" sees the same log: ")
	if s.remembered() == before {
		t.Errorf("the step was not taken: %s", out)
	}
	for name, body := range map[string]string{"no note": "no note\n",
		"a stranger's": string(recordtest.SignHead(9, attest.Digest{}, recordtest.Key(t, 9)))} {
		bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		if code, out := s.follow("-mirror", bad.URL); code != ExitUnproven ||
			!strings.Contains(out, "sees the same log") {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
		bad.Close()
	}
	// An older head than a mirror has, shown to somebody who remembers nothing.
	a.give(t, w)
	s.state = filepath.Join(t.TempDir(), "another")
	s.show(short)
	if code, out := s.follow("-mirror", a.read); code != ExitUnproven ||
		!strings.Contains(out, "If it stays, ask why") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := s.follow("-mirror", "ftp://mirror.example"); code != ExitTrouble {
		t.Errorf("exit %d: %s", code, out)
	}
}
