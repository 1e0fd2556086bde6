package goods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

type retired struct {
	text
	Word string `json:"word,omitzero"`
}

// word retires a word: the buyer's own or one of the pool's, each once for ever. The word is held
// from the claim on and stands on the public register when it is delivered.
var word = Kind{
	Name:     content.KindWord,
	Delivers: retired{},
	Counted:  true,
	Left:     Maker.Left,
	Available: func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
		_, _, err := chooseWord(m, tx, good, inputs)
		return err
	},
	Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
		w, entry, err := chooseWord(m, tx, o.Good, o.Inputs)
		if err != nil {
			return err
		}
		o.Word, o.Entry = w, entry
		if err := hold(tx, heldWord(w), o); err != nil {
			return err
		}
		return tx.Set(wordKey(w), []byte(o.ID))
	},
	Release: func(_ Maker, tx ledger.Tx, o *Order) error {
		holder, err := tx.Get(wordKey(o.Word))
		if errors.Is(err, ledger.ErrNotFound) || err == nil && string(holder) != o.ID {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(tx.Delete(heldWord(o.Word)), tx.Delete(wordKey(o.Word)))
	},
	Settle: func(_ Maker, tx ledger.Tx, o *Order, _ *Made) error { return tx.Delete(heldWord(o.Word)) },
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		epitaph := "It did what was asked of it, and then it was asked again."
		if o.Entry != "" {
			e, err := m.entry(o)
			if err != nil {
				return nil, err
			}
			epitaph = e.Text
		}
		g := MadeOf(o, retired{text{epitaph}, o.Word}, fmt.Sprintf("%q has stopped work. It stands on "+
			"the register when the record is next published.", o.Word),
			fmt.Sprintf("%s. %s", o.Word, epitaph))
		g.Tag = o.Word
		return g, nil
	},
	Complete: With(func(m Maker, tx ledger.Tx, o *Order, d retired) error {
		return m.Observe(tx, record.Observation{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: o.Word},
			Epitaph: d.Text})
	}),
}

// chooseWord is the buyer's word, or a waiting one of the pool. entry is the pool entry whose
// epitaph goes with it.
func chooseWord(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) (w, entry string, err error) {
	pool := m.Pools.Pool(good.Pool)
	if asked := inputs["detail"]; asked != "" {
		w = foldWord(asked)
		if w == "" {
			return "", "", &BadInput{Field: "detail", Problem: "is not a word"}
		}
		taken, err := wordTaken(tx, w)
		if err != nil {
			return "", "", err
		}
		if taken {
			until, err := heldUntil(tx, heldWord(w))
			if err != nil {
				return "", "", err
			}
			return "", "", &Taken{Word: w, HeldUntil: until}
		}
		for _, e := range pool.Entries {
			if foldWord(e.Word) == w {
				entry = e.Digest
			}
		}
		return w, entry, nil
	}
	var waiting []string
	var held time.Time
	for _, d := range pool.Digests() {
		e, _ := pool.Entry(d)
		taken, err := wordTaken(tx, foldWord(e.Word))
		if err != nil {
			return "", "", err
		}
		if !taken {
			waiting = append(waiting, d)
			continue
		}
		until, err := heldUntil(tx, heldWord(foldWord(e.Word)))
		if err != nil {
			return "", "", err
		}
		held = earlier(held, until)
	}
	d, ok := pick(waiting)
	if !ok {
		return "", "", &SoldOut{Item: good.ID, HeldUntil: held}
	}
	e, _ := pool.Entry(d)
	return foldWord(e.Word), d, nil
}

func wordTaken(tx ledger.Tx, w string) (bool, error) {
	return ledger.Has(tx, wordKey(w))
}

func wordKey(w string) []byte { return ledger.GoodsKey("word", w) }

// foldWord is the spelling under which a word is retired: compatibility forms composed, case
// folded, single spaces, nothing invisible, and no punctuation around it. So no word comes back in
// full width, in ligatures, with a joiner inside or with a dot behind it.
func foldWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s)
	s = norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))
	return strings.Trim(strings.Join(strings.Fields(s), " "), " .&/'’-")
}

// MarkRetired notes that a word was retired, when a ledger was restored from before that.
func MarkRetired(tx ledger.Tx, w string) error {
	taken, err := wordTaken(tx, w)
	if err != nil || taken {
		return err
	}
	return tx.Set(wordKey(w), []byte("restored"))
}
