package bounty

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
)

// ClaimRequest is the body of POST /api/bounty-claim.
type ClaimRequest struct {
	BountyID  string  `json:"bounty_id" jsonschema:"as the list names it"`
	TxHash    string  `json:"tx_hash" jsonschema:"the transaction that settled your purchase at the door"`
	Payer     string  `json:"payer" jsonschema:"the wallet that paid the door"`
	PayoutTo  string  `json:"payout_to" jsonschema:"the EVM address that is paid: the payer's, or any with payer_signature"`
	Signature string  `json:"payer_signature,omitzero" jsonschema:"needed where payout_to is not the payer, or with report: the payer's signature over the text that the refusal without it gives"`
	Said      string  `json:"observation,omitzero" jsonschema:"what you saw, in your words, at most 500 characters; for the keeper, never published"`
	Report    *Report `json:"report,omitempty"`
}

// Report is what the payer says the door answered. It is published as the payer's word, so that a
// claim with one is signed.
type Report struct {
	Status      int64  `json:"status,omitzero"`
	BodySHA256  string `json:"body_sha256,omitzero"`
	Bytes       int64  `json:"bytes,omitzero"`
	LatencyMS   int64  `json:"latency_ms,omitzero"`
	ContentType string `json:"content_type,omitzero"`
}

// Claimed is the answer to a claim that was taken.
type Claimed struct {
	BountyID    string     `json:"bounty_id"`
	Status      string     `json:"status"`
	RewardUSD   float64    `json:"reward_usd"`
	Reward      string     `json:"reward_atomic"`
	Verified    []string   `json:"what_was_verified"`
	NotVerified []string   `json:"what_was_not"`
	Payout      PayoutView `json:"payout"`
	VerifyURL   string     `json:"verify_url"`
	Observation string     `json:"observation_id"`
	NextStep    string     `json:"next_step"`
}

// PayoutView is an authorization with all that redeeming it takes.
type PayoutView struct {
	Method        string        `json:"method"` // eip3009_transfer_with_authorization
	Chain         string        `json:"chain"`  // CAIP-2
	Asset         string        `json:"asset"`
	Authorization Authorization `json:"authorization"`
	Signature     string        `json:"signature"`
	HowToRedeem   string        `json:"how_to_redeem"`
	Trouble       string        `json:"trouble,omitzero"` // why it cannot be redeemed at the moment
	PaidTx        string        `json:"paid_tx,omitzero"`
}

// Authorization is what the token is handed (EIP-3009).
type Authorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

// postClaim answers POST /api/bounty-claim.
func (d *Service) postClaim(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[ClaimRequest](r, false)
	if err != nil {
		return err
	}
	out, err := d.Claim(r.Context(), in, route.Client(r))
	if err != nil {
		return err
	}
	return route.JSON(w, out)
}

// Claim judges a claim and pays it. client is whom what judging takes is counted on. A claim that
// was taken before gets the same answer again, with a fresh authorization where the last one has
// expired. Refusals are *problem.Error.
func (d *Service) Claim(ctx context.Context, in ClaimRequest, client string) (Claimed, error) {
	if err := in.check(); err != nil {
		return Claimed{}, err
	}
	if d.cfg.Account == nil {
		return Claimed{}, errNoPayouts
	}
	b, now, err := d.Bounty(ctx, in.BountyID)
	if errors.Is(err, ErrNone) {
		return Claimed{}, refuse("not_found", "No bounty has this id.", "GET "+d.cfg.BaseURL+"/api/bounties lists "+
			"them.")
	}
	if err != nil {
		return Claimed{}, down(err)
	}
	if b.Claim != nil && in.same(&b) {
		if err := d.renew(ctx, &b, now); err != nil {
			return Claimed{}, down(err)
		}
		return d.claimed(ctx, &b, now), nil
	}
	if err := mayClaim(&b, now); err != nil {
		return Claimed{}, err
	}
	if err := d.mayPay(ctx, &in, &b, client); err != nil {
		return Claimed{}, err
	}
	settled, err := d.judge(ctx, &in, &b)
	if err != nil {
		return Claimed{}, err
	}
	if err := d.screened(in.Payer, in.PayoutTo); err != nil {
		return Claimed{}, err
	}
	if d.cfg.OptedOut(ctx, b.Host) {
		return Claimed{}, refuse("opted_out", "Nothing was taken: since the bounty was posted the file of "+b.Host+
			" at /.well-known/x402 asks that the host is not read, and a claim would put a purchase there on the "+
			"record.", "Your purchase stands as it is. If the host takes the line out of its file, send the same "+
			"claim again before "+b.Expires.Format(time.RFC3339)+".")
	}
	if err := d.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return d.take(tx, &b, in, settled) }); err != nil {
		return Claimed{}, down(err)
	}
	return d.claimed(ctx, &b, b.Claim.At), nil
}

var (
	idForm   = regexp.MustCompile(`^bty_[a-z2-7]{20}$`)
	txForm   = regexp.MustCompile(`^0x[0-9a-f]{64}$`)
	payTo    = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check finds what is wrong with a claim whatever bounty it is for.
func (in *ClaimRequest) check() error {
	var bad []problem.Field
	is := func(ok bool, field, what string) {
		if !ok {
			bad = append(bad, problem.Field{Field: field, Problem: what})
		}
	}
	is(idForm.MatchString(in.BountyID), "bounty_id", "is not bty_ and twenty characters")
	is(in.TxHash != "" && len(in.TxHash) <= 100, "tx_hash", "is not the hash of a transaction")
	is(in.Payer != "" && len(in.Payer) <= 64, "payer", "is not an address")
	is(payTo.MatchString(in.PayoutTo), "payout_to", "is not 0x and 40 hex digits: rewards are paid on an EVM network")
	is(len(in.Signature) <= 9000, "payer_signature", "is longer than 9000 characters")
	is(utf8.ValidString(in.Said) && utf8.RuneCountInString(in.Said) <= MaxText, "observation",
		fmt.Sprintf("is not text of at most %d characters", MaxText))
	if p := in.Report; p != nil {
		is(p.Status == 0 || p.Status >= 100 && p.Status <= 599, "report.status", "is no status of HTTP")
		is(p.BodySHA256 == "" || hashForm.MatchString(p.BodySHA256), "report.body_sha256",
			"is not 64 lower-case hex digits")
		is(p.Bytes >= 0 && p.Bytes <= attest.MaxInteger, "report.bytes", "is no number of bytes")
		is(p.LatencyMS >= 0 && p.LatencyMS <= attest.MaxInteger, "report.latency_ms", "is no number of milliseconds")
		is(len(p.ContentType) <= 200, "report.content_type", "is longer than 200 characters")
	}
	if bad == nil {
		return nil
	}
	return route.Invalid(bad...)
}

// same reports whether this is the claim that the bounty was taken by.
func (in *ClaimRequest) same(b *Bounty) bool {
	return spelledTx(in.TxHash) == b.Claim.Tx && strings.EqualFold(in.PayoutTo, b.Claim.PayoutTo) &&
		spelled(in.Payer) == spelled(b.Claim.Payer)
}

// spelledTx is a transaction in its one spelling.
func spelledTx(tx string) string {
	if strings.HasPrefix(tx, "0x") || strings.HasPrefix(tx, "0X") {
		return strings.ToLower(tx)
	}
	return tx
}

// mayClaim refuses a bounty that is not open.
func mayClaim(b *Bounty, now time.Time) error {
	switch b.Status(now) {
	case StatusOpen:
		return nil
	case StatusExpired:
		return refuse("expired", "The bounty was open until "+b.Expires.Format(time.RFC3339)+".",
			"Your purchase stands as it is; choose a bounty that is open before the next one.")
	}
	return refuse("not_open", "Another claim was taken for this bounty; each is paid once.",
		"Your purchase stands as it is; choose a bounty that is open before the next one.")
}

// mayPay demands that the payer wants the reward to go where the claim says, tells what is
// published as his word, and did not pay himself. Anybody may claim for him, and says nothing.
func (d *Service) mayPay(ctx context.Context, in *ClaimRequest, b *Bounty, client string) error {
	chain, err := wallet.ParseChainID(b.Network)
	if err != nil {
		return err
	}
	who, err := wallet.NewAccount(chain, in.Payer)
	if err != nil {
		return route.Invalid(problem.Field{Field: "payer", Problem: "is not an address of " + b.Network +
			", where the door is paid"})
	}
	in.Payer = who.Address
	if err := d.notOwn(in.Payer); err != nil {
		return err
	}
	if !isTransaction(chain.Namespace, in.TxHash) {
		return route.Invalid(problem.Field{Field: "tx_hash", Problem: "is not the hash of a transaction on " +
			b.Network})
	}
	if spelled(in.Payer) == spelled(b.PayTo) {
		return route.Invalid(problem.Field{Field: "payer", Problem: "is who the door pays to: nobody is rewarded for " +
			"paying himself"})
	}
	own := chain.Namespace == wallet.NamespaceEVM && strings.EqualFold(in.Payer, in.PayoutTo)
	if own && in.Report == nil {
		return nil
	}
	text := d.PayoutText(b.ID, in.TxHash, in.PayoutTo)
	if in.Signature == "" {
		why := "payout_to is not the payer"
		if own {
			why = "report is published as the payer's word"
		}
		return &problem.Error{Code: "invalid_input", Fields: []problem.Field{{Field: "payer_signature",
			Problem: "is required, because " + why}},
			Detail: "Nothing was taken: a transaction is public, and whoever reads it could claim. The wallet that " +
				"paid has to say that the reward goes to another address, and that the report is its own.",
			Extra: map[string]any{"text_to_sign": text},
			Next: "Sign text_to_sign with the paying wallet and send the claim again with payer_signature; or name " +
				"the payer as payout_to and leave the report out."}
	}
	_, why, err := d.cfg.Wallets.ProveText(ctx, b.Network+":"+in.Payer, in.Signature, text, client)
	if err != nil {
		return &problem.Error{Code: "identity_unavailable", Retry: 30 * time.Second, Err: err,
			Detail: "Nothing was taken: whether the paying wallet signed cannot be found out at the moment.",
			Next:   "Send the same claim again after the time in Retry-After."}
	}
	if why != "" {
		return &problem.Error{Code: "claim_signature_invalid", Extra: map[string]any{"text_to_sign": text},
			Detail: "Nothing was taken: payer_signature does not hold: " + why + ".",
			Next:   "Sign text_to_sign, exactly as it stands, with the wallet that paid the door."}
	}
	return nil
}

// isTransaction reports whether a text names a transaction on the networks of a namespace.
func isTransaction(namespace, tx string) bool {
	if namespace == wallet.NamespaceEVM {
		return txForm.MatchString(spelledTx(tx))
	}
	raw, err := wallet.DecodeBase58(tx)
	return err == nil && len(raw) == 64
}

// PayoutText is what a payer signs whose reward of a bounty is to go to another address, or whose
// claim tells what the door answered.
func (d *Service) PayoutText(id, tx, to string) string {
	return fmt.Sprintf("%s: pay the reward of my purchase to another address.\n\nBounty: %s\nTransaction: %s\nPay to: "+
		"%s", d.host, id, spelledTx(tx), strings.ToLower(to))
}

// judge reads the settlement from its chain and compares it with the bounty.
func (d *Service) judge(ctx context.Context, in *ClaimRequest, b *Bounty) (rail.Settled, error) {
	var settled rail.Settled
	err := d.cfg.DB.View(ctx, func(tx ledger.Tx) error { return unclaimed(tx, b.Network, spelledTx(in.TxHash)) })
	if err != nil {
		return settled, down(err)
	}
	settled, err = d.settled(ctx, &b.Door, rail.Settlement{Tx: spelledTx(in.TxHash), Payer: in.Payer, PayTo: b.PayTo,
		Amount: big.NewInt(b.Amount)})
	if err == nil && settled.Block <= b.OpenedBlock {
		return settled, refuse("settlement_predates", fmt.Sprintf("The settlement is in block %d, and the bounty was "+
			"posted at block %d.", settled.Block, b.OpenedBlock), "A purchase counts that was made after the bounty "+
			"was posted.")
	}
	return settled, err
}

// settled reads what settled a purchase at a door from its chain. Errors are *problem.Error.
func (d *Service) settled(ctx context.Context, b *Door, of rail.Settlement) (settled rail.Settled, err error) {
	r, ok := d.nets[b.Network].(rail.Settlements)
	if !ok || !strings.EqualFold(d.nets[b.Network].Info().Asset, b.Asset) {
		return settled, unread(b.Network, errors.New("it is not configured, or in another asset"))
	}
	if err := d.cfg.Ready(ctx, b.Network); err != nil {
		return settled, unread(b.Network, err)
	}
	settled, err = r.Settled(ctx, of)
	switch {
	case errors.Is(err, rail.ErrNotFinal):
		return settled, &problem.Error{Code: "settlement_not_final", Retry: time.Minute,
			Detail: "Nothing was taken: no final block of " + b.Network + " has this transaction yet.",
			Next: "If it was sent, wait for finality, up to twenty minutes on some networks, and send the same " +
				"again."}
	case errors.Is(err, rail.ErrReverted):
		return settled, refuse("transfer_failed", "The transaction is in a block and failed: it moved no money.",
			"Buy at the door, and send the transaction that settled the purchase.")
	case errors.Is(err, rail.ErrOtherPayment):
		return settled, refuse("settlement_mismatch", fmt.Sprintf("The transaction is no settlement, by this payer, "+
			"of exactly %s atomic units of %s to %s on %s.", of.Amount, b.Asset, b.PayTo, b.Network),
			"Compare the transaction with the door's terms: network, asset, payTo, amount. A plain transfer is no "+
				"settlement: the payer's authorization has to be used.")
	case err != nil:
		return settled, unread(b.Network, err)
	}
	return settled, nil
}

// unclaimed refuses a settlement that was paid out for.
func unclaimed(tx ledger.Tx, network, transaction string) error {
	if paid, err := ledger.Has(tx, settledKey(network, transaction)); err != nil || !paid {
		return err
	}
	return refuse("already_claimed", "This settlement was claimed or told of already; each counts once.",
		"Send the transaction of another purchase.")
}

// screened refuses addresses that nothing is paid to, and all of them while that is not known.
func (d *Service) screened(addresses ...string) error {
	listed, err := d.cfg.Screen.Listed(addresses...)
	if err != nil {
		return &problem.Error{Code: "screen_unavailable", Retry: 5 * time.Minute, Err: err,
			Detail: "Nothing was taken: the list of addresses that nothing is paid to cannot be read at the moment, " +
				"and without it nothing is paid.",
			Next: "Send the same claim again later, before the bounty expires. The keeper has been told."}
	}
	if listed {
		return refuse("screened", "The payer or payout_to is on a list of addresses that this store pays nothing to.",
			"Nothing was taken from the bounty. If you hold this to be a mistake, write to the keeper: POST "+
				d.cfg.BaseURL+"/api/letter.")
	}
	return nil
}

// take takes everything that a claim needs, or nothing: the bounty, the settlement, the domain's
// place in the week and the week's budget; and signs what it pays.
func (d *Service) take(tx ledger.Tx, out *Bounty, in ClaimRequest, settled rail.Settled) error {
	b, err := bountyOf(tx, out.ID)
	if err != nil {
		return err
	}
	now := tx.Now().UTC().Truncate(time.Second)
	week := record.ISOWeek(now)
	if err := mayClaim(&b, now); err != nil {
		return err
	}
	if err := unclaimed(tx, b.Network, settled.Tx); err != nil {
		return err
	}
	if err := takeWeek(tx, &b, week, now); err != nil {
		return err
	}
	b.Claim = &Claim{Tx: settled.Tx, Payer: in.Payer, PayoutTo: in.PayoutTo, At: now, Said: in.Said,
		Report: in.Report.claim()}
	err = feed.Observe(tx, record.Observation{Kind: record.ObservationPaidWalk,
		Walk: walkOf(&b, settled.Tx, b.Claim.Report)})
	if err != nil {
		return err
	}
	if b.Claim.Observation, err = ledger.Last(tx, feed.Counter); err != nil {
		return err
	}
	if err := d.sign(&b, now); err != nil {
		return err
	}
	*out = b
	return errors.Join(ledger.SetJSON(tx, postedKey(b.ID), b), tx.Set(heldKey(b.ID), nil),
		tx.Set(settledKey(b.Network, settled.Tx), []byte(b.ID)))
}

// takeWeek takes a bounty's part of what is paid in a week.
func takeWeek(tx ledger.Tx, b *Bounty, week string, now time.Time) error {
	reopens := monday(now).AddDate(0, 0, 7)
	refused := func(code, detail string) error {
		return &problem.Error{Code: code, Status: http.StatusConflict, Retry: reopens.Sub(now),
			Detail: "Nothing was taken: " + detail, Extra: map[string]any{"again_at": reopens.Format(time.RFC3339)},
			Next: "The week ends at " + reopens.Format(time.RFC3339) + ". A bounty that is open then may be claimed " +
				"with the same settlement; this one is open until " + b.Expires.Format(time.RFC3339) + "."}
	}
	switch _, err := tx.Get(domainKey(week, b.Domain)); {
	case err == nil:
		return refused("domain_paid_this_week", "a bounty of "+b.Domain+" was paid in "+week+", and there is one a "+
			"week for a domain.")
	case !errors.Is(err, ledger.ErrNotFound):
		return err
	}
	spent, err := spentIn(tx, week)
	if err != nil {
		return err
	}
	if spent+b.Reward > WeeklyBudget {
		return refused("budget_spent", fmt.Sprintf("of the %s USDC that are paid out in a week, %s are left.",
			content.FormatUSDC(WeeklyBudget), content.FormatUSDC(WeeklyBudget-spent)))
	}
	return errors.Join(tx.Set(domainKey(week, b.Domain), []byte(b.ID)),
		ledger.SetCount(tx, spentKey(week), spent+b.Reward))
}

// spentIn is what was paid out in a week.
func spentIn(tx ledger.Tx, week string) (int64, error) { return ledger.Count(tx, spentKey(week)) }

// monday is the beginning of a time's ISO week.
func monday(t time.Time) time.Time {
	day := t.UTC().Truncate(24 * time.Hour)
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}

// claim is what a claimant says of the answer, as the record has it; nil for nothing.
func (p *Report) claim() *record.WalkClaim {
	if p == nil || p.Status == 0 { // that is no outcome
		return nil
	}
	return &record.WalkClaim{Status: p.Status, BodySHA256: p.BodySHA256, Bytes: p.Bytes, LatencyMS: p.LatencyMS,
		ContentType: record.ContentType(p.ContentType)}
}

// walkOf is the paid walk that a claim becomes.
func walkOf(b *Bounty, tx string, claim *record.WalkClaim) *record.PaidWalk {
	return &record.PaidWalk{Host: b.Host, URL: b.URL, Network: b.Network, Transaction: tx,
		USDC: content.FormatUSDC(b.Amount), Claim: claim, By: record.BoughtByStranger}
}
