package counter

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// ClaimsChallengeRequest is the body of POST /api/claims/challenge.
type ClaimsChallengeRequest struct {
	Address string `json:"address" jsonschema:"the paying wallet: 0x and 40 hex digits, or a Solana address; a CAIP-10 account names its network too"`
	Network string `json:"network,omitempty" jsonschema:"CAIP-2 network on which a smart wallet is asked; the first one offered for such an address when left out"`
}

// ClaimsChallenge is its answer: the text to sign, as it stands.
type ClaimsChallenge struct {
	Challenge string `json:"challenge"` // CAIP-122: EIP-4361 for EVM wallets, SIWS for Solana's
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
	Signature string `json:"signature" jsonschema:"signature of the challenge's message: hex, of a Solana wallet base58"`
	Nonce     string `json:"nonce,omitempty" jsonschema:"the nonce of the challenge that was signed; a request without it is refused"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next of the page before, for the page after it; each page takes a challenge of its own"`
}

// Claims is what a proved wallet gets back.
type Claims struct {
	Address      string               `json:"address"`
	Purchases    []PurchaseStatus     `json:"purchases"`
	Certificates []attest.Certificate `json:"certificates"`
	Orders       []OrderView          `json:"orders"` // but for watches
	Passes       []PassView           `json:"passes"`
	Watches      []OrderView          `json:"watches"`        // orders of a term, with its readings
	More         bool                 `json:"more"`           // there are older purchases than are shown
	Next         string               `json:"next,omitempty"` // the cursor of the page after this one
}

// serveChallenge answers POST /api/claims/challenge. Nothing is written.
func (c *Counter) serveChallenge(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsChallengeRequest](r, false)
	if err != nil {
		return err
	}
	a, err := c.claimant(req.Address, req.Network)
	if err != nil {
		return err
	}
	ch, text, err := c.till.WalletChallenge(a)
	if err != nil {
		return err
	}
	return WriteJSON(w, ClaimsChallenge{
		Challenge: text, Nonce: ch.Nonce, ExpiresAt: ch.Expires.Format(time.RFC3339),
		ExpiresIn: int(challenge.Life.Seconds()), SingleUse: true,
		SignHow: till.SignHow(a),
		NextStep: "POST {address, signature, nonce} to " + c.BaseURL +
			"/api/claims within five minutes. It is good for one answer; a wrong signature spends nothing.",
	})
}

// serveClaims answers POST /api/claims.
func (c *Counter) serveClaims(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsRequest](r, false)
	if err != nil {
		return err
	}
	claim := till.WalletClaim{Nonce: req.Nonce, Client: route.Client(r)}
	if claim.Account, err = c.claimant(req.Address, ""); err != nil {
		return err
	}
	if claim.Signature, err = till.ReadSignature(claim.Account, req.Signature); err != nil {
		return invalid("signature", err.Error())
	}
	if req.Nonce == "" {
		return invalid("nonce", "is required: it says which challenge was signed, and is in the answer of POST "+
			"/api/claims/challenge")
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
	out := Claims{Address: claim.Account.Address, Purchases: []PurchaseStatus{}, Certificates: []attest.Certificate{},
		Orders: []OrderView{}, Passes: []PassView{}, Watches: []OrderView{}, More: page.More}
	if page.More {
		out.Next = page.Next.String()
	}
	for _, p := range page.Purchases {
		out.Purchases = append(out.Purchases, c.statusView(p))
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
		if err := c.claimArtifact(r.Context(), d.Artifact, &out); err != nil {
			return err
		}
	}
	return WriteJSON(w, out)
}

// claimArtifact puts an order or a pass that a purchase left into the answer to its wallet. A pass
// that was bought several times stands there once.
func (c *Counter) claimArtifact(ctx context.Context, a *till.Beside, out *Claims) error {
	switch {
	case a == nil:
	case a.Class == attest.ClassOrder:
		o, ok, err := c.till.HumanOrder(ctx, a.ID)
		if err != nil || !ok {
			return c.problem(err, request{})
		}
		v, err := c.stands(ctx, o)
		if err != nil {
			return c.problem(err, request{})
		}
		v.Callback = nil // the order itself says that
		if v.Term != nil {
			out.Watches = append(out.Watches, v)
		} else {
			out.Orders = append(out.Orders, v)
		}
	case a.Class == attest.ClassPass:
		if slices.ContainsFunc(out.Passes, func(p PassView) bool { return p.PassID == a.ID }) {
			return nil
		}
		newest, all, err := c.artifact(ctx, a.ID, a.Class)
		if err != nil || newest == nil {
			return err
		}
		v, err := c.passView(newest, all)
		if err != nil {
			return err
		}
		v.stand(c.Now())
		out.Passes = append(out.Passes, *v)
	}
	return nil
}

// claimant reads the address and network of a claim.
func (c *Counter) claimant(address, network string) (wallet.Account, error) {
	a, field, wrong := c.till.Wallet(address, network)
	if wrong != "" {
		return a, invalid(field, wrong)
	}
	return a, nil
}

func invalid(field, text string) error {
	return &problem.Error{Code: "invalid_input", Fields: []problem.Field{{Field: field, Problem: text}}, Detail: field +
		" " + text + "."}
}

const maxBody = 16 << 10
