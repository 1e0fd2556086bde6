package till

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// A stock client sends no idempotency key, and an application that lost an answer calls again: a
// new challenge, a new signature, a second charge. So every 402 suggests a key that follows from
// the order and the minute, in its body and as the id of payment-identifier, which stock clients
// echo. It is guessable and no secret: it opens a slot only for a payer whose fresh authorization
// was verified, and it finds nothing but an equal order of theirs.

// Fingerprint is what must be equal for a repeat, in hex: the item and its validated inputs,
// without source, callback address, rail and tier.
func Fingerprint(item string, inputs map[string]string) string {
	in := inputs
	if in["source"] != "" || in["callback_url"] != "" || in == nil {
		in = make(map[string]string, len(inputs))
		for k, v := range inputs {
			if k != "source" && k != "callback_url" {
				in[k] = v
			}
		}
	}
	if len(in) == 0 { // as most that are only asked for
		if f, ok := withoutInputs.Load(item); ok {
			return f.(string)
		}
	}
	b, err := json.Marshal(struct {
		Item   string
		Inputs map[string]string
	}{item, in})
	if err != nil { // strings marshal
		panic(err)
	}
	sum := sha256.Sum256(b)
	f := hex.EncodeToString(sum[:])
	if len(in) == 0 {
		withoutInputs.Store(item, f)
	}
	return f
}

// withoutInputs are the fingerprints of items of which nothing is asked, by item: no more than are
// for sale.
var withoutInputs sync.Map

const (
	suggestedMinute = "200601021504"
	// suggestedDigits is how much of a fingerprint a suggested key holds, in hex digits: 128 bits
	// are 26 characters of base32.
	suggestedDigits = 32
	// SameOrder is how long after its end an order answers an equal one of the same wallet that has
	// no key of its own.
	SameOrder = 5 * time.Minute
	// maxRecent bounds the equal orders of a wallet that are remembered by their fingerprint.
	maxRecent = 16
)

// Suggested is the key that a 402 suggests for an order, by its fingerprint, in a UTC
// minute: "store-", 26 characters of base32 of the fingerprint, "-" and the minute; 45 characters.
func Suggested(print string, minute time.Time) string {
	var raw [suggestedDigits / 2]byte
	if _, err := hex.Decode(raw[:], []byte(print[:suggestedDigits])); err != nil { // fingerprints are our own
		panic(err)
	}
	return "store-" + attest.Base32.EncodeToString(raw[:]) + "-" + minute.UTC().Format(suggestedMinute)
}

var suggestedForm = regexp.MustCompile(`^store-[a-z2-7]{26}-([0-9]{12})$`)

// suggestedAt is the minute for which a key was suggested; ok is false for a buyer's own key. A
// client that read its terms late in a minute pays in the next one, so the key and not the clock
// says which minute it was.
func suggestedAt(key string) (minute time.Time, ok bool) {
	m := suggestedForm.FindStringSubmatch(key)
	if m == nil {
		return time.Time{}, false
	}
	minute, err := time.Parse(suggestedMinute, m[1])
	return minute, err == nil
}

// keyOf is the key of an order: the buyer's own, of the request or in the payment, before a
// suggested one, the request's before the echoed. Only two different keys of the buyer's own
// disagree; a suggested one never does harm.
func keyOf(key string, p *Presented) (string, error) {
	if p.BadKey {
		return "", (&Error{Code: CodePaymentKey}).paid("no", "now")
	}
	switch {
	case ownKey(key) && ownKey(p.Key) && key != p.Key:
		return "", (&Error{Code: CodeKeysDisagree}).paid("no", "same_payment")
	case ownKey(key) || !ownKey(p.Key) && key != "":
		return key, nil
	}
	return p.Key, nil
}

// ownKey reports whether a key is a buyer's own, and none that was suggested.
func ownKey(key string) bool {
	_, suggested := suggestedAt(key)
	return key != "" && !suggested
}

// slot finds the purchase that holds the slot of an order's key. A suggested key of the minute
// before or after counts too, and so does every equal order of the payer that is on its way or
// ended just now: the request of a lost answer may come minutes late, or after its own retry.
func (t *Till) slot(tx ledger.Tx, o *matched) (*repeated, error) {
	if o.key == "" {
		return nil, nil
	}
	minute, suggested := suggestedAt(o.key)
	if !suggested {
		held, err := t.slotHolder(tx, o.holder(), o.key)
		if err != nil || held == nil {
			return nil, err
		}
		if held.Fingerprint != o.print {
			return nil, (&Error{Code: CodeKeyConflict}).paid("no", "now")
		}
		return &repeated{purchase: held.ID, slot: true}, nil
	}
	for _, d := range []time.Duration{0, -time.Minute, time.Minute} {
		held, err := t.slotHolder(tx, o.holder(), Suggested(o.print, minute.Add(d)))
		if err != nil {
			return nil, err
		}
		if held != nil && held.Fingerprint == o.print {
			return &repeated{purchase: held.ID, slot: true}, nil
		}
	}
	recent, err := t.recent(tx, o)
	if err != nil || len(recent) == 0 {
		return nil, err
	}
	return &repeated{purchase: recent[len(recent)-1], slot: true}, nil
}

func slotKey(holder, key string) []byte { return ledger.SlotKey(holder, sha256.Sum256([]byte(key))) }

// slotHolder is the purchase in a slot that still counts, nil for none.
func (t *Till) slotHolder(tx ledger.Tx, holder, key string) (*Purchase, error) {
	id, err := tx.Get(slotKey(holder, key))
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(string(id)))
	if err != nil {
		return nil, fmt.Errorf("slot of %s: %w", id, err)
	}
	if p.freesSlot() || !p.Open() && tx.Now().Sub(p.Created) > SlotWindow {
		return nil, nil
	}
	return &p, nil
}

// takeSlot gives a new purchase the slot of its order's key, and remembers it by its fingerprint.
func (t *Till) takeSlot(tx ledger.Tx, o *matched, p *Purchase) error {
	if o.key != "" {
		key := o.key
		if minute, suggested := suggestedAt(key); suggested {
			key = Suggested(p.Fingerprint, minute) // whatever order it was suggested for
		}
		digest := sha256.Sum256([]byte(key))
		p.Slot = hex.EncodeToString(digest[:])
		if err := tx.Set(ledger.SlotKey(o.holder(), digest), []byte(p.ID)); err != nil {
			return err
		}
	}
	ids, err := recentIDs(tx, o.holder(), o.print)
	if err == nil && len(ids) >= maxRecent { // those that no longer count make room first
		ids, err = t.recent(tx, o)
	}
	if err != nil {
		return err
	}
	ids = append(ids[max(0, len(ids)+1-maxRecent):], p.ID)
	return ledger.SetJSON(tx, recentKey(o.holder(), o.print), ids)
}

// recentKey is where a payer's purchases of an order stand, oldest first: a slot whose key no
// request can name, because keys are printable.
func recentKey(holder, print string) []byte {
	return ledger.SlotKey(holder, sha256.Sum256([]byte("\x00"+print)))
}

// recentIDs are the payer's last purchases of an order, oldest first.
func recentIDs(tx ledger.Tx, holder, print string) ([]string, error) {
	ids, _, err := ledger.FindJSON[[]string](tx, recentKey(holder, print))
	return ids, err
}

// recent lists the payer's purchases of an order, however they were keyed, that are on their way or
// ended less than SameOrder ago with money taken.
func (t *Till) recent(tx ledger.Tx, o *matched) ([]string, error) {
	ids, err := recentIDs(tx, o.holder(), o.print)
	if err != nil {
		return nil, err
	}
	var counts []string
	var ahead []ledger.Range
	for _, id := range ids {
		ahead = append(ahead, ledger.At(ledger.PurchaseKey(id)))
	}
	ledger.Ahead(tx, ahead...)
	for _, id := range ids {
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
		if err != nil {
			return nil, fmt.Errorf("equal order %s: %w", id, err)
		}
		ended := p.Updated
		if !p.DeliveredAt.IsZero() {
			ended = p.DeliveredAt
		}
		if p.Open() || !p.freesSlot() && tx.Now().Sub(ended) < SameOrder {
			counts = append(counts, id)
		}
	}
	return counts, nil
}
