package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/cmd/devnet/npmtest"
)

// nginxCache is a shared cache in front of a store, as eager as nginx can be made: it keeps 200 and
// 402 for ten minutes wherever the store does not forbid it. Its server is the one of
// /running/proxy.
const nginxCache = `
daemon off; master_process off; worker_processes 1; pid %[1]s/nginx.pid; error_log stderr error;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  proxy_cache_path %[1]s/cache keys_zone=shop:1m;
  proxy_cache shop; proxy_cache_key $uri$is_args$args; proxy_cache_methods GET HEAD;
  proxy_cache_valid 200 402 10m; add_header X-Cache $upstream_cache_status always;
  %[2]s
}
`

// recipe is the nginx server of /running/proxy, without TLS, at an address and before a store.
func recipe(t *testing.T, addr, upstream string) string {
	t.Helper()
	page, err := os.ReadFile("../../content/pages/running/proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, server, _ := strings.Cut(string(page), "## Behind nginx\n\n```\n")
	server, _, ok := strings.Cut(server, "```")
	for was, is := range map[string]string{
		`listen 443 ssl;`: "listen " + addr + ";", `(?m)^ *ssl_.*$`: "", "proxy_buffering off;": "", // it would keep nothing
		`proxy_pass [^;]*`: "proxy_pass " + upstream,
	} {
		re := regexp.MustCompile(was)
		ok = ok && re.MatchString(server)
		server = re.ReplaceAllLiteralString(server, is)
	}
	if !ok {
		t.Fatalf("/running/proxy has no server for nginx that is known here: %s", server)
	}
	return server
}

// startNginx starts nginx and ends it with the test.
func startNginx(t *testing.T, upstream string) string {
	t.Helper()
	bin, err := exec.LookPath("nginx")
	if err != nil {
		if bin, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			npmtest.Unavailable(t, err)
		}
	}
	addr, dir := "127.0.0.1:"+laboratory.FreePort(t), t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxCache, dir, recipe(t, addr, upstream)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-p", dir, "-c", conf, "-e", "stderr")
	laboratory.Run(t, cmd, addr[len("127.0.0.1:"):])
	return "http://" + addr
}

func getVia(t *testing.T, method, url string) (status int, cache, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("X-Cache"), string(b), resp.Header
}

// TestSharedCacheNeverServesAPaidBody buys through a shared cache and then asks for the same
// address unpaid.
func TestSharedCacheNeverServesAPaidBody(t *testing.T) {
	s := openStall(t)
	front := startNginx(t, s.url)

	// The cache works: a published page is a hit the second time.
	getVia(t, "GET", front+"/llms.txt")
	if status, cache, _, _ := getVia(t, "GET", front+"/llms.txt"); status != 200 || cache != "HIT" {
		t.Fatalf("a published page through the cache: %d %s, want a hit", status, cache)
	}

	url := front + "/api/buy/hello"
	_, _, _, first := getVia(t, "GET", url)
	_, _, _, second := getVia(t, "GET", url)
	if a, b := first.Get("PAYMENT-REQUIRED"), second.Get("PAYMENT-REQUIRED"); a == "" || a == b {
		t.Error("two buyers were given one challenge")
	}
	if a, b := first.Get("WWW-Authenticate"), second.Get("WWW-Authenticate"); a == "" || a == b {
		t.Error("two buyers were given one challenge of MPP")
	}
	r := clients.Buy(t, clients.Options{Key: s.net.Buyers[0].Hex(), Network: "eip155:8453"}, url)[0]
	if r.Status != 200 || !r.Settled {
		t.Fatalf("buying through the cache: status %d, settled %v, error %q", r.Status, r.Settled, r.Error)
	}
	if r := clients.BuyMPP(t, clients.Options{Key: s.net.Buyers[1].Hex()}, url)[0]; r.Status != 200 || !r.Settled {
		t.Fatalf("buying by MPP through the cache: status %d, settled %v, error %q", r.Status, r.Settled, r.Error)
	}
	for _, method := range []string{"GET", "HEAD", "GET"} {
		status, cache, body, h := getVia(t, method, url)
		if status != 402 || cache == "HIT" || h.Get("PAYMENT-RESPONSE") != "" || h.Get("Payment-Receipt") != "" ||
			strings.Contains(body, "cert_") {
			t.Errorf("%s unpaid after a sale: %d, cache %s, %.200s", method, status, cache, body)
		}
	}
	// The answers that belong to one buyer are not kept either.
	for _, path := range []string{"/api/purchase-status/pur_aaaaaaaaaaaaaaaaaaaa", "/api/buy/nothing_of_the_kind"} {
		getVia(t, "GET", front+path)
		if _, cache, _, _ := getVia(t, "GET", front+path); cache == "HIT" {
			t.Errorf("%s was answered out of the cache", path)
		}
	}
}
