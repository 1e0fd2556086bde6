package services

import (
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// places are how many orders of a product there may be at one host, so that nobody has a stranger
// visited by the thousand:
//
//	goods/<name>/<host>/<purchase>   empty: one of them
type places struct {
	name string
	most int
	full string // what is said where there is none
}

func (p places) key(host string, rest ...string) []byte {
	return ledger.GoodsKey(p.name, append([]string{host}, rest...)...)
}

// free refuses an order at a host that has as many as it gets.
func (p places) free(tx ledger.Tx, host string) error {
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(p.key(host))) {
		if err != nil {
			return err
		}
		n++
	}
	if n >= p.most {
		return &goods.Unread{Code: goods.CodeTargetHeld, Detail: p.full}
	}
	return nil
}

// give takes a place back.
func (p places) give(tx ledger.Tx, host, purchase string) error {
	return tx.Delete(p.key(host, purchase))
}

// kind begins a kind whose orders take a place at their host when they are claimed, and give it
// back. able says whether such are sold here; at is where an order's place is.
func (p places) kind(able bool, at func(inputs map[string]string) (host string, err error)) goods.Kind {
	can := func(_ goods.Maker, good content.Good) error {
		if !able {
			return &goods.Away{Item: good.ID}
		}
		return nil
	}
	free := func(m goods.Maker, tx ledger.Tx, good content.Good, inputs map[string]string) (host string, err error) {
		if err := can(m, good); err != nil {
			return "", err
		}
		if host, err = at(inputs); err == nil {
			err = p.free(tx, host)
		}
		return host, err
	}
	return goods.Kind{
		Able: can,
		Available: func(m goods.Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
			if inputs == nil {
				return can(m, good)
			}
			_, err := free(m, tx, good, inputs)
			return err
		},
		Reserve: func(m goods.Maker, tx ledger.Tx, o *goods.Order) error {
			host, err := free(m, tx, o.Good, o.Inputs)
			if err != nil {
				return err
			}
			return tx.Set(p.key(host, o.ID), nil)
		},
		Release: func(_ goods.Maker, tx ledger.Tx, o *goods.Order) error {
			if !able {
				return nil
			}
			host, err := at(o.Inputs)
			if err != nil { // it had none
				return nil
			}
			return p.give(tx, host, o.ID)
		},
	}
}

// hostOf is the host of an address that was parsed before.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(rest)
}
