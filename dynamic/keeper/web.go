// Web is the keeper's desk in a browser: pages over package keeper, on a listener of their
// own on loopback. Nobody reads or does anything on it without the desk's token.
//
// Who may gain by breaking it are a page in the keeper's own browser, another user of the same
// machine, and whoever wrote what the pages show.
//
//   - A name that leads to loopback (DNS rebinding) is no host of the desk: 421.
//   - A page elsewhere cannot post: every POST shows an Origin that is the desk's own, the cookie
//     is SameSite=Strict, and each form holds a token of its session.
//   - Cookies know no ports: a server of another user on this machine, at another port, would be
//     sent the desk's. So the cookie has a path that nobody can guess, the session's own, and is
//     sent to no other; the path alone opens nothing.
//   - Who has the cookie has no token: it ends after 12 h, when the token's file is changed, and
//     with the keeper's word.
//   - What strangers wrote is text: escaped by html/template, with what is invisible in it spelled
//     out; no page runs scripts or loads anything from elsewhere.
//
// Money leaves by the command line alone (store keeper pay), and so does a key that is handed over.
// A bounty that is posted here promises money to whoever buys at a door: who has a session can have
// the store promise bounty.MaxReward a domain and bounty.WeeklyBudget a week, and no more.

package keeper

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/dynamic/till"
)

// WebConfig is what the desk's pages stand on. All fields but Hosts are required.
type WebConfig struct {
	Desk     *Inbox
	Till     *till.Till
	Bounties Bounties
	Name     string // of the store
	Log      *slog.Logger
	// Token reads the desk's token; it is asked for at each request, so that a changed one ends
	// every session.
	Token func() (string, error)
	// Hosts are what else the desk is called, beside the address it listens on: the names of a
	// proxy before it, which speaks https.
	Hosts []string
	// Listen is the address that it listens on.
	Listen string
}

// Web answers the desk's pages.
type Web struct {
	cfg   WebConfig
	hosts map[string]string // host and port → scheme

	mu    sync.Mutex
	wrong []time.Time // tokens that were not the desk's, of the last minute; guarded by mu
	once  string      // opens the desk one time; "" for nothing; guarded by mu
	until time.Time   // of once; guarded by mu
}

const (
	cookieName = "store_desk"
	// session is how long a login lasts.
	session = 12 * time.Hour
	// wrongTokens is how many wrong tokens a minute are looked at.
	wrongTokens = 10
	// onceFor is how long the link of a first run opens the desk.
	onceFor = 15 * time.Minute
	// LeastToken is the shortest token, in characters.
	LeastToken = 32
	// maxForm bounds a form: a file, a text, and what is around them.
	maxForm = 2 << 20
)

// NewWeb makes the desk's pages for a listener.
func NewWeb(cfg WebConfig) (*Web, error) {
	_, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("the keeper's desk: %w", err)
	}
	d := &Web{cfg: cfg, hosts: map[string]string{}}
	for _, h := range []string{"127.0.0.1", "localhost", "[::1]"} {
		d.hosts[h+":"+port] = "http"
	}
	for _, h := range cfg.Hosts {
		d.hosts[strings.ToLower(h)] = "https"
	}
	return d, nil
}

// Serve serves the desk on a loopback listener until ctx ends.
func (d *Web) Serve(ctx context.Context, ln net.Listener) error {
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return fmt.Errorf("the keeper's desk on %s: not a loopback address", ln.Addr())
	}
	hs := &http.Server{Handler: d, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = hs.Close() })
	defer stop()
	if err := hs.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the keeper's desk: %w", err)
	}
	return nil
}

// policy allows nothing that is not the desk's own, and no script.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (d *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// no-referrer would have browsers say Origin: null with the desk's own forms.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	scheme, known := d.hosts[strings.ToLower(r.Host)]
	if !known {
		http.Error(w, "This is no name of the desk.", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !sameOrigin(r, scheme) {
		http.Error(w, "This form was sent from another page. Nothing was done.", http.StatusForbidden)
		return
	}
	if r.Body = http.MaxBytesReader(w, r.Body, maxForm); r.URL.Path == "/style.css" {
		serveStyle(w)
		return
	}
	token, err := d.cfg.Token()
	if err == nil && len(token) < LeastToken {
		err = fmt.Errorf("the desk's token is shorter than %d characters", LeastToken)
	}
	if err != nil {
		d.cfg.Log.Error("the keeper's desk has no token", "err", err)
		http.Error(w, "The desk's token cannot be read: see the store's log.", http.StatusServiceUnavailable)
		return
	}
	d.route(w, r, token, scheme)
}

// sameOrigin reports a request that the desk's own page made. A browser says where a POST is from;
// a program that says nothing is no page.
func sameOrigin(r *http.Request, scheme string) bool {
	return strings.EqualFold(r.Header.Get("Origin"), scheme+"://"+r.Host)
}

// route leads a request to its page: below the path of a session that is open, or to the door.
func (d *Web) route(w http.ResponseWriter, r *http.Request, token, scheme string) {
	once, isOnce := strings.CutPrefix(r.URL.Path, oncePath)
	switch {
	case isOnce:
		d.openedOnce(w, r, once, token, scheme)
		return
	case r.URL.Path == WhoPath:
		_, _ = w.Write([]byte(mac(token, "who")))
		return
	case r.URL.Path == "/":
		d.door(w, r, token, scheme)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/d/")
	id, path, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 {
		http.NotFound(w, r)
		return
	}
	if !d.open(r, id, token) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	v := &visit{Web: d, w: w, r: r, base: "/d/" + id + "/", form: mac(token, "form", id)}
	if r.Method == http.MethodPost {
		if err := r.ParseMultipartForm(maxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
			v.refuse(http.StatusRequestEntityTooLarge, "The form cannot be read: a file has at most 1 MiB.")
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("form")), []byte(v.form)) != 1 {
			v.refuse(http.StatusForbidden, "This form is not of your session. Nothing was done.")
			return
		}
	}
	for _, p := range pages() {
		if arg, ok := p.match(path); ok && slices.Contains(p.methods, r.Method) {
			p.serve(v, arg)
			return
		}
	}
	v.refuse(http.StatusNotFound, "There is no such page on the desk.")
}

// mac is the part of a token that is shown: of a purpose and a session.
func mac(token string, parts ...string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("store-desk/v1\x00" + strings.Join(parts, "\x00")))
	return attest.Base32.EncodeToString(m.Sum(nil))[:40]
}

// open reports whether the request shows the cookie of a session.
func (d *Web) open(r *http.Request, id, token string) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		ends, sum, _ := strings.Cut(c.Value, ".")
		until, err := strconv.ParseInt(ends, 10, 64)
		if err == nil && time.Now().Unix() < until &&
			subtle.ConstantTimeCompare([]byte(sum), []byte(mac(token, "session", id, ends))) == 1 {
			return true
		}
	}
	return false
}

// door asks for the token, and opens a session to who has it.
func (d *Web) door(w http.ResponseWriter, r *http.Request, token, scheme string) {
	v := &visit{Web: d, w: w, r: r, base: "/"}
	if r.Method != http.MethodPost {
		v.page("door", "The keeper's desk", nil)
		return
	}
	if !d.mayTry() {
		v.refuse(http.StatusTooManyRequests, "Too many wrong tokens: wait a minute.")
		return
	}
	given := strings.TrimSpace(r.PostFormValue("token"))
	if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
		d.tried()
		w.WriteHeader(http.StatusForbidden)
		v.page("door", "The keeper's desk", "This is not the token. store keeper token prints it.")
		return
	}
	d.letIn(w, r, token, scheme)
}

// letIn opens a session.
func (d *Web) letIn(w http.ResponseWriter, r *http.Request, token, scheme string) {
	id := strings.ToLower(rand.Text())
	ends := strconv.FormatInt(time.Now().Add(session).Unix(), 10)
	base := "/d/" + id + "/"
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: ends + "." + mac(token, "session", id, ends), Path: base,
		MaxAge: int(session / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: scheme == "https"})
	http.Redirect(w, r, base, http.StatusSeeOther)
}

const oncePath = "/once/"

// OpenOnce is the path of a link that opens the desk one time, within a quarter of an hour. It may
// stand where others read it later, such as a log: looking at it uses nothing up, and who comes
// second is told so.
func (d *Web) OpenOnce() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.once, d.until = strings.ToLower(rand.Text()), time.Now().Add(onceFor)
	return oncePath + d.once
}

// openedOnce asks whether to open the desk with a link, which whatever looks at links does not
// answer, and opens it.
func (d *Web) openedOnce(w http.ResponseWriter, r *http.Request, given, token, scheme string) {
	v := &visit{Web: d, w: w, r: r, base: "/"}
	if r.Method != http.MethodPost {
		v.page("once", "The keeper's desk", given)
		return
	}
	if !d.mayTry() {
		v.refuse(http.StatusTooManyRequests, "Too many wrong tokens: wait a minute.")
		return
	}
	d.mu.Lock()
	ok := d.once != "" && time.Now().Before(d.until) &&
		subtle.ConstantTimeCompare([]byte(given), []byte(d.once)) == 1
	if ok {
		d.once = ""
	}
	d.mu.Unlock()
	if !ok {
		d.tried()
		w.WriteHeader(http.StatusForbidden)
		v.page("door", "The keeper's desk", "This link was used, or is too old. If it was not you who used it, remove "+
			"the token's file (desk.token): that ends every session.")
		return
	}
	d.letIn(w, r, token, scheme)
}

// WhoPath is where a desk says whose it is, to who has its token.
const WhoPath = "/who"

// IsWho reports whether an answer of WhoPath is of the desk with a token.
func IsWho(token, answer string) bool {
	return hmac.Equal([]byte(mac(token, "who")), []byte(answer))
}

func (d *Web) mayTry() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = slices.DeleteFunc(d.wrong, func(t time.Time) bool { return time.Since(t) > time.Minute })
	return len(d.wrong) < wrongTokens
}

func (d *Web) tried() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, time.Now())
}

// visit is one request in a session.
type visit struct {
	*Web
	w    http.ResponseWriter
	r    *http.Request
	base string // of all links
	form string
}

// shown is what a template gets.
type webShown struct {
	Title, Store, Base, Form string
	Nav                      []navLink
	Data                     any
}

// navLink is a link of the header. Mark says that the page is the link's own, or one below it.
type navLink struct{ Name, Path, Mark string }

// page writes a page.
func (v *visit) page(name, title string, data any) {
	s := webShown{Title: title, Store: v.cfg.Name, Base: v.base, Form: v.form, Data: data}
	here := strings.TrimPrefix(v.r.URL.Path, v.base)
	if v.form != "" {
		for _, p := range pages() {
			l := navLink{p.nav, p.path, ""}
			if p.path == here {
				l.Mark = "page"
			} else if p.path == "" && strings.Contains(here, "/") {
				l.Mark = "true" // what waits stands below Today
			}
			if l.Name != "" {
				s.Nav = append(s.Nav, l)
			}
		}
	}
	var b strings.Builder
	if err := views.ExecuteTemplate(&b, name, s); err != nil {
		v.cfg.Log.Error("a page of the keeper's desk", "page", name, "err", err)
		http.Error(v.w, "The page cannot be shown: see the store's log.", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write([]byte(b.String()))
}

// refuse writes why something was not done.
func (v *visit) refuse(status int, says string) {
	v.w.WriteHeader(status)
	v.page("said", "Not done", says)
}

// goTo leads on to a page of the session.
func (v *visit) goTo(path string) { http.Redirect(v.w, v.r, v.base+path, http.StatusSeeOther) }

// broken says that a page could not be read.
func (v *visit) broken(err error) {
	v.cfg.Log.Warn("a page of the keeper's desk cannot be read", "path", pageOf(v.r.URL), "err", err)
	v.refuse(http.StatusServiceUnavailable, "This cannot be read at present: "+err.Error())
}

// pageOf is a path without its session, for the log.
func pageOf(u *url.URL) string {
	if parts := strings.SplitN(u.Path, "/", 4); len(parts) == 4 {
		return "/" + parts[3]
	}
	return u.Path
}

var views = template.Must(template.New("").Funcs(functions).ParseFS(files, "*.html"))
