package counter

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"agentstore/corpus/attest"
	"agentstore/corpus/attest/wallet"
	"agentstore/dynamic/challenge"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/route"
	"agentstore/dynamic/till"
)

// ClaimsChallengeRequest is the body of POST /api/claims/challenge.
type ClaimsChallengeRequest struct {
	Address string `json:"address" jsonschema:"the paying wallet: 0x and 40 hex digits"`
	Network string `json:"network,omitempty" jsonschema:"CAIP-2 network on which a smart wallet is asked; the first one offered when left out"`
}

// ClaimsChallenge is its answer: the text to sign, as it stands.
type ClaimsChallenge struct {
	Challenge string `json:"challenge"` // CAIP-122: EIP-4361 for EVM wallets
	SignHow   string `json:"sign_how"`
	Nonce     string `json:"nonce"`
	ExpiresAt string `json:"expires_at"`
	ExpiresIn int    `json:"expires_in_seconds"`
	SingleUse bool   `json:"single_use"`
	NextStep  string `json:"next_step"`
}

// ClaimsRequest is the body of POST /api/claims.
type ClaimsRequest struct {
	Address   string `json:"address" jsonschema:"the paying wallet"`
	Signature string `json:"signature" jsonschema:"hex signature of the challenge's message"`
	Nonce     string `json:"nonce,omitempty" jsonschema:"the nonce of the challenge that was signed; a request without it is refused"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the page before, for the page after it; each page takes a challenge of its own"`
}

// Claims is what a proved wallet gets back.
type Claims struct {
	Address      string               `json:"address"`
	Purchases    []PurchaseStatus     `json:"purchases"`
	Certificates []attest.Certificate `json:"certificates"`
	Orders       []json.RawMessage    `json:"orders"`
	Passes       []json.RawMessage    `json:"passes"`
	Watches      []json.RawMessage    `json:"watches"`
	More         bool                 `json:"more"`           // there are older purchases than are shown
	Next         string               `json:"next,omitempty"` // the cursor of the page after this one
}

// serveChallenge answers POST /api/claims/challenge. Nothing is written.
func (c *Counter) serveChallenge(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsChallengeRequest](r, false)
	if err != nil {
		return err
	}
	addr, network, err := c.claimant(req.Address, req.Network)
	if err != nil {
		return err
	}
	ch, text, err := c.till.WalletChallenge(addr, network)
	if err != nil {
		return err
	}
	return writeJSON(w, ClaimsChallenge{
		Challenge: text, Nonce: ch.Nonce, ExpiresAt: ch.Expires.Format(time.RFC3339), ExpiresIn: int(challenge.Life.Seconds()), SingleUse: true,
		SignHow:  "personal_sign (EIP-191) over challenge exactly as it stands; a smart wallet signs as EIP-1271 asks.",
		NextStep: "POST {address, signature, nonce} to " + c.BaseURL + "/api/claims within five minutes. It is good for one answer; a wrong signature spends nothing.",
	})
}

// serveClaims answers POST /api/claims.
func (c *Counter) serveClaims(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsRequest](r, false)
	if err != nil {
		return err
	}
	claim := till.WalletClaim{Nonce: req.Nonce, Client: route.Client(r)}
	if claim.Address, _, err = c.claimant(req.Address, ""); err != nil {
		return err
	}
	claim.Signature, err = hex.DecodeString(strings.TrimPrefix(req.Signature, "0x"))
	if err != nil || len(claim.Signature) == 0 || len(claim.Signature) > 4096 {
		return invalid("signature", "must be hex of at most 4096 bytes")
	}
	if req.Nonce == "" {
		return invalid("nonce", "is required: it says which challenge was signed, and is in the answer of POST /api/claims/challenge")
	}
	if req.Cursor != "" {
		if claim.After, err = till.ParsePlace(req.Cursor); err != nil {
			return invalid("cursor", "must be next of an earlier answer")
		}
	}
	page, err := c.till.Claims(r.Context(), claim)
	if err != nil {
		return c.problem(err, request{})
	}
	out := Claims{Address: claim.Address.String(), Purchases: []PurchaseStatus{}, Certificates: []attest.Certificate{},
		Orders: []json.RawMessage{}, Passes: []json.RawMessage{}, Watches: []json.RawMessage{}, More: page.More}
	if page.More {
		out.Next = page.Next.String()
	}
	for _, p := range page.Purchases {
		out.Purchases = append(out.Purchases, statusView(p))
		if p.Body == nil {
			continue
		}
		var d till.Delivery
		if err := json.Unmarshal(p.Body, &d); err != nil {
			return err
		}
		if d.Minted != nil {
			out.Certificates = append(out.Certificates, d.Certificate)
		}
	}
	return writeJSON(w, out)
}

// claimant reads the address and network of a claim.
func (c *Counter) claimant(address, network string) (wallet.Address, string, error) {
	addr, err := wallet.ParseAddressAnyCase(address)
	if err != nil {
		return addr, "", invalid("address", "must be 0x and 40 hex digits")
	}
	network, ok := c.till.WalletNetwork(network)
	if !ok {
		return addr, "", invalid("network", "is not one this store takes payments on")
	}
	return addr, network, nil
}

func invalid(field, text string) error {
	return &problem.Error{Code: "invalid_input", Fields: []problem.Field{{Field: field, Problem: text}}, Detail: field + " " + text + "."}
}

const maxBody = 16 << 10
