package bulk

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// The types of columns. In CSV a list is JSON, a flag is true or false, and what is absent is
// empty. In Parquet and SQLite a list is JSON text, and what is absent null; SQLite's flags are 1
// or 0.
const (
	typeText    = "text"
	typeInteger = "integer"
	typeFlag    = "flag"
	typeList    = "list"
)

// column is one column of the tables, in their order. The dictionary, the CSV file and the database
// are made of these.
type column struct {
	name    string
	kind    string // type…
	member  string // of the row's JSON, "" for what is not in the row itself
	absent  bool   // it may be absent
	meaning string
}

// inEvery are the members that every row of a record has alike; the dictionary states them once.
var inEvery = []string{"format", "origin"}

var columns = []column{
	{"leaf", typeInteger, "", false, "index of the row in the record's log, which names it for ever"},
	{"sequence", typeInteger, "sequence", false, "number of the weekly round, from 1"},
	{"week", typeText, "week", false, "ISO week of the round, such as 2026-W47"},
	{"host", typeText, "host", false, "host name in lower case; a round has each host once"},
	{"url", typeText, "url", false, "the door that was walked"},
	{"listed", typeFlag, "listed", false, "whether a catalogue listed the host that week"},
	{"source", typeText, "source", false, "how the host came onto the roster: discovery, well-known (also " +
		"a host that declared itself), list or revisit"},
	{"catalog", typeText, "catalog", false, "the catalogue that listed it, empty for none"},
	{"late", typeFlag, "late", true, "true for a host that declared itself after the week's roster was closed, whose " +
		"turn was not drawn by the week's lot"},
	{"verdict", typeText, "verdict", false, "ready, not_ready, unreachable or not_probed, as it was signed: an " +
		"erratum of the feed, which names the leaf, may say another since; not_probed is a gap of ours and says " +
		"nothing about the host"},
	{"reason", typeText, "reason", true, "why it was not probed or not reached"},
	{"reached_level", typeText, "reached_level", true, "how far the walk came, L0 to L6; absent if not probed"},
	{"failed", typeList, "failed", false, "names of the checks that failed, in the battery's order"},
	{"advisories", typeList, "advisories", false, "names of what was noted and does not decide the verdict"},
	{"also_under", typeList, "also_under", true, "objects of version, verdict and, where they differ, difference in " +
		"words: what other batteries say of the same recording"},
	{"protocols", typeList, "protocols", false, "ways to pay that the door speaks, such as x402 or mpp-v1"},
	{"method_used", typeText, "probe_method.used", true, "HTTP method with which the door was judged"},
	{"method_attempted", typeList, "probe_method.attempted", true, "HTTP methods that were tried, in order"},
	{"method_declared_by", typeText, "probe_method.declared_by", true, "where the door itself named the method"},
	{"offer_networks", typeList, "offer.networks", true,
		"CAIP-2 names of the networks on which the door asks to be paid"},
	{"offer_schemes", typeList, "offer.schemes", true, "payment schemes of the offer"},
	{"offer_min_micro_usdc", typeInteger, "offer.min_usdc", true,
		"lowest price asked, in millionths of a USDC; the signed row has it as a decimal"},
	{"offer_max_micro_usdc", typeInteger, "offer.max_usdc", true, "highest price asked, in millionths of a USDC"},
	{"offer_pay_to", typeList, "offer.pay_to", true,
		"objects of network and digest, one for each advertised address; a digest is SHA-256 of " +
			"store-pay-to/v1|<network>|<address>, the address itself is not kept"},
	{"offer_networks_left_out", typeInteger, "offer.networks_left_out", true,
		"further networks, which the row counts and does not list"},
	{"offer_pay_to_left_out", typeInteger, "offer.pay_to_left_out", true,
		"further addresses, which the row counts and does not list"},
	{"offer_not_captured_reason", typeText, "offer.not_captured_reason", true, "why the offer could not be read"},
	{"battery", typeText, "battery", false, "version of the checks"},
	{"fault", typeText, "fault", false, "whose fault a failed walk was: none, door, path or instrument"},
	{"observed_at", typeText, "observed_at", true, "when it was walked, RFC 3339 in UTC; absent if not probed"},
	{"evidence_digest", typeText, "evidence_digest", true,
		"SHA-256 of the redacted recording from which the verdict follows"},
	{"vantages", typeList, "vantages", true, "objects of id, verdict and evidence_digest: what walkers at other " +
		"places saw of the door that week"},
	{"previous_leaf", typeInteger, "previous_leaf", true,
		"leaf of the same host's row before this one; absent in its first"},
	{"kid", typeText, "kid", false, "id of the key that signed the row"},
	{"signature", typeText, "signature", false,
		"ed25519 over the row's JSON without this member, in hexadecimal; verify it with its JSON line, not with " +
			"these columns"},
}

// value is the column of a row: string, int64, bool, []byte for a list, or nil for absent.
func (c *column) value(r *record.StoredRow) (any, error) {
	if c.member == "" {
		return r.Leaf, nil
	}
	v := reflect.ValueOf(&r.Row).Elem()
	for name := range strings.SplitSeq(c.member, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, nil
			}
			v = v.Elem()
		}
		v = v.Field(members[v.Type()][name])
	}
	if c.absent && v.IsZero() {
		return nil, nil
	}
	switch x := reflect.Indirect(v).Interface().(type) {
	case attest.Hex:
		return x.String(), nil
	case string:
		if c.kind == typeInteger {
			return micro(x)
		}
		return x, nil
	case int64, bool:
		return x, nil
	default: // a list: its JSON, as it stands in the row
		b, err := attest.Canonical(x)
		return b, err
	}
}

// members are the fields of what a row is made of, by their names in its JSON.
var members = func() map[reflect.Type]map[string]int {
	all := make(map[reflect.Type]map[string]int)
	for _, t := range []reflect.Type{reflect.TypeFor[record.Row](), reflect.TypeFor[record.ProbeMethod](),
		reflect.TypeFor[record.RowOffer]()} {
		all[t] = make(map[string]int)
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			all[t][name] = i
		}
	}
	return all
}()

// micro reads a decimal of at most six places, as the record's rows have been checked to hold, in
// millionths.
func micro(decimal string) (any, error) {
	whole, part, _ := strings.Cut(decimal, ".")
	if len(part) > 6 {
		return nil, fmt.Errorf("reading amount %q: more than six places", decimal)
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading amount %q: %w", decimal, err)
	}
	return n, nil
}
