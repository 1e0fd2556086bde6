package fetch

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/corpus/exchange"

	"golang.org/x/net/idna"
)

// target is a URL that may be contacted as far as its spelling goes.
type target struct {
	scheme  string
	host    string     // canonical: lower case, IDNA ASCII form, no trailing dot; an IPv6 address without brackets
	literal netip.Addr // when the host is an address
	port    uint16
	path    string // escaped path and query, "" or beginning with / or ?
	secret  bool   // what is sent there, or answered, is not everybody's
}

// authority is the host, and the port where it is not the scheme's own (RFC 9421, section 2.2.3).
func (t target) authority() string {
	host := t.host
	if t.literal.Is6() {
		host = "[" + host + "]"
	}
	if t.port != defaultPort(t.scheme) {
		host += ":" + strconv.Itoa(int(t.port))
	}
	return host
}

func (t target) url() string { return t.scheme + "://" + t.authority() + t.path }

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

// target reads a URL and refuses every spelling that two readers could read differently. Its error
// is a *Refusal.
func (g *guard) target(raw string, rule Rule) (target, error) {
	if strings.TrimSpace(raw) == "" {
		return target{}, &Refusal{CodeMissing, "no URL was given"}
	}
	if len(raw) > exchange.MaxURL/2 {
		return target{}, refuse("the URL is longer than %d bytes", exchange.MaxURL/2)
	}
	if g.ownHosts[looseHost(raw)] {
		return target{}, &Refusal{CodeOwnHost, "the URL names this service's own host"}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return target{}, &Refusal{CodeUnparseable, "not an absolute URL with a host"}
	}
	if r := spelling(raw); r != "" {
		return target{}, refuse("%s", r)
	}
	t := target{scheme: u.Scheme, path: u.EscapedPath()}
	if t.scheme != "https" && !(t.scheme == "http" && rule.PlainHTTP) {
		return target{}, refuse("the scheme must be https")
	}
	if u.User != nil {
		return target{}, refuse("credentials in the URL")
	}
	host, port, _ := strings.Cut(u.Host, ":")
	if bracket := strings.LastIndexByte(u.Host, ']'); bracket >= 0 {
		host, port = u.Host[:bracket+1], strings.TrimPrefix(u.Host[bracket+1:], ":")
	}
	if t.port, err = g.port(t.scheme, port, strings.HasSuffix(u.Host, ":")); err != nil {
		return target{}, err
	}
	if t.host, t.literal, err = g.host(host); err != nil {
		return target{}, err
	}
	if g.ownHosts[t.host] {
		return target{}, &Refusal{CodeOwnHost, "the URL names this service's own host"}
	}
	if t.literal.IsValid() {
		if err := g.address(t.literal); err != nil {
			return target{}, err
		}
	}
	if u.RawQuery != "" || u.ForceQuery {
		t.path += "?" + escapeHigh(u.RawQuery)
	}
	if len(t.url()) > exchange.MaxURL {
		return target{}, refuse("the URL is longer than %d bytes", exchange.MaxURL)
	}
	return t, nil
}

// spelling names what makes a URL's text ambiguous, "" for nothing.
func spelling(raw string) string {
	if !utf8.ValidString(raw) {
		return "the URL is not UTF-8"
	}
	for _, r := range raw {
		switch {
		case unicode.IsControl(r) || unicode.IsSpace(r):
			return "white space or a control character in the URL"
		case r == '\\':
			return "a backslash in the URL"
		case r == '#':
			return "a fragment in the URL"
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector):
			return "an invisible character in the URL"
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "the scheme must be https"
	}
	authority := rest[:len(rest)-len(strings.TrimLeftFunc(rest,
		func(r rune) bool { return !strings.ContainsRune("/?#", r) }))]
	if strings.Contains(authority, "@") {
		return "credentials in the URL"
	}
	if strings.Contains(authority, "%") {
		return "percent-encoding or a zone in the host"
	}
	return ""
}

func (g *guard) port(scheme, port string, colon bool) (uint16, error) {
	standard := defaultPort(scheme)
	if port == "" {
		if colon {
			return 0, refuse("a colon without a port")
		}
		return standard, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port {
		return 0, refuse("a port spelled oddly")
	}
	if uint16(n) != standard && (g.allow == nil || !slices.Contains(g.allow.Ports, uint16(n))) {
		return 0, refuse("not the default port")
	}
	return uint16(n), nil
}

// host returns the canonical form of a host as it stands in a URL, and the address if it is one.
func (g *guard) host(host string) (string, netip.Addr, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "", netip.Addr{}, refuse("a host in brackets that is no plain IPv6 address")
		}
		return a.String(), a, nil
	}
	name := host
	ascii := isASCII(host)
	if !ascii || strings.Contains(strings.ToLower(host), "xn--") {
		mapped, err := lookupProfile.ToASCII(strings.TrimSuffix(host, "."))
		if err != nil {
			return "", netip.Addr{}, refuse("a host that is no valid internationalised name")
		}
		if !ascii && !strings.Contains(mapped, "xn--") {
			return "", netip.Addr{}, refuse("a host of plain letters spelled with others")
		}
		name = mapped
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if len(name) > 253 {
		return "", netip.Addr{}, refuse("a host of more than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !isLabel(l) {
			return "", netip.Addr{}, refuse("a host that is no domain name")
		}
	}
	last := labels[len(labels)-1]
	if isNumber(last) {
		a, err := netip.ParseAddr(name)
		if err != nil || name != host {
			return "", netip.Addr{}, refuse("an IPv4 address spelled oddly")
		}
		return name, a, nil
	}
	if g.allow == nil {
		if len(labels) == 1 {
			return "", netip.Addr{}, refuse("a host without a dot is no public name")
		}
		for _, s := range privateNames {
			if name == s || strings.HasSuffix(name, "."+s) {
				return "", netip.Addr{}, refuse("names under %q are not public", s)
			}
		}
	}
	return name, netip.Addr{}, nil
}

// privateNames are not in the public name space (RFC 6761, 6762, 7686, 8375, 9476, ICANN on
// .internal).
var privateNames = []string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp",
	"private", "home.arpa", "arpa", "onion", "alt", "invalid"}

// lookupProfile is how a browser reads a name with letters beyond ASCII (UTS 46, nontransitional).
var lookupProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true),
	idna.Transitional(false), idna.VerifyDNSLength(true))

// isLabel accepts letters, digits, hyphens and, as deployed names have them, underscores.
func isLabel(s string) bool {
	if len(s) == 0 || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// isNumber reports whether a browser would read a host with this last label as an IPv4 address
// (WHATWG URL, "ends in a number").
func isNumber(label string) bool {
	digits := func(s, set string) bool { return strings.Trim(s, set) == "" }
	if hex, ok := strings.CutPrefix(label, "0x"); ok && digits(hex, "0123456789abcdef") {
		return true
	}
	return digits(label, "0123456789")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// escapeHigh percent-encodes what does not belong into a request line.
func escapeHigh(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c > '~' || c == '"' || c == '<' || c == '>' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// looseHost reads the host of anything that looks like a URL or a host as the most forgiving reader
// would, so that our own name is known under every spelling. It is "" when there is none.
func looseHost(raw string) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		if r == '\\' {
			return '/'
		}
		return r
	}, raw)
	for _, scheme := range []string{"https:", "http:"} {
		if len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			s = s[len(scheme):]
			break
		}
	}
	s = strings.TrimLeft(s, "/")
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	s = s[strings.LastIndexByte(s, '@')+1:]
	for range 3 { // encoded once, or again by a careful caller
		if d, err := url.PathUnescape(s); err == nil {
			s = d
		}
	}
	s, _ = looseProfile.ToASCII(s) // as far as it comes
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "[") {
		s, _, _ = strings.Cut(s[1:], "]")
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	return strings.Trim(s, ".")
}

// looseProfile maps letters and checks nothing.
var looseProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
