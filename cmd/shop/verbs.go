package shop

import (
	"context"
	"log/slog"
	"reflect"
	"slices"

	"store.example/agentstore/dynamic/visitors"
)

// Verb is one thing that store keeper does: a row of Verbs and a function. Its flags, its help, its
// place on the control socket and how its answer is written derive from the types of the function.
//
// What it takes is a struct. A field with the tag arg is the word after the verb, of which form is
// the shape; one with flag is a flag, which must be given where need says what to say otherwise;
// doc explains either. A text with the tag file may come from a file, too.
//
// What it gives is a struct, a slice or a sequence of them: see writeAnswer.
type Verb struct {
	Name    string
	Short   string
	Changes bool // it takes -dry-run
	place   verbSite
	in, out reflect.Type
	// first does what only the command may do, before anybody is asked; nil is nothing.
	first func(ctx context.Context, c *Config, in any, log *slog.Logger) error
	do    func(ctx context.Context, s *Shop, in any, dry bool) (any, error)
}

// verbSite is where a verb is done.
type verbSite int

const (
	// served is in the process that serves the store; where there is none, in a shop that is opened
	// for it and serves nothing.
	served verbSite = iota
	// signing is the same for what gives something away that is given once: a shop that is opened
	// for it notes that in the high-water file, as the serving one does.
	signing
	// alone is in a shop that no other process serves.
	alone
	// unopened needs the configuration and nothing else.
	unopened
)

// Verbs are all of them, in the order of the help.
func Verbs() []Verb {
	return []Verb{
		reads(served, "today", "say what waits for you", (*Shop).today),
		reads(served, "orders", "list the orders that wait", (*Shop).orders),
		does(signing, "answer", "answer an order, once", (*Shop).answer),
		does(signing, "decline-order", "give back what is held for an order", (*Shop).declineOrder),
		does(signing, "note", "sign the month's note to patrons", (*Shop).note),
		reads(served, "find", "find purchases by an id, a wallet or a transaction", (*Shop).find),
		reads(served, "sales", "say what was sold", (*Shop).sales),
		reads(served, "reconcile", "compare the ledger with the chains", (*Shop).reconcile),
		reads(served, "debts", "list what is owed", (*Shop).debts),
		does(signing, "pay", "sign the payout of a debt", (*Shop).pay).after(signPayment),
		does(signing, "paid", "note that a debt was paid by hand", (*Shop).paid),
		reads(served, "bounties", "list bounties", (*Shop).bounties),
		does(signing, "post-bounty", "post a reward for buying at a door", (*Shop).postBounty),
		reads(unopened, "token", "print the web desk's token", (*Shop).token),
		does(served, "reopen", "open a restored store", (*Shop).reopen),
		reads(served, "owed", "list money that no purchase credits", (*Shop).owed),
		does(served, "withdraw", "withdraw a stranger's text, or evidence", (*Shop).withdraw),
		does(served, "erratum", "say what a row of the record should have said", (*Shop).correct),
		does(served, "rejudge", "judge the whole record again, and correct what was false", (*Shop).rejudge),
		does(alone, "high-water", "make a lost high-water file anew", (*Shop).rebuildHighWater),
		reads(served, "accounts", "list who buys on account and what they owe", (*Shop).accounts),
		reads(served, "statement", "list what was delivered to an account and received, of a month",
			(*Shop).statement),
		does(signing, "received", "note what an account paid", (*Shop).received),
		reads(served, "waiting", "say what visitors left", (*Shop).waiting),
		reads(served, "letters", "list letters", posts(visitors.KindLetter)),
		does(signing, "read", "read a letter, which tells its writer so", (*Shop).readLetter),
		does(signing, "reply", "sign the reply to a letter, once", (*Shop).replyLetter),
		reads(served, "guestbook", "list the guestbook", posts(visitors.KindGuestbook)),
		does(signing, "keep", "show an entry", review(false)),
		does(signing, "hide", "hide an entry", review(true)),
		reads(served, "tips", "list tips", posts(visitors.KindTip)),
		does(signing, "publish-tip", "make a paid page of a tip", (*Shop).publishTip),
		reads(served, "requests", "list requests", posts(visitors.KindRequest)),
		does(signing, "quote", "sign the price of a request", (*Shop).quote),
		does(signing, "decline", "decline a tip or a request", (*Shop).decline),
		does(signing, "stamp-line", "set what a week's stamp says", (*Shop).stampLine),
	}
}

// VerbNamed is the verb of a name.
func VerbNamed(name string) (Verb, bool) {
	all := Verbs()
	i := slices.IndexFunc(all, func(v Verb) bool { return v.Name == name })
	if i < 0 {
		return Verb{}, false
	}
	return all[i], true
}

// does is a verb that changes something, unless dry is set.
func does[In, Out any](p verbSite, name, short string, do func(*Shop, context.Context, In, bool) (Out, error)) Verb {
	return Verb{Name: name, Short: short, Changes: true, place: p, in: reflect.TypeFor[In](),
		out: reflect.TypeFor[Out](), do: func(ctx context.Context, s *Shop, in any, dry bool) (any, error) {
			return do(s, ctx, *in.(*In), dry)
		}}
}

// reads is a verb that changes nothing.
func reads[In, Out any](p verbSite, name, short string, do func(*Shop, context.Context, In) (Out, error)) Verb {
	v := does(p, name, short, func(s *Shop, ctx context.Context, in In, _ bool) (Out, error) {
		return do(s, ctx, in)
	})
	v.Changes = false
	return v
}

// after has a verb done once the command has done something first.
func (v Verb) after(first func(context.Context, *Config, any, *slog.Logger) error) Verb {
	v.first = first
	return v
}

// nothing is what a verb takes that is about nothing and has no flags of its own.
type nothing struct{}
