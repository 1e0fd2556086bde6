package till

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/challenge"
	"store.example/agentstore/dynamic/ledger"
)

// A wallet that is proved gets back what it bought, in pages, newest first: so many purchases,
// found among so many entries of the wallet. Each page is proved by a signature of its own; its
// cursor is a place in the list and no key to it.
const (
	claimsPage    = 100
	claimsScanned = 2000
)

const useClaims = "claims"

// WalletChallenge makes a challenge for a wallet, and the text that answers it when signed. Nothing
// is written.
func (t *Till) WalletChallenge(a wallet.Account) (challenge.Challenge, string, error) {
	k, ok := kindOf(a.Chain.Namespace)
	if !ok {
		return challenge.Challenge{}, "", &Error{Code: CodeNoChallenge}
	}
	c := t.wallets.New(useClaims, k.named(a.Address), a.Chain.String(), t.cfg.Now())
	text, err := t.claimsText(k, a, c)
	return c, text, err
}

// claimsText is the text to sign of a challenge.
func (t *Till) claimsText(k walletKind, a wallet.Account, c challenge.Challenge) (string, error) {
	return k.text(wallet.SignIn{
		Domain: t.host, Address: a.Address, Statement: "Show me what this wallet bought here.", URI: t.cfg.BaseURL +
			"/api/claims", Version: "1", ChainID: a.Chain.Reference, Nonce: c.Nonce,
		IssuedAt: c.Issued().Format(time.RFC3339), ExpirationTime: c.Expires.Format(time.RFC3339),
	})
}

// WalletClaim is a signed challenge of a wallet, and where in the list of its purchases to begin.
// The network for which the challenge was made shows in the nonce; that of Account gives the
// namespace alone.
type WalletClaim struct {
	Account   wallet.Account
	Signature []byte
	Nonce     string
	After     *Cursor // nil for the newest
	Client    string  // whom the reading of chains is counted on
}

// Claims are a page of what a proved wallet bought.
type Claims struct {
	Purchases []Status
	More      bool   // there are older purchases than are shown
	Next      Cursor // where the page after this one begins
}

// Claims answers a signed challenge with what the wallet bought. The challenge is spent with the
// answer and by nothing else: who signs wrongly, or asks for challenges of somebody else's wallet,
// takes nothing from its owner.
func (t *Till) Claims(ctx context.Context, w WalletClaim) (Claims, error) {
	k, ok := kindOf(w.Account.Chain.Namespace)
	if !ok {
		return Claims{}, &Error{Code: CodeNoChallenge}
	}
	c, err := t.openClaim(k, &w)
	if err != nil {
		return Claims{}, err
	}
	network, err := t.proved(ctx, k, w, c)
	if err != nil {
		return Claims{}, err
	}
	out, err := t.claimsOf(ctx, w.Account.Address, network, w.After)
	if err != nil {
		return Claims{}, ledgerDown(err)
	}
	fresh := false
	if err := t.update(ctx, func(tx ledger.Tx) (err error) {
		if fresh, err = challenge.Spend(tx, useClaims, c); err != nil || !fresh {
			return err
		}
		for _, s := range out.Purchases {
			if err := fetch(tx, s.Purchase); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return Claims{}, ledgerDown(err)
	}
	if !fresh {
		return Claims{}, &Error{Code: CodeNoChallenge}
	}
	return out, nil
}

// openClaim finds the challenge that a claim's nonce is of, and sets the network that it was made
// for, which is one of the wallet's namespace.
func (t *Till) openClaim(k walletKind, w *WalletClaim) (challenge.Challenge, error) {
	for network := range t.byNet {
		chain, err := wallet.ParseChainID(network)
		if err != nil || chain.Namespace != k.namespace {
			continue
		}
		if c, ok := t.wallets.Read(useClaims, k.named(w.Account.Address), network, w.Nonce, t.cfg.Now()); ok {
			w.Account.Chain = chain
			return c, nil
		}
	}
	return challenge.Challenge{}, &Error{Code: CodeNoChallenge}
}

// proved judges the signature of a claim and returns the network whose purchases it opens, "" for
// all: a key signs for its address on every network; a contract answers for its own network alone,
// because elsewhere somebody else may have deployed to the same address.
func (t *Till) proved(ctx context.Context, k walletKind, w WalletClaim, c challenge.Challenge) (string, error) {
	text, err := t.claimsText(k, w.Account, c)
	if err != nil {
		return "", err
	}
	return t.prove(ctx, k, w.Account, signedText{text, w.Signature}, w.Client)
}

// Cursor is an entry in the list of a wallet's purchases.
type Cursor struct {
	At time.Time
	ID string
}

// String is how it is written.
func (p Cursor) String() string { return fmt.Sprintf("%d.%s", p.At.Unix(), p.ID) }

var placeForm = regexp.MustCompile(`^[0-9]{1,12}\.[a-z0-9_]{1,64}$`)

// ParsePlace reads a cursor.
func ParsePlace(s string) (*Cursor, error) {
	if !placeForm.MatchString(s) {
		return nil, fmt.Errorf("till: %q is no cursor", s)
	}
	second, id, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(second, 10, 64)
	return &Cursor{time.Unix(n, 0), id}, err
}

// claimsOf collects a page of what a wallet bought on a network, or on all where network is empty,
// newest first: what is older than the given place. What is bought meanwhile is newer than every
// place.
func (t *Till) claimsOf(ctx context.Context, payer, network string, after *Cursor) (Claims, error) {
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
			out.Next = Cursor{time.Unix(int64(second), 0), parts[3]}
			p, err := t.withSettlement(tx, out.Next.ID)
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
