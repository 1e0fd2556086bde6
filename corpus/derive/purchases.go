package derive

import (
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/record"
)

// The outcomes of a purchase, by whether the door answered with the good and whether money moved.
const (
	OutcomeDelivered  = "delivered"               // both
	OutcomeNotCharged = "delivered_not_charged"   // the good, and the money did not move
	OutcomeCharged    = "charged_not_delivered"   // the money, and no good
	OutcomeRefused    = "refused_and_not_charged" // an answer that is not the good, and the money did not move
	OutcomeUnanswered = "unanswered"              // neither
)

// Outcome is what came of a purchase that was answered so, nil for no answer.
func Outcome(c *record.WalkClaim, moved bool) string {
	switch {
	case c.Delivers() && moved:
		return OutcomeDelivered
	case c.Delivers():
		return OutcomeNotCharged
	case moved:
		return OutcomeCharged
	case c != nil:
		return OutcomeRefused
	}
	return OutcomeUnanswered
}

// Purchases counts what came of purchases at doors.
type Purchases struct {
	Tried     int64 `json:"tried"`     // a payment was presented
	Delivered int64 `json:"delivered"` // of Tried: the door answered with a status from 200 to 299
	Charged   int64 `json:"charged"`   // of Tried: money moved, as its network shows
	// NotDelivered are those of Charged, and NotCharged those of Delivered, that lack the other.
	NotDelivered int64 `json:"charged_not_delivered"`
	NotCharged   int64 `json:"delivered_not_charged"`
	Unanswered   int64 `json:"unanswered"` // of Tried: neither an answer nor a charge
	// AskedTwice are those of Charged whose order was made again, as after a lost answer.
	AskedTwice   int64 `json:"made_again"`
	ChargedTwice int64 `json:"charged_twice"` // of AskedTwice
}

// plus is the sum.
func (p Purchases) plus(o Purchases) Purchases {
	return Purchases{p.Tried + o.Tried, p.Delivered + o.Delivered, p.Charged + o.Charged,
		p.NotDelivered + o.NotDelivered, p.NotCharged + o.NotCharged, p.Unanswered + o.Unanswered,
		p.AskedTwice + o.AskedTwice, p.ChargedTwice + o.ChargedTwice}
}

// PurchaseWeek is what came of the purchases of one ISO week, by who bought.
type PurchaseWeek struct {
	Week string `json:"week"`
	// Own are by the store's own wallet, whatever came of them: they alone have a rate.
	Own Purchases `json:"own"`
	// Rate is Own.NotDelivered of Own.Charged in 10,000, rounded down; null where none was charged.
	Rate *int64 `json:"own_charged_not_delivered_per_10000"`
	// BySellers and ByStrangers are what their walkers chose to tell of: the money is shown by its
	// network, the rest is what they say.
	BySellers   Purchases `json:"told_by_sellers"`
	ByStrangers Purchases `json:"told_by_strangers"`
	// Untold are paid walks that tell of no outcome, or not who bought; no count above has them.
	Untold int64 `json:"untold"`
}

// plus is the sum of two weeks, of no week.
func (w PurchaseWeek) plus(o PurchaseWeek) PurchaseWeek {
	return PurchaseWeek{Own: w.Own.plus(o.Own), BySellers: w.BySellers.plus(o.BySellers),
		ByStrangers: w.ByStrangers.plus(o.ByStrangers), Untold: w.Untold + o.Untold}
}

// rated is with the rate.
func (w PurchaseWeek) rated() PurchaseWeek {
	if w.Rate = nil; w.Own.Charged > 0 {
		w.Rate = new(w.Own.NotDelivered * 10_000 / w.Own.Charged)
	}
	return w
}

// NotExercised stands where nobody made an order again to see whether it is charged again.
const NotExercised = "not_exercised"

// Purchase is one purchase at a door.
type Purchase struct {
	Observation  int64             `json:"observation"`
	At           string            `json:"at"`
	Host         string            `json:"host"`
	URL          string            `json:"url"` // without its query
	By           string            `json:"by"`  // "" where it was not told
	Outcome      string            `json:"outcome"`
	Network      string            `json:"network"`
	USDC         string            `json:"usdc"`                 // of the payment
	Transaction  string            `json:"transaction,omitzero"` // absent: no money moved
	ChargedTwice string            `json:"charged_twice"`        // yes, no or NotExercised
	Second       string            `json:"second_transaction,omitzero"`
	Claim        *record.WalkClaim `json:"claim"` // null: no answer came, or none is told
}

// purchaseOf is the purchase that an observation tells of.
func purchaseOf(o record.Observation) (p Purchase, ok bool) {
	switch {
	case o.Walk != nil:
		w := o.Walk
		p = Purchase{Host: w.Host, URL: w.URL, By: w.By, Network: w.Network, USDC: w.USDC,
			Transaction: w.Transaction, ChargedTwice: w.ChargedTwice, Second: w.Second, Claim: w.Claim}
		// Who is not the store and claims nothing tells of no outcome.
		if w.Claim != nil || w.By == record.BoughtByStore {
			p.Outcome = Outcome(w.Claim, true)
		}
	case o.Unpaid != nil:
		u := o.Unpaid
		p = Purchase{Host: u.Host, URL: u.URL, By: record.BoughtByStore, Outcome: Outcome(u.Claim, false),
			Network: u.Network, USDC: u.USDC, Claim: u.Claim}
	default:
		return p, false
	}
	if p.Observation, p.At = o.Number, o.At; p.ChargedTwice == "" {
		p.ChargedTwice = NotExercised
	}
	return p, true
}

// add counts a purchase.
func (w *PurchaseWeek) add(p Purchase) {
	of := map[string]*Purchases{record.BoughtByStore: &w.Own, record.BoughtBySeller: &w.BySellers,
		record.BoughtByStranger: &w.ByStrangers}[p.By]
	if of == nil || p.Outcome == "" {
		w.Untold++
		return
	}
	one := Purchases{Tried: 1}
	switch p.Outcome {
	case OutcomeDelivered:
		one.Delivered, one.Charged = 1, 1
	case OutcomeNotCharged:
		one.Delivered, one.NotCharged = 1, 1
	case OutcomeCharged:
		one.Charged, one.NotDelivered = 1, 1
	case OutcomeUnanswered:
		one.Unanswered = 1
	}
	switch p.ChargedTwice {
	case record.ChargedYes:
		one.AskedTwice, one.ChargedTwice = 1, 1
	case record.ChargedNo:
		one.AskedTwice = 1
	}
	*of = of.plus(one)
}

// PurchasesLimit is how many purchases the series names, the newest; it counts all of them.
const PurchasesLimit = 200

// PurchasesView is /corpus/purchases.json.
type PurchasesView struct {
	Format      string         `json:"format"`
	Explanation string         `json:"explanation"`
	Weeks       []PurchaseWeek `json:"weeks"`     // with a purchase, oldest first
	All         PurchaseWeek   `json:"all"`       // their sum
	Newest      []Purchase     `json:"purchases"` // the newest first
	LeftOut     int64          `json:"purchases_left_out"`
	From        Source         `json:"derived_from"`
}

// NoPurchases says why the series is empty.
const NoPurchases = "No purchase at a door is on the record yet: nobody ordered a launch check here, and nobody told " +
	"of a purchase with its transaction."

// Purchases is what came of purchases at doors, by the ISO week in which it was known.
func (b *Book) Purchases() PurchasesView {
	v := PurchasesView{Format: "store-purchases/v1", Explanation: NoPurchases, Weeks: []PurchaseWeek{},
		Newest: []Purchase{}, From: b.source()}
	at := map[string]*PurchaseWeek{}
	for _, o := range b.Feed {
		p, ok := purchaseOf(o)
		if !ok {
			continue
		}
		t, _ := time.Parse(time.RFC3339, o.At) // it is checked where observations are read
		week := record.ISOWeek(t)
		if at[week] == nil {
			at[week] = &PurchaseWeek{Week: week}
		}
		at[week].add(p)
		v.Newest = append(v.Newest, p)
	}
	for _, w := range at {
		v.Weeks = append(v.Weeks, w.rated())
		v.All = v.All.plus(*w)
	}
	slices.SortFunc(v.Weeks, func(a, b PurchaseWeek) int { return strings.Compare(a.Week, b.Week) })
	v.All = v.All.rated()
	slices.Reverse(v.Newest)
	if n := len(v.Newest) - PurchasesLimit; n > 0 {
		v.Newest, v.LeftOut = v.Newest[:PurchasesLimit], int64(n)
	}
	if len(v.Weeks) > 0 {
		v.Explanation = "By the ISO week of the observation, which is when what came of a purchase was known; a week " +
			"without one is absent. own are purchases by the store's own wallet (launch_check), every one for which " +
			"a payment was presented, whatever came of it: delivered, charged and unanswered are of tried, " +
			"charged_not_delivered is of charged, delivered_not_charged of delivered. made_again are those of " +
			"charged whose order was made again with a second payment, as a client does whose answer was lost, and " +
			"charged_twice is of made_again. own_charged_not_delivered_per_10000 is rounded down. told_by_sellers " +
			"and told_by_strangers are what walkers chose to tell of: that the money moved was read on its network, " +
			"and everything else is the walker's claim, that the walker is no seller included. They are in no rate. " +
			"untold are paid walks of which no outcome or no buyer is told."
	}
	return v
}
