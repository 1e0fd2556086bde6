package kit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/verify"
)

// maxLeaf bounds the bytes of a leaf, which a bundle of entries counts with two bytes.
const maxLeaf = 1<<16 - 1

// ProofReport is what was found of a proof that one leaf stands in a log.
type ProofReport struct {
	Origin string `json:"origin"`
	Index  int64  `json:"index"` // of the leaf
	Size   int64  `json:"size"`  // of the checkpoint
	// Leaf holds the exact bytes of the leaf.
	Leaf     string               `json:"leaf"`
	Quorum   *verify.QuorumReport `json:"quorum,omitempty"` // of -policy
	Problems []string             `json:"problems"`
}

// Sound implements Report.
func (r ProofReport) Sound() bool { return !r.Refused() && (r.Quorum == nil || r.Quorum.Met) }

// Refused implements Report.
func (r ProofReport) Refused() bool { return len(r.Problems) > 0 }

// Print implements Report.
func (r ProofReport) Print(w io.Writer, name string) {
	for _, p := range r.Problems {
		fmt.Fprintf(w, "%s: NOT verified: %s\n", name, screen.Text(p))
	}
	if r.Refused() {
		return
	}
	verdict := "verified"
	if !r.Sound() {
		verdict = fmt.Sprintf("UNPROVEN: that the quorum %s of the policy saw it: it is not cosigned by %s",
			screen.Text(r.Quorum.Name), screen.Text(strings.Join(r.Quorum.Lacking, ", ")))
	}
	fmt.Fprintf(w, "%s: %s\n  Leaf %d of the log %s, under its head of %d leaves:\n  %s\n", name, verdict, r.Index,
		screen.Text(r.Origin), r.Size, screen.Text(r.Leaf))
}

// CheckProof checks a proof by the policy, by the log keys of the ring, or by both; at least one is
// needed, as a proof brings no keys. A leaf of nil is taken from the proof's extra line.
func CheckProof(raw, leaf []byte, ring *attest.Ring, policy *tlog.Policy) (ProofReport, error) {
	r := ProofReport{Problems: []string{}}
	p, extra, err := tlog.ParseProofFile(raw)
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return r, nil
	}
	if leaf == nil {
		leaf = extra
	}
	if leaf == nil {
		return r, errors.New("the proof does not bring the leaf: name the file with its exact bytes with -leaf")
	}
	if ring == nil && (policy == nil || len(policy.Logs) == 0) {
		return r, errors.New("whose log is it? Name the store's keys with -ring, or a policy with a log with -policy")
	}
	var c tlog.Checkpoint
	var others []byte
	if ring != nil {
		c, others, err = tlog.OpenCheckpoint(p.Note, *ring)
	}
	if err == nil && policy != nil && len(policy.Logs) > 0 {
		c, others, err = policy.OpenCheckpoint(p.Note)
	}
	if err == nil {
		err = tlog.CheckInclusion(p.Hashes, c.Size, c.Root, p.Index, attest.LeafHash(leaf))
	}
	if err == nil && policy != nil {
		r.Quorum, err = verify.Quorum(*policy, c, others)
	}
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return r, nil
	}
	r.Origin, r.Index, r.Size, r.Leaf = c.Origin, p.Index, c.Size, string(leaf)
	return r, nil
}

// checkProof checks the file of a proof, with the keys to trust; nil for none.
func (s *settings) checkProof(name string, keys []byte) (Report, error) {
	if s.remember != "" || s.asOf != "" || len(s.witnesses) > 0 {
		return nil, fmt.Errorf("%s proves one leaf and no history: it is checked with -ring, -policy and -leaf", name)
	}
	raw, err := readFile(name, maxArtifact)
	if err != nil {
		return nil, err
	}
	var leaf []byte
	if s.leaf != "" {
		if leaf, err = readFile(s.leaf, maxLeaf); err != nil {
			return nil, err
		}
	}
	var ring *attest.Ring
	if keys != nil {
		known, err := verify.TrustedKeys(keys, nil)
		if err != nil {
			return nil, err
		}
		ring = &known
	}
	return CheckProof(raw, leaf, ring, s.policy)
}

// isProof reports whether a file begins as a proof does.
func isProof(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(tlog.ProofFormat)+1)
	_, err = io.ReadFull(f, first)
	return err == nil && string(first) == tlog.ProofFormat+"\n"
}

func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return raw, err
}

// writeProof writes the proof of one leaf of a record, with the leaf.
func (s *settings) writeProof(dir string, stdout io.Writer) error {
	rec, _, err := openSource(dir)
	if err == nil && rec == nil {
		err = fmt.Errorf("no record in %s", dir)
	}
	if err != nil {
		return err
	}
	index, err := leafOf(rec, s.proof)
	if err != nil {
		return fmt.Errorf("proving %s: %w", s.proof, err)
	}
	leaf, err := rec.Log.Entry(index)
	if err != nil {
		return err
	}
	p, err := rec.Log.ProveSeen(index, rec.Ring())
	if err != nil {
		return err
	}
	text := p.File(leaf)
	ring := rec.Ring()
	if r, err := CheckProof(text, nil, &ring, nil); err != nil || !r.Sound() {
		return errors.Join(fmt.Errorf("the record gives a proof that does not hold: %s", r.Problems), err)
	}
	if s.out == "-" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(s.out, text, 0o644)
}

// leafOf is the log index of HOST@ROUND, a row; of @ROUND, the round itself; or of a number.
func leafOf(rec *record.Record, what string) (int64, error) {
	host, at, placed := strings.Cut(what, "@")
	if !placed {
		n, err := strconv.ParseInt(what, 10, 64)
		if err != nil {
			return 0, errors.New("it is neither HOST@ROUND, @ROUND nor the number of a leaf")
		}
		return n, nil
	}
	w, err := want(rec, what)
	if err != nil {
		return 0, err
	}
	round, ok := rec.Round(w.Sequence)
	switch {
	case !ok:
		return 0, fmt.Errorf("there is no round %s", at)
	case host == "":
		return round.RoundLeaf(), nil
	}
	for row, err := range rec.Rows(w.Sequence) {
		if err != nil {
			return 0, err
		}
		if row.Host == w.Host {
			return row.Leaf, nil
		}
	}
	return 0, fmt.Errorf("round %s has no row of this host", at)
}
