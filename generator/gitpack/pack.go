package gitpack

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// packed is where an object stands in a pack.
type packed struct {
	hash   Hash
	offset uint64
	crc    uint32
}

// Options say how a pack is written. The zero value uses one core at the fastest level.
type Options struct {
	Workers  int                   // how many objects are deflated at once, 0 for one
	Small    bool                  // deflate for size, for a pack that is downloaded often
	Progress func(done, total int) // called now and then from one goroutine, nil for no one to tell
}

// TempPrefix begins the names of files that a pack in the making has. What an interrupted WritePack
// left can be removed.
const TempPrefix = "tmp_"

// WritePack stores objects as one pack, version 2, with its index
// (gitformat-pack), and returns its name without extension. Bodies are deflated
// on several cores and written in order, so that equal objects give equal packs.
// The index comes last: a pack without one is not seen by git.
func WritePack(ctx context.Context, dir string, objects []Object, o Options) (name string, err error) {
	if len(objects) > math.MaxUint32 {
		return "", errors.New("writing a pack: too many objects")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("writing a pack: %w", err)
	}
	f, err := os.CreateTemp(dir, TempPrefix+"pack_*")
	if err != nil {
		return "", fmt.Errorf("writing a pack: %w", err)
	}
	temps := []string{f.Name()}
	defer func() {
		if err != nil {
			f.Close()
			for _, name := range temps {
				os.Remove(name)
			}
			err = fmt.Errorf("writing a pack: %w", err)
		}
	}()

	index, trailer, err := writeObjects(ctx, f, objects, o)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Chmod(0o444), f.Sync(), f.Close()); err != nil {
		return "", err
	}

	idx, err := os.CreateTemp(dir, TempPrefix+"idx_*")
	if err != nil {
		return "", err
	}
	temps = append(temps, idx.Name())
	_, err = idx.Write(packIndex(index, trailer))
	if err := errors.Join(err, idx.Chmod(0o444), idx.Sync(), idx.Close()); err != nil {
		return "", err
	}
	name = "pack-" + hex.EncodeToString(trailer)
	if err := os.Rename(f.Name(), filepath.Join(dir, name+".pack")); err != nil {
		return "", err
	}
	return name, os.Rename(idx.Name(), filepath.Join(dir, name+".idx"))
}

// writeObjects writes the pack itself and returns where its objects stand and the hash at its end.
func writeObjects(ctx context.Context, f io.Writer, objects []Object, o Options) (index []packed, trailer []byte,
	err error) {
	sum := sha1.New()
	buffered := bufio.NewWriterSize(f, 1<<20)
	w := io.MultiWriter(buffered, sum)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	if _, err := w.Write(head); err != nil {
		return nil, nil, err
	}
	at := uint64(len(head))
	index = make([]packed, len(objects))
	entry := func(i int) ([]byte, error) { return packEntry(objects[i], o.Small) }
	write := func(i int, b []byte) error {
		index[i] = packed{hash: objects[i].Hash, offset: at, crc: crc32.ChecksumIEEE(b)}
		at += uint64(len(b))
		if o.Progress != nil && (i%1024 == 0 || i == len(objects)-1) {
			o.Progress(i+1, len(objects))
		}
		_, err := w.Write(b)
		return err
	}
	if err := fold(ctx, len(objects), max(1, o.Workers), entry, write); err != nil {
		return nil, nil, err
	}
	trailer = sum.Sum(nil)
	_, err = buffered.Write(trailer)
	return index, trailer, errors.Join(err, buffered.Flush())
}

// deflaters are reused, as each takes a large table.
var fastDeflaters, smallDeflaters = newDeflaters(zlib.BestSpeed), newDeflaters(zlib.BestCompression)

func newDeflaters(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		w, err := zlib.NewWriterLevel(io.Discard, level)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}}
}

// packEntry is an object as it stands in a pack: kind and size in a varint
// whose first byte has four bits of the size, then the deflated body.
func packEntry(o Object, small bool) ([]byte, error) {
	body, err := o.Bytes()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(body)/2 + 64)
	size := uint64(len(body))
	c := byte(o.Kind)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	b.WriteByte(c)
	deflaters := fastDeflaters
	if small {
		deflaters = smallDeflaters
	}
	w := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("deflating: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("deflating: %w", err)
	}
	return b.Bytes(), nil
}

// packIndex is the version 2 index: counts by first byte, names, checksums and
// offsets in the order of the names, those above 2^31 in a table of their own.
func packIndex(objects []packed, packSum []byte) []byte {
	slices.SortFunc(objects, func(a, b packed) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	out := []byte("\xfftOc\x00\x00\x00\x02")
	count, i := uint32(0), 0
	for first := range 256 {
		for i < len(objects) && int(objects[i].hash[0]) == first {
			i++
			count++
		}
		out = binary.BigEndian.AppendUint32(out, count)
	}
	for _, o := range objects {
		out = append(out, o.hash[:]...)
	}
	for _, o := range objects {
		out = binary.BigEndian.AppendUint32(out, o.crc)
	}
	var large []byte
	for _, o := range objects {
		if o.offset < 1<<31 {
			out = binary.BigEndian.AppendUint32(out, uint32(o.offset))
			continue
		}
		out = binary.BigEndian.AppendUint32(out, 1<<31|uint32(len(large)/8))
		large = binary.BigEndian.AppendUint64(large, o.offset)
	}
	out = append(append(out, large...), packSum...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}
