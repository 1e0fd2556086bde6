package exchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that keeps the order of members and the spelling of
// numbers.
type node struct {
	kind    jsontext.Kind
	text    string // of a string, decoded
	raw     []byte // of a number, true, false or null
	members []member
	items   []*node
}

type member struct {
	name  string
	value *node
}

func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func parseTree(text []byte) (*node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	n, err := readTree(d, 0)
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

func readTree(d *jsontext.Decoder, depth int) (*node, error) {
	if depth > maxShownDepth {
		return nil, errors.New("JSON nested too deeply")
	}
	n := &node{kind: d.PeekKind()}
	switch n.kind {
	case '{', '[':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
			name := ""
			if n.kind == '{' {
				t, err := d.ReadToken()
				if err != nil {
					return nil, err
				}
				name = t.String()
			}
			v, err := readTree(d, depth+1)
			if err != nil {
				return nil, err
			}
			if n.kind == '{' {
				n.members = append(n.members, member{name, v})
			} else {
				n.items = append(n.items, v)
			}
		}
		_, err := d.ReadToken()
		return n, err
	case '"':
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		n.text = t.String()
	default:
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		n.raw = bytes.Clone(v)
	}
	return n, nil
}

// maxSwept is how much of a longer address is looked for in other text: beyond it nothing is an address of anything.
const maxSwept = 512

// sweeper knows the addresses of a response and takes them out of its texts. Its
// work grows with the length of the texts, not with the number of addresses.
type sweeper struct {
	hex    map[string]string // 40 lower-case digits: what is written instead
	others map[string]string // any other address, at most maxSwept bytes
	// replacer looks for all of others at once; nil when others grew.
	replacer *strings.Replacer
}

func isPayTo(name string) bool {
	return slices.Contains([]string{"payTo", "pay_to", "recipient"}, name)
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
			return "eip155:" + string(v.raw)
		}
	}
	return outer
}

// learn collects the addresses of a tree, those inside signed offers too.
func (s *sweeper) learn(n *node, network string) {
	if n.kind == '"' {
		if header, payload, _, _, ok := splitJWS(n.text); ok {
			s.learn(header, network)
			s.learn(payload, network)
		}
	}
	network = networkOf(n, network)
	for _, m := range n.members {
		if isPayTo(m.name) && m.value.kind == '"' {
			s.add(m.value.text, network)
		}
		s.learn(m.value, network)
	}
	for _, v := range n.items {
		s.learn(v, network)
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
	text = s.replace(strings.ReplaceAll(text, "[pay-to ", "[no pay-to "))
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
		for _, key := range slices.SortedFunc(maps.Keys(s.others), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
			pairs = append(pairs, key, s.others[key])
		}
		s.replacer = strings.NewReplacer(pairs...)
	}
	return s.replacer.Replace(text)
}

// replaceHex looks at every 40 hexadecimal digits in a row.
func (s *sweeper) replaceHex(text string) string {
	const size = 40
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	var b strings.Builder
	done, run := 0, 0 // text before done is written; run is how many digits end at i
	for i, c := range lower {
		run++
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			run = 0
		}
		if run < size {
			continue
		}
		if mark, ok := s.hex[string(lower[i+1-size:i+1])]; ok {
			b.WriteString(strings.TrimSuffix(text[done:i+1-size], "0x") + mark)
			done, run = i+1, 0
		}
	}
	return b.String() + text[done:]
}

// hides reports whether a base64 word in text decodes to a known address.
func (s *sweeper) hides(text string) bool {
	if len(s.hex)+len(s.others) == 0 {
		return false
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("+/-_", r))
	})
	for _, w := range words {
		if len(w) < minSweptLength {
			continue
		}
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			b, err := e.DecodeString(w)
			if err != nil || len(b) < minSweptLength {
				continue
			}
			if shown := string(b); s.replace(shown) != shown {
				return true
			}
		}
	}
	return false
}

// write appends the redacted form of a tree.
func (s *sweeper) write(b []byte, n *node, network string) []byte {
	switch n.kind {
	case '{':
		network = networkOf(n, network)
		b = append(b, '{')
		names := map[string]bool{}
		for _, m := range n.members {
			name := s.sweep(m.name)
			if names[name] {
				continue // two names that differ in an address only
			}
			names[name] = true
			if name == "jws" && len(n.members) == 1 {
				name = "no jws" // the door's own object, in the form of a redacted JWS
			}
			if len(names) > 1 {
				b = append(b, ',')
			}
			b = append(quote(b, name), ':')
			if isPayTo(m.name) {
				b = writePayTo(b, m.value, network)
			} else {
				b = s.write(b, m.value, network)
			}
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, v := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.write(b, v, network)
		}
		return append(b, ']')
	case '"':
		if header, payload, size, canonical, ok := splitJWS(n.text); ok {
			b = append(b, `{"jws":{"header":`...)
			b = append(s.write(b, header, network), `,"payload":`...)
			b = append(s.write(b, payload, network), `,"signature_bytes":`...)
			b = append(strconv.AppendInt(b, int64(size), 10), `,"canonical":`...)
			return append(strconv.AppendBool(b, canonical), "}}"...)
		}
		return quote(b, s.sweep(n.text))
	default:
		return append(b, n.raw...)
	}
}

func writePayTo(b []byte, n *node, network string) []byte {
	if n.kind != '"' {
		return append(b, `{"form":"`+FormNotAString+`"}`...)
	}
	return append(b, `{"form":"`+PayToForm(n.text)+`","digest":"`+PayToDigest(network, n.text)+`"}`...)
}

func quote(b []byte, s string) []byte {
	// The decoder let no bad UTF-8 through, so quoting cannot fail.
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "�"))
	return b
}

// splitJWS takes a compact JWS apart whose header and payload are JSON
// objects. canonical says that all three parts are unpadded base64url in their
// one spelling.
func splitJWS(s string) (header, payload *node, signature int, canonical, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 || !strings.HasPrefix(s, "eyJ") || len(s) > maxChallenge {
		return nil, nil, 0, false, false
	}
	canonical = true
	var raw [3][]byte
	for i, p := range parts {
		b, _, ok := decodeBase64(p, urlFirst())
		if !ok {
			return nil, nil, 0, false, false
		}
		raw[i] = b
		canonical = canonical && base64.RawURLEncoding.EncodeToString(b) == p
	}
	header, err := parseTree(raw[0])
	if err != nil || header.kind != '{' {
		return nil, nil, 0, false, false
	}
	if payload, err = parseTree(raw[1]); err != nil || payload.kind != '{' {
		return nil, nil, 0, false, false
	}
	return header, payload, len(raw[2]), canonical, true
}
