package services

import (
	"strings"

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

// hostOf is the host of an address that was parsed before.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(rest)
}
