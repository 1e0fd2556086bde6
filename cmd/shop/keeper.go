package shop

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/keeper/web"
	"store.example/agentstore/dynamic/till"
)

// keeperRead is a reading of the keeper's desk by a command: a row.
type keeperRead struct {
	path string // on the control socket
	read func(ctx context.Context, s *Shop, r *http.Request, w io.Writer) error
}

// keeperReads are all of them.
var keeperReads = []keeperRead{
	{"/today", func(ctx context.Context, s *Shop, _ *http.Request, w io.Writer) error {
		today, err := s.Keeper.Today(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(today)
	}},
	{"/find", func(ctx context.Context, s *Shop, r *http.Request, w io.Writer) error {
		found, err := s.Keeper.Find(ctx, r.URL.Query().Get("q"))
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(found)
	}},
	{"/sales", func(ctx context.Context, s *Shop, _ *http.Request, w io.Writer) error {
		sales, err := s.Keeper.Sales(ctx, salesWeeks)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(sales)
	}},
	{"/books", func(ctx context.Context, s *Shop, r *http.Request, w io.Writer) error {
		b, err := s.Keeper.Books(ctx, r.URL.Query().Get("month"))
		if err != nil {
			return err
		}
		if r.URL.Query().Has("csv") {
			return b.CSV(w)
		}
		return json.NewEncoder(w).Encode(b)
	}},
	{"/bounties", func(ctx context.Context, s *Shop, _ *http.Request, w io.Writer) error {
		return s.bounties(ctx, w)
	}},
	{"/accounts", func(ctx context.Context, s *Shop, _ *http.Request, w io.Writer) error { return s.accounts(ctx, w) }},
	{"/statement", func(ctx context.Context, s *Shop, r *http.Request, w io.Writer) error {
		return s.statement(ctx, r.URL.Query().Get("account"), r.URL.Query().Get("month"), w)
	}},
	{"/debts", func(ctx context.Context, s *Shop, r *http.Request, w io.Writer) error {
		return s.debts(ctx, r.URL.Query().Has("all"), w)
	}},
}

// salesWeeks is how many weeks store keeper sales tells of: a year.
const salesWeeks = 53

// controlKeeper are the readings on the control socket, and what takes payouts in.
func (s *Shop) controlKeeper(mux *http.ServeMux) {
	mux.HandleFunc("POST /payout", func(w http.ResponseWriter, r *http.Request) {
		answerKeeper(w, func(out io.Writer) error {
			o, err := controlBody[till.Payout](r)
			if err != nil {
				return err
			}
			return s.payOut(r.Context(), r.URL.Query().Get("debt"), o, r.URL.Query().Has("dry"), out)
		})
	})
	mux.HandleFunc("POST /paid", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answerKeeper(w, func(out io.Writer) error {
			return s.paid(r.Context(), q.Get("debt"), q.Get("tx"), q.Has("dry"), out)
		})
	})
	mux.HandleFunc("POST /bounty", func(w http.ResponseWriter, r *http.Request) {
		answerKeeper(w, func(out io.Writer) error {
			p, err := controlBody[bounty.Posting](r)
			if err != nil {
				return err
			}
			return s.postBounty(r.Context(), p, r.URL.Query().Has("dry"), out)
		})
	})
	mux.HandleFunc("POST /received", func(w http.ResponseWriter, r *http.Request) {
		answerKeeper(w, func(out io.Writer) error {
			in, err := controlBody[AccountReceipt](r)
			if err != nil {
				return err
			}
			return s.received(r.Context(), in, r.URL.Query().Has("dry"), out)
		})
	})
	for _, k := range keeperReads {
		mux.HandleFunc("GET "+k.path, func(w http.ResponseWriter, r *http.Request) {
			answerKeeper(w, func(out io.Writer) error { return k.read(r.Context(), s, r, out) })
		})
	}
}

// readKeeper does a reading in the process that serves the store, where there is one, else here.
func readKeeper(ctx context.Context, c *Config, path string, log *slog.Logger, w io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return asKeeper(ctx, c, log, http.MethodGet, path, w, func(s *Shop) error {
		for _, k := range keeperReads {
			if k.path == r.URL.Path {
				return k.read(ctx, s, r, w)
			}
		}
		return http.ErrNotSupported // a path of nobody
	})
}

// Today writes what waits for the keeper, as JSON.
func Today(ctx context.Context, c *Config, log *slog.Logger, w io.Writer) error {
	return readKeeper(ctx, c, "/today", log, w)
}

// Find writes the purchases that are found by an id, a wallet or a transaction, as JSON.
func Find(ctx context.Context, c *Config, q string, log *slog.Logger, w io.Writer) error {
	return readKeeper(ctx, c, "/find?q="+url.QueryEscape(q), log, w)
}

// Sales writes what was sold in the newest weeks, as JSON.
func Sales(ctx context.Context, c *Config, log *slog.Logger, w io.Writer) error {
	return readKeeper(ctx, c, "/sales", log, w)
}

// Books writes the comparison of ledger and chains of a month, as JSON or as CSV.
func Books(ctx context.Context, c *Config, month string, csv bool, log *slog.Logger, w io.Writer) error {
	q := url.Values{"month": {month}}
	if csv {
		q.Set("csv", "")
	}
	return readKeeper(ctx, c, "/books?"+q.Encode(), log, w)
}

// ServeDesk has Serve serve the keeper's desk on a listener, too.
func (s *Shop) ServeDesk(ln net.Listener) error {
	c := s.Config.Desk
	d, err := web.New(web.Config{Desk: s.Keeper, Till: s.Till, Bounties: s.Bounties,
		Name: s.Site.Now().Config.Title, Log: s.Log, Hosts: c.Hosts, Listen: ln.Addr().String(),
		Token: func() (string, error) { return deskToken(c.Token) }})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	s.runs = append(s.runs, func(ctx context.Context) error { return d.Serve(ctx, ln) })
	return nil
}

func deskToken(file string) (string, error) {
	raw, err := secretFile(file)
	return strings.TrimSpace(string(raw)), err
}

// DeskToken is the token of the keeper's desk, which is made where there is none.
func DeskToken(c *Config) (string, error) {
	if c.Desk.Token == "" {
		return "", errors.New("desk.token names no file in the configuration")
	}
	f, err := os.OpenFile(c.Desk.Token, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(strings.ToLower(rand.Text()+rand.Text()) + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the desk's token: %w", err)
	}
	return deskToken(c.Desk.Token)
}

// openKeeper puts the keeper's desk together.
func (s *Shop) openKeeper() (err error) {
	s.runs = append(s.runs, s.watchPayouts)
	s.Keeper, err = keeper.New(keeper.Config{Till: s.Till, DB: s.DB, Rails: s.Rails, Refusals: s.refusals,
		Rows: slices.Concat(keeper.Rows, s.visitorRows(), s.launchRows(),
			[]keeper.Row{s.bountyRow(), s.callbackRow()})})
	return err
}
