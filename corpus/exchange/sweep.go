package exchange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json/jsontext"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// Bounds of the search for addresses in other text than payTo.
const (
	minSwept  = 20  // shorter addresses are not looked for, as they may be words
	maxSwept  = 512 // nothing longer is an address of anything
	maxNested = 4   // how often base64 is undone
)

// sweeper knows the addresses of a response and puts stand-ins in their place. Its work grows with
// the length of the texts, not with the number of addresses.
type sweeper struct {
	numbers  map[string]int // by addressKey
	standIns []StandIn
	hex      map[string]int    // of addresses that are looked for: by 40 lower-case digits
	others   map[string]string // any other address that is looked for, and its stand-in
	// replacer looks for all of others at once; nil when others grew.
	replacer *strings.Replacer
	nested   int // how often base64 was undone where the sweeper is
}

func newSweeper() *sweeper {
	return &sweeper{numbers: map[string]int{}, hex: map[string]int{}, others: map[string]string{}}
}

func isPayTo(name string) bool { return name == "payTo" || name == "pay_to" || name == "recipient" }

// networkOf is the network of the addresses in an object.
func networkOf(o *Object, outer string) string {
	if network, ok := o.text("network"); ok {
		return network
	}
	member, _ := o.Get("methodDetails")
	details, _ := member.(*Object)
	for _, holder := range []*Object{o, details} {
		member, _ := holder.Get("chainId")
		if id, ok := member.(float64); ok {
			return "eip155:" + strconv.FormatFloat(id, 'f', -1, 64)
		}
	}
	return outer
}

// learn collects the addresses of a value, those too that stand in it in base64, as in signed
// offers. paid says that a text is one.
func (s *sweeper) learn(v any, network string, paid bool) {
	switch v := v.(type) {
	case string:
		if paid {
			s.add(v, network)
			return
		}
		s.inBase64(v, func(plain string) string {
			if strings.HasPrefix(plain, "{") {
				if o, err := ParseValue([]byte(plain)); err == nil {
					s.learn(o, network, false)
				}
			}
			return plain
		})
	case []any:
		for _, m := range v {
			s.learn(m, network, paid && mayPay(m))
		}
	case *Object:
		network = networkOf(v, network)
		for name, m := range v.All() {
			s.learn(m, network, isPayTo(name) || paid && mayPay(m))
		}
	}
}

// mayPay reports whether a part of a payTo that is no text may be an address: the words of a schema
// of one are none.
func mayPay(v any) bool {
	text, ok := v.(string)
	form := PayToForm(text)
	return !ok || form == FormEVM || form == FormEVMBadChecksum || form == FormSolana
}

// add makes an address known that stands beside a network.
func (s *sweeper) add(address, network string) {
	form, key := PayToForm(address), addressKey(address)
	if form == FormEmpty || form == FormEVMZero {
		return
	}
	_, known := s.numbers[key]
	n := s.number(key)
	s.standIns = append(s.standIns,
		StandIn{standIn(key, n), networks.CAIP2Name(network), PayToDigest(network, address)})
	switch {
	case known, networks.IsToken(address): // which stays where it is an asset
	case form == FormEVM, form == FormEVMBadChecksum:
		s.hex[key[2:]] = n
	case len(address) >= minSwept && len(address) <= maxSwept:
		s.others[address], s.replacer = standIn(address, n), nil
	}
}

func (s *sweeper) number(key string) int {
	n, known := s.numbers[key]
	if !known {
		n = len(s.numbers) + 1
		s.numbers[key] = n
	}
	return n
}

// payTo is what stands in the place of an address.
func (s *sweeper) payTo(address string) string {
	return standIn(address, s.number(addressKey(address)))
}

// sweep replaces each known address in a text, also where it is written in base64, or its letters
// and digits as in URLs.
func (s *sweeper) sweep(text string) string {
	out := s.replace(text)
	if len(s.numbers) == 0 {
		return out
	}
	if plain := unescaped(text); plain != text {
		if shown := s.replace(plain); shown != unescaped(out) {
			out = shown
		}
	}
	return s.inBase64(out, s.inside)
}

// inside is sweep for what stood in base64, in which an object is one of terms.
func (s *sweeper) inside(plain string) string {
	if strings.HasPrefix(plain, "{") && jsontext.Value(plain).IsValid() {
		return string(s.rewrite([]byte(plain)))
	}
	return s.sweep(plain)
}

var escape = regexp.MustCompile(`%(3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])`)

// unescaped undoes the escapes of letters and digits, which say the same without (RFC 3986, section
// 6.2.2.2).
func unescaped(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		c, _ := strconv.ParseUint(e[1:], 16, 8)
		return string(rune(c))
	})
}

// replace puts stand-ins for the known addresses. What a door itself writes in the form of a
// stand-in gets a number of its own, so that it is that of no address.
func (s *sweeper) replace(text string) string {
	own := findStandIns(text)
	if own == nil {
		return s.replaceHex(text)
	}
	var b strings.Builder
	done := 0
	for _, at := range own {
		theirs, zerox := text[at[0]:at[1]], ""
		if strings.HasPrefix(theirs, substituteHex) {
			zerox = "0x"
		}
		b.WriteString(s.replaceHex(text[done:at[0]]) + strings.TrimPrefix(s.payTo(zerox+theirs), zerox))
		done = at[1]
	}
	return b.String() + s.replaceHex(text[done:])
}

// replaceHex looks at every 40 hexadecimal digits in a row, so that an address of EVM is found in
// longer hexadecimal too, and for the others between them.
func (s *sweeper) replaceHex(text string) string {
	const size = 40
	if len(s.hex) == 0 {
		return s.replaceOthers(text)
	}
	var b strings.Builder
	done, run := 0, 0 // text before done is written; run is how many digits end at i
	for i := range len(text) {
		run++
		if !isHexDigit(text[i]) {
			run = 0
		}
		if run < size {
			continue
		}
		begin := i + 1 - size
		if n, ok := s.hex[strings.ToLower(text[begin:i+1])]; ok {
			b.WriteString(s.replaceOthers(text[done:begin]) + standIn("0x"+text[begin:i+1], n)[2:])
			done, run = i+1, 0
		}
	}
	return b.String() + s.replaceOthers(text[done:])
}

func (s *sweeper) replaceOthers(text string) string {
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

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// inBase64 gives what stands in each base64 word of a text to change, and puts what that makes of
// it in the word's place. A word is read whole, and between slashes, as in URLs.
func (s *sweeper) inBase64(text string, change func(plain string) string) string {
	if s.nested == maxNested {
		return text
	}
	s.nested++
	defer func() { s.nested-- }()
	var b strings.Builder
	done := 0 // text before is written
	for at, end := 0, 0; at < len(text); at = end + 1 {
		for end = at; end < len(text) && isBase64Digit(text[end]); {
			end++
		}
		word := text[at:end]
		if len(word) < minSwept {
			continue
		}
		if other := inWord(word, change); other != word {
			b.WriteString(text[done:at] + other)
			for done = end; done < len(text) && text[done] == '='; {
				done++
			}
			if done > end {
				b.WriteString(strings.Repeat("=", -len(other)&3))
			}
		}
	}
	return b.String() + text[done:]
}

// isBase64Digit reports whether a byte is of either alphabet.
func isBase64Digit(c byte) bool {
	return isHexDigit(c) || c >= 'g' && c <= 'z' || c >= 'G' && c <= 'Z' || c == '+' || c == '/' || c == '-' || c == '_'
}

func inWord(word string, change func(plain string) string) string {
	if !strings.ContainsAny(word, "+/") {
		return changed(base64.RawURLEncoding, word, change)
	}
	if whole := changed(base64.RawStdEncoding, word, change); whole != word {
		return whole
	}
	parts := strings.Split(word, "/")
	for i, part := range parts {
		parts[i] = changed(base64.RawURLEncoding, part, change)
	}
	return strings.Join(parts, "/")
}

func changed(e *base64.Encoding, word string, change func(plain string) string) string {
	plain, err := e.DecodeString(word)
	if err != nil || len(plain) < minSwept {
		return word
	}
	if other := change(string(plain)); other != string(plain) {
		return e.EncodeToString([]byte(other))
	}
	return word
}

// rewrite puts stand-ins into strict JSON, in which all else stays as it is spelled.
func (s *sweeper) rewrite(text []byte) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	var out []byte
	done, paid := 0, false // text before done is written; what comes next is the value of a payTo
	for {
		if d.PeekKind() != '"' {
			paid = false
			if _, err := d.ReadToken(); err != nil {
				return append(out, text[done:]...) // the end
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return append(out, text[done:]...)
		}
		plain, _ := jsontext.AppendUnquote(nil, raw)
		was, end := string(plain), int(d.InputOffset())
		now := s.sweep(was)
		if paid {
			now = s.payTo(was)
		}
		if now != was {
			out = append(out, text[done:end-len(raw)]...)
			out, _ = jsontext.AppendQuote(out, now)
			done = end
		}
		container, n := d.StackIndex(d.StackDepth())
		paid = container == '{' && n%2 == 1 && isPayTo(was)
	}
}
