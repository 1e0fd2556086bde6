package wallet

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// SignIn is a request to sign in (CAIP-122), written as the text a wallet shows
// and signs: EIP-4361 for Ethereum accounts, its sibling for Solana ones.
// Empty members are absent. Times are RFC 3339 text, kept as they were written.
type SignIn struct {
	Scheme         string // of the domain, optional: https
	Domain         string // RFC 3986 authority
	Address        string // EIP-55 form, or base58 of 32 bytes
	Statement      string // one line of printable ASCII
	URI            string
	Version        string // 1
	ChainID        string // decimal; on Solana a cluster name or CAIP-2 reference
	Nonce          string // at least 8 letters and digits
	IssuedAt       string
	ExpirationTime string
	NotBefore      string
	RequestID      string
	Resources      []string // URIs
}

// maxSignIn bounds a sign-in text in bytes.
const maxSignIn = 16 << 10

// ErrSignIn is returned for a sign-in text or request that is malformed.
var ErrSignIn = errors.New("not a sign-in message")

// dialect is what differs between the texts of the two families.
type dialect struct {
	account  string // the word in the first line
	address  func(string) error
	chain    *regexp.Regexp
	optional bool // every line after the address may be absent
}

func ethereum() dialect {
	return dialect{account: "Ethereum", chain: decimalForm, address: func(s string) error {
		_, err := ParseChecksummed(s)
		return err
	}}
}

func solana() dialect {
	return dialect{account: "Solana", chain: solanaChainForm, optional: true, address: func(s string) error {
		_, err := ParseSolanaAddress(s)
		return err
	}}
}

var (
	decimalForm     = regexp.MustCompile(`^(0|[1-9][0-9]{0,77})$`)
	solanaChainForm = regexp.MustCompile(`^(solana:)?[-_a-zA-Z0-9]{1,32}$`)
	schemeForm      = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)
	authorityForm   = regexp.MustCompile(
		`^([-a-zA-Z0-9._~!$&'()*+,;=:%]*@)?([-a-zA-Z0-9._~!$&'()*+,;=%]+|\[[0-9a-fA-F:.]+\])(:[0-9]*)?$`)
	uriForm       = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:[-a-zA-Z0-9._~:/?#\[\]@!$&'()*+,;=%]+$`)
	statementForm = regexp.MustCompile(`^[ -~]+$`)
	nonceForm     = regexp.MustCompile(`^[a-zA-Z0-9]{8,}$`)
	requestIDForm = regexp.MustCompile(`^[-a-zA-Z0-9._~!$&'()*+,;=:@%]+$`)
	momentForm    = regexp.MustCompile(
		`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`)
)

// fields lists the named lines in their order.
func (m *SignIn) fields() []struct {
	name  string
	value *string
} {
	return []struct {
		name  string
		value *string
	}{
		{"URI", &m.URI}, {"Version", &m.Version}, {"Chain ID", &m.ChainID}, {"Nonce", &m.Nonce},
		{"Issued At", &m.IssuedAt}, {"Expiration Time", &m.ExpirationTime}, {"Not Before", &m.NotBefore},
		{"Request ID", &m.RequestID},
	}
}

// Ethereum returns the text of EIP-4361.
func (m SignIn) Ethereum() (string, error) { return m.build(ethereum()) }

// Solana returns the text of Sign In With Solana.
func (m SignIn) Solana() (string, error) { return m.build(solana()) }

// ParseEthereum reads a text of EIP-4361. Every accepted text is the one that
// building its message again gives.
func ParseEthereum(text string) (SignIn, error) { return parseSignIn(text, ethereum()) }

// ParseSolana reads a text of Sign In With Solana, as strictly.
func ParseSolana(text string) (SignIn, error) { return parseSignIn(text, solana()) }

// VerifyEthereum reads a text of EIP-4361 and checks that its account signed it
// as a personal message. v may be 0, 1, 27 or 28. Smart accounts cannot be
// judged here: ask their chain with PersonalHash(text).
func VerifyEthereum(text string, signature []byte) (SignIn, error) {
	m, err := ParseEthereum(text)
	if err != nil {
		return SignIn{}, err
	}
	by, err := Recover(PersonalHash(text), NormalizeV(signature))
	if err != nil {
		return SignIn{}, err
	}
	if by.String() != m.Address {
		return SignIn{}, fmt.Errorf("%w: signed by %s, not by %s", ErrSignature, by, m.Address)
	}
	return m, nil
}

// VerifySolanaText reads a text of Sign In With Solana and checks that its
// account signed it.
func VerifySolanaText(text string, signature []byte) (SignIn, error) {
	m, err := ParseSolana(text)
	if err != nil {
		return SignIn{}, err
	}
	pub, err := ParseSolanaAddress(m.Address)
	if err != nil {
		return SignIn{}, err
	}
	if !VerifySolana(pub, text, signature) {
		return SignIn{}, fmt.Errorf("%w: not by %s", ErrSignature, m.Address)
	}
	return m, nil
}

func parseMoment(s string) (time.Time, error) {
	if !momentForm.MatchString(s) {
		return time.Time{}, fmt.Errorf("%w: %.40q is not an RFC 3339 time", ErrSignIn, s)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrSignIn, err)
	}
	return t, nil
}

func (m SignIn) build(d dialect) (string, error) {
	if err := m.check(d); err != nil {
		return "", err
	}
	text := m.text(d)
	// A Solana statement can look like a field; then the text means another
	// message than this one.
	if again, err := parseSignIn(text, d); err != nil || again.Differs(m) != "" {
		return "", fmt.Errorf("%w: the message cannot be told from another", ErrSignIn)
	}
	return text, nil
}

func (m SignIn) text(d dialect) string {
	var b strings.Builder
	if m.Scheme != "" {
		b.WriteString(m.Scheme + "://")
	}
	b.WriteString(m.Domain + " wants you to sign in with your " + d.account + " account:\n" + m.Address)
	if m.Statement != "" {
		b.WriteString("\n\n" + m.Statement)
	}
	var lines []string
	for _, f := range m.fields() {
		if *f.value != "" {
			lines = append(lines, f.name+": "+*f.value)
		}
	}
	if len(m.Resources) > 0 {
		lines = append(lines, "Resources:")
		for _, r := range m.Resources {
			lines = append(lines, "- "+r)
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n\n")
		if m.Statement == "" && !d.optional {
			b.WriteString("\n") // EIP-4361 keeps the statement's line
		}
		b.WriteString(strings.Join(lines, "\n"))
	}
	return b.String()
}

func (m SignIn) check(d dialect) error {
	fail := func(what, value string) error { return fmt.Errorf("%w: %s %.80q", ErrSignIn, what, value) }
	if m.Scheme != "" && !schemeForm.MatchString(m.Scheme) {
		return fail("scheme", m.Scheme)
	}
	if !authorityForm.MatchString(m.Domain) {
		return fail("domain", m.Domain)
	}
	if err := d.address(m.Address); err != nil {
		return fmt.Errorf("%w: %w", ErrSignIn, err)
	}
	if m.Statement != "" && !statementForm.MatchString(m.Statement) {
		return fail("statement", m.Statement)
	}
	isURI := func(s string) bool {
		_, err := url.Parse(s)
		return err == nil && uriForm.MatchString(s)
	}
	isMoment := func(s string) bool { _, err := parseMoment(s); return err == nil }
	for i, ok := range []func(string) bool{
		isURI, func(s string) bool { return s == "1" }, d.chain.MatchString, nonceForm.MatchString, isMoment,
		isMoment, isMoment, requestIDForm.MatchString,
	} {
		f := m.fields()[i]
		absent := *f.value == ""
		mandatory := i < 5 && !d.optional // URI to Issued At
		if absent && mandatory || !absent && !ok(*f.value) {
			return fail(f.name, *f.value)
		}
	}
	for _, r := range m.Resources {
		if !isURI(r) {
			return fail("resource", r)
		}
	}
	return nil
}

// readGreeting reads a message's first line: whose account signs in where.
func (m *SignIn) readGreeting(line string, d dialect) error {
	authority, ok := strings.CutSuffix(line, " wants you to sign in with your "+d.account+" account:")
	if !ok {
		return fmt.Errorf("%w: the first line", ErrSignIn)
	}
	if scheme, domain, ok := strings.Cut(authority, "://"); ok {
		m.Scheme, authority = scheme, domain
		if scheme == "" {
			return fmt.Errorf("%w: an empty scheme", ErrSignIn)
		}
	}
	m.Domain = authority
	return nil
}

func parseSignIn(text string, d dialect) (SignIn, error) {
	if len(text) > maxSignIn {
		return SignIn{}, fmt.Errorf("%w: longer than %d bytes", ErrSignIn, maxSignIn)
	}
	var m SignIn
	head, rest, _ := strings.Cut(text, "\n")
	if err := m.readGreeting(head, d); err != nil {
		return SignIn{}, err
	}
	m.Address, rest, _ = strings.Cut(rest, "\n")

	lines := strings.Split(rest, "\n")
	next := func() (string, bool) {
		if len(lines) == 0 {
			return "", false
		}
		return lines[0], true
	}
	// Blank lines and the statement. What was skipped wrongly shows in the
	// comparison at the end.
	for l, ok := next(); ok && !isFieldLine(l); l, ok = next() {
		if l != "" {
			if m.Statement != "" {
				return SignIn{}, fmt.Errorf("%w: unexpected line %.80q", ErrSignIn, l)
			}
			m.Statement = l
		}
		lines = lines[1:]
	}
	for _, f := range m.fields() {
		if l, ok := next(); ok {
			if value, ok := strings.CutPrefix(l, f.name+": "); ok {
				*f.value, lines = value, lines[1:]
			}
		}
	}
	if l, ok := next(); ok && l == "Resources:" {
		for lines = lines[1:]; len(lines) > 0; lines = lines[1:] {
			r, ok := strings.CutPrefix(lines[0], "- ")
			if !ok {
				break
			}
			m.Resources = append(m.Resources, r)
		}
	}
	if l, ok := next(); ok {
		return SignIn{}, fmt.Errorf("%w: unexpected line %.80q", ErrSignIn, l)
	}
	if err := m.check(d); err != nil {
		return SignIn{}, err
	}
	if m.text(d) != text {
		return SignIn{}, fmt.Errorf("%w: not in the one form of its message", ErrSignIn)
	}
	return m, nil
}

func isFieldLine(line string) bool {
	var m SignIn
	for _, f := range m.fields() {
		if strings.HasPrefix(line, f.name+": ") {
			return true
		}
	}
	return line == "Resources:"
}
