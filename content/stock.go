package content

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// What a keeper's own goods are made of. Files may be large, so none is held in memory: a site
// knows each by its digest and size, its digest covers those, and whoever sells the site keeps the
// bytes under their digest. So a file that is replaced in the stock is another file, and what was
// sold is still what was sold.

const (
	fileFolder = "files/"
	textFolder = "texts/"
	// MaxStored bounds a file that is sold, in bytes.
	MaxStored = 64 << 20
	// maxSold bounds a text that is sold, in bytes.
	maxSold = 64 << 10
	// maxStoredName bounds the name of a file, in bytes.
	maxStoredName = 120
)

// File is a file of the stock that is sold.
type File struct {
	// Path is where it lies, below the folder files.
	Path string
	// Name is what it is saved as.
	Name string
	// MediaType is as in Content-Type.
	MediaType string
	// Size is in bytes, at most MaxStored.
	Size int64
	// SHA256 is over its bytes, in hex.
	SHA256 string
}

// Upstream is an HTTP address whose answer is sold.
type Upstream struct {
	URL    string
	Method string // GET or POST
	// Repeatable says that asking costs nothing that matters: it is asked before the payment is
	// settled. What is not is asked after, and owed back where it cannot be had.
	Repeatable bool
	// File says that the answer is fetched like a file, of the MediaType; otherwise it is JSON.
	File      bool
	MediaType string
	Seconds   int // for one request
	Unpaid    int // requests within 24 hours that may stay unpaid
}

// Files are all files that the shelf sells, each once, in the order of their digests.
func (s *Site) Files() []File {
	by := make(map[string]File)
	for _, g := range s.Goods {
		if g.Stored != nil {
			by[g.Stored.SHA256] = *g.Stored
		}
		for _, e := range s.Pool(g.Pool).Entries {
			if e.File != nil {
				by[e.File.SHA256] = *e.File
			}
		}
	}
	var all []File
	for _, digest := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[digest])
	}
	return all
}

// OpenFile opens a file of the shelf where the sources have it, which may have changed since.
func (src Sources) OpenFile(f File) (fs.File, error) {
	of := src.Content
	if src.Stock != nil {
		of = src.Stock
	}
	if of == nil {
		of = Specimen
	}
	return of.Open(fileFolder + f.Path)
}

// weigh reads the files of a stock and keeps of each its digest and size, in one line.
func (l *loader) weigh(fsys fs.FS) {
	err := walk(fsys, func(name string, d fs.DirEntry) error {
		if d.IsDir() || !d.Type().IsRegular() && !l.readable(fsys, fileFolder, name) {
			return nil
		}
		line, err := weighed(fsys, name)
		if errors.Is(err, errLarge) {
			l.fail(fileFolder+name, 0, "larger than %d bytes: put it elsewhere and sell what leads there", MaxStored)
			return nil
		}
		l.files[fileFolder+name] = []byte(line)
		return err
	})
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("reading %ssources: %w", fileFolder, err))
	}
}

var errLarge = errors.New("too large")

// weighed is the line that stands for a file: its digest and size.
func weighed(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MaxStored+1))
	if err == nil && n > MaxStored {
		err = errLarge
	}
	return fmt.Sprintf("%x %d\n", h.Sum(nil), n), err
}

// stored is the file that a good sells, by where it lies below files.
func (l *loader) stored(at, mediaType string) (File, bool) {
	line, ok := l.take(fileFolder + at)
	if !ok {
		return File{}, false
	}
	digest, size, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if raw, wrong := hex.DecodeString(digest); err != nil || wrong != nil || len(raw) != sha256.Size {
		l.fail(fileFolder+at, 0, "its digest cannot be read")
		return File{}, false
	}
	name := path.Base(at)
	return File{Path: at, Name: name, MediaType: cmp.Or(mediaType, typeOf(name)), Size: n, SHA256: digest}, true
}

// types are the media types by which files are delivered that do not say, by the endings of their
// names. No system's table is asked: the same site is the same everywhere.
var types = map[string]string{
	".avif": "image/avif", ".bin": octets, ".csv": "text/csv; charset=utf-8",
	".docx": office + "wordprocessingml.document",
	".epub": "application/epub+zip", ".flac": "audio/flac", ".gif": "image/gif", ".gz": "application/gzip",
	".html": "text/html; charset=utf-8", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".json": "application/json",
	".jsonl": "application/jsonl", ".md": "text/markdown; charset=utf-8", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
	".ogg": "audio/ogg", ".parquet": "application/vnd.apache.parquet", ".pdf": "application/pdf", ".png": "image/png",
	".svg": "image/svg+xml", ".tar": "application/x-tar", ".toml": "application/toml",
	".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".wav": "audio/wav", ".webm": "video/webm",
	".webp": "image/webp", ".xlsx": office + "spreadsheetml.sheet", ".xml": "application/xml",
	".zip": "application/zip",
}

const office = "application/vnd.openxmlformats-officedocument."

const octets = "application/octet-stream"

// Ending is the ending of names of files of a media type, with its dot, such as .pdf; .bin where
// none is known.
func Ending(mediaType string) string {
	for _, ending := range slices.Sorted(maps.Keys(types)) {
		if types[ending] == mediaType && ending != ".jpeg" {
			return ending
		}
	}
	return ".bin"
}

func typeOf(name string) string {
	return cmp.Or(types[strings.ToLower(path.Ext(name))], octets)
}

// made reads what a good of a keeper's own kind is made of.
func (f sourceFile) made(g *Good, raw rawGood) {
	if (raw.Upstream != nil) != (g.Kind == KindUpstream) {
		if raw.Upstream == nil {
			f.fail("upstream", "missing: a good of this kind has a table [upstream] with the url that is asked")
		} else {
			f.fail("upstream", "a %s has none: it is for %s", g.Kind, KindUpstream)
		}
	}
	switch g.Kind {
	case KindFile:
		f.sells(g, raw)
	case KindText:
		f.words(g, raw.Text)
	case KindUpstream:
		if raw.Upstream != nil {
			f.asks(g, *raw.Upstream, raw.MediaType)
		}
	}
}

// sells reads the file, or the folder of files, that a good sells.
func (f sourceFile) sells(g *Good, raw rawGood) {
	f.mediaType(raw.MediaType)
	if (raw.File == "") == (raw.Folder == "") {
		f.fail("file", "give file, or folder where each is sold once: one of the two, below %s", f.l.real(fileFolder))
		return
	}
	if raw.File != "" {
		if !within(raw.File) {
			f.fail("file", "%q is no path below %s", raw.File, f.l.real(fileFolder))
			return
		}
		at, ok := f.l.stored(raw.File, raw.MediaType)
		if !ok {
			f.fail("file", "there is no %s: put the file there", f.l.real(fileFolder+raw.File))
			return
		}
		f.named(at)
		g.Stored = &at
		return
	}
	folder := strings.TrimSuffix(raw.Folder, "/")
	if !within(folder) {
		f.fail("folder", "%q is no path below %s", raw.Folder, f.l.real(fileFolder))
		return
	}
	g.Pool, g.Stock = fileFolder+folder, true
	pool := Pool{Name: g.Pool}
	twice := make(map[string]string)
	for _, name := range f.l.under(g.Pool + "/") {
		at, ok := f.l.stored(strings.TrimPrefix(name, fileFolder), raw.MediaType)
		if !ok {
			continue
		}
		f.named(at)
		if other := twice[at.SHA256]; other != "" {
			f.l.fail(name, 0, "is the same file as %s, and each is sold once", other)
		}
		twice[at.SHA256] = at.Path
		pool.Entries = append(pool.Entries, Entry{Digest: at.SHA256, File: &at})
	}
	if len(pool.Entries) == 0 {
		f.fail("folder", "there are no files in %s: put those there that are sold, each once", f.l.real(g.Pool))
	}
	if f.l.units[g.Pool].Name != "" {
		f.fail("folder", "%s is also sold by another good", f.l.real(g.Pool))
	}
	f.l.units[g.Pool] = pool
}

// within reports whether a path leads to something below its folder, in one spelling.
func within(at string) bool { return fs.ValidPath(at) && at != "." && !strings.ContainsAny(at, "\\:") }

// named refuses a name that not every system can save a file under.
func (f sourceFile) named(at File) {
	if len(at.Name) > maxStoredName || strings.ContainsFunc(at.Name, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`"*/:<>?\|`, r)
	}) {
		f.l.fail(fileFolder+at.Path, 0, "give it a name of at most %d bytes, without any of \" * : < > ? \\ |",
			maxStoredName)
	}
}

func (f sourceFile) mediaType(s string) {
	if s == "" {
		return
	}
	if t, _, err := mime.ParseMediaType(s); err != nil || !strings.Contains(t, "/") {
		f.fail("media_type", "%q is no media type such as application/pdf", s)
	}
}

// words reads the text that a good sells. Words in braces are the order's inputs, or facts of the
// site.
func (f sourceFile) words(g *Good, at string) {
	if !within(at) || path.Ext(at) != ".md" {
		f.fail("text", "%q is no path of a .md file below %s", at, f.l.real(textFolder))
		return
	}
	body, ok := f.l.text(textFolder + at)
	if !ok {
		if _, is := f.l.files[textFolder+at]; !is {
			f.fail("text", "there is no %s: put the Markdown there", f.l.real(textFolder+at))
		}
		return
	}
	if body = strings.TrimSpace(body); body == "" || len(body) > maxSold {
		f.l.fail(textFolder+at, 0, "must hold a text of at most %d bytes", maxSold)
	}
	known := new(Site).placeholders()
	for _, p := range placeholder.FindAllString(body, -1) {
		_, fact := known[p]
		if !fact && !slices.ContainsFunc(g.AllInputs(), func(in Input) bool { return "{"+in.Name+"}" == p }) {
			f.l.fail(textFolder+at, 0, "%s is no input of %s: give the good an [[input]] of that name", p, g.ID)
		}
	}
	g.Text = body
}

// asks reads the address whose answer a good sells.
func (f sourceFile) asks(g *Good, raw rawUpstream, mediaType string) {
	kind, _ := kindOf(KindUpstream)
	f.keys("upstream", &raw, kind, true)
	f.mediaType(mediaType)
	u, err := url.Parse(raw.URL)
	if raw.URL != "" && (err != nil || u.Host == "" || u.User != nil || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http") {
		f.fail("url", "%q is no http or https address without a user and a fragment", raw.URL)
	}
	f.oneOf("method", raw.Method, http.MethodGet, http.MethodPost)
	f.oneOf("answer", raw.Answer, "json", "file")
	file := raw.Answer == "file"
	if !file && mediaType != "" && mediaType != jsonType {
		f.fail("media_type", `an answer of another type than %s is a file: answer = "file"`, jsonType)
	}
	g.Upstream = &Upstream{URL: raw.URL, Method: raw.Method, Repeatable: raw.Repeatable, File: file,
		MediaType: cmp.Or(mediaType, jsonType), Seconds: raw.Seconds, Unpaid: raw.Unpaid}
	if file && mediaType == "" {
		g.Upstream.MediaType = octets
	}
	g.Constraints = append(g.Constraints, asked[raw.Repeatable])
}

const jsonType = "application/json"

// asked says to buyers when an address is asked, by whether it may be asked again.
var asked = map[bool]string{
	true: "The service behind it is asked before your payment is settled: where it gives no answer, nothing is " +
		"charged.",
	false: "The service behind it is asked once your payment has settled. Where it gives no answer within an hour, " +
		"what you paid is owed to you.",
}
