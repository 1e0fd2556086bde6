package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// The bounds of what one step fetches.
const (
	maxRequestTime = time.Minute
	maxStepBytes   = 2 << 30 // a first step reads all headers
	maxKept        = 64 << 20
	maxNote        = 256 << 10
	maxKeys        = 4 << 20
	maxTile        = 256 * 32
	maxBundle      = 256 * (2 + record.MaxRow)
	maxFirst       = 16 << 20 // of a host index of 16,000,000 hosts with names of the greatest length
)

// LogSource reads the files of a published record over HTTP, or those of a folder. What it read
// stays in memory, so that a step asks for each file once. It is for one goroutine.
type LogSource struct {
	ctx      context.Context
	client   *http.Client
	base     string
	folder   fs.FS // in place of what is fetched, nil for none
	clone    bool  // it has the layout of a record's folder, and not that of a published one
	files    map[string][]byte
	kept     int
	requests int64
	bytes    int64
}

// OpenLogSource returns the record that is served at an address, such as
// https://store.example/corpus: as a store publishes it, or as the folder of a record, such as a
// clone, which may be a local one. It
// stops when ctx ends.
func OpenLogSource(ctx context.Context, address string) (*LogSource, error) {
	if info, err := os.Stat(address); err == nil && info.IsDir() {
		tree, ok := FindRecord(Plain(os.DirFS(address)))
		if !ok {
			return nil, fmt.Errorf("%s holds no record: name the folder of a clone", address)
		}
		return &LogSource{ctx: ctx, base: address, folder: tree, clone: true, files: map[string][]byte{}}, nil
	}
	return openAt(ctx, address, "the record", "https://store.example/corpus")
}

// OpenMirror returns what a mirror or a witness serves at its monitoring prefix.
func OpenMirror(ctx context.Context, address string) (*LogSource, error) {
	return openAt(ctx, address, "the mirror", "https://mirror.example")
}

// openAt returns what is served at an address, of something, such as an example.
func openAt(ctx context.Context, address, of, example string) (*LogSource, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the address of %s: %w", of, err)
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return nil, fmt.Errorf("reading the address of %s: %q is not one such as %s", of, u.Redacted(), example)
	}
	// A redirect leads to whoever the server says, so that it is told and not followed.
	client := &http.Client{Timeout: maxRequestTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &LogSource{ctx: ctx, client: client, base: strings.TrimSuffix(u.String(), "/"),
		files: map[string][]byte{}}, nil
}

// Fetched is how many requests were made and how many bytes came.
func (s *LogSource) Fetched() (requests, bytes int64) { return s.requests, s.bytes }

// Open implements fs.FS. Files are read whole.
func (s *LogSource) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// ReadFile implements fs.ReadFileFS. Its errors are *fs.PathError; fs.ErrNotExist is one that the
// server does not have.
func (s *LogSource) ReadFile(name string) ([]byte, error) {
	if b, ok := s.files[name]; ok {
		return b, nil
	}
	b, err := s.get(s.place(name), largest(name))
	if errors.Is(err, fs.ErrNotExist) && name == record.RingFile && !s.clone {
		s.clone = true
		b, err = s.get(s.place(name), largest(name))
	}
	if err != nil {
		return nil, &fs.PathError{Op: "get", Path: s.base + "/" + name, Err: err}
	}
	if s.kept += len(b); s.kept > maxKept {
		clear(s.files)
		s.kept = len(b)
	}
	s.files[name] = b
	return b, nil
}

// place is where a file of a record stands. The keys, which a step reads first, show which layout
// it is.
func (s *LogSource) place(name string) string {
	number, ofRound := strings.CutPrefix(name, "rounds/")
	number, rest, _ := strings.Cut(number, "/")
	switch {
	case s.clone:
		return name
	case name == record.RingFile:
		return "keys.json"
	case ofRound && rest == "header.json":
		return "headers/" + number + ".json"
	case ofRound:
		return path.Join("hosts", number, strings.TrimPrefix(rest, "hosts/"))
	}
	return name
}

func (s *LogSource) get(name string, most int64) ([]byte, error) {
	if s.folder != nil {
		info, err := fs.Stat(s.folder, name)
		if err == nil && info.Size() > int64(most) {
			err = rule.FileSize.Errorf("larger than %d bytes, which no such file is", most)
		}
		if err != nil {
			return nil, err
		}
		return fs.ReadFile(s.folder, name)
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.base+"/"+name, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "store-verify/1")
	s.requests++
	answer, err := s.client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // it names the address once more
		}
		return nil, err
	}
	defer answer.Body.Close()
	switch code := answer.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		return nil, fs.ErrNotExist
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("it redirects to %.300q: redirects are not followed, name that address instead",
			answer.Header.Get("Location"))
	case code != http.StatusOK:
		return nil, fmt.Errorf("status %d", code)
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	s.bytes += int64(len(b))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > most:
		return nil, rule.FileSize.Errorf("larger than %d bytes, which no such file is", most)
	case s.bytes > maxStepBytes:
		return nil, fmt.Errorf("more than %d bytes were fetched", maxStepBytes)
	}
	return b, nil
}

// largest is the most bytes that a file may have.
func largest(name string) int64 {
	switch base := path.Base(name); {
	case name == record.RingFile:
		return maxKeys
	case base == "header.json":
		return record.MaxHeader
	case base == "first.txt":
		return maxFirst
	case strings.HasPrefix(name, "evidence/"):
		return record.MaxJudgement
	case strings.Contains(name, "tile/entries/"):
		return maxBundle
	case strings.Contains(name, "tile/"):
		return maxTile
	}
	return maxNote
}
