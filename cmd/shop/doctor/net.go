package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"store.example/agentstore/dynamic/roster"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/keeper"
	"store.example/agentstore/dynamic/rail"
)

const (
	// asking is how long one party is waited for.
	asking = 15 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 256 << 10
	// oldHead is the age of a newest block at which a network takes no payments.
	oldHead = time.Minute
	// How far the clock of this machine may be from those of others. A payment says from when to
	// when it is valid, and a proof of today is dated by this clock.
	slowClock, wrongClock = 5 * time.Second, 30 * time.Second
)

// networks looks at each network as the store would before it sells there, all at once.
func (d *Doctor) networks(ctx context.Context, r report) {
	if len(d.Config.Networks) == 0 {
		r("", Fault, "none is configured: nothing can be paid for", "add a [[network]] table: store config shows one")
		return
	}
	type line struct {
		state     State
		found, do string
	}
	said := make([][]line, len(d.Config.Networks))
	var wg sync.WaitGroup
	for i, n := range d.Config.Networks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, asking)
			defer cancel()
			d.network(ctx, n, func(_ string, s State, found, do string) {
				said[i] = append(said[i], line{s, found, do})
			})
		})
	}
	wg.Wait()
	for i, n := range d.Config.Networks {
		for _, l := range said[i] {
			r(n.ID, l.state, l.found, l.do)
		}
	}
}

func (d *Doctor) network(ctx context.Context, n shop.NetworkConfig, r report) {
	s := d.shop()
	opened, err := s.OpenRail(n)
	if err != nil {
		do := "mend the network's table in the configuration"
		if errors.Is(err, fs.ErrNotExist) && n.RPCFile != "" {
			do = "write the addresses of nodes into " + n.RPCFile + ", a line each, and chmod 600 it; relayer_key is " +
				"a file that you bring, too"
		}
		r.err("", err, "", do)
		return
	}
	if err := opened.Check(ctx); err != nil {
		r.err("", errors.New(withoutNodes(err)), "", "see that rpc is a node of this network that answers, and pay_to "+
			"an account that can receive there")
		return
	}
	st, err := opened.Standing(ctx)
	if err != nil {
		r.err("", errors.New(withoutNodes(err)), "", "try again, or name another node as rpc")
		return
	}
	info := opened.Info()
	age := d.Now().Sub(st.Head)
	switch {
	case age > oldHead:
		r("", Fault, fmt.Sprintf("its newest block is %s old", age.Round(time.Second)),
			"name a node that follows the network, or set this machine's clock")
	case st.Out != "":
		r("", Fault, st.Out, d.fund(info, st))
	case st.Balance != nil && st.Need != nil && st.Balance.Cmp(st.Need) < 0:
		r("", Fault, "the account that pays gas cannot pay for a settlement", d.fund(info, st))
	case !st.Priced:
		r("", Warning, "settling has no price: nothing is offered here",
			"give coin_price and coin_price_date, or settle_cost of the facilitator")
	default:
		r("", Fine, fmt.Sprintf("pays to %s by %s, newest block %s old", info.PayTo, info.Via,
			max(age, 0).Round(time.Second)), "")
	}
	if _, low, err := opened.Fuel(ctx); err == nil && low {
		r("", Warning, "the account that pays gas is below its alarm", d.fund(info, st))
	}
	if date, err := time.Parse(time.DateOnly, n.PriceDate); err == nil && d.Now().Sub(date) > shop.PriceAge {
		r("", Warning, "coin_price is of "+n.PriceDate+": what settling costs may be wrong",
			"write today's price and date")
	}
	if d.Config.Vouchers.Key != "" && n.ID == d.Config.Networks[0].ID {
		d.vouchers(opened, r)
	}
	if nodes, err := n.Nodes(); err == nil && len(nodes) == 1 {
		r("", Warning, "one node alone is believed", "name a second one of another house as rpc: both are asked about "+
			"payments of 1 USDC or more")
	}
}

// vouchers says whether they are taken on a network.
func (d *Doctor) vouchers(opened rail.Rail, r report) {
	c, is := opened.(rail.Channels)
	if is {
		if t, ok := c.ChannelTerms(); ok {
			r("", Fine, fmt.Sprintf("takes vouchers, claimed by %s; its payers withdraw within %s", t.Authorizer,
				t.Delay), "")
			return
		}
	}
	r("", Warning, "no vouchers are taken: the escrow of channels does not stand there",
		"put a network that has it first, or take vouchers.key out of the configuration")
}

// fund says which accounts want coins.
func (d *Doctor) fund(info rail.Info, st rail.Standing) string {
	if st.Balance == nil || len(info.Accounts) == 0 {
		return "ask the facilitator, or wait"
	}
	return fmt.Sprintf("if it is for want of gas, send coins to %s, which has %s %s; one settlement takes up to %s",
		strings.Join(info.Accounts, ", "), st.Balance, info.Unit, st.Need)
}

// withoutNodes is what an error says without the addresses of nodes, which may hold a key.
func withoutNodes(err error) string { return roster.ReasonOf(err) }

// clock compares this machine's clock with those of the nodes, by the Date of their answers.
func (d *Doctor) clock(ctx context.Context, r report) {
	var off []time.Duration
	for _, n := range d.Config.Networks {
		nodes, err := n.Nodes()
		if err != nil || len(nodes) == 0 {
			continue
		}
		res, _, err := d.get(ctx, nodes[0])
		if err != nil {
			continue
		}
		if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
			off = append(off, d.Now().Sub(date))
		}
	}
	if len(off) == 0 {
		r("", Warning, "no node says what time it is", "see that this machine sets its clock by NTP")
		return
	}
	slices.Sort(off)
	by := off[len(off)/2].Round(time.Second)
	text := fmt.Sprintf("%s from that of the networks' nodes", by.Abs())
	switch {
	case by.Abs() > wrongClock:
		r("", Fault, text, "set this machine's clock by NTP: payments are valid from and until a second")
	case by.Abs() > slowClock:
		r("", Warning, text, "set this machine's clock by NTP")
	default:
		r("", Fine, text, "")
	}
}

// get asks an address without following it elsewhere, and reads the beginning of the answer.
func (d *Doctor) get(ctx context.Context, address string) (*http.Response, string, error) {
	client := http.Client{Timeout: asking}
	if file := d.Config.TLS.Certificate; file != "" {
		// The store's own may vouch for itself alone.
		if text, err := os.ReadFile(file); err == nil {
			roots, err := x509.SystemCertPool()
			if err != nil {
				return nil, "", err
			}
			roots.AppendCertsFromPEM(text)
			client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		}
	}
	if d.Client != nil {
		client = *d.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("User-Agent", "store-doctor/1")
	res, err := client.Do(req)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // which does not name the address
		}
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res, string(body), err
}

// address asks the store at its own address, as a stranger would.
func (d *Doctor) address(ctx context.Context, r report) {
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		r.err("", err, "", "mend base_url")
		return
	}
	if !shop.Loopback(base.Hostname()) {
		lookup := net.DefaultResolver.LookupHost
		if d.Lookup != nil {
			lookup = d.Lookup
		}
		if _, err := lookup(ctx, base.Hostname()); err != nil {
			r("", Fault, base.Hostname()+" has no address",
				"have its A and AAAA records lead to this machine or its CDN")
			return
		}
	}
	const start = "start store serve, and the proxy or CDN before it; then look again"
	key, err := shop.IdentityKey(d.Config)
	if err != nil {
		return // which keys has said
	}
	res, body, err := d.get(ctx, d.Config.BaseURL+"/.well-known/store-signing-key")
	switch {
	case err != nil:
		r("", Fault, "nothing answers at "+d.Config.BaseURL+": "+err.Error(), start)
		return
	case res.StatusCode != http.StatusOK:
		r("", Fault, fmt.Sprintf("%s/.well-known/store-signing-key answers %d", d.Config.BaseURL, res.StatusCode),
			start)
		return
	case !strings.Contains(body, key.KID()):
		r("", Fault, "what answers at "+d.Config.BaseURL+" is signed by another key: another store, or an old tree",
			"have the name lead here, or publish the tree that is signed by keys.identity")
		return
	}
	r("", Fine, "this store answers there", "")
	d.terms(ctx, r)
}

// terms asks for a price, to see that the header of a 402 comes through whatever stands before the
// store.
func (d *Doctor) terms(ctx context.Context, r report) {
	site, err := shop.LoadSite(d.Config)
	if err != nil || len(site.Goods) == 0 {
		return // which texts has said
	}
	path := "/api/buy/" + site.Goods[0].ID // one that asks for inputs has terms without them as well
	for _, g := range site.Goods {
		if len(g.Inputs) == 0 {
			path = "/api/buy/" + g.ID
			break
		}
	}
	res, _, err := d.get(ctx, d.Config.BaseURL+path)
	switch {
	case err != nil:
		r("of goods", Fault, path+" does not answer: "+err.Error(), "see the log of store serve")
	case res.StatusCode != http.StatusPaymentRequired:
		r("of goods", Fault, fmt.Sprintf("%s answers %d where it should ask for a payment", path, res.StatusCode),
			"see what the networks say above, and the log of store serve")
	case res.Header.Get("Payment-Required") == "":
		r("of goods", Fault, "the 402 comes without its PAYMENT-REQUIRED header",
			"have the proxy hand headers on as they are, of up to 16 KiB")
	default:
		r("of goods", Fine, "a 402 comes with its terms", "")
	}
}

// proxy looks for what stands before a store that strangers reach.
func (d *Doctor) proxy(_ context.Context, r report) {
	here, err := shop.Local(d.Config)
	switch {
	case err != nil:
		r.err("", err, "", "mend listen")
	case here:
		r("", Fine, "none is needed: the store is for this machine alone", "")
	case d.Config.TLS.Speaks() && len(d.Config.Server.TrustedProxies) == 0:
		r("", Fine, "none is needed: the store speaks TLS itself", "")
	case len(d.Config.Server.TrustedProxies) == 0:
		r("", Warning, "no proxy's word is believed on who calls: behind one, all visitors share its limits",
			"name its address range in server.trusted_proxies, and have it write X-Forwarded-For itself")
	default:
		r("", Fine, "believed: "+strings.Join(d.Config.Server.TrustedProxies, ", "), "")
	}
}

// certificateWarns is how long before its own certificate ends a keeper is told.
const certificateWarns = 30 * 24 * time.Hour

// certificate looks at one of the keeper's own. Those of a CA are renewed by the store.
func (d *Doctor) certificate(_ context.Context, r report) {
	if d.Config.TLS.Certificate == "" {
		r("", Fine, "none of its own is configured", "")
		return
	}
	const do = "put a new one and its key in the place of the files, and send the store SIGHUP"
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		r.err("", err, "", "mend base_url")
		return
	}
	own := &shop.OwnCertificate{Config: d.Config.TLS, Host: base.Hostname()}
	if err := own.Load(); err != nil {
		r.err("", err, "", do)
		return
	}
	ends := own.Current.Load().Leaf.NotAfter
	day := ends.UTC().Format(time.DateOnly)
	switch left := ends.Sub(d.Now()); {
	case left <= 0:
		r("", Fault, "it ended on "+day+": nobody's client connects any more", do)
	case left <= certificateWarns:
		r("", Warning, fmt.Sprintf("it ends on %s, in %d days", day, left/(24*time.Hour)), do)
	default:
		r("", Fine, "it ends on "+day, "")
	}
}

// process asks the running store whether it is ready.
func (d *Doctor) process(ctx context.Context, r report) {
	if d.Config.DebugListen == "" {
		r("", Warning, "it has no debug listener: nobody sees its metrics", "give debug_listen, such as 127.0.0.1:4021")
		return
	}
	res, body, err := d.get(ctx, "http://"+d.Config.DebugListen+"/readyz")
	switch {
	case err != nil:
		r("", Fault, "it does not run, or answers nothing at debug_listen", "start it with store serve")
	case res.Header.Get(dynamic.HeaderStore) != d.Config.BaseURL:
		r("", Fault, "another process answers at debug_listen, "+d.Config.DebugListen,
			"give this store a debug_listen of its own, and start it with store serve")
	case res.StatusCode != http.StatusOK:
		r("", Fault, "it is not ready: "+strings.Join(strings.Fields(rail.Printable(body, 300)), " "),
			"see its log")
	default:
		r("", Fine, "it is ready", "")
	}
}

func (d *Doctor) desk(ctx context.Context, r report) {
	address := d.Config.Desk.Address()
	if address == "" {
		r("", Fine, "it is off", "")
		return
	}
	token, err := shop.ReadDeskToken(d.Config.Desk.Token)
	if errors.Is(err, fs.ErrNotExist) {
		r("", Fine, "store serve opens it at http://"+address+" and makes its token", "")
		return
	}
	if err != nil {
		r.err("", err, "", "chmod 600 the file, or remove it: store serve makes another")
		return
	}
	_, body, err := d.get(ctx, "http://"+address+keeper.WhoPath)
	switch {
	case err != nil:
		r("", Warning, "nothing answers at "+address, "start store serve, and see its log for desk.listen")
	case !keeper.IsWho(token, body):
		r("", Warning, "another program has "+address+": this store sells, and its desk is shut",
			"name another address as desk.listen, or off, and start store serve again")
	default:
		r("", Fine, "it is open at http://"+address+": store keeper token prints what opens it", "")
	}
}
