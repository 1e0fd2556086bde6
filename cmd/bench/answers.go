package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/cmd/shop"
)

// bareServer is the first argument with which this program is the peer of the challenge.
const bareServer = "serve-bare"

// recorded is an answer as it was received.
type recorded struct {
	Status int
	Header http.Header
	Body   []byte
	length int // of the whole answer, as it went over the wire
}

// recordAnswer asks once, as the loader does.
func recordAnswer(url, accept string) (*recorded, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", req.URL.Host, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n\r\n", req.URL.RequestURI(),
		req.URL.Host, accept); err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &wire)), req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := &recorded{Status: resp.StatusCode, Header: resp.Header}
	if r.Body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	r.length = wire.Len()
	return r, nil
}

// serveBare answers every request with a recorded answer: the least that net/http can do for these
// bytes.
func serveBare(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes a file and an address", bareServer)
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var r recorded
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	r.Header.Del("Date") // net/http writes it
	return http.ListenAndServe(args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		maps.Copy(h, r.Header)
		w.WriteHeader(r.Status)
		_, _ = w.Write(r.Body) // a client that left is nobody's loss
	}))
}

// openStore starts the local chains and a store on them, on a core of its own, and returns its
// configuration and its process.
func (l *lab) openStore(ctx context.Context) (*shop.Config, *process, error) {
	store, err := l.program(ctx, "store")
	if err != nil {
		return nil, nil, err
	}
	devnet, err := l.program(ctx, "devnet")
	if err != nil {
		return nil, nil, err
	}
	dir, err := l.folder("devnet")
	if err != nil {
		return nil, nil, err
	}
	listen, err := free()
	if err != nil {
		return nil, nil, err
	}
	config, ready := filepath.Join(dir, "store.toml"), filepath.Join(dir, "ready.json")
	chains, err := l.start(ctx, loaderCore, dir, devnet, "-chain-only", "-listen", listen, "-rpc", "127.0.0.1:0",
		"-state", filepath.Join(dir, "state"), "-write-config", config, "-ready", ready)
	if err != nil {
		return nil, nil, err
	}
	if err := chains.until(ctx, func() bool { _, err := os.Stat(ready); return err == nil }); err != nil {
		return nil, nil, err
	}
	cfg, err := shop.Load(config)
	if err != nil {
		return nil, nil, err
	}
	for i := range cfg.Networks {
		cfg.Networks[i].Poll = 0 // as often as on the real network
	}
	if cfg.DebugListen, err = free(); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(config, []byte(shop.Annotated(*cfg)), 0o600); err != nil {
		return nil, nil, err
	}
	p, err := l.start(ctx, serverCore, dir, store, "serve", "-config", config)
	if err != nil {
		return nil, nil, err
	}
	return cfg, p, p.until(ctx, answers(cfg.BaseURL+"/api/buy/hello", http.StatusPaymentRequired))
}

// openChallenge sets the unpaid purchase endpoint against a handler that repeats one of its
// answers.
func openChallenge(ctx context.Context, l *lab) (*contest, error) {
	return l.againstBare(ctx, "/api/buy/hello", http.StatusPaymentRequired)
}

// openPorch, openSign and openGuestbook do the same with the free shelves: what changes with the
// hour, a wallet's sign, and a page of fifty entries out of the ledger.
func openPorch(ctx context.Context, l *lab) (*contest, error) {
	return l.againstBare(ctx, "/porch", http.StatusOK)
}

func openSign(ctx context.Context, l *lab) (*contest, error) {
	return l.againstBare(ctx, "/zodiac/0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", http.StatusOK)
}

func openGuestbook(ctx context.Context, l *lab) (*contest, error) {
	return l.againstBare(ctx, "/api/guestbook", http.StatusOK)
}

// againstBare sets a path of a store against a handler that repeats one of its answers. Whoever
// reads the guestbook finds it full.
func (l *lab) againstBare(ctx context.Context, path string, status int) (*contest, error) {
	cfg, _, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	if err := signGuestbook(cfg.BaseURL, 60); err != nil {
		return nil, err
	}
	url := cfg.BaseURL + path
	r, err := recordAnswer(url, "*/*")
	if err != nil {
		return nil, err
	}
	if r.Status != status {
		return nil, fmt.Errorf("GET %s: status %d, want %d", url, r.Status, status)
	}
	dir, err := l.folder("bare")
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "answer.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	listen, err := free()
	if err != nil {
		return nil, err
	}
	bare := "http://" + listen + path
	p, err := l.start(ctx, serverCore, dir, self, bareServer, file, listen)
	if err != nil {
		return nil, err
	}
	if err := p.until(ctx, answers(bare, status)); err != nil {
		return nil, err
	}
	again, err := recordAnswer(bare, "*/*")
	if err != nil {
		return nil, err
	}
	if again.length != r.length {
		return nil, fmt.Errorf("the bare handler answers %d bytes, the store %d", again.length, r.length)
	}
	return &contest{
		ours: func(ctx context.Context) (float64, error) { return l.wrk(ctx, url, "*/*", status) },
		peer: func(ctx context.Context) (float64, error) { return l.wrk(ctx, bare, "*/*", status) },
	}, nil
}

// signGuestbook leaves entries, each by a visitor of its own.
func signGuestbook(base string, entries int) error {
	for i := range entries {
		req, err := http.NewRequest(http.MethodPost, base+"/api/guestbook",
			strings.NewReader(`{"name": "Ada", "message": "`+strings.Repeat("Came by. ", 20)+`"}`))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", fmt.Sprint("visitor ", i))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			return fmt.Errorf("signing the guestbook: status %d", resp.StatusCode)
		}
	}
	return nil
}

// openStatic sets a page of the published tree against nginx with the same file.
func openStatic(ctx context.Context, l *lab) (*contest, error) {
	cfg, _, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	url := cfg.BaseURL + "/what"
	const accept = "text/html"
	r, err := recordAnswer(url, accept)
	if err != nil {
		return nil, err
	}
	if r.Status != http.StatusOK || r.Header.Get("Content-Encoding") != "" {
		return nil, fmt.Errorf("GET %s: status %d, encoding %q", url, r.Status, r.Header.Get("Content-Encoding"))
	}
	// nginx answers with our fields, and with as many bytes more as its own are shorter.
	peer, err := l.nginx(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	first, err := recordAnswer(peer, accept)
	if err != nil {
		return nil, err
	}
	if missing := r.length - first.length; missing != 0 {
		if peer, err = l.nginx(ctx, r, missing); err != nil {
			return nil, err
		}
	}
	second, err := recordAnswer(peer, accept)
	if err != nil {
		return nil, err
	}
	if second.length != r.length || !bytes.Equal(second.Body, r.Body) {
		return nil, fmt.Errorf("nginx answers %d bytes, the store %d", second.length, r.length)
	}
	return &contest{
		ours: func(ctx context.Context) (float64, error) { return l.wrk(ctx, url, accept, http.StatusOK) },
		peer: func(ctx context.Context) (float64, error) { return l.wrk(ctx, peer, accept, http.StatusOK) },
	}, nil
}

// nginxConfig is one worker that serves one folder as nginx is advised to.
const nginxConfig = `
daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log stderr error;
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 120; keepalive_requests 1000000000;
  server_tokens off; etag off; max_ranges 0; gzip off; types {} default_type %q;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server { listen %s; root files;
%s  }
}
`

// nginx serves a recorded page with its header fields and some bytes of padding, and returns the
// page's URL. A field that is shorter by padding than ours is not written at all, so padding may be
// negative down to a point.
func (l *lab) nginx(ctx context.Context, r *recorded, padding int) (string, error) {
	dir, err := l.folder("nginx")
	if err != nil {
		return "", err
	}
	listen, err := free()
	if err != nil {
		return "", err
	}
	var fields strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch name {
		case "Date", "Content-Length", "Content-Type", "Accept-Ranges":
			continue // nginx writes these itself
		}
		for _, v := range r.Header[name] {
			if name == "Vary" || name == "Access-Control-Expose-Headers" && padding < 0 {
				n := max(0, len(v)+min(padding, 0))
				padding += len(v) - n
				v = v[:n]
			}
			fmt.Fprintf(&fields, "    add_header %s %s;\n", name, strconv.Quote(v))
		}
	}
	fields.WriteString("    add_header Last-Modified \"\";\n")
	if name := "X-Pad: \r\n"; padding > len(name) {
		fmt.Fprintf(&fields, "    add_header X-Pad %q;\n", strings.Repeat("x", padding-len(name)))
	}
	conf := fmt.Sprintf(nginxConfig, r.Header.Get("Content-Type"), listen, fields.String())
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "files", "page"), r.Body, 0o644); err != nil {
		return "", err
	}
	p, err := l.start(ctx, serverCore, dir, "nginx", "-p", dir, "-c", "nginx.conf")
	if err != nil {
		return "", err
	}
	url := "http://" + listen + "/page"
	return url, p.until(ctx, answers(url, http.StatusOK))
}

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkTotal  = regexp.MustCompile(`(?m)^\s*(\d+) requests in`)
	wrkOther  = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkErrors = regexp.MustCompile(`Socket errors:.*`)
)

// wrk loads a URL with 32 connections from the loader's core. Every answer must have the given
// status, which it knows as one that is 2xx or 3xx, or not.
func (l *lab) wrk(ctx context.Context, url, accept string, status int) (float64, error) {
	out, err := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(loaderCore), "wrk", "-t1", "-c32",
		"-d"+strconv.Itoa(l.seconds)+"s", "-H", "Accept: "+accept, url).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	rate, total := wrkRate.FindSubmatch(out), wrkTotal.FindSubmatch(out)
	if rate == nil || total == nil {
		return 0, fmt.Errorf("wrk says:\n%s", out)
	}
	if e := wrkErrors.Find(out); e != nil {
		return 0, fmt.Errorf("wrk: %s", e)
	}
	other := []byte("0")
	if m := wrkOther.FindSubmatch(out); m != nil {
		other = m[1]
	}
	want := []byte("0")
	if status >= 400 {
		want = total[1]
	}
	if !bytes.Equal(other, want) {
		return 0, fmt.Errorf("wrk: %s of %s answers were neither 2xx nor 3xx, want %s", other, total[1], want)
	}
	return strconv.ParseFloat(string(rate[1]), 64)
}
