package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
)

// front is what answers at the store's address; nodes are asked as ever.
type front struct {
	base, key string
	status    int  // of a good; 0 is 402
	bare      bool // the 402 comes without its header
	gone      bool
}

func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), f.base+"/") {
		return http.DefaultTransport.RoundTrip(r)
	}
	if f.gone {
		return nil, errors.New("connection refused")
	}
	res := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"kid":"` + f.key + `"}`))}
	if strings.HasPrefix(r.URL.Path, "/api/buy/") {
		if res.StatusCode = 402; f.status != 0 {
			res.StatusCode = f.status
		}
		if !f.bare {
			res.Header.Set("Payment-Required", "e30=")
		}
	}
	return res, nil
}

// patient is a configured store with a doctor, and what stands before it.
type patient struct {
	*Doctor
	c     *shop.Config
	net   *chaintest.Net
	front *front
	dir   string
}

func newPatient(t *testing.T, n *chaintest.Net) *patient {
	t.Helper()
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	if _, err := shop.MakeKeys(keys, time.Now().UTC().Format(time.DateOnly)); err != nil {
		t.Fatal(err)
	}
	relayer := filepath.Join(keys, "relayer.key")
	if err := shop.WriteNew(relayer, []byte(n.Relayer.Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &shop.Config{BaseURL: "https://shop.example", Listen: "127.0.0.1:1", Ledger: "bolt:" +
		filepath.Join(dir, "ledger.bolt"),
		Networks: []shop.NetworkConfig{{ID: "eip155:8453", RPC: []string{n.Chain.RPCURL()}, PayTo: n.PayTo.Hex(),
			RelayerKey: relayer, GenesisHash: "any", CoinPrice: "1",
			PriceDate: time.Now().UTC().Format(time.DateOnly)}},
		Keys: shop.KeysConfig{Identity: shop.KeyFile(keys, "identity"), Ring: shop.RingFile(keys),
			Secret: shop.SecretFile(keys),
			Log:    shop.KeyFile(keys, "log"), Webhook: shop.KeyFile(keys, "webhook"), Git: shop.KeyFile(keys, "git")}}
	k, err := shop.IdentityKey(c)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{base: c.BaseURL, key: k.KID()}
	return &patient{c: c, net: n, front: f, dir: dir, Doctor: &Doctor{Config: c, Backups: dir, Now: time.Now,
		Client:    &http.Client{Transport: f},
		Lookup:    func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil },
		LookupTXT: txt(own)}}
}

// own is the record by which the store signs for its host, as the extension writes it.
const own = "v=1;controller=did:web:shop.example"

// txt answers for the records of the store's host alone.
func txt(records ...string) func(context.Context, string) ([]string, error) {
	return func(_ context.Context, name string) ([]string, error) {
		if name != "_controllers.shop.example" || len(records) == 0 {
			return nil, &net.DNSError{IsNotFound: true}
		}
		return records, nil
	}
}

// says is whether something of a check is of a state and holds these words.
func says(findings []Finding, check string, state State, words string) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Check == check && f.State == state && strings.Contains(f.Found+" → "+f.Do, words)
	})
}

// aspect is what the doctor finds of one thing that it looks at.
func (p *patient) aspect(t *testing.T, check string) []Finding {
	t.Helper()
	whole := aspects
	defer func() { aspects = whole }()
	aspects = slices.DeleteFunc(slices.Clone(whole), func(a aspect) bool { return !strings.HasPrefix(check, a.name) })
	if len(aspects) != 1 {
		t.Fatalf("%s is of %d aspects", check, len(aspects))
	}
	return p.Examine(t.Context())
}

// The doctor names what is wrong, what mends it, and no secret.
func TestDoctorNamesWhatIsWrong(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}})
	const base = "network eip155:8453"
	for _, c := range []struct {
		what  string
		harm  func(*testing.T, *patient)
		check string
		state State
		words string
	}{
		{"nothing", func(*testing.T, *patient) {}, base, Fine, "pays to"},
		{"nothing", func(*testing.T, *patient) {}, "address", Fine, "this store answers there"},
		{"nothing", func(*testing.T, *patient) {}, "address of goods", Fine, "a 402 comes with its terms"},
		{"nothing", func(*testing.T, *patient) {}, "clock", Fine, "nodes"},
		{"nothing", func(*testing.T, *patient) {}, "ledger", Warning, "is not there yet"},
		{"nothing", func(*testing.T, *patient) {}, "texts of your own", Fault, "specimen"},
		{"a key for all to read", func(t *testing.T, p *patient) { chmod(t, p.c.Keys.Identity, 0o644) },
			"keys identity", Fault, "0600"},
		{"a key of another", func(t *testing.T, p *patient) { p.c.Keys.Log = p.c.Keys.Webhook }, "keys log", Fault,
			"is not the log key in force"},
		{"no log key", func(_ *testing.T, p *patient) { p.c.Keys.Log = "" }, "keys log", Warning, "keys.log"},
		{"a folder for all to write", func(t *testing.T, p *patient) { chmod(t, filepath.Join(p.dir, "keys"), 0o777) },
			"keys folder", Fault, "chmod 700"},
		{"the specimen's webhook key", func(_ *testing.T, p *patient) { p.c.Keys.Webhook = shop.Specimen }, "keys",
			Fault,
			"keys.webhook is the specimen key"},
		{"the example's address",
			func(_ *testing.T, p *patient) { p.c.Networks[0].PayTo = shop.ExampleAddress("eip155") },
			"keys", Fault, "of which nobody has the key"},
		{"another's debug listener", func(t *testing.T, p *patient) {
			other := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(other.Close)
			p.c.DebugListen = strings.TrimPrefix(other.URL, "http://")
		}, "process", Fault, "another process answers"},
		{"no secret yet", func(t *testing.T, p *patient) {
			if err := os.Remove(p.c.Keys.Secret); err != nil {
				t.Fatal(err)
			}
		}, "secrets keys.secret", Fault, "no such file"},
		{"a file of nodes to be written", func(_ *testing.T, p *patient) {
			p.c.Networks[0].RPC, p.c.Networks[0].RPCFile = nil, filepath.Join(p.dir, "base.rpc")
		}, base, Fault, "a line each"},
		{"a short secret", func(t *testing.T, p *patient) {
			if err := os.WriteFile(p.c.Keys.Secret, make([]byte, 31), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "secrets keys.secret", Fault, "31 bytes"},
		{"a payout key that is lost", func(_ *testing.T, p *patient) { p.c.Payouts.Key = filepath.Join(p.dir, "none") },
			"secrets payouts.key", Fault, "no such file"},
		{"no network", func(_ *testing.T, p *patient) { p.c.Networks = nil }, "network", Fault, "[[network]]"},
		{"a node of another network", func(_ *testing.T, p *patient) { p.c.Networks[0].ID = "eip155:137" },
			"network eip155:137", Fault, "the node is on chain 8453"},
		{"a node that is away", func(_ *testing.T, p *patient) {
			p.c.Networks[0].RPC = []string{"http://127.0.0.1:1/mysecretkey"}
		}, base, Fault, "rpc"},
		{"vouchers", func(t *testing.T, p *patient) {
			p.c.Vouchers.Key = filepath.Join(p.dir, "vouchers.key")
			if err := os.WriteFile(p.c.Vouchers.Key, []byte(chaintest.NewKey(t).Hex()), 0o600); err != nil {
				t.Fatal(err)
			}
		}, base, Fine, "takes vouchers, claimed by 0x"},
		{"a voucher key that is lost", func(_ *testing.T, p *patient) {
			p.c.Vouchers.Key = filepath.Join(p.dir, "none")
		}, base, Fault, "vouchers.key"},
		{"one node", func(*testing.T, *patient) {}, base, Warning, "second one"},
		{"no gas", func(t *testing.T, p *patient) {
			if err := os.WriteFile(p.c.Networks[0].RelayerKey, []byte(chaintest.NewKey(t).Hex()), 0o600); err != nil {
				t.Fatal(err)
			}
		}, base, Fault, "send coins to 0x"},
		{"no price", func(_ *testing.T, p *patient) {
			p.c.Networks[0].CoinPrice, p.c.Networks[0].PriceDate = "", ""
		}, base, Warning, "coin_price"},
		{"an old price", func(_ *testing.T, p *patient) { p.c.Networks[0].PriceDate = "2026-01-02" }, base, Warning,
			"2026-01-02"},
		{"a clock that is wrong", func(_ *testing.T, p *patient) {
			p.Now = func() time.Time { return time.Now().Add(5 * time.Minute) }
		}, "clock", Fault, "NTP"},
		{"a network that stands", func(_ *testing.T, p *patient) {
			p.Now = func() time.Time { return time.Now().Add(5 * time.Minute) }
		}, base, Fault, "newest block"},
		{"a name without an address", func(_ *testing.T, p *patient) {
			p.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
		}, "address", Fault, "A and AAAA"},
		{"nobody there", func(_ *testing.T, p *patient) { p.front.gone = true }, "address", Fault, "start store serve"},
		{"another store there", func(_ *testing.T, p *patient) { p.front.key = attest.SpecimenKey().KID() }, "address",
			Fault, "another key"},
		{"nothing is sold", func(_ *testing.T, p *patient) { p.front.status = 503 }, "address of goods", Fault,
			"answers 503"},
		{"a proxy that drops headers", func(_ *testing.T, p *patient) { p.front.bare = true }, "address of goods",
			Fault, "16 KiB"},
		{"goods that all ask for inputs", func(_ *testing.T, p *patient) {
			p.c.Content, p.c.Stock = "../../../generator/starter/content", "../../../generator/starter/stock"
		}, "address of goods", Fine, "a 402 comes"},
		{"nothing", func(*testing.T, *patient) {}, "controllers", Fine,
			`_controllers.shop.example. TXT "` + own + `"`},
		{"no record", func(_ *testing.T, p *patient) { p.LookupTXT = txt() }, "controllers", Warning,
			`add to the zone of the host, and have DNSSEC sign it: _controllers.shop.example. TXT "` + own + `"`},
		{"a name server that is away", func(_ *testing.T, p *patient) {
			p.LookupTXT = func(context.Context, string) ([]string, error) { return nil, errors.New("refused") }
		}, "controllers", Warning, "cannot be looked up"},
		{"a record of another form", func(_ *testing.T, p *patient) {
			p.LookupTXT = txt(strings.Replace(own, "1", "2", 1), strings.TrimPrefix(own, "v=1;"), "v=1;controller=x")
		}, "controllers", Warning, "names a controller"},
		{"a record of others", func(_ *testing.T, p *patient) {
			p.LookupTXT = txt("v=1;controller=did:web:thief.example")
		}, "controllers", Fault, "did:web:thief.example"},
		{"a controller beside", func(_ *testing.T, p *patient) {
			p.LookupTXT = txt("v=1; controller=did:web:shop.example ;controller=did:pkh:eip155:1:0x\x1b[2J")
		}, "controllers", Warning, "also lets others sign"},
		{"records beside", func(_ *testing.T, p *patient) { p.LookupTXT = txt("v=1;controller=did:jwk:e30", own) },
			"controllers", Warning, "did:jwk:e30"},
		{"more records than are looked at", func(_ *testing.T, p *patient) {
			p.LookupTXT = txt(append(slices.Repeat([]string{"spam"}, maxControllers), own)...)
		}, "controllers", Warning, "names a controller"},
		{"a store on this machine", func(_ *testing.T, p *patient) { p.c.BaseURL = "http://127.0.0.1:4020" },
			"controllers", Fine, "none is needed"},
		{"a proxy nobody named", func(*testing.T, *patient) {}, "proxy", Warning, "trusted_proxies"},
		{"no backup", func(*testing.T, *patient) {}, "backup", Warning, "none in"},
		{"an old backup", func(t *testing.T, p *patient) {
			file := filepath.Join(p.dir, "backup-20261101T023000Z")
			old := time.Now().Add(-72 * time.Hour)
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, old, old)); err != nil {
				t.Fatal(err)
			}
		}, "backup", Warning, "3 days old"},
		{"a backup of today", func(t *testing.T, p *patient) {
			if err := os.WriteFile(filepath.Join(p.dir, "backup-20261101T023000Z"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "backup", Fine, "newest"},
		{"both on a disk", func(_ *testing.T, p *patient) { p.c.HighWater = filepath.Join(p.dir, "high.jws") },
			"high-water file", Warning, "another disk"},
	} {
		t.Run(c.what, func(t *testing.T) {
			n.MustSeal()
			p := newPatient(t, n)
			c.harm(t, p)
			found := p.aspect(t, c.check)
			if !says(found, c.check, c.state, c.words) {
				t.Errorf("nothing of %s is a %s with %q in %+v", c.check, c.state, c.words, found)
			}
			for _, f := range found {
				if strings.Contains(f.Found+f.Do, "mysecretkey") || strings.ContainsRune(f.Found, '\x1b') {
					t.Errorf("tells the address of a node, or writes to a terminal: %+v", f)
				}
				if (f.State == Fine) != (f.Do == "") {
					t.Errorf("says nothing to do, or too much: %+v", f)
				}
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// All that is looked at is in the report.
func TestDoctorLooksAtEverything(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}})
	found := newPatient(t, n).Examine(t.Context())
	for _, a := range aspects {
		if !slices.ContainsFunc(found, func(f Finding) bool { return strings.HasPrefix(f.Check, a.name) }) {
			t.Errorf("nothing is said of %s", a.name)
		}
	}
}

// The doctor tells of an own certificate's end while there is time to put another in its place.
func TestDoctorSeesACertificateEnd(t *testing.T) {
	p := newPatient(t, chaintest.New(t, chaintest.Options{Networks: []uint64{8453}}))
	if found := p.aspect(t, "certificate"); len(found) != 1 || found[0].State != Fine {
		t.Errorf("without one: %+v", found)
	}
	keys := t.TempDir()
	file, err := shop.MakeCertificate(keys, "shop.example")
	if err != nil {
		t.Fatal(err)
	}
	p.c.TLS = shop.TLSConfig{Certificate: file, Key: filepath.Join(keys, "tls.key")}
	made := time.Now()
	for _, c := range []struct {
		days  int
		state State
		words string
	}{{0, Fine, "it ends on "}, {334, Fine, "it ends on "}, {336, Warning, "send the store SIGHUP"},
		{364, Warning, "in 0 days"}, {366, Fault, "it ended on "}} {
		p.Now = func() time.Time { return made.Add(time.Duration(c.days)*24*time.Hour + time.Hour) }
		if found := p.aspect(t, "certificate"); len(found) != 1 || !says(found, "certificate", c.state, c.words) {
			t.Errorf("after %d days: %+v", c.days, found)
		}
	}
	p.c.TLS.Key = file
	if found := p.aspect(t, "certificate"); !says(found, "certificate", Fault, "tls.key") {
		t.Errorf("with the certificate for a key: %+v", found)
	}
}
