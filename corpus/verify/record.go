package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// RecordReport says what a check of a record found.
type RecordReport struct {
	Origin       string `json:"origin"`
	Rounds       int64  `json:"rounds"`
	FirstWeek    string `json:"first_week"`
	LastWeek     string `json:"last_week"`
	Rows         int64  `json:"rows"`
	Observations int64  `json:"observations"`
	// Leaves and Root are those of the log's checkpoint, which was recomputed from the files.
	Leaves int64         `json:"leaves"`
	Root   attest.Digest `json:"root"`
	// Remembered is the size of an earlier checkpoint that this log was shown to go on from; 0 for
	// none.
	Remembered int64 `json:"remembered"`
	// Forked says that the same log signed that checkpoint and this history, of which not both can
	// be true.
	Forked bool          `json:"forked,omitzero"`
	Proofs []ProofReport `json:"proofs"`
	// Cosigned is there if witnesses were named: what each of them signed.
	Cosigned []CosignedReport `json:"cosigned,omitempty"`
	// Quorum is there if a policy was named and the log has begun.
	Quorum   *QuorumReport `json:"quorum,omitempty"`
	Verdicts Rejudged      `json:"verdicts"`
	// Control counts the walks to the control door, each judged again as a row is.
	Control Rejudged `json:"control"`
	// Between counts what was judged between rounds: refreshes, and errata that rest on a judgement
	// of their own.
	Between Rejudged `json:"between"`
	// Errata are the corrections of rows, in their order.
	Errata []ErratumReport `json:"errata"`
	// Words counts the public texts of strangers, which observations hold by digest.
	Words WordsReport `json:"words"`
	// Lots counts by what the orders of rounds were drawn.
	Lots LotReport `json:"lots"`
	// Unproven says what was asked for, or has to be shown, and is not shown by this record.
	Unproven []string `json:"unproven"`
	// Problems name files. None: every file of the record is what was signed and logged, or a proof
	// of time as stated.
	Problems []Problem `json:"problems"`

	head tlog.Checkpoint
}

// ProofReport says what one proof of time shows.
type ProofReport struct {
	Path     string `json:"path"`
	Sequence int64  `json:"sequence"`
	Anchor   int64  `json:"anchor,omitzero"` // of an anchor, instead of a round
	ots.Status
}

// CosignedReport says which checkpoints of a log a witness cosigned: each was consistent with all
// that it saw before.
type CosignedReport struct {
	Witness     string    `json:"witness"`
	Checkpoints int64     `json:"checkpoints"`
	Size        int64     `json:"size"`        // of the newest of them, 0 for none
	At          time.Time `json:"at,omitzero"` // when the witness says it signed that, if it does
}

// QuorumReport says whether the log's head is cosigned as a policy demands.
type QuorumReport struct {
	Name    string   `json:"name"` // of the quorum, in the policy
	Met     bool     `json:"met"`
	Lacking []string `json:"lacking,omitempty"` // witnesses that did not cosign the head, if it is not met
}

// RecordOptions says how a record is checked. The zero value is what a stranger wants, but for
// Judge.
type RecordOptions struct {
	// Remembered is a checkpoint of this log that was seen earlier, as a signed note: a history
	// that does not go on from it is refused, however well it is signed.
	Remembered []byte
	// AsOf is an ISO week, such as 2026-W47, up to which rounds are demanded; "" demands none. A
	// record that ends before it is unproven.
	AsOf string
	// Witnesses are third parties whose keys the caller learned elsewhere: every cosignature by one
	// of them must fit. Others are not looked at, as it is not for the record to say whom to trust.
	Witnesses []tlog.Witness
	// Policy, if there is one, demands that one of its logs signed the head of the log and that its
	// quorum of witnesses cosigned it: a record whose head is of another log is refused, and one
	// whose quorum is not met is unproven. Its witnesses are counted as those of Witnesses are.
	Policy *tlog.Policy
	// Difficulty is the least a block header must have been made with, see ots.Header.Work.
	Difficulty float64
	// Judge judges again what is kept of walks; nil leaves that out, and what is kept is compared
	// with its digests all the same.
	Judge record.Judge
	// Now is the clock of the one who checks: nothing is dated more than a day later. The zero time
	// leaves that out, and so does a specimen's key, of whose record every date is made up.
	Now time.Time
	// Progress, if there is one, is told how many of all rows were checked, now and then and at the
	// end.
	Progress func(done, all int64)
}

// checker carries a check through its steps.
type checker struct {
	fsys    fs.FS
	ring    attest.Ring
	own     attest.Ring // as it stands in the record
	out     RecordReport
	files   map[string]bool // every file of the record, and whether it was accounted for
	partial map[string][]string
	rounds  []record.Round
	o       RecordOptions
	checked int64 // rows
	// observed holds the exact bytes of the observations.
	observed [][]byte
	feed     []record.Observation // the same, read
	leaf     []int64              // where each of them stands in the log
	closed   record.Closings
	// withdrawn holds the digests of what was taken out, with the numbers of the observations that
	// say so.
	withdrawn map[string]int64
	errataOf  map[int64]bool       // leaves that errata name
	corrected map[int64]record.Row // what errata need of the rows that they correct, by leaf
	unpack    record.Unpacker
	packs     record.Packs
}

// Record checks a whole record with the keys of a ring and no network: every header, the chain,
// each row's signature and place, each host index against the one before it and the rows, every
// observation, the log recomputed from all of them against every checkpoint, proofs of time, every
// row against what is kept of its walk, and that nothing else is there. It works on all cores and
// holds a few parts of rounds in memory, neither the rows nor the hosts. The error is for records
// that cannot be read.
func Record(ctx context.Context, fsys fs.FS, ring attest.Ring, o RecordOptions) (RecordReport, error) {
	c := &checker{fsys: Plain(fsys), ring: ring, files: make(map[string]bool), partial: make(map[string][]string),
		closed:    make(record.Closings),
		withdrawn: make(map[string]int64), corrected: make(map[int64]record.Row),
		errataOf: make(map[int64]bool), o: o}
	c.packs.FS = c.fsys
	c.out.Proofs, c.out.Unproven, c.out.Problems = []ProofReport{}, []string{}, []Problem{}
	c.out.Errata = []ErratumReport{}
	if err := CheckAsOf(o.AsOf); err != nil {
		return c.out, err
	}
	c.known()
	// What is no file is not opened, so that nothing can be said about what it stands for.
	if err := c.list(); err != nil || len(c.out.Problems) > 0 {
		return c.out, err
	}
	c.keys()
	c.headers()
	c.observations()
	if len(c.out.Problems) == 0 {
		c.dates()
	}
	// While a header or an observation is bad, what follows from them is not judged.
	if len(c.out.Problems) == 0 {
		c.proofs()
	}
	if len(c.out.Problems) == 0 {
		if err := c.log(ctx, o.Remembered); err != nil {
			return c.out, err
		}
	}
	if len(c.out.Problems) == 0 {
		c.quorum()
		c.controls()
		c.withdrawals()
		c.errata()
		c.refreshes()
	}
	if len(c.out.Problems) == 0 {
		c.words()
	}
	if len(c.out.Problems) == 0 {
		for name, known := range c.files {
			if !known {
				c.problem(rule.FileUnknown, name, attest.ProblemAdded, "nothing in the record asks for it")
			}
		}
	}
	slices.SortFunc(c.out.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return c.out, ctx.Err()
}

func (c *checker) problem(broken rule.Rule, name, kind, detail string) {
	c.out.Problems = append(c.out.Problems, Problem{Path: name, Kind: kind, Detail: detail, Rule: broken})
}

// list takes down every file, and the tiles and bundles that are not full by what they are a part
// of.
func (c *checker) list() error {
	for _, dir := range record.Dirs {
		err := fs.WalkDir(c.fsys, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name == dir:
				return nil
			case notPlain(d, err):
				c.problem(rule.FileKind, name, attest.ProblemAdded, "neither a file nor a directory")
				return nil
			case err != nil:
				return err
			case d.IsDir():
				return nil
			}
			c.files[name] = false
			if whole, ok := strings.CutSuffix(path.Dir(name), ".p"); ok {
				c.partial[whole] = append(c.partial[whole], name)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("listing record: %w", err)
		}
	}
	return nil
}

// holds reports whether the record has files in a folder.
func (c *checker) holds(folder string) bool {
	for name := range c.files {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// problemOfReading says what a file is that could not be read.
func problemOfReading(err error) (broken rule.Rule, kind, detail string) {
	if errors.Is(err, fs.ErrNotExist) {
		return rule.FileMissing, attest.ProblemMissing, ""
	}
	broken = rule.Or(err, rule.FileKind)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return broken, "unreadable", err.Error()
}

// read reads a file that must be there and accounts for it.
func (c *checker) read(name string) ([]byte, bool) {
	b, err := fs.ReadFile(c.fsys, name)
	if err != nil {
		broken, kind, detail := problemOfReading(err)
		c.problem(broken, name, kind, detail)
		return nil, false
	}
	c.files[name] = true
	return b, true
}

// keys checks that the record's own ring is well formed and holds the keys to trust, or their
// successors.
func (c *checker) keys() {
	raw, ok := c.read(record.RingFile)
	if !ok {
		return
	}
	own, err := attest.ParseRing(raw)
	if err == nil {
		err = spelt(own, raw)
	}
	if err == nil {
		c.ring, err = successor(c.ring, own)
	}
	if err != nil {
		c.problem(rule.Or(err, rule.RingForm), record.RingFile, attest.ProblemChanged, err.Error())
	}
	c.own = own
}

// successor returns newer if its keys are those of held or follow from them by signed handovers,
// and held if it is the other way round: an old clone checked with newer keys.
func successor(held, newer attest.Ring) (attest.Ring, error) {
	err := newer.Continues(held)
	if err == nil {
		return newer, nil
	}
	if held.Continues(newer) == nil {
		return held, nil
	}
	return held, rule.RingKnown.Errorf("its keys are not those to trust, nor handed over by them: %w", err)
}

// headers verifies the headers and their chain.
func (c *checker) headers() {
	var last int64
	for name := range c.files {
		if dir, ok := strings.CutPrefix(name, "rounds/"); ok {
			number, _, _ := strings.Cut(dir, "/")
			if n, err := strconv.ParseInt(number, 10, 64); err == nil && strconv.FormatInt(n, 10) == number {
				last = max(last, n)
			}
		}
	}
	for n := int64(1); n <= last; n++ {
		raw, ok := c.read(record.HeaderPath(n))
		if !ok {
			return
		}
		round, err := record.OpenRound(raw, n, c.ring)
		if err == nil {
			err = round.Continues(roundBefore(c.rounds, n))
		}
		if err != nil {
			c.problem(rule.Or(err, rule.RoundForm), record.HeaderPath(n), attest.ProblemChanged, err.Error())
			return
		}
		c.rounds = append(c.rounds, round)
	}
	if c.out.Rounds = int64(len(c.rounds)); c.out.Rounds > 0 {
		c.out.FirstWeek, c.out.LastWeek = c.rounds[0].Week, c.rounds[len(c.rounds)-1].Week
	}
	switch {
	case c.o.AsOf == "" || c.out.LastWeek >= c.o.AsOf:
	case c.out.Rounds == 0:
		c.out.Unproven = append(c.out.Unproven, "anything as of "+c.o.AsOf+": it has no rounds")
	default:
		c.out.Unproven = append(c.out.Unproven, fmt.Sprintf("anything as of %s: its newest round, %d, is of %s",
			c.o.AsOf, c.out.Rounds, c.out.LastWeek))
	}
}

// CheckAsOf accepts what RecordOptions.AsOf may be.
func CheckAsOf(week string) error {
	if week != "" && !record.IsWeek(week) {
		return fmt.Errorf("%q is no ISO week such as 2026-W47", week)
	}
	return nil
}

func (c *checker) observations() {
	told, before := make(map[string]bool), issued{counts: make(map[string]int64)}
	for n := int64(1); ; n++ {
		name := "observations/" + record.Observation{Number: n}.File()
		if _, there := c.files[name]; !there {
			// A gap shows as files that nothing asks for, and as leaves of the log that nothing
			// gave.
			return
		}
		o, raw, err := record.OpenObservation(c.fsys, n, c.ring)
		c.files[name] = true
		switch {
		case err != nil:
		case o.Handover != nil:
			err = c.keyEvent(*o.Handover, told)
		case o.Issued != nil:
			err = before.add(*o.Issued)
		case o.Withdrawn != nil:
			if c.withdrawn[o.Withdrawn.SHA256] == 0 {
				c.withdrawn[o.Withdrawn.SHA256] = n
			}
		case o.Erratum != nil:
			c.errataOf[o.Erratum.Leaf] = true
		}
		if err != nil {
			c.problem(rule.Or(err, rule.ObservationForm), name, attest.ProblemChanged, err.Error())
			return
		}
		c.observed, c.feed = append(c.observed, raw), append(c.feed, o)
		c.out.Observations = n
	}
}

// keyEvent demands of a handover that is told that it is the one of the ring, which alone might be
// rewritten by whoever has the key that was given up, and that it was not told before.
func (c *checker) keyEvent(h attest.Handover, told map[string]bool) error {
	if told[h.FromKID] {
		return rule.HandoverTold.Errorf("the handover of %s was told before", h.FromKID)
	}
	told[h.FromKID] = true
	event, err := attest.Canonical(h)
	if err != nil {
		return err
	}
	for _, h := range c.ring.Handovers {
		if known, err := attest.Canonical(h); err == nil && string(known) == string(event) {
			return nil
		}
	}
	return rule.HandoverTold.Errorf("the handover of %s that it tells of is not in the keys of the record", h.FromKID)
}

// proofs reads every proof of time: it must be about its round's or anchor's digest, and a block at
// hand must commit to it.
func (c *checker) proofs() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.files)), func(name string) bool {
		return !strings.HasPrefix(name, "proofs/")
	})
	headers := make(map[string]map[int64]ots.Header)
	for _, name := range names {
		height, ok := strings.CutSuffix(path.Base(name), ".header")
		n, err := strconv.ParseInt(height, 10, 64)
		if !ok || err != nil || strconv.FormatInt(n, 10) != height {
			continue
		}
		raw, ok := c.read(name)
		if !ok {
			continue
		}
		h, err := ots.ParseHeader(raw)
		if err != nil {
			c.problem(rule.ProofHeader, name, attest.ProblemChanged, err.Error())
			continue
		}
		if headers[path.Dir(name)] == nil {
			headers[path.Dir(name)] = make(map[int64]ots.Header)
		}
		headers[path.Dir(name)][n] = h
	}
	anchors, anchored, err := c.anchors()
	if err != nil {
		c.problem(rule.ObservationForm, "observations", attest.ProblemChanged, err.Error())
		return
	}
	for _, name := range names {
		if path.Ext(name) != ".ots" {
			continue
		}
		report := ProofReport{Path: name}
		raw, ok := c.read(name)
		if !ok {
			continue
		}
		p, err := ots.Parse(raw)
		if len(raw) > ots.MaxProof {
			err = rule.FileSize.Errorf("larger than %d bytes, which no proof is", ots.MaxProof)
		}
		dated := ""
		if n, ok := record.AnchorOf(path.Dir(name)); err == nil && ok {
			if report.Anchor = n; n < 1 || n > int64(len(anchors)) || attest.Digest(p.Digest) != anchors[n-1] {
				err = rule.ProofDigest.Errorf("it is not about the digest of its anchor")
			} else {
				dated = anchored[n-1]
			}
		} else if err == nil {
			n, err = strconv.ParseInt(path.Base(path.Dir(name)), 10, 64)
			if report.Sequence = n; err == nil &&
				(n < 1 || n > int64(len(c.rounds)) || attest.Digest(p.Digest) != c.rounds[n-1].Digest) {
				err = rule.ProofDigest.Errorf("it is not about the digest of its round")
			} else if err == nil {
				dated = c.rounds[n-1].TakenAt
			}
		}
		if err == nil {
			report.Status = p.Check(headers[path.Dir(name)], c.o.Difficulty)
			err = proven(p, report.Status, dated, headers[path.Dir(name)])
		}
		if err != nil {
			c.problem(rule.Or(err, rule.ProofForm), name, attest.ProblemChanged, err.Error())
			continue
		}
		c.out.Proofs = append(c.out.Proofs, report)
	}
}
