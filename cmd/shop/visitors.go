package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/visible"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/visitors"
)

// openVisitors makes the free counter.
func (s *Shop) openVisitors(key *attest.Key) (err error) {
	s.Visitors, err = visitors.New(visitors.Config{BaseURL: s.Config.BaseURL, DB: s.DB, Key: key, Site: s.Site,
		Chrome: s.chrome, Prove: visitors.Prover{Wallets: s.Till, Fetch: s.client}, Log: s.Log})
	if err == nil {
		s.runs = append(s.runs, s.Visitors.Run)
	}
	return err
}

// visitorClasses are what was signed for visitors, as it is verified. The desk is opened later.
func (s *Shop) visitorClasses() []counter.Class {
	var all []counter.Class
	for _, class := range visitors.Classes {
		all = append(all, counter.Class{Name: class.Name, Prefix: class.Prefix, Page: s.artifactPage,
			DoesNotProve: class.DoesNotProve,
			Load: func(c *counter.Counter, ctx context.Context, id string) (*counter.Verification, error) {
				name, proof, ok, err := s.Visitors.Signed(ctx, id)
				if !ok || err != nil {
					return nil, err
				}
				return c.Checked(id, name, proof)
			}})
	}
	return all
}

// VisitorWork is one thing that the keeper does with what visitors left.
type VisitorWork struct {
	Verb  string           // a row of visitorWork
	About string           `json:",omitempty"` // an id, or a week
	Text  string           `json:",omitempty"` // a reply, a page's text, a line
	Page  visitors.TipPage // of a tip; its text is Text
	Price int64            `json:",omitempty"` // atomic USDC
	Done  bool             `json:",omitempty"` // lists what is done, in place of what waits
}

// KeeperPost is what a visitor left, as the keeper reads it: with what cannot be seen spelled out.
type KeeperPost struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	State      string `json:"state"`
	At         string `json:"at"`
	Name       string `json:"name,omitzero"`
	Text       string `json:"text"`
	Contact    string `json:"contact,omitzero"`
	OfferUSDC  string `json:"offer_usdc,omitzero"`
	Listing    string `json:"suggest_listing,omitzero"`
	Identity   string `json:"identity,omitzero"`
	Verified   bool   `json:"identity_verified,omitzero"`
	WhyNot     string `json:"identity_why_not,omitzero"`
	Reply      string `json:"reply,omitzero"`
	Page       string `json:"page,omitzero"` // of a tip that was published
	PriceUSDC  string `json:"price_usdc,omitzero"`
	StateSince string `json:"state_since,omitzero"`
}

func keeperPost(p visitors.Post) KeeperPost {
	v := KeeperPost{ID: p.ID, Kind: p.Kind, State: p.State, At: p.At.Format(time.RFC3339), Name: visible.Text(p.Name),
		Text: lines(p.Text), Contact: visible.Text(p.Contact), Listing: visible.Text(p.Listing), Reply: p.Reply}
	if p.Kind == visitors.KindRequest {
		v.OfferUSDC = content.FormatUSDC(p.Offer)
	}
	if p.Price > 0 {
		v.PriceUSDC = content.FormatUSDC(p.Price)
	}
	if p.Slug != "" {
		v.Page = "/tips/" + p.Slug
	}
	if i := p.Identity; i != nil {
		v.Identity, v.Verified, v.WhyNot = visible.Text(i.Name), i.Verified, visible.Text(i.Why)
	}
	if !p.StateAt.IsZero() {
		v.StateSince = p.StateAt.Format(time.RFC3339)
	}
	return v
}

// visitorWork is every verb about visitors. list names a kind whose posts are listed; the others
// work on one post.
var visitorWork = map[string]struct {
	list string
	do   func(*Shop, context.Context, VisitorWork, bool) (visitors.Post, error)
}{
	"letters":   {list: visitors.KindLetter},
	"guestbook": {list: visitors.KindGuestbook},
	"tips":      {list: visitors.KindTip},
	"requests":  {list: visitors.KindRequest},
	"read": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.ReadLetter(ctx, w.About, dry)
	}},
	"reply": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.ReplyLetter(ctx, w.About, w.Text, dry)
	}},
	"keep": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.Review(ctx, w.About, false, dry)
	}},
	"hide": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.Review(ctx, w.About, true, dry)
	}},
	"publish-tip": {do: (*Shop).publishTip},
	"quote": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.Quote(ctx, w.About, w.Price, dry)
	}},
	"decline": {do: func(s *Shop, ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
		return s.Visitors.Decline(ctx, w.About, dry)
	}},
}

// Visitors does the keeper's work on what visitors left, in the process that serves the store,
// where there is one, and writes what came of it: a line of JSON for each post. dry changes
// nothing.
func Visitors(ctx context.Context, c *Config, w VisitorWork, dry bool, log *slog.Logger, out io.Writer) error {
	return signing(ctx, c, log, "/visitors", url.Values{}, w, dry, out,
		func(s *Shop) error { return s.visit(ctx, w, dry, out) })
}

func (s *Shop) visit(ctx context.Context, w VisitorWork, dry bool, out io.Writer) error {
	enc := json.NewEncoder(out)
	switch row := visitorWork[w.Verb]; {
	case w.Verb == "waiting":
		piles, err := s.Visitors.Waiting(ctx)
		return errors.Join(err, jsonLines(out, piles))
	case w.Verb == "stamp-line":
		if err := s.Visitors.SetLine(ctx, w.About, w.Text, dry); err != nil {
			return err
		}
		return enc.Encode(map[string]string{"week": w.About, "line": w.Text})
	case row.list != "":
		for after := ""; ; {
			page, next, err := s.Visitors.Entries(ctx, row.list, w.Done, after, visitors.MaxPage)
			if err != nil {
				return err
			}
			for _, p := range page {
				if err := enc.Encode(keeperPost(p)); err != nil {
					return err
				}
			}
			if after = next; next == "" {
				return nil
			}
		}
	case row.do != nil:
		p, err := row.do(s, ctx, w, dry)
		if err != nil {
			return err
		}
		return enc.Encode(keeperPost(p))
	}
	return fmt.Errorf("%.40q is no work on what visitors left", w.Verb)
}

// publishTip marks a tip as published and puts its page into the stock, from which the next build
// makes it. What was interrupted between the two goes on when it is said again.
func (s *Shop) publishTip(ctx context.Context, w VisitorWork, dry bool) (visitors.Post, error) {
	if s.Config.Stock == "" {
		return visitors.Post{}, errors.New("publishing a tip: no stock is configured, which its page is put into")
	}
	w.Page.Text = w.Text
	name := filepath.Join(s.Config.Stock, "paid", "tips", w.Page.Slug+".md")
	held, err := os.ReadFile(name)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) && w.Page.Check() == nil {
		return visitors.Post{}, err
	}
	before, err := s.Visitors.Post(ctx, w.About)
	if err != nil {
		return before, err
	}
	if there && before.State != visitors.StatePublished {
		return before, fmt.Errorf("%s is there already: take another slug", name)
	}
	p, file, err := s.Visitors.PublishTip(ctx, w.About, w.Page, dry)
	if err != nil || dry || bytes.Equal(file, held) {
		return p, err
	}
	if there {
		return p, fmt.Errorf("%s is there already, with another text: edit it there", name)
	}
	return p, writeNew(name, file)
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(name string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

// controlVisitors is the command about visitors on the control socket.
func (s *Shop) controlVisitors(mux *http.ServeMux) {
	mux.HandleFunc("POST /visitors", func(w http.ResponseWriter, r *http.Request) {
		work, err := controlBody[VisitorWork](r)
		if err != nil {
			answerKeeper(w, func(io.Writer) error { return err })
			return
		}
		// Lists are as long as they are, and go out as they are read.
		if visitorWork[work.Verb].list != "" {
			if err := s.visit(r.Context(), work, false, w); err != nil {
				s.Log.Error("a list of what visitors left broke off", "err", err)
				panic(http.ErrAbortHandler) // the reader must see that it is cut
			}
			return
		}
		answerKeeper(w, func(out io.Writer) error { return s.visit(r.Context(), work, r.URL.Query().Has("dry"), out) })
	})
}
