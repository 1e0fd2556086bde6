package dynamic

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

// TestA402IsSentWhole: what is written of a 402 stays with the connection until the handler is
// done, a longer one begins before, and other answers and calls in process are not gathered.
func TestA402IsSentWhole(t *testing.T) {
	const short, long = 20_000, 85_000 // bytes, below and above maxGathered
	var s *Server
	size, status, inProcess, inner := 0, 0, false, false
	sell := func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodPost {
			if _, err := io.Copy(io.Discard, r.Body); err != nil { // sends the 100 that the client waits for
				return err
			}
		}
		c, _ := w.(*call)
		if inProcess {
			inProcess = false
			rec := httptest.NewRecorder()
			inner = true
			s.ServeHTTP(rec, httptest.NewRequest("GET", "/test/sell", nil).WithContext(r.Context()))
			if rec.Body.Len() != size || rec.Code != status {
				t.Errorf("a call in process: %d, %d bytes", rec.Code, rec.Body.Len())
			}
		}
		if inner && c.conn != nil {
			t.Error("a call in process has a connection")
		}
		inner = false
		w.WriteHeader(status)
		for range size / 1000 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
				return err
			}
		}
		if want := status == http.StatusPaymentRequired && size < maxGathered; c.conn != nil &&
			(c.conn.gathered != nil) != want {
			t.Errorf("an answer of %d with %d bytes: gathered %v, want %v", status, size, !want, want)
		}
		return nil
	}
	row := func(name, method string) route.Row {
		r := route.Row{Handle: sell, Route: api.Route{Name: name, Method: method, Pattern: "/test/sell",
			Summary: "Test.", Tags: []string{"verify"}, Serve: api.Private,
			Responses: []api.Response{{Status: 200, ContentType: api.JSON, Description: "Done."}}}}
		if method == http.MethodPost {
			r.Body = &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[say](), Limit: 64,
				Description: "Any."}
		}
		return r
	}
	s = fullServer(t, Config{BaseURL: base, Rows: []route.Row{row("test_get", "GET"), row("test_post", "POST")}})
	address, stop := serve(t, s)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buffered := bufio.NewReader(conn)
	for _, c := range []struct {
		status, size int
		inProcess    bool
		expect       bool
	}{
		{status: 402, size: short}, {status: 402, size: short}, {status: 402, size: long}, {status: 402},
		{status: 200, size: short}, {status: 402, size: short, inProcess: true},
		{status: 402, size: short, expect: true}, {status: 402, size: short},
	} {
		status, size, inProcess = c.status, c.size, c.inProcess
		req, err := http.NewRequest(http.MethodGet, "http://store.example/test/sell", nil)
		if c.expect {
			req, err = http.NewRequest(http.MethodPost, "http://store.example/test/sell", strings.NewReader("{}"))
			req.Header = http.Header{"Expect": {"100-continue"}, "Content-Type": {"application/json"}}
		}
		if err == nil {
			err = req.Write(conn)
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(buffered, req)
		if err == nil && res.StatusCode == http.StatusContinue {
			res, err = http.ReadResponse(buffered, req)
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got := body(t, res); len(got) != c.size || res.StatusCode != c.status {
			t.Errorf("%+v: %d, %d bytes", c, res.StatusCode, len(got))
		}
	}
	if err := errors.Join(conn.Close(), stop()); err != nil {
		t.Error(err)
	}
}

// TestWhoDoesNotReadIsLeft: a client that asks again and again for terms and reads none of them
// loses its connection when the time of one answer is over, as with any other answer.
func TestWhoDoesNotReadIsLeft(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusPaymentRequired} {
		answer := func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Length", "20000") // so that nothing comes after it
			w.WriteHeader(status)
			_, err := w.Write(bytes.Repeat([]byte("x"), 20_000))
			return err
		}
		s := fullServer(t, Config{BaseURL: base, Limits: Limits{Write: 200 * time.Millisecond},
			Rows: []route.Row{{Handle: answer, Route: api.Route{Name: "test_get", Method: "GET", Pattern: "/test/sell",
				Summary: "Test.", Tags: []string{"verify"}, Serve: api.Private,
				Responses: []api.Response{{Status: 200, ContentType: api.JSON, Description: "Done."}}}}}})
		address, stop := serve(t, s)
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetWriteDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		asks := []byte(strings.Repeat("GET /test/sell HTTP/1.1\r\nHost: store.example\r\n\r\n", 100))
		for err == nil {
			_, err = conn.Write(asks)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("of answers of %d none is read, and 20 seconds later the connection is there", status)
		}
		if err := errors.Join(conn.Close(), stop()); err != nil {
			t.Error(err)
		}
	}
}
