package probe

import (
	"net/http"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

// Instrument is by what a verdict was reached. Two reports on one door that have the same
// instrument and evidence say the same, wherever they were made; two that differ say in what.
type Instrument struct {
	Name    string `json:"name"`    // preflight
	Version string `json:"version"` // of the battery
	// Client is the stock client whose choice is judged, with its version; "" where none is.
	Client string `json:"client,omitzero"`
	Tables string `json:"networks"` // the table of chains and tokens, with its version
	// Request is what the battery sent for the answer that is judged, as HTTP/1.1 writes it. Who
	// walks adds his own name and signature (User-Agent, Signature), and the connection's fields.
	Request string `json:"request"`
}

// instrument is that of a report on a view.
func (p *Preflight) instrument(v *View) Instrument {
	i := Instrument{Name: "preflight", Version: p.battery.Version, Tables: networks.Version,
		Request: p.sent(v.Evidence)}
	if p.battery.Replays {
		i.Client = stockclient.Models()[0].Name // what View.buyer is
	}
	return i
}

// sent is the request of an exchange, in bytes.
func (p *Preflight) sent(e exchange.Redacted) string {
	at, err := url.Parse(e.URL)
	if err != nil || e.Method == "" || at.Host == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(e.Method + " " + at.RequestURI() + " HTTP/1.1\r\nHost: " + at.Host +
		"\r\nAccept: application/json\r\n")
	if e.Method == http.MethodPost {
		b.WriteString("Content-Type: application/json\r\n")
	}
	b.WriteString("\r\n")
	if e.Method == http.MethodPost && p.byCaller() {
		b.Write(p.body)
	} else if e.Method == http.MethodPost {
		b.WriteString("{}")
	}
	return b.String()
}
