package shop

import (
	"context"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/till"
)

// KeeperOrder is an order as the keeper reads it: with what was asked, and by whom it was paid.
type KeeperOrder struct {
	OrderID     string    `json:"order_id" doc:"The order, as store keeper answer takes it."`
	ItemID      string    `json:"item_id" doc:"The good."`
	Status      string    `json:"status" doc:"How it stands."`
	OrderedAt   string    `json:"ordered_at"`
	DueAt       time.Time `json:"due_at" doc:"When it is due, UTC."`
	HoursLeft   float64   `json:"hours_left" doc:"Hours until then, less than 0 past the window; of a completed order, as it was then."`
	Asked       string    `json:"asked" wide:"true" doc:"What was asked: a stranger's text, with what cannot be seen in it spelled out."`
	URL         string    `json:"url,omitzero" doc:"An address that they gave."`
	AgentName   string    `json:"agent_name,omitzero" doc:"Who ordered, in their own words."`
	PaidUSDC    string    `json:"paid_usdc" doc:"What was paid."`
	OwedUSDC    string    `json:"owed_usdc,omitzero" doc:"What is owed, since the window was missed."`
	Payer       string    `json:"payer"`
	Network     string    `json:"network"`
	PurchaseID  string    `json:"purchase_id"`
	CompletedAt string    `json:"completed_at,omitzero"`
	Text        string    `json:"text,omitzero" wide:"true" doc:"The answer."`
	Link        string    `json:"link,omitzero" doc:"The link of the answer."`
	File        string    `json:"file,omitzero" doc:"The file of the answer."`
}

func keeperOrder(o till.HumanOrder) KeeperOrder {
	p := o.Purchase
	v := KeeperOrder{OrderID: o.ID, ItemID: p.Item, Status: o.Status(), OrderedAt: p.Date, DueAt: o.Work.DueAt,
		HoursLeft: float64(-o.Late()/time.Minute) / 60, Asked: lines(p.Inputs["detail"]),
		URL:       screen.Text(p.Inputs["url"]),
		AgentName: screen.Text(p.Inputs["agent_name"]), PaidUSDC: content.FormatUSDC(p.Amount), Payer: p.Payment.Payer,
		Network: p.Payment.Network, PurchaseID: p.ID, Text: o.Work.Text, Link: o.Work.Link}
	if o.Late() > 0 {
		v.OwedUSDC = v.PaidUSDC
	}
	if !o.Work.CompletedAt.IsZero() {
		v.CompletedAt = o.Work.CompletedAt.Format(time.RFC3339)
	}
	if o.Work.File != nil {
		v.File = o.Work.File.Name
	}
	return v
}

// lines is a stranger's text with its line breaks.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = screen.Text(all[i])
	}
	return strings.Join(all, "\n")
}

// listIn is what lists take that may have what is done, too.
type listIn struct {
	All bool `flag:"all" doc:"those that are done, too"`
}

func (s *Shop) orders(ctx context.Context, in listIn) ([]KeeperOrder, error) {
	list, err := s.Till.HumanOrders(ctx, in.All)
	out := make([]KeeperOrder, len(list))
	for i, o := range list {
		out[i] = keeperOrder(o)
	}
	return out, err
}

type answerIn struct {
	Order string   `arg:"ORDER" form:"^order_[a-z2-7]{20}$" doc:"the order, order_ and twenty characters: store keeper orders lists them"`
	Text  string   `flag:"text" file:"text-file" doc:"what to say"`
	Link  string   `flag:"link" doc:"an https address"`
	File  attached `flag:"file" doc:"a file of at most 1 MiB to hand over, under its own name"`
}

func (in *answerIn) answer() till.Answer {
	a := till.Answer{Text: in.Text, Link: in.Link}
	if in.File.Name != "" {
		a.File = &till.AnswerFile{Name: in.File.Name, Data: in.File.Data}
	}
	return a
}

func (in *answerIn) check() error { return in.answer().Check() }

// answer completes an order, and gives it as it stands then.
func (s *Shop) answer(ctx context.Context, in answerIn, dry bool) (KeeperOrder, error) {
	o, err := s.Till.AnswerOrder(ctx, in.Order, in.answer(), dry)
	if err != nil {
		return KeeperOrder{}, err
	}
	return keeperOrder(o), nil
}

type orderIn struct {
	Order string `arg:"ORDER" form:"^order_[a-z2-7]{20}$" doc:"the order, order_ and twenty characters: store keeper orders lists them"`
}

// declineOrder gives back what is held for an order, and gives it as it stands then.
func (s *Shop) declineOrder(ctx context.Context, in orderIn, dry bool) (KeeperOrder, error) {
	o, err := s.Till.DeclineOrder(ctx, in.Order, dry)
	if err != nil {
		return KeeperOrder{}, err
	}
	return keeperOrder(o), nil
}

type noteIn struct {
	Month string `arg:"MONTH" form:"^[0-9]{4}-(0[1-9]|1[0-2])$" doc:"the month, such as 2026-11"`
	Text  string `flag:"text" file:"text-file" doc:"what the note says" need:"say what the note says with -text-file or -text"`
}

// signedNote is a note as it is signed.
type signedNote struct{ till.MonthlyNote }

// Plain is what the keeper reads of it.
func (n signedNote) Plain() []any {
	return []any{"The note of " + n.Note.Month + ", which holders of a current pass read once it is signed:",
		n.Note.Text}
}

func (s *Shop) note(ctx context.Context, in noteIn, dry bool) (signedNote, error) {
	n, err := s.Till.WriteNote(ctx, in.Month, in.Text, dry)
	return signedNote{n}, err
}
