package record

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// What a row was judged by is kept beside the rounds, in packs that go with their parts:
//
//	evidence/000000003/000001.jsonl.gz     a gzip member for each judgement that is kept, in the order of the rows
//	evidence/000000003/000001.index.json   where each begins, so that one can be read by itself
//	evidence/000000003/control.…           the same of the walks to the control door, sorted by their digests
//
//	evidence/observations/<sha256>.jsonl.gz   what a refresh or an erratum was judged by: one gzip member
//
// The rows sign it by its digest, under a salt. What a pack holds can be judged again. A pack may
// be missing as a whole, and one that is there holds what each of its rows was judged by, but for
// what an observation withdrew.

// EvidenceIndexFormat names the format of an EvidenceIndex.
const EvidenceIndexFormat = "store-evidence-index/v1"

// MaxPack is the most bytes of a pack. Where the judgements of a part are more, the largest are not
// kept, so that one of MaxPack/MaxPartRows bytes always is; and the row of one that is not kept
// holds no verdict (ReasonNotJudged).
const MaxPack = 64 << 20

// maxEvidenceIndex bounds the index of a pack: a part's rows with their vantages and the longest of
// names.
const maxEvidenceIndex = 10 << 20

// EvidenceIndex says what a pack holds, sorted by host, and of one host by digest.
type EvidenceIndex struct {
	Format  string          `json:"format"` // EvidenceIndexFormat
	Entries []EvidenceEntry `json:"entries"`
}

// EvidenceEntry is one judgement in a pack.
type EvidenceEntry struct {
	Host   string `json:"host"`
	SHA256 string `json:"sha256"` // of the judgement, as the row's evidence_digest says
	Offset int64  `json:"offset"` // of its gzip member in the pack
	Bytes  int64  `json:"bytes"`  // of its gzip member
}

// EvidencePack names the pack of a round's i-th part, counted from 0, and EvidenceIndexPath its
// index.
func EvidencePack(sequence int64, i int) string {
	return fmt.Sprintf("%s/%06d"+PackSuffix, EvidenceDir(sequence), i+1)
}

// EvidenceIndexPath names the index of the pack that EvidencePack names.
func EvidenceIndexPath(sequence int64, i int) string {
	return fmt.Sprintf("%s/%06d"+IndexSuffix, EvidenceDir(sequence), i+1)
}

// ControlIndexPath names the index of what a round's walks to the control door were judged by, and
// ControlPack its pack.
func ControlIndexPath(sequence int64) string {
	return EvidenceDir(sequence) + "/control" + IndexSuffix
}
func ControlPack(sequence int64) string { return EvidenceDir(sequence) + "/control" + PackSuffix }

// ObservedEvidence names the file of what an observation was judged by.
func ObservedEvidence(digest string) string { return "evidence/observations/" + digest + PackSuffix }

// PackSuffix ends the name of a pack of evidence, IndexSuffix that of its index.
const (
	PackSuffix  = ".jsonl.gz"
	IndexSuffix = ".index.json"
)

// EvidenceDir is the folder of what the walks of a round were judged by.
func EvidenceDir(sequence int64) string { return fmt.Sprintf("evidence/%09d", sequence) }

// gzipHead begins every member: no name, no time, best compression, system unknown.
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"

// PackOf names the pack of an index.
func PackOf(indexPath string) string { return strings.TrimSuffix(indexPath, IndexSuffix) + PackSuffix }

// ParseEvidenceIndex reads the one spelling of an index: entries that follow each other without a
// gap.
func ParseEvidenceIndex(raw []byte) (EvidenceIndex, error) {
	var x EvidenceIndex
	body, ok := bytes.CutSuffix(raw, []byte{'\n'})
	if !ok || len(raw) > maxEvidenceIndex {
		return x, fmt.Errorf("reading evidence index: %d bytes, or no line", len(raw))
	}
	if err := attest.ParseCanonical(body, &x); err != nil {
		return x, fmt.Errorf("reading evidence index: %w", err)
	}
	if x.Format != EvidenceIndexFormat || len(x.Entries) == 0 || len(x.Entries) > MaxPartRows*(1+maxVantages) {
		return x, fmt.Errorf("reading evidence index: %d entries in format %.40q", len(x.Entries), x.Format)
	}
	var at int64
	var last EvidenceEntry
	for _, e := range x.Entries {
		inOrder := last.Host < e.Host || last.Host == e.Host && last.SHA256 < e.SHA256
		if e.Offset != at || e.Bytes <= int64(len(gzipHead)) || e.Bytes > MaxPack || e.Host == "" || !inOrder ||
			!IsDigest(e.SHA256) {
			return x, fmt.Errorf("reading evidence index: the entry of %.80q is not in its place", e.Host)
		}
		at, last = at+e.Bytes, e
	}
	return x, nil
}

// Unpacker takes members of a pack apart.
type Unpacker struct{ zip gzip.Reader }

// Open returns the judgement of one member, whose digest must be the entry's.
func (u *Unpacker) Open(member []byte, e EvidenceEntry) ([]byte, error) {
	if !bytes.HasPrefix(member, []byte(gzipHead)) {
		return nil, errors.New("not a member as they are written")
	}
	r := bytes.NewReader(member)
	if err := u.zip.Reset(r); err != nil {
		return nil, err
	}
	u.zip.Multistream(false)
	raw, err := io.ReadAll(io.LimitReader(&u.zip, MaxJudgement+1))
	if err != nil {
		return nil, err
	}
	if r.Len() > 0 && len(raw) <= MaxJudgement {
		return nil, rule.EvidenceGzip.Errorf("something stands behind it")
	}
	if sum := sha256.Sum256(raw); len(raw) > MaxJudgement || hex.EncodeToString(sum[:]) != e.SHA256 {
		return nil, rule.EvidenceDigest.Errorf("its digest is another")
	}
	return raw, nil
}

// find returns the row of a host in a round and its part, the zero Row for none.
func (r *Record) find(round Round, host string) (part int, found Row, err error) {
	part = sort.Search(len(round.Parts), func(i int) bool {
		rows, fault := r.Part(round.Sequence, i)
		if fault != nil {
			err = fault
			return true
		}
		last, fault := hostOf(rows[len(rows)-1])
		err = errors.Join(err, fault)
		return string(last) >= host
	})
	if err != nil || part == len(round.Parts) {
		return part, Row{}, err
	}
	rows, err := r.Part(round.Sequence, part)
	if err != nil {
		return part, Row{}, err
	}
	i := sort.Search(len(rows), func(i int) bool {
		at, fault := hostOf(rows[i])
		err = errors.Join(err, fault)
		return string(at) >= host
	})
	if err != nil {
		return part, Row{}, err
	}
	if found, err = ParseRow(rows[i]); found.Host != host {
		found = Row{}
	}
	return part, found, err
}

// RawEvidence returns the encoded judgement by which a host was judged in a round, nil if none is
// kept.
func (r *Record) RawEvidence(sequence int64, host string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("reading evidence of %s in round %d: %w", host, sequence, err)
	}
	round, ok := r.Round(sequence)
	if !ok {
		return fail(errors.New("there is no such round"))
	}
	part, row, err := r.find(round, host)
	if err != nil || row.EvidenceDigest == "" {
		return nil, err
	}
	raw, err := r.Packs().Judgement(sequence, part, row)
	if err != nil {
		return fail(err)
	}
	return raw, nil
}

// Packs reads what rows were judged by out of the packs of a record. It keeps the index that it
// read last, so that rows of one part after the other cost it one.
type Packs struct {
	FS    fs.FS
	at    string
	index EvidenceIndex
}

// Packs reads those of the record.
func (r *Record) Packs() *Packs { return &Packs{FS: r.fsys} }

// Judgement is what a row of a round's i-th part, counted from 0, was judged by; nil if none is
// kept.
func (p *Packs) Judgement(sequence int64, i int, row Row) ([]byte, error) {
	if at := EvidenceIndexPath(sequence, i); at != p.at {
		raw, err := fs.ReadFile(p.FS, at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if p.index, err = ParseEvidenceIndex(raw); err != nil {
			return nil, err
		}
		p.at = at
	}
	from, _ := slices.BinarySearchFunc(p.index.Entries, row.Host, func(e EvidenceEntry, host string) int {
		return strings.Compare(e.Host, host)
	})
	for _, e := range p.index.Entries[from:] {
		if e.Host != row.Host {
			break
		}
		if e.SHA256 != row.EvidenceDigest {
			if len(row.Vantages) > 0 {
				continue
			}
			return nil, errors.New("what is kept is not what the row names")
		}
		member, err := ReadRange(p.FS, EvidencePack(sequence, i), e.Offset, e.Bytes)
		if err != nil {
			return nil, err
		}
		var u Unpacker
		return u.Open(member, e)
	}
	return nil, nil
}

// ReadRange reads a part of a file without the whole of it, where the file system can. A part that
// the file does not hold to its end is an error.
func ReadRange(fsys fs.FS, name string, offset, n int64) (_ []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	from := io.Reader(f)
	if at, ok := f.(io.ReaderAt); ok {
		from = io.NewSectionReader(at, offset, n)
	} else if _, err := io.CopyN(io.Discard, f, offset); err != nil {
		return nil, err
	}
	out := make([]byte, n)
	_, err = io.ReadFull(from, out)
	return out, err
}
