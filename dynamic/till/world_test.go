package till_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// world is what the processes of a store share over a long time in a bubble: a ledger, a chain that
// seals what comes, a town, and what everybody remembers of them.
type world struct {
	t     *testing.T
	dice  *dice
	chain *fakeChain
	db    *ledger.Mem
	site  *content.Site
	town  *town
	poll  time.Duration // between two looks for what is due
	seals chan struct{} // something waits for a block
	late  func(t schedule.Task, late time.Duration)
	quiet atomic.Bool // nobody dies any more

	mu        sync.Mutex
	processes []*process // by place; nil while it is away
	began     int
	kills     map[string]int // by place
	refused   []refusal
	sales     []*modelSale
	passes    []string            // that were bought
	kept      map[string]keeping  // orders, by what the keeper did about them
	spenders  map[string]*spender // by payer
	withdraws bool                // whether some of them withdraw
	paid      map[string]int      // debts, by how often the keeper noted that he paid them
	gone      sync.WaitGroup      // of ended processes
}

// process is one replica of the store. It may be killed anywhere: from then on nothing of it
// reaches the ledger, the chain or the town.
type process struct {
	w      *world
	name   string
	till   *till.Till
	serve  http.Handler
	cancel context.CancelFunc
	runs   sync.WaitGroup
	dead   atomic.Bool
	doom   atomic.Pointer[doom]
}

// doom says where a process is killed: at the n-th time that it comes to a place.
type doom struct {
	place string
	left  atomic.Int64
}

// places are those where a process may be killed.
var places = []string{"before a write", "after a write", "step", "send", "visit", "reading", "word"}

var errKilled = errors.New("the process was killed")

// at is called where a process may be killed. It reports whether it is dead.
func (p *process) at(place string) bool {
	if d := p.doom.Load(); d != nil && !p.w.quiet.Load() && d.place == place && d.left.Add(-1) == 0 {
		p.kill(place)
	}
	return p.dead.Load()
}

func (p *process) kill(place string) {
	if p.dead.Swap(true) {
		return
	}
	p.w.mu.Lock()
	p.w.kills[place]++
	p.w.mu.Unlock()
	p.cancel()
}

// mortal is the ledger as a process has it.
type mortal struct {
	ledger.DB
	p *process
}

// View implements [ledger.DB].
func (l mortal) View(ctx context.Context, f func(ledger.Tx) error) error {
	if l.p.dead.Load() {
		return errKilled
	}
	return l.DB.View(ctx, f)
}

// Update implements [ledger.DB].
func (l mortal) Update(ctx context.Context, f func(ledger.Tx) error) error {
	if l.p.dead.Load() || l.p.at("before a write") {
		return errKilled
	}
	err := l.DB.Update(ctx, f)
	if err == nil && l.p.at("after a write") {
		return ledger.ErrUnknown
	}
	return err
}

// mortalRail is the chain as a process has it. Its head is never old: what seals only when
// something waits is no chain that stands still.
type mortalRail struct {
	fakeRail
	p *process
}

// Standing implements [rail.Rail].
func (r mortalRail) Standing(ctx context.Context) (rail.Standing, error) {
	s, err := r.fakeRail.Standing(ctx)
	s.Head = time.Now()
	return s, err
}

// Send implements [rail.Rail].
func (r mortalRail) Send(ctx context.Context, all ...rail.Signed) error {
	if r.p.at("send") {
		return errKilled
	}
	err := r.fakeRail.Send(ctx, all...)
	r.p.w.block()
	return err
}

// worldDelay is how long a withdrawal from a channel takes, as in a store that says nothing of it.
const worldDelay = 14 * 24 * time.Hour

// block has blocks sealed for what waits.
func (w *world) block() {
	select {
	case w.seals <- struct{}{}:
	default:
	}
}

func newWorld(t *testing.T, seed uint64, replicas int, poll time.Duration) *world {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dice: newDice(seed), chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true}),
		site: site, poll: poll, seals: make(chan struct{}, 1), processes: make([]*process, replicas),
		kills: map[string]int{}, kept: map[string]keeping{}, paid: map[string]int{},
		spenders: spenders(worldDelay, "spender", "another", "code:spender")}
	w.chain.delay, w.chain.holds, w.chain.wants = worldDelay, true, w.block
	return w
}

// during runs f in a world with a town and a chain, with a process in each place.
func (w *world) during(f func()) {
	var closes func()
	w.town, closes = newTown(w.t, w.dice)
	defer closes()
	w.town.meets = func(agent, place string) {
		if p := w.named(agent); p != nil {
			p.at(place)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var mines sync.WaitGroup
	mines.Go(func() { w.mine(ctx) })
	for i := range w.processes {
		w.dice.wait("start", time.Second) // they look at their queues at different moments
		w.start(i)
	}
	f()
	for i := range w.processes {
		w.end(i)
	}
	w.gone.Wait()
	cancel()
	mines.Wait()
}

// mine seals blocks where something waits for them, and some each day.
func (w *world) mine(ctx context.Context) {
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.seals:
		case <-day.C:
		}
		for range 12 {
			time.Sleep(2 * time.Second)
			w.chain.mu.Lock()
			w.chain.seal(false)
			w.chain.mu.Unlock()
		}
	}
}

// named is the process of a name, nil when it has ended.
func (w *world) named(name string) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.processes {
		if p != nil && p.name == name {
			return p
		}
	}
	return nil
}

// start starts a process in a place.
func (w *world) start(i int) {
	w.mu.Lock()
	w.began++
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{w: w, name: fmt.Sprintf("p%d", w.began), cancel: cancel}
	w.mu.Unlock()
	if err := p.open(ctx); err != nil {
		w.t.Errorf("starting: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes[i] = p
}

// open wires a process as package shop does.
func (p *process) open(ctx context.Context) error {
	w, db := p.w, mortal{p.w.db, p}
	log := slog.New(slog.DiscardHandler)
	visits, err := w.town.client(p.name, 0)
	if err != nil {
		return err
	}
	words, err := w.town.client(p.name, services.WordTimeout)
	if err != nil {
		return err
	}
	r := mortalRail{fakeRail{w.chain}, p}
	guard, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{r}, Every: 6 * time.Hour})
	if err != nil {
		return err
	}
	later := services.New(services.Config{BaseURL: childBase, DB: db, Log: log, Readings: eyes{w.town, p.name},
		Visits: visits, Callbacks: services.CallbackConfig{Client: words,
			Key: attest.SpecimenKeyFor(attest.PurposeWebhook)},
		Spend: func(context.Context, string) (bool, time.Duration, error) { return true, 0, nil }})
	p.till, err = till.New(till.Config{BaseURL: childBase, Site: w.site, DB: db, Rails: []rail.Rail{r},
		Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(), Gas: guard, Log: log,
		Secret: []byte(strings.Repeat("s", 32)), Poll: w.poll, Sweep: 6 * time.Hour, Late: w.late,
		Kinds: later.Kinds(), Tell: services.Tell, Holds: true, Vouchers: &channels.Limits{},
		AfterStep: func(string) {
			if p.at("step") {
				runtime.Goexit()
			}
		}})
	if err != nil {
		return err
	}
	c, err := counter.New(counter.Config{Till: p.till, Later: later})
	if err != nil {
		return err
	}
	looks, err := manager.New(manager.Config{DB: db, Rails: []rail.Rail{r}, Settles: p.till.Settles(), Log: log,
		Every: max(w.poll, 4*time.Hour)})
	if err == nil {
		err = looks.Start(ctx)
	}
	if err != nil {
		return err
	}
	rows := append(c.Rows(), later.Rows(c)...)
	p.serve = tilltest.Serve(rows, childBase, func(_ http.ResponseWriter, r *http.Request, err error) {
		if !p.dead.Load() {
			w.t.Errorf("%s: %v", r.URL.Path, err)
		}
	})
	p.runs.Go(func() {
		jobs := append(later.Jobs(p.till), looks.Job())
		if err := p.till.Run(ctx, jobs...); err != nil && !p.dead.Load() && ctx.Err() == nil {
			w.t.Errorf("running: %v", err)
		}
	})
	return nil
}

// end ends a process: it finishes what it has in hand. One that was killed does nothing any more.
func (w *world) end(i int) {
	w.mu.Lock()
	p := w.processes[i]
	w.processes[i] = nil
	w.mu.Unlock()
	if p == nil {
		return
	}
	p.cancel()
	w.gone.Go(func() {
		p.runs.Wait()
		if err := p.till.Drain(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
}

// some is one of the processes that are there, nil for none.
func (w *world) some(who string) *process {
	w.mu.Lock()
	var there []*process
	for _, p := range w.processes {
		if p != nil && !p.dead.Load() {
			there = append(there, p)
		}
	}
	w.mu.Unlock()
	if len(there) == 0 {
		return nil
	}
	return there[w.dice.intN("process of "+who, len(there))]
}

// by has something done in a process, as one of its goroutines; false where it died over it.
func (p *process) by(f func()) (done bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
		done = true
	}()
	<-ended
	return done && !p.dead.Load()
}

// ask makes a request of a process; false where no answer came.
func (p *process) ask(path string, header map[string]string) (tilltest.Reply, bool) {
	rec := httptest.NewRecorder()
	ok := p.by(func() {
		r := httptest.NewRequest("GET", path, nil)
		for k, v := range header {
			r.Header.Set(k, v)
		}
		p.serve.ServeHTTP(rec, r)
	})
	out := tilltest.Reply{Status: rec.Code, Header: rec.Header(), Raw: rec.Body.Bytes()}
	json.Unmarshal(out.Raw, &out.Body)
	return out, ok
}
