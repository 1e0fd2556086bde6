package desk_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// townbook is a record that met some hosts and saw addresses at them.
type townbook struct {
	desk.Rounds
	doors map[string][]archive.AddressDoor // by address
}

func (b townbook) Host(_ context.Context, host string) (desk.HostHistory, error) {
	return desk.HostHistory{NeverMet: !strings.HasPrefix(host, "met.")}, nil
}

func (b townbook) Address(_ context.Context, address string) (archive.AddressReading, error) {
	doors := b.doors[address]
	return archive.AddressReading{DoorsTotal: int64(len(doors)), Doors: doors, NeverSeen: doors == nil}, nil
}

// advertised is a host that advertised an address in weeks of which it says whether it did.
func advertised(host string, weeks ...bool) archive.AddressDoor {
	d := archive.AddressDoor{Host: host, Network: "eip155:8453"}
	for _, is := range weeks {
		d.Weeks = append(d.Weeks, archive.AddressWeek{Verdict: record.VerdictReady, Advertised: is})
	}
	return d
}

func statementDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func testKey(t *testing.T, fill string) *wallet.Key {
	t.Helper()
	k, err := wallet.ParseKey(strings.Repeat(fill, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// noteTest is a desk whose street serves one file of notes.
type noteTest struct {
	*testing.T
	h    http.Handler
	db   ledger.DB
	file atomic.Value
}

func openNotes(t *testing.T, book townbook) *noteTest {
	n := &noteTest{T: t}
	n.file.Store("")
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != desk.NotePath || n.file.Load() == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, n.file.Load())
	}))
	o.record = book
	n.h, n.db = openWithLedger(t, o)
	return n
}

func (n *noteTest) post(name string, body map[string]string, status int, code string) {
	n.Helper()
	got, _, doc := post(n, n.h, "/api/standing-note", body)
	if got != status || code != "" && !strings.HasSuffix(fmt.Sprint(doc["type"]), "/"+code) {
		n.Errorf("%s: %d %v, want %d %s", name, got, doc, status, code)
	}
}

// stands is what GET says of a host; "" for nothing.
func (n *noteTest) stands(host string) string {
	n.Helper()
	code, _, doc := exchangeWith(n, n.h, httptest.NewRequest("GET", "/api/standing-note?host="+host, nil))
	asked, _ := doc["asked"].(map[string]any)
	if code != 200 || asked == nil {
		n.Fatal(code, doc)
	}
	note, _ := asked["standing_note"].(map[string]any)
	if note == nil {
		return ""
	}
	return fmt.Sprint(note["statement"])
}

// later lets time pass for the notes of a host.
func (n *noteTest) later(host string, by time.Duration) {
	n.Helper()
	key := ledger.GoodsKey("standing-note", host)
	err := n.db.Update(n.Context(), func(tx ledger.Tx) error {
		held, err := ledger.GetJSON[map[string]any](tx, key)
		if err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339, held["signed_at"].(string))
		held["signed_at"] = at.Add(-by).Format(time.RFC3339)
		return errors.Join(err, ledger.SetJSON(tx, key, held))
	})
	if err != nil {
		n.Fatal(err)
	}
}

// sign asks for the challenge of a statement and signs it.
func (n *noteTest) sign(k *wallet.Key, statement string) map[string]string {
	n.Helper()
	address := k.Address().String()
	code, _, doc := exchangeWith(n, n.h, httptest.NewRequest("GET", "/api/standing-note?"+url.Values{
		"address": {address}, "statement_sha256": {statementDigest(statement)}}.Encode(), nil))
	c, _ := doc["challenge"].(map[string]any)
	if code != 200 || c == nil {
		n.Fatal(code, doc)
	}
	return map[string]string{"address": address, "statement": statement, "nonce": c["nonce"].(string),
		"signature": fmt.Sprintf("0x%x", k.Sign(wallet.PersonalHash(c["challenge"].(string))))}
}

// A host speaks by its own file: what that names, once, and no more often than once an hour.
func TestANoteByTheHost(t *testing.T) {
	t.Parallel()
	n := openNotes(t, townbook{})
	const host = "met.example.com"
	long := strings.Repeat("é", 500)
	note := func(statement string) map[string]string {
		return map[string]string{"host": host, "statement": statement}
	}
	for name, c := range map[string]struct {
		body   map[string]string
		status int
		code   string
	}{
		"nobody met":     {map[string]string{"host": "never.example.com", "statement": "x"}, 404, "not_found"},
		"no statement":   {note(" "), 400, "invalid_input"},
		"one too long":   {note(long + "é"), 400, "invalid_input"},
		"two lines":      {note("a\nb"), 400, "invalid_input"},
		"hidden":         {note("a\u200bb"), 400, "invalid_input"},
		"no host":        {map[string]string{"statement": "x"}, 400, "invalid_input"},
		"a URL":          {map[string]string{"host": "https://" + host, "statement": "x"}, 400, "invalid_input"},
		"both":           {map[string]string{"host": host, "address": "0x1", "statement": "x"}, 400, "invalid_input"},
		"no file":        {note(long), 403, "note_refused"},
		"our own":        {map[string]string{"host": "store.test", "statement": "x"}, 400, "own_host_refused"},
		"one of inside":  {map[string]string{"host": "inside.example.com", "statement": "x"}, 404, "not_found"},
		"unknown member": {map[string]string{"host": host, "statement": "x", "by": "me"}, 400, "invalid_input"},
	} {
		n.post(name, c.body, c.status, c.code)
	}
	n.file.Store(statementDigest("another"))
	n.post("another file", note(long), 403, "note_refused")
	n.file.Store(statementDigest(long))
	n.post("its file", note(long), 200, "")
	if n.stands(host) != long {
		t.Error("it does not stand")
	}
	n.later(host, 2*time.Hour)
	n.post("the same again", note(long), 400, "invalid_input")
	n.file.Store(statementDigest("We moved."))
	n.post("the next", note("We moved."), 200, "")
	n.file.Store(statementDigest("We moved again."))
	n.later(host, time.Hour-2*time.Second)
	n.post("within the hour", note("We moved again."), 429, "rate_limited")
	n.later(host, 2*time.Second)
	n.post("after it", note("We moved again."), 200, "")
	if got := n.stands(host); got != "We moved again." {
		t.Errorf("%q stands", got)
	}
	var all []record.Observation
	if err := n.db.Update(t.Context(), func(tx ledger.Tx) (err error) {
		if all, err = feed.Since(tx, 1, 10); err != nil || len(all) != 3 {
			return errors.Join(err, fmt.Errorf("%d notes are kept", len(all)))
		}
		_, err = feed.Withdraw(tx, nil, record.Withdrawn{SHA256: all[2].Note.Statement.SHA256, Reason: "asked"}, false,
			false)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := n.stands(host); got != "" {
		t.Errorf("%q stands after it was withdrawn", got)
	}
}

// An address speaks for the one host that advertises it, and its signature for one statement, once.
func TestANoteByTheWallet(t *testing.T) {
	t.Parallel()
	mine, shared, old, stranger := testKey(t, "11"), testKey(t, "22"), testKey(t, "33"), testKey(t, "44")
	n := openNotes(t, townbook{doors: map[string][]archive.AddressDoor{
		mine.Address().String():   {advertised("met.example.com", false, true), advertised("met.example.com", true)},
		shared.Address().String(): {advertised("met.example.com", true), advertised("met.example.org", true)},
		old.Address().String():    {advertised("met.example.com", true, false)},
	}})
	n.post("a stranger", n.sign(stranger, "Hello."), 404, "not_found")
	n.post("a platform's wallet", n.sign(shared, "Hello."), 403, "note_refused")
	n.post("an address of before", n.sign(old, "Hello."), 403, "note_refused")
	forged := n.sign(stranger, "Hello.")
	forged["address"] = mine.Address().String()
	n.post("another's challenge", forged, 400, "claim_challenge_invalid")
	forged = n.sign(mine, "Hello.")
	forged["signature"] = n.sign(stranger, "Hello.")["signature"]
	n.post("another's signature", forged, 403, "claim_signature_invalid")
	changed := n.sign(mine, "Hello.")
	changed["statement"] = "Goodbye."
	n.post("another statement", changed, 403, "claim_signature_invalid")
	first := n.sign(mine, "Hello.")
	without := map[string]string{"address": first["address"], "statement": "Hello.", "signature": first["signature"]}
	n.post("no nonce", without, 400, "invalid_input")
	n.post("mine", first, 200, "")
	n.later("met.example.com", 2*time.Hour)
	n.post("mine again", first, 400, "claim_challenge_invalid")
	older := n.sign(mine, "I was here before.")
	n.later("met.example.com", -3*time.Hour) // a newer one is held by now
	n.post("an older one", older, 400, "invalid_input")
	if got := n.stands("met.example.com"); got != "Hello." {
		t.Errorf("%q stands", got)
	}
}
