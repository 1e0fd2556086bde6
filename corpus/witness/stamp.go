package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/ots/calendar"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// Stamped says what one run did about proofs of time.
type Stamped struct {
	Stamped  int      `json:"stamped"`  // digests handed in, counted for each calendar
	Upgraded int      `json:"upgraded"` // proofs that lead further than before
	Headers  int      `json:"headers"`  // block headers added
	Pending  int      `json:"pending"`  // rounds and anchors that no block is known for yet
	Files    []string `json:"files"`
	Problems []string `json:"problems"`
}

// Changed reports whether the record has what its manifest does not know.
func (s Stamped) Changed() bool { return len(s.Files) > 0 || s.Headers > 0 }

// subject is a digest that is proved: of a round or of an anchor.
type subject struct {
	name   string
	digest attest.Digest
	dir    string // of its proofs
	add    func(ctx context.Context, calendar string, p ots.Proof, headers map[int64]ots.Header) (string, error)
}

// stamper is one run.
type stamper struct {
	Stamping
	record fs.FS
	known  map[int64]ots.Header // by height
	out    Stamped
}

// Stamping is what a run of Stamp goes by.
type Stamping struct {
	Writer    *seal.Writer
	Calendars []ots.Calendar // that digests are handed in at
	Asked     []ots.Calendar // what became of them
	Headers   calendar.Headers
	Log       *slog.Logger
}

// Stamp hands in what no calendar has proved yet, asks for the proofs that have become more since,
// and keeps what is new beside the record, which the caller covers. Each answer is a file of its
// own. A calendar that fails is a problem in the report, not an error.
func Stamp(ctx context.Context, by Stamping) (Stamped, error) {
	s := &stamper{Stamping: by, record: os.DirFS(by.Writer.Dir), known: map[int64]ots.Header{},
		out: Stamped{Files: []string{}, Problems: []string{}}}
	if _, err := by.Writer.CatchUp(ctx); err != nil {
		return s.out, err
	}
	if by.Headers.File != "" {
		var err error
		if s.known, err = calendar.ReadHeaders(by.Headers.File); err != nil {
			return s.out, err
		}
	}
	subjects, err := subjectsOf(s.record, by.Writer)
	if err != nil {
		return s.out, err
	}
	for _, sub := range subjects {
		if err := s.prove(ctx, sub); err != nil {
			return s.out, err
		}
	}
	return s.out, nil
}

// subjectsOf are the rounds and the anchors of the record.
func subjectsOf(from fs.FS, w *seal.Writer) ([]subject, error) {
	r, err := record.Open(from, w.Ring)
	if err != nil {
		return nil, err
	}
	var out []subject
	for _, round := range r.Rounds() {
		n := round.Sequence
		out = append(out, subject{name: fmt.Sprintf("round %d", n), digest: round.Digest, dir: record.ProofDir(n),
			add: func(ctx context.Context, cal string, p ots.Proof, h map[int64]ots.Header) (string, error) {
				return w.AddProof(ctx, n, cal, p, h)
			}})
	}
	chain, err := r.Anchors()
	if err != nil {
		return nil, err
	}
	for _, a := range chain {
		digest, err := a.Digest()
		if err != nil {
			return nil, err
		}
		out = append(out, subject{name: fmt.Sprintf("anchor %d", a.Sequence), digest: digest,
			dir: record.AnchorProofDir(a.Sequence),
			add: func(ctx context.Context, cal string, p ots.Proof, h map[int64]ots.Header) (string, error) {
				return w.AddAnchorProof(ctx, a.Sequence, cal, p, h)
			}})
	}
	return out, nil
}

func (s *stamper) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.out.Problems = append(s.out.Problems, text)
	s.Log.Warn("timestamps", "problem", text)
}

// proven is what a calendar gave about a subject, merged.
type proven struct {
	calendar string
	proof    ots.Proof
}

// prove does what can be done about one subject.
func (s *stamper) prove(ctx context.Context, sub subject) error {
	all, have, err := s.held(sub)
	if err != nil {
		return err
	}
	var missing []ots.Calendar
	for _, c := range s.Calendars {
		if !slices.ContainsFunc(all, func(h proven) bool { return h.calendar == calendarName(c.URI()) }) {
			missing = append(missing, c)
		}
	}
	proofs, problems, err := ots.Stamp(ctx, sub.digest, missing)
	if len(missing) == 0 {
		err = nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil && len(all) == 0 {
		s.problem("%s: %v", sub.name, err)
	}
	for i, p := range proofs {
		if problems[i] != nil {
			if err == nil || len(all) > 0 {
				s.problem("%s: %v", sub.name, problems[i])
			}
			continue
		}
		name, err := sub.add(ctx, calendarName(missing[i].URI()), p, nil)
		if err != nil {
			return err
		}
		s.out.Stamped, s.out.Files = s.out.Stamped+1, append(s.out.Files, name)
	}
	inBlock := false
	for _, h := range all {
		p, err := s.upgrade(ctx, sub, h)
		if err != nil {
			return err
		}
		if !blocks(p) {
			continue
		}
		inBlock = true
		if err := s.addHeaders(ctx, sub, h.calendar, p, have); err != nil {
			return err
		}
	}
	if !inBlock {
		s.out.Pending++
	}
	return nil
}

// upgrade returns a proof as far as its calendar can lead it by now, and keeps what is new of it.
func (s *stamper) upgrade(ctx context.Context, sub subject, h proven) (ots.Proof, error) {
	if blocks(h.proof) {
		return h.proof, nil
	}
	further, changed, err := ots.Upgrade(ctx, h.proof, s.Asked)
	if err := ctx.Err(); err != nil {
		return h.proof, err
	}
	if err != nil {
		s.problem("%s: %v", sub.name, err)
	}
	if !changed {
		return h.proof, nil
	}
	name, err := sub.add(ctx, h.calendar, further, nil)
	if err != nil {
		return h.proof, err
	}
	s.out.Upgraded, s.out.Files = s.out.Upgraded+1, append(s.out.Files, name)
	return further, nil
}

// blocks reports whether a proof leads to a block.
func blocks(p ots.Proof) bool {
	return slices.ContainsFunc(p.Claims(), func(c ots.Claim) bool { return c.Kind == ots.Bitcoin })
}

// addHeaders puts the headers of a proof's blocks beside it, as far as they can be had.
func (s *stamper) addHeaders(ctx context.Context, sub subject, cal string, p ots.Proof, have map[int64]bool) error {
	for _, c := range p.Claims() {
		if c.Kind != ots.Bitcoin || have[c.Height] {
			continue
		}
		h, ok := s.known[c.Height]
		if !ok {
			var err error
			if h, ok, err = s.Headers.Explore(ctx, c.Height); err != nil {
				s.problem("%s: block %d: %v", sub.name, c.Height, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := h.Commits(c.Message); err != nil {
			s.problem("%s: block %d does not commit to the proof by %s: %v", sub.name, c.Height, cal, err)
			continue
		}
		s.known[c.Height] = h
		if name, err := sub.add(ctx, cal, p, map[int64]ots.Header{c.Height: h}); err != nil {
			return err
		} else if name != "" {
			s.out.Files = append(s.out.Files, name)
		}
		have[c.Height] = true
		s.out.Headers++
	}
	return nil
}

// held reads what stands about a subject, merged for each calendar, and the heights whose headers
// do.
func (s *stamper) held(sub subject) (all []proven, headers map[int64]bool, err error) {
	headers = map[int64]bool{}
	entries, err := fs.ReadDir(s.record, sub.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, headers, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading proofs: %w", err)
	}
	for _, e := range entries {
		if height, ok := strings.CutSuffix(e.Name(), ".header"); ok {
			if n, err := strconv.ParseInt(height, 10, 64); err == nil {
				headers[n] = true
			}
			continue
		}
		base, ok := strings.CutSuffix(e.Name(), ".ots")
		i := strings.LastIndexByte(base, '-')
		if !ok || i < 0 || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		raw, err := fs.ReadFile(s.record, path.Join(sub.dir, e.Name()))
		if err != nil {
			return nil, nil, fmt.Errorf("reading proofs: %w", err)
		}
		p, err := ots.Parse(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("%s/%s: %w", sub.dir, e.Name(), err)
		}
		at := slices.IndexFunc(all, func(h proven) bool { return h.calendar == base[:i] })
		if at < 0 {
			all = append(all, proven{base[:i], p})
			continue
		}
		if all[at].proof, err = ots.Merge(all[at].proof, p); err != nil {
			return nil, nil, fmt.Errorf("%s/%s: %w", sub.dir, e.Name(), err)
		}
	}
	return all, headers, nil
}

// calendarName is how a calendar stands in the names of files.
func calendarName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri // New took it for a URL
	}
	return strings.Trim(strings.ToLower(strings.ReplaceAll(u.Host+u.Path, "/", ".")), ".")
}
