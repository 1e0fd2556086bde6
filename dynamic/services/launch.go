package services

import (
	"context"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// A launch check buys at a stranger's door for whoever paid for it: one purchase, of at most
// LaunchCap, from a wallet of the store's own, and a signed report of what came back. The door is
// read unpaid before that, as for every reading that is sold: what asks for too much, for another
// token, or not to be read, is refused and nothing is charged.
//
// A purchase begins in the transaction that promises it. Its payment is signed once, whichever
// process makes it and whenever one of them dies: the buyer's journal is in the ledger, under the
// order's id, and whoever goes on with the order presents the same payment again. What a door can
// take is one authorization over an amount that the ledger has set aside before; it is valid for
// five minutes, and nothing that a door answers makes the store sign another.
//
// That money moved is read on its network, at finality, and nowhere else: a door's word for it is
// told as its word. Until the payment has moved, or can move no more, nothing is reported. Then the
// purchase is put on the public record, in the transaction that keeps its report: as a paid walk
// where its money moved, else as an unpaid one, so that not only what went well is counted there.
//
// Where nothing could be signed within launchPatience (the door asks for more now, for another
// token, or does not answer), the order is completed with the reason. Where the store's wallet
// could not pay, what was paid for it is owed; what the door did is the answer that was bought.
//
//	launch/<order_id>       LaunchRecord
//	goods/launched/<host>   launchPlace: one a host and 24 hours, and what all of them may cost
//	bought/launch/…         the payments (package buyer)

const (
	// LaunchCap is the most that is paid at a door, in atomic USDC.
	LaunchCap = 5 * content.USDC / 100
	// MaxValidity is for how long a payment is good.
	MaxValidity = 5 * time.Minute
	// AskFor bounds one request at a door, buyFor one try there.
	AskFor, buyFor = 45 * time.Second, 100 * time.Second

	// launchWithin is how long a purchase may take until it is known what came of it.
	launchWithin = 24 * time.Hour
	// launchEvery is how long a host is left alone after one, and for how long it counts.
	launchEvery = 24 * time.Hour
	// launchSlack is how long after its begin a purchase may be signed.
	launchSlack = 5 * time.Minute
	// launchPatience is for how long it is tried to sign a payment.
	launchPatience = time.Hour
	// askAgain is when a door is tried again at which nothing was signed, lookAgain when a payment
	// that was is presented, or looked for, again.
	askAgain, lookAgain = 10 * time.Minute, 15 * time.Second
	// clocks is how far past its end a payment is held to be good still.
	clocks = time.Minute
)

// Launch is a purchase at a door that was ordered.
type Launch struct {
	Order    string         `json:"order"` // its public id
	Purchase string         `json:"purchase"`
	Item     string         `json:"item"`
	Target   string         `json:"target"` // as it was asked for
	Host     string         `json:"host"`
	Door     string         `json:"door"`   // the URL that is bought at
	Method   string         `json:"method"` // GET, or POST with an empty object
	Starts   time.Time      `json:"starts"`
	Reading  *goods.Reading `json:"reading"` // that was made before it was paid for, nil where it was lost
}

// LaunchRecord is a purchase at a door, and what became of it so far.
type LaunchRecord struct {
	Launch
	Marks   map[string]uint64 `json:"marks,omitzero"` // by network, the head before the first signature could be made
	Sent    *Sent             `json:"sent,omitzero"`
	Outcome *Outcome          `json:"outcome,omitzero"`
	Closed  bool              `json:"closed,omitzero"`
}

// Sent is the payment, and what the door answered.
type Sent struct {
	Network     string    `json:"network"`
	Asset       string    `json:"asset"`
	Payer       string    `json:"payer"`
	PayTo       string    `json:"pay_to"`
	Nonce       string    `json:"nonce"`
	Amount      int64     `json:"amount"` // atomic units
	SignedAt    time.Time `json:"signed_at"`
	ValidBefore time.Time `json:"valid_before"`
	Answer      *Answer   `json:"answer,omitzero"` // nil where none came while the payment was good
	// Took is how long the answer took, in milliseconds; 0 where that was not noted.
	Took int64 `json:"took_ms,omitzero"`
}

// Answer is what a door gave for its money, as its report says it.
type Answer struct {
	At          time.Time `json:"at"` // UTC, whole seconds
	Status      int       `json:"status"`
	ContentType string    `json:"content_type"` // type and subtype
	BodySHA256  string    `json:"body_sha256"`
	BodyBytes   int       `json:"body_bytes"`
	Cut         bool      `json:"cut_there"` // it went on
	// Settled is the door's word: yes, no or unknown. Receipt says what its signed receipt is
	// worth.
	Settled  string `json:"says_it_settled"`
	Verified bool   `json:"receipt_verified"`
	Receipt  string `json:"receipt"`
	// Passed is what the door passed on of what its facilitator said.
	Passed []feed.Word `json:"passed_on,omitzero"`
}

// Outcome is what came of a purchase, and when.
type Outcome struct {
	goods.LaunchOutcome
	At time.Time `json:"at"`
}

// LaunchJob is the name of the work in the ledger's queue, and of the journal of payments.
const LaunchJob = "launch"

var launches = journal[LaunchRecord]{job: LaunchJob, key: ledger.LaunchKey,
	of: func(r LaunchRecord) string { return r.Purchase }}

// ReadLaunch is a purchase; ledger.ErrNotFound where there is none.
func ReadLaunch(tx ledger.Tx, order string) (LaunchRecord, error) { return launches.read(tx, order) }

// Buyer buys; *buyer.Buyer is one.
type Buyer interface {
	Buy(ctx context.Context, url string, o buyer.Options) (*buyer.Result, error)
}

// LaunchConfig is what is bought with at doors. All fields are required where there is a Purse.
type LaunchConfig struct {
	Purse *Purse // nil: nothing is bought
	Daily int64  // atomic USDC within 24 hours
	// Buyer is a buyer that pays in no other tokens.
	Buyer func(tokens []buyer.Token) (Buyer, error)
	// Observe puts a purchase on the record (feed.Observe).
	Observe goods.Observe
	// Ended is told of each outcome: its verdict, or not_walked.
	Ended func(verdict string)
}

// launch is the kind of launch checks.
func (s *Services) launch() goods.Kind {
	able := func(_ goods.Maker, good content.Good) error {
		if s.cfg.Launches.Purse == nil || s.cfg.Readings == nil {
			return &goods.Away{Item: good.ID, Lacks: "a wallet that buys"}
		}
		if s.cfg.Launches.Purse.Empty() {
			return &goods.Unread{Code: goods.CodeBudget, Detail: "The wallet that buys for launch checks is empty on " +
				"every network. The keeper is told."}
		}
		return nil
	}
	return goods.Kind{
		Name: content.KindLaunch, Delivers: goods.Launched{}, Counted: true, Unit: "a reading", Later: true,
		Able: able,
		Available: func(m goods.Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
			err := able(m, good)
			if err == nil && inputs != nil {
				_, err = s.freeLaunch(tx, inputs)
			}
			return err
		},
		Reserve: func(m goods.Maker, tx ledger.Tx, o *goods.Order) error {
			if err := able(m, o.Good); err != nil {
				return err
			}
			host, err := s.freeLaunch(tx, o.Inputs)
			if err != nil {
				return err
			}
			return errors.Join(s.reader.Reserve(tx, content.KindLaunch, o),
				ledger.SetJSON(tx, launchedKey(host), launchPlace{Order: o.ID}))
		},
		Release: func(_ goods.Maker, tx ledger.Tx, o *goods.Order) error {
			if o.Artifact != "" { // it was promised
				if err := launches.drop(tx, o.Artifact); err != nil {
					return err
				}
			}
			return errors.Join(s.unlaunch(tx, o), s.reader.Release(tx, content.KindLaunch, o))
		},
		Make: func(ctx context.Context, _ goods.Maker, o *goods.Order) (*goods.Made, error) {
			r, err := s.reader.Read(ctx, content.KindLaunch, o)
			if err != nil {
				return nil, err
			}
			g := goods.MadeOf(o, goods.Launched{Target: r.Target, Door: r.Door, Method: r.Method,
				CapUSDC: content.FormatUSDC(LaunchCap), HowTo: "order_url says how it stands; once it is completed, " +
					"report_url has the signed report, free and for ever."},
				"Somebody is on the way to the door with money in hand.", "")
			g.Saw = r.Host
			return g, nil
		},
		Settle: goods.Settled(func(_ ledger.Tx, o *goods.Order, d *goods.Launched) error {
			d.DueAt = stamp(o.Settled.Add(launchWithin))
			return nil
		}),
		Promise: func(_ goods.Maker, tx ledger.Tx, o *goods.Order, g *goods.Made) error {
			d, err := goods.Delivered[goods.Launched](g)
			if err != nil {
				return err
			}
			l := Launch{Order: o.Artifact, Purchase: o.ID, Item: o.Good.ID, Target: d.Target, Host: g.Saw,
				Door: d.Door, Method: d.Method, Starts: o.Settled.UTC().Truncate(time.Second)}
			if l.Reading, err = s.reader.Take(tx, g.Saw, o); err != nil {
				return err
			}
			return launches.put(tx, l.Order, LaunchRecord{Launch: l}, tx.Now())
		},
		Artifact: orders(launchWithin),
	}
}

// launchOver completes a purchase at a door with what came of it. It leaves the promise as it is.
func launchOver(promise *goods.Made, out goods.LaunchOutcome, at time.Time) (*goods.Made, error) {
	d, err := goods.Delivered[goods.Launched](promise)
	if err != nil {
		return nil, err
	}
	d.LaunchOutcome, d.CompletedAt = out, stamp(at)
	if d.Answer, err = digestOf(out); err != nil {
		return nil, err
	}
	g := *promise
	g.Attests, g.Message = out.Evidence, "The door was bought at: "+strings.ReplaceAll(out.Verdict, "_", " ")+"."
	switch {
	case out.Owed():
		g.Attests, g.Message = d.Answer, "The door could not be bought at. What you paid is owed to you."
	case out.NotWalked != "":
		g.Attests, g.Message = d.Answer, "The door could not be bought at: "+out.NotWalked+"."
	}
	g.Deliver(content.KindLaunch, d)
	return &g, nil
}

// launchPlace is a purchase at a host that was ordered. It counts until Until, or, where that is
// zero, until the purchase is begun and 24 hours beyond: so that within any 24 hours no more is
// spent than the places allow.
type launchPlace struct {
	Order string    `json:"order"` // the purchase that paid for it
	Until time.Time `json:"until,omitzero"`
}

func (p launchPlace) over(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

func launchedKey(host string) []byte { return ledger.GoodsKey("launched", host) }

// freeLaunch refuses a purchase at a host that had one within 24 hours, or for which the wallet may
// spend no more, and names the host of one that can be had.
func (s *Services) freeLaunch(tx ledger.Tx, inputs map[string]string) (host string, err error) {
	if host, _, _, err = s.reader.Free(tx, content.KindLaunch, inputs); err != nil {
		return "", err
	}
	now, spent, next := tx.Now(), int64(0), time.Time{}
	for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("launched"))) {
		if err != nil {
			return "", err
		}
		p, err := ledger.DecodeJSON[launchPlace](e)
		if err != nil {
			return "", err
		}
		if p.over(now) {
			continue
		}
		until := p.Until
		if until.IsZero() {
			until = now.Add(launchEvery)
		}
		if string(e.Key) == string(launchedKey(host)) {
			return "", &goods.Unread{Code: goods.CodeTargetHeld, Until: until,
				Detail: "Nothing is bought twice at a host within 24 hours, whoever asks, and at this one " +
					"something was."}
		}
		spent += LaunchCap
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	if spent+LaunchCap > s.cfg.Launches.Daily {
		return "", &goods.Unread{Code: goods.CodeBudget, Until: next,
			Detail: "The wallet that buys for launch checks has spent what it may within 24 hours."}
	}
	return host, nil
}

// unlaunch gives a place back that nothing was bought on.
func (s *Services) unlaunch(tx ledger.Tx, o *goods.Order) error {
	if s.cfg.Readings == nil {
		return nil
	}
	_, host, err := s.cfg.Readings.Target(content.KindLaunch, o.Inputs)
	if err != nil {
		return nil // it had none
	}
	p, err := ledger.GetJSON[launchPlace](tx, launchedKey(host))
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (p.Order != o.ID || !p.Until.IsZero()) {
		return nil
	}
	return errors.Join(err, tx.Delete(launchedKey(host)))
}

// launchBegins notes that a host is about to be bought at: from now on its place counts for 24
// hours, whatever comes of it. It is an error where the place is another order's.
func launchBegins(tx ledger.Tx, l Launch) error {
	p, found, err := ledger.FindJSON[launchPlace](tx, launchedKey(l.Host))
	if err != nil {
		return err
	}
	if found && p.Order != l.Purchase && !p.over(tx.Now()) {
		return errPlaceTaken
	}
	until := tx.Now().UTC().Add(launchEvery + launchSlack)
	return ledger.SetJSON(tx, launchedKey(l.Host), launchPlace{l.Purchase, until})
}

var errPlaceTaken = errors.New("launch: the host is another order's to buy at")
