package kit

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/drift"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"

	"store.example/agentstore/dynamic/rail"
)

// read judges the recording, or walks to each door in turn. What could be read is returned beside
// the error.
func (s *settings) read(ctx context.Context, urls []string, stderr io.Writer) ([]found, error) {
	if s.exchange != "" {
		f, err := s.rejudge(stderr)
		if err != nil {
			return nil, err
		}
		return []found{f}, nil
	}
	var doors []door
	for _, url := range urls {
		doors = append(doors, door{url, s.declared()})
	}
	host := strings.TrimSuffix(s.discoverHost, "/")
	switch {
	case host == "" || strings.Contains(host, "://"):
	case s.local:
		host = "http://" + host
	default:
		host = "https://" + host
	}
	if host != "" {
		urls = []string{host}
	}
	client, err := s.client(urls, 0)
	if err != nil {
		return nil, err
	}
	if s.drift {
		files, err := s.client(urls, drift.MaxDocument)
		if err != nil {
			return nil, err
		}
		s.files = &hostFiles{files, map[string][]exchange.Exchange{}}
	}
	if host != "" {
		if err := s.reachable(host); err != nil {
			return nil, fmt.Errorf("-discover %s: %w", host, err)
		}
		if doors, err = s.discover(ctx, client, host); err != nil {
			return nil, err
		}
	}
	var all []found
	var failed []error
	for _, d := range doors {
		f, err := s.readOne(ctx, client, d)
		if err == nil && host != "" && d.inputless(f.report) {
			err = errInputs
		}
		if refused, ok := errors.AsType[*fetch.Refusal](err); ok && refused.Code == fetch.CodeTarget && !s.local {
			err = fmt.Errorf("%w; hint: -local reads endpoints on this machine", err)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("reading %s: %w", d.url, err))
			continue
		}
		if s.pay != "" {
			err = s.purchases(ctx, &f, stderr)
		}
		all, failed = append(all, f), append(failed, err)
	}
	return all, errors.Join(failed...)
}

// rule is what requests may do beyond a plain GET over https.
func (s *settings) rule() fetch.Rule { return fetch.Rule{PlainHTTP: s.local} }

// reachable says why the host of a URL cannot be found as the flags have it.
func (s *settings) reachable(url string) (err error) {
	if s.local {
		_, _, err = s.localAddresses(url)
	}
	return err
}

func (s *settings) readOne(ctx context.Context, client *fetch.Client, d door) (found, error) {
	if err := s.reachable(d.url); err != nil {
		return found{}, err
	}
	// What cannot be brought into the form that is requested is refused by the walk, which says
	// why.
	url := cmp.Or(d.url, "-")
	if canonical, err := client.Parse(url, s.rule()); err == nil {
		url = canonical
	}
	checker, err := probe.NewPreflight(s.battery, url, d.declared)
	if err != nil {
		return found{}, err
	}
	if s.body != nil {
		checker.Sends(s.body)
	}
	nodes, err := s.nodes()
	if err != nil {
		return found{}, err
	}
	checker.ReadsAccounts(accounts.Reader{}, nodes.Networks()...)
	report, recording, err := fetch.Walk(ctx, client, checker, fetch.WalkStart{URL: d.url, PlainHTTP: s.local,
		PostBody: string(s.body), Nodes: nodes})
	f := found{report: report, private: recording.Private}
	if err == nil && s.drift {
		f.drift, err = s.compare(ctx, recording.Start, recording.Exchanges)
	}
	if err != nil || s.save == "" {
		return f, err
	}
	raw, err := recording.Encode()
	if err != nil {
		return found{}, err
	}
	if err := os.WriteFile(s.save, raw, 0o600); err != nil {
		return found{}, fmt.Errorf("saving the recording: %w", err)
	}
	return f, nil
}

// nodes are those that are asked for accounts: the seller's own, if there is one.
func (s *settings) nodes() (fetch.Nodes, error) {
	if s.solanaRPC == "" {
		return nil, nil
	}
	cluster, err := rail.NewNodes([]string{s.solanaRPC}, accounts.MaxAnswer)
	if err != nil {
		return nil, fmt.Errorf("-solana-rpc: %w", err)
	}
	return fetch.Nodes{networks.Solana: cluster.Raw}, nil
}

// rejudge judges a saved recording. The same file and battery give the same bytes on any day.
func (s *settings) rejudge(stderr io.Writer) (found, error) {
	raw, err := os.ReadFile(s.exchange)
	if err != nil {
		return found{}, fmt.Errorf("reading the recording: %w", err)
	}
	recording, err := fetch.DecodeRecording(raw)
	if err != nil {
		return found{}, err
	}
	checker, err := probe.NewPreflight(s.battery, recording.Start, s.declared())
	if err != nil {
		return found{}, err
	}
	if recording.Checker != checker.Name() {
		fmt.Fprintf(stderr, "recorded for %s, judged by %s: where the verdicts differ, the instrument moved and not "+
			"the door\n", recording.Checker, checker.Name())
	}
	checker.ReadsAccounts(accounts.Reader{})
	exchanges := recording.Exchanges[:min(len(recording.Exchanges), checker.MaxRequests())]
	report, err := probe.Replay(exchanges, checker)
	return found{report: report, private: recording.Private}, err
}

// client makes the guarded client. It is nobody's, so it signs nothing. Where it reads documents,
// most bounds their bytes, and what it reads is not kept.
func (s *settings) client(urls []string, most int64) (*fetch.Client, error) {
	cfg := fetch.Config{UserAgent: "store-check/1 (+" + s.contact + ")", Unsigned: true, Timeout: s.timeout,
		MaxBytes: most, Unrecorded: most > 0}
	if s.Reach != nil {
		s.Reach(&cfg)
	}
	if s.networks == "" && s.ports == "" && s.ca == "" && !s.local {
		return fetch.New(cfg)
	}
	cfg.Allow = &fetch.Allow{Header: s.headers}
	for w := range words(s.networks) {
		p, err := netip.ParsePrefix(w)
		if err != nil {
			return nil, fmt.Errorf("-allow-network: %w", err)
		}
		cfg.Allow.Networks = append(cfg.Allow.Networks, p)
	}
	for w := range words(s.ports) {
		n, err := strconv.ParseUint(w, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("-allow-port: %w", err)
		}
		cfg.Allow.Ports = append(cfg.Allow.Ports, uint16(n))
	}
	if s.ca != "" {
		var err error
		if cfg.Allow.Roots, err = readRoots(s.ca); err != nil {
			return nil, err
		}
	}
	if s.local {
		s.openLocal(&cfg, urls)
	}
	return fetch.New(cfg)
}

func readRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-ca: %s holds no certificate", file)
	}
	return roots, nil
}
