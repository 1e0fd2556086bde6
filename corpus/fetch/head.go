package fetch

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/corpus/exchange"
)

// heard is a connection of HTTP/1 that keeps the first of what comes over it, because what net/http
// makes of a head does not show how it was written.
type heard struct {
	net.Conn

	mu    sync.Mutex // the transport reads on while the head is looked at
	first []byte
}

// hear returns conn as it is to be used, and what keeps its head: nothing where it speaks HTTP/2.
func hear(conn net.Conn) (net.Conn, *heard) {
	h := &heard{Conn: conn}
	if secure, ok := conn.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
		return conn, h
	}
	return h, h
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first = append(h.first, p[:min(n, MaxHeaderBytes-len(h.first))]...)
	return n, err
}

func (h *heard) fault() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return headFault(h.first)
}

// nodeVersions are the versions of HTTP that Node's parser knows.
var nodeVersions = []string{"HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0"}

// headFault is the first thing in a response's head, and in what interim responses stand before it,
// for which fetch in Node refuses it and net/http does not. Node takes a bare line feed behind the
// status and for the empty line.
func headFault(raw []byte) string {
	status, interim, length, encoding := true, false, false, false
	for {
		line, rest, whole := bytes.Cut(raw, []byte("\n"))
		if !whole {
			return ""
		}
		text, ended := bytes.CutSuffix(line, []byte("\r"))
		name, _, _ := strings.Cut(string(text), ":")
		raw = rest
		switch name = strings.ToLower(strings.TrimRight(name, " \t")); {
		case status:
			version, code, _ := strings.Cut(string(text), " ")
			if !slices.Contains(nodeVersions, version) {
				return exchange.HeadVersion
			}
			if strings.HasPrefix(code, "100") {
				return exchange.HeadContinue
			}
			status, interim, length, encoding = false, strings.HasPrefix(code, "1"), false, false
		case len(text) == 0 && !interim:
			return ""
		case len(text) == 0:
			status = true
		case !ended:
			return exchange.HeadLineFeed
		case name == "content-length" && length:
			return exchange.HeadLengthTwice
		case name == "content-length" && encoding, name == "transfer-encoding" && length:
			return exchange.HeadLengthChunked
		}
		length = length || name == "content-length"
		encoding = encoding || name == "transfer-encoding"
	}
}
