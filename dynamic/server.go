// Package dynamic is the service's small core: it joins the rows of the instruments into one table,
// derives the mux from it, and serves the published tree where no content network does. Every
// answer that is an error is a problem document, every answer carries the CORS fields that a buyer
// in a browser needs, and what it measures is labelled by the names of the rows.
//
//	srv, err := dynamic.New(dynamic.Config{Rows: rows, Site: site, BaseURL: "https://store.example", Log: log})
//	…
//	err = srv.Serve(ctx, listener) // until ctx ends, then what is under way is finished
package dynamic

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/route"
)

// Config is what a Server is made of. Zero values are useful except for BaseURL.
type Config struct {
	Rows []route.Row // of all instruments
	Site *Site       // the published tree; nil: no document is served
	// Serves reports whether a path is an address of this store, parts of which may be off. Nil is
	// that none is.
	Serves func(path string) bool
	// BaseURL is that of the service, without a slash at its end; never taken from a request.
	BaseURL string
	Log     *slog.Logger   // nil: nothing is logged
	Level   *slog.LevelVar // of Log; changed on the debug listener; nil: cannot be changed
	Metrics *Metrics       // nil: its own
	Budgets *budget.Set    // nil: no row may name one
	Limits  Limits
	// Callers tells callers apart by the keys that sign their requests; nil: by their addresses
	// alone.
	Callers knowsCallers
	// TrustedProxies are the addresses from which an X-Forwarded-For field is believed.
	TrustedProxies []netip.Prefix
	// Renderers make what the tree does not hold, by the names of documents.
	Renderers map[string]Renderer
	// Drains are told of the stop once no new request is taken, and waited for.
	Drains []Drain
	// Ready says whether buyers can be served, for /readyz: each that fails says why not.
	Ready []func(context.Context) error
}

// knowsCallers is what the server takes of Callers, whose methods say what it means.
type knowsCallers interface {
	Verify(r *http.Request, address string) (key string, agent *route.Agent, err error)
	Ask(address string) (field string)
}

// Limits bound what one request may take. A zero field means its default.
type Limits struct {
	// bytes of the request line and header fields; 96 KiB: 4000 escaped characters and a payment
	Header     int
	Body       int64         // bytes of a body whose row names no limit; 4 KiB
	ReadHeader time.Duration // to the end of the header; 10 s
	Read       time.Duration // to the end of the body; 30 s
	Write      time.Duration // of the whole answer, from the end of the header; 120 s
	Idle       time.Duration // between requests of a connection; 120 s
	Handle     time.Duration // of a handler whose row names no Timeout; 60 s
	Stop       time.Duration // for requests and drains at the stop; 90 s
}

func (l Limits) withDefaults() Limits {
	l.Header = cmp.Or(l.Header, 96<<10)
	l.Body = cmp.Or(l.Body, 4<<10)
	l.ReadHeader = cmp.Or(l.ReadHeader, 10*time.Second)
	l.Read = cmp.Or(l.Read, 30*time.Second)
	l.Write = cmp.Or(l.Write, 120*time.Second)
	l.Idle = cmp.Or(l.Idle, 120*time.Second)
	l.Handle = cmp.Or(l.Handle, 60*time.Second)
	l.Stop = cmp.Or(l.Stop, 90*time.Second)
	return l
}

// Drain is work that a stop must not cut off, such as purchases under way. Drain returns when it is
// finished, or with the cause of ctx when time is up; no new work is begun once it was called.
type Drain interface {
	Drain(ctx context.Context) error
}

// Server answers requests. It is an http.Handler; Serve adds the listener with its timeouts and the
// orderly stop.
type Server struct {
	baseURL   string
	log       *slog.Logger
	level     *slog.LevelVar
	metrics   *Metrics
	budgets   *budget.Set
	limits    Limits
	proxies   []netip.Prefix
	posted    map[string]string // what is posted to, by its address with a last slash, which some clients add
	drains    []Drain
	ready     []func(context.Context) error
	stopping  atomic.Bool
	site      *Site
	serves    func(path string) bool
	renderers map[string]Renderer
	callers   knowsCallers
	table     []route.Row // all rows, documents included, in the order of the description
	mux       mux
	unrouted  *measured // requests that no row answers
	idPrefix  string
	idCounter atomic.Uint64
}

// New checks the table and makes a server of it. It fails for rows that do not describe themselves
// well, for names or addresses that are used twice, and for a budget that is not there.
func New(cfg Config) (*Server, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" ||
		strings.HasSuffix(cfg.BaseURL, "/") {
		return nil, fmt.Errorf("base URL %q: want http(s)://host without a slash at its end", cfg.BaseURL)
	}
	var id [6]byte
	rand.Read(id[:]) // never fails
	s := &Server{
		baseURL: cfg.BaseURL, log: cfg.Log, level: cfg.Level, metrics: cfg.Metrics, budgets: cfg.Budgets,
		limits: cfg.Limits.withDefaults(), proxies: cfg.TrustedProxies, drains: cfg.Drains, ready: cfg.Ready,
		site: cfg.Site, serves: cfg.Serves,
		renderers: cfg.Renderers, callers: cfg.Callers, idPrefix: hex.EncodeToString(id[:]),
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	s.unrouted = s.metrics.measure("unrouted")
	s.table = append(s.table, cfg.Rows...)
	if s.site != nil {
		for _, d := range s.site.documents {
			for _, r := range d.Document.Routes() {
				row := route.Row{Route: r, Handle: s.document}
				if r.Serve == api.Query {
					row.Handle = s.query(d)
				} else {
					// The mux takes name.example.json for a page's name, as the first dot ends what
					// it takes for the name of a twin.
					row.ValidateLate = s.renderers[d.Name] != nil
				}
				s.table = append(s.table, row)
			}
		}
		s.site.attach(s.metrics, s.log)
	}
	for name := range s.renderers {
		if s.site != nil && !slices.ContainsFunc(s.site.documents, func(d *document) bool {
			return d.Name == name &&
				len(d.Params) == 1
		}) {
			return nil, fmt.Errorf("renderer %s: there is no document of this name with a parameter", name)
		}
	}
	s.posted = make(map[string]string)
	for _, r := range s.table {
		if r.Method == http.MethodPost && !strings.Contains(r.Pattern, "{") {
			s.posted[r.Pattern+"/"] = r.Pattern
		}
	}
	if err := s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// Table returns the rows the server answers, documents included.
func (s *Server) Table() []route.Row { return s.table }

// ServeHTTP answers one request: with a document from memory if its address is one, else whatever
// row the mux finds.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if of := r.Header["Range"]; of != nil && !strings.HasPrefix(of[0], "bytes=") {
		delete(r.Header, "Range") // of another unit, which asks for nothing (RFC 9110, section 14.2)
	}
	if s.site == nil {
		s.answer(w, r, nil, nil)
		return
	}
	if done, snap, err := s.servePublished(w, r); !done {
		s.answer(w, r, snap, err)
	}
}
