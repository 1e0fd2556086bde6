package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/generator/pages"
)

// quiet is how long nothing may change before a rebuild, so that an editor's
// burst of writes is one change.
const quiet = 100 * time.Millisecond

// again is how often the watched folders themselves are looked at: the system
// says nothing of a folder that was put in the place of another, or that a link
// leads to now.
const again = time.Second

// WatchInput says what is watched and shown.
type WatchInput struct {
	// Folders are watched with all below them, whatever folder stands at their path in time.
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
		return fmt.Errorf("%w: the site is shown while it is edited, so the address must be a loopback one, not %s",
			pages.ErrInput, addr.IP)
	}
	roots := rootsOf(in.Folders)
	watcher, err := watchAll(in.Folders)
	if err != nil {
		return err
	}
	defer func() { watcher.Close() }()
	show := &preview{changed: make(chan struct{})}
	server := &http.Server{Handler: show, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(in.Listener) }()
	defer server.Close()

	rebuild := func() error {
		report, err := buildForPreview(ctx, in, show)
		if err != nil {
			show.failed(err)
		}
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
	look := time.NewTicker(again)
	defer look.Stop()
	gone := false // a folder was moved or removed, and what is at its path now is not watched yet
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("showing the site: %w", err)
		case err := <-watcher.Errors:
			return fmt.Errorf("watching: %w", err)
		case e := <-watcher.Events:
			if e.Op == fsnotify.Chmod || content.PassedOver(filepath.Base(e.Name)) {
				continue
			}
			if err := watchNew(watcher, e); err != nil {
				return err
			}
			gone = gone || roots.lost(e)
			timer.Reset(quiet)
		case <-look.C:
			now := rootsOf(in.Folders)
			if !gone && now.same(roots) {
				continue
			}
			if !gone {
				timer.Reset(quiet)
			}
			fresh, err := watchAll(in.Folders)
			if gone = isMissing(err); gone {
				continue // the build has said so
			}
			if err != nil {
				return err
			}
			watcher.Close()
			watcher, roots = fresh, now
			timer.Reset(quiet)
		case <-timer.C:
			if err := rebuild(); err != nil {
				return err
			}
		}
	}
}

// roots are the folders that are watched, as they are found at their paths.
type roots []root

type root struct {
	at   string      // links followed; "" where there is nothing
	info os.FileInfo // nil where there is nothing
}

func rootsOf(folders []string) roots {
	all := make(roots, len(folders))
	for i, dir := range folders {
		at, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		if info, err := os.Stat(at); err == nil {
			all[i] = root{at, info}
		}
	}
	return all
}

// same reports whether the same folders stand at the paths.
func (r roots) same(other roots) bool {
	return slices.EqualFunc(r, other, func(a, b root) bool {
		return a.at == b.at && (a.info == nil || os.SameFile(a.info, b.info))
	})
}

// lost reports whether an event says that one of the folders is no longer at its path.
func (r roots) lost(e fsnotify.Event) bool {
	return (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) &&
		slices.ContainsFunc(r, func(root root) bool { return root.at == filepath.Clean(e.Name) })
}

// watchAll watches folders with all below them. Close what it returns.
func watchAll(folders []string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	for _, dir := range folders {
		at, err := filepath.EvalSymlinks(dir)
		if err == nil {
			err = watchBelow(w, at)
		}
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("watching %s: %w", dir, err)
		}
	}
	return w, nil
}

// watchNew watches a folder that was made: it may hold files already.
func watchNew(w *fsnotify.Watcher, e fsnotify.Event) error {
	if !e.Has(fsnotify.Create) {
		return nil
	}
	if info, err := os.Stat(e.Name); err != nil || !info.IsDir() {
		return nil // an error means that it is gone again
	}
	if err := watchBelow(w, e.Name); err != nil && !isMissing(err) {
		return fmt.Errorf("watching %s: %w", e.Name, err)
	}
	return nil
}

func watchBelow(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return w.Add(name)
	})
}

func buildForPreview(ctx context.Context, in WatchInput, show *preview) (Report, error) {
	input, err := in.Load(ctx)
	if err != nil {
		return Report{}, err
	}
	input.Reload = reloadScript
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
	dir     string        // of the last good build
	fault   error         // of the build since, nil for none
	changed chan struct{} // closed at the next change
}

func (p *preview) replace(dir string) { p.tell(func() { p.dir, p.fault = dir, nil }) }

// failed shows on every page why the last change was not built.
func (p *preview) failed(err error) { p.tell(func() { p.fault = err }) }

func (p *preview) tell(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *preview) state() (dir string, changed chan struct{}, fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dir, p.changed, p.fault
}

// notBuilt is what a page shows of the fault of the last build, below a word on what is shown
// instead.
func notBuilt(says string, fault error) string {
	return `<div role="alert" style="margin:0;padding:1em;border-bottom:4px solid #9c2f1f;background:#fdf1ee;color:#2b1a16;position:sticky;top:0;max-height:50vh;overflow:auto;font:16px/1.4 ui-monospace,monospace">` +
		"<strong>" + says + `</strong><pre style="white-space:pre-wrap;overflow-wrap:anywhere;margin:.5em 0 0">` +
		html.EscapeString(fault.Error()) + `</pre><p style="margin:.5em 0 0">Mend the file that is named first and save it: ` +
		"the page then loads itself again.</p></div>\n"
}

// withFault puts the fault at the beginning of a page, which loads itself again at the next build.
func withFault(page []byte, fault error) []byte {
	at := bytes.Index(page, []byte("<body>"))
	if fault == nil || at < 0 {
		return page
	}
	at += len("<body>")
	return slices.Concat(page[:at], []byte("\n"+notBuilt("Not built: the last good pages are shown.", fault)),
		page[at:])
}

// ServeHTTP answers GET for the files of the tree, pages by their folder, and
// /_reload with one event when the tree changes.
func (p *preview) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dir, changed, fault := p.state()
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
		if fault == nil {
			fault = errors.New("the first build is under way")
		}
		w.Header().Set("Content-Type", api.HTML)
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Not built</title>\n" +
			reloadScript + "</head><body>\n" + notBuilt("Nothing is built yet.", fault) + "</body></html>\n"))
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
	if mediaType(name) == api.HTML {
		body = withFault(body, fault)
	}
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
	case ".png":
		return api.PNG
	case ".ico":
		return api.ICO
	case ".json":
		return api.JSON
	case ".xml":
		return api.XML
	case ".atom":
		return api.Atom
	default:
		return api.PlainText
	}
}
