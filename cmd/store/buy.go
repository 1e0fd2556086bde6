package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/buyer"
)

// buyFlags are the flags of store buy.
type buyFlags struct {
	wallets                                                   []string
	rpc, journal, ceiling, network, amount, protocol, out, ca string
	scheme                                                    string
	nodes                                                     map[string]string
	hold                                                      time.Duration
	fee                                                       int64
	yes, again, resume, json                                  bool
}

// runBuy shows a door's terms, asks, and buys.
func runBuy(ctx context.Context, c *call) error {
	var f buyFlags
	c.flags.Func("wallet", "file (0600) with the key of the wallet that pays: 32 bytes of hex on EVM networks, or the "+
		"list of 64 numbers that solana-keygen writes; may be given once for each. Without one the terms are shown "+
		"and nothing is bought", func(file string) error {
		f.wallets = append(f.wallets, file)
		return nil
	})
	c.flags.StringVar(&f.rpc, "solana-rpc", "", "node of Solana (URL) that is asked for a recent blockhash where a "+
		"door gives none")
	c.flags.StringVar(&f.journal, "journal", filepath.Join("var", "purchases"),
		"folder in which purchases are journalled before they are signed for")
	c.flags.StringVar(&f.ceiling, "max", "1", "the most that may be paid, in USDC")
	c.flags.StringVar(&f.network, "network", "", "pay on this network (CAIP-2) only")
	c.flags.StringVar(&f.amount, "amount", "", "pay exactly this amount in USDC, where a door offers several")
	c.flags.StringVar(&f.protocol, "protocol", buyer.ByX402, "pay by this protocol: "+buyer.ByX402+", or "+buyer.ByMPP+
		" (evm/charge, usdc/charge)")
	c.flags.StringVar(&f.scheme, "scheme", "", "pay by this scheme of x402: "+strings.Join(buyer.Schemes(), ", ")+
		"; without it the first of them that the door takes")
	f.nodes = map[string]string{}
	c.flags.Func("rpc", "NETWORK=URL: node of an EVM network, from which channels and holds are read and to which "+
		"their calls are sent; may be given once for each network", func(s string) error {
		network, url, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("it is not NETWORK=URL, such as eip155:8453=https://node.example")
		}
		f.nodes[network] = url
		return nil
	})
	c.flags.DurationVar(&f.hold, "hold", 8*24*time.Hour, "the longest that an escrow may hold a payment before it can "+
		"be reclaimed; 0 pays nothing that is held")
	c.flags.Int64Var(&f.fee, "hold-fee", 0, "the most of a payment that is held that may be a fee, in hundredths of a "+
		"percent")
	c.flags.BoolVar(&f.again, "again", false, "buy it once more, where the same was bought within minutes: without it "+
		"the door gives the earlier answer again and charges nothing")
	c.flags.BoolVar(&f.yes, "yes", false, "do not ask")
	c.flags.BoolVar(&f.resume, "resume", false, "finish purchases that were cut short, before anything else; with no "+
		"URL do only that")
	c.flags.BoolVar(&f.json, "json", false, "print JSON; implies that nobody is asked, so --yes is needed to pay")
	c.flags.StringVar(&f.ca, "ca", "", "PEM file of certificates that doors are trusted by beside the system's, such "+
		"as the one that store key tls makes")
	c.flags.StringVar(&f.out, "out", "", "write what was bought to this file")
	if err := c.parse(0, 2); err != nil {
		return err
	}
	if is, err := c.escrow(ctx, &f); is {
		return err
	}
	if c.flags.NArg() > 1 {
		c.flags.Usage()
		return errUsage
	}
	if c.flags.NArg() == 0 && !f.resume {
		c.flags.Usage()
		return errUsage
	}
	cfg, opts, err := f.buyer()
	if err != nil {
		return err
	}
	cfg.Log = c.logger
	b, err := buyer.New(cfg)
	if err != nil {
		return err
	}
	if f.resume {
		results, err := b.Resume(ctx)
		for _, r := range results {
			if err := c.show(r, f.json); err != nil {
				return err
			}
		}
		if err != nil || c.flags.NArg() == 0 {
			return err
		}
	}
	target := c.flags.Arg(0)
	terms, err := b.Terms(ctx, target, opts)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w\nhint: where the door is your own, or you know its CA, "+
			"name that certificate with -ca FILE", err)
	}
	if err != nil {
		return err
	}
	if pay, err := c.agree(f, target, terms, opts.Choice); err != nil || !pay {
		return err
	}
	opts.Agreed = terms
	result, err := b.Buy(ctx, target, opts)
	if result != nil {
		if f.out != "" && len(result.Body) > 0 {
			if werr := os.WriteFile(f.out, result.Body, 0o600); werr != nil {
				return errors.Join(err, werr)
			}
		}
		if serr := c.show(result, f.json); serr != nil {
			return errors.Join(err, serr)
		}
	}
	return err
}

// buyer is what the flags say of the buyer and of the purchase.
func (f *buyFlags) buyer() (cfg buyer.Config, opts buyer.Options, err error) {
	cfg.Journal, opts.Choice.Network, cfg.SolanaRPC = buyer.Folder(f.journal), f.network, f.rpc
	switch f.protocol {
	case buyer.ByX402:
	case buyer.ByMPP:
		opts.Choice.Protocol = f.protocol
	default:
		return cfg, opts, because(errUsage, "-protocol: %q is neither %s nor %s", f.protocol, buyer.ByX402, buyer.ByMPP)
	}
	if f.scheme != "" && !slices.Contains(buyer.Schemes(), f.scheme) {
		return cfg, opts, because(errUsage, "-scheme: %q is none of %s", f.scheme, strings.Join(buyer.Schemes(), ", "))
	}
	opts.Choice.Scheme, cfg.Nodes = f.scheme, f.nodes
	cfg.Hold = buyer.HoldLimits{Longest: f.hold, FeeBps: f.fee}
	if cfg.Ceiling, err = content.ParseUSDC(f.ceiling); err != nil {
		return cfg, opts, because(errUsage, "-max: %w", err)
	}
	if f.again {
		opts.IdempotencyKey = rand.Text()
	}
	if f.ca != "" {
		if cfg.Roots, err = withRoots(f.ca); err != nil {
			return cfg, opts, fmt.Errorf("-ca: %w", err)
		}
	}
	for _, file := range f.wallets {
		err := cfg.AddWallet(file)
		if errors.Is(err, buyer.ErrSecondWallet) {
			err = because(errUsage, "-wallet: %w", err)
		}
		if err != nil {
			return cfg, opts, err
		}
	}
	if f.amount != "" {
		if opts.Choice.Amount, err = content.ParseUSDC(f.amount); err != nil {
			return cfg, opts, because(errUsage, "-amount: %w", err)
		}
	}
	return cfg, opts, nil
}

// withRoots are the system's certificates of CAs and those of a file.
func withRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return roots, nil
}

// agree shows the terms and reports whether they are to be paid.
func (c *call) agree(f buyFlags, target string, terms *buyer.Terms, choice buyer.Choice) (bool, error) {
	look := len(f.wallets) == 0 || !f.yes // nothing is bought where nobody can be asked
	switch {
	case !f.json:
		fmt.Fprint(c.stdout, terms.Text())
	case look || terms.Free || terms.Chosen < 0:
		if err := json.NewEncoder(c.stdout).Encode(terms); err != nil || look {
			return false, err
		}
	}
	if terms.Free {
		return false, nil
	}
	// Who only looks is told what a choice of theirs leaves nothing of; a price is theirs to read.
	if terms.Chosen < 0 && (len(f.wallets) > 0 || choice != (buyer.Choice{})) {
		return false, because(errNo, "%s", hintFor(target, terms, choice))
	}
	if len(f.wallets) == 0 {
		fmt.Fprintln(c.stdout, "Nothing was bought: name a wallet with -wallet FILE.")
		return false, nil
	}
	if f.yes {
		return true, nil
	}
	ok, err := c.ask("Pay this? [y/N] ")
	if err == nil && !ok {
		fmt.Fprintln(c.stdout, "Nothing was signed.")
		err = errNo
	}
	return ok, err
}

// hintFor is what to do where nothing can be paid: the flag that leaves nothing over is the one to
// change. Why that is stands in the terms, which were shown.
func hintFor(target string, terms *buyer.Terms, choice buyer.Choice) string {
	host := target
	if u, err := url.Parse(target); err == nil {
		host = u.Host
	}
	var networks, amounts []string
	fits, unable := false, false
	for _, e := range terms.Entries {
		if !slices.Contains(networks, e.Network) {
			networks = append(networks, e.Network)
		}
		if choice.Network != "" && e.Network != choice.Network {
			continue
		}
		if choice.Scheme != "" && e.Scheme != choice.Scheme {
			continue
		}
		fits, unable = true, unable || e.Unable
		if usdc := content.FormatUSDC(e.Atomic); e.Atomic > 0 && !slices.Contains(amounts, usdc) {
			amounts = append(amounts, usdc)
		}
	}
	hint := "raise -max if the price is what you expect"
	switch {
	case choice.Scheme != "" && !fits:
		hint = fmt.Sprintf("it takes nothing by -scheme %s; leave that out", choice.Scheme)
	case choice.Network != "" && !fits:
		hint = fmt.Sprintf("it takes nothing on -network %s; leave that out, or name one of: %q", choice.Network,
			networks)
	case choice.Amount != 0 && !slices.Contains(amounts, content.FormatUSDC(choice.Amount)):
		hint = fmt.Sprintf("it does not ask for -amount %s; leave that out, or name one of: %s",
			content.FormatUSDC(choice.Amount), strings.Join(amounts, ", "))
	case unable:
		hint = "give what is lacking: -wallet for the other kind of network, -rpc for vouchers, -solana-rpc, or " +
			"a longer -hold"
	}
	return fmt.Sprintf("nothing that %q asks for can be paid: the terms say why\nhint: %s", host, hint)
}

// ask asks a person. Without a terminal the answer is an error that says what to do.
func (c *call) ask(question string) (bool, error) {
	if !isTerminal(os.Stdin) {
		return false, errors.New("there is nobody to ask: read the terms above and add --yes to pay them")
	}
	fmt.Fprint(c.stdout, question)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// show prints what came of a purchase.
func (c *call) show(r *buyer.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(c.stdout).Encode(r)
	}
	line := c.line
	line("Answer", fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)))
	switch {
	case r.Free:
	case r.Replay && r.Billed == "no":
		line("Billed", "no: this is the answer of an earlier purchase; -again buys it once more")
		line("Journal", r.Journal)
	default:
		line("Billed", r.Billed)
		paid := r.Amount
		if r.Voucher != nil && r.State == buyer.Delivered {
			paid = r.Voucher.Charged
		}
		line("Paid", fmt.Sprintf("%s USDC on %s", content.FormatUSDC(paid), r.Network))
		line("Transaction", r.Transaction)
		if v := r.Voucher; v != nil {
			line("Channel", v.Channel)
			if v.Deposit > 0 {
				line("Deposited", content.FormatUSDC(v.Deposit)+
					" USDC; what is not spent comes back by store buy refund")
			}
		}
		if r.Hold != nil {
			line("Held", "until "+r.Hold.Reclaim.Format(time.RFC3339)+"; from then on: store buy reclaim "+
				r.Hold.Purchase)
		}
		line("Journal", r.Journal)
	}
	for _, w := range r.Warnings {
		line("Warning", fmt.Sprintf("%q", w))
	}
	// JSON escapes what could move a terminal's cursor; anything else is only counted.
	var pretty bytes.Buffer
	if json.Valid(r.Body) && json.Indent(&pretty, r.Body, "", "  ") == nil {
		fmt.Fprintln(c.stdout, pretty.String())
	} else {
		line("Body", fmt.Sprintf("%d bytes of %q: use -out FILE to keep it", len(r.Body), r.ContentType))
	}
	return nil
}
