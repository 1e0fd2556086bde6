package generator

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"agentstore/corpus/attest"
)

// A build record remembers what the last build made from what. It is a cache:
// without it, or with one that cannot be read, a build is a full one. It is read
// and written as a stream, row by row of the table, each row's units by key:
//
//	magic
//	for each row: its units, each behind a 1, and a 0
//	the program, the tree's head, and where each row begins
//	where that begins, and the CRC-32C of all before, both of fixed size

// recordMagic names the file format. A record of another format is no record.
const recordMagic = "store-build-record/2\n"

const recordTail = 8 + 4

// recordUnit is what is remembered of a unit.
type recordUnit struct {
	Key   string
	Made  attest.Digest
	Sums  []attest.Digest // of its files, in the row's order
	Sizes []int64
}

// program tells builds by different programs apart: the executable's path,
// size and time. Another one may render otherwise.
func program() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", exe, info.Size(), info.ModTime().UnixNano())
}

// record is the one of the last build, open for reading.
type record struct {
	file    *os.File
	end     int64 // of the units
	program string
	head    attest.Digest
	rows    map[string]int64 // where each begins
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openRecord returns nil for anything but a whole record.
func openRecord(name string) *record {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	r := &record{file: f}
	if err := r.read(); err != nil {
		f.Close() // it was only read
		return nil
	}
	return r
}

func (r *record) read() error {
	size, err := r.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size < int64(len(recordMagic)+recordTail) {
		return errBroken
	}
	h := crc32.New(castagnoli)
	if _, err := io.Copy(h, io.NewSectionReader(r.file, 0, size-4)); err != nil {
		return err
	}
	tail := make([]byte, recordTail)
	magic := make([]byte, len(recordMagic))
	if _, err := r.file.ReadAt(tail, size-recordTail); err != nil {
		return err
	}
	if _, err := r.file.ReadAt(magic, 0); err != nil {
		return err
	}
	r.end = int64(binary.BigEndian.Uint64(tail))
	if binary.BigEndian.Uint32(tail[8:]) != h.Sum32() || string(magic) != recordMagic || r.end < 0 || r.end > size-recordTail {
		return errBroken
	}
	p := recordParser{r: bufio.NewReader(io.NewSectionReader(r.file, r.end, size-recordTail-r.end))}
	r.program = p.text()
	p.digest(&r.head)
	r.rows = make(map[string]int64)
	for range p.count(1 << 16) {
		name := p.text()
		r.rows[name] = p.number()
	}
	return p.err
}

// fits reports whether the record was made by this program for this tree.
func (r *record) fits(t *tree) bool {
	return r.program != "" && r.program == program() && r.head == t.headDigest()
}

func (r *record) close() error { return r.file.Close() }

// row reads the units of a row, none if there is no such row.
func (r *record) row(name string) *recordParser {
	at, ok := r.rows[name]
	if !ok {
		return &recordParser{ended: true}
	}
	return &recordParser{r: bufio.NewReaderSize(io.NewSectionReader(r.file, at, r.end-at), 64<<10)}
}

// sums yields the digest of every file.
func (r *record) sums(yield func(attest.Digest) bool) error {
	for name := range r.rows {
		p := r.row(name)
		for u, ok := p.unit(); ok; u, ok = p.unit() {
			for _, sum := range u.Sums {
				if !yield(sum) {
					return nil
				}
			}
		}
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

var errBroken = errors.New("the build record is broken")

// recordParser reads what a recordWriter wrote. Its first error stays.
type recordParser struct {
	r     *bufio.Reader
	ended bool
	err   error
	buf   []byte
}

// unit reads the next unit of a row; ok is false behind the last one.
func (p *recordParser) unit() (u recordUnit, ok bool) {
	if p.ended || p.err != nil || p.number() == 0 {
		p.ended = true
		return u, false
	}
	u.Key = p.text()
	p.digest(&u.Made)
	n := p.count(64)
	u.Sums, u.Sizes = make([]attest.Digest, n), make([]int64, n)
	for i := range n {
		p.digest(&u.Sums[i])
		u.Sizes[i] = p.number()
	}
	return u, p.err == nil
}

func (p *recordParser) fail(err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", errBroken, err)
	}
}

func (p *recordParser) number() int64 {
	if p.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(p.r)
	if err == nil && n > 1<<62 {
		err = fmt.Errorf("number %d", n)
	}
	if err != nil {
		p.fail(err)
		return 0
	}
	return int64(n)
}

// count is a number of things, at most so many.
func (p *recordParser) count(most int64) int {
	n := p.number()
	if n > most {
		p.fail(fmt.Errorf("%d things", n))
		return 0
	}
	return int(n)
}

func (p *recordParser) text() string {
	n := p.count(1 << 16)
	if cap(p.buf) < n {
		p.buf = make([]byte, n)
	}
	p.fill(p.buf[:n])
	return string(p.buf[:n])
}

func (p *recordParser) digest(d *attest.Digest) { p.fill(d[:]) }

func (p *recordParser) fill(b []byte) {
	if p.err != nil {
		clear(b)
		return
	}
	if _, err := io.ReadFull(p.r, b); err != nil {
		p.fail(err)
	}
}

// recordWriter writes the record of this build beside the last one.
type recordWriter struct {
	name string
	file *os.File // nil: nothing is kept
	w    *bufio.Writer
	sum  uint32
	at   int64
	err  error
	rows []recordRow
	buf  []byte
}

type recordRow struct {
	name string
	at   int64
}

// createRecord begins a record; "" keeps none.
func createRecord(name string) (*recordWriter, error) {
	w := &recordWriter{name: name}
	if name == "" {
		return w, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, fmt.Errorf("saving the build record: %w", err)
	}
	var err error
	if w.file, err = os.Create(name + ".new"); err != nil {
		return nil, fmt.Errorf("saving the build record: %w", err)
	}
	w.w = bufio.NewWriterSize(w.file, 256<<10)
	w.put([]byte(recordMagic))
	return w, nil
}

func (w *recordWriter) put(b []byte) {
	if w.file == nil || w.err != nil {
		return
	}
	w.sum, w.at = crc32.Update(w.sum, castagnoli, b), w.at+int64(len(b))
	_, w.err = w.w.Write(b)
}

func (w *recordWriter) text(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// row begins a row, which ends with end.
func (w *recordWriter) row(name string) { w.rows = append(w.rows, recordRow{name, w.at}) }
func (w *recordWriter) end()            { w.put([]byte{0}) }

func (w *recordWriter) unit(u *recordUnit) {
	if w.file == nil {
		return
	}
	b := w.text(append(w.buf[:0], 1), u.Key)
	b = binary.AppendUvarint(append(b, u.Made[:]...), uint64(len(u.Sums)))
	for i := range u.Sums {
		b = binary.AppendUvarint(append(b, u.Sums[i][:]...), uint64(u.Sizes[i]))
	}
	w.put(b)
	w.buf = b
}

// save puts the record in the place of the last one, as a whole.
func (w *recordWriter) save(head attest.Digest) error {
	if w.file == nil {
		return nil
	}
	end := w.at
	b := append(w.text(nil, program()), head[:]...)
	b = binary.AppendUvarint(b, uint64(len(w.rows)))
	for _, r := range w.rows {
		b = binary.AppendUvarint(w.text(b, r.name), uint64(r.at))
	}
	w.put(binary.BigEndian.AppendUint64(b, uint64(end)))
	w.put(binary.BigEndian.AppendUint32(nil, w.sum))
	err := w.err
	if err == nil {
		err = w.w.Flush()
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	w.file = nil
	if err == nil {
		err = os.Rename(w.name+".new", w.name)
	}
	if err != nil {
		return fmt.Errorf("saving the build record: %w", errors.Join(err, os.Remove(w.name+".new")))
	}
	return nil
}

// drop forgets a record that was not saved.
func (w *recordWriter) drop() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Close(), os.Remove(w.name+".new"))
	w.file = nil
	return err
}
