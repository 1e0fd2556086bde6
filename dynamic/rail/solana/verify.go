package solana

import (
	"context"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// simulationFresh is how long a simulation speaks for the draft after it.
	simulationFresh = 2 * time.Second
	// maxTried bounds the memory of simulations and of messages.
	maxTried = 1 << 14
)

// simulated notes that a node would have taken a payment, and until which block height it can land.
type simulated struct {
	at        time.Time
	lastValid uint64
}

// Verify implements rail.Rail, in the order and with the codes of the stock facilitator (x402 3.4).
// While the watcher runs it asks one question, the simulation; of a payment whose blockhash is none
// of ours a second.
//
// An authorization ends with a block here: p.ValidBefore becomes a time by which nothing can land
// that was not signed for until then, and that is no more than an estimate.
func (r *Rail) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	if ref := r.checkTerms(p, want); ref != nil {
		return rail.Verified{}, ref
	}
	t, o, ref := r.taken(p, false)
	if ref == nil {
		ref = r.check(t, o, want)
	}
	if ref != nil {
		return rail.Verified{}, ref
	}
	v, live := r.live()
	if !live {
		var err error
		if v, err = r.readView(ctx); err != nil {
			return rail.Verified{}, fmt.Errorf("reading the head: %w", err)
		}
	}
	seen := rail.Verified{Block: v.slot, Time: v.time, Local: o.code != "", Code: o.code}
	slot, err := r.simulate(ctx, t)
	if err != nil {
		r.takeTried(p)
		return seen, err
	}
	last, err := r.lastValid(ctx, t.blockhash, slot)
	if err != nil {
		return rail.Verified{}, fmt.Errorf("reading until when a payment is good: %w", err)
	}
	late := now
	if v.time.After(late) {
		late = v.time
	}
	p.ValidBefore = late.Add(2 * timeout).Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tried) >= maxTried {
		clear(r.tried)
	}
	r.tried[p.Nonce] = simulated{time.Now(), last}
	return seen, nil
}

// Signed implements rail.Rail: Parse takes nothing else.
func (r *Rail) Signed(p *rail.Payment) bool {
	_, _, ref := r.taken(p, false)
	return ref == nil
}

// takeTried takes the note of a payment's simulation, which serves once: for two seconds, and while
// no other payment of its payer was drafted since, which may take the money.
func (r *Rail) takeTried(p *rail.Payment) (lastValid uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.tried[p.Nonce]
	delete(r.tried, p.Nonce)
	return s.lastValid, ok && time.Since(s.at) <= simulationFresh && !r.drafted[p.Payer].After(s.at)
}

// noteDraft voids the notes of a payer's other payments.
func (r *Rail) noteDraft(p *rail.Payment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.drafted) >= maxTried {
		clear(r.drafted)
		clear(r.tried)
	}
	r.drafted[p.Payer] = time.Now()
}

// checkTerms is what can be judged before the transaction: steps 1 and 2.
func (r *Rail) checkTerms(p *rail.Payment, want rail.Requirement) *rail.Refusal {
	feePayer, _ := want.Extra["feePayer"].(string)
	switch {
	case want.Scheme != "exact":
		return refuse(reasonScheme, "the scheme is not exact")
	case p.Network != want.Network || want.Network != r.cfg.Network:
		return refuse(reasonNetwork, "the payment is for another network")
	case feePayer == "":
		return refuse(reasonNoFeePayer, "the terms name no fee payer")
	case feePayer != r.accountNames[0]:
		return refuse(reasonNotOurs, "the terms' fee payer is not this store's")
	}
	return nil
}

// simulate lets a node try a transaction without our signature, at the newest confirmed slot, which
// it returns. What it would do is a *rail.Refusal where it would fail by what the payer put into
// it.
func (r *Rail) simulate(ctx context.Context, t *transaction) (slot uint64, err error) {
	bare := *t
	bare.signatures = append([][64]byte{{}}, t.signatures[1:]...)
	var out struct {
		Context at `json:"context"`
		Value   struct {
			Err  jsontext.Value `json:"err"`
			Logs []string       `json:"logs"`
		} `json:"value"`
	}
	err = r.rpc.call(ctx, &out, "simulateTransaction", base64.StdEncoding.EncodeToString(bare.wire()), map[string]any{
		"encoding": "base64", "commitment": confirmed, "sigVerify": false, "replaceRecentBlockhash": false,
	})
	if err != nil {
		return 0, fmt.Errorf("simulating a payment: %w", err)
	}
	why := fault(out.Value.Err)
	switch {
	case why == "":
		return out.Context.Slot, nil
	case why == "AlreadyProcessed" || why == "BlockhashNotFound":
		return 0, r.gone(ctx, t, why)
	case ourFault(why):
		return 0, fmt.Errorf("simulating a payment: %s: %w", why, rail.ErrNoGas)
	}
	ref := refuse(reasonSimulation, "%s", why)
	if _, of := failedAt(t, why); of == frozenAccount {
		ref.Message = "the token's issuer has frozen one of the two accounts: " + why
	}
	ref.Payer, ref.Short = r.payersFault(ctx, t, why), lacksMoney(t, why) // whose signature was good
	return 0, ref
}

// gone says what became of a transaction that can no longer land.
func (r *Rail) gone(ctx context.Context, t *transaction, why string) error {
	_, list, err := r.statuses(ctx, true, r.signatureOf(t).id)
	if err != nil {
		return fmt.Errorf("reading what became of a payment: %w", err)
	}
	if why == "AlreadyProcessed" || list[0] != nil {
		ref := refuse(reasonSimulation, "the transaction is on the chain already")
		ref.Err = rail.ErrUsed
		return ref
	}
	// A node that is behind does not know a blockhash that is good.
	r.mu.Lock()
	h, ours := r.hints[t.blockhash]
	height := r.now.height
	r.mu.Unlock()
	if ours && time.Since(h.read) < timeout/2 && height <= h.LastValid {
		return fmt.Errorf("simulating a payment: its blockhash is one of ours: %w", errBehind)
	}
	return refuse(reasonSimulation, "its blockhash is too old, or of another chain")
}

// fault names what a transaction failed of, as Solana's nodes write it: "AccountNotFound",
// "InstructionError 2 Custom 1"; "" for nothing.
func fault(v jsontext.Value) string {
	if len(v) == 0 || v.Kind() == 'n' {
		return ""
	}
	var any any
	if json.Unmarshal(v, &any) != nil {
		return "unreadable"
	}
	return rail.Printable(words(any), 120)
}

// words writes JSON as the words and numbers in it.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprint(int64(v))
	case []any:
		var s strings.Builder
		for i, e := range v {
			if i > 0 {
				s.WriteString(" ")
			}
			s.WriteString(words(e))
		}
		return s.String()
	case map[string]any:
		for k, e := range v { // an error has one name
			if w := words(e); w != "" {
				return k + " " + w
			}
			return k
		}
	}
	return ""
}

// ourFault reports a failure of the fee payer's account.
func ourFault(why string) bool {
	switch why {
	case "InsufficientFundsForFee", "AccountNotFound", "InvalidAccountForFee", "InsufficientFundsForRent 0":
		return true
	}
	return why == "InsufficientFundsForRent account_index 0"
}

// notEnough is the token program's word for an account that holds too little (TokenError).
const notEnough = "Custom 1"

// frozenAccount is its word for an account that its issuer has frozen.
const frozenAccount = "Custom 17"

// failedAt is the instruction that a transaction failed at, and of what; nil where it was none.
func failedAt(t *transaction, why string) (i *instruction, of string) {
	rest, ok := strings.CutPrefix(why, "InstructionError ")
	number, of, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= len(t.instructions) {
		return nil, ""
	}
	return &t.instructions[n], of
}

// lacksMoney reports a transfer that failed for want of money.
func lacksMoney(t *transaction, why string) bool {
	i, of := failedAt(t, why)
	return i != nil && t.programOf(*i) == programToken && of == notEnough
}

// payersFault reports a failure that is shown to be the payer's doing. The guards and memos are
// what the payer's wallet put there, whatever they failed of. At the transfer it is the payer's
// unless the store's own account is seen not to be well: all else that the transfer needs is the
// payer's to change until the block, the money, the account and its owner, a freeze, a delegate.
func (r *Rail) payersFault(ctx context.Context, t *transaction, why string) bool {
	i, of := failedAt(t, why)
	switch {
	case i == nil || t.programOf(*i) == programBudget:
		return false
	case t.programOf(*i) != programToken, of == notEnough, of == "ComputationalBudgetExceeded":
		return true
	}
	v, live := r.live()
	if !live {
		var err error
		if v, err = r.readView(ctx); err != nil {
			return false
		}
	}
	return v.out == ""
}
