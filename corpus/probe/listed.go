package probe

import (
	"cmp"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
)

// The bounds of an item of a catalogue, in bytes, of which the door is read and of which the terms
// are.
const (
	maxItem   = 256 << 10
	maxListed = 64 << 10
)

// DeclaredDoor is a door that a catalogue or a host's own file names. Method is upper case, "" when
// that does not say.
type DeclaredDoor struct {
	URL    string `json:"url"`
	Method string `json:"method"`
}

// ListedDoor reads the door that an item of a catalogue names, whose address is base: the http(s)
// URL, absolute or relative, and the method in the places where sellers put it. It reports whether
// there is one.
func ListedDoor(item []byte, base string) (DeclaredDoor, bool) {
	from, err := url.Parse(base)
	if err != nil || len(item) > maxItem {
		return DeclaredDoor{}, false
	}
	return listedDoor(object(item), from)
}

func listedDoor(entry *exchange.Object, from *url.URL) (DeclaredDoor, bool) {
	ref := cmp.Or(str(entry, "url"), str(entry, "resource"), str(obj(entry, "resource"), "url"), str(entry, "path"))
	u, err := from.Parse(ref)
	if err != nil || ref == "" || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return DeclaredDoor{}, false
	}
	return DeclaredDoor{URL: u.String(), Method: strings.ToUpper(methodOf(entry))}, true
}

// methodOf finds the method in the places where sellers put it.
func methodOf(entry *exchange.Object) string {
	for _, holder := range []*exchange.Object{
		entry,
		obj(entry, "input"),
		obj(obj(obj(obj(entry, "extensions"), "bazaar"), "info"), "input"),
		obj(obj(entry, "outputSchema"), "input"),
		obj(obj(entry, "metadata"), "input"),
	} {
		if method := str(holder, "method"); method != "" {
			return method
		}
	}
	list := items(entry, "accepts")
	for _, item := range list[:min(len(list), MaxEntries)] {
		way, _ := item.(*exchange.Object)
		if method := str(obj(obj(way, "outputSchema"), "input"), "method"); method != "" {
			return method
		}
	}
	return ""
}

// ListedTerms reads the ways to pay that an item of a catalogue states in its accepts, as those of
// a door's own challenge are read: addresses by form and digest. There are none where it states
// none, or none that can be read.
func ListedTerms(item []byte) []Requirement {
	if len(item) > maxListed {
		return nil
	}
	var out []Requirement
	list := items(object(item), "accepts")
	for i, each := range list[:min(len(list), MaxEntries)] {
		entry, _ := each.(*exchange.Object)
		if chain, ok := networks.FindV1(str(entry, "network")); ok {
			entry.Set("network", chain.ID)
		}
		if amount := str(entry, "maxAmountRequired"); amount != "" && !has(entry, "amount") {
			entry.Set("amount", amount) // version 1 calls it so
		}
		out = append(out, requirement(i, each, exchange.PayToDigest))
	}
	return out
}
