package fetch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"
)

// TestHeadFaults has a door write its head by itself. What is said was seen of fetch in Node
// 20.20.2.
func TestHeadFaults(t *testing.T) {
	const plain = "HTTP/1.1 402 Payment Required\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
	found := func(name string) string {
		raw, err := os.ReadFile("../exchange/testdata/found/http-head-" + name + ".http")
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, c := range map[string]struct{ head, want string }{
		"plain":              {plain, ""},
		"length twice":       {found("content-length-twice-equal"), exchange.HeadLengthTwice},
		"length and chunked": {found("length-and-chunked"), exchange.HeadLengthChunked},
		"chunked and length": {strings.Replace(plain, "Con", "Transfer-Encoding: chunked\r\nCon", 1),
			exchange.HeadLengthChunked},
		"line feeds":         {found("bare-lf"), exchange.HeadLineFeed},
		"one line feed":      {strings.Replace(plain, "2\r", "2", 1), exchange.HeadLineFeed},
		"behind the status":  {strings.Replace(plain, "d\r", "d", 1), ""},
		"for the empty line": {strings.Replace(plain, "\r\n{", "\n{", 1), ""},
		"100":                {"HTTP/1.1 100 Continue\r\n\r\n" + plain, exchange.HeadContinue},
		"103":                {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + plain, ""},
		"103, then length twice": {"HTTP/1.1 103 Early Hints\r\n\r\n" + found("content-length-twice-equal"),
			exchange.HeadLengthTwice},
		"1.2":            {strings.Replace(plain, "1.1", "1.2", 1), exchange.HeadVersion},
		"1.0":            {strings.Replace(plain, "1.1", "1.0", 1), ""},
		"only in a body": {strings.Replace(plain, "{}", "\nContent-Length: 2", 1), ""},
		"a folded field": {strings.Replace(plain, "Con", "X: a\r\n Content-Length: 2\r\nCon", 1), ""},
	} {
		client, _ := door(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, c.head); err != nil {
				t.Error(err)
			}
		}, func(s *httptest.Server, _ *Config) {
			s.TLS.NextProtos = []string{"http/1.1"}
		})
		x := get(t, client, "https://example.com/")
		if x.Response.Status != 402 || x.Response.HeadFault != c.want {
			t.Errorf("%s: %d, %q, want %q; %+v", name, x.Response.Status, x.Response.HeadFault, c.want, x.Error)
		}
	}
}
