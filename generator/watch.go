package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"agentstore/content/api"
)

// quiet is how long nothing may change before a rebuild, so that an editor's
// burst of writes is one change.
const quiet = 100 * time.Millisecond

// WatchInput says what is watched and shown.
type WatchInput struct {
	// Folders are watched with all below them.
	Folders []string
	// Load reads the sources anew; its error is shown and the last good build
	// stays. OutDir must be a folder of the watcher's own: the pages in it
	// carry the script that reloads them.
	Load func(ctx context.Context) (Input, error)
	// Listener is where the pages are shown, on a loopback address.
	Listener net.Listener
	// Built is told of every build and every failure, from one goroutine.
	Built func(Report, error)
}

// reloadScript asks for word of the next build and loads the page again.
const reloadScript = `<script>new EventSource("/_reload").onmessage=function(){location.reload()}</script>` + "\n"

// Watch builds, shows the site on a small server and builds again whenever a
// source changes, until ctx ends. Pages that are open reload themselves.
func Watch(ctx context.Context, in WatchInput) error {
	if addr, ok := in.Listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		return fmt.Errorf("%w: the site is shown while it is edited, so the address must be a loopback one, not %s", ErrInput, addr.IP)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer watcher.Close()
	for _, dir := range in.Folders {
		if err := watchBelow(watcher, dir); err != nil {
			return err
		}
	}
	show := &preview{changed: make(chan struct{})}
	server := &http.Server{Handler: show, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(in.Listener) }()
	defer server.Close()

	rebuild := func() error {
		report, err := buildForPreview(ctx, in, show)
		if errors.Is(err, ErrForeign) {
			return err // no edit of the sources mends that
		}
		if in.Built != nil {
			in.Built(report, err)
		}
		return nil
	}
	if err := rebuild(); err != nil {
		return err
	}
	timer := time.NewTimer(quiet)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("showing the site: %w", err)
		case err := <-watcher.Errors:
			return fmt.Errorf("watching: %w", err)
		case e := <-watcher.Events:
			if e.Op == fsnotify.Chmod || strings.HasPrefix(filepath.Base(e.Name), ".") {
				continue
			}
			if e.Has(fsnotify.Create) {
				// A new folder may hold files already; an error means that it
				// is gone again.
				if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
					if err := watchBelow(watcher, e.Name); err != nil && !isMissing(err) {
						return err
					}
				}
			}
			timer.Reset(quiet)
		case <-timer.C:
			if err := rebuild(); err != nil {
				return err
			}
		}
	}
}

func watchBelow(w *fsnotify.Watcher, dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return w.Add(name)
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", dir, err)
	}
	return nil
}

func buildForPreview(ctx context.Context, in WatchInput, show *preview) (Report, error) {
	input, err := in.Load(ctx)
	if err != nil {
		return Report{}, err
	}
	input.reload = reloadScript
	report, err := Build(ctx, input)
	if err != nil {
		return Report{}, err
	}
	show.replace(input.OutDir)
	return report, nil
}

// preview serves the tree under construction and tells open pages of changes.
type preview struct {
	mu      sync.Mutex
	dir     string
	changed chan struct{} // closed at the next change
}

func (p *preview) replace(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dir = dir
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *preview) state() (dir string, changed chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir, p.changed
}

// ServeHTTP answers GET for the files of the tree, pages by their folder, and
// /_reload with one event when the tree changes.
func (p *preview) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dir, changed := p.state()
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == "/_reload" {
		w.Header().Set("Content-Type", "text/event-stream")
		if err := http.NewResponseController(w).Flush(); err != nil {
			return // the page cannot be told, and will not ask again
		}
		select {
		case <-changed:
			fmt.Fprint(w, "data: built\n\n")
		case <-r.Context().Done():
		}
		return
	}
	if dir == "" {
		http.Error(w, "The first build has not succeeded yet.", http.StatusServiceUnavailable)
		return
	}
	body, name, err := readPage(dir, r.URL.Path)
	status := http.StatusOK
	if errors.Is(err, fs.ErrNotExist) {
		status, name = http.StatusNotFound, "404.html"
		body, err = os.ReadFile(filepath.Join(dir, name))
	}
	if err != nil {
		http.Error(w, "The page cannot be read.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType(name))
	w.WriteHeader(status)
	w.Write(body) // a reader that has gone is no loss
}

// readPage finds the file of a path: itself, or the page of a folder.
func readPage(dir, urlPath string) ([]byte, string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	name := strings.Trim(urlPath, "/")
	if name == "" {
		name = "."
	}
	if !fs.ValidPath(name) {
		return nil, "", fs.ErrNotExist
	}
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		name = filepath.ToSlash(filepath.Join(name, "index.html"))
	}
	body, err := root.ReadFile(name)
	return body, name, err
}

func mediaType(name string) string {
	switch filepath.Ext(name) {
	case ".html":
		return api.HTML
	case ".css":
		return api.CSS
	case ".svg":
		return api.SVG
	case ".json":
		return api.JSON
	case ".xml":
		return api.XML
	default:
		return api.PlainText
	}
}
