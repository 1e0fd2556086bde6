package desk

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/botauth"
)

// How long the signature of our own key directory holds, several times the day for which copies may
// be kept, and how often it is made anew.
const (
	directoryLife    = 7 * 24 * time.Hour
	directoryRefresh = time.Hour
)

// signedDirectory makes the directory of the keys that sign our requests. Its answer is signed by
// each key in it, so that nobody else can put the key into a directory of theirs.
type signedDirectory struct {
	keys      []*attest.Key
	authority string

	mu     sync.Mutex // guards what follows
	made   time.Time
	body   []byte
	header http.Header
}

func (s *signedDirectory) at(now time.Time) ([]byte, http.Header, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := now.Sub(s.made); s.body != nil && age >= 0 && age < directoryRefresh {
		return s.body, s.header, nil
	}
	body, header, err := botauth.Directory(s.authority, now, now.Add(directoryLife), s.keys...)
	if err != nil {
		return nil, nil, err
	}
	s.made, s.body, s.header = now, body, header
	return body, header, nil
}

func (d *Desk) signatureDirectory(w http.ResponseWriter, r *http.Request) error {
	body, header, err := d.directory.at(time.Now().UTC().Truncate(time.Second))
	if err != nil {
		return err
	}
	maps.Copy(w.Header(), header)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client went away: nobody is left to tell
	}
	return nil
}

func directoryRoute() api.Route {
	return api.Route{
		Name: "signature_directory", Method: http.MethodGet, Pattern: botauth.Path, Tag: "signing",
		Serve: api.Clock, Summary: "The keys that sign the store's own requests",
		Description: "A Web Bot Auth directory: whoever is probed by the store finds here the key of the request's " +
			"signature. The answer is itself signed by the key.",
		Responses: []api.Response{{Status: http.StatusOK,
			ContentType: "application/http-message-signatures-directory+json",
			Headers:     []string{"Content-Digest", "Signature-Input", "Signature"}, Description: "A JWK set"}},
	}
}
