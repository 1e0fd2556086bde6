package dynamic

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// A 402 is longer than what net/http collects before it writes (4 KiB), so that it would leave in
// four pieces, and each costs more than all that the store does for it. A connection therefore
// gathers what is written of one, and sends it when it is whole.

// maxGathered is how much is gathered of an answer, in bytes; what comes after goes out at once.
const maxGathered = 64 << 10

// gathered are buffers for answers. They grow to the size of what was gathered in them.
var gathered = sync.Pool{New: func() any { return new([]byte) }}

type connKey struct{}

// withConn puts a connection where connOf finds it (http.Server.ConnContext).
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*expressConn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// connOf is the connection that w writes to, nil where it cannot gather: one of TLS or HTTP/2, or
// none, as for a call in process, which inherits a connection's context but cannot be hijacked.
func connOf(w http.ResponseWriter, r *http.Request) *expressConn {
	if _, ok := w.(http.Hijacker); !ok {
		return nil
	}
	c, _ := r.Context().Value(connKey{}).(*expressConn)
	return c
}

// sendGathered ends the gathering of an answer, if one was gathered.
func (c *call) sendGathered() {
	if c.conn == nil || c.conn.gathered == nil {
		return
	}
	// What net/http still holds goes to the connection first. If the client reads too slowly or is
	// gone, net/http does not hear of it: without an end here it would read what was asked next,
	// and answer behind half of this answer.
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	if err := c.conn.release(); err != nil {
		_ = c.conn.tcpConn.Close()
	}
}

// gather begins to gather what is written.
func (c *expressConn) gather() { c.gathered = gathered.Get().(*[]byte) }

// Write is called by net/http.
func (c *expressConn) Write(b []byte) (int, error) {
	if c.gathered == nil {
		return c.tcpConn.Write(b)
	}
	if len(*c.gathered)+len(b) > maxGathered {
		if err := c.release(); err != nil {
			return 0, err
		}
		return c.tcpConn.Write(b)
	}
	*c.gathered = append(*c.gathered, b...)
	return len(b), nil
}

// release sends what was gathered and ends the gathering.
func (c *expressConn) release() error {
	if c.gathered == nil {
		return nil
	}
	buf := c.gathered
	c.gathered = nil
	_, err := c.tcpConn.Write(*buf)
	*buf = (*buf)[:0]
	gathered.Put(buf)
	return err
}
