package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// Asking is how witnesses are asked.
type Asking struct {
	Log *slog.Logger
	// Pause is the wait before a second try, doubled before the third; 0 takes two seconds.
	Pause time.Duration
}

// thrice tries until it works, waiting in between.
func (o Asking) thrice(ctx context.Context, try func() error) error {
	wait := o.Pause
	if wait == 0 {
		wait = 2 * time.Second
	}
	for n := 1; ; n++ {
		err := try()
		if err == nil || n == 3 || errors.Is(err, ErrSplit) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
		wait *= 2
	}
}

// Witnessed says what the witnesses answered.
type Witnessed struct {
	Origin string   `json:"origin"`
	Size   int64    `json:"size"` // of the log's head, which they were shown
	Root   string   `json:"root"`
	Signed int      `json:"signed"` // witnesses whose cosignature of this head is kept
	By     []Answer `json:"witnesses"`
}

// Answer is what became of one witness.
type Answer struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	At      string `json:"at,omitzero"` // when it says it signed
	Held    bool   `json:"held"`        // its cosignature of this head was kept before
	Problem string `json:"problem,omitzero"`
	Split   bool   `json:"split_view,omitzero"` // it has seen another history: look at this at once
}

// Cosign shows the head of a record's log to witnesses and keeps the cosignatures that verify; the
// caller covers the record where Changed says so.
func Cosign(ctx context.Context, w *seal.Writer, witnesses []*Remote, o Asking) (Witnessed, error) {
	if _, err := w.CatchUp(ctx); err != nil {
		return Witnessed{}, err
	}
	log, err := tlog.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		return Witnessed{}, err
	}
	head := log.Head()
	if head.Size == 0 {
		return Witnessed{}, errors.New("the record's log is empty: there is nothing to cosign")
	}
	out := Witnessed{Origin: head.Origin, Size: head.Size, Root: head.Root.String(), By: []Answer{}}
	for _, r := range witnesses {
		a := Answer{Name: r.Name, URL: r.base}
		fresh, err := cosign(ctx, w, log, r, o)
		switch {
		case err != nil:
			a.Problem, a.Split = err.Error(), errors.Is(err, ErrSplit)
			o.Log.Error("not cosigned", "witness", r.Name, "split_view", a.Split, "err", err)
		case fresh == nil:
			a.Held = true
			out.Signed++
		default:
			a.At = fresh.At.Format(time.RFC3339)
			out.Signed++
		}
		out.By = append(out.By, a)
	}
	return out, ctx.Err()
}

// Changed reports whether the record has what its manifest does not know.
func (w Witnessed) Changed() bool {
	return slices.ContainsFunc(w.By, func(a Answer) bool { return a.At != "" })
}

// cosign asks one witness and keeps what it signed; nil where that was kept before.
func cosign(ctx context.Context, w *seal.Writer, log *tlog.Log, r *Remote,
	o Asking) (fresh *tlog.Cosignature, err error) {
	err = o.thrice(ctx, func() error {
		ask := func() ([]byte, error) { return r.Ask(ctx, log, 0) }
		if r.Mirror {
			ask = func() ([]byte, error) { return r.Upload(ctx, log) }
		}
		lines, err := ask()
		if err != nil {
			return err
		}
		signed, err := tlog.Cosignatures(log.Head(), lines, []tlog.Witness{r.Witness})
		if err == nil && len(signed) == 0 {
			err = errors.New("it answered without a signature of its own")
		}
		if err != nil {
			return fmt.Errorf("asking witness %s: %w", r.Name, err)
		}
		added, err := w.Cosign(ctx, lines, []tlog.Witness{r.Witness})
		if err == nil && len(added) > 0 {
			fresh = &added[0]
		}
		return err
	})
	return fresh, err
}
