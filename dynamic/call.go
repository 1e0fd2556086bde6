package dynamic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates/drawing"
)

// call is one request on its way through a row: what handlers may know of it, and the writer that
// watches its answer.
type call struct {
	route.Request
	http.ResponseWriter
	status int
	bytes  int64
	name   string // of the row
	paid   bool   // the row takes payments
	light  bool   // the row reads, for anybody and without a budget
	image  bool   // the row answers with an image
	onAcct bool   // the row takes orders on account
	m      *measured
	snap   *snapshot // of the published tree, for the whole request; nil: no document is served
}

// WriteHeader remembers the final status.
func (c *call) WriteHeader(status int) {
	if c.status == 0 && status >= 200 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (c *call) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the real writer.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// answer finds the row of a request and lets it answer. What it needs of the published tree is
// taken from snap, and a file that was asked for and cannot be read is an error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, snap *snapshot, err error) {
	start := time.Now()
	if path, ok := s.posted[r.URL.Path]; ok {
		at := *r.URL
		at.Path = path
		r = r.WithContext(r.Context())
		r.URL = &at
	}
	s.metrics.inFlight.Inc()
	c := &call{ResponseWriter: w, m: s.unrouted, name: "unrouted", snap: snap}
	c.ID = s.idPrefix + strconv.FormatUint(s.idCounter.Add(1), 36)
	c.Client, c.Key = s.client(r), route.Of(r).Key // the key of a call that makes this one in process
	h := c.Header()
	allowOrigins(h)
	for _, f := range securityAt(r.URL.Path) {
		h[f.name] = f.value
	}
	h["X-Request-Id"] = []string{c.ID}
	r = r.WithContext(route.With(r.Context(), &c.Request))
	defer func() {
		if p := recover(); p != nil {
			s.panicked(c, r, p)
		}
		took := time.Since(start)
		s.metrics.inFlight.Dec()
		c.m.observe(c.status, took)
		s.logCall(r, c, took)
	}()
	switch {
	case headerSize(r) > s.limits.Header:
		h.Set("Connection", "close")
		s.refuse(c, r, &problem.Error{Code: "header_too_large", Extra: map[string]any{"limit_bytes": s.limits.Header},
			Detail: "Nothing was done: the request line and header fields together are larger than the limit."})
	case r.Method == http.MethodOptions:
		s.preflight(c, r)
	case crooked(r), s.serves != nil && !s.serves(r.URL.Path):
		s.notFound(c, r)
	case err != nil:
		s.refuse(c, r, unreadable(err))
	default:
		s.mux.ServeHTTP(c, r)
	}
}

// adapt makes the http.Handler of a row: retirement, budget, inputs, time, and the one place where
// errors are written.
func (s *Server) adapt(row *route.Row) (http.Handler, error) {
	validator, err := route.NewValidator(&row.Route)
	if err != nil {
		return nil, err
	}
	m := uncounted
	if !row.Uncounted {
		m = s.metrics.measure(row.Name)
	}
	timeout := cmp.Or(row.Timeout, s.limits.Handle)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*call)
		c.m, c.name, c.paid, c.onAcct, c.Validator = m, row.Name, row.Paid, row.OnAccount, validator
		c.image = row.Image()
		c.light = (row.Serve == api.Clock || row.Serve == api.Ledger) && row.Budget == ""
		cacheControl(w.Header(), row.Serve)
		if err := s.retired(w.Header(), row); err != nil {
			s.fail(c, r, err)
			return
		}
		if s.callers != nil && r.Header["Signature-Input"] != nil {
			var err error
			if c.Key, c.Agent, err = s.callers.Verify(r, route.Address(r)); err != nil {
				s.fail(c, r, err)
				return
			}
		}
		if timeout+writeMargin > s.limits.Write {
			// The route needs longer than the server's own limit for an answer; without a
			// connection there is none.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + writeMargin))
		}
		ctx, cancel := context.WithTimeoutCause(r.Context(), timeout, errTooSlow)
		defer cancel()
		r = r.WithContext(ctx)
		if err := s.admit(c, r, row); err != nil {
			s.fail(c, r, err)
			return
		}
		if err := row.Handle(c, r); err != nil {
			s.fail(c, r, err)
		}
	}), nil
}

// errTooSlow is the cause with which the time of a handler ends.
var errTooSlow = errors.New("the handler's time is up")

// writeMargin is what an answer has left to be written when its handler has used up its time.
const writeMargin = 15 * time.Second

// admit checks what can be checked before the handler runs.
func (s *Server) admit(c *call, r *http.Request, row *route.Row) error {
	if err := s.admitBody(c, r, row); err != nil {
		return err
	}
	if !row.ValidateLate {
		values, bad := c.Validator.Read(r)
		if bad != nil {
			return bad
		}
		c.Inputs = values
	}
	if row.Budget != "" && !row.SpendLate {
		return s.budgets.Admit(c, r, row.Budget, route.Client(r))
	}
	return nil
}

func (s *Server) admitBody(c *call, r *http.Request, row *route.Row) error {
	if r.ContentLength == 0 {
		return nil
	}
	limit := s.limits.Body
	if row.Body != nil {
		limit = row.Body.Limit
		if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
			return &problem.Error{Code: "unsupported_media_type", Header: http.Header{"Accept-Encoding": {"identity"}},
				Detail: "Nothing was done: this route takes a body as it is, without a Content-Encoding."}
		}
		want, _, _ := strings.Cut(row.Body.ContentType, ";")
		got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if r.Header.Get("Content-Type") == "" && want == api.JSON {
			got, err = want, nil // it is read as JSON, and refused where it is none
		}
		if err != nil || got != want {
			return &problem.Error{Code: cmp.Or(row.Body.NotJSON, "unsupported_media_type"),
				Header: http.Header{"Accept": {want}},
				Detail: "Nothing was done: this route takes a body of type " + want + "."}
		}
	}
	if r.ContentLength > limit {
		return &problem.Error{Code: "body_too_large", Extra: map[string]any{"limit_bytes": limit},
			Detail: "Nothing was done: the request body is larger than this route takes."}
	}
	r.Body = http.MaxBytesReader(c.ResponseWriter, r.Body, limit)
	return nil
}

// retired sets the fields of a version that is going, and refuses one that is gone (RFC 9745, RFC
// 8594).
func (s *Server) retired(h http.Header, row *route.Row) error {
	if row.Deprecated.IsZero() {
		return nil
	}
	now := time.Now()
	link := "<" + s.baseURL + `/deprecation>; rel="deprecation"; type="text/html"`
	if now.Before(row.Deprecated) {
		return nil
	}
	h.Set("Deprecation", "@"+strconv.FormatInt(row.Deprecated.Unix(), 10))
	if !row.Sunset.IsZero() {
		h.Set("Sunset", row.Sunset.UTC().Format(http.TimeFormat))
		link += ", <" + s.baseURL + `/deprecation>; rel="sunset"; type="text/html"`
	}
	h.Add("Link", link)
	if !row.Sunset.IsZero() && !now.Before(row.Sunset) {
		return &problem.Error{Code: "gone", Detail: "This version is no longer served. " + s.baseURL +
			"/deprecation lists those that are."}
	}
	return nil
}

// fail writes the error of a handler. Anything but a *problem.Error is a fault of ours: 500 without
// detail.
func (s *Server) fail(c *call, r *http.Request, err error) {
	e, ok := errors.AsType[*problem.Error](err)
	if ok && e == nil {
		return // a nil *problem.Error that became an error on its way: nothing went wrong
	}
	if !ok {
		e = &problem.Error{Code: "internal", Err: err}
		if errors.Is(context.Cause(r.Context()), errTooSlow) {
			e = &problem.Error{Code: "request_timeout", Status: http.StatusServiceUnavailable, Err: err,
				Retry:  10 * time.Second,
				Detail: "The answer took too long to make. Try again later."}
		}
	}
	s.refuse(c, r, e)
}

// refuse writes a problem document and logs the cause of our own faults.
func (s *Server) refuse(c *call, r *http.Request, e *problem.Error) {
	if e.Err != nil {
		level := slog.LevelDebug
		if row, known := problem.Lookup(e.Code); !known || row.Status >= 500 || e.Status >= 500 {
			level = slog.LevelError
		}
		s.log.LogAttrs(r.Context(), level, "request failed", slog.String("request_id", c.ID),
			slog.String("route", c.name),
			slog.String("code", e.Code), slog.String("err", e.Err.Error()))
	}
	if c.status != 0 {
		// The answer has begun; cutting it off is the only way to say that it is not whole.
		panic(http.ErrAbortHandler)
	}
	if c.image {
		s.say(c, r, e)
		return
	}
	if e.Code == "not_found" && e.Payment == nil && s.mayShowPage(r) {
		c.Header()["Vary"] = varyAll // also where it is no page
	}
	if e.Code == "not_found" && e.Payment == nil && s.pageNotFound(c, r) {
		return
	}
	if e.Code == "not_found" && e.Payment == nil && e.Next == "" {
		said := *e
		said.Next, e = s.nextOf(r.URL.Path), &said
	}
	row, _ := problem.Lookup(e.Code)
	if e.Status == http.StatusBadRequest || e.Status == 0 && row.Status == http.StatusBadRequest {
		budget.Strip(c.Header())
	}
	s.say(c, r, e)
}

// say writes an error with what became of a payment: as an image where one was asked for.
func (s *Server) say(c *call, r *http.Request, e *problem.Error) {
	if e.OfClient && s.callers != nil && c.Key == "" && r.Header["Signature-Input"] == nil {
		if ask := s.callers.Ask(route.Address(r)); ask != "" {
			c.Header().Set("Accept-Signature", ask)
		}
	}
	e = withAccount(c, withPayment(c, r, e))
	if !c.image {
		problem.Write(c, r, s.baseURL, e)
		return
	}
	row, _ := problem.Lookup(e.Code)
	e.Send(c, r, cmp.Or(e.Status, row.Status), api.SVG, drawing.Label("badge", strings.ToLower(row.Title), "#4d5a66"))
}

// withAccount says on the error of a route that takes orders on account what became of the order,
// where the handler did not. A fault of ours may have come after it was billed.
func withAccount(c *call, e *problem.Error) *problem.Error {
	if !c.onAcct || e.Account != nil || e.Payment != nil {
		return e
	}
	told := *e
	row, _ := problem.Lookup(e.Code)
	told.Account = &problem.Account{Retry: "now", NextStep: "Nothing was delivered and nothing was billed. Correct " +
		"the request and send it again."}
	switch {
	case cmp.Or(e.Status, row.Status) >= 500:
		told.Account = &problem.Account{Unknown: true, Retry: "after", NextStep: "Send the same body again under the " +
			"same order_ref, signed anew: if it was delivered you get that answer, and it is never billed twice."}
	case e.Retry > 0:
		told.Account.Retry = "after"
	}
	return &told
}

// withPayment says on an error what became of a payment that came along, where the handler did not:
// every such error has to. A fault of ours on a route that takes payments may have come after the
// payment was taken.
func withPayment(c *call, r *http.Request, e *problem.Error) *problem.Error {
	if e.Payment != nil || !counter.Paying(r.Header) {
		return e
	}
	told := *e
	row, _ := problem.Lookup(e.Code)
	switch {
	case c.paid && cmp.Or(e.Status, row.Status) >= 500:
		told.Status, told.Retry = http.StatusServiceUnavailable, max(e.Retry, 5*time.Second)
		told.Payment = &problem.Payment{Billed: "unknown", Retry: "same_payment",
			NextStep: "Send the identical request with the identical payment again: if it was taken it is " +
				"recognised, and it is never charged twice."}
	default:
		// Nobody looked whether it had bought something before, so nobody is invited to sign
		// another one.
		told.Payment = &problem.Payment{Billed: "no", Retry: "same_payment",
			NextStep: "This request did not use the payment that came along. Correct it and send the same payment: " +
				"if it bought something before, it is recognised there."}
		if e.Retry > 0 {
			told.Payment.Retry = "after"
		}
	}
	return &told
}

// panicked answers for a handler that did not.
func (s *Server) panicked(c *call, r *http.Request, p any) {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.metrics.panics.Inc()
	s.log.LogAttrs(r.Context(), slog.LevelError, "handler panicked", slog.String("request_id", c.ID),
		slog.String("route", c.name),
		slog.String("err", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.say(c, r, &problem.Error{Code: "internal",
		Detail: "Something went wrong here. If a payment was presented, read its purchase-status or present the same " +
			"payment again; sign no other."})
}

// logCall writes the access log: names and numbers, never a query or a header value. What cost
// nothing and changed nothing (a document, what is read alone, a 402) is at debug level.
func (s *Server) logCall(r *http.Request, c *call, took time.Duration) {
	level := slog.LevelInfo
	if c.status == http.StatusPaymentRequired || c.status < 400 &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead) && (c.m.document || c.light) {
		level = slog.LevelDebug
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	s.log.LogAttrs(r.Context(), level, "request", slog.String("request_id", c.ID),
		slog.String("method", methodLabel(r.Method)),
		slog.String("route", c.name), slog.Int("status", c.status), slog.Int64("bytes", c.bytes),
		slog.Duration("took", took))
}

func methodLabel(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return m
	}
	return "other"
}

// cacheControl is what an answer says of caches unless its handler says otherwise.
func cacheControl(h http.Header, serve api.Serve) {
	switch serve {
	case api.Paid, api.Private:
		h["Cache-Control"] = privateNoStore
	case api.Metered, api.Ledger, api.Clock:
		h["Cache-Control"] = noStore
	}
}

var (
	privateNoStore = []string{"private, no-store"}
	noStore        = []string{"no-store"}
)

// headerSize counts the bytes of the request line and header fields as they stood on the wire,
// about.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1\r\n")
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n + len(r.Host) + len("Host: \r\n")
}

// client is the address a request came from: that of the connection, or, while that is a trusted
// proxy's, the one before it in X-Forwarded-For.
func (s *Server) client(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	a := at.Addr().Unmap()
	if len(s.proxies) == 0 || !s.trusted(a) {
		return a
	}
	for _, hop := range slices.Backward(strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")) {
		hop, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if a = hop.Unmap(); !s.trusted(a) {
			break
		}
	}
	return a
}

func (s *Server) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
