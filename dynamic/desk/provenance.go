package desk

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

const useProvenance = "provenance"

// ProvenanceChallenge is the text by which an owner proves an address.
type ProvenanceChallenge struct {
	Address   string `json:"address"`
	Challenge string `json:"challenge"` // CAIP-122: EIP-4361, or its sibling for Solana
	SignHow   string `json:"sign_how"`
	Nonce     string `json:"nonce"`
	ExpiresAt string `json:"expires_at"`
	ExpiresIn int    `json:"expires_in_seconds"`
	SingleUse bool   `json:"single_use"`
	NextStep  string `json:"next_step"`
}

// ProvenanceRequest is the signed answer.
type ProvenanceRequest struct {
	Address   string `json:"address" jsonschema:"the address that the challenge was made for"`
	Signature string `json:"signature" jsonschema:"EVM: hex of the personal_sign signature; Solana: base58 or hex of the ed25519 signature"`
	Nonce     string `json:"nonce,omitempty" jsonschema:"the nonce of the challenge that was signed; a request without it is refused"`
}

// Provenance is what the record holds about an address, read to its owner.
type Provenance struct {
	Version   string                 `json:"version"`
	Proved    Proved                 `json:"proved"`
	Free      bool                   `json:"free"`
	Reading   archive.AddressReading `json:"reading"`
	Cannot    []string               `json:"what_this_cannot_see"`
	NotStored string                 `json:"what_is_kept"`
	NextSteps []string               `json:"next_steps"`
}

// Proved says who proved the address, and how.
type Proved struct {
	Address string `json:"address"`
	By      string `json:"by"` // eip191 or ed25519
	At      string `json:"at"`
}

// owner is an address of either family in its one spelling.
type owner struct {
	shown, key string
	solana     bool
}

func parseOwner(s string) (owner, error) {
	if strings.HasPrefix(s, "0x") {
		a, err := wallet.ParseAddressAnyCase(s)
		if err == nil {
			return owner{shown: a.String(), key: a.Lower()}, nil
		}
	} else if _, err := wallet.ParseSolanaAddress(s); err == nil {
		return owner{shown: s, key: s, solana: true}, nil
	}
	return owner{}, route.Invalid(problem.Field{Field: "address",
		Problem: "is neither 0x and 40 hex digits nor base58 of 32 bytes"})
}

func (d *Desk) provenanceChallenge(w http.ResponseWriter, r *http.Request) error {
	o, err := parseOwner(route.Inputs(r).String("address"))
	if err != nil {
		return err
	}
	if _, err := d.take(w, r, BudgetProvenance); err != nil {
		return err
	}
	c := d.owners.New(useProvenance, o.key, "", time.Now())
	text, err := d.provenanceText(o, c)
	if err != nil {
		return err
	}
	how := "personal_sign (EIP-191) over challenge exactly as it stands."
	if o.solana {
		how = "Sign the bytes of challenge exactly as they stand with the address's ed25519 key."
	}
	return route.JSON(w, ProvenanceChallenge{Address: o.shown, Challenge: text, SignHow: how, Nonce: c.Nonce,
		ExpiresAt: c.Expires.Format(time.RFC3339), ExpiresIn: int(challenge.Life / time.Second), SingleUse: true,
		NextStep: "POST {address, signature, nonce} to " + d.cfg.BaseURL +
			"/api/provenance/self within five minutes. It is good for one answer; a wrong signature spends nothing."})
}

// provenanceText is the text to sign of a challenge.
func (d *Desk) provenanceText(o owner, c challenge.Challenge) (string, error) {
	text := wallet.SignIn{
		Domain: d.host, Address: o.shown, Statement: "Show me what the record says about this address.",
		URI: d.cfg.BaseURL + "/api/provenance/self", Version: "1", ChainID: "8453", Nonce: c.Nonce,
		IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	}
	if o.solana {
		text.ChainID = "mainnet"
		return text.Solana()
	}
	return text.Ethereum()
}

// provenance answers a signed challenge with the reading. The challenge is spent with the answer
// and by nothing else.
func (d *Desk) provenance(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[ProvenanceRequest](r, false)
	if err != nil {
		return err
	}
	o, err := parseOwner(in.Address)
	if err != nil {
		return err
	}
	sig, err := parseProof(o, in.Signature)
	if err != nil {
		return err
	}
	if in.Nonce == "" {
		return route.Invalid(problem.Field{Field: "nonce",
			Problem: "is required: it says which challenge was signed, and is in the challenge's answer"})
	}
	if _, err := d.take(w, r, BudgetProvenance); err != nil {
		return err
	}
	at := time.Now()
	c, ok := d.owners.Read(useProvenance, o.key, "", in.Nonce, at)
	if !ok {
		return d.noChallenge(o)
	}
	message, err := d.provenanceText(o, c)
	if err != nil {
		return err
	}
	proved := Proved{Address: o.shown, By: "eip191", At: at.UTC().Format(time.RFC3339)}
	if o.solana {
		proved.By = "ed25519"
		_, err = wallet.VerifySolanaText(message, sig)
	} else {
		_, err = wallet.VerifyEthereum(message, sig)
	}
	if err != nil {
		return &problem.Error{Code: "claim_signature_invalid",
			Detail: "The signature does not prove this address. The challenge is not spent: sign its text exactly as " +
				"it stands and send that.",
			Next: "GET " + d.cfg.BaseURL + "/api/provenance/self?address=" + o.shown}
	}
	reading, err := d.cfg.Record.Address(r.Context(), o.shown)
	if err != nil {
		return err
	}
	fresh := false
	if err := d.cfg.DB.Update(r.Context(), func(tx ledger.Tx) (err error) {
		fresh, err = challenge.Spend(tx, useProvenance, c)
		return err
	}); err != nil {
		return ledgerDown(err)
	}
	if !fresh {
		return d.noChallenge(o)
	}
	return route.JSON(w, Provenance{Version: "v1", Proved: proved, Free: true, Reading: reading,
		Cannot: cannotTell,
		NotStored: "That this challenge was answered is kept for a few minutes, by its nonce. Neither the address " +
			"nor this reading is kept or published.",
		NextSteps: []string{"GET " + d.cfg.BaseURL + "/criteria says what the record holds and what it cannot tell."}})
}

// parseProof reads the signature in the form of its family.
func parseProof(o owner, s string) ([]byte, error) {
	bad := route.Invalid(problem.Field{Field: "signature",
		Problem: "is no signature: 65 bytes of hex for 0x addresses, 64 bytes of base58 or hex for Solana ones"})
	want := wallet.SignatureSize
	if o.solana {
		want = 64
	}
	if len(s) > 4*want {
		return nil, bad
	}
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil && o.solana {
		b, err = wallet.DecodeBase58(s)
	}
	if err != nil || len(b) != want {
		return nil, bad
	}
	return b, nil
}

func (d *Desk) noChallenge(o owner) error {
	return &problem.Error{Code: "claim_challenge_invalid", Next: "GET " + d.cfg.BaseURL +
		"/api/provenance/self?address=" + o.shown,
		Detail: "This nonce is of no open challenge for this address: it was never given out for it, was answered " +
			"already, or is older than five minutes."}
}

func ledgerDown(err error) error {
	if _, ok := errors.AsType[*problem.Error](err); ok {
		return err
	}
	return &problem.Error{Code: "ledger_unavailable", Retry: 5 * time.Second, Err: err,
		Detail: "The store's ledger did not answer in time. Nothing was read. Try again shortly."}
}

func (d *Desk) provenanceRows() []route.Row {
	return []route.Row{
		instrument(api.Route{
			Name: "provenance_challenge", Method: http.MethodGet, Pattern: "/api/provenance/self", Serve: api.Private,
			Budget: BudgetProvenance, Summary: "Ask for a text to prove your own address with",
			Description: "A CAIP-122 text bound to this store, to a single-use nonce and to five minutes. Sign it " +
				"and POST it back to read, free, what the record says about the address.",
			Params: []api.Param{{Name: "address", In: api.QueryP, Type: "string", Required: true, MinLength: 32,
				MaxLength:   44,
				Description: "0x and 40 hex digits, or a Solana address"}},
			Responses: route.OK[ProvenanceChallenge]("The text to sign", 400, 429, 503),
		}, d.provenanceChallenge),
		instrument(api.Route{
			Name: "provenance_self", Method: http.MethodPost, Pattern: "/api/provenance/self", Serve: api.Private,
			Budget: BudgetProvenance, Summary: "Read the record about your own address",
			Description: "Answers the signed challenge. Where the address was advertised, by its digest; never a " +
				"word about payments. Send the challenge's nonce along. A wrong signature spends nothing.",
			Body: &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[ProvenanceRequest](),
				Limit: 4 << 10, Description: "address, signature and nonce"},
			Responses: route.OK[Provenance]("The reading", 400, 403, 413, 415, 429, 503),
		}, d.provenance),
	}
}
