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

	"store.example/agentstore/corpus/attest"
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

// recordUnit is what is remembered of a unit. Most units of most builds are as they were, so that a
// unit is kept as it stands in the record and its files are read by whoever asks for them.
type recordUnit struct {
	Key   string
	Made  attest.Digest
	n     int    // files
	files string // their digests and sizes, in the row's order
}

// recordFile is what is remembered of a file.
type recordFile struct {
	Sum  attest.Digest
	Size int64
}

func newRecordUnit(key string, made attest.Digest, files []recordFile) recordUnit {
	b := make([]byte, 0, len(files)*(len(made)+binary.MaxVarintLen32))
	for i := range files {
		b = binary.AppendUvarint(append(b, files[i].Sum[:]...), uint64(files[i].Size))
	}
	return recordUnit{Key: key, Made: made, n: len(files), files: string(b)}
}

// Files lists the unit's files, in the row's order.
func (u *recordUnit) Files() []recordFile {
	files := make([]recordFile, u.n)
	rest := u.files
	for i := range files {
		rest = rest[copy(files[i].Sum[:], rest):]
		size, n := uvarint(rest)
		files[i].Size, rest = int64(size), rest[n:]
	}
	return files
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

// buildRecord is the one of the last build, open for reading.
type buildRecord struct {
	file    *os.File
	end     int64 // of the units
	program string
	head    attest.Digest
	rows    map[string]span // where each stands
}

// span is from one byte of a file up to another.
type span struct{ from, to int64 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openRecord returns nil for anything but a whole record.
func openRecord(name string) *buildRecord {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	r := &buildRecord{file: f}
	if err := r.read(); err != nil {
		f.Close() // it was only read
		return nil
	}
	return r
}

func (r *buildRecord) read() error {
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
	if binary.BigEndian.Uint32(tail[8:]) != h.Sum32() || string(magic) != recordMagic || r.end < 0 ||
		r.end > size-recordTail {
		return errBroken
	}
	p := newRecordParser(r.file, span{r.end, size - recordTail})
	r.program = p.string()
	p.digest(&r.head)
	r.rows = make(map[string]span)
	last, from := "", int64(len(recordMagic))
	for range p.count(1 << 16) {
		name, at := p.string(), p.number()
		if at < from || at > r.end {
			return errBroken
		}
		if last != "" {
			r.rows[last] = span{from, at}
		}
		last, from = name, at
	}
	if last != "" {
		r.rows[last] = span{from, r.end}
	}
	return p.err
}

// fits reports whether the record was made by this program for this tree.
func (r *buildRecord) fits(t *tree) bool {
	return r.program != "" && r.program == program() && r.head == t.headDigest()
}

func (r *buildRecord) close() error { return r.file.Close() }

// row reads the units of a row, none if there is no such row.
func (r *buildRecord) row(name string) *recordParser {
	at, ok := r.rows[name]
	if !ok {
		return &recordParser{ended: true}
	}
	return newRecordParser(r.file, at)
}

// sums yields the digest of every file.
func (r *buildRecord) sums(yield func(attest.Digest) bool) error {
	for name := range r.rows {
		p := r.row(name)
		for u, ok := p.unit(); ok; u, ok = p.unit() {
			for _, f := range u.Files() {
				if !yield(f.Sum) {
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

// recordParser reads what a recordWriter wrote. Its first error stays. What it gives out are parts
// of the pieces that it reads, so that it allocates once a piece and not for each unit.
type recordParser struct {
	r     io.Reader
	buf   []byte
	text  string // read, and not parsed
	ended bool
	err   error
}

// recordPiece is how much is read at once, and the most that is taken at once.
const recordPiece = 64 << 10

func newRecordParser(r io.ReaderAt, at span) *recordParser {
	size := max(0, at.to-at.from)
	return &recordParser{r: io.NewSectionReader(r, at.from, size), buf: make([]byte, min(size+1, recordPiece))}
}

// unit reads the next unit of a row; ok is false behind the last one.
func (p *recordParser) unit() (u recordUnit, ok bool) {
	if p.ended || p.err != nil || p.number() == 0 {
		p.ended = true
		return u, false
	}
	u.Key = p.string()
	p.digest(&u.Made)
	u.n = p.count(64)
	u.files = p.take(p.ahead(u.n))
	return u, p.err == nil
}

// ahead is how many bytes the next files take.
func (p *recordParser) ahead(files int) int {
	at := 0
	for range files {
		at += len(attest.Digest{})
		p.have(at + binary.MaxVarintLen64)
		_, n := uvarint(p.text[min(at, len(p.text)):])
		if n <= 0 {
			p.fail(io.ErrUnexpectedEOF)
			return 0
		}
		at += n
	}
	return at
}

// have reads on until so many bytes are there to be parsed, or no more follow.
func (p *recordParser) have(n int) {
	for len(p.text) < n && p.r != nil && p.err == nil {
		rest := copy(p.buf, p.text)
		got, err := io.ReadFull(p.r, p.buf[rest:])
		p.text = string(p.buf[:rest+got])
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			p.r = nil
		case err != nil:
			p.fail(err)
		}
	}
}

// take is the next n bytes.
func (p *recordParser) take(n int) string {
	if p.have(n); len(p.text) < n {
		p.fail(io.ErrUnexpectedEOF)
	}
	if p.err != nil {
		return ""
	}
	taken := p.text[:n]
	p.text = p.text[n:]
	return taken
}

func (p *recordParser) fail(err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", errBroken, err)
	}
}

func (p *recordParser) number() int64 {
	p.have(binary.MaxVarintLen64)
	v, n := uvarint(p.text)
	if n <= 0 || v > 1<<62 {
		p.fail(fmt.Errorf("number %d of %d bytes", v, n))
		return 0
	}
	p.take(n)
	return int64(v)
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

func (p *recordParser) string() string { return p.take(p.count(recordPiece)) }

func (p *recordParser) digest(d *attest.Digest) { copy(d[:], p.take(len(d))) }

// uvarint is binary.Uvarint of a string.
func uvarint(s string) (v uint64, n int) {
	for i := range min(len(s), binary.MaxVarintLen64) {
		c := s[i]
		if c < 0x80 {
			return v | uint64(c)<<(7*i), i + 1
		}
		v |= uint64(c&0x7f) << (7 * i)
	}
	return 0, 0
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
	b = binary.AppendUvarint(append(b, u.Made[:]...), uint64(u.n))
	w.buf = append(b, u.files...)
	w.put(w.buf)
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
