package stockclient

import (
	"fmt"
	"net/http"

	"store.example/agentstore/corpus/exchange"
)

// nodeHead is maxHeaderSize of undici, the fetch of Node: it refuses an answer whose field names
// and values reach it.
const nodeHead = 16 << 10

// nodeRefuses has the error of fetch in Node (undici 6.24.1, llhttp 9.3.1) for each way of writing
// a head that it refuses, as the cause of "fetch failed".
var nodeRefuses = map[string]string{
	exchange.HeadLengthTwice:   unexpected + "(Duplicate Content-Length)",
	exchange.HeadLengthChunked: unexpected + "(Content-Length can't be present with Transfer-Encoding)",
	exchange.HeadLineFeed:      "HPE_INVALID_HEADER_TOKEN: " + noMatch + "(Invalid header value char)",
	exchange.HeadContinue:      "UND_ERR_SOCKET: bad response",
	exchange.HeadVersion:       "HPE_INVALID_VERSION: " + noMatch + "(Invalid HTTP version)",
}

const (
	noMatch    = "Response does not match the HTTP/1.1 protocol "
	unexpected = "HPE_UNEXPECTED_CONTENT_LENGTH: " + noMatch
)

// refusedHead is what a buyer should know of terms whose head fetch in Node refuses, and the error;
// cause is "" where it reads them.
func (s Seen) refusedHead() (h Hazard, cause string) {
	if s.Status != http.StatusPaymentRequired {
		return h, ""
	}
	if n := s.HeadBytes; n >= nodeHead {
		return Hazard{"head-too-large", fmt.Sprintf("the names and values of the answer's head have %d bytes: fetch "+
				"in Node gives up at %d, before the client sees the terms; other runtimes go on", n, nodeHead)},
			"UND_ERR_HEADERS_OVERFLOW: Headers Overflow Error"
	}
	if cause = nodeRefuses[s.HeadFault]; cause == "" {
		return h, ""
	}
	return Hazard{"head-refused", "fetch in Node gives up at the answer's head, before the client sees the terms, " +
		"with " + cause + "; other runtimes go on"}, cause
}
