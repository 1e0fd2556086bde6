package shop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/keeper"
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

// KeeperPost is what a visitor left, as the keeper reads it: with what cannot be seen spelled out.
type KeeperPost struct {
	ID         string `json:"id" doc:"The entry, as the other verbs take it."`
	Kind       string `json:"kind" doc:"What it is."`
	State      string `json:"state" doc:"How it stands."`
	At         string `json:"at" doc:"When it was left, UTC."`
	Name       string `json:"name,omitzero" doc:"Who left it, in their own words."`
	Text       string `json:"text" wide:"true" doc:"What they wrote: a stranger's text, with what cannot be seen in it spelled out."`
	Contact    string `json:"contact,omitzero" doc:"How they are reached."`
	OfferUSDC  string `json:"offer_usdc,omitzero" doc:"What they offer."`
	Listing    string `json:"suggest_listing,omitzero"`
	Identity   string `json:"identity,omitzero" doc:"The wallet or site that they name as theirs."`
	Verified   bool   `json:"identity_verified,omitzero" doc:"Whether it is."`
	WhyNot     string `json:"identity_why_not,omitzero"`
	Reply      string `json:"reply,omitzero" wide:"true" doc:"Your reply."`
	Page       string `json:"page,omitzero" doc:"The page of a tip that was published."`
	PriceUSDC  string `json:"price_usdc,omitzero" doc:"What you asked for."`
	StateSince string `json:"state_since,omitzero"`
}

func keeperPost(p visitors.Post) KeeperPost {
	v := KeeperPost{ID: p.ID, Kind: p.Kind, State: p.State, At: p.At.Format(time.RFC3339), Name: screen.Text(p.Name),
		Text: lines(p.Text), Contact: screen.Text(p.Contact), Listing: screen.Text(p.Listing), Reply: p.Reply}
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
		v.Identity, v.Verified, v.WhyNot = screen.Text(i.Name), i.Verified, screen.Text(i.Why)
	}
	if !p.StateAt.IsZero() {
		v.StateSince = p.StateAt.Format(time.RFC3339)
	}
	return v
}

// waiting says what visitors left.
func (s *Shop) waiting(ctx context.Context, _ nothing) ([]visitors.Pile, error) {
	return s.Visitors.Waiting(ctx)
}

type postsIn struct {
	Done bool `flag:"done" doc:"what is done, in place of what waits"`
}

// posts lists what visitors left of a kind, as long as that is.
func posts(kind string) func(*Shop, context.Context, postsIn) (iter.Seq2[KeeperPost, error], error) {
	return func(s *Shop, ctx context.Context, in postsIn) (iter.Seq2[KeeperPost, error], error) {
		return func(yield func(KeeperPost, error) bool) {
			for after, more := "", true; more; more = after != "" {
				page, next, err := s.Visitors.Entries(ctx, kind, in.Done, after, visitors.MaxPage)
				if err != nil {
					yield(KeeperPost{}, err)
					return
				}
				for _, p := range page {
					if !yield(keeperPost(p), nil) {
						return
					}
				}
				after = next
			}
		}, nil
	}
}

// shown is what became of a post.
func shown(p visitors.Post, err error) (KeeperPost, error) { return keeperPost(p), err }

type letterIn struct {
	ID string `arg:"LETTER" form:"^let_[a-z2-7]{20}$" doc:"the letter, let_ and twenty characters"`
}

func (s *Shop) readLetter(ctx context.Context, in letterIn, dry bool) (KeeperPost, error) {
	return shown(s.Visitors.ReadLetter(ctx, in.ID, dry))
}

type replyIn struct {
	letterIn
	Text string `flag:"text" file:"text-file" doc:"what to say" need:"say what with -text-file or -text"`
}

func (s *Shop) replyLetter(ctx context.Context, in replyIn, dry bool) (KeeperPost, error) {
	return shown(s.Visitors.ReplyLetter(ctx, in.ID, in.Text, dry))
}

type entryIn struct {
	ID string `arg:"ENTRY" form:"^gst_[a-z2-7]{20}$" doc:"the entry, gst_ and twenty characters"`
}

// review shows an entry of the guestbook, or hides it.
func review(hide bool) func(*Shop, context.Context, entryIn, bool) (KeeperPost, error) {
	return func(s *Shop, ctx context.Context, in entryIn, dry bool) (KeeperPost, error) {
		return shown(s.Visitors.Review(ctx, in.ID, hide, dry))
	}
}

type quoteIn struct {
	ID    string  `arg:"REQUEST" form:"^req_[a-z2-7]{20}$" doc:"the request, req_ and twenty characters"`
	Price dollars `flag:"price" doc:"what the work costs, in USDC, such as 12.50" need:"name the price with -price, such as 12.50"`
}

func (s *Shop) quote(ctx context.Context, in quoteIn, dry bool) (KeeperPost, error) {
	return shown(s.Visitors.Quote(ctx, in.ID, int64(in.Price), dry))
}

type declineIn struct {
	ID string `arg:"ID" form:"^(tip|req)_[a-z2-7]{20}$" doc:"the tip or request"`
}

func (s *Shop) decline(ctx context.Context, in declineIn, dry bool) (KeeperPost, error) {
	return shown(s.Visitors.Decline(ctx, in.ID, dry))
}

type stampLineIn struct {
	Week string `json:"week" arg:"WEEK" form:"^[0-9]{4}-W[0-9]{2}$" doc:"the week, such as 2026-W48"`
	Line string `json:"line" flag:"text" file:"text-file" doc:"what the stamps of the week say" need:"say what with -text-file or -text"`
}

// stampLine sets what a week's stamp says, and gives it back.
func (s *Shop) stampLine(ctx context.Context, in stampLineIn, dry bool) (stampLineIn, error) {
	return in, s.Visitors.SetLine(ctx, in.Week, in.Line, dry)
}

type publishTipIn struct {
	ID      string `arg:"TIP" form:"^tip_[a-z2-7]{20}$" doc:"the tip, tip_ and twenty characters"`
	Slug    string `flag:"slug" doc:"the last word of the page's address"`
	Title   string `flag:"title" doc:"its title"`
	Summary string `flag:"summary" doc:"one sentence for the index"`
	Text    string `flag:"text" file:"text-file" doc:"the page, in place of the visitor's words"`
}

func (in *publishTipIn) page() visitors.TipPage {
	return visitors.TipPage{Slug: in.Slug, Title: in.Title, Summary: in.Summary, Text: in.Text}
}

func (in *publishTipIn) check() error { return in.page().Check() }

// publishTip marks a tip as published and puts its page into the stock, from which the next build
// makes it. What was interrupted between the two goes on when it is said again.
func (s *Shop) publishTip(ctx context.Context, in publishTipIn, dry bool) (v KeeperPost, err error) {
	if s.Config.Stock == "" {
		return v, errors.New("publishing a tip: no stock is configured, which its page is put into")
	}
	name := filepath.Join(s.Config.Stock, "paid", "tips", in.Slug+".md")
	held, err := os.ReadFile(name)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) && in.check() == nil {
		return v, err
	}
	before, err := s.Visitors.Post(ctx, in.ID)
	if err != nil {
		return v, err
	}
	if there && before.State != visitors.StatePublished {
		return v, fmt.Errorf("%s is there already: take another slug", name)
	}
	p, file, err := s.Visitors.PublishTip(ctx, in.ID, in.page(), dry)
	if err != nil || dry || bytes.Equal(file, held) {
		return shown(p, err)
	}
	if there {
		return v, fmt.Errorf("%s is there already, with another text: edit it there", name)
	}
	return keeperPost(p), writeNew(name, file, 0o644)
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(name string, data []byte, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

// maxWaiting is how many of the oldest posts of a kind the keeper's desk counts.
const maxWaiting = 1000

// visitorRows are what visitors left and the keeper has not dealt with, on his desk.
func (s *Shop) visitorRows() (rows []keeper.Row) {
	for _, r := range []struct{ kind, name, title, verb string }{
		{visitors.KindLetter, "letters", "Letters", "store keeper reply LETTER -text-file FILE"},
		{visitors.KindGuestbook, "guestbook", "Guestbook", "store keeper keep ENTRY, or hide ENTRY"},
		{visitors.KindTip, "tips", "Tips", "store keeper publish-tip TIP -slug SLUG, or decline TIP"},
		{visitors.KindRequest, "requests", "Requests to quote",
			"store keeper quote REQUEST -price USDC, or decline REQUEST"},
	} {
		rows = append(rows, keeper.Row{Name: r.name, Title: r.title,
			Actions: []keeper.Action{{Verb: r.verb}},
			Read: func(ctx context.Context, _ *keeper.Inbox) (list []keeper.Entry, err error) {
				for after, more := "", true; more && len(list) < maxWaiting; more = after != "" {
					var page []visitors.Post
					page, after, err = s.Visitors.Entries(ctx, r.kind, false, after, visitors.MaxPage)
					if err != nil {
						return list, err
					}
					for _, p := range page {
						says := keeper.Short(screen.Text(p.Text))
						list = append(list, keeper.Entry{ID: p.ID, Says: says, Since: p.At})
					}
				}
				return list, nil
			}})
	}
	return rows
}
