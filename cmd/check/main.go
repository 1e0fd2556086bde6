// Check is the seller's kit: it reads doors that ask to be paid as a stranger's probe does, judges
// them by a battery, and says what to change. It needs no store, and pays nothing unless it is
// given a wallet to buy with.
//
//	check [flags] URL…
//	check -pay FILE -max-usd AMOUNT URL
//	check -exchange FILE
//
// Exit codes: 0 nothing that -fail-on names was found; 1 it could not be found out; 2 called
// wrongly; 3 found; 4 both.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"store.example/agentstore/cmd/check/kit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(kit.Run(ctx, "check", os.Args[1:], os.Stdout, os.Stderr))
}
