package buyer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// seller is a door that asks for half a dollar, and counts the payments that it is given. Before it
// gives an answer it calls answering, which may lose it.
type seller struct {
	*httptest.Server
	payments  map[string]bool
	answering func()
}

func newSeller() *seller {
	s := &seller{payments: map[string]bool{}, answering: func() {}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *seller) serve(w http.ResponseWriter, r *http.Request) {
	payment := r.Header.Get("PAYMENT-SIGNATURE")
	if payment == "" {
		terms, err := x402.Encode(x402.Required{X402Version: 2, Resource: x402.Resource{URL: s.URL + r.URL.Path},
			Accepts: []rail.Requirement{{Scheme: "exact", Network: "eip155:8453", Amount: "500000",
				Asset:             "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo:             "0x3E472E63d09B1bBdf8F0466b8FCB3d4482B9059E",
				MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "USD Coin", "version": "2"}}}})
		if err != nil {
			panic(err)
		}
		w.Header().Set(x402.HeaderRequired, terms)
		w.WriteHeader(http.StatusPaymentRequired)
		return
	}
	s.payments[payment] = true
	s.answering()
	settled, err := x402.Encode(x402.SettleResponse{Success: true, Transaction: "0xabc", Network: "eip155:8453"})
	if err != nil {
		panic(err)
	}
	w.Header().Set(x402.HeaderResponse, settled)
	fmt.Fprint(w, "hello")
}

// buys is a buyer with a wallet of its own, whose purchases are kept in a folder.
func buys(folder string, change func(*buyer.Config)) *buyer.Buyer {
	// Read yours from a file that only you may read.
	key, err := wallet.ParseKey("0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318")
	if err != nil {
		log.Fatal(err)
	}
	cfg := buyer.Config{Wallet: key, Journal: buyer.Folder(folder)}
	if change != nil {
		change(&cfg)
	}
	b, err := buyer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return b
}

func tempDir() string {
	dir, err := os.MkdirTemp("", "purchases")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// A purchase in two steps: what is asked is read first, free, and what somebody agreed to is all
// that is paid, whatever the door asks by then.
func Example() {
	door, folder := newSeller(), tempDir()
	defer door.Close()
	defer os.RemoveAll(folder)

	b := buys(folder, nil)
	terms, err := b.Terms(context.Background(), door.URL+"/hello", buyer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	asked := terms.Entries[terms.Chosen]
	fmt.Println("asks", buyer.USDC(asked.Atomic), asked.Symbol, "on", asked.Chain)

	bought, err := b.Buy(context.Background(), door.URL+"/hello", buyer.Options{Agreed: terms})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("billed", bought.Billed, "in", bought.Transaction)
	fmt.Printf("%s\n", bought.Body)
	// Output:
	// asks 0.5 USDC on Base
	// billed yes in 0xabc
	// hello
}

// A ceiling holds before anything is signed.
func ExampleConfig_ceiling() {
	door, folder := newSeller(), tempDir()
	defer door.Close()
	defer os.RemoveAll(folder)

	b := buys(folder, func(c *buyer.Config) { c.Ceiling = 250_000 }) // a quarter of a dollar
	_, err := b.Buy(context.Background(), door.URL+"/hello", buyer.Options{})
	fmt.Println(errors.Is(err, buyer.ErrCeiling), len(door.payments))
	// Output: true 0
}

// An order has an id of the caller's own: however often it is asked for, it is signed once, and the
// answer that came is given again from the journal.
func ExampleOptions_id() {
	door, folder := newSeller(), tempDir()
	defer door.Close()
	defer os.RemoveAll(folder)

	order := buyer.Options{ID: "order-2026-0001"}
	for range 2 {
		// A new process would find it as well.
		bought, err := buys(folder, nil).Buy(context.Background(), door.URL+"/hello", order)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", bought.State, bought.Body)
	}
	fmt.Println(len(door.payments), "payment")
	// Output:
	// delivered hello
	// delivered hello
	// 1 payment
}

// An answer is lost after the payment was presented. It is not paid for again: Resume presents the
// same payment, for which it needs the journal and no wallet.
func ExampleBuyer_Resume() {
	door, folder := newSeller(), tempDir()
	defer door.Close()
	defer os.RemoveAll(folder)

	ctx, lost := context.WithCancel(context.Background())
	door.answering = func() {
		lost() // the caller gives up, or dies
		panic(http.ErrAbortHandler)
	}
	_, err := buys(folder, nil).Buy(ctx, door.URL+"/hello", buyer.Options{})
	fmt.Println(errors.Is(err, buyer.ErrUnknown))

	door.answering = func() {}
	_, err = buys(folder, nil).Buy(context.Background(), door.URL+"/hello", buyer.Options{})
	fmt.Println(errors.Is(err, buyer.ErrUnfinished))

	results, err := buys(folder, func(c *buyer.Config) { c.Wallet = nil }).Resume(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s, %d payment\n", results[0].State, results[0].Body, len(door.payments))
	// Output:
	// true
	// true
	// delivered hello, 1 payment
}
