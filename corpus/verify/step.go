package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// MaxFollowedHosts is how many hosts one monitor follows.
const MaxFollowedHosts = 1000

// FollowOptions says what is followed, and whom the one who follows trusts.
type FollowOptions struct {
	Hosts []string // in lower case
	// Ring is as in CloneOptions.
	Ring []byte
	// Policy, if there is one, demands that one of its logs signed the head and that its quorum
	// cosigned it: until then nothing of a step is taken.
	Policy *tlog.Policy
	// Mirrors are others that show heads of the log, which the head of a step has to agree with.
	Mirrors []Mirror
	// AsOf is as in RecordOptions.
	AsOf string
	// Now is as in RecordOptions.
	Now time.Time
}

// step carries one step through its parts.
type step struct {
	fsys   fs.FS
	o      FollowOptions
	before *FollowState
	out    FollowReport
	ring   attest.Ring
	head   tlog.Checkpoint
	old    tlog.Checkpoint // that was taken before; the zero Checkpoint for none
	log    *tlog.Log
	rounds []record.Round
	known  int   // so many of the rounds were known before
	index  int64 // hosts in the index of the newest round
	table  *record.HostTable
	hosts  []*followStep
	// news are new observations that are of a host that is followed, or may be.
	news   []record.Observation
	errata []erratum
	closed record.Closings // as far as they were read
}

// problem is something that does not hold, as an error.
type problem struct {
	path string
	err  error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// errTold ends a step whose report says why.
var errTold = errors.New("the report says why")

// followAt says of an error with which file it has to do, and which rule is broken unless the error
// names one. What could not be read breaks none.
func followAt(name string, broken rule.Rule, err error) error {
	if err == nil || unread(err) {
		return err
	}
	return &problem{name, broken.By(err)}
}

// unread reports whether an error is that a file could not be had, which says nothing about it. One
// that is there and larger than it may be names a rule.
func unread(err error) bool {
	_, path := errors.AsType[*fs.PathError](err)
	_, broken := rule.Of(err)
	return path && !broken
}

// Follow goes on from what was remembered, nil for nothing, with what is published now. The state
// is what to remember next; it is nil where nothing was taken, because something is wrong or
// lacking,
// as the report says. The error is for files that could not be had: then nothing is known, and a
// later step may do. It has nothing to do with what was remembered but where it is ErrState.
func Follow(fsys fs.FS, before *FollowState, o FollowOptions) (FollowReport, *FollowState, error) {
	s := &step{fsys: fsys, o: o, before: before, closed: make(record.Closings)}
	s.out.Changes, s.out.Hosts, s.out.Mirrors = []FollowedChange{}, []FollowedHost{}, []MirrorReport{}
	s.out.Unproven, s.out.Problems = []string{}, []Problem{}
	if len(o.Hosts) > MaxFollowedHosts {
		return s.out, nil, fmt.Errorf("following %d hosts: one monitor follows at most %d", len(o.Hosts),
			MaxFollowedHosts)
	}
	if err := CheckAsOf(o.AsOf); err != nil {
		return s.out, nil, err
	}
	err := s.run()
	if p, ok := errors.AsType[*problem](err); ok {
		broken, _ := rule.Of(p.err)
		s.out.Problems = append(s.out.Problems, Problem{Path: p.path, Kind: attest.ProblemChanged,
			Detail: p.Error(), Rule: broken})
	}
	switch {
	case s.out.Refused() || errors.Is(err, errTold):
		return s.out, nil, nil
	case err != nil:
		return s.out, nil, err
	}
	next, err := s.state()
	return s.out, next, err
}

func (s *step) run() error {
	for _, part := range []func() error{s.keys, s.checkpoint, s.goesOn, s.mirrors, s.quorum, s.headers, s.observations,
		s.follow, s.tell} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// keys reads the ring, which must go on from the one that is remembered, and from the one of the
// caller.
func (s *step) keys() error {
	var pinned []byte
	if len(s.o.Ring) > 0 {
		if _, err := TrustedKeys(s.o.Ring, nil); err != nil {
			return fmt.Errorf("reading the keys to trust: %w", err)
		}
		pinned = s.o.Ring
	}
	raw, err := fs.ReadFile(s.fsys, record.RingFile)
	if err == nil {
		s.ring, err = attest.ParseRing(raw)
	}
	if err != nil {
		return followAt(record.RingFile, rule.RingForm, err)
	}
	if s.before != nil {
		if _, s.old, err = s.before.open(); err != nil {
			return fmt.Errorf("%w: %w", ErrFollowState, err)
		}
		if s.ring, err = TrustedKeys(raw, []byte(s.before.Keys)); err != nil {
			return followAt(record.RingFile, rule.RingKnown, err)
		}
	}
	if pinned != nil {
		if raw, err = s.ring.Encode(); err != nil {
			return err
		}
		if s.ring, err = TrustedKeys(raw, pinned); err != nil {
			return followAt(record.RingFile, rule.RingKnown, err)
		}
	}
	s.out.Keys = KeysOf(s.ring, pinned != nil)
	return nil
}

// checkpoint reads the head.
func (s *step) checkpoint() error {
	raw, err := fs.ReadFile(s.fsys, tlog.Path("checkpoint"))
	if err != nil {
		return followAt(tlog.Path("checkpoint"), rule.CheckpointForm, err)
	}
	head, others, err := tlog.OpenCheckpoint(raw, s.ring)
	if err != nil {
		return followAt(tlog.Path("checkpoint"), rule.CheckpointForm, err)
	}
	s.head, s.out.Origin, s.out.Leaves, s.out.Root = head, head.Origin, head.Size, head.Root
	s.out.Remembered = s.old.Size
	if s.old.Raw != nil && s.old.Origin != head.Origin {
		return followAt(tlog.Path("checkpoint"), rule.LogRemembered,
			fmt.Errorf("it is of %s; the remembered one is of %s",
				head.Origin, s.old.Origin))
	}
	if s.o.Policy == nil {
		return nil
	}
	if err := OfPolicy(*s.o.Policy, head); err != nil {
		return followAt(tlog.Path("checkpoint"), rule.CheckpointKey, err)
	}
	// A published head has its cosignatures under it, and that of a clone in a file beside.
	name := tlog.Path(fmt.Sprintf("cosignatures/%d", head.Size))
	beside, err := fs.ReadFile(s.fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return followAt(name, rule.CosignatureForm, err)
	}
	for line := range strings.Lines(string(beside)) {
		if !strings.Contains(string(others), line) {
			others = append(others, line...)
		}
	}
	s.out.Quorum, err = Quorum(*s.o.Policy, head, others)
	return followAt(name, rule.CosignatureForm, err)
}

// goesOn demands that the log goes on from the head that is remembered. An older head, as a cache
// may hold it, has to be the beginning of that one.
func (s *step) goesOn() error {
	now, seen := s.head.Root, s.old.Root // at the size of the smaller head
	larger, err := tlog.OpenAt(s.fsys, s.old.Size, s.old.Root), error(nil)
	switch {
	case s.old.Size > s.head.Size:
		if seen, err = larger.Root(s.head.Size); err != nil {
			return fmt.Errorf("the head that is shown has %d leaves, %d were seen, and the two could not be "+
				"compared: %w", s.head.Size, s.old.Size, followAt(tlog.Path("tile"), rule.LogTile, err))
		}
	case s.old.Size < s.head.Size && s.old.Raw != nil:
		larger = tlog.OpenAt(s.fsys, s.head.Size, s.head.Root)
		if now, err = larger.Root(s.old.Size); err != nil {
			return followAt(tlog.Path("tile"), rule.LogTile, err)
		}
	case s.old.Raw == nil:
		seen = now
	}
	size := min(s.old.Size, s.head.Size)
	if now != seen {
		s.out.Fork = &Fork{Seen: string(s.old.Raw), Shown: string(s.head.Raw), Size: size,
			Roots: [2]string{seen.String(), now.String()}}
		if s.old.Size != s.head.Size && size > 0 {
			s.out.Fork.Consistency, err = larger.Consistency(size, max(s.old.Size, s.head.Size))
		}
		return errors.Join(errTold, err)
	}
	if s.old.Size > s.head.Size {
		s.out.Unproven = append(s.out.Unproven, fmt.Sprintf("anything new: the head that is shown has %d leaves, and "+
			"is the beginning of the one of %d that was seen; a cache may hold it. If it stays, ask why",
			s.head.Size, s.old.Size))
		return errTold
	}
	s.log, err = tlog.OpenHead(s.fsys, s.head, s.ring)
	return followAt(tlog.Path("checkpoint"), rule.LogHandover, err)
}

// quorum demands what the policy does.
func (s *step) quorum() error {
	q := s.out.Quorum
	if q == nil || q.Met {
		return nil
	}
	s.out.Unproven = append(s.out.Unproven, q.Unproven(s.head.Size))
	return errTold
}

// state is what to remember.
func (s *step) state() (*FollowState, error) {
	keys, err := s.ring.Encode()
	if err != nil {
		return nil, err
	}
	next := &FollowState{Keys: string(keys), Checkpoint: string(s.head.Raw), Rounds: []record.Round{}, Index: s.index,
		Hosts: []Followed{}}
	for _, r := range s.rounds {
		next.Rounds = append(next.Rounds, followBare(r))
	}
	for _, f := range s.hosts {
		next.Hosts = append(next.Hosts, f.remember(s.rounds))
	}
	slices.SortFunc(next.Hosts, func(a, b Followed) int { return strings.Compare(a.Host, b.Host) })
	return next, nil
}
