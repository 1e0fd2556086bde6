package facilitator

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// rawObject is JSON that is passed on as it came.
type rawObject = jsontext.Value

const (
	// MaxRequest bounds the body of a request, in bytes.
	MaxRequest = 128 << 10
	maxJobs    = 4096
	maxBegin   = 30 * time.Second // from the request to the broadcast
)

// HandlerConfig describes a facilitator of our own.
type HandlerConfig struct {
	// Rails are the networks served; each settles with its own relayer.
	Rails []rail.Rail
	// PayTo lists the accounts for which payments are settled, because every settlement costs gas.
	// At least one.
	PayTo []string
	// Gas decides what may be spent on settling. It is what a till has too, and must not be
	// missing: other people's payments cost the same gas.
	Gas *settle.GasGuard
	// Settles drives the settlements, over the same rails and the same ledger. What it stores
	// outlives this process.
	Settles *settle.Driver
	// Wait is how long /settle waits, once it has broadcast, before it answers settlement_pending;
	// default 30 s.
	Wait time.Duration
	// Client names who sent a request, by address, for the bound on payments that are refused; nil
	// takes all for one.
	Client func(*http.Request) string
	// Outcome, if not nil, is called for each settlement that came to an end: paid, or the reason
	// why not.
	Outcome func(network, outcome string)
	// Log receives what goes wrong; nil discards it.
	Log *slog.Logger
}

// Handler serves /verify, /settle and /supported. What it settles has a record of package settle,
// so that a payment which is presented again, after a restart too, is answered with its own
// settlement. It drives a settlement while somebody asks for it, and until its number is used up.
type Handler struct {
	cfg  HandlerConfig
	mux  *http.ServeMux
	ctx  context.Context // of the settlements under way
	stop context.CancelFunc
	work sync.WaitGroup
	gate settle.OpenGate // of payments that wait for room
	// checks bounds what payments may cost that are refused.
	checks settle.Checks

	mu   sync.Mutex // guards what follows
	jobs map[string]*job
	old  []string // keys of jobs, oldest first
}

// NewHandler checks a configuration and returns its handler. Close it.
func NewHandler(cfg HandlerConfig) (*Handler, error) {
	if len(cfg.Rails) == 0 {
		return nil, errors.New("a facilitator needs a network")
	}
	if len(cfg.PayTo) == 0 {
		return nil, errors.New("a facilitator needs a list of the accounts it settles for")
	}
	if cfg.Gas == nil {
		return nil, errors.New("a facilitator needs a limit to the gas that it spends")
	}
	if cfg.Settles == nil {
		return nil, errors.New("a facilitator needs a driver of its settlements")
	}
	if cfg.Wait <= 0 {
		cfg.Wait = 30 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Client == nil {
		cfg.Client = func(*http.Request) string { return "" }
	}
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), jobs: map[string]*job{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.mux.HandleFunc("POST /verify", h.verify)
	h.mux.HandleFunc("POST /settle", h.settle)
	h.mux.HandleFunc("GET /supported", h.supported)
	for _, n := range cfg.Rails { // each by itself: one that is dead holds up no other
		h.work.Go(func() { h.resume(n) })
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Drain implements dynamic.Drain. It waits for nothing: a settlement under way is in the ledger,
// its caller has asked for nothing more, and the next start takes it up.
func (h *Handler) Drain(context.Context) error { return h.Close() }

// Close ends the settlements under way; what they broadcast stays broadcast.
func (h *Handler) Close() error {
	h.stop()
	h.work.Wait()
	return nil
}

// read takes a request apart up to its payment. A *rail.Refusal is a business failure; what is
// returned beside it names the network, and the payer where one could be read.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (*asked, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	var req Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, errors.New("the body is not a facilitator request")
	}
	want, got := req.Requirements, req.Payload.Accepted
	a := &asked{want: want}
	if req.Version != 2 || req.Payload.Version != 2 {
		return a, &rail.Refusal{Reason: "invalid_x402_version"}
	}
	i := slices.IndexFunc(h.cfg.Rails, func(n rail.Rail) bool { return n.Info().Network == want.Network })
	if i < 0 {
		return a, &rail.Refusal{Reason: "invalid_network"}
	}
	n := h.cfg.Rails[i]
	s := schemeOn(n, want.Scheme)
	read, err := s.read(n, req.Payload.Payload, want)
	if read != nil {
		a = read
		a.client = h.cfg.Client(r)
		if a.then != nil {
			a.then.client = a.client
		}
	}
	if refusal := h.serves(n, s, want, got); refusal != nil {
		return a, refusal
	}
	return a, err
}

// serves says why a payment is none that this facilitator settles, nil where it is one.
func (h *Handler) serves(n rail.Rail, s scheme, want, got rail.Requirement) error {
	ours := n.Requirement(1)
	stock := s.gate[namespaceOf(want.Network)]
	switch {
	case want.Scheme != s.name || got.Scheme != s.name:
		return &rail.Refusal{Reason: stock.scheme}
	case got.Network != want.Network:
		return &rail.Refusal{Reason: stock.network}
	case !strings.EqualFold(want.Asset, ours.Asset):
		return &rail.Refusal{Reason: "invalid_payment_requirements", Message: "the asset is not served"}
	case !slices.ContainsFunc(h.cfg.PayTo, func(a string) bool { return strings.EqualFold(a, want.PayTo) }):
		return &rail.Refusal{Reason: "invalid_payment_requirements", Message: "payTo is not served"}
	}
	return nil
}

// worth says whether a payment is large enough for what settling it costs, on a network that
// settles at all. A claim is to be worth as many settlements as it has rows, and a refund's channel
// what its deposits, claims and refunds took.
func (h *Handler) worth(ctx context.Context, a *asked) error {
	p := a.p
	if !p.Amount.IsInt64() {
		return &rail.Refusal{Reason: "invalid_payload", Message: "the amount is out of range"}
	}
	brings := cmp.Or(a.brings, p.Amount.Int64())
	if least := a.rows * h.cfg.Gas.Least(ctx, p.Network); brings < least {
		return &rail.Refusal{Reason: "invalid_payment_requirements",
			Message: fmt.Sprintf("the smallest amount that is settled here is %d, and it brings %d", least, brings)}
	}
	return h.cfg.Gas.Take(ctx, p.Network, brings, h.under(p.Network))
}

// under counts the settlements of a network that are under way.
func (h *Handler) under(network string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.jobs {
		if j.p.Network == network && j.driven() {
			n++
		}
	}
	return n
}

// driven reports whether somebody drives a job.
func (j *job) driven() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.driver != nil
}

func (h *Handler) verify(w http.ResponseWriter, r *http.Request) {
	q, err := h.read(w, r)
	if err == nil && q.p != nil && !q.late {
		err = h.worth(r.Context(), q)
	}
	var state *State
	if err == nil {
		_, state, err = h.check(r.Context(), q)
	}
	a := Verified{Valid: err == nil, Extra: state}
	if q != nil {
		a.Payer = q.payer
	}
	if err != nil {
		ref, ok := errors.AsType[*rail.Refusal](err)
		if !ok {
			h.fail(w, r, q, err)
			return
		}
		a.Reason, a.Message, a.Extra = ref.Reason, ref.Message, nil
	}
	answer(w, http.StatusOK, a)
}

// check has a payment checked, within what strangers may have checked and refused.
func (h *Handler) check(ctx context.Context, a *asked) (seen rail.Verified, s *State, err error) {
	known := func() bool {
		return a.p != nil && !ofSeller(a.p) && a.rail.Signed(a.p) && h.cfg.Gas.Plain(ctx, a.p.Network, a.p.Payer)
	}
	err = h.checks.Verify(ctx, a.client, known, func() (err error) {
		seen, s, err = a.check(ctx, time.Now())
		return err
	})
	return seen, s, err
}

// reasonNothing is the stock facilitator's word for a payload that is verified and never settled.
const reasonNothing = "invalid_batch_settlement_evm_payload_type"

// begins says whether a request may begin a settlement, or belongs to one that is known.
func (h *Handler) begins(ctx context.Context, a *asked) error {
	if a.p == nil {
		return &rail.Refusal{Reason: reasonNothing, Message: "there is nothing to settle: " +
			"a voucher is verified only, and a refund carries refundNonce, claims and the signatures of its seller"}
	}
	var unnamed error
	if a.unnamed { // which settlement it would be, the chain says
		if _, _, unnamed = h.check(ctx, a); a.p.Nonce == "" {
			return unnamed
		}
	}
	known, err := h.known(ctx, a.p)
	switch {
	case err == nil && known && !signedFor(a.p, a.want):
		return &rail.Refusal{Reason: "duplicate_settlement", Message: "this payment was settled for another seller " +
			"or amount: it is not signed for these terms"}
	case err != nil || known:
		return err
	case unnamed != nil:
		return unnamed
	case !a.late:
		return h.worth(ctx, a)
	}
	return nil
}

func (h *Handler) settle(w http.ResponseWriter, r *http.Request) {
	q, err := h.read(w, r)
	var a Settled
	if err == nil {
		a, err = h.settled(r.Context(), q, h.cfg.Wait)
	}
	if err == nil && a.Success && q.then != nil {
		err = h.follow(r.Context(), q.then, &a)
	}
	if ref, ok := errors.AsType[*rail.Refusal](err); ok {
		a, err = Settled{Network: q.want.Network, Payer: q.payer, Reason: ref.Reason, Message: ref.Message}, nil
	}
	if err != nil {
		h.fail(w, r, q, err)
		return
	}
	answer(w, http.StatusOK, a)
}

// errFull says that there is no room for another settlement.
var errFull = errors.New("too many settlements are under way; send the same again")

// settled has a request settled, and waits so long for its end once it was broadcast. The errors
// that are a *rail.Refusal are about what was asked.
func (h *Handler) settled(ctx context.Context, q *asked, d time.Duration) (Settled, error) {
	if err := h.begins(ctx, q); err != nil {
		return Settled{}, err
	}
	j, found := h.jobOf(ctx, q)
	if j == nil {
		return Settled{}, errFull
	}
	if !same(j.p, q.p) {
		return Settled{}, &rail.Refusal{Reason: "duplicate_settlement"}
	}
	run, looked := h.driver(j)
	if !found {
		looked = j.sent
	}
	wait(ctx, run.done, looked, maxBegin)
	wait(ctx, run.done, run.over, d)
	select {
	case <-run.done:
		if run.err != nil {
			return Settled{}, run.err
		}
	default:
	}
	j.mu.Lock()
	a := j.last
	j.mu.Unlock()
	a.Payer = q.payer
	if !a.Success && a.Reason == "" { // not even broadcast
		return a, errors.New("the settlement takes too long")
	}
	return a, nil
}

// follow has what is asked behind a settlement that succeeded settled too, also for a caller who is
// gone, and says in the answer where it is not. The same request again comes here again.
func (h *Handler) follow(ctx context.Context, then *asked, a *Settled) error {
	b, err := h.settled(context.WithoutCancel(ctx), then, openWait)
	if ref, ok := errors.AsType[*rail.Refusal](err); ok {
		b, err = Settled{Reason: ref.Reason, Message: ref.Message}, nil
	}
	if err == nil && !b.Success && b.Reason != Pending && b.Reason != reasonHoldEmpty {
		a.Message = "this is captured, and what is left is not given back: " + b.Reason + ": " + b.Message
	}
	return err
}

// wait returns when one of the channels is closed, ctx ends or d has passed.
func wait(ctx context.Context, a, b <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a:
	case <-b:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// driver is the run that drives a job, joined or started. looked is closed after the next look that
// it begins.
func (h *Handler) driver(j *job) (d *driver, looked chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.driver == nil {
		d := &driver{done: make(chan struct{}), over: make(chan struct{})}
		j.driver = d
		h.work.Go(func() {
			d.err = h.drive(j, d)
			j.mu.Lock()
			defer j.mu.Unlock()
			j.driver = nil
			close(d.done)
			h.gate.Freed()
		})
	}
	return j.driver, j.looked
}

func (h *Handler) supported(w http.ResponseWriter, r *http.Request) {
	s := Supported{Kinds: []Kind{}, Extensions: []string{}, Signers: map[string][]string{}}
	for _, n := range h.cfg.Rails {
		info := n.Info()
		for _, one := range schemes {
			if extra, ok := one.on(n); ok {
				s.Kinds = append(s.Kinds, Kind{Version: 2, Scheme: one.name, Network: info.Network, Extra: extra})
			}
		}
		for _, account := range info.Accounts {
			if family := namespaceOf(info.Network) + ":*"; !slices.Contains(s.Signers[family], account) {
				s.Signers[family] = append(s.Signers[family], account)
			}
		}
	}
	answer(w, http.StatusOK, s)
}

// fail answers what is not the payment's fault. The caller learns that nothing is known.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, q *asked, err error) {
	if q == nil || q.rail == nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "the body is not a facilitator request"})
		return
	}
	if out, ok := errors.AsType[*settle.GasOutage](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(out.Retry.Seconds())))
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": out.Error()})
		return
	}
	retry := func(after time.Duration) {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		answer(w, http.StatusTooManyRequests, map[string]string{"error": err.Error()})
	}
	if spent, ok := errors.AsType[*settle.GasSpent](err); ok {
		retry(spent.Retry)
		return
	}
	if busy, ok := errors.AsType[*settle.ChecksBusy](err); ok {
		retry(busy.Retry)
		return
	}
	if errors.Is(err, errFull) {
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
		return
	}
	h.cfg.Log.Error("facilitator request", "path", r.URL.Path, "network", q.want.Network, "err", err)
	w.Header().Set("Retry-After", "5")
	answer(w, http.StatusServiceUnavailable, map[string]string{"error": "the network cannot be asked"})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}
