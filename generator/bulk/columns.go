package bulk

import (
	"fmt"
	"strconv"
	"strings"

	"agentstore/corpus/attest"
	"agentstore/corpus/record"
)

// The types of columns. In CSV a list is JSON, a flag is true or false, and what is absent is empty. In SQLite a list is
// JSON text, a flag is 1 or 0, and what is absent is NULL.
const (
	typeText    = "text"
	typeInteger = "integer"
	typeFlag    = "flag"
	typeList    = "list"
)

// column is one column of the tables, in their order. The dictionary, the CSV file and the database are made of these.
type column struct {
	name    string
	kind    string // type…
	member  string // of the row's JSON, "" for what is not in the row itself
	absent  bool   // it may be absent
	meaning string
	// value returns the column of a row: string, int64, bool, []byte for a list, or nil for absent.
	value func(r *record.StoredRow) (any, error)
}

// inEvery are the members that every row of a record has alike; the dictionary states them once.
var inEvery = []string{"format", "origin"}

var columns = []column{
	{"leaf", typeInteger, "", false, "index of the row in the record's log, which names it for ever",
		func(r *record.StoredRow) (any, error) { return r.Leaf, nil }},
	{"sequence", typeInteger, "sequence", false, "number of the weekly round, from 1",
		func(r *record.StoredRow) (any, error) { return r.Sequence, nil }},
	{"week", typeText, "week", false, "ISO week of the round, such as 2026-W47",
		func(r *record.StoredRow) (any, error) { return r.Week, nil }},
	{"host", typeText, "host", false, "host name in lower case; a round has each host once",
		func(r *record.StoredRow) (any, error) { return r.Host, nil }},
	{"url", typeText, "url", false, "the door that was walked",
		func(r *record.StoredRow) (any, error) { return r.URL, nil }},
	{"listed", typeFlag, "listed", false, "whether a catalogue listed the host that week",
		func(r *record.StoredRow) (any, error) { return r.Listed, nil }},
	{"source", typeText, "source", false, "how the host came onto the roster: discovery, declared, well-known or revisit",
		func(r *record.StoredRow) (any, error) { return r.Source, nil }},
	{"catalog", typeText, "catalog", true, "the catalogue that listed it",
		func(r *record.StoredRow) (any, error) { return present(r.Catalog), nil }},
	{"late", typeFlag, "late", true, "true for a host that declared itself after the week's roster was closed, whose turn was not drawn by the week's lot",
		func(r *record.StoredRow) (any, error) {
			if !r.Late {
				return nil, nil
			}
			return true, nil
		}},
	{"verdict", typeText, "verdict", false, "ready, not_ready, unreachable or not_probed; not_probed is a gap of ours and says nothing about the host",
		func(r *record.StoredRow) (any, error) { return r.Verdict, nil }},
	{"reason", typeText, "reason", true, "why it was not probed or not reached",
		func(r *record.StoredRow) (any, error) { return present(r.Reason), nil }},
	{"reached_level", typeText, "reached_level", true, "how far the walk came, L0 to L6; absent if not probed",
		func(r *record.StoredRow) (any, error) { return present(r.ReachedLevel), nil }},
	{"failed", typeList, "failed", false, "names of the checks that failed, in the battery's order",
		func(r *record.StoredRow) (any, error) { return list(r.Failed) }},
	{"advisories", typeList, "advisories", false, "names of what was noted and does not decide the verdict",
		func(r *record.StoredRow) (any, error) { return list(r.Advisories) }},
	{"also_under", typeList, "also_under", true, "objects of version, verdict and, where they differ, difference in words: what other batteries say of the same recording",
		func(r *record.StoredRow) (any, error) {
			if len(r.AlsoUnder) == 0 {
				return nil, nil
			}
			return list(r.AlsoUnder)
		}},
	{"protocols", typeList, "protocols", false, "ways to pay that the door speaks, such as x402 or mpp-v1",
		func(r *record.StoredRow) (any, error) { return list(r.Protocols) }},
	{"method_used", typeText, "probe_method.used", true, "HTTP method with which the door was judged",
		func(r *record.StoredRow) (any, error) {
			return method(r, func(m *record.ProbeMethod) (any, error) { return present(m.Used), nil })
		}},
	{"method_attempted", typeList, "probe_method.attempted", true, "HTTP methods that were tried, in order",
		func(r *record.StoredRow) (any, error) {
			return method(r, func(m *record.ProbeMethod) (any, error) { return list(m.Attempted) })
		}},
	{"method_declared_by", typeText, "probe_method.declared_by", true, "where the door itself named the method",
		func(r *record.StoredRow) (any, error) {
			return method(r, func(m *record.ProbeMethod) (any, error) { return present(m.DeclaredBy), nil })
		}},
	{"offer_networks", typeList, "offer.networks", true, "CAIP-2 names of the networks on which the door asks to be paid",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return list(o.Networks) })
		}},
	{"offer_schemes", typeList, "offer.schemes", true, "payment schemes of the offer",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return list(o.Schemes) })
		}},
	{"offer_min_micro_usdc", typeInteger, "offer.min_usdc", true, "lowest price asked, in millionths of a USDC; the signed row has it as a decimal",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return micro(o.MinUSDC) })
		}},
	{"offer_max_micro_usdc", typeInteger, "offer.max_usdc", true, "highest price asked, in millionths of a USDC",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return micro(o.MaxUSDC) })
		}},
	{"offer_pay_to", typeList, "offer.pay_to", true, "objects of network and digest, one for each advertised address; a digest is SHA-256 of store-pay-to/v1|<network>|<address>, the address itself is not kept",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return list(o.PayTo) })
		}},
	{"offer_networks_left_out", typeInteger, "offer.networks_left_out", true, "further networks, which the row counts and does not list",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return leftOut(o.NetworksLeftOut), nil })
		}},
	{"offer_pay_to_left_out", typeInteger, "offer.pay_to_left_out", true, "further addresses, which the row counts and does not list",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return leftOut(o.PayToLeftOut), nil })
		}},
	{"offer_not_captured_reason", typeText, "offer.not_captured_reason", true, "why the offer could not be read",
		func(r *record.StoredRow) (any, error) {
			return offer(r, func(o *record.RowOffer) (any, error) { return present(o.NotCapturedReason), nil })
		}},
	{"battery", typeText, "battery", false, "version of the checks",
		func(r *record.StoredRow) (any, error) { return r.Battery, nil }},
	{"fault", typeText, "fault", false, "whose fault a failed walk was: none, door, path or instrument",
		func(r *record.StoredRow) (any, error) { return r.Fault, nil }},
	{"observed_at", typeText, "observed_at", true, "when it was walked, RFC 3339 in UTC; absent if not probed",
		func(r *record.StoredRow) (any, error) { return present(r.ObservedAt), nil }},
	{"evidence_digest", typeText, "evidence_digest", true, "SHA-256 of the redacted recording from which the verdict follows",
		func(r *record.StoredRow) (any, error) { return present(r.EvidenceDigest), nil }},
	{"vantages", typeList, "vantages", true, "objects of id, verdict and evidence_digest: what walkers at other places saw of the door that week",
		func(r *record.StoredRow) (any, error) {
			if len(r.Vantages) == 0 {
				return nil, nil
			}
			return list(r.Vantages)
		}},
	{"previous_leaf", typeInteger, "previous_leaf", true, "leaf of the same host's row before this one; absent in its first",
		func(r *record.StoredRow) (any, error) {
			if r.PreviousLeaf == nil {
				return nil, nil
			}
			return *r.PreviousLeaf, nil
		}},
	{"kid", typeText, "kid", false, "id of the key that signed the row",
		func(r *record.StoredRow) (any, error) { return r.KID, nil }},
	{"signature", typeText, "signature", false, "ed25519 over the row's JSON without this member, in hexadecimal; verify it with the line of rows.jsonl.gz, not with these columns",
		func(r *record.StoredRow) (any, error) { return r.Signature.String(), nil }},
}

// present is nil for an empty text.
func present(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// leftOut is nil for nothing, as the member is absent then.
func leftOut(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func method(r *record.StoredRow, of func(*record.ProbeMethod) (any, error)) (any, error) {
	if r.ProbeMethod == nil {
		return nil, nil
	}
	return of(r.ProbeMethod)
}

func offer(r *record.StoredRow, of func(*record.RowOffer) (any, error)) (any, error) {
	if r.Offer == nil {
		return nil, nil
	}
	return of(r.Offer)
}

// micro reads a decimal of at most six places, as the record's rows have been checked to hold, in millionths.
func micro(decimal string) (any, error) {
	if decimal == "" {
		return nil, nil
	}
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

// list is the JSON of a list, as it stands in the row.
func list[T any](items []T) (any, error) {
	b, err := attest.Canonical(items)
	if err != nil {
		return nil, err
	}
	return b, nil
}
