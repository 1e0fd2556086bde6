// Package rule names the rules of store-corpus/v1: what a verifier says of a record that it
// refuses. The page /spec/store-corpus/v1/rules is made from the table, which is in the order in
// which a verifier goes through a record. It checks nothing itself.
package rule

import (
	"errors"
	"fmt"
)

// Rule is the name of a rule, the same in every verifier and for ever.
type Rule string

// Broken is an error by which a rule is broken.
type Broken struct {
	Rule Rule
	Err  error
}

func (b *Broken) Error() string { return b.Err.Error() }

// Unwrap returns what is wrong.
func (b *Broken) Unwrap() error { return b.Err }

// Errorf is fmt.Errorf with a rule that is broken by what it says.
func (r Rule) Errorf(format string, args ...any) error {
	return &Broken{Rule: r, Err: fmt.Errorf(format, args...)}
}

// By says of an error which rule is broken by it, unless it names one itself.
func (r Rule) By(err error) error {
	if err == nil {
		return nil
	}
	if _, named := Of(err); named {
		return err
	}
	return &Broken{Rule: r, Err: err}
}

// Of is the rule that an error names.
func Of(err error) (Rule, bool) {
	if b, ok := errors.AsType[*Broken](err); ok {
		return b.Rule, true
	}
	return "", false
}

// Or is the rule that an error names, or another where it names none.
func Or(err error, otherwise Rule) Rule {
	if r, ok := Of(err); ok {
		return r
	}
	return otherwise
}
