package drift

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// A document is one that a host serves of itself.
type document struct {
	by      string // the declaration
	url     string
	raw     []byte // as it came
	from    int    // where its JSON begins
	value   node
	absent  bool
	problem string // why it cannot be read
}

// readDocument never fails: what cannot be read has a problem.
func readDocument(by string, x exchange.Exchange) *document {
	d := &document{by: by, url: x.Request.URL, raw: x.Response.Body}
	switch status := x.Response.Status; {
	case x.Error.Stage == exchange.StageRefused:
		d.problem = "it was not asked for: " + x.Error.Text
	case x.Error.Stage != "":
		d.problem = "the host did not answer whole (" + x.Error.Stage + ")"
	case status == http.StatusNotFound || status == http.StatusGone:
		d.absent = true
	case status != http.StatusOK:
		d.problem = fmt.Sprintf("it answers with status %d", status)
	case x.Response.Truncated || len(d.raw) > MaxDocument:
		d.problem = "it is larger than 2 MiB, or than what is read of one host together"
	}
	if d.absent || d.problem != "" {
		return d
	}
	text := d.raw
	if strings.HasPrefix(x.Response.Header.Get("Content-Type"), "text/event-stream") {
		if text = event(d.raw); text != nil {
			d.from = bytes.Index(d.raw, text)
		}
	}
	value, err := exchange.ParseValue(text)
	o, ok := value.(*exchange.Object)
	if err != nil || !ok {
		d.problem = "it is not a JSON object, or holds a name twice or text that is not UTF-8"
		return d
	}
	d.raw, d.value = d.raw[:d.from+len(text)], node{o, ""}
	return d
}

// event is the data of the first event of a stream that has any, nil where there is none.
func event(stream []byte) []byte {
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			return bytes.TrimSpace(data)
		}
	}
	return nil
}

// line is where a value, or its name, stands.
func (d *document) line(at jsontext.Pointer) int {
	dec := jsontext.NewDecoder(bytes.NewReader(d.raw[d.from:]))
	for token := range at.Tokens() {
		if !descend(dec, token) {
			break
		}
	}
	if within, _ := dec.StackIndex(dec.StackDepth()); within == '[' || dec.StackDepth() == 0 {
		dec.ReadToken() // an element has no name that was read
	}
	return 1 + bytes.Count(d.raw[:d.from+int(dec.InputOffset())], []byte("\n"))
}

// descend goes to a member, of which it reads the name, or to an element, of which it reads
// nothing; false where there is none. It takes time in the length of the text alone.
func descend(dec *jsontext.Decoder, token string) bool {
	t, err := dec.ReadToken()
	switch {
	case err != nil:
	case t.Kind() == '{':
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return false
			}
			if name.String() == token {
				return true
			}
			if dec.SkipValue() != nil {
				return false
			}
		}
	case t.Kind() == '[':
		n, err := strconv.Atoi(token)
		for ; err == nil && n > 0; n-- {
			err = dec.SkipValue()
		}
		return err == nil
	}
	return false
}

// A node is a value in a document, and where it stands.
type node struct {
	value any
	at    jsontext.Pointer
}

// said is a text of a document, and where it stands; the zero one is said nowhere.
type said struct {
	text string
	at   jsontext.Pointer
}

// get goes down by names; what is not there is a node of nothing.
func (n node) get(names ...string) node {
	for _, name := range names {
		v, _ := n.object().Get(name)
		n = node{v, n.at.AppendToken(name)}
	}
	return n
}

func (n node) object() *exchange.Object {
	o, _ := n.value.(*exchange.Object)
	return o
}

func (n node) there() bool { return n.value != nil }

// items are the members of a list, or nothing.
func (n node) items() []node {
	list, _ := n.value.([]any)
	var out []node
	for i, v := range list[:min(len(list), maxEntries)] {
		out = append(out, node{v, n.at.AppendToken(strconv.Itoa(i))})
	}
	return out
}

// members are the values of an object by their names, or nothing. A name longer than an address is
// that of nothing here, and would stand in the place of each value below it.
func (n node) members() []node {
	var out []node
	for name, v := range n.object().All() {
		if len(name) > exchange.MaxURL {
			continue
		}
		out = append(out, node{v, n.at.AppendToken(name)})
	}
	return out
}

// said is a text, or a number as JSON writes it.
func (n node) said() said {
	switch v := n.value.(type) {
	case string:
		return said{v, n.at}
	case float64:
		return said{strconv.FormatFloat(v, 'f', -1, 64), n.at}
	}
	return said{}
}

// first is the first of some members that is a text.
func (n node) first(names ...string) said {
	for _, name := range names {
		if s := n.get(name).said(); s.text != "" {
			return s
		}
	}
	return said{}
}

// names reports whether a reference of a document names the door. Without a query it names the
// door whatever is asked of it.
func names(ref string, d *document, door *url.URL) bool {
	base, err := url.Parse(d.url)
	if err != nil || ref == "" {
		return false
	}
	u, err := base.Parse(strings.TrimSpace(ref))
	return err == nil && u.Scheme == door.Scheme && strings.EqualFold(u.Host, door.Host) &&
		strings.TrimSuffix(u.EscapedPath(), "/") == strings.TrimSuffix(door.EscapedPath(), "/") &&
		(u.RawQuery == "" || u.RawQuery == door.RawQuery)
}
