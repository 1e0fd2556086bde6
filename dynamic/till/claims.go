package till

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
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

// A claim is answered in pages, newest first: so many purchases, found among so many entries of the wallet. Each page is
// proved by a signature of its own; its cursor is a place in the list and no key to it.
const (
	claimsPage    = 100
	claimsScanned = 2000
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

const useClaims = "claims"

// claimsChallenge answers POST /api/claims/challenge. Nothing is written.
func (t *Till) claimsChallenge(w http.ResponseWriter, r *http.Request) error {
	req, err := route.ReadJSON[ClaimsChallengeRequest](r, false)
	if err != nil {
		return err
	}
	addr, network, err := t.claimant(req.Address, req.Network)
	if err != nil {
		return err
	}
	c := t.wallets.New(useClaims, addr.Lower(), network, t.cfg.Now())
	text, err := t.claimsText(addr, network, c)
	if err != nil {
		return err
	}
	return writeJSON(w, ClaimsChallenge{
		Challenge: text, Nonce: c.Nonce, ExpiresAt: c.Expires.Format(time.RFC3339), ExpiresIn: int(challenge.Life.Seconds()), SingleUse: true,
		SignHow:  "personal_sign (EIP-191) over challenge exactly as it stands; a smart wallet signs as EIP-1271 asks.",
		NextStep: "POST {address, signature, nonce} to " + t.cfg.BaseURL + "/api/claims within five minutes. It is good for one answer; a wrong signature spends nothing.",
	})
}

// claimsText is the text to sign of a challenge.
func (t *Till) claimsText(addr wallet.Address, network string, c challenge.Challenge) (string, error) {
	return wallet.SignIn{
		Domain: t.host, Address: addr.String(), Statement: "Show me what this wallet bought here.", URI: t.cfg.BaseURL + "/api/claims",
		Version: "1", ChainID: strings.TrimPrefix(network, "eip155:"), Nonce: c.Nonce,
		IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	}.Ethereum()
}

// claims answers POST /api/claims. The challenge is spent with the answer and by nothing else: who signs wrongly, or asks
// for challenges of somebody else's wallet, takes nothing from its owner.
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
	if req.Nonce == "" {
		return invalid("nonce", "is required: it says which challenge was signed, and is in the answer of POST /api/claims/challenge")
	}
	from, err := parseCursor(req.Cursor)
	if err != nil {
		return err
	}
	c, network, err := t.openClaim(addr, req.Nonce)
	if err != nil {
		return err
	}
	if network, err = t.proved(r, addr, network, c, sig); err != nil {
		return err
	}
	out, err := t.claimsOf(r.Context(), addr.String(), network, from)
	if err != nil {
		return ledgerDown(err)
	}
	fresh := false
	if err := t.update(r.Context(), func(tx ledger.Tx) (err error) {
		fresh, err = challenge.Spend(tx, useClaims, c)
		return err
	}); err != nil {
		return ledgerDown(err)
	}
	if !fresh {
		return noChallenge()
	}
	return writeJSON(w, out)
}

// openClaim finds the challenge that a nonce is of, and the network that it was made for.
func (t *Till) openClaim(addr wallet.Address, nonce string) (challenge.Challenge, string, error) {
	for network := range t.byNet {
		if c, ok := t.wallets.Read(useClaims, addr.Lower(), network, nonce, t.cfg.Now()); ok {
			return c, network, nil
		}
	}
	return challenge.Challenge{}, "", noChallenge()
}

func noChallenge() error {
	return &problem.Error{Code: "claim_challenge_invalid", Status: http.StatusBadRequest,
		Detail: "This nonce is of no open challenge for this wallet: it was never given out for it, was answered already, or is older than five minutes. Ask for a new one at POST /api/claims/challenge."}
}

// proved judges the signature of a claim and returns the network whose purchases it opens, "" for all: a key signs for its
// address on every network; a contract answers for its own network alone, because elsewhere somebody else may have
// deployed to the same address.
func (t *Till) proved(r *http.Request, addr wallet.Address, network string, c challenge.Challenge, sig []byte) (string, error) {
	text, err := t.claimsText(addr, network, c)
	if err != nil {
		return "", err
	}
	if signer, err := wallet.Recover(wallet.PersonalHash(text), wallet.NormalizeV(sig)); err == nil && signer == addr {
		return "", nil
	}
	// Whoever signs wrongly makes us ask a chain, so that has a budget.
	rd, err := t.reads.Spend(r.Context(), readWallet, route.Client(r))
	if err != nil {
		return "", err
	}
	if !rd.Granted {
		return "", &problem.Error{Code: "budget_spent", Status: http.StatusTooManyRequests, Retry: rd.Window,
			Detail: "The signature is not by the address's own key, and no more contracts are asked for the moment. The challenge is not spent. Send the same again after the time in Retry-After, while it is valid."}
	}
	if err := t.cfg.Gas.Ready(r.Context(), network); err != nil {
		return "", networkDown(err)
	}
	err = t.byNet[network].ProveSigner(r.Context(), addr.String(), []byte(text), sig)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return "", &problem.Error{Code: "claim_signature_invalid", Status: http.StatusForbidden,
			Detail: "The signature does not prove this wallet (" + refusal.Error() + "). The challenge is not spent: sign its text exactly as it stands and send that."}
	}
	if err != nil {
		return "", &problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second, Err: err,
			Detail: "The network of this wallet cannot be read at the moment. The challenge is not spent; send the same again."}
	}
	return network, nil
}

// A cursor is the second and the id of the last purchase of a page.
var cursorForm = regexp.MustCompile(`^[0-9]{1,12}\.[a-z0-9_]{1,64}$`)

func parseCursor(s string) (at *claimsPlace, err error) {
	if s == "" {
		return nil, nil
	}
	if !cursorForm.MatchString(s) {
		return nil, invalid("cursor", "must be next of an earlier answer")
	}
	second, id, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return nil, invalid("cursor", "must be next of an earlier answer")
	}
	return &claimsPlace{time.Unix(n, 0), id}, nil
}

// claimsPlace is an entry in the list of a payer's purchases.
type claimsPlace struct {
	at time.Time
	id string
}

func (p claimsPlace) String() string { return fmt.Sprintf("%d.%s", p.at.Unix(), p.id) }

// claimsOf collects a page of what a wallet bought on a network, or on all where network is empty, newest first: what is
// older than the given place. What is bought meanwhile is newer than every place.
func (t *Till) claimsOf(ctx context.Context, payer, network string, after *claimsPlace) (Claims, error) {
	out := Claims{Address: payer, Purchases: []PurchaseStatus{}, Certificates: []attest.Certificate{},
		Orders: []json.RawMessage{}, Passes: []json.RawMessage{}, Watches: []json.RawMessage{}}
	var list []Purchase
	from, to := ledger.PayerPurchases(payer)
	if after != nil {
		to = ledger.PayerKey(payer, after.at, after.id)
	}
	err := t.view(ctx, func(tx ledger.Tx) error {
		list, out.More, out.Next = nil, false, ""
		scanned := 0
		var last claimsPlace
		for e, err := range tx.ScanDown(from, to) {
			if err != nil {
				return err
			}
			if len(list) == claimsPage || scanned == claimsScanned {
				out.More, out.Next = true, last.String()
				break
			}
			scanned++
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			second, err := ledger.ParseNumber(parts[2])
			if err != nil {
				return err
			}
			last = claimsPlace{time.Unix(int64(second), 0), parts[3]}
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(last.id))
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
