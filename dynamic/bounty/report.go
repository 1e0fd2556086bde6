package bounty

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
)

// A purchase may be told of without a bounty, by its seller or anybody: it becomes a paid walk.
// The payer signs what is told, the door is asked for its terms, each transaction is read on its
// network as for a claim. What such walks say of the door is their walkers' word, is counted apart
// from the store's own purchases, and lifts nothing where the seller is the walker.
//
//	bounty/reported/<tx>                 what was told with a transaction, and the observation
//	bounty/week/<week>/reports/<domain>  how many walks of a domain were told of; /reports of all

// The bounds of what is told, so that nobody can fill the record.
const (
	maxReportsOfDomain = 10 // an ISO week
	maxReports         = 200
	// reportAge is how old a purchase may be.
	reportAge = 7 * 24 * time.Hour
)

// Reported is the answer to a report that was taken.
type Reported struct {
	Observation string   `json:"observation_id"`
	By          string   `json:"by"`
	Verified    []string `json:"what_was_verified"`
	NotVerified []string `json:"what_was_not"`
	SeriesURL   string   `json:"series_url"`
}

// reported is a report that was taken.
type reported struct {
	Sum         string           `json:"sum"` // of what was signed
	Observation int64            `json:"observation"`
	Walk        *record.PaidWalk `json:"walk"`
}

func reportedKey(tx string) []byte { return ledger.BountyKey("reported", tx) }

func reportsKey(week string, of ...string) []byte {
	return ledger.BountyKey(append([]string{"week", week, "reports"}, of...)...)
}

// postReport answers POST /api/purchase-report.
func (d *Service) postReport(w http.ResponseWriter, r *http.Request) error {
	in, err := route.ReadJSON[buyer.PurchaseReport](r, false)
	if err != nil {
		return err
	}
	out, err := d.Report(r.Context(), in, route.Client(r))
	if err != nil {
		return err
	}
	return route.JSON(w, out)
}

// Report judges what is told of a purchase, and puts it on the record. client is whom what judging
// takes is counted on. The same report again gets the same answer. Refusals are *problem.Error.
func (d *Service) Report(ctx context.Context, in buyer.PurchaseReport, client string) (Reported, error) {
	in.TxHash, in.SecondTx = spelledTx(in.TxHash), spelledTx(in.SecondTx)
	if err := checkReport(&in); err != nil {
		return Reported{}, err
	}
	sum := attest.Digest(sha256.Sum256([]byte(in.Text(d.host)))).String()
	if err := d.signedBy(ctx, &in, client); err != nil {
		return Reported{}, err
	}
	done := reported{Sum: sum}
	var found bool
	err := d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		var before reported
		if before, found, err = ledger.FindJSON[reported](tx, reportedKey(in.TxHash)); found && before.Sum == sum {
			done = before
			return err
		}
		found = false
		if err = errors.Join(err, d.uncredited(tx, &in)); err != nil {
			return err
		}
		// The door is named as it will be but for port and case: what is beyond the week costs no
		// look at it.
		door, err := url.Parse(in.URL)
		if err != nil {
			return route.Invalid(problem.Field{Field: "url", Problem: "is no address"})
		}
		_, err = roomFor(tx, strings.ToLower(door.Hostname()))
		return err
	})
	if err != nil || found {
		return d.reported(done), down(err)
	}
	if done.Walk, err = d.readReport(ctx, &in); err != nil {
		return Reported{}, err
	}
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return d.keepReport(tx, &in, &done) })
	return d.reported(done), down(err)
}

// checkReport finds what is wrong with a report whatever it is of.
func checkReport(in *buyer.PurchaseReport) error {
	var bad []problem.Field
	is := func(ok bool, field, what string) {
		if !ok {
			bad = append(bad, problem.Field{Field: field, Problem: what})
		}
	}
	chain, err := wallet.ParseChainID(in.Network)
	is(err == nil, "network", "is no network as CAIP-2 names it")
	is(strings.HasPrefix(in.URL, "https://") && !strings.ContainsAny(in.URL, "?#\r\n") && len(in.URL) <= 2048, "url",
		"is no address over https, without a query, of at most 2048 characters")
	is(in.By == record.BoughtBySeller || in.By == record.BoughtByStranger, "by", "is neither seller nor stranger")
	is(err == nil && isTransaction(chain.Namespace, in.TxHash), "tx_hash", "is not the hash of a transaction there")
	is(in.Payer != "" && len(in.Payer) <= 64, "payer", "is not an address")
	is(len(in.Signature) <= 9000, "payer_signature", "is longer than 9000 characters")
	is(in.Status == 0 || in.Status >= 100 && in.Status <= 599, "status", "is no status of HTTP")
	is(in.Status != 0 || in.BodySHA256+in.ContentType == "" && in.Bytes == 0, "status",
		"is 0, which says that no answer came, beside what an answer held")
	is(in.BodySHA256 == "" || hashForm.MatchString(in.BodySHA256), "body_sha256", "is not 64 lower-case hex digits")
	is(in.Bytes >= 0 && in.Bytes <= attest.MaxInteger, "bytes", "is no number of bytes")
	is(in.LatencyMS >= 0 && in.LatencyMS <= attest.MaxInteger, "latency_ms", "is no number of milliseconds")
	is(in.ContentType == record.ContentType(in.ContentType), "content_type",
		"is no type and subtype in lower case, without parameters")
	switch in.ChargedTwice {
	case record.ChargedYes:
		is(err == nil && isTransaction(chain.Namespace, in.SecondTx) && in.SecondTx != in.TxHash, "second_tx_hash",
			"is not the hash of another transaction there")
	case "", record.ChargedNo:
		is(in.SecondTx == "", "second_tx_hash", "goes with charged_twice yes")
	default:
		is(false, "charged_twice", "is neither yes nor no")
	}
	if bad == nil {
		return nil
	}
	return route.Invalid(bad...)
}

// signedBy demands that the payer signed the report.
func (d *Service) signedBy(ctx context.Context, in *buyer.PurchaseReport, client string) error {
	chain, err := wallet.ParseChainID(in.Network)
	if err != nil {
		return err
	}
	who, err := wallet.NewAccount(chain, in.Payer)
	if err != nil {
		return route.Invalid(problem.Field{Field: "payer", Problem: "is not an address of " + in.Network})
	}
	if err := d.notOwn(who.Address); err != nil {
		return err
	}
	text := in.Text(d.host)
	if in.Signature == "" {
		return &problem.Error{Code: "invalid_input", Fields: []problem.Field{{Field: "payer_signature",
			Problem: "is required"}}, Extra: map[string]any{"text_to_sign": text},
			Detail: "Nothing was taken: a transaction is public, and whoever reads it could tell of it. The wallet " +
				"that paid has to say what is told.",
			Next: "Sign text_to_sign with the paying wallet and send the report again with payer_signature."}
	}
	_, why, err := d.cfg.Wallets.ProveText(ctx, in.Network+":"+who.Address, in.Signature, text, client)
	if err != nil {
		return &problem.Error{Code: "identity_unavailable", Retry: 30 * time.Second, Err: err,
			Detail: "Nothing was taken: whether the paying wallet signed cannot be found out at the moment.",
			Next:   "Send the same report again after the time in Retry-After."}
	}
	if why != "" {
		return &problem.Error{Code: "claim_signature_invalid", Extra: map[string]any{"text_to_sign": text},
			Detail: "Nothing was taken: payer_signature does not hold: " + why + ".",
			Next:   "Sign text_to_sign, exactly as it stands, with the wallet that paid the door."}
	}
	in.Payer = who.Address
	return nil
}

// transactions are those of a report.
func transactions(in *buyer.PurchaseReport) []string {
	if in.SecondTx == "" {
		return []string{in.TxHash}
	}
	return []string{in.TxHash, in.SecondTx}
}

// uncredited refuses transactions that are credited already.
func (d *Service) uncredited(tx ledger.Tx, in *buyer.PurchaseReport) error {
	for _, one := range transactions(in) {
		if err := unclaimed(tx, in.Network, one); err != nil {
			return err
		}
	}
	return nil
}

// readReport asks the door for its terms and the network for the transactions, and gives the walk
// that they are.
func (d *Service) readReport(ctx context.Context, in *buyer.PurchaseReport) (*record.PaidWalk, error) {
	door, err := d.cfg.Read(ctx, in.URL)
	if unread, is := errors.AsType[*goods.Unread](err); is {
		return nil, &problem.Error{Code: unread.Code, Detail: "Nothing was taken: " + lower(unread.Detail),
			Next: "The door is asked for its terms, so that the transaction can be compared with them. Send the same " +
				"report again once it can be read."}
	}
	if err != nil {
		return nil, &problem.Error{Code: "not_read", Err: err, Detail: "Nothing was taken: the door could not be read.",
			Next: "Send the same report again once it can be."}
	}
	if door.Network != in.Network || strings.EqualFold(in.Payer, door.PayTo) {
		return nil, refuse("settlement_mismatch", "The door asks for a payment on "+door.Network+" to "+door.PayTo+
			", and the report is of one on "+in.Network+" by "+in.Payer+".", "Tell of a purchase by another wallet "+
			"than the one that the door pays to, on the network that the door asks for first.")
	}
	for _, one := range transactions(in) {
		settled, err := d.settled(ctx, &door, rail.Settlement{Tx: one, Payer: in.Payer, PayTo: door.PayTo,
			Amount: big.NewInt(door.Amount)})
		if err != nil {
			return nil, err
		}
		if time.Since(settled.Time) > reportAge {
			return nil, refuse("settlement_mismatch", "The purchase is more than seven days old.",
				"Tell of a purchase of this week.")
		}
	}
	return &record.PaidWalk{Host: door.Host, URL: door.URL, Network: door.Network, Transaction: in.TxHash,
		USDC: content.FormatUSDC(door.Amount), By: in.By, ChargedTwice: in.ChargedTwice, Second: in.SecondTx,
		Claim: &record.WalkClaim{Status: in.Status, BodySHA256: in.BodySHA256, Bytes: in.Bytes, LatencyMS: in.LatencyMS,
			ContentType: in.ContentType}}, nil
}

// keepReport puts a walk on the record, where its transactions are not there yet and the week has
// room for one more of its domain.
func (d *Service) keepReport(tx ledger.Tx, in *buyer.PurchaseReport, done *reported) error {
	if err := d.uncredited(tx, in); err != nil {
		return err
	}
	counts, err := roomFor(tx, done.Walk.Host)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if err := ledger.SetCount(tx, c.key, c.n+1); err != nil {
			return err
		}
	}
	err = feed.Observe(tx, record.Observation{Kind: record.ObservationPaidWalk, Walk: done.Walk})
	if err != nil {
		return err
	}
	if done.Observation, err = ledger.Last(tx, feed.Counter); err != nil {
		return err
	}
	name := fmt.Appendf(nil, "observation_%d", done.Observation)
	for _, one := range transactions(in) {
		err = errors.Join(err, tx.Set(settledKey(in.Network, one), name))
	}
	return errors.Join(err, ledger.SetJSON(tx, reportedKey(in.TxHash), done))
}

// reportCount is how many reports of a week there are, of all or of a domain.
type reportCount struct {
	key []byte
	n   int64
}

// roomFor are the counts of this week that a walk of a host is in. It is an error where one is
// full.
func roomFor(tx ledger.Tx, host string) (counts []reportCount, err error) {
	now := tx.Now().UTC()
	week := record.ISOWeek(now)
	for _, of := range []struct {
		key  []byte
		most int64
	}{{reportsKey(week, census.Registrable(host)), maxReportsOfDomain}, {reportsKey(week), maxReports}} {
		n, err := ledger.Count(tx, of.key)
		if err != nil {
			return nil, err
		}
		if n >= of.most {
			return nil, &problem.Error{Code: "budget_spent", Retry: monday(now).AddDate(0, 0, 7).Sub(now),
				Detail: fmt.Sprintf("Nothing was taken: %d purchases are told of in a week, %d of one domain.",
					maxReports, maxReportsOfDomain), Next: "Tell of a purchase of next week."}
		}
		counts = append(counts, reportCount{of.key, n})
	}
	return counts, nil
}

// reported is the answer to a report that was taken.
func (d *Service) reported(done reported) Reported {
	if done.Walk == nil {
		return Reported{}
	}
	w := done.Walk
	out := Reported{Observation: fmt.Sprintf("observation_%d", done.Observation), By: w.By,
		SeriesURL: d.cfg.BaseURL + "/corpus/purchases",
		Verified: []string{fmt.Sprintf("transaction %s is in a final block of %s, and moved %s USDC to whom the door "+
			"at %s asks to be paid", w.Transaction, w.Network, w.USDC, w.Host)},
		NotVerified: []string{"what the door answered, and who you are to it: that is your word, and published as " +
			"that"}}
	if w.Second != "" {
		out.Verified = append(out.Verified, "so did transaction "+w.Second)
		out.NotVerified = append(out.NotVerified, "that both are of one order")
	}
	return out
}
