// Store is the whole service in one binary: it builds and publishes the static half, serves the
// dynamic half, keeps keys and backups, verifies what anybody cloned, and buys.
//
//	store <verb> [flags] [arguments]
//
// Exit codes: 0 done; 1 failed; 2 called wrongly; 3 the answer is no (verification failed, purchase
// refused).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"store.example/agentstore/cmd/args"
	"store.example/agentstore/cmd/shop"
)

// verb is one thing the binary does.
type verb struct {
	name  string
	args  string // after the flags
	short string
	sub   bool // args are the verb's own words, before the flags
	run   func(ctx context.Context, v *call) error
}

// tables are the words of those verbs that have too many for a line.
var tables = map[string]func() []word{"buy": escrowWords, "keeper": keeperWords, "new": newWords}

// word is one thing that a verb does, in the table of its help.
type word struct {
	name, about, short string
	own                []*flag.Flag // flags
}

// tabulate writes the table of a verb's words.
func tabulate(w io.Writer, words []word) {
	for _, v := range words {
		fmt.Fprintf(w, "  %-24s %s\n", strings.TrimSpace(v.name+" "+v.about), v.short)
	}
}

// line is how the verb is called. The word after a verb with subverbs comes before the flags, which
// Go's flag package stops at.
func (v *verb) line() string {
	if v.sub {
		return v.name + " " + v.args + " [flags]"
	}
	return strings.TrimSpace(v.name + " [flags] " + v.args)
}

// verbs is every verb, in the order of the help.
func verbs() []verb {
	return []verb{
		{"demo", "", "run the whole shop on local chains, with one purchase in it, until Ctrl-C", false, runDemo},
		{"practice", "", "run practice doors beside such a shop, and score what your client does at each",
			false, runPractice},
		{"init", "DIR", "make a keeper's site in DIR", false, runInit},
		{"new", "good ID | page PATH | publication NAME", "write a new file of the site with what it needs", true,
			runNew},
		{"config", "", "print an annotated example of the configuration file", false, runConfig},
		{"key", "init | list | handover | tls | walker", "make keys, list them, hand over to a new one", true, runKey},
		{"build", "", "render content into the published tree", false, stoppable(runBuild)},
		{"watch", "", "build on every change and show it in a browser", false, stoppable(runWatch)},
		{"publish", "PLACE", "bring the published tree to a repository, or to s3://BUCKET/FOLDER", false, runPublish},
		{"serve", "", "serve the store", false, runServe},
		{"install-service", "", "write units of systemd for this shop, and say how they are turned on", false,
			runInstallService},
		{"doctor", "", "look at all that a store stands on, and say what mends what is wrong", false, runDoctor},
		{"facilitator", "", "settle other sellers' x402 payments; off until [facilitator] is configured", false,
			runFacilitator},
		{"census", "", "walk the doors that are known, and seal the week's round", false, runCensus},
		{"stamp", "", "hand rounds in at OpenTimestamps calendars and fetch what became of them", false, runStamp},
		{"witness", "", "have witnesses cosign the head of the record's log", false, runWitness},
		{"verify", "DIR | FILE",
			"check a clone or a bundle without trusting anybody, or make a bundle: store verify -h",
			false, runVerify},
		{"check", "URL…", "read doors that ask to be paid and say what to change: store check -h", false, runCheck},
		{"buy", "URL | WORD", "buy from a door, journalled, within a ceiling: store buy -h", false, runBuy},
		{"backup", "FILE", "write a verified backup of the ledger while the store runs", false, runBackup},
		{"restore", "FILE", "restore a backup into an empty ledger, closed until reopened", false, runRestore},
		{"keeper", "VERB", "the keeper's desk: store keeper help lists its verbs", true, runKeeper},
		{"version", "", "say what the program was built from", false, runVersion},
		{"completion", "bash | zsh | fish", "write what a shell completes the verbs and their flags by", false,
			runCompletion},
		{"man", "", "write the manual page, store(1)", false, runMan},
	}
}

// call is one run of a verb: its flags, arguments and streams.
type call struct {
	flags  *flag.FlagSet
	stdout io.Writer
	stderr io.Writer
	args   []string
	level  slog.LevelVar
	logger *slog.Logger
}

// What a run comes to beside success, each an exit code. Returned by itself, what there is to say
// has been printed; because adds what is still to be said.
var (
	errFailed   = errors.New("failed")
	errUsage    = errors.New("called wrongly") // the call cannot be understood
	errNo       = errors.New("no")             // the work was done and the answer is no
	errUnproven = errors.New("unproven")       // verify: neither yes nor no
)

// because is one of the above with its reason, which is printed.
func because(outcome error, format string, args ...any) error {
	return reasoned{fmt.Errorf(format, args...), outcome}
}

type reasoned struct {
	error
	outcome error
}

func (r reasoned) Unwrap() []error { return []error{r.error, r.outcome} }

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal is a context that ends with the first signal to stop. From then on such a signal does
// what it does by default, so that a second one ends at once what takes too long to end well:
// everything that matters is journalled.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}

// grace is how long the work of a stoppable verb may take to end well after a signal.
const grace = 5 * time.Second

// stoppable has a verb end within grace of a signal whatever it waits for: a pipe, a disk or a
// network folder that gives no answer takes no part in a context. It is for verbs that may be
// killed at any point, because the next run takes up whatever they leave.
func stoppable(run func(context.Context, *call) error) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, c) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(grace):
			return fmt.Errorf("told to stop, and still waiting %s later for something that gives no answer, such as a "+
				"pipe or a network folder among what it reads: left as it is; run it again once that is mended", grace)
		}
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(stdout)
		if len(args) == 0 {
			return 2
		}
		return 0
	}
	for _, v := range verbs() {
		if v.name != args[0] {
			continue
		}
		c := &call{flags: flag.NewFlagSet("store "+v.name, flag.ContinueOnError), stdout: stdout, stderr: stderr,
			args: args[1:]}
		c.flags.SetOutput(stderr)
		c.flags.Usage = func() {
			fmt.Fprintf(stderr, "usage: store %s\n  %s\n", v.line(), v.short)
			if table := tables[v.name]; table != nil {
				tabulate(stderr, table())
			}
			c.flags.PrintDefaults()
		}
		c.logger = newLogger(stderr, &c.level, false)
		err := v.run(ctx, c)
		if err == nil || errors.Is(err, flag.ErrHelp) {
			return 0
		}
		if err != errFailed && err != errUsage && err != errNo && err != errUnproven {
			fmt.Fprintf(stderr, "store %s: %v\n", v.name, err)
		}
		switch {
		case errors.Is(err, errUsage):
			return 2
		case errors.Is(err, errNo):
			return 3
		case errors.Is(err, errUnproven):
			return 4
		}
		return 1
	}
	if args[0] == "--version" || args[0] == "-version" {
		return run(ctx, []string{"version"}, stdout, stderr)
	}
	fmt.Fprintf(stderr, "store: there is no verb %q\n", args[0])
	if meant := meant(args[0]); meant != "" {
		fmt.Fprintf(stderr, "Do you mean: store %s\n", meant)
		return 2
	}
	usage(stderr)
	return 2
}

// meant is the verb that a misspelt one may be, "" for none.
func meant(word string) string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return shop.Nearest(word, names)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: store <verb> [flags] [arguments]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-42s %s\n", strings.TrimSpace(v.name+" "+v.args), v.short)
	}
	fmt.Fprint(w, "\nstore <verb> -h shows a verb's flags. Exit codes: 0 done, 1 failed, 2 called wrongly, 3 the "+
		"answer is no,\n4 what was verified does not show all that it has to.\n")
}

// subverb takes the word after the verb off the arguments. Without one the help is asked for or the
// call is wrong, once parse has made the flags known; "" is returned then.
func (c *call) subverb(known ...string) string {
	if len(c.args) == 0 || !slices.Contains(known, c.args[0]) {
		return ""
	}
	word := c.args[0]
	c.args = c.args[1:]
	return word
}

// parse reads the flags and demands between least and most arguments.
func (c *call) parse(least, most int) error {
	if err := args.Parse(c.flags, c.args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if n := c.flags.NArg(); n < least || n > most {
		c.flags.Usage()
		return errUsage
	}
	return nil
}

// newLogger logs text with colour to a terminal, JSON elsewhere.
func newLogger(w io.Writer, level *slog.LevelVar, json bool) *slog.Logger {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !json {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
}

// readable writes a duration as people and Go read it, 326ms, and not as a number of nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().Round(time.Microsecond).String())
	}
	return a
}

// isTerminal reports whether a stream is a person's.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
