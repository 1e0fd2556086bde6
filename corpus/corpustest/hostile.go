package corpustest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
)

// Hostile makes up what doors answer that wish the record ill: every text of theirs may be long, of
// control characters, of characters that turn the writing round, of another type than belongs
// there, or there many times.
type Hostile struct {
	rng *rand.Rand
	at  time.Time
}

// NewHostile returns a source of answers that is the same for the same seed. They are recorded at a
// moment.
func NewHostile(seed uint64, at time.Time) *Hostile {
	return &Hostile{rand.New(rand.NewPCG(seed, 0)), at}
}

// Walked is one door that was walked: what a row needs, and the evidence that is kept of it.
type Walked struct {
	Row      record.Row
	Evidence []byte
}

// Walk walks a hostile door at a host. An error is a fault of what is tested.
func (h *Hostile) Walk(host string) (Walked, error) {
	url := "https://" + host + h.path()
	declared := probe.Declaration{}
	if h.rng.IntN(8) == 0 {
		declared = probe.Declaration{Method: http.MethodPost, By: "well-known"}
	}
	p, err := probe.NewPreflight(probe.Current(), url, declared)
	if err != nil {
		return Walked{}, err
	}
	var recorded []exchange.Exchange
	for {
		report, next, err := p.Step(recorded)
		if err != nil {
			return Walked{}, err
		}
		if next != nil {
			recorded = append(recorded, h.answer(next.Request))
			continue
		}
		judgement, err := p.Judgement(recorded, probe.Salt{1})
		if err != nil {
			return Walked{}, err
		}
		w := Walked{Row: rejudge.RowFrom(report, judgement)}
		w.Row.Host, w.Row.Listed, w.Row.Source, w.Row.Catalog = host, true, record.SourceDiscovery, "bazaar"
		if w.Row.EvidenceDigest != "" {
			w.Evidence, err = judgement.Encode()
		}
		return w, err
	}
}

// pick is one of several.
func pick[T any](h *Hostile, of ...T) T { return of[h.rng.IntN(len(of))] }

// path is of a door as the roster may have it: visible ASCII, at most record.MaxDoorURL bytes with
// its host's.
func (h *Hostile) path() string {
	n := pick(h, 0, 1, 40, 600, record.MaxDoorURL-len("https://")-80)
	unit := pick(h, "p", `"`, "%01", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8/", "a,b;", "?q=", "{}")
	out := "/" + strings.Repeat(unit, n/len(unit))
	for record.TextBytes(out) > record.MaxDoorURL-280 {
		out = out[:len(out)/2]
	}
	return out
}

// text is some text as a door may write it, not always as JSON can.
func (h *Hostile) text() string {
	unit := pick(h, "x", "\x00", "\x01", "\x1b[31m", "\u202e", "\u2066", `"`, `\`, "\n", "<script>", "é", "\xff",
		"\U0001f480", "eip155:", "[pay-to 0123456789abcdef]", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "%s",
		"]|(x)")
	return strings.Repeat(unit, pick(h, 0, 1, 1, 2, 2, 2, 3, 3, 7, 7, 33, 64, 300, 2000))
}

func (h *Hostile) network() string {
	return pick(h, "eip155:8453", "eip155:1", fmt.Sprintf("eip155:%d", 1+h.rng.IntN(1e6)), "eip155:08453", "eip155:-1",
		"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
		fmt.Sprintf("abc-%d:x_%d", h.rng.IntN(99), h.rng.IntN(1e9)), "base", h.text())
}

func (h *Hostile) address() string {
	raw := make([]byte, 20)
	for i := range raw {
		raw[i] = byte(h.rng.Uint32())
	}
	return pick(h, "0x"+hex.EncodeToString(raw), "0x"+strings.ToUpper(hex.EncodeToString(raw)),
		"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "shop.eth",
		"0x0000000000000000000000000000000000000000", strings.Repeat("a.", 400)+"eth", h.text())
}

// value is any JSON.
func (h *Hostile) value(depth int) string {
	switch n := h.rng.IntN(7); {
	case n == 0:
		return quote(h.text())
	case n == 1:
		return pick(h, "0", "-1", "1e400", "12345678901234567890123456789012345678901234567890", "0.1", "-0")
	case n == 2:
		return pick(h, "null", "true", "false", "{}", "[]")
	case depth > 4:
		return "7"
	case n < 5:
		return "[" + strings.Repeat(h.value(depth+1)+",", pick(h, 0, 1, 5)) + h.value(depth+1) + "]"
	}
	return "{" + quote(pick(h, "payTo", "accepts", "info", "schema", "a", h.text())) + ":" + h.value(depth+1) + "}"
}

// quote writes a text as JSON, or nearly.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// member is one member of an object, with the value that belongs there or any other.
func (h *Hostile) member(name, value string) string {
	if h.rng.IntN(12) == 0 {
		value = h.value(0)
	}
	return quote(name) + ":" + value
}

// challenge is the JSON of a 402: up to as many ways to pay as fit into a head, or more than are
// read.
func (h *Hostile) challenge(most int) string {
	var accepts []string
	size := 0
	for range pick(h, 0, 1, 1, 2, 2, 4, 33, 65, 5000) {
		entry := "{" + strings.Join([]string{
			h.member("scheme", quote(pick(h, "exact", "upto", h.text()))), h.member("network", quote(h.network())),
			h.member("amount", quote(pick(h, "1", "10000", strings.Repeat("9", 78), strings.Repeat("9", 400), "0.5",
				h.text()))),
			h.member("asset", quote(pick(h, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", h.text()))),
			h.member("payTo", quote(h.address())), h.member("maxTimeoutSeconds", "60"),
			h.member("extra", `{"name":"USD Coin","version":"2"}`),
		}, ",") + "}"
		if size += len(entry); size > most {
			break
		}
		accepts = append(accepts, entry)
	}
	if h.rng.IntN(6) == 0 {
		// As many different networks or addresses as there is room for.
		for i := 0; size < most; i++ {
			entry := fmt.Sprintf(`{"scheme":%s,"network":%s,"amount":"1","asset":"x","payTo":"0x%040x"}`,
				quote(pick(h, "exact", strings.Repeat("\x01", 9)+fmt.Sprint(i))),
				quote(pick(h, fmt.Sprintf("eip155:%d", i+1), strings.Repeat("\x02", 55)+fmt.Sprint(i))), i+1)
			size += len(entry)
			accepts = append(accepts, entry)
		}
	}
	return "{" + strings.Join([]string{h.member("x402Version", pick(h, "2", "2", "1", "99")),
		h.member("error", quote(h.text())),
		h.member("resource", `{"url":`+quote(h.text())+`}`), h.member("accepts", "["+strings.Join(accepts, ",")+"]"),
		h.member("extensions", h.value(0))}, ",") + "}"
}

// answer is what the door sends to one request.
func (h *Hostile) answer(req exchange.Request) exchange.Exchange {
	x := exchange.Exchange{Request: req, StartedAt: h.at, Duration: time.Duration(h.rng.Int64N(8e9))}
	if h.rng.IntN(20) == 0 {
		x.Error = exchange.Error{Stage: pick(h, exchange.StageConnect, exchange.StageHeaders, exchange.StageBody,
			exchange.StageTLS), Text: h.text()}
		return x
	}
	header := http.Header{}
	challenge := h.challenge(pick(h, 2_000, 2_000, 2_000, 14_000, 42_000))
	if h.rng.IntN(8) > 0 {
		header["Payment-Required"] = []string{base64.StdEncoding.EncodeToString([]byte(challenge))}
	}
	if h.rng.IntN(20) == 0 {
		header["Payment-Required"] = append(header["Payment-Required"], h.text())
	}
	if h.rng.IntN(4) == 0 {
		header["Www-Authenticate"] = []string{fmt.Sprintf(
			`Payment id=%q, realm="%s", method="%s", intent="charge", request="%s"`, h.text(), h.text(), h.network(),
			base64.RawURLEncoding.EncodeToString([]byte(h.challenge(2_000))))}
	}
	for range pick(h, 0, 0, 0, 1, 1, 1, 3, 3, 3, 200) {
		header.Add(pick(h, "Allow", "Link", "Server", "Content-Type",
			"X-"+hex.EncodeToString([]byte{byte(h.rng.Uint32())}), "Vary"), pick(h, "POST", "GET, POST", h.text()))
	}
	x.Response = exchange.Response{Status: pick(h, 402, 402, 402, 402, 402, 402, 200, 405, 429, 500, 999),
		Proto: pick(h, "HTTP/1.1", "HTTP/2.0"), Header: header}
	switch h.rng.IntN(4) {
	case 0:
		x.Response.Body = []byte(h.challenge(pick(h, 1_000, 1_000, 1_000, 1_000, 60_000, 250_000)))
	case 1:
		x.Response.Body = []byte(h.text())
	}
	return x
}

// Draft is a round of so many hostile doors, with what is kept of their walks.
func (h *Hostile) Draft(sequence int64, doors int) seal.Draft {
	host, evidence := "", []byte(nil)
	at := h.at.Add(time.Hour)
	return seal.Draft{
		Sequence: sequence, Week: record.ISOWeek(at), TakenAt: at, Battery: "v2", Control: record.Control{Walks: 2},
		Roster: record.Roster{Listed: int64(doors),
			Sources: []record.RosterSource{{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: int64(doors),
				Complete: true}}},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
		Rows: func(yield func(record.Row, error) bool) {
			for i := range doors {
				walked, err := h.Walk(fmt.Sprintf("door-%06d.example", i))
				host, evidence = walked.Row.Host, walked.Evidence
				if !yield(walked.Row, err) {
					return
				}
			}
		},
		Evidence: func(of, _ string) ([]byte, error) {
			if of != host {
				return nil, fmt.Errorf("the evidence of %s is asked for after that of %s", of, host)
			}
			return evidence, nil
		},
	}
}
