package seal

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// writers are compressors that are used again: to make one takes longer than what it does here.
var writers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one
	}
	return w
}}

// Gzip is a judgement as a member of a pack. A pack is signed by its bytes, so what compresses is
// pinned by go.mod and does not change with the toolchain, as the standard library's does.
func Gzip(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	w.ModTime = time.Unix(0, 0) // zero bytes: a member says no time
	_, err := w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compressing a judgement: %w", err)
	}
	return b.Bytes(), nil
}
