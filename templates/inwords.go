package templates

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// stated are the states of the record, each with the words that pages for people have for it.
// /glossary has them side by side.
var stated = map[string]string{
	"not_ready":               "not ready",
	"before_first_sighting":   "before we knew it",
	"listed_not_walked":       "on the list only",
	"turned_away":             "turned away",
	"not_exercised":           "not exercised",
	"not_probed":              "not checked",
	"observer_degraded":       "our own fault",
	"instrument_degraded":     "our own fault",
	"not_listed":              "on no list",
	"possibly_beyond_cap":     "maybe beyond the limit",
	"beyond_cap":              "beyond the week's limit",
	"week_over":               "no time left",
	"control_failed":          "our own line failed",
	"method_unresolved":       "takes no GET",
	"inputs_lacking":          "wants inputs first",
	"not_shown":               "nothing shows why",
	"not_judged":              "could not be judged",
	"opted_out":               "asked not to be checked",
	"not_recorded":            "no time recorded",
	"target_refused":          "leads where we never go",
	"own_host_refused":        "it is this store",
	"no_offer_seen":           "no terms were seen",
	"no_payment_required":     "its terms stand elsewhere",
	"terms_unreadable":        "its terms cannot be read",
	"no_address":              "its terms name no address",
	"no_address_in_the_offer": "its terms name no address",
	"not_observed":            "not seen in any round",
	"window_suspect":          "window suspect",
	"coverage_suspect":        "coverage suspect",
	"instrument_moved":        "our instrument changed",
	"not_comparable":          "not comparable",
	"no_such_round":           "no such round",
	"bitcoin_unchecked":       "the chain not asked",
	"bitcoin_verified":        "in Bitcoin, verified",
	"unknown_only":            "by what nobody here reads",
	"delivered_not_charged":   "delivered, not charged",
	"charged_not_delivered":   "charged, not delivered",
	"refused_and_not_charged": "refused, not charged",
}

// InWords is a state of the record as pages for people say it; what has no words of its own is
// given as it is.
func InWords(state string) string {
	if words, ok := stated[state]; ok {
		return words
	}
	return state
}

// Beside is a state in words with the record's own word beside it.
func Beside(state string) string {
	if words := InWords(state); words != state {
		return words + " (" + state + ")"
	}
	return state
}

// plainly says a sentence of the rules with the words of people.
var plainly = func() *strings.Replacer {
	var pairs []string
	// The longest first, since a state may begin as another one does.
	states := slices.SortedFunc(maps.Keys(stated), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, state := range states {
		pairs = append(pairs, state, stated[state])
	}
	return strings.NewReplacer(pairs...)
}()

// Plainly is a sentence in which the states of the record stand in words.
func Plainly(sentence string) string { return plainly.Replace(sentence) }
