package shop

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"store.example/agentstore/corpus/witness"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/verify"
)

// outside leads every name to one handler on loopback.
func outside(t *testing.T, h http.Handler) Outside {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return Outside{Log: slog.New(slog.DiscardHandler), Pause: time.Millisecond, Reach: func(c *fetch.Config) {
		c.Resolver, c.Dialer, c.Roots, c.Timeout = everywhere{}, lane(s.Listener.Addr().String()), roots, 5*time.Minute
	}}
}

type everywhere struct{}

func (everywhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil
}

type lane string

func (l lane) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, string(l))
}

// aRound seals an empty round in the record of a configuration.
func aRound(t *testing.T, c *Config, sequence int64) {
	t.Helper()
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	none := iter.Seq2[record.Row, error](func(func(record.Row, error) bool) {})
	_, err = w.Seal(t.Context(), seal.Draft{Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at,
		Battery: "v2", Rows: none,
		Roster: record.Roster{Sources: []record.RosterSource{}}, Inflows: record.Inflows{From: at.Format(time.RFC3339),
			To: at.Format(time.RFC3339), Networks: []record.NetworkInflow{}}})
	if err != nil {
		t.Fatal(err)
	}
}

// verified demands that the record and its manifest verify.
func verified(t *testing.T, c *Config) verify.CloneReport {
	t.Helper()
	report, err := verify.Clone(t.Context(), os.DirFS(c.Record),
		verify.CloneOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%v, %v", report.Problems, err)
	}
	return report
}

// almanac is two calendars, two explorers and the blocks that they speak of.
type almanac struct {
	mu     sync.Mutex // guards what follows
	down   map[string]bool
	mined  bool
	lying  bool                 // the second explorer names another block
	blocks map[int64]ots.Header // by height
	asked  map[string]int
}

func (a *almanac) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[r.Host+" "+strings.SplitN(r.URL.Path, "/", 3)[1]]++
	if a.down[r.Host] {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	uri := "https://" + r.Host
	pending := slices.Concat([]byte{0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, byte(len(uri) + 1),
		byte(len(uri))}, []byte(uri))
	switch at := strings.Split(r.URL.Path, "/"); {
	case r.URL.Path == "/digest":
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) == sha256.Size {
			w.Write(append([]byte{0x08}, pending...)) // the calendar commits to SHA-256 of the digest
		}
	case at[1] == "timestamp" && a.mined:
		commitment, err := hex.DecodeString(at[2])
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		height := int64(len(a.blocks) + 1)
		for n, h := range a.blocks {
			if h.Commits(commitment) == nil {
				height = n
			}
		}
		a.blocks[height] = mine(commitment)
		w.Write([]byte{0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, byte(height)})
	case at[1] == "block-height":
		var n int64
		fmt.Sscan(at[2], &n)
		if a.lying && r.Host == "explorer2.example.com" {
			n++
		}
		fmt.Fprint(w, a.blocks[n].Hash())
	case at[1] == "block":
		for _, h := range a.blocks {
			if h.Hash() == at[2] {
				fmt.Fprint(w, strings.TrimSpace(string(h.File())))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// mine makes a block of the least difficulty with a Merkle root.
func mine(root []byte) ots.Header {
	var h ots.Header
	copy(h[36:], root)
	binary.LittleEndian.PutUint32(h[68:], 1_794_000_000) // in November 2026
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); h.Work(1e-12) != nil; n++ {
		binary.LittleEndian.PutUint32(h[76:], n)
	}
	return h
}

func TestStampsUntilABlockHoldsThem(t *testing.T) {
	c := observingConfig(t.TempDir())
	c.Timestamps = TimestampsConfig{Calendars: []string{"https://a.example.com", "https://b.example.com"},
		Upgrades:  []string{"https://a.example.com", "https://c.example.com"},
		Explorers: []string{"https://explorer1.example.com", "https://explorer2.example.com"}}
	a := &almanac{down: map[string]bool{"a.example.com": true, "b.example.com": true}, blocks: map[int64]ots.Header{},
		asked: map[string]int{}}
	o := outside(t, a)
	aRound(t, c, 1)
	aRound(t, c, 2)
	change := func(f func()) { a.mu.Lock(); defer a.mu.Unlock(); f() }
	stamp := func(stamped, upgraded, headers, pending, problems int) witness.Stamped {
		t.Helper()
		got, err := Stamp(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Stamped != stamped || got.Upgraded != upgraded || got.Headers != headers || got.Pending != pending ||
			len(got.Problems) != problems {
			t.Fatalf("%+v, want %d stamped, %d upgraded, %d headers, %d pending, %d problems", got, stamped, upgraded,
				headers, pending, problems)
		}
		if len(got.Files) > 0 {
			verified(t, c)
		}
		return got
	}
	// Two rounds and the first anchor: nobody answers, then one calendar, which is too few, then
	// the other.
	stamp(0, 0, 0, 3, 3)
	change(func() { a.down["b.example.com"] = false })
	stamp(3, 0, 0, 3, 3)
	change(func() { a.down["a.example.com"] = false })
	stamp(3, 0, 0, 3, 0)
	stamp(0, 0, 0, 3, 0)
	// In a block: the explorers must agree on it.
	change(func() { a.mined, a.down["explorer2.example.com"] = true, true })
	if got := stamp(0, 6, 0, 0, 6); !strings.Contains(got.Problems[0], "1 of 2 explorers answered") {
		t.Errorf("problems %q", got.Problems)
	}
	change(func() { a.down["explorer2.example.com"], a.lying = false, true })
	if got := stamp(0, 0, 0, 0, 6); !strings.Contains(got.Problems[0], "explorer") {
		t.Errorf("problems %q", got.Problems)
	}
	change(func() { a.lying = false })
	stamp(0, 0, 3, 0, 0)
	before := a.asked["a.example.com timestamp"]
	stamp(0, 0, 0, 0, 0)
	if a.asked["a.example.com timestamp"] != before {
		t.Error("a calendar was asked for a proof that is finished")
	}
	report := verified(t, c)
	states := map[string]int{}
	for _, p := range report.Record.Proofs {
		states[p.State]++
	}
	if states[ots.StateVerified] != 6 || states[ots.StatePending] != 6 {
		t.Errorf("proofs are %v", states)
	}
	// A round more, with a calendar that is down: its proof is made up for later.
	aRound(t, c, 3)
	change(func() { a.mined, a.down["a.example.com"] = false, true })
	if _, err := os.Stat(filepath.Join(c.Record, "proofs/3")); err == nil {
		t.Error("a round is stamped before it is handed in")
	}
	stamp(1, 0, 0, 1, 1)
	change(func() { a.down["a.example.com"] = false })
	stamp(1, 0, 0, 1, 0)
}

func TestHeadersOfOnesOwnNode(t *testing.T) {
	c := observingConfig(t.TempDir())
	aRound(t, c, 1)
	a := &almanac{mined: true, blocks: map[int64]ots.Header{}, asked: map[string]int{}}
	file := filepath.Join(t.TempDir(), "headers")
	c.Timestamps = TimestampsConfig{Calendars: []string{"https://a.example.com", "https://b.example.com"},
		Upgrades: []string{"https://a.example.com"}}
	o := outside(t, a)
	for range 2 {
		if _, err := Stamp(t.Context(), c, o); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	text.WriteString("# from our node\n")
	for n, h := range a.blocks {
		fmt.Fprintf(&text, "%d %s", n, h.File())
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Timestamps.Headers = file
	got, err := Stamp(t.Context(), c, o)
	if err != nil || got.Headers != 2 || len(got.Problems) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	verified(t, c)
	for _, bad := range []string{"x " + strings.Repeat("0", 160), "7 00", "-1 " + strings.Repeat("0", 160)} {
		if err := os.WriteFile(file, []byte(bad+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Stamp(t.Context(), c, o); err == nil {
			t.Errorf("headers %q were read", bad)
		}
	}
}

// cosigner is a witness that signs what it is shown, or badly.
type cosigner struct {
	name string
	key  ed25519.PrivateKey
	bad  bool
	fail int // requests that it fails first
	size int64
}

func (c *cosigner) witness() tlog.Witness {
	return tlog.Witness{Name: c.name, Public: c.key.Public().(ed25519.PublicKey)}
}

func (c *cosigner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, checkpoint, ok := strings.Cut(string(body), "\n\n")
	text, _, ok2 := strings.Cut(checkpoint, "\n\n")
	if c.fail--; err != nil || !ok || !ok2 || c.fail >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var old int64
	fmt.Sscanf(string(body), "old %d\n", &old)
	if old != c.size {
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintln(w, c.size)
		return
	}
	now := time.Now().Unix()
	sig := ed25519.Sign(c.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", now, text))
	if c.bad {
		sig[7] ^= 1
	}
	vkey := strings.SplitN(c.witness().Key(), "+", 3)
	id, _ := hex.DecodeString(vkey[1]) // as Key wrote it
	line := slices.Concat(id, binary.BigEndian.AppendUint64(nil, uint64(now)), sig)
	fmt.Fprintf(w, "— %s %s\n", c.name, base64.StdEncoding.EncodeToString(line))
	fmt.Sscanf(strings.SplitN(text, "\n", 3)[1], "%d", &c.size)
}

func TestWitnessesCosignTheHead(t *testing.T) {
	c := observingConfig(t.TempDir())
	aRound(t, c, 1)
	seed := func(b byte) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(b)), 32)))
	}
	good, bad := &cosigner{name: "good.example", key: seed('g'), fail: 1},
		&cosigner{name: "bad.example", key: seed('b'), bad: true}
	byHost := map[string]http.Handler{"good.example.com": good, "bad.example.com": bad}
	o := outside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := byHost[r.Host]; h != nil && r.URL.Path == "/log/add-checkpoint" {
			h.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	c.Witnesses = []WitnessConfig{{URL: "https://good.example.com/log", Key: good.witness().Key()},
		{URL: "https://bad.example.com/log", Key: bad.witness().Key()}}
	if err := c.checkWitnesses(); err != nil {
		t.Fatal(err)
	}
	cosigned := func() witness.Witnessed {
		t.Helper()
		got, err := Witness(t.Context(), c, o)
		if err != nil || len(got.By) != 2 || got.Signed != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if p := got.By[1].Problem; !strings.Contains(p, "the signature of bad.example does not fit") {
			t.Errorf("a bad cosignature: %q", p)
		}
		verified(t, c)
		return got
	}
	if got := cosigned(); got.By[0].At == "" || got.By[0].Held {
		t.Errorf("%+v", got)
	}
	if got := cosigned(); !got.By[0].Held {
		t.Errorf("once more: %+v", got)
	}
	aRound(t, c, 2)
	cosigned()
	log, err := tlog.Open(os.DirFS(c.Record), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	published, err := log.Published()
	if err != nil {
		t.Fatal(err)
	}
	head, others, err := tlog.OpenCheckpoint(published, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	signed, err := tlog.Cosignatures(head, others, []tlog.Witness{good.witness(), bad.witness()})
	if err != nil || len(signed) != 1 || signed[0].Witness != "good.example" {
		t.Errorf("published is %s: %v", published, err)
	}
	// A witness that saw more than there is has seen another log.
	good.size = 1000
	aRound(t, c, 3)
	got, err := Witness(t.Context(), c, o)
	if err != nil || !got.By[0].Split || got.Signed != 0 {
		t.Errorf("a split view: %+v, %v", got, err)
	}
}
