package verify

import (
	"errors"
	"fmt"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// FollowFormat names the format of a State.
const FollowFormat = "store-monitor/v1"

// maxState bounds the bytes of a state: some thousand rounds and a thousand hosts.
const maxState = 64 << 20

// FollowState is what a monitor remembers between two steps.
type FollowState struct {
	Format     string `json:"format"`     // Format
	Keys       string `json:"keys"`       // file form of the key ring
	Checkpoint string `json:"checkpoint"` // the head that was taken last, as the log signed it
	// Rounds are the headers of all rounds up to there, without what no later step needs.
	Rounds []record.Round `json:"rounds"`
	Index  int64          `json:"hosts_in_index"` // of the newest round
	Hosts  []Followed     `json:"hosts"`          // sorted by name
	SHA256 attest.Digest  `json:"sha256,omitzero"`
}

// Followed is what is remembered of a host.
type Followed struct {
	Host  string            `json:"host"`
	Entry *record.HostEntry `json:"entry,omitempty"` // nil for one that has no row in any round
	Rows  []FollowedRow     `json:"rows"`            // those that its tier is derived from, oldest first
	// Refreshes are the refreshes, and the errata of its rows, that may still bear upon its tier.
	Refreshes []string `json:"refreshes"`
	Tier      string   `json:"tier,omitzero"`
}

// FollowedRow is a row and where it stands in the log.
type FollowedRow struct {
	Leaf int64  `json:"leaf"`
	Row  string `json:"row"` // exact bytes
}

// Encode returns the file form.
func (s FollowState) Encode() ([]byte, error) {
	s.Format, s.SHA256 = FollowFormat, attest.Digest{}
	out, err := attest.Closed(s)
	if err == nil && len(out) > maxState {
		err = fmt.Errorf("%d bytes, and at most %d are read: follow fewer hosts", len(out), maxState)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding state: %w", err)
	}
	return out, nil
}

// ErrFollowState is returned for a state that cannot be used.
var ErrFollowState = errors.New("what was remembered is damaged: put back a good copy, or move it away to " +
	"begin anew, which takes what is seen first")

// ParseFollowState reads what Encode wrote. Its checkpoint must be signed by its keys.
func ParseFollowState(raw []byte) (*FollowState, error) {
	fail := func(err error) (*FollowState, error) { return nil, fmt.Errorf("%w: %w", ErrFollowState, err) }
	var s FollowState
	if err := attest.ParseClosed(raw, maxState, &s); err != nil {
		return fail(err)
	}
	if s.Format != FollowFormat {
		return fail(fmt.Errorf("format is %.40q, want %q", s.Format, FollowFormat))
	}
	ring, head, err := s.open()
	if err != nil {
		return fail(err)
	}
	if n := len(s.Rounds); n > 0 && (s.Rounds[n-1].LeavesEnd() > head.Size || s.Rounds[n-1].Sequence != int64(n)) {
		return fail(errors.New("its rounds are not those of its checkpoint"))
	}
	for _, f := range s.Hosts {
		if _, _, err := f.read(ring); err != nil {
			return fail(err)
		}
	}
	return &s, nil
}

func (s *FollowState) open() (ring attest.Ring, head tlog.Checkpoint, err error) {
	if ring, err = attest.ParseRing([]byte(s.Keys)); err == nil {
		head, _, err = tlog.OpenCheckpoint([]byte(s.Checkpoint), ring)
	}
	return ring, head, err
}

// host is what is remembered of a host, nil for one that is not followed yet.
func (s *FollowState) host(name string) *Followed {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.Hosts, func(f Followed) bool { return f.Host == name }); i >= 0 {
		return &s.Hosts[i]
	}
	return nil
}

// read takes apart what is remembered of a host.
func (f Followed) read(ring attest.Ring) (rows []record.StoredRow, refreshes []record.Observation, err error) {
	for _, r := range f.Rows {
		row, err := record.ParseRow([]byte(r.Row))
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, record.StoredRow{Row: row, Raw: []byte(r.Row), Leaf: r.Leaf})
	}
	for _, raw := range f.Refreshes {
		o, err := record.VerifyObservation([]byte(raw), ring)
		if err != nil {
			return nil, nil, err
		}
		refreshes = append(refreshes, o)
	}
	return rows, refreshes, nil
}

// followBare leaves out of a header what no later step needs.
func followBare(r record.Round) record.Round {
	r.Parts, r.Signature = []record.Part{}, nil
	r.Roster.Sources = []record.RosterSource{}
	r.Control.Evidence, r.Inflows = nil, record.Inflows{Networks: []record.NetworkInflow{}}
	return r
}
