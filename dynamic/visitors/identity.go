package visitors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/did"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

// VerifiedIdentity says who left something, and proves it: address or did, and a signature over
// SignedText.
type VerifiedIdentity struct {
	Address   string `json:"address,omitzero" jsonschema:"0x and 40 hex digits, base58 of 32 bytes, or a CAIP-10 account"`
	DID       string `json:"did,omitzero" jsonschema:"did:key, did:jwk or did:web, with the fragment of its key where it has several"`
	Signature string `json:"signature" jsonschema:"by the address: as its wallet signs a message (EIP-191, EIP-1271, signMessage); by the DID: base64url or hex of 64 bytes"`
}

// Identity is what is kept of it.
type Identity struct {
	Name     string `json:"name"` // the address, account or DID
	Verified bool   `json:"verified,omitzero"`
	Key      string `json:"key,omitzero"` // public key of a DID, hex
	Why      string `json:"why,omitzero"` // it does not hold
	Digest   string `json:"digest"`       // of name and signed text, hex
	Signed   string `json:"-"`
}

// Proved is what the visitor is told of it.
type Proved struct {
	Identity string `json:"verified_identity"`
	Verified bool   `json:"identity_verified"`
	Key      string `json:"identity_public_key,omitzero"`
	Why      string `json:"why_not,omitzero"`
	// SignThis is the text that had to be signed, where the signature does not hold.
	SignThis string `json:"sign_this,omitzero"`
}

func (i *Identity) told() *Proved {
	if i == nil {
		return nil
	}
	p := &Proved{Identity: i.Name, Verified: i.Verified, Key: i.Key, Why: i.Why}
	if !i.Verified {
		p.SignThis = i.Signed
	}
	return p
}

// Wallets judges signatures of wallets; *till.Till is one. why says that it does not hold, an error
// that it could not be judged.
type Wallets interface {
	ProveText(ctx context.Context, address, signature, text, client string) (who, why string, err error)
}

// Fetcher reads the documents of did:web; *fetch.Client is one.
type Fetcher interface {
	Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error)
}

// readDID is the budget of what strangers can make us fetch, in each process.
const readDID = "did_documents"

var reads = []budget.Limit{{Name: readDID, Window: time.Minute, Client: 5, Process: 60,
	Doc: "Documents of did:web that are fetched to find out who signed what a visitor left."}}

// Prover is what identities are judged with. What is nil judges nothing.
type Prover struct {
	Wallets Wallets
	Fetch   Fetcher
}

const (
	maxAddress   = 200
	maxDID       = 500
	maxSignature = 2 + 2*4096
	// proveTime bounds the reading of one document.
	proveTime = 10 * time.Second
)

// check refuses an identity that is none by its form.
func (v *VerifiedIdentity) check() error {
	if v == nil {
		return nil
	}
	bad := func(what string) error {
		return &problem.Error{Code: "invalid_input", Detail: "Nothing was kept, and nothing was counted: " +
			"verified_identity " + what + ".", Fields: []problem.Field{{Field: "verified_identity", Problem: what}}}
	}
	ascii := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	switch {
	case (v.Address == "") == (v.DID == ""):
		return bad("names an address or a did, one of the two")
	case len(v.Address) > maxAddress || !ascii(v.Address):
		return bad(fmt.Sprintf("has an address that is not of at most %d visible ASCII characters", maxAddress))
	case len(v.DID) > maxDID || !ascii(v.DID) || v.DID != "" && !strings.HasPrefix(v.DID, "did:"):
		return bad(fmt.Sprintf("has a did that is not did: and at most %d visible ASCII characters", maxDID))
	case v.Signature == "" || len(v.Signature) > maxSignature || !ascii(v.Signature):
		return bad(fmt.Sprintf("has a signature that is not of 1 to %d visible ASCII characters", maxSignature))
	}
	return nil
}

// SignedText is what a visitor signs: the address that the body is sent to, a line feed, and the
// body by RFC 8785 without verified_identity.signature.
func SignedText(url string, body []byte) (string, error) {
	var members, identity map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return "", err
	}
	if err := json.Unmarshal(members["verified_identity"], &identity); err != nil {
		return "", err
	}
	delete(identity, "signature")
	var err error
	if members["verified_identity"], err = json.Marshal(identity); err != nil {
		return "", err
	}
	open, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	text, err := attest.JCSBytes(open)
	return url + "\n" + string(text), err
}

// judge finds out whether an identity signed a body; nil for none that was given. client is whom
// what that takes is counted on.
func (d *Service) judge(ctx context.Context, v *VerifiedIdentity, path string, raw []byte, client string) (*Identity,
	error) {
	if v == nil {
		return nil, nil
	}
	text, err := SignedText(d.cfg.BaseURL+path, raw)
	if err != nil {
		return nil, &problem.Error{Code: "invalid_input", Detail: "Nothing was kept, and nothing was counted: the " +
			"body has no form by RFC 8785, so that nobody can have signed it.",
			Fields: []problem.Field{{Field: "body", Problem: "has no canonical form"}}}
	}
	id := &Identity{Name: v.Address + v.DID, Signed: text}
	prove := d.proveDID
	if v.Address != "" {
		prove = d.proveWallet
	}
	if err := prove(ctx, v, id, client); err != nil {
		if _, said := errors.AsType[*problem.Error](err); said {
			return nil, err
		}
		return nil, &problem.Error{Code: "identity_unavailable", Retry: 30 * time.Second, Err: err,
			Detail: "Nothing was kept, and nothing was counted: who signed this cannot be found out at the moment. " +
				"Try again shortly, or leave verified_identity out."}
	}
	sum := sha256.Sum256([]byte(id.Name + "\n" + text))
	id.Digest = hex.EncodeToString(sum[:])
	return id, nil
}

func (d *Service) proveWallet(ctx context.Context, v *VerifiedIdentity, id *Identity, client string) error {
	if d.cfg.Prove.Wallets == nil {
		id.Why = "this store takes no payments by wallets, and knows none"
		return nil
	}
	who, why, err := d.cfg.Prove.Wallets.ProveText(ctx, v.Address, v.Signature, id.Signed, client)
	if err != nil {
		return err
	}
	if id.Why = why; why == "" {
		id.Name, id.Verified = who, true
	}
	return nil
}

func (d *Service) proveDID(ctx context.Context, v *VerifiedIdentity, id *Identity, client string) error {
	signature, err := signatureBytes(v.Signature)
	if err != nil {
		id.Why = err.Error()
		return nil
	}
	key, why, err := d.keyOf(ctx, v.DID, client)
	if err != nil || why != "" {
		id.Why = why
		return err
	}
	if err := key.Verify(key.Algorithms()[0], []byte(id.Signed), signature); err != nil {
		id.Why = "the signature is not by the key of this DID"
		return nil
	}
	id.Verified, id.Key = true, hex.EncodeToString(key.Bytes)
	return nil
}

// signatureBytes reads the signature of a DID's key.
func signatureBytes(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		b, err = attest.DecodeBase64URL(s)
	}
	if err != nil || len(b) != 64 {
		return nil, errors.New("the signature is not base64url or hex of 64 bytes")
	}
	return b, nil
}

// keyOf finds the one key that a DID names.
func (d *Service) keyOf(ctx context.Context, name, client string) (k did.Key, why string, err error) {
	k, _, embedded, err := did.Embedded(name)
	if embedded && err != nil {
		return k, "the DID holds no key that can be used", nil
	}
	if embedded {
		return k, "", nil
	}
	at, err := did.WebURL(name)
	if err != nil {
		return k, "the DID is no did:key, did:jwk or did:web of a public host", nil
	}
	if d.cfg.Prove.Fetch == nil {
		return k, "this store reads no documents", nil
	}
	rd, err := d.reads.Spend(ctx, readDID, client)
	if err != nil {
		return k, "", err
	}
	if !rd.Granted {
		return k, "", &problem.Error{Code: "budget_spent", Retry: rd.Window, Detail: "Nothing was kept, and nothing " +
			"was counted: this store has read enough documents of DIDs for this minute. Try again after the time in " +
			"Retry-After, or leave verified_identity out."}
	}
	ctx, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	x, err := d.cfg.Prove.Fetch.Do(ctx, exchange.Request{Method: http.MethodGet, URL: at,
		Header: http.Header{"Accept": {"application/did+json, application/did, application/json"}}}, fetch.Rule{})
	if refusal, ok := errors.AsType[*fetch.Refusal](err); ok {
		return k, "the document of the DID is not read: " + refusal.Reason, nil
	}
	if err != nil {
		return k, "", err
	}
	if x.Response.Status != http.StatusOK || x.Error.Stage != "" || x.Response.Truncated {
		return k, "the document of the DID could not be read", nil
	}
	k, why = keyIn(x.Response.Body, name)
	return k, why, nil
}

// keyIn finds the key that a DID, with or without a fragment, names in its document. It must be one
// that may sign statements.
func keyIn(document []byte, name string) (k did.Key, why string) {
	id, _, precise := strings.Cut(name, "#")
	doc, err := did.ParseDocument(document, id)
	if err != nil {
		return k, "the document of the DID is none of its"
	}
	var fit []did.Method
	for _, m := range doc.Methods {
		if m.Err == nil && m.Asserted && (m.Controller == "" || m.Controller == id) && (!precise || m.ID == name) {
			fit = append(fit, m)
		}
	}
	if len(fit) != 1 {
		return k, fmt.Sprintf("the document of the DID has %d keys of this name that may sign statements, and one is "+
			"needed", len(fit))
	}
	return fit[0].Key, ""
}

// once refuses what an identity has signed and left before: whoever has seen it could leave it in
// another's name.
//
//	visit/signed/<digest>   the post that it is of
func (d *Service) once(tx ledger.Tx, p *Post) error {
	if p.Identity == nil || !p.Identity.Verified {
		return nil
	}
	key := signedKey(p.Identity)
	if _, err := tx.Get(key); err == nil {
		return &problem.Error{Code: "already_signed", Detail: "Nothing was kept, and nothing was counted: this very " +
			"body was signed by this identity and left here before. Say something else, or leave verified_identity " +
			"out."}
	} else if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return tx.Set(key, []byte(p.ID))
}

func signedKey(i *Identity) []byte { return ledger.VisitKey("signed", i.Digest) }
