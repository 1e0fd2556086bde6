package bulk

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"store.example/agentstore/corpus/record"
)

// form is a form in which rows are written: a file a week, or a year.
type form struct {
	ending  string
	yearly  bool
	columns bool // it has the columns of the dictionary, not the signed bytes
	create  func(*writer, *part) (rowWriter, error)
}

// forms is the table. A file of a week never changes while its columns do not; that of a year
// changes as long as the year has weeks to come.
var forms = []form{
	{ending: ".jsonl.gz", create: createLines},
	{ending: ".csv.gz", columns: true, create: createCSV},
	{ending: ".parquet", columns: true, create: createParquet},
	{ending: ".sqlite", yearly: true, columns: true, create: createDatabase},
}

// rowWriter is a file of rows in the making.
type rowWriter interface {
	// add writes a row, which is given as it is stored and as values of the columns.
	add(row *record.StoredRow, values []any) error
	// finish writes what stands behind the rows.
	finish() error
	// close closes the file, finished or not.
	close() error
}

// part is one of the files.
type part struct {
	path   string
	kind   form
	rounds []record.Round // of which it has the rows
	kept   bool
	open   rowWriter
}

// partName is that of the file of a week, such as 2026-W47, or of a year.
func partName(span, ending string) string { return "rows-" + span + ending }

// parts are all files of some rounds.
func parts(rounds []record.Round) (out []part) {
	for _, f := range forms {
		for _, r := range rounds {
			span := r.Week
			if f.yearly {
				span = r.Week[:4]
			}
			name := partName(span, f.ending)
			if n := len(out); n > 0 && out[n-1].path == name {
				out[n-1].rounds = append(out[n-1].rounds, r)
				continue
			}
			out = append(out, part{path: name, kind: f, rounds: []record.Round{r}})
		}
	}
	return out
}

func (p *part) last() record.Round { return p.rounds[len(p.rounds)-1] }

func (p *part) rows() (n int64) {
	for _, r := range p.rounds {
		n += r.Rows
	}
	return n
}

// zipped is a file that is packed by gzip.
type zipped struct {
	out *sink
	gz  *gzip.Writer
}

func (w *writer) createZipped(p *part) (zipped, error) {
	out, err := w.create(p.path)
	if err != nil {
		return zipped{}, err
	}
	return zipped{out, gzip.NewWriter(out)}, nil
}

func (z zipped) finish() error { return z.gz.Close() }
func (z zipped) close() error  { return z.out.close() }

// lines are the signed rows, their exact bytes, a line each.
type lines struct{ zipped }

func createLines(w *writer, p *part) (rowWriter, error) {
	z, err := w.createZipped(p)
	return lines{z}, err
}

func (l lines) add(row *record.StoredRow, _ []any) error {
	_, err := l.gz.Write(append(row.Raw[:len(row.Raw):len(row.Raw)], '\n'))
	return err
}

// csvFile is a table for spreadsheets.
type csvFile struct {
	zipped
	lines  *csv.Writer
	record []string
}

func createCSV(w *writer, p *part) (rowWriter, error) {
	z, err := w.createZipped(p)
	if err != nil {
		return nil, err
	}
	t := &csvFile{zipped: z, lines: csv.NewWriter(z.gz)}
	for _, c := range columns {
		t.record = append(t.record, c.name)
	}
	return t, t.lines.Write(t.record)
}

func (t *csvFile) add(_ *record.StoredRow, values []any) error {
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			t.record[i] = ""
		case string:
			t.record[i] = v
		case []byte:
			t.record[i] = string(v)
		case int64:
			t.record[i] = strconv.FormatInt(v, 10)
		case bool:
			t.record[i] = strconv.FormatBool(v)
		default:
			return fmt.Errorf("no column has a %T", v)
		}
	}
	return t.lines.Write(t.record)
}

func (t *csvFile) finish() error {
	t.lines.Flush()
	return errors.Join(t.lines.Error(), t.zipped.finish())
}
