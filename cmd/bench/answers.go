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

// recordAnswer asks once, as the loader does, with further lines of the head.
func recordAnswer(url string, lines ...string) (*recorded, error) {
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
	head := append([]string{"GET " + req.URL.RequestURI() + " HTTP/1.1", "Host: " + req.URL.Host}, lines...)
	if _, err := io.WriteString(conn, strings.Join(head, "\r\n")+"\r\n\r\n"); err != nil {
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
// address.
func (l *lab) openStore(ctx context.Context) (string, error) {
	store, err := l.program(ctx, "store")
	if err != nil {
		return "", err
	}
	devnet, err := l.program(ctx, "devnet")
	if err != nil {
		return "", err
	}
	dir, err := l.folder("devnet")
	if err != nil {
		return "", err
	}
	listen, err := free()
	if err != nil {
		return "", err
	}
	config, ready := filepath.Join(dir, "store.toml"), filepath.Join(dir, "ready.json")
	chains, err := l.start(ctx, loaderCore, dir, devnet, "-chain-only", "-listen", listen, "-rpc", "127.0.0.1:0",
		"-state", filepath.Join(dir, "state"), "-write-config", config, "-ready", ready)
	if err != nil {
		return "", err
	}
	if err := chains.until(ctx, func() bool { _, err := os.Stat(ready); return err == nil }); err != nil {
		return "", err
	}
	cfg, err := shop.Load(config)
	if err != nil {
		return "", err
	}
	for i := range cfg.Networks {
		cfg.Networks[i].Poll = 0 // as often as on the real network
	}
	if cfg.DebugListen, err = free(); err != nil {
		return "", err
	}
	if err := os.WriteFile(config, []byte(shop.Annotated(*cfg)), 0o600); err != nil {
		return "", err
	}
	p, err := l.start(ctx, serverCore, dir, store, "serve", "-config", config)
	if err != nil {
		return "", err
	}
	return cfg.BaseURL, p.until(ctx, answers(cfg.BaseURL+good, http.StatusPaymentRequired))
}

// good is what the challenge is asked for.
const good = "/api/buy/hello"

// openChallenge sets the unpaid purchase endpoint against a handler that repeats one of its
// answers.
func openChallenge(ctx context.Context, l *lab) (*contest, error) {
	base, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	r, err := recordAnswer(base + good)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("bare")
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
	bare := "http://" + listen + good
	p, err := l.start(ctx, serverCore, dir, self, bareServer, file, listen)
	if err != nil {
		return nil, err
	}
	if err := p.until(ctx, answers(bare, r.Status)); err != nil {
		return nil, err
	}
	again, err := recordAnswer(bare)
	if err != nil {
		return nil, err
	}
	if again.length != r.length {
		return nil, fmt.Errorf("the bare handler answers %d bytes, the store %d", again.length, r.length)
	}
	return l.loaded(base+good, bare, http.StatusPaymentRequired), nil
}

// openChallengeStock sets it against the stock seller's.
func openChallengeStock(ctx context.Context, l *lab) (*contest, error) {
	base, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	rpcURL, _, err := l.anvil(ctx, s.people)
	if err != nil {
		return nil, err
	}
	stock, _, err := s.openStock(ctx, rpcURL)
	return l.loaded(base+good, stock, http.StatusPaymentRequired), err
}

// openStatic sets a page of the published tree against Caddy with the same file, both as gzip.
func openStatic(ctx context.Context, l *lab) (*contest, error) {
	base, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	lines := []string{"Accept: text/html", "Accept-Encoding: gzip"}
	r, err := recordAnswer(base+"/what", lines...)
	if err != nil {
		return nil, err
	}
	if r.Status != http.StatusOK || r.Header.Get("Content-Encoding") != "gzip" {
		return nil, fmt.Errorf("GET /what: status %d, encoding %q", r.Status, r.Header.Get("Content-Encoding"))
	}
	// Caddy answers with our fields, and with as many bytes more as its own are shorter.
	var url string
	for padding, tries := 0, 0; ; tries++ {
		if url, err = l.caddy(ctx, r, padding); err != nil {
			return nil, err
		}
		theirs, err := recordAnswer(url, lines...)
		if err != nil {
			return nil, err
		}
		if theirs.length == r.length && bytes.Equal(theirs.Body, r.Body) {
			return l.loaded(base+"/what", url, http.StatusOK, lines...), nil
		}
		if padding = r.length - theirs.length; tries == 1 {
			return nil, fmt.Errorf("caddy answers %d bytes, the store %d", theirs.length, r.length)
		}
	}
}

// caddyConfig is one site with the files of a folder, up to the fields that are set.
const caddyConfig = `{
  admin off
  auto_https off
}
http://%s {
  root * .
  file_server {
    precompressed gzip
  }
  header {
    defer
    -Server
    -Last-Modified
`

// caddy serves a recorded page with its header fields and some bytes of padding, and returns the
// page's URL. Where padding is less than zero, our longest list is shorter by it.
func (l *lab) caddy(ctx context.Context, r *recorded, padding int) (string, error) {
	dir, err := l.folder("caddy")
	if err != nil {
		return "", err
	}
	listen, err := free()
	if err != nil {
		return "", err
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, caddyConfig, listen)
	for name, values := range r.Header {
		switch name {
		case "Date", "Content-Length", "Content-Type", "Content-Encoding", "Accept-Ranges":
			continue // Caddy writes these itself
		}
		v := strings.Join(values, ", ")
		if name == "Access-Control-Expose-Headers" && padding < 0 {
			v = strings.Repeat("x", max(1, len(v)+padding))
		}
		fmt.Fprintf(&conf, " %s `%s`\n", name, v)
	}
	if name := "X-Pad: \r\n"; padding > len(name) {
		fmt.Fprintf(&conf, " X-Pad %s\n", strings.Repeat("x", padding-len(name)))
	}
	conf.WriteString(" }\n}\n")
	for name, data := range map[string][]byte{"Caddyfile": []byte(conf.String()), "page.html": nil,
		"page.html.gz": r.Body} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return "", err
		}
	}
	p, err := l.start(ctx, serverCore, dir, "caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile")
	if err != nil {
		return "", err
	}
	url := "http://" + listen + "/page.html"
	return url, p.until(ctx, answers(url, http.StatusOK))
}

// loaded is a contest of two addresses that are asked for the same.
func (l *lab) loaded(ours, peer string, status int, lines ...string) *contest {
	of := func(url string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) { return l.wrk(ctx, url, status, lines...) }
	}
	return &contest{ours: of(ours), peer: of(peer)}
}

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkTotal  = regexp.MustCompile(`(?m)^\s*(\d+) requests in`)
	wrkOther  = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkErrors = regexp.MustCompile(`Socket errors:.*`)
)

// wrk loads a URL with 32 connections from the loader's core. Every answer must have the given
// status, which it knows as one that is 2xx or 3xx, or not.
func (l *lab) wrk(ctx context.Context, url string, status int, lines ...string) (float64, error) {
	args := []string{"-c", strconv.Itoa(loaderCore), "wrk", "-t1", "-c32", "-d" + strconv.Itoa(l.seconds) + "s"}
	for _, line := range lines {
		args = append(args, "-H", line)
	}
	out, err := exec.CommandContext(ctx, "taskset", append(args, url)...).CombinedOutput()
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
