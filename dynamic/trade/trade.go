// Package trade is the trade counter: marketplaces that the keeper knows order goods for their
// customers by one signed webhook each, and pay later for what is delivered. It reads and judges
// the webhooks, lists what is sold to an account at which price, and shows an account its
// statement. Deliveries are the till's, books package account's.
//
//	POST order ─► account, timestamp, nonce, signature ─► instruction ─► nonce spent ─► till.OnAccount
//	             (Checks, in this order)                                               └► till.Sample
//
// A signature covers the body and not the path, so the body names its account and its item, which
// must be those of the path. The nonce is spent before anything is looked at in the shop, so that
// nobody who overheard a request makes something of it later, whatever it was answered. What makes
// an order one order is its order_ref.
//
// The account named sandbox has a published secret and is given samples.
package trade

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// Account is one marketplace.
type Account struct {
	ID      string
	Partner string // its name, for certificates
	// Secrets sign its requests: the one in use and, while it is changed, the next. An account
	// without one is not provisioned.
	Secrets [][]byte
	Limits  account.Limits
	Items   []string // that are sold to it; none is all that are at the counter
}

// Sandbox is the account of who tries the counter out, and SandboxSecret its secret, which
// everybody may know.
const (
	Sandbox       = "sandbox"
	SandboxSecret = secretPrefix + "dGhlIHNhbmRib3gncyBzZWNyZXQgaXMgcHVibGljISE="
)

// IDForm is what ids of accounts look like.
var IDForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

const secretPrefix = "whsec_"

// ParseSecret reads a secret as Standard Webhooks spells it: whsec_ and 24 to 64 bytes in base64.
// The error does not repeat it.
func ParseSecret(s string) ([]byte, error) {
	raw, ok := strings.CutPrefix(s, secretPrefix)
	b, err := base64.StdEncoding.Strict().DecodeString(raw)
	if !ok || err != nil || len(b) < 24 || len(b) > 64 {
		return nil, errors.New("a secret is whsec_ and 24 to 64 bytes in base64")
	}
	return b, nil
}

// Config is what a Desk stands on. All fields but the last two are required.
type Config struct {
	BaseURL  string
	DB       ledger.DB
	Site     content.Editions
	Till     *till.Till
	Counter  *counter.Counter // reads inputs and says errors as it does for everybody
	Budgets  *budget.Set
	Specimen goods.Pools // of which samples are made
	Accounts []Account
	Now      func() time.Time // by which timestamps are judged; nil is time.Now
}

// Counter is the trade counter. It may be used by many goroutines at once.
type Counter struct {
	cfg      Config
	accounts []Account // the sandbox first
}

// New checks the accounts and makes a counter.
func New(cfg Config) (*Counter, error) {
	secret, err := ParseSecret(SandboxSecret)
	if err != nil {
		return nil, err
	}
	d := &Counter{cfg: cfg, accounts: []Account{{ID: Sandbox, Partner: Sandbox, Secrets: [][]byte{secret}}}}
	if d.cfg.Now == nil {
		d.cfg.Now = time.Now
	}
	for _, a := range cfg.Accounts {
		switch _, twice := d.account(a.ID); {
		case !IDForm.MatchString(a.ID):
			return nil, fmt.Errorf("trade: %.40q is no id of an account: lower-case letters, digits and hyphens, at "+
				"most 40",
				a.ID)
		case twice:
			return nil, fmt.Errorf("trade: the account %s is there twice, or is the sandbox", a.ID)
		case a.Partner == "":
			return nil, fmt.Errorf("trade: the account %s has no name for certificates", a.ID)
		}
		d.accounts = append(d.accounts, a)
	}
	return d, nil
}

// Accounts are those of the keeper's configuration.
func (d *Counter) Accounts() []Account { return d.accounts[1:] }

func (d *Counter) account(id string) (*Account, bool) {
	i := slices.IndexFunc(d.accounts, func(a Account) bool { return a.ID == id })
	if i < 0 {
		return nil, false
	}
	return &d.accounts[i], true
}

// sells refuses what is not sold to an account.
func (d *Counter) sells(a *Account, o *till.Offer) error {
	why := ""
	switch g := o.Good; {
	case !o.Mints || o.About != "/menu/"+g.ID:
		why = "only goods of the shelf are sold on account"
	case g.Fulfilment == content.Human:
		why = "what the keeper does by hand is not sold on account: a window that is missed is paid back to the " +
			"wallet that paid"
	case o.Kind.Paid != nil:
		why = "it is asked of a service once it is paid for, and what that does not give is paid back to the " +
			"wallet that paid"
	case g.Kind == content.KindPortrait:
		why = "it is drawn of the wallet that pays"
	case o.Price() < account.MinRetail:
		why = "goods below " + content.FormatUSDC(account.MinRetail) + " USD are not sold on account"
	case len(a.Items) > 0 && !slices.Contains(a.Items, g.ID):
		why = "this account does not carry it"
	case a.ID == Sandbox && !goods.HasSample(g, d.cfg.Specimen):
		why = "the sandbox has samples of what is made of a text alone"
	default:
		return nil
	}
	return refuse("not_at_the_counter", o.ID+" is not at this counter: "+why+".")
}

// view runs f on a snapshot of the ledger, with a deadline.
func (d *Counter) view(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTime)
	defer cancel()
	return down(d.cfg.DB.View(ctx, f))
}

const ledgerTime = 15 * time.Second
