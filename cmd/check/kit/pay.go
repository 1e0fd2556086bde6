package kit

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/drift"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/buyer"
)

// anyPurchase stands in -fail-on for every row of a purchase that failed.
const anyPurchase = "purchase"

// checkPay judges the flags of -pay together.
func (s *settings) checkPay(urls []string) (err error) {
	switch {
	case s.pay == "":
		for _, f := range []struct{ name, value string }{{"-rpc", s.rpc}, {"-pay-network", s.payNetwork},
			{"-pay-protocol", s.payProtocol}, {"-publish", s.publish}} {
			if f.value != "" {
				return fmt.Errorf("%s goes with -pay", f.name)
			}
		}
		return nil
	case s.payProtocol != "" && s.payProtocol != ByX402 && s.payProtocol != ByMPP:
		return fmt.Errorf("-pay-protocol %.20q: it takes %s or %s", s.payProtocol, ByX402, ByMPP)
	case len(urls) != 1:
		return errors.New("-pay takes one URL: each door costs money")
	}
	if s.max, err = parseUSD(s.maxUSD); err != nil {
		return err
	}
	if err := s.buyer.AddWallet(s.pay); err != nil {
		return fmt.Errorf("-pay: %w", err)
	}
	if s.buyer.RPC = s.rpc; s.buyer.Solana == nil {
		return nil
	}
	if s.rpc != "" || s.payProtocol == ByMPP {
		return errors.New("-pay: a wallet of Solana pays by x402, and its node is that of -solana-rpc")
	}
	s.buyer.RPC = s.solanaRPC
	return nil
}

var amountUSD = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})(?:\.([0-9]{1,6}))?$`)

// parseUSD reads dollars as atomic USDC.
func parseUSD(text string) (int64, error) {
	m := amountUSD.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("-max-usd %.20q: it takes dollars, such as 0.10, with at most six digits on either side",
			text)
	}
	n, err := strconv.ParseInt(m[1]+(m[2] + "000000")[:6], 10, 64)
	if err == nil && n == 0 {
		err = errors.New("-max-usd: nothing can be bought for nothing")
	}
	return n, err
}

// purchases buys at a door that was read. One whose reading says that nothing can be bought there
// is left alone by the buyer, who says why. What is published, and what became of that, is said to
// stderr.
func (s *settings) purchases(ctx context.Context, f *found, stderr io.Writer) error {
	cfg := s.buyer
	cfg.URL, cfg.Max, cfg.Network, cfg.Protocol = f.report.URL, s.max, s.payNetwork, s.payProtocol
	cfg.Journal, cfg.Header, cfg.Timeout, cfg.Transport = s.journal, s.headers, s.timeout, s.Transport
	if f.report.ProbeMethod.Used == http.MethodPost {
		cfg.Method, cfg.Body = http.MethodPost, []byte("{}")
		if s.body != nil {
			cfg.Body = s.body
		}
	}
	if s.ca != "" {
		roots, err := readRoots(s.ca)
		if err != nil {
			return err
		}
		cfg.Transport = &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	}
	var told *buyer.PurchaseReport
	if s.publish != "" {
		fmt.Fprintln(stderr, s.publishes(cfg.URL))
		cfg.Told = func(p *buyer.PurchaseReport) { told = p }
	}
	rows, err := RunPurchases(ctx, cfg)
	f.bought = rows
	if err != nil || s.publish == "" {
		return err
	}
	answer, err := s.tell(ctx, told)
	if err == nil {
		fmt.Fprintf(stderr, "-publish: taken: %s\n", answer)
	}
	return err
}

// badRows returns the names of rows that failed, or were kept from being made, and are among those
// of -fail-on.
func badRows(rows []Row, named []string) (bad []string) {
	for _, r := range rows {
		if r.State == probe.Fail && (slices.Contains(named, anyPurchase) || slices.Contains(named, r.Name)) ||
			r.State == probe.NotReached && r.BlockedBy != "" && slices.Contains(named, r.Name) {
			bad = append(bad, r.Name)
		}
	}
	return bad
}

// paidReport is what -json writes of a door at which something was bought, or whose host's
// declarations were compared with it.
type paidReport struct {
	probe.Report
	Purchase []Row         `json:"purchase,omitzero"`
	Drift    *drift.Report `json:"drift,omitzero"`
}

// shown is a report as -json writes it.
func (f found) shown() any {
	if f.bought == nil && f.drift == nil {
		return f.report
	}
	return paidReport{f.report, f.bought, f.drift}
}

// boughtText writes the rows of a purchase.
func boughtText(b *bytes.Buffer, rows []Row) {
	if len(rows) > 0 {
		b.WriteString("\n  bought:\n")
	}
	for _, r := range rows {
		switch {
		case r.State == probe.Fail:
			show(b, "  FAIL  %-24s %s\n        fix: %s\n", r.Name, r.Detail, r.Fix)
		case r.State == probe.Pass:
			show(b, "  pass  %-24s %s\n", r.Name, r.Detail)
		case r.BlockedBy != "":
			show(b, "  -     %-24s not reached: %s\n", r.Name, strings.TrimSpace(r.BlockedBy+": "+r.Detail))
		default:
			show(b, "  -     %-24s %s\n", r.Name, r.Detail)
		}
	}
}
