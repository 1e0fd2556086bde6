package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"

	"golang.org/x/net/dns/dnsmessage"
)

// inward are addresses that a stranger would like us to visit.
var inward = []string{"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254",
	"172.16.0.1", "192.168.1.1",
	"192.0.2.7", "198.18.0.1", "198.51.100.9", "203.0.113.3", "224.0.0.1", "240.0.0.1", "255.255.255.255"}

// spellingsOf writes an IPv4 address as lenient readers take it, and inside IPv6.
func spellingsOf(dotted string) []string {
	b := netip.MustParseAddr(dotted).As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	lo, hi := n&0xffff, n>>16
	wide := strings.NewReplacer("0", "０", "1", "１", "2", "２", "3", "３", "4", "４", "5", "５", "6", "６", "7", "７", "8",
		"８", "9", "９")
	return []string{
		dotted, dotted + ".", fmt.Sprint(n), fmt.Sprint(n) + ".", fmt.Sprintf("0x%x", n), fmt.Sprintf("0X%X", n),
		fmt.Sprintf("0%o", n), fmt.Sprintf("0x00000000%x", n), fmt.Sprintf("%d.%d", b[0], n&0xffffff),
		fmt.Sprintf("%d.%d.%d", b[0], b[1], lo), fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.0x%x.0%o.%d", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%03d.%03d.%03d.%03d", b[0], b[1], b[2], b[3]), fmt.Sprint(uint64(n) + 1<<32), wide.Replace(dotted),
		strings.ReplaceAll(dotted, ".", "。"), strings.ReplaceAll(dotted, ".", "%2e"),
		fmt.Sprintf("%%%x%s", dotted[0], dotted[1:]), "[::ffff:" + dotted + "]", fmt.Sprintf("[::ffff:%x:%x]", hi, lo),
		fmt.Sprintf("[0:0:0:0:0:FFFF:%X:%X]", hi, lo), "[::" + dotted + "]", "[64:ff9b::" + dotted + "]",
		"[64:ff9b:1::" + dotted + "]", fmt.Sprintf("[2002:%x:%x::1]", hi, lo),
		fmt.Sprintf("[2001:0:4136:e378:8000:63bf:%x:%x]", ^hi&0xffff,
			^lo&0xffff), fmt.Sprintf("[2606:4700::5efe:%x:%x]", hi, lo), fmt.Sprintf("[2606:4700::200:5efe:%x:%x]", hi,
			lo), "[::ffff:0:" + dotted + "]", "[" + dotted + "]", "[::ffff:" + dotted + "%25eth0]",
	}
}

// oddURLs are URLs that are refused for what they are, with the code; "%s" is the port of the trap.
var oddURLs = []struct{ url, code string }{
	{"", CodeMissing}, {"  ", CodeMissing}, {"example.com", CodeUnparseable}, {"hello", CodeUnparseable},
	{"https://", CodeUnparseable}, {"https:///path", CodeUnparseable}, {"https:example.com", CodeUnparseable},
	{"https:/example.com", CodeUnparseable}, {"//example.com/", CodeUnparseable}, {"://example.com", CodeUnparseable},
	{"https://exa mple.com/", CodeUnparseable}, {"https://example.com:port/", CodeUnparseable},
	{"https://[::1/", CodeUnparseable}, {"https://example.com\x00/", CodeUnparseable},
	{"https://example.com/\n", CodeUnparseable}, {"https://%zz/", CodeUnparseable}, {"http://example.com/", CodeTarget},
	{"ftp://example.com/", CodeTarget}, {"file:///etc/passwd", CodeUnparseable},
	{"file://localhost/etc/passwd", CodeTarget}, {"gopher://127.0.0.1:6379/_x", CodeTarget},
	{"javascript://example.com/%0aalert(1)", CodeTarget}, {"wss://example.com/", CodeTarget},
	{"https://user@example.com/", CodeTarget}, {"https://user:pass@example.com/", CodeTarget},
	{"https://@example.com/", CodeTarget}, {"https://:@example.com/", CodeTarget},
	{"https://example.com@127.0.0.1/", CodeTarget}, {"https://127.0.0.1@example.com/", CodeTarget},
	{"https://example.com#", CodeTarget}, {"https://example.com/#frag", CodeTarget},
	{"https://example.com#@127.0.0.1/", CodeTarget}, {"https://127.0.0.1#.example.com/", CodeTarget},
	{`https://example.com\@127.0.0.1/`, CodeUnparseable}, {`https://127.0.0.1\.example.com/`, CodeUnparseable},
	{`https://example.com/\..\`, CodeTarget}, {`https:\\example.com\`, CodeUnparseable},
	{"https://example.com:8443/", CodeTarget}, {"https://example.com:80/", CodeTarget},
	{"https://example.com:22/", CodeTarget}, {"https://example.com:0/", CodeTarget},
	{"https://example.com:/", CodeTarget}, {"https://example.com:0443/", CodeTarget},
	{"https://example.com:+443/", CodeUnparseable}, {"https://example.com:-443/", CodeUnparseable},
	{"https://example.com:443 /", CodeUnparseable}, {"https://example.com:４４３/", CodeUnparseable},
	{"https://example.com:0x1bb/", CodeUnparseable}, {"https://example.com:65979/", CodeTarget},
	{"https://example.com:443:443/", CodeUnparseable}, {"https://example.com:99999999999999999999/", CodeTarget},
	{" https://example.com/", CodeUnparseable}, {"https://example.com/ ", CodeTarget},
	{"https://example.com/a b", CodeTarget}, {"https://example.com/\u00a0", CodeTarget},
	{"https://example.com/?a\tb", CodeUnparseable}, {"https://example.com/\u200b", CodeTarget},
	{"https://exam\u00adple.com/", CodeTarget}, {"https://example.com/\u2028", CodeTarget},
	{"https://example.com/\ufeff", CodeTarget}, {"https://example.com/\xff", CodeTarget},
	{"https://exa\u200dmple.com/", CodeTarget}, {"https://example.com/\u202e", CodeTarget},
	{"https://localhost/", CodeTarget}, {"https://LOCALHOST/", CodeTarget}, {"https://localhost./", CodeTarget},
	{"https://localhost:%s/", CodeTarget}, {"https://foo.localhost/", CodeTarget}, {"https://ｌocalhost/", CodeTarget},
	{"https://loc%61lhost/", CodeUnparseable}, {"https://ip6-localhost/", CodeTarget},
	{"https://localhost.localdomain/", CodeTarget}, {"https://printer/", CodeTarget},
	{"https://printer.local/", CodeTarget}, {"https://metadata.google.internal/", CodeTarget},
	{"https://router.home.arpa/", CodeTarget}, {"https://1.0.0.127.in-addr.arpa/", CodeTarget},
	{"https://hidden.onion/", CodeTarget}, {"https://com/", CodeTarget}, {"https://com./", CodeTarget},
	{"https://.example.com/", CodeTarget}, {"https://example..com/", CodeTarget},
	{"https://example.com../", CodeTarget}, {"https://./", CodeTarget}, {"https://-a.example.com/", CodeTarget},
	{"https://a-.example.com/", CodeTarget}, {"https://exa$mple.com/", CodeTarget},
	{"https://exa*mple.com/", CodeTarget}, {"https://exa,mple.com/", CodeTarget}, {"https://exa'mple.com/", CodeTarget},
	{"https://exa(mple.com/", CodeTarget}, {"https://exa!mple.com/", CodeTarget}, {"https://exa;mple.com/", CodeTarget},
	{"https://exa|mple.com/", CodeUnparseable}, {"https://exa<mple.com/", CodeTarget},
	{"https://exa\"mple.com/", CodeTarget}, {"https://exa`mple.com/", CodeUnparseable},
	{"https://exa^mple.com/", CodeUnparseable}, {"https://exa{mple}.com/", CodeUnparseable},
	{"https://example.com%2f@127.0.0.1/", CodeTarget}, {"https://example.com%00.127.0.0.1/", CodeUnparseable},
	{"https://example%2ecom/", CodeUnparseable}, {"https://%65xample.com/", CodeUnparseable},
	{"https://%EF%BC%A1.com/", CodeTarget}, {"https://[fe80::1%25eth0]/", CodeTarget},
	{"https://[2606:4700::1111%25eth0]/", CodeTarget}, {"https://[::]/", CodeTarget}, {"https://[::1]/", CodeTarget},
	{"https://[0:0:0:0:0:0:0:1]/", CodeTarget}, {"https://[::1]:%s/", CodeTarget}, {"https://[fe80::1]/", CodeTarget},
	{"https://[fec0::1]/", CodeTarget}, {"https://[fc00::1]/", CodeTarget}, {"https://[fd00:ec2::254]/", CodeTarget},
	{"https://[fd20:ce::254]/", CodeTarget}, {"https://[ff02::1]/", CodeTarget}, {"https://[100::1]/", CodeTarget},
	{"https://[2001:db8::1]/", CodeTarget}, {"https://[3fff::1]/", CodeTarget}, {"https://[2001:2::1]/", CodeTarget},
	{"https://[2001:10::1]/", CodeTarget}, {"https://[2001:20::1]/", CodeTarget}, {"https://[5f00::1]/", CodeTarget},
	{"https://[4000::1]/", CodeTarget}, {"https://[2620:4f:8000::1]/", CodeTarget},
	{"https://[v1.fe80::a+en1]/", CodeUnparseable}, {"https://[]/", CodeUnparseable},
	{"https://[1.2.3.4]/", CodeUnparseable}, {"https://::1/", CodeUnparseable}, {"https://[::1]a/", CodeUnparseable},
	{"https://[::1].example.com/", CodeUnparseable}, {"https://168.63.129.16/", CodeTarget},
	{"https://100.100.100.200/", CodeTarget}, {"https://192.0.0.192/", CodeTarget},
	{"https://192.88.99.1/", CodeTarget}, {"https://8.8.8.8./", CodeTarget}, {"https://08.8.8.8/", CodeTarget},
	{"https://8.8.8/", CodeTarget}, {"https://1.2.3.4.5/", CodeTarget}, {"https://example.1/", CodeTarget},
	{"https://example.0x7f/", CodeTarget}, {"https://1e9/", CodeTarget}, {"https://256.256.256.256/", CodeTarget},
	{"https://0/", CodeTarget}, {"https://0x/", CodeTarget}, {"https://①②⑦.⓪.⓪.①/", CodeTarget},
	{"https://１２７.１/", CodeTarget}, {"https://ｅxample.com/", CodeTarget}, {"https://xn--a.com/", CodeTarget},
	{"https://xn--/", CodeTarget}, {"https://xn--example-.com/", CodeTarget}, {"https://a.xn--zzzzzz.com/", CodeTarget},
	{"https://\u0301a.com/", CodeTarget}, {"https://אa1.com/", CodeTarget}, {"https://a℀b.com/", CodeTarget},
	{"https://example.com／.evil.com/", CodeTarget}, {"https://example.com？x.evil.com/", CodeTarget},
	{"https://example.com＃x.evil.com/", CodeTarget}, {"https://example.com＠evil.com/", CodeTarget},
	{"https://example.com：443/", CodeTarget}, {"https://" + strings.Repeat("a", 64) + ".com/", CodeTarget},
	{"https://" + strings.Repeat("a.", 126) + "aa/",
		CodeTarget}, {"https://example.com/" + strings.Repeat("a", exchange.MaxURL), CodeTarget},
	{"https://example.com/" + strings.Repeat("é", exchange.MaxURL/4), CodeTarget},
	{"https://store.test/", CodeOwnHost}, {"https://STORE.Test/", CodeOwnHost}, {"https://store.test./", CodeOwnHost},
	{"https://store.test:443/", CodeOwnHost}, {"https://store.test:8443/", CodeOwnHost},
	{"https://store.test../", CodeOwnHost}, {"https://user@store.test/", CodeOwnHost},
	{"https://a@b@store.test/", CodeOwnHost}, {"https://s%74ore.test/", CodeOwnHost},
	{"https://%73%74%6f%72%65%2e%74%65%73%74/", CodeOwnHost}, {"https://s%2574ore.test/", CodeOwnHost},
	{"https://ｓtore.test/", CodeOwnHost}, {"https://store。test/", CodeOwnHost}, {"https://store．test/", CodeOwnHost},
	{"https://ⓢtore.test/", CodeOwnHost}, {"https://st\u00adore.test/", CodeOwnHost},
	{"https://st\u200bore.test/", CodeOwnHost}, {"https://ſtore.test/", CodeOwnHost},
	{"https:/store.test/", CodeOwnHost}, {"https:store.test", CodeOwnHost}, {"https:\\\\store.test\\", CodeOwnHost},
	{"https:////store.test/", CodeOwnHost}, {"http://store.test/", CodeOwnHost}, {"store.test", CodeOwnHost},
	{"//store.test/x", CodeOwnHost}, {" https://store.test/", CodeOwnHost}, {"https://store.test\t/", CodeOwnHost},
	{"https://store.te\nst/", CodeOwnHost}, {"https://store.test#x", CodeOwnHost},
	{"https://store.test?x", CodeOwnHost}, {"https://store.test：443/", CodeOwnHost},
	{"https://bücher.test/", CodeOwnHost}, {"https://BÜCHER.test/", CodeOwnHost},
	{"https://xn--bcher-kva.test/", CodeOwnHost}, {"https://XN--BCHER-KVA.TEST./", CodeOwnHost},
	{"https://bu\u0308cher.test/", CodeOwnHost}, {"https://b%C3%BCcher.test/", CodeOwnHost},
	{"https://B%C3%9Ccher。test/", CodeOwnHost}, {"https://93.184.215.14/", CodeOwnHost},
	{"https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", CodeOwnHost},
	{"https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443/x", CodeOwnHost},
	{"https://[::ffff:93.184.215.14]/", CodeOwnHost}, {"https://own.com/", CodeOwnHost},
	{"https://own6.com/", CodeOwnHost}, {"https://mixed.com/", CodeTarget}, {"https://mapped.com/", CodeTarget},
	{"https://six.com/", CodeTarget}, {"https://zone.com/", CodeTarget}, {"https://listed.com/", CodeTarget},
	{"https://9.9.9.9/", CodeTarget},
}

func guardedNames(host string, _ int) []netip.Addr {
	for name, addresses := range map[string][]string{
		"own.com": {"93.184.215.14"}, "own6.com": {public, "2606:2800:21f:cb07:6820:80da:af6b:8b2c"},
		"mixed.com": {public, "10.0.0.1"}, "mapped.com": {"::ffff:127.0.0.1"}, "six.com": {"64:ff9b::7f00:1"},
		"zone.com": {"2606:4700::1%eth0"}, "listed.com": {"9.9.9.9"},
	} {
		if host == name {
			return always(addresses...)(host, 0)
		}
	}
	return always(public, "2606:4700:4700::1111")(host, 0)
}

// trap is a TLS server on both loopback addresses that nobody may reach, and a real dialer that
// notes what it is about to connect to.
type trap struct {
	port    string
	hits    atomic.Int32
	refused atomic.Int32 // calls of Control with an address that is not public
	calls   atomic.Int32
	net.Dialer
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{}
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { tr.hits.Add(1) })
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	s.Config.ConnState = nil
	tr.port = strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port)
	if ln, err := net.Listen("tcp6", "[::1]:"+tr.port); err == nil { // where there is no IPv6, IPv4 is trap enough
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				tr.hits.Add(1)
				c.Close()
			}
		})
		t.Cleanup(func() { ln.Close(); wg.Wait() })
	}
	tr.Control = func(_, address string, _ syscall.RawConn) error {
		tr.calls.Add(1)
		if special(netip.MustParseAddrPort(address).Addr()) != "" {
			tr.refused.Add(1)
		}
		return errors.New("nothing leaves this test")
	}
	return tr
}

func guardedClient(t *testing.T, d Dialer, r Resolver, allow *Allow) *Client {
	t.Helper()
	c, err := New(Config{UserAgent: "walker/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
		Agent:    "https://store.test",
		OwnHosts: []string{"store.test:443", "Bücher.test."},
		OwnAddresses: []netip.Addr{netip.MustParseAddr("93.184.215.14"),
			netip.MustParseAddr("2606:2800:21f:cb07:6820:80da:af6b:8b2c")},
		Refuse: []netip.Prefix{netip.MustParsePrefix("9.9.9.0/24")}, Resolver: r, Dialer: d, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNothingReachesARefusedAddress(t *testing.T) {
	tr := newTrap(t)
	port, err := strconv.ParseUint(tr.port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	resolver := &names{answer: guardedNames}
	strict := guardedClient(t, tr, resolver, nil)
	// A private corpus that opens the trap's port but not its address.
	open := guardedClient(t, tr, resolver, &Allow{Ports: []uint16{uint16(port)}})
	// The dialer that the package makes itself, with its own control function.
	standard := guardedClient(t, nil, resolver, &Allow{Ports: []uint16{uint16(port)}})

	tried := map[string]bool{}
	try := func(c *Client, url, code string) {
		tried[url] = true
		x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: url},
			Rule{PlainHTTP: c != strict && strings.HasPrefix(url, "http://")})
		r, ok := errors.AsType[*Refusal](err)
		if !ok {
			t.Errorf("%q was not refused: %v, %+v", url, err, x.Error)
			return
		}
		if code != "" && r.Code != code {
			t.Errorf("%q: %v, want %s", url, r, code)
		}
		if x.Error.Stage != exchange.StageRefused || x.RemoteAddr != "" || x.Response.Status != 0 {
			t.Errorf("%q: recorded %+v", url, x)
		}
	}
	for _, row := range oddURLs {
		try(strict, strings.ReplaceAll(row.url, "%s/", tr.port+"/"), row.code)
	}
	for _, a := range inward {
		for _, s := range spellingsOf(a) {
			try(strict, "https://"+s+"/", "")
			for _, c := range []*Client{open, standard} {
				try(c, "https://"+s+":"+tr.port+"/", "")
				try(c, "http://"+s+":"+tr.port+"/", "")
			}
		}
	}
	if len(tried) < 300 {
		t.Errorf("%d spellings tried, want 300 at least", len(tried))
	}
	if tr.calls.Load() != 0 || tr.hits.Load() != 0 {
		t.Errorf("%d calls of the dialer's control function, %d hits on the trap, after %d spellings", tr.calls.Load(),
			tr.hits.Load(), len(tried))
	}
	t.Logf("%d spellings and addresses refused", len(tried))
}

func TestEverySpecialNetworkIsRefusedFromItsFirstAddressToItsLast(t *testing.T) {
	tr := newTrap(t)
	n := 0
	for _, rows := range [][]network{never4, never6, outside6} {
		for _, row := range rows {
			for _, a := range []netip.Addr{row.prefix.Addr(), last(row.prefix)} {
				c := guardedClient(t, tr, &names{answer: always(public, a.String())}, nil)
				x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: "https://door.com/"}, Rule{})
				if _, ok := errors.AsType[*Refusal](err); !ok {
					t.Errorf("%s (%s) was not refused: %+v", a, row.is, x.Error)
				}
				if a.Is4() {
					if special(netip.AddrFrom16(a.As16())) == "" {
						t.Errorf("%s mapped into IPv6 passes", a)
					}
				}
				n++
			}
		}
	}
	for _, a := range []string{"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
		"126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "2001:200::1", "2003::1", "2606:4700::1111", "3ffd::1",
		"3fff:1000::1", "2001:db9::1"} {
		if is := special(netip.MustParseAddr(a)); is != "" {
			t.Errorf("%s is called %s", a, is)
		}
	}
	if tr.calls.Load() != 0 || tr.hits.Load() != 0 {
		t.Errorf("%d dialled, %d hits", tr.calls.Load(), tr.hits.Load())
	}
}

func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestGoodSpellingsPass(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." +
		strings.Repeat("d", 57) + ".com"
	for raw, want := range map[string]string{
		"https://example.com": "https://example.com", "HTTPS://EXAMPLE.COM./": "https://example.com/",
		"https://example.com:443/a?b": "https://example.com/a?b", "https://example.com?": "https://example.com?",
		"https://bücher.de/": "https://xn--bcher-kva.de/", "https://xn--bcher-kva.de/": "https://xn--bcher-kva.de/",
		"https://faß.de/": "https://xn--fa-hia.de/", "https://例え。jp/": "https://xn--r8jz45g.jp/",
		"https://пример.рф/": "https://xn--e1afmkfd.xn--p1ai/", "https://8.8.4.4/": "https://8.8.4.4/",
		"https://[2606:4700:4700:0::1111]/": "https://[2606:4700:4700::1111]/",
		"https://my_shop.example.com/":      "https://my_shop.example.com/",
		"https://r3---sn.example.com/":      "https://r3---sn.example.com/", "https://a.md/": "https://a.md/",
		"https://a.com.br/": "https://a.com.br/", "https://a.zip/": "https://a.zip/", "https://" + long +
			"/": "https://" + long + "/", "https://1.example.com/": "https://1.example.com/",
		"https://example.com/a/../b%2f%C3%A9?x=http://127.0.0.1/": "" +
			"https://example.com/a/../b%2f%C3%A9?x=http://127.0.0.1/",
		"https://example.com/é?ü=\"<":     "https://example.com/%C3%A9?%C3%BC=%22%3C",
		"https://store.test.example.com/": "https://store.test.example.com/",
		"https://example.com/@store.test": "https://example.com/@store.test",
	} {
		tr := newTrap(t)
		c := guardedClient(t, tr, &names{answer: guardedNames}, nil)
		got, err := c.Parse(raw, Rule{})
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", raw, got, err, want)
			continue
		}
		if err := c.Check(t.Context(), raw, Rule{}); err != nil {
			t.Errorf("Check(%q) = %v", raw, err)
		}
		x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: raw}, Rule{})
		if err != nil || x.Error.Stage != exchange.StageConnect || tr.calls.Load() == 0 || tr.refused.Load() != 0 {
			t.Errorf("%q: %v, %+v, %d dialled", raw, err, x.Error, tr.calls.Load())
		}
	}
	if len(long) != 253 {
		t.Errorf("the long name has %d characters", len(long))
	}
	c := guardedClient(t, nil, nil, nil)
	if got, err := c.Parse("http://example.com:80/", Rule{PlainHTTP: true}); err != nil ||
		got != "http://example.com/" {
		t.Errorf("plain http: %q, %v", got, err)
	}
	for _, raw := range []string{"http://example.com:443/", "http://example.com:8080/", "http://127.0.0.1/",
		"http://store.test/"} {
		if _, err := c.Parse(raw, Rule{PlainHTTP: true}); err == nil {
			t.Errorf("%s passes", raw)
		}
	}
}

// TestDefaultDialerChecksAgain plants the fault that the first check is there for.
func TestDefaultDialerChecksAgain(t *testing.T) {
	tr := newTrap(t)
	c := guardedClient(t, nil, nil, nil)
	_, err := c.cfg.Dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", tr.port))
	if _, ok := errors.AsType[*Refusal](err); !ok || tr.hits.Load() != 0 {
		t.Errorf("dialling loopback: %v", err)
	}
}

// dnsServer answers each query for A with the next address of a list, over and over, and AAAA with
// nothing.
func dnsServer(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { pc.Close(); wg.Wait() })
	wg.Go(func() {
		buf := make([]byte, 1500)
		for i := 0; ; {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type,
					Class: q.Class},
					Body: &dnsmessage.AResource{A: netip.MustParseAddr(addresses[i%len(addresses)]).As4()}}}
				i++
			}
			out, err := m.Pack()
			if err != nil {
				continue
			}
			if _, err := pc.WriteTo(out, from); err != nil {
				return
			}
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func TestRebinding(t *testing.T) {
	tr := newTrap(t)
	c := guardedClient(t, tr, rooted{dnsServer(t, public, "127.0.0.1", "8.8.8.8", "169.254.169.254")}, nil)
	const times = 40
	dialled, refused := 0, 0
	for i := range times {
		x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: "https://rebinding.door.com/"}, Rule{})
		_, bad := errors.AsType[*Refusal](err)
		switch {
		case bad && x.RemoteAddr == "":
			refused++
		case err == nil && (x.RemoteAddr == public+":443" || x.RemoteAddr == "8.8.8.8:443"):
			dialled++
		default:
			t.Errorf("%d: %v, %+v", i, err, x)
		}
	}
	if dialled != times/2 || refused != times/2 || int(tr.calls.Load()) != dialled || tr.refused.Load() != 0 ||
		tr.hits.Load() != 0 {
		t.Errorf("%d dialled, %d refused, %d control calls of which %d with a refused address, %d hits", dialled,
			refused, tr.calls.Load(), tr.refused.Load(), tr.hits.Load())
	}
}

func TestPrivateCorpus(t *testing.T) {
	hit := false
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit = true }))
	defer s.Close()
	ap := netip.MustParseAddrPort(s.Listener.Addr().String())
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	allow := &Allow{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: []uint16{ap.Port()},
		Roots: roots}
	c := guardedClient(t, nil, &names{answer: always("127.0.0.1")}, allow)
	x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: "https://127.0.0.1:" + fmt.Sprint(ap.Port()) +
		"/"}, Rule{})
	if err != nil || x.Error.Stage != "" || !hit || !c.Private() {
		t.Errorf("%v, %+v, hit %v, private %v", err, x.Error, hit, c.Private())
	}
	if _, err := c.Parse("https://intranet/", Rule{}); err != nil {
		t.Errorf("a host of the company: %v", err)
	}
	for _, url := range []string{"https://10.0.0.1/", "https://127.0.0.1:22/", "https://store.test/",
		"https://93.184.215.14/"} {
		if _, err := c.Parse(url, Rule{}); err == nil {
			t.Errorf("%s passes", url)
		}
	}
	if guardedClient(t, nil, nil, nil).Private() {
		t.Error("a client that allows nothing more is private")
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{UserAgent: "a https://store.test", Key: attest.SpecimenKey(), Agent: "https://store.test"}
	for name, change := range map[string]func(*Config){
		"no user agent": func(c *Config) { c.UserAgent = "" }, "no contact": func(c *Config) { c.UserAgent = "walker" },
		"line break": func(c *Config) { c.UserAgent += "\r\nX: y" }, "no key": func(c *Config) { c.Key = nil },
		"no agent": func(c *Config) { c.Agent = "" }, "agent with path": func(c *Config) { c.Agent += "/x" },
		"agent with quote": func(c *Config) { c.Agent = `https://a"b` },
		"too many bytes":   func(c *Config) { c.MaxBytes = exchange.MaxBody + 1 },
		"own host":         func(c *Config) { c.OwnHosts = []string{"/"} },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func FuzzTarget(f *testing.F) {
	for _, row := range oddURLs {
		f.Add(row.url)
	}
	c, err := New(Config{UserAgent: "a https://store.test", Key: attest.SpecimenKey(), Agent: "https://store.test",
		OwnHosts: []string{"store.test"}, Random: io.MultiReader()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := c.Parse(raw, Rule{})
		if err != nil {
			return
		}
		again, err := c.Parse(got, Rule{})
		if err != nil || again != got {
			t.Errorf("%q reads as %q, which reads as %q, %v", raw, got, again, err)
		}
		u, err := http.NewRequest("GET", got, nil)
		if err != nil || u.URL.Scheme != "https" || u.URL.User != nil || u.URL.Port() != "" {
			t.Errorf("%q: %v", got, err)
		}
	})
}

// What is secret goes to the networks that were opened, and nowhere else.
func TestSecretsStayInside(t *testing.T) {
	token := http.Header{"X-Token": {"a"}}
	c := &Client{cfg: Config{Allow: &Allow{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Header: token}}}
	for remote, want := range map[string]bool{"10.1.2.3:443": true, "11.1.2.3:443": false, "[2001:db8::1]:443": false,
		"": false} {
		if got := c.secrets(remote); (got != nil) != want {
			t.Errorf("%q: %v", remote, got)
		}
	}
	if (&Client{}).secrets("10.1.2.3:443") != nil {
		t.Error("a client without allowances has secrets")
	}
}
