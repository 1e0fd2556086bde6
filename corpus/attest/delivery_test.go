package attest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// delivered is an answer with its receipt, signed by the specimen key.
func delivered(t *testing.T, head, tail string, change func(*Delivery)) (answer []byte, jws string) {
	t.Helper()
	d := Delivery{Amount: "500000", Asset: "0xa", Decimals: 6, IssuedAt: 1795600000, Network: "eip155:8453",
		Payer: "0xb", ResourceURL: "https://store.example/api/buy/hello", SettledAt: 1795599990, Transaction: "0xc"}
	d.Bind("application/json", []byte(head+"}"))
	if change != nil {
		change(&d)
	}
	jws, err := SignDelivery(SpecimenKey(), DIDURL("store.example", SpecimenKey().KID()), d)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `%s,%q:%q,"recovery":{}%s`, head, DeliveryMember, jws, tail), jws
}

const deliveredHead = `{"message":"Grüß \u003cGott\u003e.","item_id":"hello",` +
	`"deliverable":{"report":{"a":1,"delivery_receipt":"x","recovery":{}}},"receipt":"r"`

// A receipt binds every member of an answer but those of the way back and of a repeat, as bytes and
// as JSON that was written anew.
func TestDeliveryBindsTheAnswer(t *testing.T) {
	answer, jws := delivered(t, deliveredHead, `,"idempotent_replay":false}`, nil)
	d, _, err := SpecimenRing().OpenDelivery(jws)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DeliveryOf(answer); err != nil || got != jws {
		t.Fatalf("found %q in the answer, %v", got, err)
	}
	s, receipt := string(answer), `,"delivery_receipt":"`+jws+`"`
	for what, c := range map[string]struct{ body, want string }{
		"as it came": {s, BodyRaw},
		"a repeat": {strings.Replace(s, `"idempotent_replay":false`, `"idempotent_replay":true,"first_served_at":`+
			`"2026-11-25T00:00:00Z","charged_now":false,"to_buy_another":"b"`, 1), BodyRaw},
		"without its token":         {strings.Replace(s, `,"recovery":{},"idempotent_replay":false}`, "}", 1), BodyRaw},
		"written anew":              {strings.ReplaceAll(strings.ReplaceAll(s, `\u003c`, "<"), `,"`, ",\n \""), BodyJCS},
		"without its receipt":       {strings.Replace(s, receipt, "", 1), BodyJCS},
		"in another order":          {strings.Replace(s, `"message"`, `"idempotent_replay":true,"message"`, 1), ""},
		"the receipt before":        {`{` + receipt[1:] + "," + strings.Replace(s[1:], receipt, "", 1), BodyJCS},
		"a word changed":            {strings.Replace(s, "Gott", "God", 1), ""},
		"a member more before":      {strings.Replace(s, `{"message"`, `{"gift":1,"message"`, 1), ""},
		"a member more behind":      {strings.TrimSuffix(s, "}") + `,"gift":1}`, ""},
		"a member twice":            {strings.TrimSuffix(s, "}") + `,"item_id":"other"}`, ""},
		"a member in another case":  {strings.TrimSuffix(s, "}") + `,"Item_ID":"other"}`, ""},
		"a member less":             {strings.Replace(s, `,"receipt":"r"`, "", 1), ""},
		"behind a second beginning": {deliveredHead + receipt + "," + s[1:], ""},
		"behind an inner receipt":   {strings.Replace(s, `"delivery_receipt":"x"`, `"delivery_receipt":"y"`, 1), ""},
		"nothing":                   {"", ""},
		"null":                      {"null", ""},
		"a list":                    {"[" + s + "]", ""},
		"more than an answer":       {s + "{}", ""},
	} {
		got, err := d.Binds([]byte(c.body))
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNotDelivered) {
			t.Errorf("%s: bound as %q, %v; want %q", what, got, err, c.want)
		}
	}
	// A number that readers would round has no RFC 8785 form: its bytes alone are bound.
	answer, jws = delivered(t, `{"n":12345678901234567890`, "}", nil)
	if d, _, err = SpecimenRing().OpenDelivery(jws); err != nil || d.Canonical != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	if got, err := d.Binds(answer); got != BodyRaw || err != nil {
		t.Errorf("a number beyond 2^53: %q, %v", got, err)
	}
	if got, err := d.Binds([]byte(strings.Replace(string(answer), "90,", "91,", 1))); err == nil {
		t.Errorf("another such number is bound as %q", got)
	}
	d.Bind("text/markdown", []byte("# T\n"))
	for body, want := range map[string]string{"# T\n": BodyRaw, "# T": "", "": ""} {
		if got, _ := d.Binds([]byte(body)); got != want {
			t.Errorf("the text %q is bound as %q, want %q", body, got, want)
		}
	}
}

// A receipt is of one form, by an identity key of the host that sold, in force when it signed.
func TestDeliveryReceiptsOfNobodyAreRefused(t *testing.T) {
	for what, change := range map[string]func(*Delivery){
		"another type":        func(d *Delivery) { d.Type = "" },
		"another host":        func(d *Delivery) { d.ResourceURL = "https://other.example/api/buy/hello" },
		"before the key":      func(d *Delivery) { d.IssuedAt = 1 },
		"no digest":           func(d *Delivery) { d.BodyDigest = BodyDigest{} },
		"another encoding":    func(d *Delivery) { d.Encoding = BodyJCS },
		"another algorithm":   func(d *Delivery) { d.Alg = "sha1" },
		"a digest in capital": func(d *Delivery) { d.Hash = strings.ToUpper(d.Hash) },
		"canonical as raw":    func(d *Delivery) { d.Canonical.Encoding = BodyRaw },
		"an amount with dot":  func(d *Delivery) { d.Amount = "0.5" },
		"decimals below 0":    func(d *Delivery) { d.Decimals = -1 },
		"no time":             func(d *Delivery) { d.SettledAt = 0 },
		"the year 10000":      func(d *Delivery) { d.SettledAt = 253402300800 },
		"no leaf":             func(d *Delivery) { d.KeyLog = &KeyPlace{Leaf: -1, ID: "row_0", Origin: "o"} },
	} {
		_, jws := delivered(t, deliveredHead, "}", change)
		if d, _, err := SpecimenRing().OpenDelivery(jws); err == nil {
			t.Errorf("%s is taken: %+v", what, d)
		}
	}
	_, jws := delivered(t, deliveredHead, "}", nil)
	if _, err := OpenReceipt(jws, SpecimenRing().Resolver("store.example")); err == nil {
		t.Error("a delivery receipt is taken for one of x402")
	}
	old, err := SignReceipt(SpecimenKey(), DIDURL("store.example", SpecimenKey().KID()), Receipt{IssuedAt: 1795600000,
		Network: "eip155:8453", Payer: "0xb", ResourceURL: "https://store.example/api/buy/hello", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := SpecimenRing().OpenDelivery(old); err == nil {
		t.Error("a receipt of x402 is taken for one of a delivery")
	}
	d, _, _ := SpecimenRing().OpenDelivery(jws)
	payload, err := JCS(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseDelivery([]byte(strings.Replace(string(payload), `{`, `{"rank":1,`, 1))); err == nil {
		t.Error("an unknown member is taken")
	}
	if declared, err := Canonical(d); err != nil || string(declared) != string(payload) {
		t.Errorf("the fields stand in another order than RFC 8785 has: %s", declared)
	}
}

// A leaf shows the key that signed it where it is the first, and the key that a handover names.
func TestKeyPlaces(t *testing.T) {
	old, next := SpecimenKey(), SpecimenKeyFor(PurposeGit)
	handed := func(p Purpose) []byte {
		c := Change{Purpose: p, Effective: "2026-11-20", Reason: "planned"}
		if p == PurposeLog {
			c.LastHead = &LogHead{Root: MerkleRoot(nil)}
		}
		h, err := NewHandover(c, old, next.Public())
		if err != nil {
			t.Fatal(err)
		}
		b, err := Canonical(map[string]any{"handover": h, "kid": old.KID()})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	identity, log := handed(PurposeIdentity), handed(PurposeLog)
	row := fmt.Appendf(nil, `{"kid":%q}`, old.KID())
	for what, c := range map[string]struct {
		leaf  int64
		entry []byte
		kid   string
		shows bool
	}{
		"the first leaf":            {0, row, old.KID(), true},
		"of another key":            {0, row, next.KID(), false},
		"a later leaf":              {7, row, old.KID(), false},
		"a handover":                {7, identity, next.KID(), true},
		"of which it is the first":  {7, identity, old.KID(), false},
		"a handover of another use": {7, log, next.KID(), false},
		"a forged handover": {7, []byte(strings.Replace(string(identity), "planned", "Planned", 1)), next.KID(),
			false},
		"no JSON": {0, []byte("x"), old.KID(), false},
	} {
		p := KeyPlace{Leaf: c.leaf, EntrySHA256: sha256.Sum256(c.entry)}
		if err := p.Shows(c.entry, c.kid); (err == nil) != c.shows {
			t.Errorf("%s: %v", what, err)
		}
		p.EntrySHA256[0]++
		if p.Shows(c.entry, c.kid) == nil {
			t.Errorf("%s: another leaf is taken", what)
		}
	}
}
