package till

import (
	"context"
	"errors"
	"sync"
	"time"

	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/rail"
)

// errUsed is what a transaction returns for an authorization that is claimed, where the request
// does not prove to come from who claimed it; alreadyUsed makes the answer of it, outside the
// transaction.
var errUsed = errors.New("till: the authorization is claimed")

// The budgets of what strangers can make us read from a chain, in each process.
const (
	readUsed   = "used_authorization"
	readWallet = "wallet_contract"
	readLate   = "expired_authorization"
)

var chainReads = []budget.Limit{
	{Name: readUsed, Window: time.Minute, Process: 120,
		Doc: "Used authorizations of which the chain is asked whether they paid."},
	{Name: readLate, Window: time.Minute, Process: 60,
		Doc: "Expired authorizations of which the chain is asked whether they paid before."},
	{Name: readWallet, Window: time.Minute, Client: 10, Process: 300,
		Doc: "Contracts that are asked whether a signature is theirs."},
}

const (
	// useSpan is how many blocks back the use of an authorization is searched that is not among the
	// claims. Payments are valid for about ten minutes (M4): that is 0.25 s a block.
	useSpan = 4096
	// useBelieved is how long an answer of the chain that may change is not asked for again.
	useBelieved = 15 * time.Second
	// maxUses bounds the memory of what the chain said.
	maxUses = 1 << 14
	// useTime is how long the chain may take to answer.
	useTime = 5 * time.Second
)

// uses remembers what the chains said of used authorizations.
type uses struct {
	mu  sync.Mutex
	was map[string]chainWord // by claim key and amount; guarded by mu
}

// chainWord is billed as the chain has it, yes, no or unknown; until is when to ask again, zero for
// never.
type chainWord struct {
	billed string
	until  time.Time
}

// charged says whether an authorization paid, as everybody can see it on its chain: yes where the
// Transfer to payTo is there (M3), no where it was cancelled, and otherwise unknown, also where the
// chain does not answer or was asked too often. sent and since are those of its claim, if it has
// one; budget is the one that the question is counted on.
func (t *Till) charged(ctx context.Context, budget string, p *rail.Payment, sent []rail.Signed,
	since rail.Verified) string {
	key := p.ClaimKey() + "|" + p.PayTo + "|" + p.Amount.String()
	now := time.Now()
	t.uses.mu.Lock()
	said, ok := t.uses.was[key]
	t.uses.mu.Unlock()
	if ok && (said.until.IsZero() || now.Before(said.until)) {
		return said.billed
	}
	rd, err := t.reads.Spend(ctx, budget, "")
	if err != nil || !rd.Granted {
		return "unknown"
	}
	said = t.askChain(ctx, p, sent, since, now)
	t.uses.mu.Lock()
	if t.uses.was == nil || len(t.uses.was) >= maxUses {
		t.uses.was = make(map[string]chainWord)
	}
	t.uses.was[key] = said
	t.uses.mu.Unlock()
	return said.billed
}

func (t *Till) askChain(ctx context.Context, p *rail.Payment, sent []rail.Signed, since rail.Verified,
	now time.Time) chainWord {
	word := chainWord{billed: "unknown", until: now.Add(useBelieved)}
	r, ok := t.byNet[p.Network]
	if !ok {
		return word
	}
	// Who asks and goes away must not make the answer for everybody else.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useTime)
	defer cancel()
	if t.cfg.Gas.Ready(ctx, p.Network) != nil {
		return word
	}
	if since == (rail.Verified{}) {
		head, err := r.Head(ctx)
		if err != nil {
			return word
		}
		since.Block = head.Block - min(head.Block, useSpan)
	}
	f, err := r.Status(ctx, p, sent, since, now)
	switch {
	case err != nil:
		return word
	case f.Proof != nil:
		word.billed = "yes"
	case f.State == rail.Dead && f.Reason == "cancelled":
		word.billed = "no"
	}
	if f.Final && word.billed != "unknown" {
		word.until = time.Time{}
	}
	return word
}

// claimedBy says of an authorization that is claimed what became of it, without a word of the
// purchase: what our ledger proves or the chain shows to everybody. One that was recorded as
// answered for another purchase is never settled by us, but whoever has it may have sent it.
func (t *Till) claimedBy(ctx context.Context, c Claim, p *rail.Payment) (string, error) {
	if c.Answered {
		if t.charged(ctx, readUsed, p, nil, rail.Verified{}) == "yes" {
			return "yes", nil
		}
		return "no", nil
	}
	bought, err := t.load(ctx, c.Purchase)
	if err != nil {
		return "", ledgerDown(err)
	}
	if bought.Proof != nil && bought.State != Reversed || bought.Spent != nil && bought.State == Delivered {
		return "yes", nil
	} else if bought.Spent != nil {
		return "no", nil
	}
	if bought.InEscrow() || bought.State == Released { // as the escrow's events say, not the payment's
		return bought.Billed(), nil
	}
	return t.charged(ctx, readUsed, &bought.Payment, bought.settling().Signed(bought.ID), bought.Verified), nil
}

// alreadyUsed is all that a presenter learns of a used authorization that is not proved to be
// theirs (M1): whether it paid, which everybody can see, and never of the purchase.
func (t *Till) alreadyUsed(ctx context.Context, p *rail.Payment) error {
	c, found, err := t.claimOf(ctx, p)
	if err != nil {
		return ledgerDown(err)
	}
	billed := ""
	if found {
		if billed, err = t.claimedBy(ctx, c, p); err != nil {
			return err
		}
	} else if billed = t.charged(ctx, readUsed, p, nil, rail.Verified{}); billed == "yes" && p.Returnable() {
		// The store was restored from before its order: nobody completes it, and it was paid into
		// an escrow, not to the store.
		return (&Error{Code: CodeAlreadyUsed, Escrowed: true}).paid("unknown", "never")
	}
	return usedError(billed)
}

func usedError(billed string) error {
	return (&Error{Code: CodeAlreadyUsed}).paid(billed, "never")
}
