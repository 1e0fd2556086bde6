package content

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// MinEntries is the least a pool may hold whose entries are given once for ever.
const MinEntries = 40

// Pool is the texts a good draws from: pools/<name>.toml.
type Pool struct {
	Name string
	// Entries are in the order of their file. Nothing may depend on it: an
	// entry is known by its digest.
	Entries []Entry
}

// Pool returns a pool by its name, an empty one where there is none.
func (s *Site) Pool(name string) Pool { return s.Pools[name] }

// Entry returns the entry with this digest.
func (p Pool) Entry(digest string) (Entry, bool) {
	i := slices.IndexFunc(p.Entries, func(e Entry) bool { return e.Digest == digest })
	if i < 0 {
		return Entry{}, false
	}
	return p.Entries[i], true
}

// Digests returns the digests of all entries, sorted: the order to choose from
// when a choice must not change as the file is rearranged.
func (p Pool) Digests() []string {
	ds := make([]string, len(p.Entries))
	for i, e := range p.Entries {
		ds[i] = e.Digest
	}
	slices.Sort(ds)
	return ds
}

// Entry is one text of a pool with the fields its kind needs; the others are
// empty.
type Entry struct {
	// Digest is the SHA-256 in hex of the entry's canonical bytes: the key
	// under which the ledger remembers it. It is not salted, so it is for the
	// ledger only and never published.
	Digest string
	// Text is plain text, without markup.
	Text string
	// Name of a rock or curio, or the name that nomenclature gives.
	Name string
	// Word to be retired.
	Word string
	// Animal is the kind of animal, lower case, as drawing.AnimalCard takes it.
	Animal string
	// Strength is one of: solid, strong, still proving itself.
	Strength string
	// Temperament of a rock.
	Temperament string
	// Date of a Tuesday, midnight UTC.
	Date time.Time
	// File is what an entry of a folder of files is, all else but the digest being empty; nil for
	// the others. Its digest is that of the file.
	File *File
}

// canonical is every field that is set, in this order, each as its name, a
// line feed, its value and a NUL. Values hold no control characters.
func (e Entry) canonical() []byte {
	var b []byte
	put := func(name Field, value string) {
		if value != "" {
			b = append(b, name...)
			b = append(b, '\n')
			b = append(b, value...)
			b = append(b, 0)
		}
	}
	put(FieldName, e.Name)
	put(FieldWord, e.Word)
	put(FieldAnimal, e.Animal)
	put(FieldStrength, e.Strength)
	put(FieldTemperament, e.Temperament)
	if !e.Date.IsZero() {
		put(FieldDate, e.Date.Format(time.DateOnly))
	}
	put("text", e.Text)
	return b
}

func (e Entry) digest() string {
	sum := sha256.Sum256(e.canonical())
	return hex.EncodeToString(sum[:])
}

func (e Entry) field(f Field) string {
	switch f {
	case FieldName:
		return e.Name
	case FieldWord:
		return e.Word
	case FieldAnimal:
		return e.Animal
	case FieldStrength:
		return e.Strength
	case FieldTemperament:
		return e.Temperament
	case FieldDate:
		if e.Date.IsZero() {
			return ""
		}
		return e.Date.Format(time.DateOnly)
	}
	return ""
}
