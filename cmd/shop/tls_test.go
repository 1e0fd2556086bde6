package shop

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/cmd/devnet/npmtest"
)

// pebble is the CA of Let's Encrypt for tests: it asks for challenges where a host's name leads, at
// ports of our own.
type pebble struct {
	directory, roots string         // its address, and the file of who vouches for it
	issues           *x509.CertPool // who vouches for its certificates
	stop             func()
}

// startPebble builds and starts a CA that looks for challenges at two ports.
func startPebble(t *testing.T, httpPort, tlsPort int) pebble {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "pebble")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile="+filepath.Join(".tools", "pebble.mod"), "-o",
		bin, "github.com/letsencrypt/pebble/v2/cmd/pebble")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("building pebble: %w: %s", err, out))
	}
	p := pebble{roots: filepath.Join(dir, "ca.pem"), issues: x509.NewCertPool()}
	host := laboratory.FreeHost(t)
	key := selfSigned(t, host, p.roots)
	listen, manage := host+":14000", host+":15000"
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{"listenAddress": listen,
		"managementListenAddress": manage, "certificate": p.roots, "privateKey": key, "httpPort": httpPort,
		"tlsPort": tlsPort, "profiles": map[string]any{"default": map[string]any{"description": "for a while",
			"validityPeriod": 7776000}}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	p.directory, p.stop, err = daemon.Open("ACME directory available at: ", "/usr/bin/env", "PEBBLE_VA_NOSLEEP=1",
		"PEBBLE_WFE_NONCEREJECT=0", bin, "-config", file)
	if err != nil {
		t.Fatal(err)
	}
	p.stop = sync.OnceFunc(p.stop)
	t.Cleanup(p.stop)
	trust, err := roots(p.roots)
	if err != nil {
		t.Fatal(err)
	}
	var root string
	until(t, "its root", func() bool { // it says where it listens before it does
		status, text, err := page(trust, "https://"+manage+"/roots/0")
		root = text
		return err == nil && status == http.StatusOK
	})
	if !p.issues.AppendCertsFromPEM([]byte(root)) {
		t.Fatalf("its root is %q", root)
	}
	return p
}

// selfSigned writes a certificate for a host, and returns the file of its key.
func selfSigned(t *testing.T, host, file string) (key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.ParseIP(host)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key = file + ".key"
	for name, block := range map[string]*pem.Block{file: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

// page asks once, over a connection of its own.
func page(trust *x509.CertPool, url string) (status int, text string, err error) {
	resp, err := fresh(trust).Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// fresh is a client without connections that follows no redirect.
func fresh(trust *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: trust}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// secured serves a shop that speaks TLS until stop is called, and returns what it logs.
func secured(t *testing.T, ln, plain net.Listener, c TLSConfig) (log *quiet, stop func()) {
	t.Helper()
	dir := t.TempDir()
	if _, err := MakeKeys(dir, time.Now().UTC().Format(time.DateOnly)); err != nil {
		t.Fatal(err)
	}
	relayer := filepath.Join(dir, "relayer.key")
	if err := WriteNew(relayer, []byte(strings.Repeat("11", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	network := priced("eip155:8453", nobody, "any")
	network.PayTo, network.RelayerKey = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", relayer
	log = new(quiet)
	s, err := Open(t.Context(), &Config{BaseURL: "https://localhost:" + port(ln), TLS: c, Listen: ln.Addr().String(),
		Networks: []NetworkConfig{network},
		Ledger:   "bolt:" + filepath.Join(dir, "ledger.bolt"), Keys: KeysConfig{Identity: KeyFile(dir, "identity"),
			Ring: RingFile(dir), Secret: SecretFile(dir), Log: KeyFile(dir, "log")}},
		Options{Log: slog.New(slog.NewTextHandler(log, nil)), Level: new(slog.LevelVar)})
	if err != nil {
		t.Fatal(err)
	}
	if ln, err = s.Secure(ln, plain); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln, nil) }()
	return log, func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// until waits for what another program does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func port(ln net.Listener) string { return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port) }

func listen(t *testing.T) (ln net.Listener, port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln, ln.Addr().(*net.TCPAddr).Port
}

// TestLongTheStoreSpeaksTLS: a certificate is had from a CA by a challenge of either kind, HTTP/2
// is spoken, plain HTTP is sent on, keys are for the owner alone, and the next start needs no CA.
func TestLongTheStoreSpeaksTLS(t *testing.T) {
	t.Parallel()
	for _, redirected := range []bool{true, false} {
		t.Run(fmt.Sprintf("redirected %v", redirected), func(t *testing.T) {
			t.Parallel()
			ln, tlsPort := listen(t)
			plain, httpPort := listen(t)
			challenged, unused := plain, tlsPort
			if !redirected {
				plain.Close()
				challenged = nil
			} else {
				unused = 1 // so that the challenge of TLS fails, and the one of HTTP is taken
			}
			ca := startPebble(t, httpPort, unused)
			c := TLSConfig{Storage: filepath.Join(t.TempDir(), "tls"), CA: ca.directory, Roots: ca.roots,
				Email: "keeper@store.example"}
			log, stop := secured(t, ln, challenged, c)
			defer func() {
				if t.Failed() {
					t.Log(log)
				}
			}()
			at := "https://localhost:" + port(ln)
			until(t, "a certificate", func() bool {
				_, _, err := page(ca.issues, at+"/healthz")
				return err == nil || t.Context().Err() != nil
			})
			resp, err := fresh(ca.issues).Get(at + "/api/goods")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if leaf := resp.TLS.PeerCertificates[0]; resp.ProtoMajor != 2 || resp.TLS.Version < tls.VersionTLS12 ||
				leaf.DNSNames[0] != "localhost" {
				t.Errorf("spoken is %s over %x, by %v", resp.Proto, resp.TLS.Version, leaf.DNSNames)
			}
			if _, _, err := page(nil, at+"/"); err == nil {
				t.Error("a certificate of a CA that is not trusted is taken")
			}
			if redirected {
				resp, err := fresh(nil).Get("http://127.0.0.1:" + port(plain) + "/menu?week=1")
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if to := resp.Header.Get("Location"); resp.StatusCode != 308 || to != at+"/menu?week=1" {
					t.Errorf("plain HTTP is answered %d, to %q", resp.StatusCode, to)
				}
			}
			stop()
			if !strings.Contains(log.String(), "certificate had from the CA") {
				t.Errorf("the log does not tell of the certificate: %s", log)
			}
			closed(t, c.Storage)

			ca.stop()
			again, _ := listen(t)
			_, stop = secured(t, again, nil, c)
			defer stop()
			until(t, "the certificate that is kept", func() bool {
				_, _, err := page(ca.issues, "https://localhost:"+port(again)+"/healthz")
				return err == nil
			})
		})
	}
}

// closed: what is below a folder may be read by its owner alone.
func closed(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestRedirectsLeadHome: whatever is asked for on the plain port, and of whatever host, leads to
// the store's own address.
func TestRedirectsLeadHome(t *testing.T) {
	t.Parallel()
	h := toHTTPS("https://store.example")
	for target, want := range map[string]string{
		"/":                             "https://store.example/",
		"/menu?week=1&x=%0d%0aSet:y":    "https://store.example/menu?week=1&x=%0d%0aSet:y",
		"//evil.example/x":              "https://store.example//evil.example/x",
		"/%5cevil.example":              "https://store.example/%5cevil.example",
		"http://evil.example/corpus":    "https://store.example/corpus",
		"http://store.example@evil/a/b": "https://store.example/a/b",
		"*":                             "",
		"http://evil.example":           "",
		"x:.evil.example":               "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		var err error
		if r.URL, err = r.URL.Parse(target); err != nil {
			t.Fatal(err)
		}
		if target == "//evil.example/x" || target == "*" { // a server reads it as a path
			r.URL.Host, r.URL.Path = "", target
		}
		r.Host = "evil.example"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wantStatus := http.StatusPermanentRedirect
		if want == "" {
			wantStatus = http.StatusBadRequest
		}
		if got := w.Header().Get("Location"); got != want || w.Code != wantStatus {
			t.Errorf("%s: %d, to %q, want %q", target, w.Code, got, want)
		}
	}
}
