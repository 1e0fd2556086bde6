package shop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/ots/calendar"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// TimestampsConfig says who proves when a round existed.
type TimestampsConfig struct {
	Calendars []string `toml:"calendars" doc:"OpenTimestamps calendars or pools that each round's digest is handed in at, and each that a buyer of bitcoin_anchor brings: two or more. Empty sells no bitcoin_anchor."`
	Upgrades  []string `toml:"upgrades" doc:"Calendars that are asked for the finished proof, as their addresses stand in pending ones. Only these and calendars are ever asked. Empty takes the public calendars."`
	Headers   string   `toml:"headers" doc:"File of Bitcoin block headers, a height and 160 hexadecimal digits a line, such as your own node writes, the newest within the hour: proofs are checked by them, and the order of a census is drawn by them. Empty has none."`
	Explorers []string `toml:"explorers" doc:"Addresses of Esplora APIs that are asked for headers which the file does not have, and for the newest height. Two must agree on each."`
}

// publicCalendars are those behind the public pools.
func publicCalendars() []string {
	return []string{
		"https://alice.btc.calendar.opentimestamps.org", "https://bob.btc.calendar.opentimestamps.org",
		"https://finney.calendar.eternitywall.com", "https://btc.calendar.catallaxy.com",
	}
}

func (t TimestampsConfig) check() error {
	var errs []error
	for name, list := range map[string][]string{"calendars": t.Calendars, "upgrades": t.Upgrades,
		"explorers": t.Explorers} {
		for _, raw := range list {
			if u, err := url.Parse(raw); err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
				strings.HasSuffix(raw, "/") {
				errs = append(errs, fmt.Errorf("timestamps.%s: %q is not https://host without a slash at its end", name,
					raw))
			}
		}
	}
	if len(t.Calendars) == 1 {
		errs = append(errs, errors.New("timestamps.calendars: one calendar alone may vanish with its proofs: name "+
			"two or more"))
	}
	if len(t.Explorers) == 1 {
		errs = append(errs, errors.New("timestamps.explorers: one explorer alone is taken at its word: name two or "+
			"more"))
	}
	return errors.Join(errs...)
}

// Stamped says what one run did about proofs of time.
type Stamped struct {
	Stamped  int      `json:"stamped"`  // digests handed in, counted for each calendar
	Upgraded int      `json:"upgraded"` // proofs that lead further than before
	Headers  int      `json:"headers"`  // block headers added
	Pending  int      `json:"pending"`  // rounds and anchors that no block is known for yet
	Files    []string `json:"files"`
	Problems []string `json:"problems"`
}

// subject is a digest that is proved: of a round or of an anchor.
type subject struct {
	name   string
	digest attest.Digest
	dir    string // of its proofs
	add    func(ctx context.Context, calendar string, p ots.Proof, headers map[int64]ots.Header) (string, error)
}

// stamper is one run.
type stamper struct {
	o         Outside
	client    *fetch.Client
	record    fs.FS
	calendars []ots.Calendar
	upgrades  []ots.Calendar
	bitcoin   bitcoin
	headers   map[int64]ots.Header // that are known
	out       Stamped
}

// Stamp hands in what no calendar has proved yet, asks for the proofs that have become more since,
// and covers the record with what is new. Each answer is a file of its own. A calendar that fails
// is a problem in the report, not an error.
func Stamp(ctx context.Context, c *Config, o Outside) (Stamped, error) {
	if len(c.Timestamps.Calendars) == 0 {
		return Stamped{}, errors.New("no calendar is configured: name two or more as timestamps.calendars")
	}
	w, err := RecordWriter(c)
	if err != nil {
		return Stamped{}, err
	}
	if _, err := w.CatchUp(ctx); err != nil {
		return Stamped{}, err
	}
	s := &stamper{o: o, record: os.DirFS(c.Record), headers: map[int64]ots.Header{},
		out: Stamped{Files: []string{}, Problems: []string{}}}
	if s.client, err = o.client(c); err != nil {
		return s.out, err
	}
	s.bitcoin = bitcoin{explorers: c.Timestamps.Explorers, client: s.client}
	if s.calendars, s.upgrades, err = c.Timestamps.remotes(s.client); err != nil {
		return s.out, err
	}
	if c.Timestamps.Headers != "" {
		if s.headers, err = readHeaders(c.Timestamps.Headers); err != nil {
			return s.out, err
		}
	}
	subjects, err := subjectsOf(c, w)
	if err != nil {
		return s.out, err
	}
	for _, sub := range subjects {
		if err := s.prove(ctx, sub); err != nil {
			return s.out, err
		}
	}
	if len(s.out.Files) > 0 || s.out.Headers > 0 {
		return s.out, CoverRecord(ctx, c, w)
	}
	return s.out, nil
}

// remotes are the calendars that digests are handed in at, and all that are asked what became of
// them.
func (t TimestampsConfig) remotes(client *fetch.Client) (calendars, upgrades []ots.Calendar, err error) {
	asked := t.Upgrades
	if len(asked) == 0 {
		asked = publicCalendars()
	}
	for _, raw := range t.Calendars {
		r, err := calendar.New(client, raw)
		if err != nil {
			return nil, nil, err
		}
		calendars, upgrades = append(calendars, r), append(upgrades, r)
	}
	for _, raw := range asked {
		if slices.Contains(t.Calendars, raw) {
			continue
		}
		r, err := calendar.New(client, raw)
		if err != nil {
			return nil, nil, err
		}
		upgrades = append(upgrades, r)
	}
	return calendars, upgrades, nil
}

// subjectsOf are the rounds and the anchors of the record.
func subjectsOf(c *Config, w *seal.Writer) ([]subject, error) {
	r, err := record.Open(os.DirFS(c.Record), w.Ring)
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
	s.o.Log.Warn("timestamps", "problem", text)
}

// held is what a calendar gave about a subject, merged.
type held struct {
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
	for _, c := range s.calendars {
		if !slices.ContainsFunc(all, func(h held) bool { return h.calendar == calendarName(c.URI()) }) {
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
func (s *stamper) upgrade(ctx context.Context, sub subject, h held) (ots.Proof, error) {
	if blocks(h.proof) {
		return h.proof, nil
	}
	further, changed, err := ots.Upgrade(ctx, h.proof, s.upgrades)
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
		h, ok := s.headers[c.Height]
		if !ok {
			var err error
			if h, ok, err = s.bitcoin.explore(ctx, c.Height); err != nil {
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
		s.headers[c.Height] = h
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
func (s *stamper) held(sub subject) (all []held, headers map[int64]bool, err error) {
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
		at := slices.IndexFunc(all, func(h held) bool { return h.calendar == base[:i] })
		if at < 0 {
			all = append(all, held{base[:i], p})
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

// readHeaders reads a file of headers: a height and 160 hexadecimal digits a line.
func readHeaders(file string) (map[int64]ots.Header, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading timestamps.headers: %w", err)
	}
	defer f.Close()
	out := map[int64]ots.Header{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		height, header, _ := strings.Cut(text, " ")
		at, err := strconv.ParseInt(height, 10, 64)
		if err != nil || at < 0 {
			return nil, fmt.Errorf("timestamps.headers, line %d: %q is no height", n, height)
		}
		if out[at], err = ots.ParseHeader([]byte(strings.ToLower(strings.TrimSpace(header)) + "\n")); err != nil {
			return nil, fmt.Errorf("timestamps.headers, line %d: %w", n, err)
		}
	}
	return out, lines.Err()
}
