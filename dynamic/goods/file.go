package goods

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// Files hold what goods of files are made of, by digest: what was sold stays what it was, whatever
// becomes of the keeper's folder.
type Files interface {
	// Holds reports whether a file can be opened here.
	Holds(f content.File) bool
	// Open opens the bytes with a digest. fs.ErrNotExist: they are not here.
	Open(sha256 string) (io.ReadSeekCloser, error)
}

// Fetched is the part of a deliverable that tells of a file, which is fetched by its own route with
// the purchase's token. An answer that is not a file has none of it.
type Fetched struct {
	Name      string `json:"file_name,omitzero"` // what it is saved as
	MediaType string `json:"media_type,omitzero"`
	Bytes     int64  `json:"bytes,omitzero"`
	SHA256    string `json:"sha256,omitzero"` // of its bytes, in hex
	HowTo     string `json:"how_to_fetch,omitzero"`
}

const howToFetch = "GET file_url with the header Authorization: Bearer and recovery.status_token: as often as you " +
	"like, in parts (Range) where you like. Compare sha256 when you have it whole."

// howToCheckFile says what the sealed digest of bytes is.
const howToCheckFile = "digest = SHA-256(salt bytes followed by sha256 as 64 hex characters). Keep the salt: only " +
	"you have it."

// sealFile makes the salted digest by which a certificate attests bytes that are private, from
// their SHA-256 in hex.
func sealFile(sha256 string) (sealed, string) {
	s, attests := seal(sha256)
	s.HowTo = howToCheckFile
	return s, attests
}

// FileOf says what file a purchase was delivered with, nil for none.
func FileOf(g *Made) (*Fetched, error) {
	f, err := Delivered[Fetched](g)
	if err != nil || f.HowTo == "" {
		return nil, err
	}
	return &f, nil
}

// Open opens the file that a purchase was delivered with, also when its good has left the shelf.
// fs.ErrNotExist: there is none.
func (m Maker) Open(ctx context.Context, order string, g *Made) (*Fetched, io.ReadSeekCloser, error) {
	kind, err := Delivered[struct {
		Kind string `json:"kind"`
	}](g)
	if err != nil {
		return nil, nil, err
	}
	f, err := FileOf(g)
	i := slices.IndexFunc(alone, func(k Kind) bool { return k.Name == kind.Kind && k.Open != nil })
	if err != nil || f == nil || i < 0 {
		return nil, nil, errors.Join(err, fs.ErrNotExist)
	}
	body, err := alone[i].Open(ctx, m, order, *f)
	return f, body, err
}

type filed struct {
	Fetched
	sealed
}

// file sells the same file to everybody.
var file = Kind{
	Name: content.KindFile, Delivers: filed{}, Able: Maker.hasFiles,
	Available: func(m Maker, _ ledger.Tx, good content.Good, _ map[string]string) error { return m.hasFiles(good) },
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		if o.Good.Stored == nil {
			return nil, errNoEntry
		}
		return filedAs(o, *o.Good.Stored), nil
	},
	Open: openFile,
	For: func(good content.Good) *Kind {
		if good.Stock {
			return &fileUnits
		}
		return nil
	},
}

// fileUnits sells each file of a folder once.
var fileUnits = withFiles(once(Kind{
	Name: content.KindFile, Delivers: filed{}, Able: Maker.hasFiles, Open: openFile,
	Make: ofEntry(func(o *Order, e content.Entry) *Made { return filedAs(o, *e.File) }),
}))

// withFiles has an order refused where the files of its good are not here.
func withFiles(k Kind) Kind {
	available := k.Available
	k.Available = func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
		if err := m.hasFiles(good); err != nil {
			return err
		}
		return available(m, tx, good, inputs)
	}
	return k
}

func filedAs(o *Order, f content.File) *Made {
	private, attests := sealFile(f.SHA256)
	g := MadeOf(o, filed{Fetched{Name: f.Name, MediaType: f.MediaType, Bytes: f.Size, SHA256: f.SHA256,
		HowTo: howToFetch}, private}, o.Good.Name+", as a file: file_url has it.", "")
	if o.Good.Certificate.Attests == "" {
		g.Attests = attests
	}
	return g
}

func openFile(_ context.Context, m Maker, _ string, f Fetched) (io.ReadSeekCloser, error) {
	if m.Files == nil {
		return nil, errNoFiles
	}
	return m.Files.Open(f.SHA256)
}

var errNoFiles = errors.New("goods: this store keeps no files")

// hasFiles refuses a good whose files are not here.
func (m Maker) hasFiles(good content.Good) error {
	lacks := &Away{Item: good.ID, Lacks: "its file: store build puts it where the store finds it"}
	if m.Files == nil {
		return lacks
	}
	if good.Stored != nil && !m.Files.Holds(*good.Stored) {
		return lacks
	}
	for _, e := range m.Pools.Pool(good.Pool).Entries {
		if e.File != nil && !m.Files.Holds(*e.File) {
			return lacks
		}
	}
	return nil
}
