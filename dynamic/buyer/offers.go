package buyer

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
)

// maxDocuments bounds what a door can make us fetch for one look at its terms.
const maxDocuments = 2

// keyring finds the keys of a door's did:web identity in the document on the door's own origin,
// fetched once.
type keyring struct {
	b        *Buyer
	door     *url.URL
	document map[string]didDocument // by URL
}

type didDocument struct {
	methods []didMethod
	err     error
}

type didMethod struct {
	ID  string `json:"id"`
	JWK struct {
		KTY string `json:"kty"`
		CRV string `json:"crv"`
		X   string `json:"x"`
	} `json:"publicKeyJwk"`
}

// key returns the ed25519 key that a kid names. Documents of other origins are not fetched: whoever
// signs for a door shall be found there.
func (k *keyring) key(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	did, fragment, ok := strings.Cut(kid, "#")
	id, isWeb := strings.CutPrefix(did, "did:web:")
	if !ok || fragment == "" || !isWeb {
		return nil, fmt.Errorf("the signer %s is not a key of a did:web", quoted(kid))
	}
	parts := strings.Split(id, ":")
	host := strings.ReplaceAll(strings.ReplaceAll(parts[0], "%3A", ":"), "%3a", ":")
	at := &url.URL{Scheme: k.door.Scheme, Host: host, Path: "/.well-known/did.json"}
	if len(parts) > 1 {
		at.Path = "/" + strings.Join(parts[1:], "/") + "/did.json"
	}
	origin := func(u *url.URL) string { return place(&url.URL{Scheme: u.Scheme, Host: u.Host}) }
	if origin(at) != origin(k.door) {
		return nil, fmt.Errorf("the signer is another host than the door: %s", printable(host, 100))
	}
	doc, ok := k.document[at.String()]
	if !ok {
		if len(k.document) == maxDocuments {
			return nil, errors.New("the signers are in too many documents")
		}
		doc = k.fetch(ctx, at)
		k.document[at.String()] = doc
	}
	if doc.err != nil {
		return nil, doc.err
	}
	for _, m := range doc.methods {
		if m.ID != kid || m.JWK.KTY != "OKP" || m.JWK.CRV != "Ed25519" {
			continue
		}
		pub, err := base64.RawURLEncoding.DecodeString(m.JWK.X)
		if err != nil || len(pub) != ed25519.PublicKeySize {
			return nil, errors.New("the signer's key in the door's did.json cannot be read")
		}
		return pub, nil
	}
	return nil, errors.New("the door's did.json does not have the signer's key")
}

func (k *keyring) fetch(ctx context.Context, at *url.URL) didDocument {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a, err := k.b.exchange(ctx, request{Method: http.MethodGet, URL: at.String(),
		Header: http.Header{"Accept": {"application/did+json, application/json"}}}, 64<<10)
	if err != nil {
		return didDocument{err: errors.New("the door's did.json cannot be fetched")}
	}
	var doc struct {
		Methods []didMethod `json:"verificationMethod"`
	}
	if a.Status != http.StatusOK || a.Truncated || json.Unmarshal(a.Body, &doc) != nil {
		return didDocument{err: errors.New("the door has no did.json that can be read")}
	}
	return didDocument{methods: doc.Methods}
}

// wireSigned is an offer or receipt of the offer-receipt extension.
type wireSigned struct {
	Format      string         `json:"format"`
	AcceptIndex *int           `json:"acceptIndex"`
	Signature   string         `json:"signature"`
	Payload     jsontext.Value `json:"payload"`
}

// checkOffers compares the signed offers of the header with accepts and verifies them where it can.
func (b *Buyer) checkOffers(ctx context.Context, t *Terms, u *url.URL) {
	t.keys = &keyring{b: b, door: u, document: make(map[string]didDocument)}
	for i := range t.Entries {
		t.Entries[i].Offer = "not signed"
	}
	var ext struct {
		Info struct {
			Offers []wireSigned `json:"offers"`
		} `json:"info"`
	}
	raw, ok := t.extensions[x402.ExtOffers]
	if !ok {
		return
	}
	if json.Unmarshal(raw, &ext) != nil || len(ext.Info.Offers) > maxAccepts {
		t.warn("The signed offers cannot be read.")
		return
	}
	for n, s := range ext.Info.Offers {
		o, kind, err := readOffer(s)
		if err != nil {
			t.warn("Signed offer %d cannot be read.", n)
			continue
		}
		// acceptIndex is not signed: the fields say which entry is meant.
		i := slices.IndexFunc(t.Entries, func(e Entry) bool {
			return o.Scheme == e.Scheme && o.Network == e.Network &&
				networks.SameAddress(e.Network, o.Asset, e.Asset) &&
				networks.SameAddress(e.Network, o.PayTo, e.PayTo) && o.Amount == e.Amount
		})
		if i < 0 {
			t.warn("Signed offer %d disagrees with everything in accepts: it is for %s of %s on %s to %s.", n,
				printable(o.Amount, 40), printable(o.Asset, 50), printable(o.Network, 50), printable(o.PayTo, 50))
			continue
		}
		e := &t.Entries[i]
		e.Offer = b.verifyOffer(ctx, t, signedOffer{s, o, kind}, e)
		if o.ResourceURL != t.Resource {
			t.warn("Signed offer %d is for another resource: %s.", n, printable(o.ResourceURL, 200))
		}
		if o.ValidUntil != 0 && o.ValidUntil < b.cfg.Now().Unix() {
			t.warn("Signed offer %d has expired.", n)
		}
	}
}

// readOffer reads what an offer says, without verifying who says it.
func readOffer(s wireSigned) (o attest.Offer, kind string, err error) {
	switch s.Format {
	case "jws":
		j, err := attest.ParseJWS(s.Signature)
		if err != nil {
			return o, "", err
		}
		o, err = attest.ParseOffer(j.Payload)
		return o, j.Alg, err
	case "eip712":
		o, err = attest.ParseOffer(s.Payload)
		return o, s.Format, err
	}
	return o, "", fmt.Errorf("format %q", s.Format)
}

// signedOffer is an offer as it came, what it says, and how it is signed.
type signedOffer struct {
	wire wireSigned
	says attest.Offer
	kind string
}

func (b *Buyer) verifyOffer(ctx context.Context, t *Terms, s signedOffer, e *Entry) string {
	switch s.kind {
	case "EdDSA", "Ed25519":
		_, err := attest.OpenOffer(s.wire.Signature,
			func(kid string) (ed25519.PublicKey, error) { return t.keys.key(ctx, kid) })
		switch {
		case err == nil:
			return "signed, verified with the key in the door's did.json"
		case errors.Is(err, attest.ErrJWSSignature):
			t.warn("The signature of an offer is false.")
			return "signed falsely"
		}
		return "signed, not verified: " + reason(err)
	case "eip712":
		sig, err := wallet.ParseSignature(s.wire.Signature, wallet.SignatureSize)
		if err != nil {
			return "signed, not verified: the signature cannot be read"
		}
		signer, err := wallet.Recover(wallet.Offer{
			Version: uint64(s.says.Version), ResourceURL: s.says.ResourceURL, Scheme: s.says.Scheme,
			Network: s.says.Network, Asset: s.says.Asset, PayTo: s.says.PayTo, Amount: s.says.Amount,
			ValidUntil: uint64(s.says.ValidUntil),
		}.Digest(), wallet.NormalizeV(sig))
		if err != nil || signer.String() != e.payTo {
			return "signed, not verified: the signer is not the receiver of the money"
		}
		return "signed, verified: by the receiver of the money"
	}
	return "signed, not verified: algorithm " + quoted(s.kind) + " is not known"
}

// reason is the innermost text of an error.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return printable(err.Error(), 200)
		}
		err = inner
	}
}

// Receipt is the door's signed receipt.
type Receipt struct {
	JWS      string `json:"jws,omitempty"` // empty: the door gave none that is a JWS
	Verified bool   `json:"verified"`
	Note     string `json:"note"`
	// Binds says by which digest a delivery receipt beside it binds the body (attest.BodyRaw or
	// BodyJCS); empty where there is none.
	Binds string `json:"binds,omitempty"`
}

// checkReceipt verifies the receipt of a settlement and compares it with what was bought.
func (b *Buyer) checkReceipt(ctx context.Context, p *purchase, s *x402.SettleResponse) Receipt {
	var info struct {
		Receipt wireSigned `json:"receipt"`
	}
	ext, ok := s.Extensions[x402.ExtOffers]
	if !ok || json.Unmarshal(ext.Info, &info) != nil || info.Receipt.Signature == "" {
		return Receipt{Note: "the door gave no signed receipt"}
	}
	if info.Receipt.Format != "jws" {
		return Receipt{Note: "the receipt's format " + quoted(info.Receipt.Format) + " is not checked"}
	}
	r := Receipt{JWS: info.Receipt.Signature}
	u, err := parseURL(p.Request.URL)
	if err != nil {
		r.Note = "not verified: " + reason(err)
		return r
	}
	keys := &keyring{b: b, door: u, document: make(map[string]didDocument)}
	got, err := attest.OpenReceipt(r.JWS, func(kid string) (ed25519.PublicKey, error) { return keys.key(ctx, kid) })
	if err != nil {
		r.Note = "not verified: " + reason(err)
		return r
	}
	ru, err := url.Parse(got.ResourceURL)
	switch {
	case err != nil || got.ResourceURL != p.Resource && place(ru) != place(u):
		r.Note = "it is for another resource: " + printable(got.ResourceURL, 200)
	case got.Network != p.Network:
		r.Note = "it is for another network: " + printable(got.Network, 60)
	case !networks.SameAddress(p.Network, got.Payer, p.Payer):
		r.Note = "it is for another payer: " + printable(got.Payer, 60)
	case got.Transaction != "" && !networks.SameAddress(p.Network, got.Transaction, s.Transaction):
		r.Note = "it names another transaction: " + printable(got.Transaction, 80)
	default:
		r.Verified, r.Note = true, "verified with the key in the door's did.json"
		b.checkDelivery(ctx, p, s, keys, &r)
	}
	return r
}

// checkDelivery holds the delivery receipt that stands beside a receipt against the body: one that
// does not bind it, or is of another payment, takes the receipt's word away.
func (b *Buyer) checkDelivery(ctx context.Context, p *purchase, s *x402.SettleResponse, keys *keyring, r *Receipt) {
	a := p.Answer
	if a.Truncated {
		return // nobody has the body that it binds
	}
	jws := a.Header.Get(headerDelivery)
	if mediaType, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); mediaType == "application/json" {
		jws, _ = attest.DeliveryOf(a.Body) // what is no object of JSON has none
	}
	if !attest.IsDelivery(jws) { // another door may mean another thing by the name
		return
	}
	d, err := attest.OpenDelivery(jws, func(kid string) (ed25519.PublicKey, error) { return keys.key(ctx, kid) })
	if err == nil {
		r.Binds, err = d.Binds(a.Body)
	}
	same := func(x, y string) bool { return networks.SameAddress(p.Network, x, y) }
	if err == nil && (d.Network != p.Network || !same(d.Payer, p.Payer) || !same(d.Transaction, s.Transaction) ||
		!same(d.Asset, p.Asset)) {
		err = errors.New("it is of another payment")
	}
	if err != nil {
		r.Verified, r.Binds, r.Note = false, "", "the delivery receipt does not hold: "+reason(err)
		return
	}
	r.Note += ", and the delivery receipt binds the body"
}
