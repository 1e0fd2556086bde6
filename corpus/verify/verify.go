package verify

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// BundleOptions says whom the one who checks trusts, as for a clone.
type BundleOptions struct {
	// Ring is the file form of the keys to trust, or a copy of a signing-key document learned
	// elsewhere.
	Ring []byte
	// Remembered is a checkpoint of the log that was seen earlier. A bundle shows only a few sizes
	// of the log: it is refused if one of them is this one's with another root, and unproven if the
	// log was seen to be longer.
	Remembered []byte
	// AsOf is as in RecordOptions.
	AsOf string
	// Difficulty is as in RecordOptions.
	Difficulty float64
	// Judge is as in RecordOptions.
	Judge record.Judge
}

// BundleReport says what a bundle shows.
type BundleReport struct {
	Origin string        `json:"origin"`
	Size   int64         `json:"leaves"` // of the log
	Root   attest.Digest `json:"root"`
	KID    string        `json:"kid"` // of the identity
	Keys
	// Remembered is the size at which the log was compared with the remembered checkpoint, 0 for
	// not at all.
	Remembered int64 `json:"remembered"`
	// Fork says that the same log signed that checkpoint and this history.
	Fork      bool             `json:"forked,omitzero"`
	Rounds    []RoundReport    `json:"rounds"`
	Rows      []RowReport      `json:"rows"`
	Hosts     []BundleHost     `json:"hosts"`
	Artifacts []ArtifactReport `json:"artifacts"`
	Verdicts  Rejudged         `json:"verdicts"`
	// CompleteTo is the newest round that it holds, and Week that round's, up to which it shows of
	// each host all the rows that the record has, but for what Unproven says; 0 without rounds.
	CompleteTo int64      `json:"complete_to"`
	Week       string     `json:"complete_to_week,omitzero"`
	Unproven   []Unproven `json:"unproven"`
	Problems   []Problem  `json:"problems"`
}

// Sound reports whether nothing was found wrong, and nothing lacks of what it tells of.
func (r BundleReport) Sound() bool { return len(r.Problems) == 0 && len(r.Unproven) == 0 }

// Forked reports whether the log signed two histories: a head that was seen, and this one.
func (r BundleReport) Forked() bool { return r.Fork }

// Refused reports whether something was found wrong.
func (r BundleReport) Refused() bool { return len(r.Problems) > 0 }

// Unproven is something that a bundle would have to show and does not: it may have been cut.
type Unproven struct {
	Host   string       `json:"host,omitzero"`   // "" for all
	Rounds []BundleSpan `json:"rounds,omitzero"` // that are not in it
	Detail string       `json:"detail"`
}

// BundleSpan is an inclusive range of rounds.
type BundleSpan struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// RoundReport is one round that a bundle shows.
type RoundReport struct {
	Sequence int64         `json:"sequence"`
	Week     string        `json:"week"`
	TakenAt  string        `json:"taken_at"`
	Digest   attest.Digest `json:"digest"`
	Rows     int64         `json:"rows"`
	Time     *ots.Status   `json:"time,omitzero"`
}

// RowReport is one row that a bundle shows.
type RowReport struct {
	Host     string `json:"host"`
	Sequence int64  `json:"sequence"`
	Week     string `json:"week"`
	Verdict  string `json:"verdict"`
	Level    string `json:"reached_level,omitzero"`
	Leaf     int64  `json:"leaf"`
	Judged   string `json:"judged"` // again, kept, not_kept or not_probed
	// Corrected is what an erratum here says of it, nil for none.
	Corrected *record.Correction `json:"corrected,omitzero"`
}

// BundleHost is what a bundle shows of one host.
type BundleHost struct {
	Host string `json:"host"`
	// Rows is how many it has up to the newest round of the bundle, the first of them in round
	// First; 0 for a host that was never seen.
	Rows  int64 `json:"rows"`
	First int64 `json:"first_sighting"`
	// Present are the rounds whose rows are here.
	Present []int64 `json:"present_in"`
	// Whole says that these are all, as the index of the newest round commits to them.
	Whole bool `json:"whole"`

	entry record.HostEntry // in the newest round
	at    int              // in the bundle
}

// ArtifactReport is one signed artifact.
type ArtifactReport struct {
	ID      string `json:"id"` // "" where it names none
	KID     string `json:"kid"`
	Status  string `json:"signed_by_status"`
	Payload string `json:"signed_payload"`
}

// verifier carries a check through its steps.
type verifier struct {
	b      Bundle
	o      BundleOptions
	ring   attest.Ring
	head   tlog.Checkpoint
	before *tlog.Checkpoint
	rounds map[int64]record.Round
	sealed map[int64]tlog.Checkpoint // under which the leaves of a round are proved
	placed map[string][]placed       // by host
	out    BundleReport
}

// placed is a row, where it stands in the log, and where the row of its host before it does.
type placed struct {
	sequence, leaf int64
	previous       *int64
	sum            attest.Digest
}

// VerifyBundle checks a bundle with no network. Problems are named by their place in it, such as
// rows[3]; the error is for what is no bundle at all (ErrMalformed) or options that cannot be read.
func VerifyBundle(raw []byte, o BundleOptions) (BundleReport, error) {
	v := &verifier{o: o, rounds: make(map[int64]record.Round), sealed: make(map[int64]tlog.Checkpoint)}
	v.placed = make(map[string][]placed)
	v.out = BundleReport{Trusted: len(o.Ring) > 0, Rounds: []RoundReport{}, Rows: []RowReport{},
		Hosts: []BundleHost{}, Artifacts: []ArtifactReport{}, Unproven: []Unproven{}, Problems: []Problem{}}
	if err := CheckAsOf(o.AsOf); err != nil {
		return v.out, err
	}
	var err error
	if v.b, err = ParseBundle(raw); err != nil {
		return v.out, err
	}
	if v.ring, err = TrustedKeys([]byte(v.b.Keys), o.Ring); err != nil {
		v.problem("keys", err)
		return v.out, nil
	}
	v.out.KID, v.out.Keys = v.ring.Identity().KID, KeysOf(v.ring, len(o.Ring) > 0)
	if err := v.log(); err != nil {
		return v.out, err
	}
	v.handovers()
	for i, r := range v.b.Rounds {
		if err := v.round(i, r); err != nil {
			v.problem(fmt.Sprintf("rounds[%d]", i), err)
		}
	}
	// Rows mean nothing without their rounds.
	if len(v.out.Problems) == 0 {
		v.hosts()
		v.rows()
	}
	if len(v.out.Problems) == 0 {
		v.errata()
	}
	if len(v.out.Problems) == 0 {
		v.lacking()
	}
	for i, p := range v.b.Artifacts {
		if err := v.artifact(p); err != nil {
			v.problem(fmt.Sprintf("artifacts[%d]", i), err)
		}
	}
	return v.out, nil
}

func (v *verifier) problem(place string, err error) {
	v.out.Problems = append(v.out.Problems, Problem{Path: place, Kind: attest.ProblemChanged,
		Detail: err.Error()})
}

// log opens the head and the remembered checkpoint.
func (v *verifier) log() error {
	if len(v.o.Remembered) > 0 {
		before, contradicted, err := OpenRemembered(v.o.Remembered, v.ring)
		if err != nil {
			return err
		}
		if contradicted != nil {
			v.problem("checkpoint", contradicted)
			return nil
		}
		v.before = &before
	}
	if v.b.Checkpoint == "" && len(v.b.Rounds) == 0 {
		return nil
	}
	head, others, err := tlog.OpenCheckpoint([]byte(v.b.Checkpoint), v.ring)
	if err == nil && len(others) > 0 {
		err = errors.New("opening checkpoint: lines that are not the log's")
	}
	if err != nil {
		v.problem("checkpoint", err)
		return nil
	}
	v.head, v.out.Origin, v.out.Size, v.out.Root = head, head.Origin, head.Size, head.Root
	if err := v.remember(head); err != nil {
		v.problem("checkpoint", err)
	}
	return nil
}

// remember refuses another root at the size that was seen.
func (v *verifier) remember(c tlog.Checkpoint) error {
	if v.before == nil {
		return nil
	}
	if c.Origin != v.before.Origin {
		return fmt.Errorf("rewritten: it is of %s; the remembered one is of %s", c.Origin, v.before.Origin)
	}
	if c.Size != v.before.Size {
		return nil
	}
	if c.Root != v.before.Root {
		v.out.Fork = true
		return fmt.Errorf("rewritten: at %d leaves its root is %s; %s was seen, signed by the same log", c.Size, c.Root,
			v.before.Root)
	}
	v.out.Remembered = c.Size
	return nil
}

func (v *verifier) round(i int, r BundleRound) error {
	if v.head.Size == 0 {
		return errors.New("there is no checkpoint that it could be under")
	}
	parsed, err := record.ParseRound([]byte(r.Header))
	if err != nil {
		return err
	}
	round, err := record.OpenRound([]byte(r.Header), parsed.Sequence, v.ring)
	if err != nil {
		return err
	}
	if n := len(v.out.Rounds); n != i || n > 0 && v.out.Rounds[n-1].Sequence >= round.Sequence {
		return errors.New("rounds are not in order")
	}
	if before, ok := v.rounds[round.Sequence-1]; ok {
		if err = round.Continues(&before); err == nil {
			err = round.Counted(round.Coverage.Probed, &before)
		}
		if err != nil {
			return err
		}
	}
	leaf, err := record.EncodeRoundLeaf(round, []byte(r.Header))
	if err != nil {
		return err
	}
	c, err := v.included(r.Proof, leaf, round, round.RoundLeaf())
	if err != nil {
		return err
	}
	if err := tlog.CheckConsistency(r.Consistency, c, v.head); err != nil {
		return err
	}
	if err := v.remember(c); err != nil {
		return err
	}
	out := RoundReport{Sequence: round.Sequence, Week: round.Week, TakenAt: round.TakenAt, Digest: round.Digest,
		Rows: round.Rows}
	if r.Time != nil {
		if out.Time, err = r.Time.check(round.Digest, v.o.Difficulty); err != nil {
			return err
		}
	}
	v.rounds[round.Sequence], v.sealed[round.Sequence] = round, c
	v.out.Rounds = append(v.out.Rounds, out)
	return nil
}

// included checks a leaf's proof, which must be about a place in the log under the round's own
// checkpoint.
func (v *verifier) included(text string, leaf []byte, round record.Round, index int64) (tlog.Checkpoint, error) {
	proof, err := tlog.ParseProof([]byte(text))
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	c, err := proof.Verify(leaf, v.ring)
	if err != nil {
		return c, err
	}
	if proof.Index != index || c.Size != round.LeavesEnd() || c.Origin != v.head.Origin || c.Origin != round.Origin {
		return c, fmt.Errorf("checking proof: of leaf %d of %d of %s, want %d of %d of %s", proof.Index, c.Size,
			c.Origin, index, round.LeavesEnd(), v.head.Origin)
	}
	return c, v.one(c, round)
}

// one refuses a second log beside the one that the checkpoint of the bundle is of.
func (v *verifier) one(c tlog.Checkpoint, round record.Round) error {
	if sealed, ok := v.sealed[round.Sequence]; ok && c.Root != sealed.Root {
		return fmt.Errorf("checking proof: at %d leaves its root is %s, and that of round %d is %s", c.Size, c.Root,
			round.Sequence, sealed.Root)
	}
	return nil
}

// hosts checks what the index of the newest round says of each host.
func (v *verifier) hosts() {
	last := ""
	for i, p := range v.b.Hosts {
		err := v.host(p)
		if err == nil && p.Host <= last {
			err = errors.New("hosts are not in order")
		}
		if err != nil {
			v.problem(fmt.Sprintf("hosts[%d]", i), err)
			continue
		}
		last = p.Host
		entry, _ := p.Entry()
		h := BundleHost{Host: p.Host, Rows: entry.Rows, First: entry.FirstSequence, Present: []int64{}, entry: entry,
			at: i}
		v.out.Hosts = append(v.out.Hosts, h)
	}
}

func (v *verifier) host(p record.HostProof) error {
	if n := len(v.out.Rounds); n == 0 || p.Sequence != v.out.Rounds[n-1].Sequence {
		return fmt.Errorf("it is about the index of round %d, which is not the newest in this bundle", p.Sequence)
	}
	c, err := p.Verify(v.ring)
	if err != nil {
		return err
	}
	round := v.rounds[p.Sequence]
	if c.Size != round.LeavesEnd() || c.Origin != round.Origin {
		return fmt.Errorf("it is about an index at size %d, and the round ends at %d", c.Size, round.LeavesEnd())
	}
	return v.one(c, round)
}

// rows checks each row.
func (v *verifier) rows() {
	last := Want{}
	for i, r := range v.b.Rows {
		at, err := v.row(r, last)
		if err != nil {
			v.problem(fmt.Sprintf("rows[%d]", i), err)
			continue
		}
		last = at
	}
}

func (v *verifier) row(r BundleRow, last Want) (Want, error) {
	raw := []byte(r.Row)
	row, err := record.ParseRow(raw)
	if err != nil {
		return last, err
	}
	at := Want{row.Host, row.Sequence}
	round, ok := v.rounds[row.Sequence]
	if !ok {
		return at, fmt.Errorf("round %d is not in this bundle", row.Sequence)
	}
	if at.Host < last.Host || at.Host == last.Host && at.Sequence <= last.Sequence {
		return at, errors.New("rows are not in order")
	}
	if row, err = round.OpenRow(raw, v.ring); err != nil {
		return at, err
	}
	proof, err := tlog.ParseProof([]byte(r.Proof))
	if err != nil {
		return at, err
	}
	if proof.Index < round.FirstLeaf || proof.Index >= round.RoundLeaf() {
		return at, fmt.Errorf("leaf %d is not a row of round %d", proof.Index, round.Sequence)
	}
	if _, err := v.included(r.Proof, raw, round, proof.Index); err != nil {
		return at, err
	}
	host, ok := slices.BinarySearchFunc(v.out.Hosts, row.Host, func(h BundleHost, host string) int {
		return strings.Compare(h.Host, host)
	})
	if !ok {
		return at, errors.New("nothing shows which rows its host has")
	}
	out := RowReport{Host: row.Host, Sequence: row.Sequence, Week: row.Week, Verdict: row.Verdict,
		Level: row.ReachedLevel, Leaf: proof.Index}
	switch {
	case row.EvidenceDigest == "" && r.Judgement != "":
		return at, errors.New("it has no verdict, and yet something that it was judged by")
	case row.EvidenceDigest == "":
		out.Judged = "not_probed"
		v.out.Verdicts.Without++
	case r.Judgement == "":
		out.Judged = "not_kept"
		v.out.Verdicts.NotKept++
	default:
		if sum := attest.Digest(sha256.Sum256([]byte(r.Judgement))); sum.String() != row.EvidenceDigest {
			return at, fmt.Errorf("the digest of what it was judged by is %s, the row names %s", sum,
				row.EvidenceDigest)
		}
		if err := v.out.Verdicts.Judge(v.o.Judge, row, raw, []byte(r.Judgement), false); err != nil {
			return at, err
		}
		if out.Judged = "again"; v.o.Judge == nil {
			out.Judged = "kept"
		}
	}
	v.out.Rows = append(v.out.Rows, out)
	h := &v.out.Hosts[host]
	h.Present = append(h.Present, row.Sequence)
	v.placed[row.Host] = append(v.placed[row.Host], placed{row.Sequence, proof.Index, row.PreviousLeaf,
		sha256.Sum256(raw)})
	return at, nil
}

func (v *verifier) artifact(p attest.Proof) error {
	if err := p.Verify(ed25519.PublicKey(p.PublicKey)); err != nil {
		return err
	}
	by, ok := v.ring.ByPublic(ed25519.PublicKey(p.PublicKey))
	if !ok || by.Purpose != attest.PurposeIdentity {
		return fmt.Errorf("verifying artifact: %w: %s", attest.ErrUnknownKey, p.PublicKey)
	}
	out := ArtifactReport{KID: by.Key, Status: by.Status, Payload: p.SignedPayload}
	if a, err := attest.ParseArtifact([]byte(p.SignedPayload)); err == nil {
		out.ID = a.ID
		if err := by.InForce(a.Date); err != nil {
			return fmt.Errorf("verifying artifact: %w", err)
		}
	}
	v.out.Artifacts = append(v.out.Artifacts, out)
	return nil
}
