// Package kit is the command line of the seller's kit, which the binary check and the verb store check share: a battery
// run on live doors or on a saved recording, as text, JSON or SARIF, with an exit code for a build. It judges with
// corpus/probe alone, so it says what the store says; it needs no store, no key and, for a recording, no network.
package kit

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentstore/corpus/attest"
	"agentstore/corpus/fetch"
	"agentstore/corpus/probe"
	"agentstore/corpus/walk"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The exit codes.
const (
	ExitFine    = 0
	ExitTrouble = 1 // it could not be found out
	ExitUsage   = 2
	ExitFound   = 3 // something that -fail-on names was found
)

const usage = `usage: %s [flags] URL…
       %[1]s [flags] -exchange FILE

Reads each URL as a buyer would request it, pays nothing, and judges the answer by a battery of checks.

`

// settings are the flags.
type settings struct {
	battery, sarif, at, save, exchange, failOn string
	json                                       bool
	contact, networks, ports, ca               string
	timeout                                    time.Duration
}

// found is what is known of one door.
type found struct {
	report  probe.Report
	private bool
}

// Run is the whole command; name is how it was called. It returns the exit code.
func Run(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	var s settings
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.battery, "battery", probe.Current(), "version of the battery: "+strings.Join(probe.Versions(), " or "))
	fs.BoolVar(&s.json, "json", false, "print the reports as JSON: one object for one URL, a list for several")
	fs.StringVar(&s.sarif, "sarif", "", "also write SARIF 2.1.0 to this file; - is standard output, instead of text")
	fs.StringVar(&s.at, "at", "", "file of your repository that SARIF results are shown at; without it they point at the URL")
	fs.StringVar(&s.save, "save", "", "keep the recording of one URL in this file (0600: it holds what the door sent, unredacted)")
	fs.StringVar(&s.exchange, "exchange", "", "judge the recording in this file instead of a live door; no request is made")
	fs.StringVar(&s.failOn, "fail-on", "not_ready,unreachable,method_unresolved", "what makes the exit code 3: verdicts, names of checks or advisories, advisory for any of them, never; separated by commas")
	fs.StringVar(&s.contact, "contact", "https://store.example/try", "address in the User-Agent at which whoever runs this can be reached")
	fs.StringVar(&s.networks, "allow-network", "", "networks of your own that may be read although they are not public, such as 127.0.0.0/8; separated by commas")
	fs.StringVar(&s.ports, "allow-port", "", "ports of your own doors beside 443; separated by commas")
	fs.StringVar(&s.ca, "ca", "", "PEM file of certificates to check your own doors' certificates against")
	fs.DurationVar(&s.timeout, "timeout", 0, "of one request; 0 is the 8 seconds of the battery")
	fs.Usage = func() {
		fmt.Fprintf(stderr, usage, name)
		fs.PrintDefaults()
		fmt.Fprint(stderr, "\nExit codes: 0 nothing that -fail-on names; 1 it could not be found out; 2 called wrongly; 3 found.\n")
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ExitFine
		}
		return ExitUsage
	}
	fail, err := s.check(fs.Args())
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return ExitUsage
	}
	all, err := s.read(ctx, fs.Args(), stderr)
	if len(all) > 0 { // what could be read is told, whatever became of the rest
		err = errors.Join(s.write(all, len(fs.Args()) > 1, stdout), err)
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(stderr, "%s: %s\n", name, line)
		}
		return ExitTrouble
	}
	for _, f := range all {
		if fail(f.report) {
			return ExitFound
		}
	}
	return ExitFine
}

// check judges the flags together and returns what -fail-on asks.
func (s *settings) check(urls []string) (func(probe.Report) bool, error) {
	switch {
	case (s.exchange == "") == (len(urls) == 0):
		return nil, errors.New("give either URLs or -exchange FILE")
	case !slices.Contains(probe.Versions(), s.battery):
		return nil, fmt.Errorf("-battery %s: there is %s", s.battery, strings.Join(probe.Versions(), " and "))
	case s.save != "" && len(urls) != 1:
		return nil, errors.New("-save takes one URL")
	case s.json && s.sarif == "-":
		return nil, errors.New("-json and -sarif - both want standard output")
	}
	return failOn(s.failOn)
}

// failOn reads the list of what makes a build fail.
func failOn(list string) (func(probe.Report) bool, error) {
	var words []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" && w != "never" {
			words = append(words, w)
		}
	}
	known := []string{"advisory", string(probe.Ready), string(probe.NotReady), string(probe.Unreachable), string(probe.MethodUnresolved), string(probe.NotProbed)}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			known = append(known, c.Name)
		}
	}
	for _, a := range probe.Advisories() {
		known = append(known, a.Name)
	}
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-fail-on %s: no verdict, check or advisory has this name", w)
		}
	}
	return func(r probe.Report) bool {
		for _, w := range words {
			if w == string(r.Verdict) || w == "advisory" && len(r.Advisories) > 0 ||
				slices.ContainsFunc(r.Checks, func(c probe.CheckResult) bool { return c.Name == w && !c.OK }) ||
				slices.ContainsFunc(r.Advisories, func(n probe.Note) bool { return n.Name == w }) {
				return true
			}
		}
		return false
	}, nil
}

// read judges the recording, or walks to each URL in turn. What could be read is returned beside the error.
func (s *settings) read(ctx context.Context, urls []string, stderr io.Writer) ([]found, error) {
	if s.exchange != "" {
		f, err := s.rejudge(stderr)
		if err != nil {
			return nil, err
		}
		return []found{f}, nil
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	var all []found
	var failed []error
	for _, url := range urls {
		f, err := s.readOne(ctx, client, url)
		if err != nil {
			failed = append(failed, fmt.Errorf("reading %s: %w", url, err))
			continue
		}
		all = append(all, f)
	}
	return all, errors.Join(failed...)
}

func (s *settings) readOne(ctx context.Context, client *fetch.Client, url string) (found, error) {
	checker, err := probe.NewPreflight(s.battery, mustParse(client, url), probe.Declaration{})
	if err != nil {
		return found{}, err
	}
	report, recording, err := walk.Run(ctx, client, checker, walk.Start{URL: url})
	if err != nil || s.save == "" {
		return found{report, recording.Private}, err
	}
	raw, err := recording.Encode()
	if err != nil {
		return found{}, err
	}
	if err := os.WriteFile(s.save, raw, 0o600); err != nil {
		return found{}, fmt.Errorf("saving the recording: %w", err)
	}
	return found{report, recording.Private}, nil
}

// mustParse brings a URL into the form that is requested; what cannot be is refused by the walk, which says why.
func mustParse(client *fetch.Client, url string) string {
	if canonical, err := client.Parse(url, fetch.Rule{}); err == nil {
		return canonical
	}
	return cmp.Or(url, "-")
}

// rejudge judges a saved recording. The same file and battery give the same bytes on any day.
func (s *settings) rejudge(stderr io.Writer) (found, error) {
	raw, err := os.ReadFile(s.exchange)
	if err != nil {
		return found{}, fmt.Errorf("reading the recording: %w", err)
	}
	recording, err := walk.Decode(raw)
	if err != nil {
		return found{}, err
	}
	checker, err := probe.NewPreflight(s.battery, recording.Start, probe.Declaration{})
	if err != nil {
		return found{}, err
	}
	if recording.Checker != checker.Name() {
		fmt.Fprintf(stderr, "recorded for %s, judged by %s: where the verdicts differ, the instrument moved and not the door\n", recording.Checker, checker.Name())
	}
	exchanges := recording.Exchanges[:min(len(recording.Exchanges), checker.MaxRequests())]
	report, err := probe.Replay(exchanges, checker)
	return found{report, recording.Private}, err
}

// client makes the guarded client. Its key is made for the run: it identifies nobody and lets a door see that the
// requests belong together.
func (s *settings) client() (*fetch.Client, error) {
	key, err := attest.Generate(rand.Reader)
	if err != nil {
		return nil, err
	}
	cfg := fetch.Config{UserAgent: "store-check/1 (+" + s.contact + ")", Key: key, Agent: "https://check.invalid", Timeout: s.timeout}
	if s.networks == "" && s.ports == "" && s.ca == "" {
		return fetch.New(cfg)
	}
	cfg.Allow = &fetch.Allow{}
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
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("-ca: %w", err)
		}
		cfg.Allow.Roots = x509.NewCertPool()
		if !cfg.Allow.Roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-ca: %s holds no certificate", s.ca)
		}
	}
	return fetch.New(cfg)
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

// write prints the reports in the forms that were asked for. JSON is a list where several doors were asked for.
func (s *settings) write(all []found, several bool, stdout io.Writer) error {
	var b []byte
	var err error
	switch {
	case s.json && !several:
		b, err = encode(all[0].report)
	case s.json:
		reports := make([]probe.Report, len(all))
		for i, f := range all {
			reports[i] = f.report
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
