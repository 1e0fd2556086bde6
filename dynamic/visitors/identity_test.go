package visitors_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/visitors"
)

// wallets judges as the till does (EIP-191), with a contract at one address.
type wallets struct {
	down  bool
	asked int
}

const contract = "0x52908400098527886E0F7030069857D2E4169EE7"

func (w *wallets) ProveText(_ context.Context, address, signature, text, _ string) (who, why string, err error) {
	if w.down {
		return "", "", errors.New("the chain is away")
	}
	w.asked++
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil {
		return "", "signature is no hex", nil
	}
	if address == contract && string(raw) == text {
		return "eip155:8453:" + contract, "", nil
	}
	by, err := wallet.Recover(wallet.PersonalHash(text), wallet.NormalizeV(raw))
	if err != nil || !strings.EqualFold(by.String(), address) {
		return "", "the signature is not by this address", nil
	}
	return by.String(), "", nil
}

// web serves one document.
type web struct {
	document string
	asked    int
}

func (w *web) Do(_ context.Context, r exchange.Request, _ fetch.Rule) (exchange.Exchange, error) {
	w.asked++
	if strings.Contains(r.URL, "inside") {
		return exchange.Exchange{}, &fetch.Refusal{Code: "target_refused", Reason: "it is a private address"}
	}
	return exchange.Exchange{Request: r, Response: exchange.Response{Status: 200, Body: []byte(w.document)}}, nil
}

// signedBy is a body with an identity in it, whose signature is made by sign.
func signedBy(t testing.TB, kind string, identity map[string]any, sign func(text string) string) map[string]any {
	t.Helper()
	body := maps.Clone(writes[kind])
	body["verified_identity"] = identity
	said := must[string](t)(visitors.SignedText(base+"/api/"+kind, []byte(text(t, body))))
	signed := maps.Clone(identity)
	signed["signature"] = sign(said)
	body["verified_identity"] = signed
	return body
}

func TestSignedText(t *testing.T) {
	got, err := visitors.SignedText("https://store.test/api/guestbook", []byte(`{ "message":"b", "name":"é",
		"verified_identity":{"signature":"x","address":"0xA"} }`))
	if want := "https://store.test/api/guestbook\n" +
		`{"message":"b","name":"é","verified_identity":{"address":"0xA"}}`; got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "[]", `{"verified_identity":1}`, `{"a":1}`} {
		if text, err := visitors.SignedText("u", []byte(bad)); err == nil {
			t.Errorf("%s signs %s", bad, text)
		}
	}
}

// TestIdentitiesThatCheckAreShown: a wallet's, a contract's, a did:key's and a did:web's; one that
// does not check is kept for the keeper and shown to nobody.
func TestIdentitiesThatCheckAreShown(t *testing.T) {
	key := must[*wallet.Key](t)(wallet.ParseKey(strings.Repeat("11", 32)))
	pub, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	multikey := "z" + wallet.EncodeBase58(append([]byte{0xed, 0x01}, pub...))
	site := &web{document: `{"id":"did:web:ada.example","verificationMethod":[{"id":"did:web:ada.example#k",` +
		`"type":"Multikey","controller":"did:web:ada.example","publicKeyMultibase":"` + multikey + `"},` +
		`{"id":"did:web:ada.example#other","type":"Multikey","controller":"did:web:ada.example","publicKeyMultibase":"` +
		multikey + `"}],"assertionMethod":["did:web:ada.example#k"]}`}
	personal := func(text string) string { return "0x" + hex.EncodeToString(key.Sign(wallet.PersonalHash(text))) }
	ed := func(text string) string {
		return base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(text)))
	}
	edHex := func(text string) string { return hex.EncodeToString(ed25519.Sign(private, []byte(text))) }
	forged := func(text string) string { return personal(text + " ") }
	address, lower := key.Address().String(), strings.ToLower(key.Address().String())
	for name, c := range map[string]struct {
		identity map[string]any
		sign     func(string) string
		shown    string // "": it does not check
	}{
		"a wallet":           {map[string]any{"address": address}, personal, address},
		"in small letters":   {map[string]any{"address": lower}, personal, address},
		"a forged signature": {map[string]any{"address": address}, forged, ""},
		"another's address":  {map[string]any{"address": contract}, personal, ""},
		"a contract": {map[string]any{"address": contract}, func(s string) string {
			return hex.EncodeToString([]byte(s))
		}, "eip155:8453:" + contract},
		"a did:key": {map[string]any{"did": "did:key:" + multikey}, ed, "did:key:" + multikey},
		"in hex":    {map[string]any{"did": "did:key:" + multikey}, edHex, "did:key:" + multikey},
		"another's did:key": {map[string]any{"did": "did:key:" + multikey}, func(string) string {
			return strings.Repeat("00", 64)
		}, ""},
		"a broken did:key":         {map[string]any{"did": "did:key:zzz"}, ed, ""},
		"a did:web":                {map[string]any{"did": "did:web:ada.example"}, ed, "did:web:ada.example"},
		"its key by name":          {map[string]any{"did": "did:web:ada.example#k"}, ed, "did:web:ada.example#k"},
		"one that asserts nothing": {map[string]any{"did": "did:web:ada.example#other"}, ed, ""},
		"no such key":              {map[string]any{"did": "did:web:ada.example#x"}, ed, ""},
		"another's document":       {map[string]any{"did": "did:web:ben.example"}, ed, ""},
		"an inner host":            {map[string]any{"did": "did:web:inside.example"}, ed, ""},
		"an address as host":       {map[string]any{"did": "did:web:127.0.0.1"}, ed, ""},
		"another method":           {map[string]any{"did": "did:ion:abc"}, ed, ""},
		"a word as a signature": {map[string]any{"did": "did:key:" + multikey}, func(string) string {
			return "hello"
		}, ""},
	} {
		for kind := range writes {
			s := open(t, ledger.NewMem(ledger.MemOptions{}), func(c *visitors.Config) {
				c.Prove = visitors.Prover{Wallets: &wallets{}, Fetch: site}
			})
			body := signedBy(t, kind, c.identity, c.sign)
			told := s.post(201, ann, "/api/"+kind, body)["identity"].(map[string]any)
			if told["identity_verified"] != (c.shown != "") || c.shown != "" && told["verified_identity"] != c.shown ||
				(told["why_not"] == nil) != (c.shown != "") {
				t.Errorf("%s, %s: %v", name, kind, told)
			}
			if c.shown == "" && !strings.HasPrefix(fmt.Sprint(told["sign_this"]), base+"/api/"+kind+"\n{") {
				t.Errorf("%s, %s: not told what to sign: %v", name, kind, told)
			}
			if kind == visitors.KindGuestbook {
				said := s.text(200, ben, "GET", "/api/guestbook", "") + s.text(200, from{address: ben.address,
					accept: "text/html"}, "GET", "/api/guestbook", "")
				named := fmt.Sprint(c.identity["address"], c.identity["did"])
				if c.shown != "" && !strings.Contains(said, c.shown) || c.shown == "" && strings.Contains(said,
					strings.Trim(
						named, "<nil>")) {
					t.Errorf("%s: shown: %s", name, said)
				}
			}
			page, _, err := s.desk.Entries(t.Context(), kind, false, "", 1)
			if err != nil || page[0].Identity == nil || page[0].Identity.Verified != (c.shown != "") {
				t.Errorf("%s, %s: the keeper reads %+v, %v", name, kind, page, err)
			}
			// A change of any member is another body.
			for member, v := range body {
				if text, ok := v.(string); ok && c.shown != "" && member != "offer_usdc" {
					body[member] = text + "."
					told := s.post(201, ben, "/api/"+kind, body)["identity"].(map[string]any)
					if told["identity_verified"] != false {
						t.Errorf("%s, %s: %s was changed, and is signed: %v", name, kind, member, told)
					}
					body[member] = text
					break
				}
			}
		}
	}
}

// TestASignedBodyIsTakenOnce: who has seen one cannot leave it in another's name, here or, because
// the address is signed too, elsewhere.
func TestASignedBodyIsTakenOnce(t *testing.T) {
	key := must[*wallet.Key](t)(wallet.ParseKey(strings.Repeat("11", 32)))
	s := open(t, ledger.NewMem(ledger.MemOptions{}), func(c *visitors.Config) {
		c.Prove = visitors.Prover{Wallets: &wallets{}}
	})
	for kind := range writes {
		body := signedBy(t, kind, map[string]any{"address": key.Address().String()},
			func(text string) string { return "0x" + hex.EncodeToString(key.Sign(wallet.PersonalHash(text))) })
		s.post(201, ann, "/api/"+kind, body)
		v := s.post(409, ben, "/api/"+kind, body)
		if !strings.HasSuffix(v["type"].(string), "/already_signed") {
			t.Errorf("%s: %v", kind, v)
		}
		s.post(201, ben, "/api/"+kind, writes[kind]) // it did not cost him his day
	}
}

// TestAnIdentityThatCannotBeJudged costs the visitor nothing, and strangers make the store read a
// few documents a minute at most.
func TestAnIdentityThatCannotBeJudged(t *testing.T) {
	site := &web{document: "{}"}
	s := open(t, ledger.NewMem(ledger.MemOptions{}), func(c *visitors.Config) {
		c.Prove = visitors.Prover{Wallets: &wallets{down: true}, Fetch: site}
	})
	body := with("letter", "verified_identity", map[string]any{"address": contract, "signature": "0x11"})
	v := s.post(503, ann, "/api/letter", body)
	if !strings.HasSuffix(v["type"].(string), "/identity_unavailable") {
		t.Errorf("%v", v)
	}
	statuses := make(map[int]int)
	for i := range 9 {
		who := from{address: ben.address, agent: fmt.Sprint(i)}
		res := s.do(who, "POST", "/api/letter", text(t, with("letter", "verified_identity", map[string]any{
			"did": "did:web:ada.example", "signature": strings.Repeat("00", 64)})))
		statuses[res.StatusCode]++
	}
	if site.asked > 5 || statuses[201] != site.asked || statuses[429] != 9-site.asked {
		t.Errorf("%d documents were read, answers %v", site.asked, statuses)
	}
	s.post(201, ann, "/api/letter", writes["letter"])
	for name, bad := range map[string]map[string]any{
		"nobody": {"signature": "0x11"}, "both": {"signature": "0x11", "address": contract, "did": "did:key:z"},
		"no signature": {"address": contract}, "a long address": {"signature": "x", "address": strings.Repeat("a",
			201)},
		"a long did": {"signature": "x", "did": "did:" + strings.Repeat("a", 500)}, "no did": {"signature": "x",
			"did": "x"},
		"a long signature": {"signature": strings.Repeat("a", 8195), "address": contract},
		"odd letters":      {"signature": "x", "address": "é"}, "more": {"signature": "x", "address": contract,
			"x": 1},
	} {
		s.post(400, from{address: "203.0.113.7", agent: name}, "/api/letter", with("letter", "verified_identity", bad))
	}
}

// FuzzSignedText: what is signed names the address it is for, is one canonical form, and has no
// signature in it.
func FuzzSignedText(f *testing.F) {
	f.Add([]byte(`{"letter":"x","verified_identity":{"address":"0x","signature":"y"}}`))
	f.Add([]byte(`{"a":[1,2.5,{"b":null}],"verified_identity":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, err := visitors.SignedText("https://store.test/api/letter", body)
		if err != nil {
			return
		}
		rest, ok := strings.CutPrefix(text, "https://store.test/api/letter\n")
		again, err := attest.JCSBytes([]byte(rest))
		if !ok || err != nil || string(again) != rest {
			t.Errorf("%q: %v", text, err)
		}
		once, err := visitors.SignedText("https://store.test/api/letter", []byte(rest))
		if err != nil || once != text {
			t.Errorf("%q signs %q: %v", rest, once, err)
		}
	})
}
