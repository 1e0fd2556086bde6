package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/rail"
)

// controllersName is the DNS name below a host whose TXT record says whose signatures of offers and
// receipts are the host's (x402 extension offer-receipt, section 4.5.1).
const controllersName = "_controllers."

// controllersVersion begins such a record, and controllersIs each of its controllers.
const controllersVersion, controllersIs = "v=1", "controller="

// maxControllers is how many TXT records of the name are looked at.
const maxControllers = 16

// controllers looks for the DNS record that says that this store's keys sign for its host.
func (d *Doctor) controllers(ctx context.Context, r report) {
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		return // which address has said
	}
	host := base.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || shop.Loopback(host) {
		r("", Fine, "none is needed: this store has no name of its own", "")
		return
	}
	own := attest.DID(base.Host)
	record := fmt.Sprintf(`%s%s. TXT "%s;%s%s"`, controllersName, host, controllersVersion, controllersIs, own)
	do := "add to the zone of the host, and have DNSSEC sign it: " + record
	lookup := net.DefaultResolver.LookupTXT
	if d.LookupTXT != nil {
		lookup = d.LookupTXT
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	texts, err := lookup(ctx, controllersName+host)
	if missing, ok := errors.AsType[*net.DNSError](err); err == nil && len(texts) == 0 || ok && missing.IsNotFound {
		r("", Warning, "no DNS record says that this store's keys sign for its host", do)
		return
	}
	if err != nil {
		r("", Warning, "the record of "+controllersName+host+" cannot be looked up", "try again; it should be "+record)
		return
	}
	var all []string
	for _, text := range texts[:min(len(texts), maxControllers)] {
		all = append(all, parseControllers(text)...)
	}
	others := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c == own })
	for i, c := range others {
		others[i] = rail.Printable(c, 120)
	}
	switch {
	case len(all) == 0:
		r("", Warning, controllersName+host+" has no record of version 1 that names a controller", do)
	case len(others) == len(all):
		r("", Fault, "the record names others and not this store, whose receipts are then nobody's: "+
			strings.Join(others, ", "), do)
	case len(others) > 0:
		r("", Warning, "the record also lets others sign for this host: "+strings.Join(others, ", "),
			"take out whom you do not know; this store's is "+record)
	default:
		r("", Fine, record, "")
	}
}

// parseControllers reads the controllers of a TXT record, none of one that is of another form.
func parseControllers(text string) (out []string) {
	parts := strings.Split(text, ";")
	if strings.TrimSpace(parts[0]) != controllersVersion {
		return nil
	}
	for _, part := range parts[1:] {
		if c, ok := strings.CutPrefix(strings.TrimSpace(part), controllersIs); ok && strings.HasPrefix(c, "did:") {
			out = append(out, c)
		}
	}
	return out
}
