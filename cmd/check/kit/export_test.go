package kit

import (
	"context"
	"net/netip"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
)

// Tell tells the store that -publish names of a purchase.
func (p Program) Tell(ctx context.Context, publish string, key *wallet.Key, r *buyer.PurchaseReport) (string, error) {
	s := settings{Program: p}
	s.publish, s.buyer.Wallet = publish, key
	if err := s.checkPublish(); err != nil {
		return "", err
	}
	return s.tell(ctx, r)
}

// Hosts looks a name up in a hosts file.
func Hosts(file, name string) ([]netip.Addr, error) {
	return hosts{file}.LookupNetIP(context.Background(), "ip", name)
}
