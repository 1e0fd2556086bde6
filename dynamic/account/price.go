package account

// Prices follow from the shelf's by one rule: retail × 1.20 ÷ (1 − share), rounded up to the cent.
// The account keeps its share of that, rounded down to the cent, and owes the rest, which is never
// less than retail × 1.20.

// Cent is the smallest amount of a trade price.
const Cent = 10_000

// MinRetail is the least retail price that is sold on account: below it the markup is lost in the
// rounding.
const MinRetail = 50 * Cent

// MarkupBPS is what a trade price has beside the retail price and the share, in basis points.
const MarkupBPS = 2000

const whole = 10_000 // basis points

// Share is one row of the table of shares.
type Share struct {
	From int `json:"from_orders_a_month"`
	BPS  int `json:"share_bps"`
}

// Shares is what an account keeps of a trade price, by what was delivered to it in the month
// before, so that its prices stay as they are within a month.
var Shares = []Share{{0, 500}, {1_000, 800}, {10_000, 1_200}}

// Share is what an account keeps this month, in basis points.
func (b Book) Share() int {
	bps := 0
	for _, s := range Shares {
		if b.Before >= s.From {
			bps = s.BPS
		}
	}
	return bps
}

// Terms are the amounts of one sale.
type Terms struct {
	Price int64 `json:"price"` // what the account's customer pays
	Net   int64 `json:"net"`   // what the account owes of it
	BPS   int   `json:"share_bps"`
}

// TermsOf are the terms of a sale at a retail price and a share.
func TermsOf(retail int64, bps int) Terms {
	const markup = whole + MarkupBPS
	per := int64(whole-bps) * Cent
	cents := (retail*markup + per - 1) / per
	kept := cents * int64(bps) / whole
	return Terms{Price: cents * Cent, Net: (cents - kept) * Cent, BPS: bps}
}
