// Package kit is the command line of the seller's kit, which the binary check and the verb store
// check share: a battery run on live doors or on a saved recording, as text, JSON, SARIF or JUnit,
// with an exit code for a build. It judges with corpus/probe alone, so it says what the store says;
// it needs no store, no key and, for a recording, no network. Where it is given a wallet it also
// buys, as purchase.go says.
package kit

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/cmd/args"

	"store.example/agentstore/corpus/drift"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

// The exit codes. None hides another: what was found is told also where something else could not be
// found out.
const (
	ExitFine    = 0
	ExitTrouble = 1 // it could not be found out
	ExitUsage   = 2
	ExitFound   = 3 // something that -fail-on names was found
	ExitBoth    = 4 // found, and of another door it could not be found out
	ExitDrift   = 5 // nothing was found but declarations that contradict their doors
)

const usage = `usage: %s [flags] URL…
       %[1]s [flags] -discover HOST
       %[1]s [flags] -exchange FILE

Reads each URL as a buyer would request it, pays nothing unless -pay names a wallet, and judges the answer by a
battery of checks.

`

const exits = `
Exit codes: 0 nothing that -fail-on names; 1 it could not be found out; 2 called wrongly; 3 found;
4 found, and of another door it could not be found out; 5 nothing found but declarations that contradict
their doors.
`

// page is where the batteries are explained.
const page = "https://store.example/try"

// Program is the command as somebody has it run.
type Program struct {
	Name string // how it was called
	// Reach is another way to what is read, and Transport to what is bought at and told of that, as
	// tests have it; nil is the machine's own.
	Reach     func(*fetch.Config)
	Transport http.RoundTripper
}

// settings are the flags.
type settings struct {
	Program
	asking
	paying
	told

	body  []byte         // of -data
	buyer PurchaseConfig // wallet and node of -pay
	max   int64          // of -max-usd, in atomic USDC

	named []string // of -fail-on
	find  findings
	base  map[string]paidReport // nil without a baseline
	files *hostFiles            // of -drift
}

// asking is what is asked and how.
type asking struct {
	battery, exchange, discoverHost, method, data string
	contact, networks, ports, ca                  string
	headers                                       http.Header
	timeout                                       time.Duration
	hostsFile                                     string
	local, drift                                  bool
	facilitators                                  []string
}

// paying is how a purchase is made, where one is.
type paying struct {
	pay, maxUSD, rpc, payNetwork, payProtocol, journal, solanaRPC, publish string
}

// told is how the answer is told.
type told struct {
	sarif, junit, at, save, failOn, baselineFile string
	json                                         bool
}

// found is what is known of one door.
type found struct {
	report  probe.Report
	private bool
	bought  []Row         // nil where nothing was to be bought
	drift   *drift.Report // nil where nothing was to be compared
}

// Run is the whole command; name is how it was called. It returns the exit code.
func Run(ctx context.Context, name string, words []string, stdout, stderr io.Writer) int {
	return Program{Name: name}.Run(ctx, words, stdout, stderr)
}

// Run is the whole command. It returns the exit code.
func (p Program) Run(ctx context.Context, words []string, stdout, stderr io.Writer) int {
	s, name := settings{Program: p, headers: http.Header{}, hostsFile: hostsFile}, p.Name
	fs := s.flags(name, stderr)
	if err := args.Parse(fs, words); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ExitFine
		}
		return ExitUsage
	}
	if err := s.check(fs.Args()); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return ExitUsage
	}
	all, err := s.read(ctx, fs.Args(), stderr)
	bad := map[string][]string{}
	for _, f := range all {
		names := append(s.find(f.report), badRows(f.bought, s.named)...)
		if s.base != nil {
			before := s.base[f.report.URL]
			names = append(worse(f.report, before.Report, s.find), worseRows(f.bought, before.Purchase, s.named)...)
		}
		names = append(names, badDrift(f.drift, s.base[f.report.URL].Drift, s.named)...)
		if len(names) > 0 {
			bad[f.report.URL] = names
		}
	}
	if len(all) > 0 { // what could be read is told, whatever became of the rest
		err = errors.Join(s.write(all, bad, len(fs.Args()) > 1 || s.discoverHost != "", stdout), err)
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(stderr, "%s: %s\n", name, line)
		}
	}
	switch {
	case err != nil && len(bad) > 0:
		return ExitBoth
	case err != nil:
		return ExitTrouble
	case onlyDrift(bad):
		return ExitDrift
	case len(bad) > 0:
		return ExitFound
	}
	return ExitFine
}

func (s *settings) flags(name string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	for _, f := range []struct {
		to             *string
		name, or, does string
	}{
		{&s.battery, "battery", probe.Current(), "version of the battery: " + strings.Join(probe.Versions(), " or ")},
		{&s.sarif, "sarif", "", "also write SARIF 2.1.0 to this file; - is standard output, instead of text"},
		{&s.junit, "junit", "", "also write JUnit XML to this file"},
		{&s.at, "at", "", "file of your repository that SARIF results are shown at; without it they point at the URL"},
		{&s.save, "save", "", "keep the recording of one URL in this file (0600: it holds what the door sent, " +
			"unredacted)"},
		{&s.exchange, "exchange", "", "judge the recording in this file instead of a live door; no request is made"},
		{&s.discoverHost, "discover", "", "read every door that this host, or origin, names in /.well-known/x402 " +
			"and, with answer 402, in /openapi.json"},
		{&s.baselineFile, "baseline", "", "file that -json wrote before: only what got worse since is found"},
		{&s.failOn, "fail-on", "not_ready,unreachable,method_unresolved,purchase,drift", "what makes the exit code " +
			"3: verdicts, names of checks (also when one before them failed) or advisories, advisory for any of " +
			"them, names of what -pay sees to or purchase for any of it, drift for what -drift finds, which alone " +
			"makes it 5, never; separated by commas"},
		{&s.pay, "pay", "", "file (0600) with the key of a wallet, 32 bytes of hex on EVM networks or what " +
			"solana-keygen writes: buy at the one URL, see good, settlement and receipt, and lose the answer to a " +
			"payment in seven ways"},
		{&s.maxUSD, "max-usd", "0.10", fmt.Sprintf("the most that -pay may spend in all; to see to everything "+
			"it signs %d payments at the most, of which a door that charges once settles %d", Payments(),
			Orders())},
		{&s.payProtocol, "pay-protocol", "", "the protocol that -pay pays by, x402 or mpp; else x402"},
		{&s.payNetwork, "pay-network", "", "the network (CAIP-2) that -pay pays on; else the first that it can"},
		{&s.publish, "publish", "", "address of a store, such as https://store.example: tell it of one purchase of " +
			"-pay, for its public record, as the seller; what is told is said before anything is bought, and no " +
			"query, header or body is"},
		{&s.rpc, "rpc", "", "node of that EVM network, asked what was charged; without one the door's words count"},
		{&s.solanaRPC, "solana-rpc", "", "your node of Solana, asked for the accounts of an entry there, without " +
			"which it is not judged; and, with -pay, for a blockhash and what was charged"},
		{&s.journal, "journal", "check-purchases", "folder that keeps each payment of -pay before it is sent; store " +
			"buy -resume -journal of a folder in it presents again what was cut short"},
		{&s.method, "method", "", "ask your own door with this method, GET or POST, on your word; needs -local or " +
			"-allow-network. Buyers learn the method from your own files"},
		{&s.data, "data", "", "JSON to send with POST, or @FILE that holds it; without it an empty object"},
		{&s.contact, "contact", page, "address in the User-Agent at which whoever runs this can be reached"},
		{&s.networks, "allow-network", "", "networks of your own that may be read although they are not public, such " +
			"as 127.0.0.0/8; separated by commas"},
		{&s.ports, "allow-port", "", "ports of your own doors beside 443; separated by commas"},
		{&s.ca, "ca", "", "PEM file of certificates to check your own doors' certificates against"},
	} {
		fs.StringVar(f.to, f.name, f.or, f.does)
	}
	fs.BoolVar(&s.json, "json", false, "print the reports as JSON: one object for one URL, a list for several")
	fs.BoolVar(&s.local, "local", false, "read doors on this machine: http, localhost at any port, and names of its "+
		"hosts file; nothing else")
	fs.BoolVar(&s.drift, "drift", false, "hold what the host declares of each door against the door: "+
		"/.well-known/x402, x-payment-info and MPP's offers in /openapi.json, its MCP server card and tools, its "+
		"agent card; at most six more requests to a host")
	fs.Func("facilitator", "with -drift, the address (`URL`) of a facilitator, such as "+
		"https://facilitator.example/v2/x402: what it lists of the addresses that the door is paid at "+
		"(discovery/merchant) is held against the door; may be given several times", s.addFacilitator)
	fs.Func("header", "`Name: value` that is sent to your own networks, such as a token of a staging server; may be "+
		"given several times, and needs -local or -allow-network", s.addHeader)
	fs.DurationVar(&s.timeout, "timeout", 0, "of one request; 0 is the 8 seconds of the battery")
	fs.Usage = func() {
		fmt.Fprintf(stderr, usage, name)
		fs.PrintDefaults()
		fmt.Fprint(stderr, exits)
	}
	return fs
}

// maxHeader bounds the value of one -header, in bytes.
const maxHeader = 8 << 10

var (
	headerName  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	headerValue = regexp.MustCompile(`^[ -~]+$`)
)

// addHeader reads one -header. Its value may be a secret, so no message repeats it.
func (s *settings) addHeader(text string) error {
	name, value, ok := strings.Cut(text, ":")
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !ok || !headerName.MatchString(name) || !headerValue.MatchString(value) ||
		len(value) > maxHeader {
		return errors.New("it takes Name: value")
	}
	if slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "User-Agent"}, name) {
		return fmt.Errorf("%s is the client's own", name)
	}
	s.headers.Add(name, value)
	return nil
}

// check judges the flags together and reads what they name.
func (s *settings) check(urls []string) (err error) {
	ways := 0
	for _, used := range []bool{len(urls) > 0, s.exchange != "", s.discoverHost != ""} {
		if used {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("give one of URLs, -discover HOST and -exchange FILE")
	case !slices.Contains(probe.Versions(), s.battery):
		return fmt.Errorf("-battery %s: there is %s", s.battery, strings.Join(probe.Versions(), " and "))
	case s.save != "" && len(urls) != 1:
		return errors.New("-save takes one URL")
	case s.drift && s.exchange != "":
		return errors.New("-drift asks a live host, and -exchange makes no request: give one of them")
	case len(s.facilitators) > 0 && !s.drift:
		return errors.New("-facilitator is asked by -drift: give both")
	case s.json && s.sarif == "-":
		return errors.New("-json and -sarif - both want standard output")
	case len(s.headers) > 0 && !s.local && s.networks == "":
		return errors.New("-header is sent to your own networks alone: say them with -local or -allow-network")
	}
	if err := errors.Join(s.checkMethod(), s.checkPay(urls), s.checkPublish()); err != nil {
		return err
	}
	if s.named, err = failOn(s.failOn); err != nil {
		return err
	}
	s.find = func(r probe.Report) []string { return match(r, s.named) }
	if s.baselineFile == "" {
		return err
	}
	s.base, err = baseline(s.baselineFile)
	return err
}

// words yields the items of a list that is separated by commas.
func words(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for w := range strings.SplitSeq(list, ",") {
			if w = strings.TrimSpace(w); w != "" && !yield(w) {
				return
			}
		}
	}
}

// write prints the reports in the forms that were asked for. JSON is a list where several doors
// were asked for.
func (s *settings) write(all []found, bad map[string][]string, several bool, stdout io.Writer) error {
	var b []byte
	var err error
	switch {
	case s.json && !several:
		b, err = encode(all[0].shown())
	case s.json:
		reports := make([]any, len(all))
		for i, f := range all {
			reports[i] = f.shown()
		}
		b, err = encode(reports)
	case s.sarif != "-":
		b = text(all)
	}
	if err != nil {
		return err
	}
	if s.sarif != "" {
		log, err := encode(sarif(all, s.battery, s.at))
		switch {
		case err != nil:
			return err
		case s.sarif == "-":
			b = log
		default:
			if err := os.WriteFile(s.sarif, log, 0o644); err != nil {
				return fmt.Errorf("writing SARIF: %w", err)
			}
		}
	}
	if s.junit != "" {
		x, err := junit(all, bad, s.base)
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.junit, x, 0o644); err != nil {
			return fmt.Errorf("writing JUnit: %w", err)
		}
	}
	_, err = stdout.Write(b)
	return err
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	return append(b, '\n'), nil
}
