package rail

import (
	"context"
	"errors"
	"math/big"
	"time"
)

// Settlements is a network on which what anybody was paid can be read back: by whom, and in which
// transaction.
type Settlements interface {
	// Settled reads a payment in the network's token out of one transaction, as a final block has
	// it. Errors are ErrNotFinal, ErrReverted and ErrOtherPayment; every other error means that
	// nothing is known.
	Settled(ctx context.Context, s Settlement) (Settled, error)
}

// Settlement is a payment that somebody says was made: an authorization of Payer's that moved
// exactly Amount to PayTo, in transaction Tx.
type Settlement struct {
	Tx, Payer, PayTo string
	Amount           *big.Int
}

// Settled is where a settlement stands.
type Settled struct {
	Tx    string // in its one spelling
	Block uint64
	Time  time.Time // of the block, UTC
}

// Why a settlement is not taken for one.
var (
	ErrNotFinal     = errors.New("no final block has the transaction")
	ErrReverted     = errors.New("the transaction failed and moved nothing")
	ErrOtherPayment = errors.New("the transaction is no such payment")
)
