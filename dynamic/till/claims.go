package till

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentstore/corpus/attest"
	"agentstore/corpus/attest/wallet"
	"agentstore/dynamic/challenge"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/route"
)

// maxClaims is how many purchases one claim answers with, newest first.
const maxClaims = 500

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
	Nonce     string `json:"nonce,omitempty" jsonschema:"which challenge was signed; the newest when left out"`
}

// Claims is what a proved wallet gets back.
type Claims struct {
	Address      string               `json:"address"`
	Purchases    []PurchaseStatus     `json:"purchases"`
	Certificates []attest.Certificate `json:"certificates"`
	Orders       []json.RawMessage    `json:"orders"`
	Passes       []json.RawMessage    `json:"passes"`
	Watches      []json.RawMessage    `json:"watches"`
	More         bool                 `json:"more"` // there are older purchases than are shown
}

const useClaims = "claims"

// challenge answers POST /api/claims/challenge.
func (t *Till) claimsChallenge(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsChallengeRequest](r, false)
	if err != nil {
		return err
	}
	addr, network, err := t.claimant(req.Address, req.Network)
	if err != nil {
		return err
	}
	nonce := strings.ToLower(rand.Text())
	chain := strings.TrimPrefix(network, "eip155:")
	var c challenge.Challenge
	err = t.update(r.Context(), func(tx ledger.Tx) error {
		now := tx.Now().Truncate(time.Second)
		c = challenge.Challenge{Nonce: nonce, Network: network, Expires: now.Add(challenge.Life)}
		c.Message, err = wallet.SignIn{
			Domain: t.host, Address: addr.String(), Statement: "Show me what this wallet bought here.", URI: t.cfg.BaseURL + "/api/claims",
			Version: "1", ChainID: chain, Nonce: nonce, IssuedAt: now.Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
		}.Ethereum()
		if err != nil {
			return err
		}
		return challenge.Open(tx, useClaims, addr.Lower(), c)
	})
	if err != nil {
		return ledgerDown(err)
	}
	return writeJSON(w, ClaimsChallenge{
		Challenge: c.Message, Nonce: nonce, ExpiresAt: c.Expires.Format(time.RFC3339), ExpiresIn: int(challenge.Life.Seconds()), SingleUse: true,
		SignHow:  "personal_sign (EIP-191) over challenge exactly as it stands; a smart wallet signs as EIP-1271 asks.",
		NextStep: "POST {address, signature} to " + t.cfg.BaseURL + "/api/claims within five minutes. A wrong signature spends the challenge.",
	})
}

// claims answers POST /api/claims. The challenge is burned before the signature is judged, so a wrong answer costs it.
func (t *Till) claims(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsRequest](r, false)
	if err != nil {
		return err
	}
	addr, _, err := t.claimant(req.Address, "")
	if err != nil {
		return err
	}
	sig, err := hex.DecodeString(strings.TrimPrefix(req.Signature, "0x"))
	if err != nil || len(sig) == 0 || len(sig) > 4096 {
		return invalid("signature", "must be hex of at most 4096 bytes")
	}
	c, err := t.burn(r.Context(), addr.Lower(), req.Nonce)
	if err != nil {
		return err
	}
	rl := t.byNet[c.Network]
	if err := t.cfg.Gas.Ready(r.Context(), c.Network); err != nil {
		return networkDown(err)
	}
	err = rl.ProveSigner(r.Context(), addr.String(), []byte(c.Message), sig)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return &problem.Error{Code: "claim_signature_invalid", Status: http.StatusForbidden,
			Detail: "The signature does not prove this wallet (" + refusal.Error() + "). The challenge is spent; ask for a new one."}
	}
	if err != nil {
		return &problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second, Err: err,
			Detail: "The network of this wallet cannot be read at the moment. The challenge is spent; ask for a new one."}
	}
	// A key signs for its address on every network. A contract answers for its own network alone: elsewhere somebody
	// else may have deployed to the same address.
	if signer, err := wallet.Recover(wallet.PersonalHash(c.Message), wallet.NormalizeV(sig)); err == nil && signer == addr {
		c.Network = ""
	}
	out, err := t.claimsOf(r.Context(), addr.String(), c.Network)
	if err != nil {
		return ledgerDown(err)
	}
	return writeJSON(w, out)
}

// burn takes an open challenge out of the ledger: the named one, or the newest.
func (t *Till) burn(ctx context.Context, addr, nonce string) (c challenge.Challenge, err error) {
	found := false
	err = t.update(ctx, func(tx ledger.Tx) error {
		c, found, err = challenge.Burn(tx, useClaims, addr, nonce)
		return err
	})
	if err != nil {
		return c, ledgerDown(err)
	}
	if !found {
		return c, &problem.Error{Code: "claim_challenge_invalid", Status: http.StatusBadRequest,
			Detail: "There is no open challenge for this wallet: it was never asked for, was answered already, or is older than five minutes. Ask for a new one at POST /api/claims/challenge."}
	}
	return c, nil
}

// claimsOf collects everything a wallet bought on a network, or on all where network is empty, newest first.
func (t *Till) claimsOf(ctx context.Context, payer, network string) (Claims, error) {
	out := Claims{Address: payer, Purchases: []PurchaseStatus{}, Certificates: []attest.Certificate{},
		Orders: []json.RawMessage{}, Passes: []json.RawMessage{}, Watches: []json.RawMessage{}}
	var list []Purchase
	err := t.view(ctx, func(tx ledger.Tx) error {
		list, out.Certificates, out.More = nil, []attest.Certificate{}, false
		for e, err := range tx.ScanDown(ledger.PayerPurchases(payer)) {
			if err != nil {
				return err
			}
			if len(list) == maxClaims {
				out.More = true
				break
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(parts[len(parts)-1]))
			if err != nil {
				return err
			}
			if network == "" || p.Payment.Network == network {
				list = append(list, p)
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for i := range list {
		v, err := t.statusView(&list[i])
		if err != nil {
			return out, err
		}
		out.Purchases = append(out.Purchases, v)
		if list[i].State == Delivered || list[i].State == Reversed {
			var d Delivery
			if err := json.Unmarshal(v.Fulfilment.Body, &d); err != nil {
				return out, err
			}
			out.Certificates = append(out.Certificates, d.Certificate)
		}
	}
	return out, nil
}

// claimant reads the address and network of a claim.
func (t *Till) claimant(address, network string) (wallet.Address, string, error) {
	addr, err := wallet.ParseAddressAnyCase(address)
	if err != nil {
		return addr, "", invalid("address", "must be 0x and 40 hex digits")
	}
	if network == "" {
		network = t.cfg.Rails[0].Info().Network
	}
	if _, ok := t.byNet[network]; !ok || !strings.HasPrefix(network, "eip155:") {
		return addr, "", invalid("network", "is not one this store takes payments on")
	}
	return addr, network, nil
}

func invalid(field, text string) error {
	return &problem.Error{Code: "invalid_input", Status: http.StatusBadRequest,
		Fields: []problem.Field{{Field: field, Problem: text}}, Detail: field + " " + text + "."}
}

const maxBody = 16 << 10

// update runs f in a ledger transaction with a deadline of its own.
func (t *Till) update(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.Update(ctx, f)
}

func parsePatron(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("till: %q is no patron number", s)
	}
	return n, nil
}
