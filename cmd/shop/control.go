package shop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/restore"
)

// A bbolt ledger belongs to the process that serves it, so what else needs it asks that process
// through a Unix socket beside the file, which only the owner may use.

// controlSocket is where a process that holds a bbolt ledger listens. Socket paths are short (about
// 100 bytes), so a long one is replaced by a name in the temporary folder, in a folder of the
// owner's own.
func controlSocket(spec string) (string, bool) {
	file, ok := strings.CutPrefix(spec, "bolt:")
	if !ok {
		return "", false
	}
	path := file + ".sock"
	if len(path) > 100 {
		sum := sha256.Sum256([]byte(path))
		path = filepath.Join(os.TempDir(), fmt.Sprintf("agentstore-%d", os.Getuid()), hex.EncodeToString(sum[:8])+
			".sock")
	}
	return path, true
}

// serveControl answers on the socket until ctx ends.
func (s *Shop) serveControl(ctx context.Context, spec string) error {
	path, ok := controlSocket(spec)
	if !ok {
		<-ctx.Done()
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// The ledger's own lock says that no other process holds it, so a socket that is there was left
	// by a dead one.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /backup", func(w http.ResponseWriter, r *http.Request) {
		answerControl(w, func(out io.Writer) error { return backUp(r.Context(), s.DB, out) })
	})
	mux.HandleFunc("POST /observations", s.serveObservations)
	mux.HandleFunc("POST /census", s.serveCensus)
	mux.HandleFunc("POST /keeper/{verb}", s.serveVerb)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// answerControl answers with what work writes. What it did stands in the answer also where it then
// failed, so an error comes behind it, in a trailer.
func answerControl(w http.ResponseWriter, work func(io.Writer) error) {
	err := work(w)
	if err == nil {
		return
	}
	name := errorTrailer
	if errors.Is(err, restore.ErrNotYet) {
		name = notYetTrailer
	}
	w.Header().Set(http.TrailerPrefix+name, url.QueryEscape(err.Error()))
}

const (
	errorTrailer  = "Store-Error"
	notYetTrailer = "Store-Not-Yet" // an error that passes by itself
)

// answered is the error in an answer of answerControl.
func answered(h http.Header) error {
	if text, err := url.QueryUnescape(h.Get(notYetTrailer)); err == nil && text != "" {
		return notYet{errors.New(text)}
	}
	if text, err := url.QueryUnescape(h.Get(errorTrailer)); err == nil && text != "" {
		return errors.New(text)
	}
	return nil
}

// notYet is what the serving process refused for now.
type notYet struct{ error }

// Unwrap makes it restore.ErrNotYet.
func (notYet) Unwrap() error { return restore.ErrNotYet }

// askServer sends a request, such as "GET /backup", with a body or nil, to the process that holds
// the ledger. ok is false when there is none.
func askServer(ctx context.Context, spec, request string, body io.Reader, w io.Writer) (ok bool, err error) {
	socket, has := controlSocket(spec)
	if !has {
		return false, nil
	}
	// A connection for each question: one that is kept would outlive its client.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, "http://store"+path, body)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && ctx.Err() == nil {
		return false, nil // nobody serves it
	}
	if err != nil {
		return true, fmt.Errorf("the serving process gave no answer: see its log, and ask again when it is up: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return true, errors.New("the serving process does not know this verb: it is of another version; start store " +
			"serve again with this one")
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // what there is of it helps
		return true, fmt.Errorf("the serving process answered %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	if _, err = io.Copy(w, resp.Body); err != nil {
		err = fmt.Errorf("the serving process broke off: see its log, and ask again when it is up: %w", err)
	}
	return true, errors.Join(err, answered(resp.Trailer))
}

// controlDoor reports whether our own control door can be read and is well, for readings that are
// sold: while it is not, nothing is called unreachable. It is nil where none is configured.
func (s *Shop) controlDoor(key *attest.Key, o Options) (func(context.Context) bool, error) {
	at := s.Config.Census.Control
	if at == "" {
		return nil, nil
	}
	cfg, err := s.Config.fetchConfig(key)
	if err != nil {
		return nil, err
	}
	// The control door is our own, and this client is handed no other URL.
	cfg.OwnHosts, cfg.OwnAddresses = nil, nil
	if o.Reach != nil {
		o.Reach(&cfg)
	}
	client, err := fetch.New(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) bool {
		checker, err := probe.NewPreflight(probe.Current(), at, probe.Declaration{})
		if err != nil {
			return false
		}
		report, _, err := fetch.Walk(ctx, client, checker, fetch.WalkStart{URL: at, Time: probe.MaxTime})
		return err == nil && report.Verdict == probe.Ready
	}, nil
}
