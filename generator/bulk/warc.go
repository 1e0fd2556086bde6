package bulk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// warcType is the type of a record (ISO 28500:2017, WARC 1.1, section 6). There is never a response
// here, since that holds a whole answer with its body, and never a resource, since its block is
// what stood at the target.
type warcType string

const (
	warcInfo     warcType = "warcinfo"
	warcMetadata warcType = "metadata"
)

// The media types of blocks.
const (
	mediaFields = "application/warc-fields"
	mediaJSON   = "application/json"
)

// warcRecord is a record to be written.
type warcRecord struct {
	kind  warcType
	id    string // urn:uuid:…
	date  string // RFC 3339 UTC
	media string // of the block
	// fields are further named fields, in their order.
	fields []warcField
	block  []byte
}

type warcField struct{ name, value string }

// warcFile is a WARC file in the making. Each record is a gzip member of its own (annex D), so that
// it can be read by its offset and length. Members have neither name nor time.
type warcFile struct {
	out  *sink
	zip  *gzip.Writer
	head bytes.Buffer
}

func newWARC(out *sink) *warcFile { return &warcFile{out: out, zip: gzip.NewWriter(out)} }

// errField is returned for a field that would end its line.
var errField = errors.New("a WARC field with a control character")

// put writes a record and returns where its member is, in bytes. The digest of the block is among
// its fields.
func (f *warcFile) put(r *warcRecord) (offset, length int64, err error) {
	f.head.Reset()
	f.head.WriteString("WARC/1.1\r\n")
	line := func(name, value string) {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			err = fmt.Errorf("%w: %s: %.80q", errField, name, value)
		}
		f.head.WriteString(name + ": " + value + "\r\n")
	}
	line("WARC-Type", string(r.kind))
	line("WARC-Record-ID", "<"+r.id+">")
	line("WARC-Date", r.date)
	for _, n := range r.fields {
		line(n.name, n.value)
	}
	line("WARC-Block-Digest", blockDigest(r.block))
	line("Content-Type", r.media)
	line("Content-Length", fmt.Sprint(len(r.block)))
	if err != nil {
		return 0, 0, err
	}
	f.head.WriteString("\r\n")
	offset = f.out.n
	f.zip.Reset(f.out)
	f.zip.ModTime = time.Unix(0, 0) // no time; of the zero Time this library writes a date
	for _, part := range [][]byte{f.head.Bytes(), r.block, []byte("\r\n\r\n")} {
		if _, err := f.zip.Write(part); err != nil {
			return 0, 0, err
		}
	}
	err = f.zip.Close()
	return offset, f.out.n - offset, err
}

// blockDigest is a WARC-Block-Digest, in the spelling of digests that are not SHA-1.
func blockDigest(block []byte) string {
	sum := sha256.Sum256(block)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// recordID names a record by what it is of: a UUID of version 8 (RFC 9562, section 5.8) out of the
// SHA-256 of the names. So a record has the same one whenever it is written.
func recordID(names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
