package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/record"
)

// ErrPrivate is wrapped when a public file holds text that is private.
var ErrPrivate = errors.New("a public file holds private text")

// LeakLength is how many bytes in a row of a private text may not stand in a
// public file; blockLength is what is looked up. Every run of LeakLength bytes
// of a file holds a whole block that starts at a multiple of blockLength, so it
// is enough to look up those blocks of the file among all blocks of the private
// texts, wherever they start.
const (
	LeakLength  = 64
	blockLength = LeakLength / 2
)

// Private knows the private texts of a site.
type Private struct {
	texts  []privateText
	blocks map[uint64][]occurrence
	filter []uint64 // one bit for each hash, so that most lookups end here
	// files are the files that are sold, by digest. Their bytes may be anybody's, such as a
	// licence's or a picture's head, so that only a whole one is known again.
	files map[string]string
}

type privateText struct {
	source string // what to name in an error; never the text
	body   []byte
}

type occurrence struct{ text, offset int }

const filterBits = 1 << 20

// NewPrivate collects the texts of pools, paid pages and goods, also as they would look in HTML and
// JSON. What has been put on the public register is private no more.
func NewPrivate(site *content.Site, feed []record.Observation) *Private {
	public := make(map[string]bool)
	for _, o := range feed {
		if o.Kind == record.ObservationRetiredWord {
			public[strings.ToLower(o.Word.Text)] = true
		}
	}
	p := &Private{blocks: make(map[uint64][]occurrence), filter: make([]uint64, filterBits/64)}
	for _, name := range slices.Sorted(maps.Keys(site.Pools)) {
		for _, e := range site.Pools[name].Entries {
			if e.Word != "" && public[strings.ToLower(e.Word)] {
				continue
			}
			p.add("pools/"+name+" "+e.Digest[:12], e.Text)
		}
	}
	for _, g := range site.Goods {
		p.add("texts of "+g.ID, g.Text)
	}
	p.files = make(map[string]string)
	for _, f := range site.Files() {
		p.files[f.SHA256] = "files/" + f.Path
	}
	for _, i := range site.Issues {
		p.add("paid/"+i.ID, i.Body)
		if told := site.Expand(i.Body); told != i.Body {
			p.add("paid/"+i.ID, told)
		}
	}
	return p
}

func (p *Private) add(source, text string) {
	forms := []string{text}
	if escaped := html.EscapeString(text); escaped != text {
		forms = append(forms, escaped)
	}
	if quoted, err := json.Marshal(text); err == nil {
		if inner := string(quoted[1 : len(quoted)-1]); inner != text {
			forms = append(forms, inner)
		}
	}
	for _, form := range forms {
		if len(form) < LeakLength {
			continue
		}
		n := len(p.texts)
		p.texts = append(p.texts, privateText{source: source, body: []byte(form)})
		for at := range len(form) - blockLength + 1 {
			h := blockHash([]byte(form[at:]))
			p.blocks[h] = append(p.blocks[h], occurrence{n, at})
			p.filter[h%filterBits/64] |= 1 << (h % 64)
		}
	}
}

// Check returns ErrPrivate if body holds LeakLength bytes in a row of a
// private text.
func (p *Private) Check(name string, body []byte) error {
	if len(p.files) > 0 {
		sum := sha256.Sum256(body)
		if source, sold := p.files[hex.EncodeToString(sum[:])]; sold {
			return fmt.Errorf("%w: %s is %s, which is sold", ErrPrivate, name, source)
		}
	}
	if len(p.texts) == 0 {
		return nil
	}
	for at := 0; at+blockLength <= len(body); at += blockLength {
		h := blockHash(body[at:])
		if p.filter[h%filterBits/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, pl := range p.blocks[h] {
			if p.texts[pl.text].overlap(pl.offset, body, at) >= LeakLength {
				return fmt.Errorf("%w: %s holds %d bytes or more of %s", ErrPrivate, name, LeakLength,
					p.texts[pl.text].source)
			}
		}
	}
	return nil
}

// Sieve looks for private texts in what is written to it. Its pieces overlap, so
// that every run of LeakLength bytes stands in one of them whole.
type Sieve struct {
	p    *Private
	name string
	held []byte
}

// Sieve looks into what is written of a file.
func (p *Private) Sieve(name string) *Sieve { return &Sieve{p: p, name: name} }

func (s *Sieve) Write(b []byte) (int, error) {
	const piece = 64 << 10
	n := len(b)
	for len(b) > 0 {
		take := min(len(b), piece-len(s.held))
		s.held, b = append(s.held, b[:take]...), b[take:]
		if len(s.held) == piece {
			if err := s.Flush(); err != nil {
				return n - len(b), err
			}
			s.held = append(s.held[:0], s.held[piece-LeakLength:]...)
		}
	}
	return n, nil
}

// Flush looks at what was not looked at yet.
func (s *Sieve) Flush() error { return s.p.Check(s.name, s.held) }

// overlap is the length of the run that text at offset and body at at have in
// common, counted in both directions from there.
func (t privateText) overlap(offset int, body []byte, at int) int {
	if !bytes.Equal(t.body[offset:offset+blockLength], body[at:at+blockLength]) {
		return 0
	}
	before := 0
	for before < min(offset, at) && t.body[offset-before-1] == body[at-before-1] {
		before++
	}
	after := blockLength
	for offset+after < len(t.body) && at+after < len(body) && t.body[offset+after] == body[at+after] {
		after++
	}
	return before + after
}

// blockHash mixes the first blockLength bytes of b.
func blockHash(b []byte) uint64 {
	_ = b[blockLength-1]
	h := uint64(0x9e3779b97f4a7c15)
	for i := 0; i < blockLength; i += 8 {
		h = (h ^ binary.LittleEndian.Uint64(b[i:])) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return h
}
