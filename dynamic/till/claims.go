package till

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"agentstore/corpus/attest/wallet"
	"agentstore/dynamic/challenge"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// A wallet that is proved gets back what it bought, in pages, newest first: so many purchases, found among so many entries
// of the wallet. Each page is proved by a signature of its own; its cursor is a place in the list and no key to it.
const (
	claimsPage    = 100
	claimsScanned = 2000
)

const useClaims = "claims"

// WalletChallenge makes a challenge for a wallet on a network, and the text that answers it when signed. Nothing is written.
func (t *Till) WalletChallenge(addr wallet.Address, network string) (challenge.Challenge, string, error) {
	c := t.wallets.New(useClaims, addr.Lower(), network, t.cfg.Now())
	text, err := t.claimsText(addr, network, c)
	return c, text, err
}

// claimsText is the text to sign of a challenge.
func (t *Till) claimsText(addr wallet.Address, network string, c challenge.Challenge) (string, error) {
	return wallet.SignIn{
		Domain: t.host, Address: addr.String(), Statement: "Show me what this wallet bought here.", URI: t.cfg.BaseURL + "/api/claims",
		Version: "1", ChainID: strings.TrimPrefix(network, "eip155:"), Nonce: c.Nonce,
		IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	}.Ethereum()
}

// WalletClaim is a signed challenge of a wallet, and where in the list of its purchases to begin.
type WalletClaim struct {
	Address   wallet.Address
	Signature []byte
	Nonce     string
	After     *Place // nil for the newest
	Client    string // whom the reading of chains is counted on
}

// Claims are a page of what a proved wallet bought.
type Claims struct {
	Purchases []Status
	More      bool  // there are older purchases than are shown
	Next      Place // where the page after this one begins
}

// Claims answers a signed challenge with what the wallet bought. The challenge is spent with the answer and by nothing
// else: who signs wrongly, or asks for challenges of somebody else's wallet, takes nothing from its owner.
func (t *Till) Claims(ctx context.Context, w WalletClaim) (Claims, error) {
	c, network, err := t.openClaim(w.Address, w.Nonce)
	if err != nil {
		return Claims{}, err
	}
	if network, err = t.proved(ctx, w, network, c); err != nil {
		return Claims{}, err
	}
	out, err := t.claimsOf(ctx, w.Address.String(), network, w.After)
	if err != nil {
		return Claims{}, ledgerDown(err)
	}
	fresh := false
	if err := t.update(ctx, func(tx ledger.Tx) (err error) {
		fresh, err = challenge.Spend(tx, useClaims, c)
		return err
	}); err != nil {
		return Claims{}, ledgerDown(err)
	}
	if !fresh {
		return Claims{}, &Error{Code: CodeNoChallenge}
	}
	return out, nil
}

// openClaim finds the challenge that a nonce is of, and the network that it was made for.
func (t *Till) openClaim(addr wallet.Address, nonce string) (challenge.Challenge, string, error) {
	for network := range t.byNet {
		if c, ok := t.wallets.Read(useClaims, addr.Lower(), network, nonce, t.cfg.Now()); ok {
			return c, network, nil
		}
	}
	return challenge.Challenge{}, "", &Error{Code: CodeNoChallenge}
}

// proved judges the signature of a claim and returns the network whose purchases it opens, "" for all: a key signs for its
// address on every network; a contract answers for its own network alone, because elsewhere somebody else may have
// deployed to the same address.
func (t *Till) proved(ctx context.Context, w WalletClaim, network string, c challenge.Challenge) (string, error) {
	text, err := t.claimsText(w.Address, network, c)
	if err != nil {
		return "", err
	}
	signer, err := wallet.Recover(wallet.PersonalHash(text), wallet.NormalizeV(w.Signature))
	if err == nil && signer == w.Address {
		return "", nil
	}
	// Whoever signs wrongly makes us ask a chain, so that has a budget.
	rd, err := t.reads.Spend(ctx, readWallet, w.Client)
	if err != nil {
		return "", err
	}
	if !rd.Granted {
		return "", &Error{Code: CodeProvingBudget, Retry: rd.Window}
	}
	if err := t.cfg.Gas.Ready(ctx, network); err != nil {
		return "", &Error{Code: CodeNetworkDown, Retry: outRetry, Err: err}
	}
	err = t.byNet[network].ProveSigner(ctx, w.Address.String(), []byte(text), w.Signature)
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return "", &Error{Code: CodeNotSigned, Refusal: refusal}
	}
	if err != nil {
		return "", &Error{Code: CodeProvingDown, Retry: 5 * time.Second, Err: err}
	}
	return network, nil
}

// Place is an entry in the list of a wallet's purchases.
type Place struct {
	At time.Time
	ID string
}

// String is a place as a cursor.
func (p Place) String() string { return fmt.Sprintf("%d.%s", p.At.Unix(), p.ID) }

var placeForm = regexp.MustCompile(`^[0-9]{1,12}\.[a-z0-9_]{1,64}$`)

// ParsePlace reads a cursor.
func ParsePlace(s string) (*Place, error) {
	if !placeForm.MatchString(s) {
		return nil, fmt.Errorf("till: %q is no cursor", s)
	}
	second, id, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(second, 10, 64)
	return &Place{time.Unix(n, 0), id}, err
}

// claimsOf collects a page of what a wallet bought on a network, or on all where network is empty, newest first: what is
// older than the given place. What is bought meanwhile is newer than every place.
func (t *Till) claimsOf(ctx context.Context, payer, network string, after *Place) (Claims, error) {
	var out Claims
	var list []Purchase
	from, to := ledger.PayerPurchases(payer)
	if after != nil {
		to = ledger.PayerKey(payer, after.At, after.ID)
	}
	err := t.view(ctx, func(tx ledger.Tx) error {
		list, out = nil, Claims{}
		scanned := 0
		for e, err := range tx.ScanDown(from, to) {
			if err != nil {
				return err
			}
			if len(list) == claimsPage || scanned == claimsScanned {
				out.More = true
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
			out.Next = Place{time.Unix(int64(second), 0), parts[3]}
			p, err := withSettlement(tx, out.Next.ID)
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
		s, err := t.status(&list[i])
		if err != nil {
			return out, err
		}
		out.Purchases = append(out.Purchases, s)
	}
	return out, nil
}

// WalletNetwork is the network on which a smart wallet is asked for its signature: the one that was named, or the first
// that is offered. ok is false where there is none such.
func (t *Till) WalletNetwork(network string) (_ string, ok bool) {
	if network == "" {
		network = t.cfg.Rails[0].Info().Network
	}
	_, ok = t.byNet[network]
	return network, ok && strings.HasPrefix(network, "eip155:")
}
