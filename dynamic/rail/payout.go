package rail

import (
	"context"
	"math/big"
	"time"
)

// Payouts is a network on which the store pays by authorizations of its own (EIP-3009), which their
// receivers redeem (package till, M9). A network whose token knows none is paid on by hand.
type Payouts interface {
	// CheckPayout demands that p is signed by its payer, for the token of the network. It reads no
	// chain.
	CheckPayout(p *Payment) error
	// Redeemed says what became of p, or what would if it were redeemed now. It is looked for from
	// a block on.
	Redeemed(ctx context.Context, p *Payment, from uint64) (Redemption, error)
}

// Redemption is how an authorization of the store's own stands.
type Redemption struct {
	Proof   *Proof   // the Transfer, in a block that is final
	Used    bool     // used or cancelled, in a final block or not
	Trouble string   // why redeeming it now would fail, or what used it up; "" for nothing
	Balance *big.Int // what its account has, in atomic units
	Final   time.Time
}
