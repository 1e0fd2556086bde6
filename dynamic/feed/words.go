package feed

import (
	"regexp"
	"time"

	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/ledger"
)

// Passed is what a door passed on of what its facilitator said, at a purchase of the store's. It is
// the door's word for it; the newest of a host is kept, in the ledger alone.
type Passed struct {
	At    time.Time `json:"at"`
	Door  string    `json:"door"` // without its query
	Words []Word    `json:"words"`
}

// Word is one thing that was passed on: the header that it came in, and its JSON.
type Word struct {
	Header string `json:"header"`
	Text   string `json:"text"`
}

// account is what may hold an address, of an EVM network or of Solana, whatever stands around it; a
// transaction too, from which its payer can be read.
var account = regexp.MustCompile(`(0[xX])?[0-9a-fA-F]{40,}|[1-9A-HJ-NP-Za-km-z]{32,}`)

// Screened is a word that anybody may read: printable, and without the addresses of wallets, or of
// what leads to them.
func (w Word) Screened() Word {
	return Word{screen.Text(w.Header), account.ReplaceAllString(screen.Text(w.Text), "(address)")}
}

func passedKey(host string) []byte { return ledger.GoodsKey("passed", host) }

// KeepPassed keeps what a door of a host passed on, in the place of what one did before.
func KeepPassed(tx ledger.Tx, host string, p Passed) error {
	return ledger.SetJSON(tx, passedKey(host), p)
}

// PassedBy is what a door of a host passed on last, nil for nothing.
func PassedBy(tx ledger.Tx, host string) (*Passed, error) {
	p, found, err := ledger.FindJSON[Passed](tx, passedKey(host))
	if !found {
		return nil, err
	}
	return &p, err
}
