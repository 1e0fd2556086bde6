package kit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
)

// A way is one in which the answer to a payment is lost between door and buyer.
type way struct {
	name, title, reason string
	payments            int64 // that are signed at the most
	lose                func(l *loser, r *http.Request) (*http.Response, error)
}

const (
	again = "The buyer presents the same payment again, which cannot cost more, and must get what was paid for."
	anew  = "A client that is asked for a payment again signs another one for the same order, under the same " +
		"Idempotency-Key: it must not be charged twice."
)

var ways = []way{
	{"lost-fresh-402", "Asked to pay again after the answer was lost, a buyer is charged once", anew, 2,
		func(l *loser, r *http.Request) (*http.Response, error) {
			if _, err := l.take(r); err != nil {
				return nil, err
			}
			unpaid := r.Clone(r.Context())
			unpaid.Header.Del(presentedIn(r))
			if r.GetBody != nil {
				unpaid.Body, _ = r.GetBody()
			}
			return l.pass(unpaid)
		}},
	{"lost-connection", "The connection broke before the answer came", again, 1,
		func(l *loser, r *http.Request) (*http.Response, error) {
			if _, err := l.take(r); err != nil {
				return nil, err
			}
			return nil, errors.New("the connection was lost on purpose")
		}},
	{"lost-502", "A gateway answered 502 in the place of the answer", again, 1, gateway(http.StatusBadGateway)},
	{"lost-504", "A gateway answered 504 in the place of the answer", again, 1, gateway(http.StatusGatewayTimeout)},
	{"lost-time-out", "The buyer gave up waiting for the answer", again, 1,
		func(l *loser, r *http.Request) (*http.Response, error) {
			if _, err := l.take(r); err != nil {
				return nil, err
			}
			return nil, context.DeadlineExceeded
		}},
	{"lost-cut", "The answer broke off in the middle of its body", again, 1,
		func(l *loser, r *http.Request) (*http.Response, error) {
			a, err := l.take(r)
			if err != nil {
				return nil, err
			}
			resp := a.response(r)
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(a.body[:len(a.body)/2]), broken{}))
			return resp, nil
		}},
	{"lost-early", "The buyer hung up while the door was at work, and called again", again, 1,
		func(l *loser, r *http.Request) (*http.Response, error) {
			ctx, hangUp := context.WithCancel(r.Context())
			defer hangUp()
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
				WroteRequest: func(httptrace.WroteRequestInfo) { hangUp() }})
			resp, err := l.pass(r.WithContext(ctx))
			if err == nil { // the door was quicker
				resp.Body.Close()
			}
			return nil, errors.New("the buyer hung up on purpose")
		}},
}

func gateway(status int) func(*loser, *http.Request) (*http.Response, error) {
	return func(l *loser, r *http.Request) (*http.Response, error) {
		if _, err := l.take(r); err != nil {
			return nil, err
		}
		return answer{status: status, header: http.Header{"Content-Type": {"text/html"}}}.response(r), nil
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The headers of a payment: paymentHeader presents it (x402 v2, HTTP transport); by MPP
// credentialHeader does (RFC 9110, section 11.6.2), or apartHeader where the challenge names it,
// and receiptHeader says that it was settled.
const (
	paymentHeader    = "Payment-Signature"
	credentialHeader = "Authorization"
	apartHeader      = "Payment-Authorization"
	receiptHeader    = "Payment-Receipt"
	paymentScheme    = "Payment "
)

// presentedIn is the header in which a request presents a payment, "" for none.
func presentedIn(r *http.Request) string {
	switch {
	case r.Header.Get(paymentHeader) != "":
		return paymentHeader
	case strings.HasPrefix(r.Header.Get(apartHeader), paymentScheme):
		return apartHeader
	case strings.HasPrefix(r.Header.Get(credentialHeader), paymentScheme):
		return credentialHeader
	}
	return ""
}

// maxAnswer bounds what is read of an answer that is lost.
const maxAnswer = 4 << 20

// An answer is one that was read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) response(r *http.Request) *http.Response {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: -1, Request: r}
}

// A payment is what was signed, as the chain knows it: of Solana's the nonce is the transaction.
type payment struct{ network, asset, from, nonce string }

// A loser sends requests and, where a way is set, loses the answer to the next payment.
type loser struct {
	to     http.RoundTripper
	header http.Header

	mu   sync.Mutex
	way  *way      // guarded by mu
	lost *answer   // what was lost, nil where nobody knows; guarded by mu
	paid []payment // presented since arm, each once; guarded by mu
}

func newLoser(to http.RoundTripper, header http.Header) *loser {
	if to == nil {
		// One connection a request: where one was lost, no other request is found to be broken.
		to = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	}
	return &loser{to: to, header: header}
}

// arm sets the way in which the answer to the next payment is lost; nil loses none.
func (l *loser) arm(w *way) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.way, l.lost, l.paid = w, nil, nil
}

// payments are those that were presented since arm.
func (l *loser) payments() []payment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.paid)
}

// taken is the answer that was lost, nil where none was read.
func (l *loser) taken() *answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// RoundTrip implements http.RoundTripper.
func (l *loser) RoundTrip(r *http.Request) (*http.Response, error) {
	in := presentedIn(r)
	if in == "" {
		return l.pass(r)
	}
	p := readPayment(r.Header.Get(in))
	if in != paymentHeader {
		p = readCredential(r.Header.Get(in))
	}
	l.mu.Lock()
	w := l.way
	l.way = nil
	if !slices.Contains(l.paid, p) {
		l.paid = append(l.paid, p)
	}
	l.mu.Unlock()
	if w == nil {
		return l.pass(r)
	}
	return w.lose(l, r)
}

// pass sends a request on, with the fields that are for the door.
func (l *loser) pass(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, l.header)
	return l.to.RoundTrip(r)
}

// take sends a request and reads the answer whole, which nobody else will see.
func (l *loser) take(r *http.Request) (answer, error) {
	resp, err := l.pass(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	a := answer{resp.StatusCode, resp.Header, body}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = &a
	return a, nil
}

// readPayment reads what our own buyer wrote.
func readPayment(header string) (p payment) {
	var w struct {
		Accepted struct {
			Network string `json:"network"`
			Asset   string `json:"asset"`
		} `json:"accepted"`
		Payload struct {
			Authorization struct {
				From  string `json:"from"`
				Nonce string `json:"nonce"`
			} `json:"authorization"`
			Transaction string `json:"transaction"`
		} `json:"payload"`
	}
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil || json.Unmarshal(raw, &w) != nil {
		return payment{}
	}
	return payment{w.Accepted.Network, w.Accepted.Asset, w.Payload.Authorization.From,
		cmp.Or(w.Payload.Transaction, w.Payload.Authorization.Nonce)}
}

// readCredential reads what our own buyer wrote by MPP.
func readCredential(header string) (p payment) {
	var w struct {
		Challenge struct {
			Request string `json:"request"`
		} `json:"challenge"`
		Payload struct {
			From  string `json:"from"`
			Nonce string `json:"nonce"`
		} `json:"payload"`
		Source string `json:"source"`
	}
	var asked struct {
		Currency string `json:"currency"`
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(header, paymentScheme))
	if err != nil || json.Unmarshal(raw, &w) != nil {
		return payment{}
	}
	raw, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(w.Challenge.Request, "="))
	if err != nil || json.Unmarshal(raw, &asked) != nil {
		return payment{}
	}
	account := strings.TrimPrefix(w.Source, "did:pkh:")
	return payment{account[:max(0, strings.LastIndexByte(account, ':'))], asked.Currency, w.Payload.From,
		w.Payload.Nonce}
}
