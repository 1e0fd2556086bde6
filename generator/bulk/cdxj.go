package bulk

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/extsort"
)

// sortMemory bounds the lines of an index that are held in memory, in bytes.
const sortMemory = 8 << 20

// cdxjFields are what a line of the index says, in the order and the types of cdxj-indexer and
// pywb: numbers are text.
type cdxjFields struct {
	URL      string `json:"url"`
	MIME     string `json:"mime"`            // of the block
	Status   string `json:"status,omitzero"` // of the answer that the block tells of
	Digest   string `json:"digest"`          // of the block
	Length   string `json:"length"`          // of the gzip member
	Offset   string `json:"offset"`          // of the gzip member
	Filename string `json:"filename"`
}

// cdxj is the index of a WARC file in the making: a line for each record with a target, sorted by
// their bytes.
//
//	com,example)/paid 20261116060020 {"url":"https://example.com/paid","mime":"application/json",…}
type cdxj struct{ lines *extsort.Sorter }

func newCDXJ() cdxj { return cdxj{extsort.New(sortMemory)} }

// add takes a line. The date is as in WARC-Date, in whole seconds.
func (c cdxj) add(date string, f cdxjFields) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encoding a line of the index: %w", err)
	}
	at := strings.NewReplacer("-", "", "T", "", ":", "", "Z", "").Replace(date)
	return c.lines.Add([]byte(surt(f.URL)+" "+at+" "+string(raw)), nil)
}

// write writes all lines.
func (c cdxj) write(out *sink) error {
	for line, err := range c.lines.Sorted() {
		if err == nil {
			_, err = out.Write(append(line.Key[:len(line.Key):len(line.Key)], '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c cdxj) close() error { return c.lines.Close() }

// target is a URL as a WARC field and an index have it: what no URI may hold (RFC 3986, section 2),
// such as spaces, quotation marks, control characters and bytes beyond ASCII, is percent-encoded.
// It is "" for what is no absolute URI even so, or has a host or a port that no web address has.
func target(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		c := raw[i]
		stray := c == '%' && (i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]))
		if stray || c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	u, err := url.Parse(b.String())
	if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
		return ""
	}
	_, err = strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16)
	if err != nil || strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789-._:") != "" {
		return ""
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// surt is the key by which archives sort and look up a target: its host turned round, then port,
// path and query, without scheme, user, leading www, fragment, case, escapes that are not needed,
// and the order of the query. It has no space. What is no web address is its own key. Session
// identifiers in old frameworks' spellings, which the Internet Archive's program takes out, stay.
func surt(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return target
	}
	host := strings.Trim(strings.ToLower(u.Hostname()), ".")
	if lead, rest, ok := strings.Cut(host, "."); ok && strings.HasPrefix(lead, "www") &&
		strings.Trim(lead[len("www"):], "0123456789") == "" {
		host = rest
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	key := unspaced(strings.Join(labels, ","))
	if p := u.Port(); p != "" && !(u.Scheme == "http" && p == "80") && !(u.Scheme == "https" && p == "443") {
		key += ":" + p
	}
	key += ")" + strings.ToLower(unspaced(path.Clean("/"+unescaped(u.EscapedPath()))))
	if u.RawQuery == "" {
		return key
	}
	args := strings.Split(strings.ToLower(unspaced(unescaped(u.RawQuery))), "&")
	slices.SortStableFunc(args, func(a, b string) int {
		aName, aValue, _ := strings.Cut(a, "=")
		bName, bValue, _ := strings.Cut(b, "=")
		return cmp.Or(strings.Compare(aName, bName), strings.Compare(aValue, bValue))
	})
	return key + "?" + strings.Join(args, "&")
}

// unescaped takes percent-encoding away until none is left.
func unescaped(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		out = append(out, s[i])
		for n := len(out); n >= 3 && out[n-3] == '%' && isHex(out[n-2]) && isHex(out[n-1]); n = len(out) {
			c, _ := strconv.ParseUint(string(out[n-2:]), 16, 8)
			out = append(out[:n-3], byte(c))
		}
	}
	return string(out)
}

// unspaced percent-encodes what would end a key or be read as an escape.
func unspaced(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '%' || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
