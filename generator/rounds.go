package generator

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// inlineRows is how many rows a round may have to be published in one file with its header. A
// larger one names its parts, which are files of their own.
const inlineRows = 20_000

// partAddress is one part of a large round.
type partAddress struct {
	URL    string        `json:"url"`
	Rows   int64         `json:"rows"`
	SHA256 attest.Digest `json:"sha256"` // of the file at the URL, as the header says
}

// roundUnits streams the rounds by the bytes of their numbers.
func roundUnits(s *source) iter.Seq2[unit, error] {
	rounds := slices.Clone(s.rounds)
	number := func(r record.Round) string { return strconv.FormatInt(r.Sequence, 10) }
	slices.SortFunc(rounds, func(a, b record.Round) int { return strings.Compare(number(a), number(b)) })
	return func(yield func(unit, error) bool) {
		for _, r := range rounds {
			if !yield(unit{key: number(r), value: r, made: func(d *digester) { d.round(r) }}, nil) {
				return
			}
		}
	}
}

// round adds a whole round: its digest covers the header, which covers the rows.
func (d *digester) round(r record.Round) {
	d.digest(r.Digest)
	d.text(r.Signature.String())
}

// writeRound writes a round's header and its rows, or where these are, as they were signed: the
// header follows "round": and each row has a line.
func writeRound(s *source, u unit, _ string, w io.Writer) error {
	r := u.value.(record.Round)
	header, err := s.record.Header(r.Sequence)
	if err != nil {
		return fmt.Errorf("reading header: %w", err)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(b, `{"format":"store-snapshot/v1","round":%s,`, header)
	if r.Rows > inlineRows {
		addresses := make([]partAddress, len(r.Parts))
		for i, p := range r.Parts {
			addresses[i] = partAddress{URL: "/" + partFile(partKey(r.Sequence, i)), Rows: p.Rows, SHA256: p.SHA256}
		}
		list, err := json.Marshal(addresses)
		if err != nil {
			return fmt.Errorf("encoding the addresses of parts: %w", err)
		}
		fmt.Fprintf(b, "\"parts\":%s}\n", list)
		return b.Flush()
	}
	b.WriteString(`"rows":[`)
	between := "\n"
	for row, err := range s.record.RawRows(r.Sequence) {
		if err != nil {
			return err
		}
		b.WriteString(between)
		b.Write(row)
		between = ",\n"
	}
	b.WriteString("\n]}\n")
	return b.Flush() // the writer keeps its first error
}

func partKey(sequence int64, i int) string { return fmt.Sprintf("%d/%06d", sequence, i+1) }
func partFile(key string) string           { return "corpus/parts/" + key + ".jsonl" }

// partUnits streams the parts of large rounds.
func partUnits(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for u := range roundUnits(s) {
			r := u.value.(record.Round)
			if r.Rows <= inlineRows {
				continue
			}
			for i, p := range r.Parts {
				part := unit{key: partKey(r.Sequence, i), value: roundPart{r.Sequence, i},
					made: func(d *digester) { d.digest(p.SHA256) }}
				if !yield(part, nil) {
					return
				}
			}
		}
	}
}

type roundPart struct {
	sequence int64
	at       int
}

// writePart writes the rows of a part, each with its newline: the bytes whose digest is in the
// header.
func writePart(s *source, u unit, _ string, w io.Writer) error {
	p := u.value.(roundPart)
	rows, err := s.record.Part(p.sequence, p.at)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	for _, row := range rows {
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.Flush()
}
