package goods

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Launches buy at a stranger's door, from a wallet of the store's own.
type Launches interface {
	// Ready says why nothing can be bought at present; nil where it can.
	Ready() error
	// Daily is how much may be spent within 24 hours, in atomic USDC.
	Daily() int64
	// Want has a door bought at.
	Want(tx ledger.Tx, l Launch) error
	// Drop gives up one whose payment was taken back.
	Drop(tx ledger.Tx, order string) error
}

// Launch is a purchase at a door that was ordered.
type Launch struct {
	Order    string    `json:"order"` // its public id
	Purchase string    `json:"purchase"`
	Item     string    `json:"item"`
	Target   string    `json:"target"` // as it was asked for
	Host     string    `json:"host"`
	Door     string    `json:"door"`   // the URL that is bought at
	Method   string    `json:"method"` // GET, or POST with an empty object
	Starts   time.Time `json:"starts"`
	Reading  *Reading  `json:"reading"` // that was made before it was paid for, nil where it was lost
}

const (
	// LaunchCap is the most that is paid at a door, in atomic USDC.
	LaunchCap = 5 * content.USDC / 100
	// launchWithin is how long a purchase may take until it is known what came of it.
	launchWithin = 24 * time.Hour
	// launchEvery is how long a host is left alone after one, and for how long it counts.
	launchEvery = 24 * time.Hour
	// launchSlack is how long after its begin a purchase may be signed.
	launchSlack = 5 * time.Minute
)

// Launched is the deliverable of a purchase at a door: what was promised, then what came of it.
type Launched struct {
	Target      string `json:"target,omitzero"`
	Door        string `json:"door,omitzero"`
	Method      string `json:"method,omitzero"`
	CapUSDC     string `json:"cap_usdc,omitzero"`
	DueAt       string `json:"due_at,omitzero"`
	CompletedAt string `json:"completed_at,omitzero"`
	LaunchOutcome
	Answer string `json:"answer_digest,omitzero"` // of the outcome
	HowTo  string `json:"how_to_read,omitzero"`
}

// LaunchOutcome is what came of a purchase at a door: a report, or why nothing was bought.
type LaunchOutcome struct {
	AuditID     string `json:"audit_id,omitzero"`
	ReportURL   string `json:"report_url,omitzero"`
	ReportSHA   string `json:"report_sha256,omitzero"`   // sha256: of its signed payload
	Evidence    string `json:"evidence_sha256,omitzero"` // as the report has it
	Verdict     string `json:"verdict,omitzero"`
	Network     string `json:"network,omitzero"` // where the money moved, "" where it did not
	Transaction string `json:"transaction,omitzero"`
	USDC        string `json:"usdc,omitzero"`
	NotWalked   string `json:"not_walked,omitzero"`
	// AtDoor says that nothing was bought by the door's own doing, which is what was ordered to be
	// found out.
	AtDoor bool `json:"at_door,omitzero"`
}

// Owed reports whether what was paid is owed back: nothing was bought, and not by the door's doing.
// A seller whose door turns a buyer away after it was read must not have its money back, and what
// its certificate is good for.
func (o LaunchOutcome) Owed() bool { return o.NotWalked != "" && !o.AtDoor }

// launch buys at a door after it was paid for. The door is read unpaid before that, as for every
// reading that is sold: what asks for too much, for another token, or not to be read, is refused
// and nothing is charged.
//
//	goods/launched/<host>   launchPlace: one a host and 24 hours, and what all of them may cost
var launch = Kind{
	Name: content.KindLaunch, Delivers: Launched{}, Counted: true, Unit: "a reading", Later: true,
	Able: Maker.canLaunch,
	Available: func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
		if inputs == nil {
			return m.canLaunch(good)
		}
		_, err := m.freeLaunch(tx, good, inputs)
		return err
	},
	Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
		host, err := m.freeLaunch(tx, o.Good, o.Inputs)
		if err != nil {
			return err
		}
		return errors.Join(reserveReading(content.KindLaunch)(m, tx, o),
			ledger.SetJSON(tx, launchedKey(host), launchPlace{Order: o.ID}))
	},
	Release: func(m Maker, tx ledger.Tx, o *Order) error {
		if o.Artifact != "" && m.Launches != nil { // it was promised
			if err := m.Launches.Drop(tx, o.Artifact); err != nil {
				return err
			}
		}
		return errors.Join(m.unlaunch(tx, o), releaseReading(content.KindLaunch)(m, tx, o))
	},
	Make: func(ctx context.Context, m Maker, o *Order) (*Made, error) {
		r, err := m.read(ctx, content.KindLaunch, o)
		if err != nil {
			return nil, err
		}
		g := made(o, Launched{Target: r.Target, Door: r.Door, Method: r.Method,
			CapUSDC: content.FormatUSDC(LaunchCap), HowTo: "order_url says how it stands; once it is completed, " +
				"report_url has the signed report, free and for ever."},
			"Somebody is on the way to the door with money in hand.", "")
		g.Saw = r.Host
		return g, nil
	},
	Settle: func(_ Maker, _ ledger.Tx, o *Order, g *Made) error {
		d, err := delivered[Launched](g)
		if err != nil {
			return err
		}
		d.DueAt = moment(o.Settled.Add(launchWithin))
		g.Deliver(o.Good.Kind, d)
		return nil
	},
	Promise: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		d, err := delivered[Launched](g)
		if err != nil {
			return err
		}
		h, err := heldOf(tx, g.Saw, o)
		if err != nil {
			return err
		}
		l := Launch{Order: o.Artifact, Purchase: o.ID, Item: o.Good.ID, Target: d.Target, Host: g.Saw, Door: d.Door,
			Method: d.Method, Starts: o.Settled.UTC().Truncate(time.Second)}
		if h != nil {
			l.Reading = h.Reading
			err = tx.Delete(readingKey(g.Saw))
		}
		return errors.Join(err, m.Launches.Want(tx, l))
	},
	Artifact: &Artifact{Class: attest.ClassOrder, Prefix: "order_", Path: "/api/order/", Payload: launchPayload},
}

func launchPayload(o *Order, g *Made, f Facts) (any, error) {
	d, err := delivered[Launched](g)
	if err != nil {
		return nil, err
	}
	asked := sha256.Sum256([]byte(d.Target))
	v := attest.Order{OrderID: f.ID, Class: attest.ClassOrder, PatronNumber: f.PatronNumber, Date: f.Date,
		Item: o.Good.ID, Status: "queued", PaidUSDC: f.PaidUSDC, WindowHours: int(launchWithin / time.Hour),
		DueAt: d.DueAt, Asked: "sha256:" + hex.EncodeToString(asked[:]), FromTheStore: f.Store}
	if d.CompletedAt != "" {
		v.Status, v.CompletedAt, v.Answer = "completed", d.CompletedAt, d.Answer
	}
	return v, nil
}

// ReadLaunched reads the deliverable of a purchase at a door, nil for what is none.
func ReadLaunched(g *Made) (*Launched, error) {
	d, err := delivered[Launched](g)
	if err != nil || d.CapUSDC == "" {
		return nil, err
	}
	return &d, nil
}

// LaunchClosed completes a purchase at a door with what came of it. It leaves the promise as it is.
func LaunchClosed(promise *Made, out LaunchOutcome, at time.Time) (*Made, error) {
	d, err := delivered[Launched](promise)
	if err != nil {
		return nil, err
	}
	b, err := attest.Canonical(out)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	d.LaunchOutcome, d.CompletedAt, d.Answer = out, moment(at), "sha256:"+hex.EncodeToString(sum[:])
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

func (m Maker) canLaunch(good content.Good) error {
	if m.Launches == nil || m.Readings == nil {
		return &Away{Item: good.ID, Lacks: "a wallet that buys"}
	}
	return m.Launches.Ready()
}

// freeLaunch refuses a purchase at a host that had one within 24 hours, or for which the wallet may
// spend no more, and names the host of one that can be had.
func (m Maker) freeLaunch(tx ledger.Tx, good content.Good, inputs map[string]string) (host string, err error) {
	if err := m.canLaunch(good); err != nil {
		return "", err
	}
	if host, _, _, err = m.free(tx, content.KindLaunch, inputs); err != nil {
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
			return "", &Unread{Code: CodeTargetHeld, Until: until,
				Detail: "Nothing is bought twice at a host within 24 hours, whoever asks, and at this one " +
					"something was."}
		}
		spent, next = spent+LaunchCap, earlier(next, until)
	}
	if spent+LaunchCap > m.Launches.Daily() {
		return "", &Unread{Code: CodeBudget, Until: next,
			Detail: "The wallet that buys for launch checks has spent what it may within 24 hours."}
	}
	return host, nil
}

// unlaunch gives a place back that nothing was bought on.
func (m Maker) unlaunch(tx ledger.Tx, o *Order) error {
	if m.Readings == nil {
		return nil
	}
	_, host, err := m.Readings.Target(content.KindLaunch, o.Inputs)
	if err != nil {
		return nil // it had none
	}
	p, err := ledger.GetJSON[launchPlace](tx, launchedKey(host))
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (p.Order != o.ID || !p.Until.IsZero()) {
		return nil
	}
	return errors.Join(err, tx.Delete(launchedKey(host)))
}

// LaunchBegins notes that a host is about to be bought at: from now on its place counts for 24
// hours, whatever comes of it. It is an error where the place is another order's.
func LaunchBegins(tx ledger.Tx, l Launch) error {
	p, err := ledger.GetJSON[launchPlace](tx, launchedKey(l.Host))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if err == nil && p.Order != l.Purchase && !p.over(tx.Now()) {
		return errPlaceTaken
	}
	until := tx.Now().UTC().Add(launchEvery + launchSlack)
	return ledger.SetJSON(tx, launchedKey(l.Host), launchPlace{l.Purchase, until})
}

var errPlaceTaken = errors.New("goods: the host is another order's to buy at")
