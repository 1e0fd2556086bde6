package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/color"

	"github.com/klauspost/compress/zlib"
)

// encodePNG writes an image of up to 16 colours, four bits a pixel (PNG, ISO/IEC 15948), from its
// rows with the filter of each before it. The package image/png takes several times as long: it
// asks an interface for every such pixel, and compresses with the standard library.
func encodePNG(wide, high int, colours color.Palette, rows []byte, z *zlib.Writer) ([]byte, error) {
	var packed bytes.Buffer
	z.Reset(&packed)
	if _, err := z.Write(rows); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(wide)), uint32(high))
	var palette []byte
	for _, c := range colours {
		r, g, b, _ := c.RGBA()
		palette = append(palette, uint8(r>>8), uint8(g>>8), uint8(b>>8))
	}
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct {
		kind string
		data []byte
	}{
		{"IHDR", append(size, 4, 3, 0, 0, 0)}, // four bits, of a palette; deflate, filters by row, one pass
		{"PLTE", palette},
		{"IDAT", packed.Bytes()},
		{"IEND", nil},
	} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunk.data)))
		from := len(out)
		out = append(append(out, chunk.kind...), chunk.data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
	}
	return out, nil
}
