package census

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

const (
	// A file that is handed over has at most so many bytes, and so many for each host: a good file
	// has a fifth of that. It is asked before anything of it is read.
	seenBase    = 4 << 20
	seenPerHost = 24 << 10

	// clockSkew is how far the clocks of two machines may be apart, and controlReach how near the
	// walk to the control door must be that speaks for another.
	clockSkew    = 2 * time.Minute
	controlReach = time.Hour

	// seenChunk is how many walks are read before they are judged on all cores.
	seenChunk = 256
)

// vantage is a file that was handed over and found whole, read once more beside the rows.
type vantage struct {
	report   VantageReport
	file     *os.File
	in       *bufio.Reader
	left     int64 // walks that were not read again
	next     seenLine
	controls []controlSeen // sorted by their times
}

// controlSeen is a walk of the walker to the control door.
type controlSeen struct {
	at   time.Time
	held bool
}

// seenAgain is a walk as it was judged again.
type seenAgain struct {
	row record.Row
	at  time.Time
}

// judgeAgain reaches a verdict again from what it was judged by.
func judgeAgain(l seenLine) (s seenAgain, err error) {
	j, err := probe.DecodeJudgement(l.Judgement)
	if err != nil {
		return s, err
	}
	report, err := j.Judge()
	if err != nil {
		return s, err
	}
	s.row = rejudge.RowFrom(report, j)
	s.at, err = time.Parse(time.RFC3339, report.Evidence.ObservedAt)
	return s, err
}

// openVantage reads what a walker handed over: the whole of it is as the walker signed it and holds
// what this week's commission asks for, or nothing of it is used.
func (r *run) openVantage(ctx context.Context, root *os.Root, w Week, walker ed25519.PublicKey) (v *vantage,
	err error) {
	file, err := root.Open(r.Vantages.file(r.Week, walker, ".seen"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if most := seenBase + seenPerHost*w.Closed.Hosts; !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("it is no file, or larger than %d bytes for %d hosts", most, w.Closed.Hosts)
	}
	v = &vantage{report: VantageReport{ID: attest.KID(walker)}, file: file, in: bufio.NewReader(file)}
	said, err := r.readHeads(v.in, w, walker)
	if err != nil {
		return nil, err
	}
	v.report.Walks, v.report.Control, v.left = said.Walks, said.Controls, said.Walks
	begin, err := r.readSeen(ctx, v, w, said)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(v.controls, func(a, b controlSeen) int { return a.at.Compare(b.at) })
	if !slices.ContainsFunc(v.controls, func(c controlSeen) bool { return c.held }) {
		return nil, errors.New("no walk to the control door held, so nothing that was seen counts")
	}
	if _, err := file.Seek(begin, io.SeekStart); err != nil {
		return nil, err
	}
	v.in.Reset(file)
	return v, v.advance()
}

// readHeads reads the commission and the statement, and demands that both are of this week.
func (r *run) readHeads(in *bufio.Reader, w Week, walker ed25519.PublicKey) (s statement, err error) {
	c, digest, err := readCommission(in, r.Vantages.Ring)
	if err != nil {
		return s, err
	}
	signer, _ := r.Vantages.Ring.ByKID(c.KID)
	switch {
	case c.Origin != r.Vantages.Origin || c.Week != r.Week || c.RosterDigest != w.Closed.Digest ||
		c.Hosts != w.Closed.Hosts:
		return s, fmt.Errorf("it is of the roster %s of %.40q and %.40q, and not of this week's: hand it over in its "+
			"week", c.RosterDigest, c.Origin, c.Week)
	case string(c.Walker) != string(walker):
		return s, fmt.Errorf("it is the commission of another walker, %s", c.Walker)
	case c.Battery != probe.Current() || c.Control != r.Control.URL:
		return s, errors.New("it was commissioned by another battery or control door than are in force now")
	}
	if err := signer.InForce(w.OpenedAt.UTC().Format(time.RFC3339)); err != nil {
		return s, err
	}
	line, err := readLine(in, maxHandedHead)
	if err == nil {
		err = attest.ParseCanonical(line, &s)
	}
	if err != nil {
		return s, fmt.Errorf("reading the statement: %w", err)
	}
	payload, err := s.payload()
	if err != nil || s.Format != VantageFormat || s.Commission != digest || s.KID != attest.KID(walker) ||
		!attest.Verify(walker, payload, s.Signature) {
		return s, errors.Join(errors.New("the statement is not the walker's, or not on this commission"), err)
	}
	// The walks to the control door are one before and one behind each batch, of one host or more.
	if s.Walks < 0 || s.Walks > c.Hosts || s.Controls < 0 || s.Controls > 2*c.Hosts+2 {
		return s, fmt.Errorf("%d walks and %d to the control door, of %d hosts", s.Walks, s.Controls, c.Hosts)
	}
	return s, nil
}

// readSeen reads and judges everything behind the heads, and returns where the walks begin.
func (r *run) readSeen(ctx context.Context, v *vantage, w Week, said statement) (begin int64, err error) {
	sum, last := seenHash{sha256.New()}, ""
	var some []seenLine
	for n := int64(0); n < said.Controls+said.Walks; n++ {
		if n == said.Controls {
			at, err := v.file.Seek(0, io.SeekCurrent)
			if err != nil {
				return 0, err
			}
			begin = at - int64(v.in.Buffered())
		}
		l, err := readSeenLine(v.in)
		if err == nil && (l.Host == "") != (n < said.Controls) {
			err = errors.New("a walk to the control door is not among its like")
		}
		if err == nil && l.Host != "" && l.Host <= last {
			err = fmt.Errorf("%.253q after %.253q: a host stands once, in its order", l.Host, last)
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", n+3, err)
		}
		last = l.Host
		sum.add(l)
		if some = append(some, l); len(some) == seenChunk || n == said.Controls+said.Walks-1 {
			if err := r.judgeSeen(ctx, v, w, some); err != nil {
				return 0, err
			}
			some = some[:0]
		}
	}
	if _, err := v.in.ReadByte(); !errors.Is(err, io.EOF) {
		return 0, errors.New("something stands behind the last walk")
	}
	if sum.sum() != said.Seen {
		return 0, errors.New("what stands there is not what the walker signed")
	}
	return begin, nil
}

func readSeenLine(in *bufio.Reader) (l seenLine, err error) {
	line, err := readLine(in, maxSeenLine)
	if err == nil {
		err = attest.ParseCanonical(line, &l)
	}
	if err == nil && len(l.Judgement) > maxSeen {
		err = fmt.Errorf("a judgement of more than %d bytes", maxSeen)
	}
	return l, err
}

// judgeSeen judges some lines again, on all cores, and refuses what gives another verdict, or was
// not seen between the closing of the roster and now.
func (r *run) judgeSeen(ctx context.Context, v *vantage, w Week, some []seenLine) error {
	earliest, latest := w.OpenedAt.Add(-clockSkew), r.Now().Add(clockSkew)
	door, err := url.Parse(r.Control.URL)
	if err != nil {
		return err
	}
	judged := make([]seenAgain, len(some))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, l := range some {
		g.Go(func() error {
			s, err := judgeAgain(l)
			if err == nil {
				err = ctx.Err()
			}
			at, fault := url.Parse(s.row.URL)
			switch {
			case err != nil:
			case s.row.Battery != probe.Current():
				err = fmt.Errorf("it was judged by battery %.40q", s.row.Battery)
			case s.at.Before(earliest) || s.at.After(latest):
				err = fmt.Errorf("it was seen at %s, and the roster was closed at %s", s.row.ObservedAt,
					w.OpenedAt.Format(time.RFC3339))
			case l.Host == "" && (fault != nil || at.Host != door.Host):
				err = fmt.Errorf("the control door is %s, and not %.200q", r.Control.URL, s.row.URL)
			case l.Host != "" && (l.Verdict != s.row.Verdict || s.row.EvidenceDigest == ""):
				err = fmt.Errorf("it says %.40q, and what it was judged by gives %s", l.Verdict, s.row.Verdict)
			}
			if err != nil {
				return fmt.Errorf("the walk of %.253q: %w", l.Host, err)
			}
			judged[i] = s
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, s := range judged {
		if some[i].Host == "" {
			v.controls = append(v.controls, controlSeen{s.at, s.row.Verdict == record.VerdictReady})
		}
	}
	return nil
}

// held reports whether the walker's own path was whole at a time: every walk to the control door
// that is nearest to it held, and it is near.
func (v *vantage) held(at time.Time) bool {
	nearest, held := controlReach+1, false
	i, _ := slices.BinarySearchFunc(v.controls, at, func(c controlSeen, t time.Time) int { return c.at.Compare(t) })
	look := func(c controlSeen) (farther bool) {
		switch d := c.at.Sub(at).Abs(); {
		case d > nearest:
			return true
		case d == nearest:
			held = held && c.held
		default:
			nearest, held = d, c.held
		}
		return false
	}
	for n := i; n < len(v.controls) && !look(v.controls[n]); n++ {
	}
	for n := i - 1; n >= 0 && !look(v.controls[n]); n-- {
	}
	return held
}

// advance reads the next walk; none has no host.
func (v *vantage) advance() (err error) {
	v.next = seenLine{}
	if v.left > 0 {
		v.left--
		v.next, err = readSeenLine(v.in)
	}
	return err
}
