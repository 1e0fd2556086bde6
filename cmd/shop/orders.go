package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/visible"
	"store.example/agentstore/dynamic/till"
)

// KeeperOrder is an order as the keeper reads it: with what was asked, and by whom it was paid.
type KeeperOrder struct {
	OrderID     string    `json:"order_id"`
	ItemID      string    `json:"item_id"`
	Status      string    `json:"status"`
	OrderedAt   string    `json:"ordered_at"`
	DueAt       time.Time `json:"due_at"`
	HoursLeft   float64   `json:"hours_left"` // less than 0 past the window; of a completed order, as it was then
	Asked       string    `json:"asked"`      // a stranger's text, with what cannot be seen in it spelled out
	URL         string    `json:"url,omitzero"`
	AgentName   string    `json:"agent_name,omitzero"`
	PaidUSDC    string    `json:"paid_usdc"`
	OwedUSDC    string    `json:"owed_usdc,omitzero"` // since the window was missed
	Payer       string    `json:"payer"`
	Network     string    `json:"network"`
	PurchaseID  string    `json:"purchase_id"`
	CompletedAt string    `json:"completed_at,omitzero"`
	Text        string    `json:"text,omitzero"`
	Link        string    `json:"link,omitzero"`
	File        string    `json:"file,omitzero"`
}

func keeperOrder(o till.HumanOrder) KeeperOrder {
	p := o.Purchase
	v := KeeperOrder{OrderID: o.ID, ItemID: p.Item, Status: o.Status(), OrderedAt: p.Date, DueAt: o.Work.DueAt,
		HoursLeft: float64(-o.Late()/time.Minute) / 60, Asked: lines(p.Inputs["detail"]),
		URL:       visible.Text(p.Inputs["url"]),
		AgentName: visible.Text(p.Inputs["agent_name"]), PaidUSDC: content.FormatUSDC(p.Amount), Payer: p.Payment.Payer,
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
		all[i] = visible.Text(all[i])
	}
	return strings.Join(all, "\n")
}

// Orders writes a line of JSON for each order that waits for the keeper, or for every one.
func Orders(ctx context.Context, c *Config, all bool, log *slog.Logger, w io.Writer) error {
	path := "/orders"
	if all {
		path += "?all"
	}
	return asKeeper(ctx, c, log, http.MethodGet, path, w, func(s *Shop) error { return s.orders(ctx, all, w) })
}

func (s *Shop) orders(ctx context.Context, all bool, w io.Writer) error {
	list, err := s.Till.HumanOrders(ctx, all)
	out := make([]KeeperOrder, len(list))
	for i, o := range list {
		out[i] = keeperOrder(o)
	}
	return errors.Join(jsonLines(w, out), err)
}

// AnswerOrder completes an order in the process that serves the store, where there is one, and
// writes it as it stands then. dry changes nothing.
func AnswerOrder(ctx context.Context, c *Config, id string, a till.Answer, dry bool, log *slog.Logger,
	w io.Writer) error {
	if err := a.Check(); err != nil {
		return err
	}
	return signing(ctx, c, log, "/answer", url.Values{"order": {id}}, a, dry, w,
		func(s *Shop) error { return s.answer(ctx, id, a, dry, w) })
}

func (s *Shop) answer(ctx context.Context, id string, a till.Answer, dry bool, w io.Writer) error {
	o, err := s.Till.AnswerOrder(ctx, id, a, dry)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(keeperOrder(o))
}

// WriteNote signs the keeper's note of a month, and writes it as it is signed. dry changes nothing.
func WriteNote(ctx context.Context, c *Config, month, text string, dry bool, log *slog.Logger, w io.Writer) error {
	return signing(ctx, c, log, "/note", url.Values{"month": {month}}, text, dry, w,
		func(s *Shop) error { return s.note(ctx, month, text, dry, w) })
}

func (s *Shop) note(ctx context.Context, month, text string, dry bool, w io.Writer) error {
	n, err := s.Till.WriteNote(ctx, month, text, dry)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(n)
}

// signing does work that signs something for a buyer: in the process that serves the store, where
// there is one; else in a shop that is opened for it, which notes it in the high-water file as the
// other would.
func signing(ctx context.Context, c *Config, log *slog.Logger, path string, q url.Values, body any, dry bool,
	w io.Writer, work func(*Shop) error) (err error) {
	spec, err := ledgerSpec(c)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if dry {
		q.Set("dry", "")
	}
	if ok, err := askServer(ctx, spec, http.MethodPost, path+"?"+q.Encode(), bytes.NewReader(raw), w); ok ||
		err != nil {
		return err
	}
	if err := mustExist(spec); err != nil {
		return err
	}
	quiet := *c
	quiet.Public, quiet.Record = "", ""
	s, err := Open(ctx, &quiet, Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return work(s)
}

// maxControl bounds what the keeper's commands send to the serving process: a file in base64, and
// the words beside it.
const maxControl = 2 << 20

// controlBody reads what a command sent.
func controlBody[T any](r *http.Request) (v T, err error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxControl+1))
	if err == nil && len(raw) > maxControl {
		err = fmt.Errorf("more than %d bytes", maxControl)
	}
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// controlOrders are the commands about orders and notes on the control socket.
func (s *Shop) controlOrders(mux *http.ServeMux) {
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		answerKeeper(w, func(out io.Writer) error { return s.orders(r.Context(), r.URL.Query().Has("all"), out) })
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answerKeeper(w, func(out io.Writer) error {
			a, err := controlBody[till.Answer](r)
			if err != nil {
				return err
			}
			return s.answer(r.Context(), q.Get("order"), a, q.Has("dry"), out)
		})
	})
	mux.HandleFunc("POST /note", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		answerKeeper(w, func(out io.Writer) error {
			text, err := controlBody[string](r)
			if err != nil {
				return err
			}
			return s.note(r.Context(), q.Get("month"), text, q.Has("dry"), out)
		})
	})
}
