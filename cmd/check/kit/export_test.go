package kit

import (
	"context"
	"net/netip"
)

// Hosts looks a name up in a hosts file.
func Hosts(file, name string) ([]netip.Addr, error) {
	return hosts{file}.LookupNetIP(context.Background(), "ip", name)
}
