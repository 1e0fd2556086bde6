package attest

import (
	"crypto/ed25519"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
)

const (
	someID   = "abcdefghij2345672345"
	someDate = "2026-11-22T10:11:12Z"
	laterOn  = "2026-12-22T10:11:12Z"
)

// artifacts are one of each class.
func artifacts() map[string]any {
	digest := "sha256-salted:" + strings.Repeat("ab", 32)
	return map[string]any{
		ClassCertificate: Certificate{CertID: "cert_" + someID, Item: "hello", Date: someDate, PatronNumber: 1},
		ClassContextAnchor: ContextAnchor{AnchorID: "anchor_" + someID, Class: ClassContextAnchor, PatronNumber: 1,
			Date: someDate, Summary: "</script> 𐍈\n\"\\", Name: "Ada", FromTheStore: "https://store.example"},
		ClassBitcoinAnchor: BitcoinAnchor{AnchorID: "anchor_" + someID, Class: ClassBitcoinAnchor, PatronNumber: 1,
			Date: someDate, Digest: strings.Repeat("ab", 32), Label: "mine"},
		ClassPass: Pass{PassID: "pass_" + someID, Class: ClassPass, PatronNumber: 1, Date: someDate, Starts: someDate,
			Ends: laterOn},
		ClassNote: Note{Month: "2026-11", Class: ClassNote, Date: someDate, Text: "Quiet."},
		ClassOrder: Order{OrderID: "order_" + someID, Class: ClassOrder, PatronNumber: 1, Date: someDate,
			Item:   "phone_call",
			Status: "completed", PaidUSDC: "25", WindowHours: 168, DueAt: laterOn, Asked: digest, CompletedAt: laterOn,
			Answer: digest},
		ClassCheck: Look{CheckID: "check_" + someID, Class: ClassCheck, PatronNumber: 1, Date: someDate,
			Status: CheckObserved, URL: "http://a.example/", DueAt: someDate,
			Promise:  "sha256:" + strings.Repeat("ab", 32),
			LookedAt: laterOn, Answer: &Answer{HTTPStatus: 200, BodySHA256: strings.Repeat("ab", 32), BodyBytes: 7}},
		ClassServiceAudit: someReport(ClassServiceAudit), ClassOnpageAudit: someReport(ClassOnpageAudit),
		ClassProvenance: Provenance{ProvID: "prov_" + someID, Class: ClassProvenance, PatronNumber: 1, Date: someDate,
			Item: "provenance_check", Address: "0x" + strings.Repeat("ab", 20), ReadAt: someDate,
			Reading: jsontext.Value(`{"never_seen":true}`)},
		ClassDebt: Debt{DebtID: "debt_" + someID, Class: ClassDebt, Date: someDate, Kind: "refund", OwedUSDC: "0.5",
			Value: "500000", Network: "eip155:8453", Asset: "0xa", From: "0xb", To: "0xc", ValidAfter: "0",
			ValidBefore: "1800000000", Nonce: "0xd", Signature: "0xe", SettlementTx: "0xf"},
		ClassBounty: Bounty{BountyID: "bty_" + someID, Class: ClassBounty, Date: someDate,
			TargetURL: "https://a.example/x", RewardUSDC: "0.1", Value: "100000", Network: "eip155:8453", Asset: "0xa",
			From: "0xb", To: "0xc", ValidAfter: "0", ValidBefore: "1800000000", Nonce: "0xd", Signature: "0xe",
			SettlementNetwork: "eip155:8453", SettlementTx: "0xf", FromTheStore: "https://store.example"},
		ClassPorchLine: PorchLine{StampID: "stamp_" + someID, Class: ClassPorchLine, Date: someDate, Line: "Quiet.",
			Hour: "2026-11-22T10:00:00Z", Weather: "fair", SealedWeek: "2026-W46",
			FromTheStore: "https://store.example"},
		ClassLetter: Letter{LetterID: "let_" + someID, Class: ClassLetter, Date: someDate, Status: "replied",
			Wrote: digest, RepliedAt: laterOn, Reply: "Quite.", MadeBy: "The keeper"},
		ClassRequest: Request{RequestID: "req_" + someID, Class: ClassRequest, Date: someDate, Status: "quoted",
			Asked: digest, QuotedAt: laterOn, PriceUSDC: "12.5", WindowHours: 168},
		ClassStamp: Stamp{StampID: "stamp_" + someID, Class: ClassStamp, Date: someDate, Week: "2026-W47",
			Line: "Here."},
		ClassSticker: Sticker{StampID: "stamp_" + someID, Class: ClassSticker, Date: someDate, Entry: "gst_" + someID,
			Identity: "did:key:z6Mk", Line: "Signed."},
	}
}

// Each class is read back as what it is, and no byte of it can change.
func TestEveryClassIsReadBack(t *testing.T) {
	t.Parallel()
	ring := must[Ring](t)(NewRing("2026-08-17", ringKeys()))
	all := artifacts()
	if len(all) != len(payloads) {
		t.Fatalf("%d artifacts for %d classes", len(all), len(payloads))
	}
	for class, v := range all {
		p := must[Proof](t)(SignPayload(testKey(1), v))
		a, by, err := OpenArtifact(p, ring)
		if err != nil || a.Class != class || a.ID == "" || a.Date != someDate || by.Status != SignerCurrent {
			t.Errorf("%s: %+v, %+v, %v", class, a, by, err)
		}
		for i := range p.SignedPayload {
			bad := p
			bad.SignedPayload = p.SignedPayload[:i] + string(p.SignedPayload[i]^1) + p.SignedPayload[i+1:]
			if _, err := bad.Artifact(); err == nil {
				t.Errorf("%s: byte %d may change", class, i)
			}
		}
		if _, _, err := OpenArtifact(must[Proof](t)(SignPayload(testKey(9), v)), ring); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("%s by a stranger's key: %v", class, err)
		}
	}
}

// ringKeys are the first test key as identity.
func ringKeys() map[Purpose]ed25519.PublicKey {
	return map[Purpose]ed25519.PublicKey{PurposeIdentity: testKey(1).Public()}
}

// What is signed well and means nothing, or something else, is refused.
func TestMalformedArtifactsAreRefused(t *testing.T) {
	t.Parallel()
	of := func(class string, change func(v any) any) any { return change(artifacts()[class]) }
	for name, v := range map[string]any{
		"an unknown class": struct {
			Class string `json:"class"`
		}{"title_deed"},
		"no class":     struct{}{},
		"another's id": of(ClassPass, func(v any) any { p := v.(Pass); p.PassID = "order_" + someID; return p }),
		"a short id":   of(ClassPass, func(v any) any { p := v.(Pass); p.PassID = "pass_abc"; return p }),
		"a long id":    of(ClassPass, func(v any) any { p := v.(Pass); p.PassID += "a"; return p }),
		"an id that is no base32": of(ClassPass, func(v any) any {
			p := v.(Pass)
			p.PassID = "pass_ABCDEFGHIJ2345672345"
			return p
		}),
		"a class that is not its own": of(ClassPass, func(v any) any { p := v.(Pass); p.Class = ClassOrder; return p }),
		"no date":                     of(ClassPass, func(v any) any { p := v.(Pass); p.Date = ""; return p }),
		"an end before its beginning": of(ClassPass, func(v any) any {
			p := v.(Pass)
			p.Starts, p.Ends = p.Ends, p.Starts
			return p
		}),
		"no summary": of(ClassContextAnchor, func(v any) any { a := v.(ContextAnchor); a.Summary = ""; return a }),
		"half a digest": of(ClassBitcoinAnchor, func(v any) any {
			a := v.(BitcoinAnchor)
			a.Digest = a.Digest[:32]
			return a
		}),
		"no month": of(ClassNote, func(v any) any { n := v.(Note); n.Month = "2026-11-01"; return n }),
		"a queued order with an answer": of(ClassOrder, func(v any) any {
			o := v.(Order)
			o.Status = "queued"
			return o
		}),
		"a completed order without one": of(ClassOrder, func(v any) any { o := v.(Order); o.Answer = ""; return o }),
		"an order in no " +
			"state": of(ClassOrder, func(v any) any { o := v.(Order); o.Status = "lost"; return o }),
		"an order of " +
			"less": of(ClassOrder, func(v any) any { o := v.(Order); o.PaidUSDC = "-1"; return o }),
		"a letter without its digest": of(ClassLetter, func(v any) any { l := v.(Letter); l.Wrote = "x"; return l }),
		"a received letter with a reply": of(ClassLetter, func(v any) any {
			l := v.(Letter)
			l.Status = "received"
			return l
		}),
		"a reply of nobody": of(ClassLetter, func(v any) any { l := v.(Letter); l.MadeBy = ""; return l }),
		"a filed request at a price": of(ClassRequest, func(v any) any {
			r := v.(Request)
			r.Status = "filed"
			return r
		}),
		"a quote of no price": of(ClassRequest, func(v any) any { r := v.(Request); r.PriceUSDC = ""; return r }),
		"a stamp of no week":  of(ClassStamp, func(v any) any { s := v.(Stamp); s.Week = "2026-W54"; return s }),
		"a sticker of no entry": of(ClassSticker, func(v any) any {
			s := v.(Sticker)
			s.Entry = "gst_"
			return s
		}),
	} {
		p := must[Proof](t)(SignPayload(testKey(1), v))
		if a, err := p.Artifact(); err == nil {
			t.Errorf("%s is taken for %+v", name, a)
		}
	}
	// A member more, or the same in another order, is another thing.
	for _, raw := range []string{
		`{"pass_id":"pass_` + someID + `","class":"patronage_pass","date":"` + someDate + `","starts":"` + someDate +
			`","ends":"` + laterOn + `","lifelong":true}`,
		`{"class":"patronage_pass","pass_id":"pass_` + someID + `","date":"` + someDate + `","starts":"` + someDate +
			`","ends":"` + laterOn + `"}`,
	} {
		if a, err := ParseArtifact([]byte(raw)); err == nil {
			t.Errorf("%s is taken for %+v", raw, a)
		}
	}
}
