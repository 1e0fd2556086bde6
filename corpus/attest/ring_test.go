package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKIDIsTheThumbprintOfRFC8037(t *testing.T) {
	pub := must[[]byte](t)(base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
	if got, want := KID(pub), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"; got != want { // RFC 8037, A.3
		t.Errorf("KID = %s, want %s", got, want)
	}
}

func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "identity.pem")
	key := must[*Key](t)(Generate(rand.Reader))
	if err := key.Store(file); err != nil {
		t.Fatal(err)
	}
	if info := must[fs.FileInfo](t)(os.Stat(file)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if back := must[*Key](t)(LoadKey(file)); !back.Public().Equal(key.Public()) || back.KID() != key.KID() {
		t.Error("another key is loaded")
	}
	if err := testKey(1).Store(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("storing over a key: %v", err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o660, 0o644, 0o610} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(file); err == nil {
			t.Errorf("a key of mode %v is loaded", mode)
		}
	}
	good := must[[]byte](t)(os.ReadFile(file))
	for name, bad := range map[string][]byte{
		"twice": slices.Concat(good, good), "not PEM": []byte("key"), "empty": nil,
		"other type": bytes.ReplaceAll(good, []byte("PRIVATE"), []byte("PUBLIC")),
		"cut":        bytes.Replace(good, []byte("MC4"), []byte("MC5"), 1),
	} {
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(file); err == nil {
			t.Errorf("%s is loaded", name)
		}
	}
	if _, err := Generate(strings.NewReader("short")); err == nil {
		t.Error("a key is made of 5 bytes")
	}
}

func TestKeysDoNotShowThemselves(t *testing.T) {
	key := testKey(1)
	secret := fmt.Sprintf("%x", bytes.Repeat([]byte{1}, 8))
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("key", "key", key)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %x %q %d", key, key, key, key, key, key, key),
		logged.String(), fmt.Sprintf("%v", struct{ K *Key }{key})} {
		if strings.Contains(s, secret) || strings.Contains(s, "1, 1, 1") || strings.Contains(s, "1 1 1") {
			t.Errorf("the private half is shown: %s", s)
		}
	}
	if !strings.Contains(logged.String(), key.KID()) {
		t.Errorf("logged %s", logged.String())
	}
}

func TestSpecimen(t *testing.T) {
	if got, want := SpecimenKey().KID(), "QSkJWB30mej_M5r1cuFBHuHgB7cGoww1A9bGB9UdHkU"; got != want {
		t.Errorf("the specimen key changed: %s, was %s", got, want)
	}
	for _, p := range Purposes() {
		if !IsSpecimen(SpecimenKeyFor(p).Public()) {
			t.Errorf("the specimen's %s key is not known as such", p)
		}
	}
	if IsSpecimen(testKey(1).Public()) || IsSpecimen(nil) {
		t.Error("another key passes for the specimen's")
	}
	if by, ok := SpecimenRing().ByPublic(SpecimenKey().Public()); !ok || by.Status != SignerCurrent {
		t.Errorf("the specimen ring: %+v", by)
	}
}

func handedOver(t testing.TB) Ring {
	t.Helper()
	ring := must[Ring](t)(testRing(t).Handover(Change{Purpose: PurposeIdentity, Effective: "2026-06-01",
		Reason: "half-yearly"}, testKey(1), testKey(11).Public()))
	ring = must[Ring](t)(ring.Handover(Change{Purpose: PurposeGit, Effective: "2026-07-01", Reason: "laptop lost"},
		testKey(3), testKey(13).Public()))
	return must[Ring](t)(ring.Handover(Change{Purpose: PurposeIdentity, Effective: "2026-12-01", Reason: "half-yearly"},
		testKey(11), testKey(21).Public()))
}

func TestRingFile(t *testing.T) {
	ring := handedOver(t)
	raw := must[[]byte](t)(ring.Encode())
	if diff := cmp.Diff(ring, must[Ring](t)(ParseRing(raw))); diff != "" {
		t.Errorf("ring (-want +got):\n%s", diff)
	}
	document := must[[]byte](t)(SigningKeyDocument("store.example", ring))
	if diff := cmp.Diff(ring, must[Ring](t)(ParseSigningKeyDocument(document))); diff != "" {
		t.Errorf("ring from the published document (-want +got):\n%s", diff)
	}
	if want := fmt.Sprintf("\n  \"public_key\": \"%x\",\n", []byte(testKey(21).Public())); !strings.Contains(
		string(document), want) {
		t.Errorf("the key in force does not stand in the document: %s", document)
	}
	if strings.Contains(string(document), "specimen") {
		t.Error("a real key is called a specimen")
	}
	specimen := must[[]byte](t)(SigningKeyDocument("store.example", SpecimenRing()))
	if !strings.Contains(string(specimen), `"specimen": true`) {
		t.Error("the specimen does not say so")
	}
	for seed, want := range map[byte]string{1: "retired 2026-06-01", 11: "retired 2026-12-01", 21: "current ",
		3: "retired 2026-07-01", 13: "current "} {
		pub := testKey(seed).Public()
		a, _ := ring.ByKID(KID(pub))
		c, ok := ring.ByPublic(pub)
		if got := c.Status + " " + c.RetiredOn; !ok || got != want || !cmp.Equal(a, c) {
			t.Errorf("key %d: %q, want %q", seed, got, want)
		}
	}
	if _, ok := ring.ByKID("x"); ok {
		t.Error("an unknown kid is found")
	}
}

func TestRingIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Ring){
		"format":             func(r *Ring) { r.Format = "v2" },
		"kid":                func(r *Ring) { r.Current[0].KID = r.Current[1].KID },
		"no identity":        func(r *Ring) { r.Current = r.Current[1:] },
		"two in force":       func(r *Ring) { r.Current[1].Purpose = PurposeIdentity },
		"unknown purpose":    func(r *Ring) { r.Current[1].Purpose = "tls" },
		"short key":          func(r *Ring) { r.Current[1].Public = r.Current[1].Public[:31] },
		"date":               func(r *Ring) { r.Current[1].Since = "yesterday" },
		"twice":              func(r *Ring) { r.Retired[0].PublicKey = r.Current[0] },
		"retirement moved":   func(r *Ring) { r.Retired[0].RetiredOn = "2026-06-02" },
		"retirement removed": func(r *Ring) { r.Retired = r.Retired[1:] },
		"handover removed":   func(r *Ring) { r.Handovers = r.Handovers[1:] },
		"handovers swapped":  func(r *Ring) { r.Handovers[0], r.Handovers[2] = r.Handovers[2], r.Handovers[0] },
		"middle key younger than its handover": func(r *Ring) {
			for i := range r.Retired {
				if r.Retired[i].KID == testKey(11).KID() {
					r.Retired[i].Since = "2026-06-02"
				}
			}
		},
		"reason changed": func(r *Ring) { r.Handovers[0].Reason = "" },
		"key replaced": func(r *Ring) {
			r.Current[0].Public, r.Current[0].KID = Hex(testKey(9).Public()), testKey(9).KID()
		},
	} {
		ring := must[Ring](t)(ParseRing(must[[]byte](t)(handedOver(t).Encode()))) // a deep copy
		change(&ring)
		if err := ring.Check(); err == nil {
			t.Errorf("%s: the ring is accepted", name)
		}
		if _, err := DIDDocument("store.example", ring); err == nil {
			t.Errorf("%s: the ring is published", name)
		}
	}
	if _, err := NewRing("2026-01-01", map[Purpose]ed25519.PublicKey{PurposeLog: testKey(1).Public()}); err == nil {
		t.Error("a ring without an identity is made")
	}
	if _, err := testRing(t).Handover(Change{Purpose: PurposeIdentity, Effective: "2026-06-01", Reason: "theft"},
		testKey(2), testKey(9).Public()); err == nil {
		t.Error("another key hands over")
	}
	if _, err := handedOver(t).Handover(Change{Purpose: PurposeIdentity, Effective: "2027-06-01", Reason: "back"},
		testKey(21), testKey(1).Public()); err == nil {
		t.Error("a retired key comes back")
	}
}

// parseHandover reads one handover, as a ring's are read, and verifies it.
func parseHandover(raw []byte) (h Handover, err error) {
	if err := ParseCanonical(raw, &h); err != nil {
		return h, err
	}
	return h, h.Verify()
}

func TestEveryChangedByteOfAHandoverIsRefused(t *testing.T) {
	t.Parallel()
	h := must[Handover](t)(NewHandover(Change{Purpose: PurposeIdentity, Effective: "2026-06-01",
		Reason: "half-yearly é"}, testKey(1), testKey(2).Public()))
	everyByteChange(t, must[[]byte](t)(Canonical(h)), func(raw []byte) bool {
		h, err := parseHandover(raw)
		return err == nil && VerifyHandovers([]Handover{h}, testKey(1).Public(), testKey(2).Public()) == nil
	})
}

func TestHandoverChain(t *testing.T) {
	hand := func(from, to byte, on string) Handover {
		return must[Handover](t)(NewHandover(Change{Purpose: PurposeIdentity, Effective: on, Reason: ""}, testKey(from),
			testKey(to).Public()))
	}
	first, last := testKey(1).Public(), testKey(3).Public()
	if err := VerifyHandovers(nil, first, first); err != nil {
		t.Errorf("no handover: %v", err)
	}
	if err := VerifyHandovers([]Handover{hand(1, 2, "2026-01-01"), hand(2, 3, "2026-01-01")}, first, last); err != nil {
		t.Error(err)
	}
	for name, chain := range map[string][]Handover{
		"none": nil, "half": {hand(1, 2, "2026-01-01")}, "gap": {hand(1, 2, "2026-01-01"), hand(4, 3, "2026-02-01")},
		"not from the first": {hand(2, 3, "2026-01-01")},
		"backwards":          {hand(1, 2, "2026-02-01"), hand(2, 3, "2026-01-01")},
		"loop":               {hand(1, 2, "2026-01-01"), hand(2, 1, "2026-01-02"), hand(1, 3, "2026-01-03")},
	} {
		if err := VerifyHandovers(chain, first, last); err == nil {
			t.Errorf("%s: the chain is accepted", name)
		}
	}
	if _, err := NewHandover(Change{Purpose: PurposeIdentity, Effective: "2026-01-01", Reason: ""}, testKey(1),
		first); err == nil {
		t.Error("a key follows itself")
	}
}

func TestWalkersOfARing(t *testing.T) {
	walker := func(seed byte, since, retired string) Walker {
		return Walker{Public: Hex(testKey(seed).Public()), KID: testKey(seed).KID(), Since: since, RetiredOn: retired}
	}
	sorted := func(all ...Walker) []Walker {
		slices.SortFunc(all, func(a, b Walker) int { return strings.Compare(a.KID, b.KID) })
		return all
	}
	with := func(all ...Walker) Ring {
		r := handedOver(t)
		r.Walkers = all
		return r
	}
	ring := with(sorted(walker(31, "2026-03-01", ""), walker(32, "2026-03-01", "2026-05-01"))...)
	document := must[[]byte](t)(SigningKeyDocument("store.example", ring))
	for name, again := range map[string]Ring{"file": must[Ring](t)(ParseRing(must[[]byte](t)(ring.Encode()))),
		"document": must[Ring](t)(ParseSigningKeyDocument(document))} {
		if diff := cmp.Diff(ring, again); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	next := must[Ring](t)(ring.Handover(Change{Purpose: PurposeGit, Effective: "2026-12-02", Reason: "yearly"},
		testKey(13), testKey(33).Public()))
	if !cmp.Equal(next.Walkers, ring.Walkers) {
		t.Error("a handover loses walkers")
	}
	for _, w := range ring.Walkers {
		if by, ok := ring.ByKID(w.KID); ok {
			t.Errorf("a walker's key may sign as %+v", by)
		}
		if by, ok := ring.ByPublic(ed25519.PublicKey(w.Public)); ok {
			t.Errorf("a walker's key may sign as %+v", by)
		}
	}
	for at, want := range map[string][2]bool{"2026-02-28T23:59:59Z": {false, false},
		"2026-03-01T00:00:00Z": {true, true},
		"2026-05-01T23:59:59Z": {true, true}, "2026-05-02T00:00:00Z": {true, false}} {
		for i, seed := range []byte{31, 32} {
			if err := ring.WalkerInForce(testKey(seed).KID(), at); (err == nil) != want[i] {
				t.Errorf("key %d at %s: %v", seed, at, err)
			}
		}
	}
	if err := ring.WalkerInForce(ring.Identity().KID, "2026-12-10T00:00:00Z"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("the identity as a walker: %v", err)
	}
	short := walker(31, "2026-03-01", "")
	short.Public = short.Public[:31]
	two := sorted(walker(31, "2026-03-01", ""), walker(32, "2026-03-01", ""))
	var many []Walker
	for seed := range byte(MaxWalkers + 1) {
		many = append(many, walker(100+seed, "2026-03-01", ""))
	}
	for name, all := range map[string][]Walker{"order": {two[1], two[0]}, "twice": {two[0], two[0]},
		"a key of the store": {walker(2, "2026-03-01", "")}, "date": {walker(31, "yesterday", "")}, "short": {short},
		"ends before": {walker(31, "2026-03-01", "2026-02-28")}, "many": sorted(many...)} {
		if with(all...).Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := with(sorted(many[1:]...)...).Check(); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	older := with(walker(31, "2026-03-01", ""))
	for name, c := range map[string]struct {
		newer Ring
		ok    bool
	}{"the same": {older, true}, "ended": {with(walker(31, "2026-03-01", "2026-08-01")), true},
		"one more": {with(two...), true}, "gone": {with(), false},
		"earlier": {with(walker(31, "2026-02-01", "")), false},
		"another": {with(walker(32, "2026-03-01", "")), false}} {
		if err := c.newer.Continues(older); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if older.Continues(with(walker(31, "2026-03-01", "2026-08-01"))) == nil {
		t.Error("a key that was retired is in force again")
	}
}

func TestDIDDocument(t *testing.T) {
	raw := must[[]byte](t)(DIDDocument("127.0.0.1:8402", handedOver(t),
		Service{"agent-card", "A2AAgentCard", "https://store.example/.well-known/agent-card.json"}))
	var doc didDocument
	if err := json.Unmarshal(raw, &doc, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	const did = "did:web:127.0.0.1%3A8402"
	current := did + "#" + testKey(21).KID()
	if doc.ID != did || !slices.Equal(doc.AssertionMethod, []string{current}) ||
		!slices.Equal(doc.Authentication, []string{current}) {
		t.Errorf("id %s, asserts %v", doc.ID, doc.AssertionMethod)
	}
	var listed []string
	for _, m := range doc.Methods {
		if m.Controller != did || !strings.HasPrefix(m.ID, did+"#") || (m.JWK == nil) == (m.Multibase == "") {
			t.Errorf("method %+v", m)
		}
		if m.JWK != nil {
			listed = append(listed, m.JWK.KID)
			if m.ID != did+"#"+m.JWK.KID {
				t.Errorf("method %s holds key %s", m.ID, m.JWK.KID)
			}
		}
	}
	var want []string
	for _, seed := range []byte{21, 2, 13, 4, 1, 3, 11} { // in force by purpose, then retired
		want = append(want, testKey(seed).KID())
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := doc.Services[0].ID; got != did+"#agent-card" {
		t.Errorf("service %s", got)
	}
	if strings.Contains(string(raw), `"d"`) {
		t.Error("the document has a private member")
	}
	// The key of the stock x402 vectors, whose did:key is its Multikey.
	if got, want := multibase(testKey(7).Public()), "z6MkvDqGT54cXesYGvABpF1UapVNwjCqRcafi4Px6Thv5T3Z"; got != want {
		t.Errorf("multibase = %s, want %s", got, want)
	}
}

func FuzzParseRing(f *testing.F) {
	f.Add(must[[]byte](f)(handedOver(f).Encode()))
	f.Add(must[[]byte](f)(SpecimenRing().Encode()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ring, err := ParseRing(raw)
		if err != nil {
			return
		}
		again := must[Ring](t)(ParseRing(must[[]byte](t)(ring.Encode())))
		if !cmp.Equal(ring, again) {
			t.Errorf("%s is written as another ring", raw)
		}
	})
}

func FuzzHandover(f *testing.F) {
	f.Add(must[[]byte](f)(Canonical(must[Handover](f)(NewHandover(Change{Purpose: PurposeLog, Effective: "2026-06-01",
		Reason: "x", LastHead: &LogHead{Size: 7, Root: Digest{1}}}, testKey(1), testKey(2).Public())))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if h, err := parseHandover(raw); err == nil && !bytes.Equal(must[[]byte](t)(Canonical(h)), raw) {
			t.Errorf("%q is another spelling", raw)
		}
	})
}

func TestResolverKnowsIdentityKeysOnly(t *testing.T) {
	ring := must[Ring](t)(testRing(t).Handover(Change{Purpose: PurposeIdentity, Effective: "2026-12-01",
		Reason: "yearly"}, testKey(1), testKey(5).Public()))
	resolve := ring.Resolver("Store.example:8402")
	for _, seed := range []byte{1, 5} {
		pub, err := resolve("did:web:store.example%3A8402#" + testKey(seed).KID())
		if err != nil || !pub.Equal(testKey(seed).Public()) {
			t.Errorf("key %d: %v", seed, err)
		}
	}
	for _, kid := range []string{"", testKey(1).KID(), "did:web:store.example#" + testKey(1).KID(),
		"did:web:store.example%3A8402#" + testKey(2).KID(), "did:web:store.example%3A8402#"} {
		if _, err := resolve(kid); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%q: %v", kid, err)
		}
	}
}
