package roster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// Reasons in words, where neither a source nor a row gives one.
const (
	reasonNotNamed     = "no source named it this week"
	reasonDeclaredLate = "it declared itself after this week's round was closed"
	reasonOverQuota    = "so many hosts declared themselves, of its domain or of all, that this week's quota for " +
		"them is used up"
	reasonDeclaredEarly = "it declared itself and this week's roster is not read yet"
)

// declaredSource names the feed of declarations where a roster has not named it yet.
const declaredSource = "declared"

// Why implements census.Store. A host that declared itself since the last roster is known as well.
func (s *Store) Why(ctx context.Context, week, host string) (census.Why, error) {
	var out census.Why
	err := s.view(ctx, func(tx ledger.Tx) (err error) {
		out, err = why(tx, week, host)
		return err
	})
	return out, err
}

func why(tx ledger.Tx, week, host string) (census.Why, error) {
	out := census.Why{Host: host, Week: week, Sources: []census.Naming{}}
	last, seen, err := ledger.FindJSON[lastRecord](tx, lastKey(host))
	if err != nil {
		return out, err
	}
	if seen {
		out.LastRow = &census.LastRow{Sequence: last.Sequence, Week: last.Week, Verdict: last.Verdict,
			Reason: last.Reason}
	}
	name, listed, err := ledger.FindJSON[namedRecord](tx, namedKey(host))
	if err != nil {
		return out, err
	}
	for _, n := range name.Named {
		out.Sources, out.Listed = append(out.Sources, census.Naming(n)), name.Week
	}
	head, begun, err := ledger.FindJSON[weekRecord](tx, weekKey(week))
	if err != nil {
		return out, err
	}
	begun = begun && head.Phase != phaseWriting && head.Phase != census.PhaseListed
	out.Known = seen || listed
	if listed && begun && name.Week == week {
		if name.Reason == census.ReasonOverQuota {
			out.ThisWeek = census.ThisWeek{State: census.StateOverQuota, Reason: reasonOverQuota}
			return out, nil
		}
		if out.ThisWeek, err = placed(tx, week, host, name); err != nil ||
			out.ThisWeek.State != census.StateNotOnRoster {
			return out, err
		}
	}
	declared, err := feed.HostDeclared(tx, host)
	if err != nil {
		return out, err
	}
	if declared != nil && len(declared.Doors) > 0 {
		if !out.Known || name.Week != week {
			out.Sources = append(out.Sources, census.Naming{Name: declaredSource, Kind: record.SourceDeclared,
				At: declared.At, URL: declared.Doors[0]})
		}
		out.Known = true
		switch {
		case !begun:
			out.ThisWeek = census.ThisWeek{State: census.StateNoRosterYet, Reason: reasonDeclaredEarly}
		case head.Phase == census.PhaseOpen:
			out.ThisWeek = census.ThisWeek{State: census.StateDeclared}
		default:
			out.ThisWeek = census.ThisWeek{State: census.StateNotOnRoster, Reason: reasonDeclaredLate}
		}
		return out, nil
	}
	switch {
	case out.ThisWeek.State != "":
	case !out.Known:
		out.ThisWeek.State = census.StateNeverNamed
	case !begun:
		out.ThisWeek.State = census.StateNoRosterYet
	default:
		out.ThisWeek = census.ThisWeek{State: census.StateNotOnRoster, Reason: reasonNotNamed}
	}
	return out, nil
}

// placed says how far a host of a week's roster is.
func placed(tx ledger.Tx, week, host string, name namedRecord) (census.ThisWeek, error) {
	row, finished, err := ledger.FindJSON[record.Row](tx, rowKey(week, host))
	if err != nil {
		return census.ThisWeek{}, err
	}
	if finished {
		return rowState(row), nil
	}
	if name.Shard < 0 {
		return census.ThisWeek{State: census.StateNotOnRoster, Reason: name.Reason}, nil
	}
	_, err = tx.Get(intentKey(week, name.Shard, host))
	switch {
	case err == nil:
		return census.ThisWeek{State: census.StateWalking}, nil
	case errors.Is(err, ledger.ErrNotFound):
		return census.ThisWeek{State: census.StateDue}, nil
	}
	return census.ThisWeek{}, err
}

// fromRecord completes an answer by the host's last row in the signed record, where that is newer
// than what the ledger remembers: a ledger may be younger than the record, and then it never heard
// of hosts that have years of history.
func (d *Reasons) fromRecord(ctx context.Context, w *census.Why) error {
	if d.Record == nil {
		return nil
	}
	row, takenAt, ok, err := d.Record(w.Host)
	if err != nil {
		return fmt.Errorf("why %s: %w", w.Host, err)
	}
	if !ok || w.LastRow != nil && w.LastRow.Sequence >= row.Sequence {
		return nil
	}
	w.LastRow = &census.LastRow{Sequence: row.Sequence, Week: row.Week, Verdict: row.Verdict, Reason: row.Reason}
	if len(w.Sources) == 0 {
		at, err := time.Parse(time.RFC3339, takenAt)
		if err != nil {
			return fmt.Errorf("why %s: round %d: %w", w.Host, row.Sequence, err)
		}
		w.Sources = append(w.Sources, census.Naming{Name: cmp.Or(row.Catalog, row.Source), Kind: row.Source, At: at,
			URL: row.URL})
	}
	if w.Known {
		return nil
	}
	w.Known = true
	if row.Week == w.Week {
		w.ThisWeek = rowState(row)
		return nil
	}
	week, err := d.Store.Week(ctx, w.Week)
	if err != nil {
		return err
	}
	if w.ThisWeek.State = census.StateNoRosterYet; week.Phase != census.PhaseNone {
		w.ThisWeek = census.ThisWeek{State: census.StateNotOnRoster, Reason: reasonNotNamed}
	}
	return nil
}

// rowState is the state of a host that has its row of the week.
func rowState(row record.Row) census.ThisWeek {
	out := census.ThisWeek{State: census.StateWalked, Reason: row.Reason, WalkedAt: row.ObservedAt}
	if row.Verdict == record.VerdictNotProbed {
		out.State = census.StateNotWalked
	}
	return out
}

// nextDue is from when on a host is walked next, the zero time if never.
func (d *Reasons) nextDue(w census.Why, now time.Time) time.Time {
	switch w.ThisWeek.State {
	case census.StateNeverNamed:
		return time.Time{}
	case census.StateDeclared, census.StateNoRosterYet:
		if d.Hourly {
			return now.Truncate(time.Hour).Add(time.Hour)
		}
		return now
	case census.StateDue, census.StateWalking:
		return now
	}
	monday, err := census.Monday(w.Week)
	if err != nil {
		return time.Time{}
	}
	return monday.AddDate(0, 0, 7)
}
