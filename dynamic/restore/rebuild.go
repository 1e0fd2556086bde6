package restore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// A high-water file that is lost is not made anew in silence: a restore would then give out again
// what was given since the backup. It is rebuilt, from what the ledger and the chains know, when
// the keeper says so.

// CheckHighWater refuses a high-water file that is not there, or empty, beside a ledger that has
// sold. A store that has sold nothing may begin a new one.
func CheckHighWater(ctx context.Context, db ledger.DB, path string) error {
	st, err := os.Stat(path)
	if err == nil && st.Size() > 0 {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for the high-water file: %w", err)
	}
	var sold int64
	err = view(ctx, db, func(tx ledger.Tx) (err error) {
		sold, err = ledger.Last(tx, till.CounterPatron)
		return err
	})
	if err != nil || sold == 0 {
		return err
	}
	return fmt.Errorf("the high-water file %s is lost, and this ledger has sold %d times: put the file back from its "+
		"disk or copy; if there is none, or this is a further process of the store, make it from ledger and chain "+
		"with store keeper high-water rebuild", path, sold)
}

// Rebuilt is what a high-water file was rebuilt from.
type Rebuilt struct {
	File    string `json:"file" doc:"The file."`
	DryRun  bool   `json:"dry_run" doc:"Whether nothing was written."`
	Marks   int    `json:"marks" doc:"Lines in it."`
	Patron  int64  `json:"patron" doc:"The highest patron number that may have been given."`
	Jar     int64  `json:"jar" doc:"The same of jars."`
	Entries int    `json:"entries" doc:"Pool entries that were given once and for all."`
	Words   int    `json:"words" doc:"Retired words."`
	// Unknown are payments on the chains that the ledger does not know: each may have got a number,
	// and an entry or a word that nobody can tell.
	Unknown []UnknownPayments `json:"unknown"`
	Warning string            `json:"warning,omitempty" wide:"true" doc:"What nobody can tell."`
}

// UnknownPayments are payments on one network that the ledger does not know.
type UnknownPayments struct {
	Network  string `json:"network"`
	From     uint64 `json:"from_block"`
	Payments int    `json:"payments"`
}

// Marks are the marks that a lost high-water file is rebuilt from. Numbers are raised by as
// many as the payments on the chains that the ledger does not know.
func Marks(ctx context.Context, t *till.Till) ([]till.HighMark, Rebuilt, error) {
	out := Rebuilt{Unknown: []UnknownPayments{}}
	var marks []till.HighMark
	cfg := t.Config()
	item := map[string]string{} // pool → a good on the shelf that gives its entries once, if any
	for _, g := range cfg.Site.Now().Goods {
		if g.Stock {
			item[g.Pool] = g.ID
		}
	}
	err := cfg.DB.View(ctx, func(tx ledger.Tx) error {
		marks, out.Entries, out.Words = nil, 0, 0
		for e, err := range tx.Scan(ledger.Purchases()) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			p, err := ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(parts[1]))
			if err != nil {
				return err
			}
			if p.Number > 0 || p.Spent != nil && !p.DeliveredAt.IsZero() {
				m := p.HighMark()
				if p.Made != nil {
					m.Jar = p.Made.Number
				}
				marks = append(marks, m)
			}
		}
		given, err := goods.Given(tx)
		if err != nil {
			return err
		}
		for _, g := range given {
			if g.Word != "" {
				out.Words++
				marks = append(marks, till.HighMark{Word: g.Word})
			} else {
				out.Entries++
				marks = append(marks, till.HighMark{Item: item[g.Pool], Pool: g.Pool, Entry: g.Entry})
			}
		}
		if out.Patron, err = ledger.Last(tx, till.CounterPatron); err != nil {
			return err
		}
		out.Jar, err = ledger.Last(tx, goods.JarCounter)
		return err
	})
	if err != nil {
		return nil, out, fmt.Errorf("reading the ledger: %w", err)
	}
	unknown := 0
	for _, r := range cfg.Rails {
		u, err := unknownPayments(ctx, cfg, r)
		if err != nil {
			return nil, out, fmt.Errorf("reading %s: %w", r.Info().Name, err)
		}
		out.Unknown = append(out.Unknown, u)
		unknown += u.Payments
	}
	if unknown > 0 {
		out.Patron += int64(unknown)
		out.Jar += int64(unknown)
		out.Warning = fmt.Sprintf("%d payments on the chains are not in the ledger. Numbers are raised above them; "+
			"which pool entries and words went to them nobody can tell, so look through what was published and take "+
			"those out of the pools", unknown)
	}
	marks = append(marks, till.HighMark{Patron: out.Patron, Jar: out.Jar})
	slices.SortStableFunc(marks, func(a, b till.HighMark) int { return int(a.Patron - b.Patron) })
	out.Marks = len(marks)
	return marks, out, nil
}

// unknownPayments counts the payments on a network, from the noted head on, that the ledger does
// not know.
func unknownPayments(ctx context.Context, cfg till.Config, r rail.Rail) (UnknownPayments, error) {
	info := r.Info()
	u := UnknownPayments{Network: info.Network}
	err := cfg.Gas.Ready(ctx, info.Network)
	if err != nil {
		return u, err
	}
	since, err := till.ReadFrom(ctx, cfg.DB, info)
	if err != nil {
		return u, err
	}
	u.From = since.Block
	for tr, err := range rail.Transfers(r.Incoming(ctx, rail.Span{From: u.From})) {
		if err != nil {
			return u, err
		}
		if tr.Nonce == "" || since.Earlier(tr) {
			continue
		}
		pay := till.PaymentOf(info, tr)
		var known bool
		err := view(ctx, cfg.DB, func(tx ledger.Tx) (err error) {
			known, err = ledger.Has(tx, till.AuthKey(&pay))
			return err
		})
		if err != nil {
			return u, err
		}
		if !known {
			u.Payments++
		}
	}
	return u, nil
}

// WriteHighWater writes a high-water file that is not there, or empty, as a whole.
func WriteHighWater(path string, key *attest.Key, marks []till.HighMark) (err error) {
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		return fmt.Errorf("%s is there, and nothing is rebuilt over it: move it away first, and name it to store "+
			"restore when you need one", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".high-water-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is left of it once it has its name
	w := bufio.NewWriter(f)
	for _, m := range append([]till.HighMark{{}}, marks...) {
		line, err := line(m, key)
		if err == nil {
			_, err = w.WriteString(line)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Name(), path), syncDir(filepath.Dir(path)))
}
