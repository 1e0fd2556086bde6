package buyer

import (
	"context"
	"errors"
	"fmt"
)

// Resume presents the payments again that the journal holds without an answer, and returns what
// came of them. A payment past its validity is presented once more, because the answer may be
// waiting although the payment can no longer move money. Resume needs no wallet. Its error joins
// those of the purchases, each as Buy would return it: ErrBusy where another process is at it.
func (b *Buyer) Resume(ctx context.Context) (results []*Result, err error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	all, err := b.cfg.Journal.unfinished(ctx)
	errs := []error{err}
	for _, p := range all {
		if p.State != Signed {
			continue
		}
		res, err := b.resume(ctx, p)
		if res != nil {
			results = append(results, res)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("resuming %s: %w", p.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, errors.Join(errs...)
}

// resume presents a payment again, unless it was answered since it was read.
func (b *Buyer) resume(ctx context.Context, p *purchase) (_ *Result, err error) {
	h, err := b.open(ctx, p.Request.digest())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.release()) }()
	if p, err = h.read(ctx, p.ID); err != nil || p.State != Signed {
		return nil, err
	}
	p.repeated = true
	return b.finish(ctx, h, p)
}

// earlier is the purchase of an order's ID, nil where nothing was signed for it yet.
func (b *Buyer) earlier(ctx context.Context, h hold, r request, o Options) (*purchase, error) {
	if o.ID == "" {
		return nil, nil
	}
	p, err := h.find(ctx, o.ID)
	if err != nil || p == nil || p.State == Intended {
		return nil, err
	}
	if p.Request.digest() != r.digest() {
		return nil, fmt.Errorf("buying: purchase %s is of another request", o.ID)
	}
	return p, nil
}

// goOn gives what came of a purchase that was signed before, or presents its payment again.
func (b *Buyer) goOn(ctx context.Context, h hold, p *purchase) (*Result, error) {
	if p.State == Signed {
		p.repeated = true
		return b.finish(ctx, h, p)
	}
	res := b.result(ctx, p)
	switch p.State {
	case Refused:
		return res, fmt.Errorf("buying: %w", p.Answer.refusal(res))
	case Unknown:
		return res, ErrUnknown
	}
	return res, nil
}
