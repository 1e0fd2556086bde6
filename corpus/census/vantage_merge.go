package census

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// maxKept is what is kept at most of all that one host was judged by where several judged it: as
// much as a pack has room for of every host, so that no walker takes the room of another's.
const maxKept = record.MaxPack / record.MaxPartRows

// merge puts what walkers at other places saw into the rows of a week.
type merge struct {
	run     *run
	all     []*vantage // sorted by their ids
	refused []VantageReport
	host    string            // whose row was yielded last
	kept    map[string][]byte // by digest: what it was judged by elsewhere
}

// takeIn reads what walkers at other places handed over, for a round that is taken at a moment.
// What cannot be used is told and stops nothing.
func (r *run) takeIn(ctx context.Context, w Week, taken time.Time) *merge {
	m := &merge{run: r}
	if r.Vantages == nil || len(r.Vantages.Walkers) == 0 {
		return m
	}
	root, err := os.OpenRoot(r.Vantages.Dir)
	for _, walker := range r.Vantages.Walkers {
		var v *vantage
		fault := err
		if unknown := r.Vantages.Ring.WalkerInForce(attest.KID(walker), taken.Format(time.RFC3339)); unknown != nil {
			fault = fmt.Errorf("%w; nobody would believe it: store key walker -admit names it in the ring", unknown)
		}
		if fault == nil {
			v, fault = r.openVantage(ctx, root, w, walker)
		}
		if fault == nil {
			m.all = append(m.all, v)
			continue
		}
		if errors.Is(fault, fs.ErrNotExist) {
			fault = errors.New("nothing was handed over before the round was sealed")
		}
		id := attest.KID(walker)
		r.Log.Error("a walker at another place is not counted", "week", r.Week, "walker", id, "err", fault)
		m.refused = append(m.refused, VantageReport{ID: id, Problem: fault.Error()})
	}
	if err == nil {
		_ = root.Close() // it was only read
	}
	slices.SortFunc(m.all, func(a, b *vantage) int { return strings.Compare(a.report.ID, b.report.ID) })
	return m
}

// TakeIn says what came of the walkers at other places so far, whose files are read as they are
// before the round is sealed. It changes nothing.
func TakeIn(ctx context.Context, cfg Config) (Report, error) {
	r, err := newRun(cfg)
	if err != nil {
		return Report{}, err
	}
	if err := r.count(ctx); err != nil {
		return r.report, err
	}
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil {
		return r.report, err
	}
	if w.Phase != PhaseOpen && w.Phase != PhaseClosed {
		return r.report, fmt.Errorf("census: nobody walks %s elsewhere: its roster is not closed yet, or its round is "+
			"sealed", r.Week)
	}
	m := r.takeIn(ctx, w, r.Now().UTC())
	defer m.close()
	r.report.Vantages = m.reports()
	return r.report, nil
}

// close frees the files.
func (m *merge) close() {
	for _, v := range m.all {
		_ = v.file.Close() // it was only read
	}
}

// reports say what came of each walker, sorted by ids.
func (m *merge) reports() []VantageReport {
	out := slices.Clone(m.refused)
	for _, v := range m.all {
		out = append(out, v.report)
	}
	slices.SortFunc(out, func(a, b VantageReport) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// rows yields rows with what was seen of their hosts elsewhere.
func (m *merge) rows(ctx context.Context, rows iter.Seq2[record.Row, error]) iter.Seq2[record.Row, error] {
	if len(m.all) == 0 {
		return rows
	}
	return func(yield func(record.Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				err = m.add(ctx, &row)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// add puts the vantages into one row. Where one of them disagrees, somebody is answered there and
// not here, or otherwise: the door is not ready for everybody, and the path is at fault.
func (m *merge) add(ctx context.Context, row *record.Row) error {
	m.host, m.kept = row.Host, map[string][]byte{}
	size := -1 // of all that is kept of the host; not known yet
	for _, v := range m.all {
		for v.next.Host != "" && v.next.Host < row.Host {
			m.advance(v)
		}
		l := v.next
		if l.Host != row.Host || row.Verdict == record.VerdictNotProbed || row.Late {
			continue
		}
		s, err := judgeAgain(l)
		if err != nil || s.row.URL != row.URL || s.row.Battery != row.Battery || !v.held(s.at) {
			continue
		}
		if size < 0 {
			raw, err := m.run.Store.Evidence(ctx, m.run.Week, row.Host)
			if err != nil {
				return err
			}
			size = zipped(raw)
		}
		n := zipped(l.Judgement)
		if s.row.EvidenceDigest == row.EvidenceDigest || m.kept[s.row.EvidenceDigest] != nil || size+n > maxKept {
			continue // a copy is no second look
		}
		size += n
		m.kept[s.row.EvidenceDigest] = l.Judgement
		v.report.Counted++
		row.Vantages = append(row.Vantages, record.Vantage{ID: v.report.ID, Verdict: l.Verdict,
			EvidenceDigest: s.row.EvidenceDigest})
	}
	for _, seen := range row.Vantages {
		if seen.Verdict != row.Verdict {
			row.Verdict, row.Fault = record.VerdictNotReady, record.FaultPath
			break
		}
	}
	return nil
}

// advance reads on in what a walker handed over. What was whole a moment ago and is not any more
// ends there.
func (m *merge) advance(v *vantage) {
	if err := v.advance(); err != nil {
		m.run.Log.Error("what a walker at another place handed over was changed meanwhile", "walker", v.report.ID,
			"err", err)
		v.left, v.next = 0, seenLine{}
	}
}

// zipped is how long a judgement is in a pack.
func zipped(raw []byte) int {
	b, _ := seal.Gzip(raw) // a buffer takes everything
	return len(b)
}

// evidence is what hosts were judged by, here or elsewhere, by its digest.
func (m *merge) evidence(ctx context.Context) func(host, digest string) ([]byte, error) {
	return func(host, digest string) ([]byte, error) {
		if raw := m.kept[digest]; raw != nil && host == m.host {
			return raw, nil
		}
		return m.run.Store.Evidence(ctx, m.run.Week, host)
	}
}
