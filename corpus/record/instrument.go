package record

import (
	"bytes"
	"fmt"
	"slices"

	"store.example/agentstore/corpus/rule"
)

// ErratumError is the kind of an erratum of a verdict that was false by a fault of our own.
const ErratumError = "instrument_error"

// Cause is why a verdict was false. It is the keeper's word, and what an erratum rests on is not:
// nobody can see from outside why an instrument erred.
type Cause struct {
	Name    string `json:"cause"`
	Meaning string `json:"meaning"`
}

// The causes that a judgement itself shows.
const (
	CauseBotWall = "bot_wall"
	CauseMethod  = "method"
	CauseClient  = "client_model"
	CauseCheck   = "check"
	CauseInputs  = "inputs"
)

var causes = []Cause{
	{CauseBotWall, "the answer of a bot wall was taken for the door's"},
	{CauseCheck, "a check of the battery asked for what nobody needs, or not for what is needed"},
	{CauseClient, "a client was held to do otherwise than it does"},
	{CauseInputs, "the door was asked without the inputs that it needs"},
	{CauseMethod, "the door was asked with a method that is not its own"},
	{"networks", "a chain or a token was not known, or known wrongly"},
	{"own_network", "the way to the door was broken at our own end"},
	{"own_timeout", "the door was not waited for as long as its buyers wait"},
	{"parser", "what the door sent was read wrongly"},
}

// Causes are all of them, by name.
func Causes() []Cause { return slices.Clone(causes) }

func (e *Erratum) hasCause(c Cause) bool { return c.Name == e.Cause }

// checkNames demands checks within the bounds of a row's.
func (e *Erratum) checkNames() error {
	if len(e.Checks) > maxFailed {
		return fmt.Errorf("an erratum of %d checks, more than %d", len(e.Checks), maxFailed)
	}
	for _, name := range e.Checks {
		if name == "" || TextBytes(name) > maxCheck {
			return fmt.Errorf("an erratum of check %.80q", name)
		}
	}
	return nil
}

// FalseChecks are the checks that a row told falsely, as what it was judged by gives another
// verdict now: of those that it failed the ones that are not failed now, and where it was ready
// those that are.
func FalseChecks(row Row, now Walk) []string {
	if row.Verdict == VerdictReady {
		return now.Failed
	}
	var out []string
	for _, name := range row.Failed {
		if !slices.Contains(now.Failed, name) {
			out = append(out, name)
		}
	}
	return out
}

// Errs demands of an instrument_error that its row has a verdict, and another one, and that its
// checks are those that were told falsely. now is what the erratum rests on gives, nil where that
// was not judged. An erratum of no kind passes.
func (e Erratum) Errs(row Row, now *Walk) error {
	switch {
	case e.Kind == "":
		return nil
	case row.Verdict == VerdictNotProbed || row.Verdict == e.VerdictNow:
		return rule.ErratumBasis.Errorf("the row says %s, and an instrument_error to %s needs another verdict",
			row.Verdict, e.VerdictNow)
	case now != nil && !slices.Equal(e.Checks, FalseChecks(row, *now)):
		return rule.ErratumBasis.Errorf("its checks are %q, and those that were told falsely %q", e.Checks,
			FalseChecks(row, *now))
	}
	return nil
}

// ErrsOn demands of an instrument_error that rests on a look that this is the row's own: the same
// exchanges, judged again. own is what the row was judged by, nil where that is not kept; a row
// that walkers at other places contradict is not corrected by one look.
func (e Erratum) ErrsOn(row Row, look, own []byte) error {
	if e.Kind == "" {
		return nil
	}
	if i := slices.IndexFunc(row.Vantages, func(v Vantage) bool { return v.Verdict != row.Verdict }); i >= 0 {
		return rule.ErratumBasis.Errorf("vantage %s saw %s, and one look does not gainsay it", row.Vantages[i].ID,
			row.Vantages[i].Verdict)
	}
	_, again, _ := bytes.Cut(look, []byte{'\n'})
	if _, first, _ := bytes.Cut(own, []byte{'\n'}); own != nil && !bytes.Equal(again, first) {
		return rule.ErratumBasis.Errorf("an instrument_error rests on the row's own look, judged again, and this is " +
			"another")
	}
	return nil
}
