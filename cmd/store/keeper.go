package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/till"
)

// keeperVerb is one thing that store keeper does: a row.
type keeperVerb struct {
	name  string
	about string // what it is about, as the help has it; "" for nothing
	short string
	// form says what is wrong with what it is about, and with its flags; nil demands nothing.
	form func(k *keeperCall) string
	run  func(ctx context.Context, k *keeperCall) error
}

// keeperVerbs is every one of them, in the order of the help.
func keeperVerbs() []keeperVerb {
	return append([]keeperVerb{
		{name: "today", short: "say what waits for you", run: func(ctx context.Context, k *keeperCall) error {
			return shop.Today(ctx, k.cfg, k.logger, k.stdout)
		}},
		{name: "orders", short: "list the orders that wait", run: verbOf((*keeperCall).orders)},
		{name: "answer", about: "ORDER", short: "answer an order, once", form: ofForm(orderForm, "name the order, "+
			"order_ and twenty characters: store keeper orders lists them"), run: verbOf((*keeperCall).answer)},
		{name: "note", about: "MONTH", short: "sign the month's note to patrons", form: ofForm(monthForm, monthAsked),
			run: verbOf((*keeperCall).note)},
		{name: "find", about: "WHAT", short: "find purchases by an id, a wallet or a transaction", form: findForm,
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.Find(ctx, k.cfg, k.about, k.logger, k.stdout)
			}},
		{name: "sales", short: "say what was sold", run: func(ctx context.Context, k *keeperCall) error {
			return shop.Sales(ctx, k.cfg, k.logger, k.stdout)
		}},
		{name: "reconcile", about: "MONTH", short: "compare the ledger with the chains", form: ofForm(monthForm,
			monthAsked),
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.Books(ctx, k.cfg, k.about, k.csv, k.logger, k.stdout)
			}},
		{name: "debts", short: "list what is owed", run: func(ctx context.Context, k *keeperCall) error {
			return shop.Debts(ctx, k.cfg, k.all, k.logger, k.stdout)
		}},
		{name: "pay", about: "DEBT", short: "sign the payout of a debt", form: ofForm(debtForm, debtAsked),
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.Pay(ctx, k.cfg, k.about, k.dry, k.logger, k.stdout)
			}},
		{name: "paid", about: "DEBT", short: "note that a debt was paid by hand", form: func(k *keeperCall) string {
			if k.tx == "" {
				return "say by which transaction with -tx"
			}
			return ofForm(debtForm, debtAsked)(k)
		}, run: func(ctx context.Context, k *keeperCall) error {
			return shop.Paid(ctx, k.cfg, k.about, k.tx, k.dry, k.logger, k.stdout)
		}},
		{name: "bounties", short: "list bounties", run: func(ctx context.Context, k *keeperCall) error {
			return shop.Bounties(ctx, k.cfg, k.logger, k.stdout)
		}},
		{name: "post-bounty", about: "URL", short: "post a reward for buying at a door", form: (*keeperCall).bountyForm,
			run: func(ctx context.Context, k *keeperCall) error {
				return shop.PostBounty(ctx, k.cfg, k.bounty, k.dry, k.logger, k.stdout)
			}},
		{name: "token", short: "print the web desk's token", run: func(_ context.Context, k *keeperCall) error {
			token, err := shop.DeskToken(k.cfg)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(k.stdout, token)
			return err
		}},
		{name: "reopen", short: "open a restored store", run: func(ctx context.Context, k *keeperCall) error {
			return reopen(ctx, k.call, k.cfg, till.ReopenOptions{Network: k.network, Dry: k.dry}, k.wait && !k.dry)
		}},
		{name: "owed", short: "list money that no purchase credits", run: verbOf((*keeperCall).owed)},
		{name: "withdraw", about: "SHA256", short: "withdraw a stranger's text, or evidence", form: withdrawForm,
			run: verbOf((*keeperCall).withdraw)},
		{name: "erratum", about: "LEAF", short: "say what a row of the record should have said", form: erratumForm,
			run: verbOf((*keeperCall).erratum)},
		{name: "release", about: "VERSION", short: "put the digests of a release into the log", form: releaseForm,
			run: verbOf((*keeperCall).release)},
		{name: "high-water", about: "rebuild", short: "make a lost high-water file anew", form: rebuildForm,
			run: verbOf((*keeperCall).rebuild)},
	}, append(accountVerbs(), visitorVerbs()...)...)
}

const (
	monthAsked = "name the month, such as 2026-11"
	debtAsked  = "name the debt, debt_ and twenty characters: store keeper debts lists them"
)

var (
	debtForm   = regexp.MustCompile(`^debt_[a-z2-7]{20}$`)
	orderForm  = regexp.MustCompile(`^order_[a-z2-7]{20}$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	monthForm  = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])$`)
)

// keeperCall is one call of one of them.
type keeperCall struct {
	*call
	visitorFlags
	accountFlags
	cfg   *shop.Config
	about string

	all, dry, wait, csv  bool
	text, textFile, link string
	file, commit         string
	reason, network, tx  string
	battery              string
	walk                 int64
	leaf                 int64
	reward               string
	bounty               bounty.Posting
}

// keeperWords is the table of the help.
func keeperWords() []word {
	all := []word{{"help", "", "list these verbs"}}
	for _, v := range keeperVerbs() {
		all = append(all, word{v.name, v.about, v.short})
	}
	return all
}

// runKeeper is the keeper's desk.
func runKeeper(ctx context.Context, c *call) error {
	if slices.Equal(c.args, []string{"help"}) {
		tabulate(c.stdout, keeperWords())
		return nil
	}
	k := &keeperCall{call: c}
	verbs := keeperVerbs()
	i := slices.IndexFunc(verbs, func(v keeperVerb) bool { return len(c.args) > 0 && v.name == c.args[0] })
	if i >= 0 {
		c.args = c.args[1:]
		if verbs[i].about != "" && len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") {
			k.about, c.args = c.args[0], c.args[1:] // before the flags, which Go's flag package stops at
		}
	}
	file := k.declare()
	if err := c.parse(0, 0); err != nil {
		return err
	}
	if i < 0 {
		c.flags.Usage()
		return errUsage
	}
	if form := verbs[i].form; form != nil {
		if problem := form(k); problem != "" {
			fmt.Fprintf(c.stderr, "store keeper %s: %s\n", verbs[i].name, problem)
			return errUsage
		}
	}
	var err error
	if k.cfg, err = shop.Load(*file); err != nil {
		return err
	}
	return verbs[i].run(ctx, k)
}

// declare declares the flags of all verbs, and gives that of the configuration.
func (k *keeperCall) declare() (file *string) {
	f := k.flags
	k.declareVisitors()
	k.declareAccounts()
	f.BoolVar(&k.all, "all", false, "orders, debts: those that are done, too")
	f.StringVar(&k.tx, "tx", "", "paid: the transaction that paid")
	f.StringVar(&k.text, "text", "", "answer, reply, stamp-line: what to say; publish-tip: the page, in place of the "+
		"visitor's words")
	f.StringVar(&k.textFile, "text-file", "", "a file with what to say; - is standard input")
	f.StringVar(&k.link, "link", "", "answer: an https address")
	f.StringVar(&k.file, "file", "", "answer: a file of at most 1 MiB to hand over, under its own name; "+
		"release: its SHA256SUMS")
	f.StringVar(&k.commit, "commit", "", "release: the commit that it was made of, in hexadecimal digits")
	f.StringVar(&k.reason, "reason", "", "withdraw: why the text is taken off the record; it stands there for "+
		"ever, so it repeats nothing of the text; erratum: why the row is wrong")
	f.StringVar(&k.battery, "battery", "", "erratum: judge what is kept of the walk again by this one, such as v2; "+
		"left out, the row should have told of no observation")
	f.Int64Var(&k.walk, "walk", 0, "erratum: the number of the observation of a paid walk at the row's door in its "+
		"week, by which the door was ready")
	f.StringVar(&k.reward, "reward", "", "post-bounty: what is paid for a purchase, in USDC, at most 0.25")
	f.StringVar(&k.network, "network", "", "reopen: one network, such as eip155:8453; all of them when left out")
	f.BoolVar(&k.csv, "csv", false, "reconcile: a table for a spreadsheet in place of JSON")
	f.BoolVar(&k.wait, "wait", false, "reopen: wait until nothing that was sent before the restore can land any more")
	f.BoolVar(&k.dry, "dry-run", false, "say what would be done and change nothing")
	return f.String("config", "store.toml", "configuration file")
}

// verbOf makes a verb's function of a method.
func verbOf(m func(*keeperCall, context.Context) error) func(context.Context, *keeperCall) error {
	return func(ctx context.Context, k *keeperCall) error { return m(k, ctx) }
}

// ofForm demands that what a verb is about has a form.
func ofForm(form *regexp.Regexp, problem string) func(*keeperCall) string {
	return func(k *keeperCall) string {
		if form.MatchString(k.about) {
			return ""
		}
		return problem
	}
}

func findForm(k *keeperCall) string {
	if k.about == "" {
		return "say what: " + keeper.ErrQuery.Error()
	}
	return ""
}

func withdrawForm(k *keeperCall) string {
	switch {
	case k.about == "":
		return "name the text by its SHA-256, which stands beside it in its observation and in the name of its file " +
			"words/SHA256.json, or what a walk was judged by by the evidence_digest of its row"
	case !digestForm.MatchString(k.about):
		return fmt.Sprintf("%.80q is not 64 lower-case hexadecimal digits", k.about)
	case k.reason == "":
		return "say why with -reason"
	}
	return ""
}

// bountyForm reads what is posted; its note is -text.
func (k *keeperCall) bountyForm() string {
	var err error
	k.bounty.URL = k.about
	if k.bounty.Reward, err = content.ParseUSDC(k.reward); err != nil || k.about == "" {
		return "name the door by its https address, and the reward with -reward, such as 0.10"
	}
	if k.bounty.Note, err = k.words(); err != nil {
		return err.Error()
	}
	return ""
}

func rebuildForm(k *keeperCall) string {
	if k.about == "rebuild" {
		return ""
	}
	k.flags.Usage()
	return "say what is to be done: rebuild"
}

// words is the text that was given, in one of the two ways.
func (k *keeperCall) words() (string, error) {
	switch {
	case k.textFile == "":
		return k.text, nil
	case k.text != "":
		return "", because(errUsage, "give -text or -text-file, not both")
	case k.textFile == "-":
		raw, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		return string(raw), err
	}
	raw, err := os.ReadFile(k.textFile)
	return string(raw), err
}

// given is what the flags say is delivered.
func (k *keeperCall) given() (a till.Answer, err error) {
	if a.Text, err = k.words(); err != nil {
		return a, err
	}
	a.Link = k.link
	if k.file == "" {
		return a, nil
	}
	info, err := os.Stat(k.file)
	if err != nil {
		return a, err
	}
	if info.Size() > till.MaxAnswerFile {
		return a, because(errUsage, "%s has %d bytes, and may have %d", k.file, info.Size(), till.MaxAnswerFile)
	}
	a.File = &till.AnswerFile{Name: filepath.Base(k.file)}
	a.File.Data, err = os.ReadFile(k.file)
	return a, err
}

func (k *keeperCall) orders(ctx context.Context) error {
	return shop.Orders(ctx, k.cfg, k.all, k.logger, k.stdout)
}

func (k *keeperCall) owed(ctx context.Context) error {
	return shop.Owed(ctx, k.cfg, k.logger, k.stdout)
}

// answer completes an order.
func (k *keeperCall) answer(ctx context.Context) error {
	a, err := k.given()
	if err != nil {
		return err
	}
	if err := a.Check(); err != nil {
		return because(errUsage, "%w", err)
	}
	return shop.AnswerOrder(ctx, k.cfg, k.about, a, k.dry, k.logger, k.stdout)
}

// note signs the note of a month.
func (k *keeperCall) note(ctx context.Context) error {
	text, err := k.words()
	if err != nil {
		return err
	}
	if text == "" {
		return because(errUsage, "say what the note says with -text-file or -text")
	}
	return shop.WriteNote(ctx, k.cfg, k.about, text, k.dry, k.logger, k.stdout)
}

// withdraw takes a stranger's text, or evidence, off the record.
func (k *keeperCall) withdraw(ctx context.Context) error {
	out, err := shop.Withdraw(ctx, k.cfg, record.Withdrawn{SHA256: k.about, Reason: k.reason}, k.dry, k.logger)
	if err != nil {
		return err
	}
	return json.NewEncoder(k.stdout).Encode(out)
}

// rebuild makes a lost high-water file anew.
func (k *keeperCall) rebuild(ctx context.Context) error {
	made, err := shop.RebuildHighWater(ctx, k.cfg, k.dry, k.logger)
	if err != nil {
		return err
	}
	return json.NewEncoder(k.stdout).Encode(made)
}
