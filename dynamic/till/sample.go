package till

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// A sample is what an order on account would bring, for who tries the desk out: made of public
// texts and signed, and nothing else. It takes no stock, no patron number, no credit, no place in a
// queue or register, sends no word and asks nobody anything. Its certificate says what it is.

// SamplesADay is how many samples are made in a day of UTC, by all processes together.
const SamplesADay = 50

// What the certificates of samples say.
const (
	viaSandbox     = ProtocolTrade + " sandbox"
	sandboxPurpose = "To try the trade counter out. Nothing was sold."
)

// Sample answers an order with a sample made of pools, and a repeat with the same one.
func (t *Till) Sample(ctx context.Context, o AccountOrder, pools goods.Pools) (body []byte, first time.Time,
	replay bool, err error) {
	var r account.Ref
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		r, replay, err = o.named(tx)
		return err
	})
	if err == nil && !replay {
		r, replay, err = t.makeSample(ctx, &o, pools)
	}
	if err != nil {
		return nil, first, false, unpaid(gateError(err))
	}
	first, err = time.Parse(time.RFC3339, r.At)
	return r.Sample, first, replay, err
}

// SamplesLeft is how many samples may still be made today.
func SamplesLeft(tx ledger.Tx) (int, error) {
	n, err := ledger.Count(tx, samplesKey(tx))
	return SamplesADay - int(n), err
}

func samplesKey(tx ledger.Tx) []byte {
	return ledger.BudgetKey("trade_sandbox", tx.Now().UTC().Format(time.DateOnly))
}

// makeSample makes a sample and keeps it.
func (t *Till) makeSample(ctx context.Context, o *AccountOrder, pools goods.Pools) (r account.Ref, replay bool,
	err error) {
	site := t.cfg.Site.Now()
	offer := t.offer(site, o.Item)
	if offer == nil {
		return r, false, &Error{Code: CodeUnknownItem}
	}
	if _, err := o.inputs(offer); err != nil {
		return r, false, &Error{Code: CodeInputs, Err: err}
	}
	now := time.Now().UTC().Truncate(time.Second)
	made, err := goods.Sample(ctx, offer.Kind, offer.Good, goods.SampleOrder{Pools: pools, Payer: payerOf(o.Account),
		At: now})
	if err != nil {
		return r, false, err
	}
	on := OnAccount{Account: o.Account, Partner: o.Partner, Ref: o.Ref,
		Terms: account.TermsOf(offer.Price(), account.Book{}.Share())}
	on.seal(o.Body)
	p := &Purchase{Item: offer.ID, Content: site.Digest, Made: made, CertID: attest.NewID(prefixCert),
		Date: now.Format(time.RFC3339)}
	minted, err := t.sampleCertificate(p, &on)
	if err != nil {
		return r, false, err
	}
	body, err := json.Marshal(AccountDelivery{Message: made.Message, ItemID: offer.ID, Deliverable: made.Deliverable,
		Delivered: true, Account: on.billedTo(), Minted: minted})
	if err != nil {
		return r, false, err
	}
	fresh := account.Ref{Request: requestDigest(o.Body), Sample: body, At: p.Date}
	err = t.update(ctx, func(tx ledger.Tx) error {
		if r, replay, err = o.named(tx); err != nil || replay {
			return err
		}
		left, err := SamplesLeft(tx)
		if err != nil {
			return err
		}
		if left < 1 {
			end := ledger.Tomorrow(tx.Now())
			return &Error{Code: CodeDailyCap, Until: end, Retry: end.Sub(tx.Now())}
		}
		r = fresh
		return errors.Join(ledger.SetCount(tx, samplesKey(tx), int64(SamplesADay-left+1)),
			account.SetRef(tx, o.Account, o.Ref, fresh),
			ledger.SetJSON(tx, ledger.CertKey(p.CertID), CertRecord{Certificate: minted.Certificate,
				Proof: minted.Proof}))
	})
	return r, replay, err
}

// sampleCertificate signs the certificate of a sample.
func (t *Till) sampleCertificate(p *Purchase, on *OnAccount) (*Minted, error) {
	cert := attest.Certificate{CertID: p.CertID, Item: p.Item, Date: p.Date, Note: p.Made.Note, Win: p.Made.Win,
		Tag: p.Made.Tag, Attests: p.Made.Attests, MadeBy: t.cfg.Site.Of(p.Content).Config.Keeper,
		Purpose: sandboxPurpose, FromTheStore: t.cfg.BaseURL}
	on.certify(&cert, viaSandbox)
	signed, err := cert.Sign(t.signer())
	if err != nil {
		return nil, err
	}
	return &Minted{CertID: p.CertID, Certificate: cert, Proof: signed.Proof,
		VerifyURL: t.cfg.BaseURL + "/api/verify/" + p.CertID}, nil
}
