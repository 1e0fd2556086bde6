package onchaintest_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// childEnv holds, as JSON, what a copy of this test binary does in place of tests: it is a shop in
// a process of its own, which can be killed.
const childEnv = "TILL_TEST_CHILD"

// childBase is the base URL of every child; where it listens is another matter and changes from
// child to child.
const childBase = "http://store.test"

type childConfig struct {
	Ledger, RPC, PayTo, Relayer string
	// FeePayer says that it sells on Solana.
	FeePayer ed25519.PrivateKey
	// Step and Nth say after which step the process kills itself, the Nth time it is taken; "any"
	// is any step, "" none.
	Step string
	Nth  int
	// SettleWait is how long a buyer waits.
	SettleWait time.Duration
	// Ahead is how far the child's clocks are ahead of the machine's.
	Ahead time.Duration
	// Refuse makes drafts fail as if the chain said that they would revert.
	Refuse bool
	// Stages counts the steps of transactions for several too, and no step before the first.
	Stages bool
	// Idle leaves to others what lies there.
	Idle bool
	// Stuck is when a transaction that waits is replaced; 0 is the rail's.
	Stuck time.Duration
	// Upstream is the address that goods of one's own ask; "" sells the specimen alone.
	Upstream string
	// Transfer is how buyers are asked to pay, and Factories may deploy their wallets, as the
	// rail's are.
	Transfer  string
	Factories []string
	// Vouchers is the key that claims them, which is done as soon as it can be; "" takes none.
	Vouchers string
	// Holds says that it sells the keeper's work by holds, of which there is enough.
	Holds bool
}

func TestMain(m *testing.M) {
	if c := os.Getenv(childEnv); c != "" {
		if err := runChild(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild sells until its standard input ends. It prints where it listens.
func runChild(config string) error {
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shared := strings.HasPrefix(c.Ledger, "postgres:")
	var db ledger.DB
	var err error
	if shared {
		db, err = postgres.Open(ctx, c.Ledger, postgres.Options{})
	} else {
		db, err = bolt.Open(ctx, c.Ledger)
	}
	if err != nil {
		return err
	}
	r, err := c.rail()
	if err != nil {
		return err
	}
	site, err := content.Load(content.Sources{})
	if err != nil {
		return err
	}
	if c.Holds {
		for i := range site.Goods {
			if g := &site.Goods[i]; g.WindowHours > 0 {
				g.WeeklyInventory = 10_000
			}
		}
	}
	var asks goods.Upstreams
	if c.Upstream != "" {
		if site, err = ownSite(c.Upstream); err != nil {
			return err
		}
		if asks, err = asking(c.Upstream); err != nil {
			return err
		}
	}
	var sells rail.Rail = r
	after := killer(c)
	switch {
	case c.Refuse:
		sells = refusing{r}
	case c.Stages:
		s := &stages{Rail: r, kill: after}
		sells, after = s, s.after
	}
	ahead := &shifted{DB: db}
	ahead.put(c.Ahead)
	var clock ledger.DB = db
	if c.Ahead > 0 {
		clock = ahead
	}
	tl, err := till.New(till.Config{
		BaseURL: childBase, Site: site, DB: clock, Now: ahead.now,
		Shelves: []till.Shelf{till.Goods(goods.Kinds(goods.Reader{}, nil)), humans, till.Porch(nil)},
		Rails:   []rail.Rail{sells}, Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
		Secret: []byte(strings.Repeat("s", 32)), Exclusive: !shared, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Patience: 200 * time.Millisecond, SettleWait: c.SettleWait, RepeatWait: c.SettleWait, AfterStep: after,
		Upstreams: asks, Vouchers: c.limits(), Holds: c.Holds,
	})
	if err != nil {
		return err
	}
	var jobs []schedule.Job
	if c.Vouchers != "" {
		m, err := manager.New(manager.Config{DB: db, Rails: []rail.Rail{r}, Settles: tl.Settles(), Log: slog.Default(),
			Sum: 1, Fresh: 1, Sweep: 1, Every: 50 * time.Millisecond})
		if err == nil {
			err = m.Start(ctx)
		}
		if err != nil {
			return err
		}
		jobs = append(jobs, m.Job())
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.Run(ctx) })
	if !c.Idle {
		wg.Go(func() { tl.Run(ctx, jobs...) })
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: tilltest.Handler(tl, childBase,
		func(_ http.ResponseWriter, r *http.Request, err error) { fmt.Fprintln(os.Stderr, r.URL.Path, err) },
		fulfils(tl), decides(tl))}
	wg.Go(func() { srv.Serve(listener) })
	fmt.Println("http://" + listener.Addr().String())
	io.Copy(io.Discard, os.Stdin)
	srv.Close()
	drain, done := context.WithTimeout(ctx, patience)
	defer done()
	err = tl.Drain(drain)
	cancel()
	wg.Wait()
	return errors.Join(err, db.Close())
}

// limits are those of vouchers.
func (c childConfig) limits() *channels.Limits {
	if c.Vouchers == "" {
		return nil
	}
	return &channels.Limits{}
}

// rail is the network of a child.
func (c childConfig) rail() (rail.Rail, error) {
	if c.FeePayer != nil {
		return solana.New(solanaConfig(c.RPC, c.PayTo, c.FeePayer))
	}
	relayer, err := crypto.ToECDSA(hexutil.MustDecode(c.Relayer))
	if err != nil {
		return nil, err
	}
	cfg, _ := evm.Preset("eip155:8453")
	cfg.RPC, cfg.PayTo, cfg.Relayer, cfg.GenesisHash, cfg.CoinPrice = []string{c.RPC}, c.PayTo, relayer, "", 1_000_000
	cfg.Poll, cfg.Stuck, cfg.Transfer, cfg.Factories = 20*time.Millisecond, c.Stuck, c.Transfer, c.Factories
	if c.Vouchers != "" {
		if cfg.Authorizer, err = crypto.ToECDSA(hexutil.MustDecode(c.Vouchers)); err != nil {
			return nil, err
		}
	}
	return evm.New(cfg)
}

// killer kills this process after a step, as the kernel would: nothing is flushed, nothing is said.
func killer(c childConfig) func(string) {
	var mu sync.Mutex
	n := 0
	return func(step string) {
		if c.Step == "" || c.Step != "any" && c.Step != step {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if n++; n == c.Nth {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// refusing is a rail whose chain says of every settlement that it would revert.
type refusing struct{ rail.Rail }

func (refusing) Draft(context.Context, []*rail.Payment) (rail.Draft, error) {
	return nil, &rail.Refusal{Reason: "invalid_exact_evm_transaction_failed"}
}

// fulfils is the keeper's hand: a route that completes what was promised.
func fulfils(tl *till.Till) route.Row {
	return route.Row{Method: http.MethodPost, Pattern: "/fulfil/{id}",
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			err := tl.Fulfil(r.Context(), r.PathValue("id"), delivers(goods.Made{Message: "Tea.", Note: "Tea."},
				"judgment",
				"Tea."))
			if err != nil {
				return &problem.Error{Code: "precondition_failed", Detail: err.Error()}
			}
			w.WriteHeader(http.StatusNoContent)
			return nil
		}}
}

// decides is the keeper's hand over what is held: a route that answers an order, gives it back, or
// says whether it has ended.
func decides(tl *till.Till) route.Row {
	return route.Row{Method: http.MethodPost, Pattern: "/decide/{what}/{order}",
		Handle: func(w http.ResponseWriter, r *http.Request) (err error) {
			switch order := r.PathValue("order"); r.PathValue("what") {
			case "answer":
				_, err = tl.AnswerOrder(r.Context(), order, till.Answer{Text: "Tea."}, false)
			case "decline":
				_, err = tl.DeclineOrder(r.Context(), order, false)
			default: // ended
				var o till.HumanOrder
				if o, _, err = tl.HumanOrder(r.Context(), order); err == nil && o.Purchase.InEscrow() {
					err = errors.New("it is held")
				}
			}
			if err != nil {
				return &problem.Error{Code: "precondition_failed", Detail: err.Error()}
			}
			w.WriteHeader(http.StatusNoContent)
			return nil
		}}
}
