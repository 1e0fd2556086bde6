package shop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/keeper"
)

// today says what waits for the keeper.
func (s *Shop) today(ctx context.Context, _ nothing) (keeper.Today, error) {
	return s.Keeper.Today(ctx)
}

type findIn struct {
	What string `arg:"WHAT" doc:"what to look for: the id of a purchase, a certificate, an order or a debt, a patron number, a transaction, or a wallet"`
}

func (s *Shop) find(ctx context.Context, in findIn) (keeper.Found, error) {
	return s.Keeper.Find(ctx, in.What)
}

// salesWeeks is how many weeks store keeper sales tells of: a year.
const salesWeeks = 53

func (s *Shop) sales(ctx context.Context, _ nothing) (keeper.Sales, error) {
	return s.Keeper.Sales(ctx, salesWeeks)
}

type reconcileIn struct {
	Month string `arg:"MONTH" form:"^[0-9]{4}-(0[1-9]|1[0-2])$" doc:"the month, such as 2026-11"`
	CSV   bool   `flag:"csv" doc:"a table for a spreadsheet"`
}

// reconcile compares the ledger with the chains.
func (s *Shop) reconcile(ctx context.Context, in reconcileIn) (any, error) {
	b, err := s.Keeper.Books(ctx, in.Month)
	if err == nil && in.CSV {
		return asIs(b.CSV), nil
	}
	return b, err
}

// token is that of the web desk.
func (s *Shop) token(context.Context, nothing) (asIs, error) {
	token, _, err := DeskToken(&s.Config)
	return func(w io.Writer) error { _, err := fmt.Fprintln(w, token); return err }, err
}

// ServeDesk has Serve serve the keeper's desk on a listener, too. Where the desk's token is made
// for it, there is a link that opens the desk once.
func (s *Shop) ServeDesk(ln net.Listener) (link string, err error) {
	c := s.Config.Desk
	_, made, err := DeskToken(&s.Config)
	if err != nil {
		return "", errors.Join(err, ln.Close())
	}
	d, err := keeper.NewWeb(keeper.WebConfig{Desk: s.Keeper, Till: s.Till, Bounties: s.Bounties,
		Name: s.Site.Now().Config.Title, Log: s.Log, Hosts: c.Hosts, Listen: ln.Addr().String(),
		Token: func() (string, error) { return ReadDeskToken(c.Token) }})
	if err != nil {
		return "", errors.Join(err, ln.Close())
	}
	s.runs = append(s.runs, func(ctx context.Context) error { return d.Serve(ctx, ln) })
	if made {
		link = "http://" + ln.Addr().String() + d.OpenOnce()
	}
	return link, nil
}

func ReadDeskToken(file string) (string, error) {
	raw, err := ReadSecret(file)
	return strings.TrimSpace(string(raw)), err
}

// DeskToken is the token of the keeper's desk, which is made where there is none.
func DeskToken(c *Config) (token string, made bool, err error) {
	token, err = ReadDeskToken(c.Desk.Token)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(c.Desk.Token), 0o700); err != nil {
			return "", false, fmt.Errorf("making the desk's token: %w", err)
		}
		err = writeNew(c.Desk.Token, []byte(strings.ToLower(rand.Text()+rand.Text())+"\n"), 0o600)
		if made = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
			return "", false, fmt.Errorf("making the desk's token: %w", err)
		}
		token, err = ReadDeskToken(c.Desk.Token)
	}
	return token, made, err
}

// lastCensus is when the record's newest round was taken.
func (s *Shop) lastCensus() []keeper.Past {
	var rounds []record.Round
	if s.archive != nil && s.archive.Now() != nil {
		rounds = s.archive.Now().Rounds
	} else if rec, err := s.openRecord(); err == nil {
		rounds = rec.Rounds()
	}
	if len(rounds) == 0 {
		return nil
	}
	at, _ := time.Parse(time.RFC3339, rounds[len(rounds)-1].TakenAt) // zero is told as nothing
	return []keeper.Past{{What: "census", At: at}}
}

// openKeeper puts the keeper's desk together.
func (s *Shop) openKeeper() {
	s.runs = append(s.runs, s.watchPayouts)
	s.Keeper = keeper.New(keeper.Config{Till: s.Till, DB: s.DB, Rails: s.Rails, Refusals: s.refusals,
		Past: s.lastCensus,
		Rows: slices.Concat(keeper.Rows, s.visitorRows(), s.launchRows(),
			[]keeper.Row{s.bountyRow(), s.callbackRow()})})
}
