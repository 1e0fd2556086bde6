package bulk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/kept"
)

// What the rows of a round were judged by stands in a file for programs that read web archives: a
// WARC 1.1 file (ISO 28500:2017) and its index. The record keeps no bodies, so there are no
// responses. What was judged is a line of JSON and each exchange another (store-evidence/v1), and
// each line with its newline is the block of a metadata record:
//
//	WARC-Type: metadata
//	WARC-Record-ID: <urn:uuid:…>
//	WARC-Date: 2026-11-16T06:00:20Z                  the exchange's started_at, or that of the first
//	WARC-Warcinfo-ID: <urn:uuid:…>
//	WARC-Target-URI: https://example.com/paid        its url, see target
//	WARC-Concurrent-To: <urn:uuid:…>                 of an exchange: the record of what was judged
//	Store-Evidence-Digest: sha256:…                  of the lines together
//	Store-Evidence-Line: 2/3                         which of them this is
//	Store-Signed-In: rounds/12/part-0001.jsonl       the file of the record that names the digest
//	WARC-Block-Digest: sha256:…
//	Content-Type: application/json
//
// So the blocks of one Store-Evidence-Digest, joined, have the digest that a signed row, header or
// observation names. A round's file also has what the observations were judged by that were logged
// since the round before it.

// The endings of the two files.
const (
	endingWARC = ".warc.gz"
	endingCDXJ = ".cdxj"
)

// evidenceVersion begins the digest of what a file has: with another one, all are made anew.
const evidenceVersion = "store-bulk-evidence/v1"

// evidenceName is that of a file of a week, such as 2026-W47.
func evidenceName(week, ending string) string { return "evidence-" + week + ending }

// evidencePart is the two files of a round.
type evidencePart struct {
	round    record.Round
	observed []kept.Judgement // what observations were judged by
	has      attest.Digest    // of what the files have, see File.Evidence
}

// planEvidence says of which rounds there will be files, and what they will have.
func (w *writer) planEvidence() error {
	feed, err := w.rec.Observations()
	if err != nil {
		return err
	}
	w.withdrawn = make(map[string]bool)
	observed := make(map[int64][]kept.Judgement)
	rounds := w.rec.Rounds()
	for _, o := range feed {
		if o.Withdrawn != nil {
			w.withdrawn[o.Withdrawn.SHA256] = true
		}
		leaf, logged := w.rec.ObservationLeaf(o.Number)
		i := slices.IndexFunc(rounds, func(r record.Round) bool { return leaf < r.FirstLeaf })
		if !logged || i < 0 || o.JudgedBy() == "" {
			continue
		}
		k, there, err := w.judged.Observation(o)
		if err != nil {
			return err
		}
		if there {
			observed[rounds[i].Sequence] = append(observed[rounds[i].Sequence], k)
		}
	}
	for _, r := range rounds {
		p := evidencePart{round: r, observed: observed[r.Sequence]}
		sum, some := sha256.New(), false
		fmt.Fprintln(sum, evidenceVersion)
		for k, err := range w.keptIn(p) {
			if err != nil {
				return err
			}
			fmt.Fprintln(sum, k.SHA256, k.Signed)
			some = true
		}
		if p.has = attest.Digest(sum.Sum(nil)); some {
			w.evidence = append(w.evidence, p)
		}
	}
	return nil
}

// keptIn yields what the files of a round have. What an observation withdrew is not among it, even
// if the record should hold it.
func (w *writer) keptIn(p evidencePart) iter.Seq2[kept.Judgement, error] {
	return func(yield func(kept.Judgement, error) bool) {
		for k, err := range w.judged.Round(p.round.Sequence) {
			if !w.withdrawn[k.SHA256] && !yield(k, err) || err != nil {
				return
			}
		}
		for _, k := range p.observed {
			if !w.withdrawn[k.SHA256] && !yield(k, nil) {
				return
			}
		}
	}
}

// sameEvidence reports whether what digests.json told of has just what the files of today will.
func (w *writer) sameEvidence() bool {
	n := 0
	for _, f := range w.held.Files {
		if f.Evidence != (attest.Digest{}) {
			n++
		}
	}
	for _, p := range w.evidence {
		for _, ending := range []string{endingWARC, endingCDXJ} {
			if slices.ContainsFunc(w.held.Files, func(f File) bool { return p.is(f, ending) }) {
				n--
			}
		}
	}
	return n == 0
}

// is reports whether a file is one of the part's.
func (p evidencePart) is(f File, ending string) bool {
	return f.Path == evidenceName(p.round.Week, ending) && f.Round == p.round.Digest && f.Evidence == p.has
}

// makeEvidence writes the files of every round, but for those that are kept.
func (w *writer) makeEvidence(ctx context.Context) error {
	for _, p := range w.evidence {
		warc, one := w.holds(evidenceName(p.round.Week, endingWARC))
		index, other := w.holds(evidenceName(p.round.Week, endingCDXJ))
		if one && other && p.is(warc, endingWARC) && p.is(index, endingCDXJ) {
			w.files = append(w.files, warc, index)
			continue
		}
		err := w.archive(p, func(a *archive) error {
			for k, err := range w.keptIn(p) {
				if err = errors.Join(err, ctx.Err()); err != nil {
					return err
				}
				raw, err := w.judged.Open(k)
				if err == nil {
					err = a.add(k, raw)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("what round %d was judged by: %w", p.round.Sequence, err)
		}
	}
	return nil
}

// archive writes the files of a round with what fill adds.
func (w *writer) archive(p evidencePart, fill func(*archive) error) (err error) {
	out, err := w.create(evidenceName(p.round.Week, endingWARC))
	if err != nil {
		return err
	}
	a := &archive{part: p, warc: newWARC(out), index: newCDXJ()}
	defer func() { err = errors.Join(err, a.index.close()) }()
	if err = a.begin(); err == nil {
		err = fill(a)
	}
	if err := errors.Join(err, out.close()); err != nil {
		return err
	}
	lines, err := w.create(evidenceName(p.round.Week, endingCDXJ))
	if err != nil {
		return err
	}
	if err := errors.Join(a.index.write(lines), lines.close()); err != nil {
		return err
	}
	for _, s := range []*sink{out, lines} {
		f := s.entry()
		f.Round, f.Evidence = p.round.Digest, p.has
		w.files = append(w.files, f)
	}
	return nil
}

// archive is a WARC file and its index in the making.
type archive struct {
	part  evidencePart
	warc  *warcFile
	index cdxj
	info  string // identifier of the warcinfo record
}

// begin writes the record that says what the file is.
func (a *archive) begin() error {
	r := a.part.round
	a.info = recordID(r.Origin, r.Digest.String(), a.part.has.String())
	var b bytes.Buffer
	for _, f := range []warcField{
		{"software", evidenceVersion},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"isPartOf", fmt.Sprintf("%s, round %d, %s, digest %s", r.Origin, r.Sequence, r.Week, r.Digest)},
		{"description", "What the rows of the round were judged by, and the observations since the round " +
			"before: metadata records of HTTP exchanges, whose bodies are not published. The blocks of one " +
			"Store-Evidence-Digest, joined in the order of Store-Evidence-Line, have that SHA-256, which the " +
			"signed file Store-Signed-In of the record names."},
		{"rights", derive.LicenseOf([]record.Round{r})},
	} {
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	_, _, err := a.warc.put(&warcRecord{kind: warcInfo, id: a.info, date: r.TakenAt, media: mediaFields,
		fields: []warcField{{"WARC-Filename", evidenceName(r.Week, endingWARC)}}, block: b.Bytes()})
	return err
}

// evidenceLine is what is read of a line: that of what was judged has the url alone.
type evidenceLine struct {
	URL       string `json:"url"`
	StartedAt string `json:"started_at"`
	Status    int    `json:"status"`
}

// add writes the records of what something was judged by.
func (a *archive) add(k kept.Judgement, raw []byte) error {
	var lines []evidenceLine
	for line := range bytes.Lines(raw) {
		var l evidenceLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("reading evidence %s: line %d: %w", k.SHA256, len(lines)+1, err)
		}
		if _, err := time.Parse("2006-01-02T15:04:05Z", l.StartedAt); err != nil && len(lines) > 0 {
			return fmt.Errorf("reading evidence %s: line %d: %w", k.SHA256, len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if len(lines) < 2 {
		return fmt.Errorf("reading evidence %s: %d lines, where no exchange is among them", k.SHA256, len(lines))
	}
	lines[0].StartedAt = lines[1].StartedAt
	i := 0
	for line := range bytes.Lines(raw) {
		if err := a.line(k, i, lines, line); err != nil {
			return err
		}
		i++
	}
	return nil
}

// line writes the record of the i-th line, counted from 0, and its line of the index.
func (a *archive) line(k kept.Judgement, i int, lines []evidenceLine, block []byte) error {
	id := func(i int) string { return recordID(a.part.round.Origin, k.SHA256, strconv.Itoa(i)) }
	l := lines[i]
	r := &warcRecord{kind: warcMetadata, id: id(i), date: l.StartedAt, media: mediaJSON, block: block,
		fields: []warcField{{"WARC-Warcinfo-ID", "<" + a.info + ">"}}}
	uri := target(l.URL)
	if uri != "" {
		r.fields = append(r.fields, warcField{"WARC-Target-URI", uri})
	}
	if i > 0 {
		r.fields = append(r.fields, warcField{"WARC-Concurrent-To", "<" + id(0) + ">"})
	}
	r.fields = append(r.fields, warcField{"Store-Evidence-Digest", "sha256:" + k.SHA256},
		warcField{"Store-Evidence-Line", fmt.Sprintf("%d/%d", i+1, len(lines))},
		warcField{"Store-Signed-In", k.Signed})
	offset, length, err := a.warc.put(r)
	if err != nil || uri == "" {
		return err
	}
	f := cdxjFields{URL: uri, MIME: mediaJSON, Digest: blockDigest(block), Length: strconv.FormatInt(length, 10),
		Offset: strconv.FormatInt(offset, 10), Filename: filepath.Base(a.warc.out.file.Name())}
	if l.Status != 0 {
		f.Status = strconv.Itoa(l.Status)
	}
	return a.index.add(l.StartedAt, f)
}
