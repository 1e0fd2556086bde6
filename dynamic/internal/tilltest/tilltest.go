// Package tilltest serves a till to its tests, and reads answers and ledgers for them, whether a
// chain stands behind it (package onchaintest) or what plays one.
package tilltest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// Handler serves a till's rows as the store does, with odd errors shown to the test.
func Handler(tl *till.Till, base string, odd func(http.ResponseWriter, *http.Request, error),
	more ...route.Row) http.Handler {
	c, err := counter.New(counter.Config{Till: tl})
	if err != nil {
		panic(err)
	}
	return Serve(append(c.Rows(), more...), base, odd)
}

// Serve serves rows as the store does.
func Serve(rows []route.Row, base string, odd func(http.ResponseWriter, *http.Request, error)) http.Handler {
	mux := http.NewServeMux()
	for _, row := range rows {
		if strings.HasSuffix(row.Pattern, ".svg") {
			continue
		}
		pattern, param, prefix := row.Pattern, "", ""
		if at := strings.LastIndexByte(pattern, '{'); at > 0 && pattern[at-1] != '/' { // a mux has whole segments
			slash := strings.LastIndexByte(pattern[:at], '/') + 1
			pattern, param, prefix = pattern[:slash]+pattern[at:], strings.Trim(pattern[at:], "{}"), pattern[slash:at]
		}
		mux.HandleFunc(row.Method+" "+pattern, func(w http.ResponseWriter, r *http.Request) {
			if prefix != "" {
				r.SetPathValue(param, strings.TrimPrefix(r.PathValue(param), prefix))
			}
			err := row.Handle(w, r)
			if err == nil {
				return
			}
			pe, ok := errors.AsType[*problem.Error](err)
			if !ok {
				pe = &problem.Error{Code: "internal", Err: err}
				odd(w, r, err)
			}
			problem.Write(w, r, base, pe)
		})
	}
	return mux
}

// PlainBody is a body without the members in which a repeat differs.
func PlainBody(r Reply) map[string]any {
	m := maps.Clone(r.Body)
	delete(m, "idempotent_replay")
	delete(m, "first_served_at")
	delete(m, "charged_now")
	delete(m, "to_buy_another")
	return m
}

// Scarce is the specimen with few entries left in some pools.
func Scarce(t *testing.T, left map[string]int) *content.Site {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range left {
		p, ok := site.Pools[name]
		if !ok {
			t.Fatalf("no pool %s", name)
		}
		p.Entries = p.Entries[:n]
		site.Pools[name] = p
	}
	return site
}

// Reply is an answer of the shop.
type Reply struct {
	Status int
	Header http.Header
	Raw    []byte
	Body   map[string]any
}

// Str is a text in the body, "" where there is none.
func (r Reply) Str(path ...string) string {
	var v any = r.Body
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	s, _ := v.(string)
	return s
}

// DecodeChallenge reads a PAYMENT-REQUIRED header.
func DecodeChallenge(t testing.TB, header string) map[string]any {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Receipt is the decoded Payment-Receipt, nil without one.
func (r Reply) Receipt() map[string]any {
	raw, err := base64.RawURLEncoding.DecodeString(r.Header.Get("Payment-Receipt"))
	if err != nil {
		return nil
	}
	var m map[string]any
	json.Unmarshal(raw, &m)
	return m
}

// Unsuggested are the extensions of a challenge without the suggested key; a stock seller's has
// none.
func Unsuggested(ch map[string]any) map[string]any {
	all, _ := ch["extensions"].(map[string]any)
	if all == nil {
		return map[string]any{}
	}
	ext := maps.Clone(all)
	ext["payment-identifier"] = map[string]any{"info": map[string]any{"required": false}}
	return ext
}

// Code is the last part of a problem's type.
func (r Reply) Code() string {
	typ := r.Str("type")
	for i := len(typ) - 1; i >= 0; i-- {
		if typ[i] == '/' {
			return typ[i+1:]
		}
	}
	return typ
}

// Purchase is the purchase's id.
func (r Reply) Purchase() string { return r.Str("recovery", "purchase_id") }

// Response is the decoded PAYMENT-RESPONSE, nil without one.
func (r Reply) Response() map[string]any {
	raw, err := base64.StdEncoding.DecodeString(r.Header.Get("PAYMENT-RESPONSE"))
	if err != nil {
		return nil
	}
	var m map[string]any
	json.Unmarshal(raw, &m)
	return m
}

// AnswersPayment holds every answer to a presented payment against the rules of errors: what became
// of the goods and the money, and no new terms while the money may be on its way. One that came by
// x402 is told in PAYMENT-RESPONSE too.
func AnswersPayment(r Reply, x402 bool) error {
	if r.Header.Get("Cache-Control") == "" {
		return errors.New("the answer may be cached")
	}
	if r.Status < 400 {
		return BindsAnswer(r)
	}
	var errs []error
	if r.Status == 402 {
		errs = append(errs, SameTerms(r))
	}
	if _, ok := r.Body["delivered"].(bool); !ok {
		errs = append(errs, errors.New("no delivered"))
	}
	if !slices.Contains([]string{"yes", "no", "unknown"}, r.Str("billed")) {
		errs = append(errs, errors.New("no billed"))
	}
	if !slices.Contains([]string{"never", "now", "after", "same_payment"}, r.Str("retry")) {
		errs = append(errs, errors.New("no retry"))
	}
	if r.Str("next_step") == "" {
		errs = append(errs, errors.New("no next_step"))
	}
	if ended := r.Body["recovery"] != nil && slices.Contains([]string{"payment_invalid", "sold_out"},
		r.Code()); ended &&
		strings.Contains(r.Str("next_step"), "can be used by its holder until") != (r.Str("retry") == "after") {
		errs = append(errs, errors.New("an authorization that may still land is not told from one that cannot"))
	}
	if r.Str("billed") == "unknown" {
		if r.Code() != "payment_already_used" && (r.Status != 503 || r.Header.Get("Retry-After") == "") {
			errs = append(errs, errors.New("an unknown outcome is 503 with Retry-After"))
		}
		if r.Code() == "payment_unknown" &&
			(r.Purchase() == "" || x402 && (r.Response()["errorReason"] != "settlement_pending" ||
				r.Response()["success"] != false)) {
			errs = append(errs, errors.New("an unknown outcome names its settlement and the way back"))
		}
		if r.Header.Get("PAYMENT-REQUIRED") != "" || r.Header.Get("WWW-Authenticate") != "" {
			errs = append(errs, errors.New("an unknown outcome invites to sign again"))
		}
	}
	return errors.Join(errs...)
}

// BindsAnswer demands that the delivery receipt of what was bought, in a JSON answer or beside a
// text, binds exactly the bytes that came. A refund delivers nothing.
func BindsAnswer(r Reply) error {
	if r.Str("message") == "Refund acknowledged" {
		return nil
	}
	jws := r.Header.Get("X-Delivery-Receipt")
	if r.Header.Get("Content-Type") == "application/json" {
		var err error
		if jws, err = attest.DeliveryOf(r.Raw); err != nil {
			return err
		}
	}
	d, err := attest.OpenDelivery(jws, func(string) (ed25519.PublicKey, error) {
		return attest.SpecimenKey().Public(), nil
	})
	if err != nil {
		return fmt.Errorf("a delivery without its receipt: %w", err)
	}
	how, err := d.Binds(r.Raw)
	if err == nil && how != attest.BodyRaw {
		err = errors.New("the bytes are not those that its receipt binds")
	}
	return err
}

// SameTerms holds a 402 against what every 402 says: a note, the ceiling's warning and a key to
// suggest, and, where its header asks for a payment, the same terms in the body.
func SameTerms(r Reply) error {
	if r.Str("note") == "" || r.Str("warning") == "" || !strings.HasPrefix(r.Str("idempotency", "suggested_key"),
		"store-") {
		return errors.New("a 402 without its note, warning and suggested key")
	}
	header := r.Header.Get("PAYMENT-REQUIRED")
	if header == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		return err
	}
	var asked map[string]any
	if err := json.Unmarshal(raw, &asked); err != nil {
		return err
	}
	extensions, _ := asked["extensions"].(map[string]any)
	offer, _ := extensions["offer-receipt"].(map[string]any)
	delete(extensions, "offer-receipt")  // the body has it in offers
	delete(extensions, "sign-in-with-x") // the header alone has it
	for _, name := range []string{"x402Version", "resource", "accepts", "extensions"} {
		if asked[name] == nil || !reflect.DeepEqual(asked[name], r.Body[name]) {
			return fmt.Errorf("%s of the body is not that of the header", name)
		}
	}
	info, _ := offer["info"].(map[string]any)
	if info["offers"] == nil || !reflect.DeepEqual(info["offers"], r.Body["offers"]) || r.Str("offers_url") == "" {
		return errors.New("the signed offer of the body is not that of the header, or the others are nowhere")
	}
	return nil
}

// Purchases reads the whole journal.
func Purchases(t testing.TB, db ledger.DB) []till.Purchase {
	t.Helper()
	var all []till.Purchase
	err := db.View(context.Background(), func(tx ledger.Tx) error {
		all = nil
		for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// SettlementOf reads the settlement of a purchase; an empty one where nothing was signed.
func SettlementOf(t testing.TB, db ledger.DB, p till.Purchase) *settle.Settlement {
	t.Helper()
	s := &settle.Settlement{}
	if p.Settlement == "" {
		return s
	}
	err := db.View(context.Background(), func(tx ledger.Tx) (err error) {
		s, err = settle.Read(tx, p.Settlement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Resting reports whether nothing more is to become of a purchase by itself.
func Resting(p till.Purchase) bool {
	switch p.State {
	case till.Claimed, till.GoodsReady, till.Settling, till.Unknown, till.Asking, till.Settled, till.SettledLate,
		till.Capturing, till.Voiding:
		return false
	}
	return true
}

// Noted is how far each network was read, as the ledger remembers.
func Noted(t *testing.T, db ledger.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := db.View(context.Background(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			if key := ledger.KeyText(e.Key); strings.HasPrefix(key, "budget/uncredited/swept/") {
				all[key] = string(e.Value)
			}
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("read up to %v, %v", all, err)
	}
	return all
}
