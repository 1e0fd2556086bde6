package record

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// WordsFormat names the format of a file of words.
const WordsFormat = "store-words/v1"

// The bounds of a stranger's text.
const (
	saltBytes   = 32
	maxWords    = 8 << 10 // bytes of a text
	maxWordFile = 6*maxWords + 1024
)

// Said is a stranger's text as an observation holds it: its digest with a salt, and nothing else in
// what is signed. A leaf can never be withdrawn, and a text can: while it is public it stands with
// its salt in a file of its own,
//
//	words/<sha256>.json    {"format":"store-words/v1","salt":"…64 hexadecimal digits…","text":"…"} and a newline
//
// named by the digest. Without the salt nobody can try texts against a digest whose text was
// withdrawn or never shown.
type Said struct {
	SHA256 string `json:"sha256"` // of the salt's 32 bytes and the text, in lower-case hexadecimal
	// Salt and Text travel with an observation to the record and are read from their file; they are
	// never signed. Both are absent where the text was withdrawn or never was public.
	Salt attest.Hex `json:"salt,omitzero"`
	Text string     `json:"text,omitzero"`
}

// Say salts a text with fresh random bytes, of crypto/rand where random is nil.
func Say(random io.Reader, text string) (Said, error) {
	if random == nil {
		random = rand.Reader
	}
	s := Said{Salt: make([]byte, saltBytes), Text: text}
	if _, err := io.ReadFull(random, s.Salt); err != nil {
		return Said{}, fmt.Errorf("salting a text: %w", err)
	}
	s.SHA256 = saltedDigest(s.Salt, text)
	return s, s.check()
}

func saltedDigest(salt []byte, text string) string {
	return attest.Digest(sha256.Sum256(append(bytes.Clone(salt), text...))).String()
}

// check demands a digest and, where the text is at hand, that it is of that text under a whole
// salt.
func (s Said) check() error {
	switch {
	case !IsDigest(s.SHA256):
		return fmt.Errorf("%q is no salted digest", s.SHA256)
	case s.Text == "" && s.Salt == nil:
		return nil
	case len(s.Salt) != saltBytes:
		return fmt.Errorf("a salt of %d bytes, where %d belong", len(s.Salt), saltBytes)
	case s.Text == "" || len(s.Text) > maxWords || !utf8.ValidString(s.Text):
		return fmt.Errorf("a text of %d bytes, or none, or not UTF-8", len(s.Text))
	case saltedDigest(s.Salt, s.Text) != s.SHA256:
		return errors.New("a digest that is not of the salt and the text")
	}
	return nil
}

// wordFile is a file of words.
type wordFile struct {
	Format string     `json:"format"` // WordsFormat
	Salt   attest.Hex `json:"salt"`
	Text   string     `json:"text"`
}

// WordsPath names the file of the text of a digest.
func WordsPath(digest string) string { return "words/" + digest + ".json" }

// Encode returns the bytes of the text's file.
func (s Said) Encode() ([]byte, error) {
	raw, err := attest.Canonical(wordFile{WordsFormat, s.Salt, s.Text})
	return append(raw, '\n'), err
}

// ParseWords reads a file of words: the text, its salt and the digest that both give, which is the
// file's name.
func ParseWords(raw []byte) (Said, error) {
	fail := func(err error) (Said, error) { return Said{}, fmt.Errorf("reading words: %w", err) }
	body, ok := bytes.CutSuffix(raw, []byte{'\n'})
	if !ok || len(raw) > maxWordFile {
		return fail(fmt.Errorf("a file of %d bytes, where one line of up to %d belongs", len(raw), maxWordFile))
	}
	var f wordFile
	if err := attest.ParseCanonical(body, &f); err != nil {
		return fail(err)
	}
	if f.Format != WordsFormat {
		return fail(fmt.Errorf("format is %.80q, not %q; hint: %w", f.Format, WordsFormat, ErrNewer))
	}
	s := Said{SHA256: saltedDigest(f.Salt, f.Text), Salt: f.Salt, Text: f.Text}
	if err := s.check(); err != nil {
		return fail(err)
	}
	return s, nil
}

// ReadWords reads the text of a digest; without the text where it is not there.
func ReadWords(fsys fs.FS, digest string) (Said, error) {
	raw, err := fs.ReadFile(fsys, WordsPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return Said{SHA256: digest}, nil
	}
	if err != nil {
		return Said{}, err
	}
	s, err := ParseWords(raw)
	if err != nil {
		return Said{}, fmt.Errorf("%s: %w", WordsPath(digest), err)
	}
	if s.SHA256 != digest {
		err = rule.WordsDigest.Errorf("%s holds the text of %s", WordsPath(digest), s.SHA256)
	}
	return s, err
}

// Texts are the texts of an observation that stand in files; a tip's own text is sold and is never
// among them.
func (o *Observation) Texts() (out []*Said) {
	if o.Word != nil {
		out = append(out, o.Word)
	}
	if o.Note != nil {
		out = append(out, &o.Note.Statement)
	}
	if o.Tip != nil {
		out = append(out, &o.Tip.Title)
		if o.Tip.By != nil {
			out = append(out, o.Tip.By)
		}
	}
	return out
}

// HasText reports whether the observation holds the digest of a text that stands, or stood, in a
// file.
func (o *Observation) HasText(digest string) bool {
	return slices.ContainsFunc(o.Texts(), func(s *Said) bool { return s.SHA256 == digest })
}

// said are all texts of an observation.
func (o *Observation) said() []*Said {
	out := o.Texts()
	if o.Tip != nil {
		out = append(out, &o.Tip.Text)
	}
	return out
}

// own gives an observation texts of its own, so that they can be changed.
func (o Observation) own() Observation {
	if o.Word != nil {
		o.Word = &Said{o.Word.SHA256, o.Word.Salt, o.Word.Text}
	}
	if o.Note != nil {
		n := *o.Note
		o.Note = &n
	}
	if o.Tip != nil {
		t := *o.Tip
		if o.Tip = &t; t.By != nil {
			t.By = &Said{t.By.SHA256, t.By.Salt, t.By.Text}
		}
	}
	return o
}

// Bare returns the observation as it is signed and published: of strangers' texts, and of
// judgements, the digests alone.
func (o Observation) Bare() Observation {
	o = o.own()
	for _, s := range o.said() {
		s.Salt, s.Text = nil, ""
	}
	o.Judgement = ""
	return o
}

// Salted returns the observation with a fresh salt for each public text that has none yet. A tip's
// text is salted by who keeps it, since no record does.
func (o Observation) Salted(random io.Reader) (Observation, error) {
	o = o.own()
	for _, s := range o.Texts() {
		if s.SHA256 != "" || s.Text == "" {
			continue
		}
		fresh, err := Say(random, s.Text)
		if err != nil {
			return o, err
		}
		*s = fresh
	}
	return o, nil
}

// WithTexts returns an observation that was read with what is public of its texts.
func (o Observation) WithTexts(fsys fs.FS) (Observation, error) {
	if len(o.Texts()) == 0 {
		return o, nil
	}
	o = o.own()
	for _, s := range o.Texts() {
		read, err := ReadWords(fsys, s.SHA256)
		if err != nil {
			return o, fmt.Errorf("reading observation %d: %w", o.Number, err)
		}
		*s = read
	}
	return o, nil
}

// ReadObservation reads and verifies one observation of a record's folder, with what is public of
// its texts. fs.ErrNotExist where there is none of the number.
func ReadObservation(fsys fs.FS, n int64, ring attest.Ring) (Observation, error) {
	o, _, err := OpenObservation(fsys, n, ring)
	if err != nil {
		return Observation{}, err
	}
	return o.WithTexts(fsys)
}

// Forget returns a feed without the text of a digest, in observations of its own.
func Forget(feed []Observation, digest string) []Observation {
	out := slices.Clone(feed)
	for i := range out {
		if slices.ContainsFunc(out[i].said(), func(s *Said) bool { return s.SHA256 == digest }) {
			out[i] = out[i].own()
			for _, s := range out[i].said() {
				if s.SHA256 == digest {
					s.Salt, s.Text = nil, ""
				}
			}
		}
	}
	return out
}

// Withdrawn says that a text, or what a walk was judged by, was taken out of the record on purpose:
// its bytes are missing and its digest stands. The reason is the keeper's.
type Withdrawn struct {
	SHA256 string `json:"sha256"`
	Reason string `json:"reason"`
}

// maxReason bounds the reason of a withdrawal in bytes.
const maxReason = 500

func (w *Withdrawn) check() error {
	if !IsDigest(w.SHA256) || w.Reason == "" || TextBytes(w.Reason) > maxReason {
		return fmt.Errorf("a withdrawal without digest or reason, or with one of more than %d bytes", maxReason)
	}
	return nil
}
