package buyer

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/dynamic/pay/x402"
)

// seededReader gives the same bytes for ever.
type seededReader byte

func (r seededReader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r)
	}
	return len(b), nil
}

// signingDoor is a store in small on loopback: signed offers, a did.json, a signed receipt.
type signingDoor struct {
	*httptest.Server
	key       *attest.Key
	published ed25519.PublicKey
	host      string
	// offer and receipt may be bent before they are signed.
	offer   func(*attest.Offer)
	receipt func(*attest.Receipt)
	// delivery may be bent too; nil gives none.
	delivery func(*attest.Delivery)
	noDID    bool
}

func newSigningDoor(t *testing.T) *signingDoor {
	t.Helper()
	key, err := attest.Generate(seededReader(7))
	if err != nil {
		t.Fatal(err)
	}
	d := &signingDoor{key: key, published: key.Public(), offer: func(*attest.Offer) {},
		receipt: func(*attest.Receipt) {}}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	d.host = strings.TrimPrefix(d.URL, "http://")
	t.Cleanup(d.Close)
	return d
}

func (d *signingDoor) serve(w http.ResponseWriter, r *http.Request) {
	kid := attest.DIDURL(d.host, d.key.KID())
	resource := d.URL + "/buy"
	switch {
	case r.URL.Path == "/.well-known/did.json" && !d.noDID:
		jwkX := base64.RawURLEncoding.EncodeToString(d.published)
		json.NewEncoder(w).Encode(obj{"id": attest.DID(d.host), "verificationMethod": []obj{
			{"id": kid, "type": "JsonWebKey", "publicKeyJwk": obj{"kty": "OKP", "crv": "Ed25519", "x": jwkX}}}})
	case r.URL.Path != "/buy":
		http.NotFound(w, r)
	case r.Header.Get(headerSignature) == "":
		o := attest.Offer{Version: 1, ResourceURL: resource, Scheme: "exact", Network: "eip155:8453", Asset: baseUSD,
			PayTo: payTo, Amount: "500000", ValidUntil: time.Now().Unix() + 300}
		d.offer(&o)
		jws, err := attest.SignOffer(d.key, kid, o)
		if err != nil {
			panic(err)
		}
		req := required(entry(nil))
		req["resource"] = obj{"url": resource}
		req["extensions"] = obj{"offer-receipt": obj{"info": obj{"offers": []obj{{"format": "jws", "acceptIndex": 0,
			"signature": jws}}}}}
		w.Header().Set(x402.HeaderRequired, b64(req))
		w.WriteHeader(402)
	default:
		p, err := x402.Decode(r.Header.Get(headerSignature))
		if err != nil {
			panic(err)
		}
		var pay wirePayload
		if err := json.Unmarshal(p.Payload, &pay); err != nil {
			panic(err)
		}
		rc := attest.Receipt{Version: 1, Network: "eip155:8453", ResourceURL: resource, Payer: pay.Authorization.From,
			IssuedAt: time.Now().Unix(), Transaction: "0xabc"}
		d.receipt(&rc)
		jws, err := attest.SignReceipt(d.key, kid, rc)
		if err != nil {
			panic(err)
		}
		ext, err := x402.ReceiptExtension(jws)
		if err != nil {
			panic(err)
		}
		w.Header().Set(x402.HeaderResponse,
			b64(x402.SettleResponse{Success: true, Payer: pay.Authorization.From, Transaction: "0xabc",
				Network: "eip155:8453", Extensions: map[string]x402.Extension{x402.ExtOffers: ext}}))
		if d.delivery != nil {
			dr := attest.Delivery{Amount: "500000", Asset: baseUSD, Decimals: 6, IssuedAt: time.Now().Unix(),
				Network: "eip155:8453", Payer: pay.Authorization.From, ResourceURL: resource,
				SettledAt: time.Now().Unix(), Transaction: "0xabc"}
			dr.Bind("text/plain", []byte("the good"))
			d.delivery(&dr)
			bound, err := attest.SignDelivery(d.key, kid, dr)
			if err != nil {
				panic(err)
			}
			w.Header().Set(headerDelivery, bound)
		}
		w.Write([]byte("the good"))
	}
}

func TestOffersAndReceiptsAreVerified(t *testing.T) {
	tests := []struct {
		name            string
		bend            func(*signingDoor)
		offer, warning  string
		receipt         string
		receiptVerified bool
	}{
		{"honest", func(*signingDoor) {}, "verified with", "", "verified with", true},
		{"another price signed", func(d *signingDoor) { d.offer = func(o *attest.Offer) { o.Amount = "100" } },
			"not signed", "disagrees with everything in accepts", "verified with", true},
		{"another receiver signed", func(d *signingDoor) { d.offer = func(o *attest.Offer) { o.PayTo = baseUSD } },
			"not signed", "disagrees", "verified with", true},
		{"another resource signed",
			func(d *signingDoor) { d.offer = func(o *attest.Offer) { o.ResourceURL = "https://x.example/" } },
			"verified with", "another resource", "verified with", true},
		{"expired", func(d *signingDoor) { d.offer = func(o *attest.Offer) { o.ValidUntil = 1 } }, "verified with",
			"expired", "verified with", true},
		{"signed by another key than the published",
			func(d *signingDoor) { d.published = make(ed25519.PublicKey, ed25519.PublicKeySize) }, "signed falsely",
			"signature of an offer is false", "does not verify", false},
		{"no did.json", func(d *signingDoor) { d.noDID = true }, "not verified: the door has no did.json", "",
			"not verified: the door has no did.json", false},
		{"signer elsewhere", func(d *signingDoor) { d.host = "elsewhere.example" },
			"not verified: the signer is another host", "", "not verified: the signer is another host", false},
		{"receipt for another payer", func(d *signingDoor) { d.receipt = func(r *attest.Receipt) { r.Payer = payTo } },
			"verified with", "", "another payer", false},
		{"receipt for another transaction",
			func(d *signingDoor) { d.receipt = func(r *attest.Receipt) { r.Transaction = "0xdef" } }, "verified with",
			"", "another transaction", false},
		{"receipt for another resource",
			func(d *signingDoor) { d.receipt = func(r *attest.Receipt) { r.ResourceURL = "https://x.example/" } },
			"verified with", "", "another resource", false},
		{"bound", func(d *signingDoor) { d.delivery = func(*attest.Delivery) {} }, "verified with", "",
			"delivery receipt binds the body", true},
		{"bound to another body",
			func(d *signingDoor) { d.delivery = func(r *attest.Delivery) { r.Bind("text/plain", nil) } },
			"verified with", "", "not what the delivery receipt was signed for", false},
		{"bound to another payment",
			func(d *signingDoor) { d.delivery = func(r *attest.Delivery) { r.Transaction = "0xdef" } },
			"verified with", "", "of another payment", false},
		{"a receipt of another make",
			func(d *signingDoor) { d.delivery = func(r *attest.Delivery) { r.Type = "other" } },
			"verified with", "", "verified with", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newSigningDoor(t)
			tt.bend(d)
			b := newBuyer(t, http.DefaultTransport, nil)
			terms, err := b.Terms(t.Context(), d.URL+"/buy", Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(terms.Warnings, "\n")
			if !strings.Contains(terms.Entries[0].Offer, tt.offer) || !strings.Contains(all, tt.warning) ||
				(all == "") != (tt.warning == "") {
				t.Errorf("offer %q, warnings %q; want %q, %q", terms.Entries[0].Offer, all, tt.offer, tt.warning)
			}
			r, err := b.Buy(t.Context(), d.URL+"/buy", Options{})
			if err != nil || string(r.Body) != "the good" {
				t.Fatalf("Buy = %+v, %v", r, err)
			}
			if r.Receipt.Verified != tt.receiptVerified || !strings.Contains(r.Receipt.Note, tt.receipt) {
				t.Errorf("receipt %+v, want %q", r.Receipt, tt.receipt)
			}
		})
	}
}

// TestDefaultClientAgainstABadServer uses the buyer's own transport over loopback.
func TestDefaultClientAgainstABadServer(t *testing.T) {
	var followed bool
	mux := http.NewServeMux()
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		for range 40 {
			w.Header().Add("X-Long", strings.Repeat("x", 4<<10))
		}
		w.WriteHeader(402)
	})
	mux.HandleFunc("/redirect",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/target", http.StatusFound) })
	mux.HandleFunc("/target", func(w http.ResponseWriter, r *http.Request) { followed = true })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	b := newBuyer(t, nil, func(c *Config) { c.Client = nil })
	if _, err := b.Terms(t.Context(), s.URL+"/headers", Options{}); err == nil {
		t.Error("headers without end were read")
	}
	_, err := b.Terms(t.Context(), s.URL+"/redirect", Options{})
	if de, ok := errors.AsType[*DoorError](err); !ok || de.Status != http.StatusFound || followed {
		t.Errorf("Terms = %v, followed %v", err, followed)
	}
	r, err := b.Buy(t.Context(), s.URL+"/endless", Options{})
	if err != nil || !r.Free || !r.Truncated || len(r.Body) != MaxBody {
		t.Errorf("Buy = %d bytes, %v", len(r.Body), err)
	}
}

// TestKilledWhileTheAnswerIsUnderWay kills a buyer's process when its payment has arrived, and
// resumes in this one.
func TestKilledWhileTheAnswerIsUnderWay(t *testing.T) {
	var mu sync.Mutex
	var got []string
	arrived, killed := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(headerSignature) == "" {
			w.Header().Set(x402.HeaderRequired, b64(required(entry(nil))))
			w.WriteHeader(402)
			return
		}
		mu.Lock()
		got = append(got, dump(r))
		first := len(got) == 1
		mu.Unlock()
		if first {
			close(arrived)
			<-killed
			return
		}
		w.Write([]byte("the good"))
	}))
	defer s.Close()
	journal := filepath.Join(t.TempDir(), "journal")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^TestBuyInAChild$")
	child.Env = append(os.Environ(), "BUYER_TEST_JOURNAL="+journal, "BUYER_TEST_URL="+s.URL+"/x")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case <-arrived:
	case err := <-ended:
		close(killed)
		t.Fatalf("the child ended before its payment arrived: %v", err)
	}
	err = child.Process.Kill()
	<-ended
	close(killed)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuyer(t, http.DefaultTransport, func(c *Config) { c.Journal = Folder(journal) })
	if _, err := b.Buy(t.Context(), s.URL+"/x", Options{}); !errors.Is(err, ErrUnfinished) {
		t.Errorf("Buy = %v, want ErrUnfinished", err)
	}
	all, err := b.Resume(t.Context())
	if err != nil || len(all) != 1 || string(all[0].Body) != "the good" {
		t.Fatalf("Resume = %+v, %v", all, err)
	}
	if len(got) != 2 || got[0] != got[1] {
		t.Errorf("resumed with another request:\n%s", strings.Join(got, "\n---\n"))
	}
}

// TestBuyInAChild is the process that TestKilledWhileTheAnswerIsUnderWay kills; on its own it has
// nothing to do.
func TestBuyInAChild(t *testing.T) {
	journal := os.Getenv("BUYER_TEST_JOURNAL")
	if journal == "" {
		return
	}
	b := newBuyer(t, http.DefaultTransport, func(c *Config) { c.Journal = Folder(journal) })
	_, err := b.Buy(context.Background(), os.Getenv("BUYER_TEST_URL"), Options{})
	t.Fatalf("Buy = %v: it was to be killed", err)
}
