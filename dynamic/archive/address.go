package archive

import (
	"crypto/sha256"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// digests are the forms in which the record may hold an address, 0x and 40 digits or base58 of a
// Solana key: on every network of its family that any row names beside an address, and on those
// that the stock client knows.
func digests(address string, named []string) []record.PayTo {
	var out []record.PayTo
	seen := map[string]bool{}
	add := func(network string) {
		// The other family's networks have no such address, and a name that is nobody's may have
		// any.
		if strings.HasPrefix(address, "0x") && strings.HasPrefix(network, "solana:") ||
			!strings.HasPrefix(address, "0x") && strings.HasPrefix(network, "eip155:") || seen[network] {
			return
		}
		seen[network] = true
		out = append(out, record.PayTo{Network: network, Digest: exchange.PayToDigest(network, address)})
	}
	for _, n := range networks.Chains() {
		if !n.Testnet {
			add(n.ID)
		}
	}
	for _, n := range named {
		add(n)
	}
	return out
}

// MaxDigests is the most networks of which a reading repeats the digest where nothing was found.
const MaxDigests = 64

// MaxDoors is the most doors that a reading of an address lists; it says how many there are.
const MaxDoors = 100

// AddressReading is where an address was advertised, and what the record says of the doors that
// did.
type AddressReading struct {
	NeverSeen bool `json:"never_seen"` // on no network that was asked, in no row
	// PossiblyLeftOut says that it was not found, and could be among what some rows count and do
	// not list, or on a network that was not asked.
	PossiblyLeftOut bool  `json:"possibly_left_out,omitzero"`
	RoundsInChain   int   `json:"rounds_in_chain"`
	NetworksAsked   int   `json:"networks_asked"`
	NetworksLeftOut int64 `json:"networks_left_out,omitzero"` // that rows name and were not asked
	// what was looked for: the first MaxDigests, and where it was found
	Digests      []record.PayTo `json:"digests"`
	DoorsTotal   int64          `json:"doors_total"`
	Doors        []AddressDoor  `json:"doors"` // by network as asked, then by host; at most MaxDoors
	StandingNote *StandingNote  `json:"standing_note"`
	Caveat       string         `json:"shared_wallet_caveat,omitzero"`
}

// AddressDoor is one host at which an address was advertised.
type AddressDoor struct {
	Host       string        `json:"host"`
	Network    string        `json:"network"`
	FirstWeek  string        `json:"first_week"` // in which it advertised the address
	LastWeek   string        `json:"last_week"`
	Rounds     int           `json:"rounds"`    // in which it did
	EntryURL   string        `json:"entry_url"` // of the last of them
	HistoryURL string        `json:"history_url"`
	Weeks      []AddressWeek `json:"weeks"` // every signed row of the host, oldest first
	Drift      []TermDrift   `json:"drift"` // in the door's own terms
}

// AddressWeek is one signed row of a host.
type AddressWeek struct {
	Week       string `json:"week"`
	Sequence   int64  `json:"sequence"`
	Verdict    string `json:"verdict"`
	Advertised bool   `json:"advertised"` // the address, in this week
	// PossiblyLeftOut is of a row that does not list the address, and leaves addresses out.
	PossiblyLeftOut bool   `json:"possibly_left_out,omitzero"`
	Snapshot        string `json:"snapshot_digest"`
	RowSHA256       string `json:"row_sha256"`
	EntryURL        string `json:"entry_url"`
}

// TermDrift is a term that differs between two weeks in which the door was observed.
type TermDrift struct {
	FromWeek string `json:"from_week"`
	ToWeek   string `json:"to_week"`
	Field    string `json:"field"`
	From     string `json:"from"`
	To       string `json:"to"`
}

// StandingNote is what a subject says of itself in the record.
type StandingNote struct {
	Statement   string `json:"statement"`
	By          string `json:"by"` // address or host
	At          string `json:"at"`
	Observation int64  `json:"observation,omitzero"`
}

// NoteOf shows the note of an observation.
func NoteOf(o record.Observation) *StandingNote {
	by := "host"
	if o.Note.Lane == "wallet" {
		by = "address"
	}
	return &StandingNote{Statement: o.Note.Statement.Text, By: by, At: o.Note.SignedAt, Observation: o.Number}
}

// NoReading is what a record without rounds says of an address.
func NoReading(address string) AddressReading {
	all := digests(address, nil)
	return AddressReading{NeverSeen: true, NetworksAsked: len(all), Digests: all[:min(len(all), MaxDigests)],
		Doors: []AddressDoor{}}
}

// Address reads what the record holds about an address, on every network that any row names beside
// one. It makes no request. base is the site's address.
func (s *State) Address(base, address string) (AddressReading, error) {
	head := s.Index.Head()
	all := digests(address, head.Networks)
	out := AddressReading{RoundsInChain: len(s.Rounds), NetworksAsked: len(all),
		NetworksLeftOut: head.NetworksAll - int64(len(head.Networks)),
		Digests:         all[:min(len(all), MaxDigests):min(len(all), MaxDigests)], Doors: []AddressDoor{}}
	for i, p := range all {
		if o, ok := s.Note(p); ok && (out.StandingNote == nil || out.StandingNote.Observation < o.Number) {
			out.StandingNote = NoteOf(o)
		}
		sum, err := s.Index.Address(p)
		if err != nil {
			return out, err
		}
		out.DoorsTotal += sum.Hosts
		if sum.Hosts > 0 && i >= MaxDigests {
			out.Digests = append(out.Digests, p)
		}
		if sum.Hosts == 0 || len(out.Doors) == MaxDoors {
			continue
		}
		for d, err := range s.Index.Doors(p) {
			if err != nil {
				return out, err
			}
			door, err := s.door(base, p, d)
			if err != nil {
				return out, err
			}
			if out.Doors = append(out.Doors, door); len(out.Doors) == MaxDoors {
				break
			}
		}
	}
	if out.DoorsTotal > 0 {
		out.Caveat = derive.SharedWalletCaveat
	}
	out.PossiblyLeftOut = out.DoorsTotal == 0 && (head.RowsCut > 0 || out.NetworksLeftOut > 0)
	out.NeverSeen = out.DoorsTotal == 0
	return out, nil
}

func (s *State) door(base string, p record.PayTo, d hostindex.AddressDoor) (AddressDoor, error) {
	last := d.Sequences[len(d.Sequences)-1]
	out := AddressDoor{Host: d.Host, Network: p.Network, FirstWeek: d.FirstWeek, LastWeek: d.LastWeek,
		Rounds:   len(d.Sequences),
		EntryURL: base + derive.RoundPath(last), HistoryURL: base + derive.HostPath(d.Host), Weeks: []AddressWeek{},
		Drift: []TermDrift{}}
	h, _, err := s.Rows(d.Host)
	if err != nil {
		return out, err
	}
	var before *record.StoredRow
	for i := range h.Rows {
		row := &h.Rows[i]
		_, advertised := slices.BinarySearch(d.Sequences, row.Sequence)
		out.Weeks = append(out.Weeks, AddressWeek{Week: row.Week, Sequence: row.Sequence, Verdict: row.Verdict,
			Advertised:      advertised,
			PossiblyLeftOut: !advertised && row.Offer != nil && row.Offer.PayToLeftOut > 0,
			Snapshot:        s.Rounds[row.Sequence-1].Digest.String(),
			RowSHA256:       attest.Digest(sha256.Sum256(row.Raw)).String(), EntryURL: base +
				derive.RoundPath(row.Sequence)})
		if !tier.Observed(&row.Row) {
			continue
		}
		if before != nil {
			for _, drift := range derive.Drifts(&before.Row, &row.Row) {
				out.Drift = append(out.Drift, TermDrift{FromWeek: before.Week, ToWeek: row.Week, Field: drift.Field,
					From: drift.From, To: drift.To})
			}
		}
		before = row
	}
	return out, nil
}
