package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is the first argument with which this program is one tool of the Go SDK.
const toolServer = "serve-tool"

// freeCall is a call of a free tool whose answer is made from the shelf.
const freeCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_in_catalog",` +
	`"arguments":{"q":"rock"}}}`

// serveTool answers calls of find_in_catalog with a recorded result, as little as the SDK can do:
// stateless, JSON, and a tool whose arguments it does not look at.
func serveTool(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s takes a file and an address", toolServer)
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var recorded struct {
		Result struct {
			Content           []struct{ Text string } `json:"content"`
			StructuredContent json.RawMessage         `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(b, &recorded); err != nil {
		return err
	}
	r := recorded.Result
	s := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "find_in_catalog", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: r.StructuredContent,
				Content: []sdk.Content{&sdk.TextContent{Text: r.Content[0].Text}}}, nil
		})
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return http.ListenAndServe(args[1], h)
}

// post sends a message to an MCP door and returns the body of a 200.
func post(ctx context.Context, c *http.Client, url, message string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return body, err
}

// used is the processor time of a process so far (proc(5), stat, in ticks of 10 ms).
func (p *process) used() (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(b, []byte(") ")) // the name may hold anything
	fields := strings.Fields(string(rest))
	if len(fields) < 13 {
		return 0, errors.New("/proc has no times of the process")
	}
	var sum time.Duration
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum, nil
}

// perCall makes calls for the length of a run and returns the milliseconds of a server's processor
// time that each took.
func (l *lab) perCall(ctx context.Context, p *process, url string, want []byte) (float64, error) {
	c := client()
	defer c.CloseIdleConnections()
	before, err := p.used()
	if err != nil {
		return 0, err
	}
	n := 0
	err = pinned(strconv.Itoa(loaderCore), func() error {
		for end := time.Now().Add(time.Duration(l.seconds) * time.Second); time.Now().Before(end); n++ {
			got, err := post(ctx, c, url, freeCall)
			if err != nil {
				return err
			}
			if !bytes.Contains(got, want) {
				return fmt.Errorf("another answer: %s", got)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	after, err := p.used()
	return float64(after-before) / float64(time.Millisecond) / float64(max(n, 1)), err
}

// openMCPFree sets a free call, answered by the store's own route, against a tool of the Go SDK
// that repeats its result. What is compared is the processor time of the serving process.
func openMCPFree(ctx context.Context, l *lab) (*contest, error) {
	cfg, store, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	c := client()
	defer c.CloseIdleConnections()
	answer, err := post(ctx, c, cfg.BaseURL+"/mcp", freeCall)
	if err != nil {
		return nil, err
	}
	dir, err := l.folder("tool")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "answer.json")
	if err := os.WriteFile(file, answer, 0o600); err != nil {
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
	bare, err := l.start(ctx, serverCore, dir, self, toolServer, file, listen)
	if err != nil {
		return nil, err
	}
	door := "http://" + listen + "/mcp"
	if err := bare.until(ctx, answers(door, http.StatusMethodNotAllowed)); err != nil {
		return nil, err
	}
	want := []byte(`"item_id":"pet_rock"`)
	return &contest{
		ours: func(ctx context.Context) (float64, error) { return l.perCall(ctx, store, cfg.BaseURL+"/mcp", want) },
		peer: func(ctx context.Context) (float64, error) { return l.perCall(ctx, bare, door, want) },
	}, nil
}

// byMCP pays as a client of the MCP door does.
func byMCP(ctx context.Context, c *http.Client, url, payment string) error {
	raw, err := base64.StdEncoding.DecodeString(payment)
	if err != nil {
		return err
	}
	door, _, _ := strings.Cut(url, "/api/")
	got, err := post(ctx, c, door+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_hello",`+
		`"arguments":{},"_meta":{"x402/payment":`+string(raw)+`}}}`)
	if err == nil && !bytes.Contains(got, []byte(`"x402/payment-response":{"success":true`)) {
		err = fmt.Errorf("not bought: %s", got)
	}
	return err
}

// perPurchase is the processor time of the store, in milliseconds, that each of many purchases
// took.
func (s *shopfront) perPurchase(ctx context.Context, present presenter) (float64, error) {
	return s.selling(ctx, func(p *process, url, rpcURL string) (float64, error) {
		before, err := p.used()
		if err != nil {
			return 0, err
		}
		var n atomic.Int64
		if _, err := s.l.buy(ctx, s.people, url, rpcURL, func(ctx context.Context, c *http.Client, url,
			payment string) error {
			n.Add(1)
			return present(ctx, c, url, payment)
		}); err != nil {
			return 0, err
		}
		after, err := p.used()
		return float64(after-before) / float64(time.Millisecond) / float64(max(n.Load(), 1)), err
	})
}

// openMCPPaid sets purchases over MCP against the same over HTTP.
func openMCPPaid(ctx context.Context, l *lab) (*contest, error) {
	s, err := openShopfront(ctx, l)
	if err != nil {
		return nil, err
	}
	return &contest{
		ours: func(ctx context.Context) (float64, error) { return s.perPurchase(ctx, byMCP) },
		peer: func(ctx context.Context) (float64, error) { return s.perPurchase(ctx, byHTTP) },
	}, nil
}
