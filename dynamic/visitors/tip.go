package visitors

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// TipRequest is the body of POST /api/tip.
type TipRequest struct {
	Tip      string            `json:"tip" jsonschema:"at most 2000 characters; the keeper reviews it"`
	Name     string            `json:"contributor_name,omitzero" jsonschema:"at most 80 characters; whom a published tip is credited to"`
	Identity *VerifiedIdentity `json:"verified_identity,omitempty"`
}

// TipLeft is the answer to a tip.
type TipLeft struct {
	Message  string  `json:"message"`
	TipID    string  `json:"tip_id"`
	Review   string  `json:"review"`
	Identity *Proved `json:"identity,omitempty"`
}

// postTip answers POST /api/tip.
func (d *Service) postTip(w http.ResponseWriter, r *http.Request) error {
	in, raw, err := readBody[TipRequest](r)
	if err != nil {
		return err
	}
	if err := check(field{"tip", in.Tip, MaxTip, true, true},
		field{"contributor_name", in.Name, MaxName, false, false}); err != nil {
		return err
	}
	p := Post{Kind: KindTip, Text: in.Tip, Name: in.Name}
	v, err := d.begin(r, &p, in.Identity, raw)
	if err != nil {
		return err
	}
	if err := d.leave(r.Context(), v, &p, nil); err != nil {
		return err
	}
	out := TipLeft{Message: "The tip is with the keeper.", TipID: p.ID, Review: "A person reads every tip. None is " +
		"published by itself; one that is published is credited, and stands at " + d.cfg.BaseURL + "/tips.",
		Identity: p.Identity.told()}
	return d.answer(w, r, http.StatusCreated, out, func() *templates.SheetView {
		return &templates.SheetView{Page: templates.Page{Title: "A tip for the keeper", Summary: out.Message,
			Path: "/api/tip"}, Sections: []templates.Section{{Facts: []templates.Fact{{Name: "Tip", Value: p.ID,
			Mono: true}},
			Says: []string{out.Review}}}}
	})
}

func (d *Service) tipRows() []route.Row {
	return []route.Row{
		write(api.Route{
			Name: "tip", Pattern: "/api/tip", Summary: "Give the keeper a tip",
			Description: "Free, three a day for a visitor. A person reviews it; a tip that is published is credited " +
				"and sold by the page.",
		}, body[TipRequest]("tip, contributor_name, verified_identity"), created[TipLeft]("The tip is with the keeper"),
			d.postTip),
	}
}

// TipPage is how the keeper publishes a tip: as a page of the stock, paid/tips/<slug>.md.
type TipPage struct {
	Slug, Title, Summary string
	Text                 string // Markdown by the keeper; "" takes the visitor's words, as words alone
}

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxSlug = 60

// Check refuses what is no page.
func (p TipPage) Check() error {
	if !slugForm.MatchString(p.Slug) || len(p.Slug) > maxSlug {
		return fmt.Errorf("the slug must be of at most %d small letters, digits and single hyphens", maxSlug)
	}
	for _, f := range []field{{"title", p.Title, 80, true, false}, {"summary", p.Summary, 240, true, false},
		{"text", p.Text, 16_000, false, true}} {
		if what := f.problem(); what != "" {
			return fmt.Errorf("the %s %s", f.name, what)
		}
	}
	return nil
}

// PublishTip marks a tip as published, and gives its post and the file of its page. A tip that is
// published already gives its file again under the same slug, so that who was interrupted between
// the two can go on; under another it is refused.
func (d *Service) PublishTip(ctx context.Context, id string, page TipPage, dry bool) (Post, []byte, error) {
	if err := page.Check(); err != nil {
		return Post{}, nil, err
	}
	p, err := d.change(ctx, id, KindTip, dry, func(_ ledger.Tx, p *Post, _ time.Time) error {
		switch {
		case p.State == StatePublished && p.Slug == page.Slug, p.State == StateReceived:
		case p.State == StatePublished:
			return fmt.Errorf("tip %s is published as %s", id, p.Slug)
		default:
			return fmt.Errorf("tip %s is %s", id, p.State)
		}
		p.State, p.Slug = StatePublished, page.Slug
		return nil
	})
	if err != nil {
		return p, nil, err
	}
	return p, page.file(&p), nil
}

// file is the page's source: front matter in TOML and Markdown, in which no word of the visitor's
// is markup or a placeholder.
func (p TipPage) file(of *Post) []byte {
	text := p.Text
	if text == "" {
		text = Words(of.Text)
	}
	by := "a visitor"
	if of.Name != "" {
		by = Words(of.Name)
	}
	if of.Identity != nil && of.Identity.Verified {
		by += ", " + Words(of.Identity.Name)
	}
	return fmt.Appendf(nil, "+++\ntitle = %s\nsummary = %s\ndate = %s\n+++\n%s\n\nTold by %s.\n",
		strconv.Quote(p.Title),
		strconv.Quote(p.Summary), strconv.Quote(of.At.Format(time.DateOnly)), strings.TrimSpace(text), by)
}

// Words is a stranger's text as Markdown (CommonMark, section 2.4) in which all of it is words:
// every sign that could be markup, or begin a placeholder, is escaped, and no line begins a block.
func Words(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(s, "\r", "")) {
		line = strings.TrimSpace(line)
		for i, r := range line {
			digits := i > 0 && strings.Trim(line[:i], "0123456789") == ""
			if strings.ContainsRune("\\`*_{}[]()<>#+-!|~&=^$@:/\"'", r) || digits && r == '.' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// DeclineTip says that a tip is not published.
func (d *Service) DeclineTip(ctx context.Context, id string, dry bool) (Post, error) {
	return d.change(ctx, id, KindTip, dry, func(_ ledger.Tx, p *Post, _ time.Time) error {
		if p.State == StatePublished {
			return fmt.Errorf("tip %s is published as %s: take its page out of the stock", id, p.Slug)
		}
		p.State = StateDeclined
		return nil
	})
}
