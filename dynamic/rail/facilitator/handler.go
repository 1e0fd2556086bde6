package facilitator

import (
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

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// rawObject is JSON that is passed on as it came.
type rawObject = jsontext.Value

const (
	// MaxRequest bounds the body of a request, in bytes.
	MaxRequest = 64 << 10
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

// job is the settlement of one authorization.
type job struct {
	rail rail.Rail
	p    *rail.Payment
	want rail.Requirement
	// client is who asked for it first.
	client string

	sent  chan struct{} // closed when its settlement was broadcast
	begun sync.Once     // closes sent

	mu     sync.Mutex // guards what follows
	last   Settled
	driver *driver       // nil while nobody drives
	looked chan struct{} // closed after the next look
}

// driver is one run of drive.
type driver struct {
	done chan struct{} // closed at its end
	err  error         // set before
	over chan struct{} // closed when the answer is known; filling a number may take longer
	end  sync.Once     // closes over
}

// paid reports whether the answer is that the payment succeeded.
func (j *job) paid() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last.Success
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

// read takes a request apart up to its payment. A *rail.Refusal is a business failure.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (rail.Rail, *rail.Payment, rail.Requirement, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		return nil, nil, rail.Requirement{}, fmt.Errorf("reading the request: %w", err)
	}
	var req Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, nil, rail.Requirement{}, errors.New("the body is not a facilitator request")
	}
	want, got := req.Requirements, req.Payload.Accepted
	if req.Version != 2 || req.Payload.Version != 2 {
		return nil, nil, want, &rail.Refusal{Reason: "invalid_x402_version"}
	}
	i := slices.IndexFunc(h.cfg.Rails, func(n rail.Rail) bool { return n.Info().Network == want.Network })
	if i < 0 {
		return nil, nil, want, &rail.Refusal{Reason: "invalid_network"}
	}
	n := h.cfg.Rails[i]
	p, err := n.Parse(req.Payload.Payload, want)
	if refusal := h.serves(n, want, got); refusal != nil {
		return n, p, want, refusal // it names the payer where one could be read
	}
	return n, p, want, err
}

// stockGate are the stock facilitator's words for an accepted entry of another scheme and of
// another network, by the namespace of the network.
var stockGate = map[string]struct{ scheme, network string }{
	"eip155": {"invalid_exact_evm_scheme", "invalid_exact_evm_network_mismatch"},
	"solana": {"invalid_exact_svm_unsupported_scheme", "invalid_exact_svm_network_mismatch"},
}

// serves says why a payment is none that this facilitator settles, nil where it is one.
func (h *Handler) serves(n rail.Rail, want, got rail.Requirement) error {
	ours := n.Requirement(1)
	namespace, _, _ := strings.Cut(want.Network, ":")
	stock := stockGate[namespace]
	switch {
	case want.Scheme != ours.Scheme || got.Scheme != ours.Scheme:
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
// settles at all.
func (h *Handler) worth(ctx context.Context, p *rail.Payment) error {
	if !p.Amount.IsInt64() {
		return &rail.Refusal{Reason: "invalid_payload", Message: "the amount is out of range"}
	}
	if least := h.cfg.Gas.Least(ctx, p.Network); p.Amount.Int64() < least {
		return &rail.Refusal{Reason: "invalid_payment_requirements",
			Message: fmt.Sprintf("the smallest amount that is settled here is %d", least)}
	}
	return h.cfg.Gas.Take(ctx, p.Network, p.Amount.Int64(), h.under(p.Network))
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
	n, p, want, err := h.read(w, r)
	if err == nil {
		err = h.worth(r.Context(), p)
	}
	if err == nil {
		_, err = h.check(r.Context(), h.cfg.Client(r), n, p, want)
	}
	a := Verified{Valid: err == nil}
	if p != nil {
		a.Payer = p.Payer
	}
	if err != nil {
		ref, ok := errors.AsType[*rail.Refusal](err)
		if !ok {
			h.fail(w, r, p, err)
			return
		}
		a.Reason, a.Message = ref.Reason, ref.Message
	}
	answer(w, http.StatusOK, a)
}

// check has a payment checked, within what strangers may have checked and refused.
func (h *Handler) check(ctx context.Context, client string, n rail.Rail, p *rail.Payment, want rail.Requirement) (
	seen rail.Verified, err error) {
	known := func() bool { return n.Signed(p) && h.cfg.Gas.Plain(ctx, p.Network, p.Payer) }
	err = h.checks.Verify(ctx, client, known, func() (err error) {
		seen, err = n.Verify(ctx, p, want, time.Now())
		return err
	})
	return seen, err
}

func (h *Handler) settle(w http.ResponseWriter, r *http.Request) {
	n, p, want, err := h.read(w, r)
	known := false
	if err == nil {
		known, err = h.known(r.Context(), p)
	}
	if err == nil && !known {
		err = h.worth(r.Context(), p)
	}
	if err != nil {
		if ref, ok := errors.AsType[*rail.Refusal](err); ok {
			a := Settled{Network: want.Network, Reason: ref.Reason, Message: ref.Message}
			if p != nil {
				a.Payer = p.Payer
			}
			answer(w, http.StatusOK, a)
			return
		}
		h.fail(w, r, p, err)
		return
	}
	j, found := h.jobOf(r, n, p, want)
	if j == nil {
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable,
			map[string]string{"error": "too many settlements are under way; send the same again"})
		return
	}
	if !slices.Equal(j.p.Signature, p.Signature) {
		answer(w, http.StatusOK, Settled{Network: want.Network, Payer: p.Payer, Reason: "duplicate_settlement"})
		return
	}
	d, looked := h.driver(j)
	if !found {
		looked = j.sent
	}
	wait(r.Context(), d.done, looked, maxBegin)
	wait(r.Context(), d.done, d.over, h.cfg.Wait)
	select {
	case <-d.done:
		if d.err != nil {
			h.fail(w, r, p, d.err)
			return
		}
	default:
	}
	j.mu.Lock()
	a := j.last
	j.mu.Unlock()
	if !a.Success && a.Reason == "" { // not even broadcast
		h.fail(w, r, p, errors.New("the settlement takes too long"))
		return
	}
	answer(w, http.StatusOK, a)
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

// jobOf is job for a request. One with another signature under way may turn out not to be signed by
// the payer: whoever sends a wrong one first must not make the right one a duplicate.
func (h *Handler) jobOf(r *http.Request, n rail.Rail, p *rail.Payment, want rail.Requirement) (j *job, found bool) {
	over, cancel := context.WithTimeout(r.Context(), maxBegin)
	defer cancel()
	for {
		j, found = h.job(n, p, want, h.cfg.Client(r))
		if j == nil || slices.Equal(j.p.Signature, p.Signature) {
			return j, found
		}
		d, _ := h.driver(j)
		wait(over, d.done, j.sent, maxBegin)
		if over.Err() != nil || h.has(j) {
			return j, found
		}
	}
}

// has reports whether a job is still the one of its authorization.
func (h *Handler) has(j *job) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[j.p.ClaimKey()] == j
}

// job is the settlement of an authorization, found or begun; nil where as many as are remembered
// are under way. One that is under way is never forgotten: it would be settled twice.
func (h *Handler) job(n rail.Rail, p *rail.Payment, want rail.Requirement, client string) (j *job, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := p.ClaimKey()
	if j := h.jobs[key]; j != nil {
		return j, true
	}
	if len(h.old) >= maxJobs {
		i := slices.IndexFunc(h.old, func(key string) bool { return !h.jobs[key].driven() })
		if i < 0 {
			return nil, false
		}
		delete(h.jobs, h.old[i])
		h.old = slices.Delete(h.old, i, i+1)
	}
	j = &job{rail: n, p: p, want: want, client: client, sent: make(chan struct{}), looked: make(chan struct{}),
		last: Settled{Network: want.Network, Payer: p.Payer}}
	h.jobs[key] = j
	h.old = append(h.old, key)
	return j, false
}

// known reports whether there is a settlement for an authorization, in this process or in the
// ledger.
func (h *Handler) known(ctx context.Context, p *rail.Payment) (bool, error) {
	if h.remembers(p) {
		return true, nil
	}
	_, err := h.cfg.Settles.Load(ctx, settlementID(p))
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// remembers reports whether this process has a job for an authorization.
func (h *Handler) remembers(p *rail.Payment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[p.ClaimKey()] != nil
}

func (h *Handler) forget(j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := j.p.ClaimKey()
	delete(h.jobs, key)
	h.old = slices.DeleteFunc(h.old, func(k string) bool { return k == key })
}

func (h *Handler) supported(w http.ResponseWriter, r *http.Request) {
	s := Supported{Kinds: []Kind{}, Extensions: []string{}, Signers: map[string][]string{}}
	for _, n := range h.cfg.Rails {
		want := n.Requirement(1)
		info := n.Info()
		s.Kinds = append(s.Kinds, Kind{Version: 2, Scheme: want.Scheme, Network: want.Network, Extra: info.Kind})
		namespace, _, _ := strings.Cut(want.Network, ":")
		for _, account := range info.Accounts {
			if family := namespace + ":*"; !slices.Contains(s.Signers[family], account) {
				s.Signers[family] = append(s.Signers[family], account)
			}
		}
	}
	answer(w, http.StatusOK, s)
}

// fail answers what is not the payment's fault. The caller learns that nothing is known.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, p *rail.Payment, err error) {
	if p == nil {
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
	h.cfg.Log.Error("facilitator request", "path", r.URL.Path, "network", p.Network, "err", err)
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
