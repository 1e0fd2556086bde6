package exchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json/jsontext"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// node is a JSON value that keeps the order of members and the spelling of
// numbers.
type node struct {
	kind    jsontext.Kind
	text    string      // of a string, decoded; of a number, true, false or null, as it is spelled
	members []member    // of an object, or of an array, without names
	jws     *compactJWS // of a string that is one
}

// compactJWS is a compact JWS taken apart, see splitJWS.
type compactJWS struct {
	header, payload *node
	signature       int // bytes
	canonical       bool
}

type member struct {
	name  string
	value node
}

func (n *node) member(name string) *node {
	if n.kind != '{' {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value
		}
	}
	return nil
}

func parseTree(text []byte) (*node, error) {
	r := treeReaders.Get().(*treeReader)
	defer r.free()
	r.d.Reset(bytes.NewBuffer(text))
	n := &node{}
	if err := r.read(n, 0); err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(text[r.d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, ErrMore
	}
	return n, nil
}

// treeReader reads trees, one after the other.
type treeReader struct {
	d    *jsontext.Decoder
	open []member // those of the arrays and objects that have not ended
}

var treeReaders = sync.Pool{New: func() any { return &treeReader{d: jsontext.NewDecoder(&bytes.Buffer{})} }}

// free keeps the reader for another text, unless this one made it large.
func (r *treeReader) free() {
	const most = 256
	if cap(r.open) > most || r.d.InputOffset() > maxShownValue*16 {
		return
	}
	clear(r.open[:cap(r.open)])
	r.open = r.open[:0]
	r.d.Reset(&bytes.Buffer{})
	treeReaders.Put(r)
}

func (r *treeReader) read(n *node, depth int) error {
	if depth > maxShownDepth {
		return errors.New("JSON nested too deeply")
	}
	n.kind = r.d.PeekKind()
	switch n.kind {
	case '{', '[':
		return r.members(n, depth)
	case '"':
		t, err := r.d.ReadToken()
		if err != nil {
			return err
		}
		n.text = t.String()
		n.jws = splitJWS(n.text)
	default:
		v, err := r.d.ReadValue()
		if err != nil {
			return err
		}
		n.text = string(v)
	}
	return nil
}

func (r *treeReader) members(n *node, depth int) error {
	if _, err := r.d.ReadToken(); err != nil {
		return err
	}
	first := len(r.open)
	for k := r.d.PeekKind(); k != '}' && k != ']'; k = r.d.PeekKind() {
		m := member{}
		if n.kind == '{' {
			t, err := r.d.ReadToken()
			if err != nil {
				return err
			}
			m.name = t.String()
		}
		if err := r.read(&m.value, depth+1); err != nil {
			return err
		}
		r.open = append(r.open, m)
	}
	n.members = slices.Clone(r.open[first:])
	r.open = r.open[:first]
	_, err := r.d.ReadToken()
	return err
}

// maxSwept is how much of a longer address is looked for in other text: beyond it nothing is an
// address of anything.
const maxSwept = 512

// sweeper knows the addresses of a response and takes them out of its texts. Its
// work grows with the length of the texts, not with the number of addresses.
type sweeper struct {
	hex    map[string]string // 40 lower-case digits: what is written instead
	others map[string]string // any other address, at most maxSwept bytes
	// replacer looks for all of others at once; nil when others grew.
	replacer *strings.Replacer
	scratch  []byte // see hides
	repeated bool   // names that differed became equal where they were written
}

func isPayTo(name string) bool {
	return name == "payTo" || name == "pay_to" || name == "recipient"
}

// networkOf is the network of the addresses in an object.
func networkOf(n *node, outer string) string {
	if v := n.member("network"); v != nil && v.kind == '"' {
		return v.text
	}
	for _, holder := range []*node{n, n.member("methodDetails")} {
		if holder == nil {
			continue
		}
		if v := holder.member("chainId"); v != nil && v.kind == '0' {
			return "eip155:" + v.text
		}
	}
	return outer
}

// learn collects the addresses of a tree, those inside signed offers too.
func (s *sweeper) learn(n *node, network string) {
	if n.jws != nil {
		s.learn(n.jws.header, network)
		s.learn(n.jws.payload, network)
	}
	network = networkOf(n, network)
	for i := range n.members {
		m := &n.members[i]
		if isPayTo(m.name) && m.value.kind == '"' {
			s.add(m.value.text, network)
		}
		s.learn(&m.value, network)
	}
}

func (s *sweeper) add(address, network string) {
	if len(address) < minSweptLength {
		return
	}
	mark := "[pay-to " + PayToDigest(network, address)[:16] + "]"
	into, key := &s.others, address[:min(len(address), maxSwept)]
	if isHexAddress(address) {
		// Also as it stands inside longer hexadecimal, without 0x.
		into, key = &s.hex, strings.ToLower(address[2:])
	}
	if *into == nil {
		*into = map[string]string{}
	}
	if _, known := (*into)[key]; !known {
		(*into)[key], s.replacer = mark, nil
	}
}

// sweep replaces each known address in text, and a base64 word that hides one.
// What a door itself writes in the form of such a mark is marked as no mark.
func (s *sweeper) sweep(text string) string {
	text = strings.ReplaceAll(text, "[pay-to ", "[no pay-to ")
	if len(text) < minSweptLength {
		return text
	}
	text = s.replace(text)
	if s.hides(text) {
		return "[hidden pay-to, sha256 " + digestOf([]byte(text)) + "]"
	}
	return text
}

// replace puts marks for the known addresses, in one pass for each kind.
func (s *sweeper) replace(text string) string {
	if len(s.hex) > 0 {
		text = s.replaceHex(text)
	}
	if len(s.others) == 0 {
		return text
	}
	if s.replacer == nil {
		var pairs []string
		// The longest first: where one address begins another, the longer one stands there.
		for _, key := range slices.SortedFunc(maps.Keys(s.others),
			func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
			pairs = append(pairs, key, s.others[key])
		}
		s.replacer = strings.NewReplacer(pairs...)
	}
	return s.replacer.Replace(text)
}

// replaceHex looks at every 40 hexadecimal digits in a row.
func (s *sweeper) replaceHex(text string) string {
	const size = 40
	var b strings.Builder
	var lower [size]byte
	done, run := 0, 0 // text before done is written; run is how many digits end at i
	for i := range len(text) {
		run++
		if !isHexDigit(text[i]) {
			run = 0
		}
		if run < size {
			continue
		}
		for j := range lower {
			lower[j] = text[i+1-size+j]
			if lower[j] <= 'F' && lower[j] >= 'A' {
				lower[j] += 'a' - 'A'
			}
		}
		if mark, ok := s.hex[string(lower[:])]; ok {
			b.WriteString(strings.TrimSuffix(text[done:i+1-size], "0x") + mark)
			done, run = i+1, 0
		}
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// hides reports whether a base64 word in text decodes to a known address.
func (s *sweeper) hides(text string) bool {
	if len(s.hex)+len(s.others) == 0 {
		return false
	}
	end := 0
	for at := 0; at < len(text); at = end + 1 {
		for end = at; end < len(text) && isBase64Digit(text[end]); {
			end++
		}
		w := text[at:end]
		if len(w) < minSweptLength {
			continue
		}
		e := base64.RawStdEncoding // a word of neither alphabet's own digits reads alike in both
		if strings.ContainsAny(w, "-_") {
			e = base64.RawURLEncoding // and one with digits of both in neither
		}
		b, err := e.AppendDecode(s.scratch[:0], []byte(w))
		if s.scratch = b[:0]; err != nil || len(b) < minSweptLength {
			continue
		}
		if shown := string(b); s.replace(shown) != shown {
			return true
		}
	}
	return false
}

// isBase64Digit reports whether a byte is of either alphabet of base64.
func isBase64Digit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '-' ||
		c == '_'
}

// write appends the redacted form of a tree to b and returns it as a value too, as ParseValue would
// read it from there.
func (s *sweeper) write(b []byte, n *node, network string) ([]byte, any) {
	switch n.kind {
	case '{':
		return s.writeObject(b, n, networkOf(n, network))
	case '[':
		b = append(b, '[')
		list := make([]any, len(n.members))
		for i := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b, list[i] = s.write(b, &n.members[i].value, network)
		}
		return append(b, ']'), list
	case '"':
		if n.jws != nil {
			return s.writeJWS(b, n.jws, network)
		}
		text := strings.ToValidUTF8(s.sweep(n.text), "�")
		return quote(b, text), text
	case '0':
		return append(b, n.text...), double(n.text)
	case 'n':
		return append(b, n.text...), nil
	}
	return append(b, n.text...), n.kind == 't'
}

func (s *sweeper) writeObject(b []byte, n *node, network string) ([]byte, any) {
	out := newObject(len(n.members))
	var swept map[string]bool // all names so far, once one of them is no UTF-8 any more
	b = append(b, '{')
	for i := range n.members {
		m := &n.members[i]
		name := s.sweep(m.name)
		valid := strings.ToValidUTF8(name, "�")
		if swept == nil && valid != name {
			swept = map[string]bool{}
			for _, before := range out.names {
				swept[before] = true
			}
		}
		if swept[name] || swept == nil && out.at(name) >= 0 {
			continue // two names that differ in an address only
		}
		if swept != nil {
			swept[name] = true
		}
		if valid == "jws" && len(n.members) == 1 {
			valid = "no jws" // the door's own object, in the form of a redacted JWS
		}
		if out.Len() > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, valid), ':')
		var v any
		if isPayTo(m.name) {
			b, v = writePayTo(b, &m.value, network)
		} else {
			b, v = s.write(b, &m.value, network)
		}
		s.repeated = s.repeated || out.at(valid) >= 0
		out.Set(valid, v)
	}
	return append(b, '}'), out
}

func (s *sweeper) writeJWS(b []byte, j *compactJWS, network string) ([]byte, any) {
	in := newObject(4)
	var header, payload any
	b = append(b, `{"jws":{"header":`...)
	b, header = s.write(b, j.header, network)
	b = append(b, `,"payload":`...)
	b, payload = s.write(b, j.payload, network)
	b = append(strconv.AppendInt(append(b, `,"signature_bytes":`...), int64(j.signature), 10), `,"canonical":`...)
	b = append(strconv.AppendBool(b, j.canonical), "}}"...)
	in.Set("header", header)
	in.Set("payload", payload)
	in.Set("signature_bytes", float64(j.signature))
	in.Set("canonical", j.canonical)
	out := newObject(1)
	out.Set("jws", in)
	return b, out
}

func writePayTo(b []byte, n *node, network string) ([]byte, any) {
	out := newObject(2)
	if n.kind != '"' {
		out.Set("form", FormNotAString)
		return append(b, `{"form":"`+FormNotAString+`"}`...), out
	}
	form, digest := PayToForm(n.text), PayToDigest(network, n.text)
	out.Set("form", form)
	out.Set("digest", digest)
	return append(b, `{"form":"`+form+`","digest":"`+digest+`"}`...), out
}

func quote(b []byte, s string) []byte {
	// No bad UTF-8 comes here, so quoting cannot fail.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// splitJWS takes a compact JWS apart whose header and payload are JSON
// objects, nil for any other text. canonical says that all three parts are
// unpadded base64url in their one spelling.
func splitJWS(s string) *compactJWS {
	if !strings.HasPrefix(s, "eyJ") || len(s) > maxChallenge || strings.Count(s, ".") != 2 {
		return nil
	}
	j := &compactJWS{canonical: true}
	var raw [3][]byte
	i := 0
	for p := range strings.SplitSeq(s, ".") {
		// What decodes strictly is what encoding gives, but for line breaks, which decoders pass
		// over.
		b, err := base64.RawURLEncoding.Strict().DecodeString(p)
		if p == "" || err != nil || strings.ContainsAny(p, "\r\n") {
			var ok bool
			if b, _, ok = decodeBase64(p, urlFirst); !ok {
				return nil
			}
			j.canonical = false
		}
		raw[i] = b
		i++
	}
	var err error
	if j.header, err = parseTree(raw[0]); err != nil || j.header.kind != '{' {
		return nil
	}
	if j.payload, err = parseTree(raw[1]); err != nil || j.payload.kind != '{' {
		return nil
	}
	j.signature = len(raw[2])
	return j
}
