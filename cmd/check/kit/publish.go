package kit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/buyer"
)

// -publish tells a store of a purchase that -pay made, for the public record: one a run, and
// nothing of the request but its address without the query, nothing of the answer but its status,
// size, digest, media type and time.

// checkPublish judges -publish.
func (s *settings) checkPublish() error {
	if s.publish == "" {
		return nil
	}
	u, err := url.Parse(s.publish)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !s.local):
		return errors.New("-publish takes the https address of a store, such as https://store.example")
	}
	// The store's host stands in what is signed.
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	s.publish = u.Scheme + "://" + host
	return nil
}

// publishes is what is said before anything is bought.
func (s *settings) publishes(door string) string {
	return fmt.Sprintf("-publish: one purchase is told to %s, which puts it on its public record for good, as told "+
		"by the seller: the address %s, network, amount and transactions, from which everybody can read the paying "+
		"wallet; status, size, SHA-256, media type and time of the answer; and whether an order that was made again "+
		"was charged again. No query, no header and no body is told.", s.publish, bare(door))
}

// bare is an address without its query.
func bare(door string) string {
	u, err := url.Parse(door)
	if err != nil {
		return ""
	}
	u.RawQuery, u.Fragment, u.ForceQuery, u.User = "", "", false, nil
	return u.String()
}

// reportOf is what is told of a purchase, nil where no transaction of it is known.
func (r *run) reportOf(res *buyer.Result) *buyer.PurchaseReport {
	if res == nil || res.Transaction == "" || res.AnsweredAt.IsZero() {
		return nil
	}
	sum := sha256.Sum256(res.Body)
	return &buyer.PurchaseReport{URL: bare(r.URL), By: record.BoughtBySeller, Network: res.Network,
		TxHash: res.Transaction, Payer: res.Payer, Status: int64(res.Status), BodySHA256: hex.EncodeToString(sum[:]),
		Bytes: int64(len(res.Body)), LatencyMS: max(0, res.AnsweredAt.Sub(res.SignedAt).Milliseconds()),
		ContentType: record.ContentType(res.ContentType)}
}

// told chooses the purchase that is told of: an order that was charged twice, in transactions that
// are both named; else one that was made again and charged once; else the one without loss.
func (r *run) told(whole *buyer.Result, lost []*outcome) *buyer.PurchaseReport {
	best := r.reportOf(whole)
	for i, w := range ways {
		o := lost[i]
		if w.payments < 2 || o == nil || o.err != nil || len(o.payments) < 2 {
			continue
		}
		p, before := r.reportOf(o.res), transactionOf(o.first)
		switch state := r.state(w.name); {
		case p == nil:
		case state == probe.Fail && before != "" && before != p.TxHash:
			p.ChargedTwice, p.TxHash, p.SecondTx = record.ChargedYes, before, p.TxHash
			return p
		case state == probe.Pass && (before == p.TxHash || r.chain != nil):
			p.ChargedTwice, best = record.ChargedNo, p
		}
	}
	return best
}

// state is that of a row.
func (r *run) state(name string) probe.State {
	for _, row := range r.rows {
		if row.Name == name {
			return row.State
		}
	}
	return probe.NotReached
}

// How often and how long a store is told again whose network has not made a purchase final.
const (
	publishEvery = 15 * time.Second
	publishTries = 100
	// A store that cannot be reached is tried as often as this, for a minute.
	unreachedTries = 5
	// maxTold bounds what is read of what it answers.
	maxTold = 8 << 10
)

// tell signs a report and sends it to a store, until that has taken or refused it. It returns the
// answer as text. What was bought is not lost with a store that is away: the error has what was
// signed, which may be sent again as it stands.
func (s *settings) tell(ctx context.Context, p *buyer.PurchaseReport) (string, error) {
	if p == nil {
		return "", errors.New("-publish: nothing was told: no purchase was answered with its transaction")
	}
	p.Sign(strings.TrimPrefix(strings.TrimPrefix(s.publish, "https://"), "http://"), s.buyer.Wallet, s.buyer.Solana)
	body, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	to := s.publish + "/api/purchase-report"
	unread := func(err error) error {
		return fmt.Errorf("-publish: %w\n-publish: to tell it later, within seven days of the purchase, POST this "+
			"to %s: %s", err, to, body)
	}
	client, unreached := &http.Client{Timeout: time.Minute, Transport: s.Transport}, 0
	for range publishTries {
		status, retry, says, err := post(ctx, client, to, body)
		wait := publishEvery
		switch n, bad := strconv.Atoi(retry); {
		case err != nil:
			if unreached++; unreached == unreachedTries {
				return "", unread(err)
			}
		case status == http.StatusOK:
			return says, nil
		case status >= 500 && retry == "":
			return "", unread(fmt.Errorf("the store answered %d: %s", status, says))
		case status == http.StatusTooManyRequests:
			return "", unread(fmt.Errorf("the store answered %d, and takes it in %s seconds: %s", status,
				screen.Text(retry), says))
		case retry == "":
			return "", fmt.Errorf("-publish: the store answered %d: %s", status, says)
		case bad == nil:
			wait = min(wait, time.Duration(n)*time.Second)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", unread(ctx.Err())
		}
	}
	return "", unread(errors.New("the network did not make the purchase final in time"))
}

// post sends a report once. What the store says comes as it may be shown.
func post(ctx context.Context, client *http.Client, to string, body []byte) (status int, retry, says string,
	err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxTold))
	return resp.StatusCode, resp.Header.Get("Retry-After"), screen.Text(strings.TrimSpace(string(raw))), err
}
