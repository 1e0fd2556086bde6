package dynamic

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"store.example/agentstore/templates"
)

// Conversations with the server are scripts in testdata/scripts. A request is written to the
// connection as it stands, so that odd paths and header fields arrive as they are:
//
//	GET /what 'Accept: text/markdown'
//	POST /api/claims body.json 'Content-Type: application/json'
//	status 402
//	header Cache-Control no-store
//	! header ETag
//	body 'costs 0\.5'
//	json type 'problems/sold_out$'
type conversation struct {
	addresses []string // that answer in turn
	asked     int
	res       *http.Response
	body      []byte
}

func request(method string, hasBody bool) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 1 || hasBody && len(args) < 2 {
			ts.Fatalf("usage: %s path [body file] ['Name: value'…]", method)
		}
		c := ts.Value("conversation").(*conversation)
		path, fields := args[0], args[1:]
		var sent string
		if hasBody {
			sent, fields = ts.ReadFile(args[1]), args[2:]
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: store.example\r\nConnection: close\r\n", method, path)
		for _, f := range fields {
			fmt.Fprintf(&b, "%s\r\n", f)
		}
		if hasBody {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(sent))
		}
		b.WriteString("\r\n" + sent)
		ts.Check(c.exchange(method, b.String()))
	}
}

func (c *conversation) exchange(method, raw string) error {
	conn, err := net.Dial("tcp", c.addresses[c.asked%len(c.addresses)])
	c.asked++
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		return err
	}
	c.res, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return err
	}
	if c.body, err = io.ReadAll(c.res.Body); err != nil {
		return err
	}
	size := templates.PageSize(c.body)
	if strings.HasPrefix(c.res.Header.Get("Content-Type"), "text/html") && size > templates.MostPage {
		return fmt.Errorf("a page of %d bytes with its style, more than %d", size, templates.MostPage)
	}
	return nil
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	match := func(ts *testscript.TestScript, neg bool, what, pattern string, found []byte) {
		re, err := regexp.Compile("(?s)" + pattern)
		ts.Check(err)
		if re.Match(found) == neg {
			ts.Fatalf("%s is %q", what, found)
		}
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		"GET":     request("GET", false),
		"HEAD":    request("HEAD", false),
		"OPTIONS": request("OPTIONS", false),
		"DELETE":  request("DELETE", false),
		"POST":    request("POST", true),
		"status": func(ts *testscript.TestScript, neg bool, args []string) {
			c := ts.Value("conversation").(*conversation)
			if got := fmt.Sprint(c.res.StatusCode); neg || len(args) != 1 || got != args[0] {
				ts.Fatalf("status %s, want %v\n%s", got, args, c.body)
			}
		},
		"header": func(ts *testscript.TestScript, neg bool, args []string) {
			c := ts.Value("conversation").(*conversation)
			values := c.res.Header.Values(args[0])
			if len(args) == 1 {
				if (len(values) == 0) != neg {
					ts.Fatalf("header %s is %q", args[0], values)
				}
				return
			}
			match(ts, neg, "header "+args[0], args[1], []byte(strings.Join(values, "\n")))
		},
		"body": func(ts *testscript.TestScript, neg bool, args []string) {
			c := ts.Value("conversation").(*conversation)
			match(ts, neg, "body", args[0], c.body)
		},
		"json": func(ts *testscript.TestScript, neg bool, args []string) {
			c := ts.Value("conversation").(*conversation)
			var v map[string]any
			ts.Check(json.Unmarshal(c.body, &v))
			got, err := json.Marshal(v[args[0]], json.Deterministic(true))
			ts.Check(err)
			match(ts, neg, args[0], args[1], bytes.Trim(got, `"`))
		},
	}
}

// converse runs the scripts of a folder, or those that are named, against servers that answer in
// turn.
func converse(t *testing.T, dir string, files []string, servers ...*Server) {
	t.Helper()
	var addresses []string
	for _, s := range servers {
		server := httptest.NewUnstartedServer(described(t, s))
		server.Config.MaxHeaderBytes = 2 * s.limits.Header
		server.Start()
		defer server.Close()
		addresses = append(addresses, server.Listener.Addr().String())
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: dir, Files: files, Cmds: commands(), RequireExplicitExec: true, RequireUniqueNames: true,
			Setup: func(env *testscript.Env) error {
				env.Values["conversation"] = &conversation{addresses: addresses}
				return nil
			},
		})
	})
}

// answered reports whether a route has answered anything.
func answered(t *testing.T, m *Metrics, name string) bool {
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "store_requests_total" {
			continue
		}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if l.GetName() == "route" && l.GetValue() == name && metric.GetCounter().GetValue() > 0 {
					return true
				}
			}
		}
	}
	return false
}
