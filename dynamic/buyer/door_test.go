package buyer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// testSecret is the public test key of the vectors.
const testSecret = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"

const (
	doorURL = "https://shop.example/api/buy/hello?name=x"
	payTo   = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
	baseUSD = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

func testKey(t *testing.T) *wallet.Key {
	t.Helper()
	k, err := wallet.ParseKey(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// obj is a JSON object under construction.
type obj map[string]any

// entry is a payable entry of accepts, with some members replaced.
func entry(replace obj) obj {
	e := obj{"scheme": "exact", "network": "eip155:8453", "amount": "500000", "asset": baseUSD, "payTo": payTo,
		"maxTimeoutSeconds": 300, "extra": obj{"name": "USD Coin", "version": "2"}}
	maps.Copy(e, replace)
	return e
}

func required(entries ...obj) obj {
	return obj{"x402Version": 2, "error": "Payment required",
		"resource": obj{"url": "https://shop.example/api/buy/hello", "description": "a greeting", "later": []int{1}},
		"accepts":  entries,
		"extensions": obj{"payment-identifier": obj{"info": obj{"required": false}, "schema": obj{"type": "object"}},
			"unheard-of": obj{"info": obj{"b": 1, "a": 2}}}}
}

func b64(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func response(status int, header map[string]string, body string) *http.Response {
	h := make(http.Header)
	for k, v := range header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func challenge(r obj) *http.Response {
	return response(402, map[string]string{"PAYMENT-REQUIRED": b64(r)},
		`{"idempotency":{"suggested_key":"store-hello-202611201130","header":"Idempotency-Key"}}`)
}

func delivered() *http.Response {
	return response(200, map[string]string{"Content-Type": "application/json",
		"PAYMENT-RESPONSE": b64(obj{"success": true,
			"payer": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "transaction": "0xabc", "network": "eip155:8453"})},
		`{"deliverable":"hello"}`)
}

// door is a seller in memory. unpaid and paid answer by how often they were asked; it keeps what it
// was sent.
type door struct {
	unpaid func(n int) *http.Response
	paid   func(n int, r *http.Request) (*http.Response, error)

	mu      sync.Mutex
	asked   int
	payment []string // PAYMENT-SIGNATURE of each paid request
	dumps   []string // each paid request whole
}

var errLost = errors.New("connection reset by peer")

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/did.json") {
		return response(404, nil, ""), nil
	}
	sig := r.Header.Get("PAYMENT-SIGNATURE")
	d.mu.Lock()
	if sig == "" {
		d.asked++
		n := d.asked
		d.mu.Unlock()
		return d.unpaid(n), nil
	}
	d.payment = append(d.payment, sig)
	d.dumps = append(d.dumps, dump(r))
	n := len(d.payment)
	d.mu.Unlock()
	return d.paid(n, r)
}

func dump(r *http.Request) string {
	var b bytes.Buffer
	b.WriteString(r.Method + " " + r.URL.String() + "\n")
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		b.WriteString(k + ": " + strings.Join(r.Header[k], "|") + "\n")
	}
	body, _ := io.ReadAll(r.Body)
	b.Write(body)
	return b.String()
}

// signatures is how many different payments the door was given.
func (d *door) signatures() int {
	return len(slices.Compact(slices.Sorted(slices.Values(d.payment))))
}

func simpleDoor(paid func(n int, r *http.Request) (*http.Response, error)) *door {
	return &door{unpaid: func(int) *http.Response { return challenge(required(entry(nil))) }, paid: paid}
}

func newBuyer(t *testing.T, d http.RoundTripper, change func(*Config)) *Buyer {
	t.Helper()
	c := Config{Wallet: testKey(t), Journal: Folder(filepath.Join(t.TempDir(), "journal")),
		Client: &http.Client{Transport: d}}
	if change != nil {
		change(&c)
	}
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dirOf is the folder of a buyer's journal.
func dirOf(b *Buyer) string { return string(b.cfg.Journal.(folder)) }

// files returns the journal's purchases.
func files(t *testing.T, b *Buyer) []*purchase {
	t.Helper()
	all, err := b.cfg.Journal.(folder).all()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkPayment is what a seller checks of a payment, with the store's own reader and the wallet's
// recovery.
func checkPayment(t *testing.T, header string, asked rail.Requirement) *x402.Presented {
	t.Helper()
	p, err := x402.Decode(header)
	if err != nil {
		t.Fatalf("the payment cannot be read: %v", err)
	}
	if x402.Match(p, []rail.Requirement{asked}) != 0 {
		t.Fatalf("accepted is not what was asked: %+v", p.Accepted)
	}
	var pay wirePayload
	if err := json.Unmarshal(p.Payload, &pay); err != nil {
		t.Fatal(err)
	}
	a := pay.Authorization
	var auth wallet.Authorization
	for text, into := range map[string]*wallet.Address{a.From: &auth.From, a.To: &auth.To} {
		if err := into.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for text, into := range map[string]*wallet.Uint256{a.Value: &auth.Value, a.ValidAfter: &auth.ValidAfter,
		a.ValidBefore: &auth.ValidBefore} {
		var err error
		if *into, err = wallet.ParseUint256(text); err != nil {
			t.Fatal(err)
		}
	}
	nonce, err := wallet.ParseSignature(a.Nonce, 32)
	if err != nil || len(nonce) != 32 {
		t.Fatalf("nonce %q", a.Nonce)
	}
	copy(auth.Nonce[:], nonce)
	sig, err := wallet.ParseSignature(pay.Signature, 65)
	if err != nil {
		t.Fatal(err)
	}
	asset, ok := findAsset(asked.Network, asked.Asset)
	if !ok {
		t.Fatal("unknown asset")
	}
	dom, err := asset.domain()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := wallet.Recover(auth.Digest(dom.Separator()), sig)
	if err != nil || signer != testKey(t).Address() || a.From != signer.String() {
		t.Fatalf("signed by %v, %v", signer, err)
	}
	if a.Value != asked.Amount || a.To != asked.PayTo || a.ValidAfter != "0" {
		t.Errorf("authorization %+v is not for %+v", a, asked)
	}
	before, _ := auth.ValidBefore.Int64()
	if before > time.Now().Unix()+int64(asked.MaxTimeoutSeconds) {
		t.Errorf("valid for %d s", before-time.Now().Unix())
	}
	return p
}

// noSecret fails when the wallet's key is in any file below dir or in text.
func noSecret(t *testing.T, dir string, text ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		text = append(text, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := wallet.ParseSignature("0x"+testSecret, 32)
	for _, s := range text {
		if strings.Contains(strings.ToLower(s), testSecret) ||
			strings.Contains(s, base64.StdEncoding.EncodeToString(raw)) {
			t.Errorf("the wallet's key is in: %.200s", s)
		}
	}
}
