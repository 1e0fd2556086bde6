package probe

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// mppChallenge is one WWW-Authenticate: Payment challenge (draft-httpauth-payment).
type mppChallenge struct {
	exchange.Challenge
	view    *View
	params  map[string]string
	twice   string // a parameter that stands twice
	request *exchange.Object
}

func (v *View) newMPP(c told) mppChallenge {
	m := mppChallenge{Challenge: c.Challenge, view: v, params: map[string]string{}, request: c.object()}
	for _, p := range c.Params {
		if _, ok := m.params[p.Name]; ok && m.twice == "" {
			m.twice = p.Name
		}
		m.params[p.Name] = p.Value
	}
	return m
}

// usable reports whether the challenge is one that speaks the protocol at all.
func (m mppChallenge) usable() bool { return m.params["method"] != "" && m.request != nil }

func (m mppChallenge) id() string {
	switch {
	case m.twice != "":
		return fmt.Sprintf("parameter %q stands twice, which is a parse error", m.twice)
	case m.params["id"] == "":
		return "no id, so a payment cannot be bound to this challenge"
	}
	return ""
}

func (m mppChallenge) realm() string {
	if m.params["realm"] == "" {
		return "no realm"
	}
	return ""
}

// registeredMethods are the payment methods with a published draft, as of 2026-11-30.
func registeredMethods() []string {
	return []string{"card", "evm", "lightning", "solana", "stellar", "stripe", "tempo", "usdc"}
}

// registeredIntents are the intents with a published draft, as of 2026-11-20.
func registeredIntents() []string { return []string{"authorize", "charge", "session", "subscription"} }

func (m mppChallenge) method() string {
	if method := m.params["method"]; !slices.Contains(registeredMethods(), method) {
		return fmt.Sprintf("method %s is none of %s", quoted(method), strings.Join(registeredMethods(), ", "))
	}
	return ""
}

func (m mppChallenge) intent() string {
	if intent := m.params["intent"]; !slices.Contains(registeredIntents(), intent) {
		return fmt.Sprintf("intent %s is none of %s", quoted(intent), strings.Join(registeredIntents(), ", "))
	}
	return ""
}

func (m mppChallenge) undecodable() string {
	switch {
	case m.Problem != "":
		return m.Problem
	case m.request == nil:
		return "request is no JSON object"
	}
	return ""
}

// notCanonical looks at what the published form still shows: the alphabet, the order of names and
// the spelling of numbers.
func (m mppChallenge) notCanonical() string {
	if m.request == nil {
		return ""
	}
	if m.Encoding != "base64url-unpadded" && m.Encoding != "base64-unpadded" {
		return "request is written as " + m.Encoding + ", not as base64url without padding"
	}
	if problem := disorder(m.Value); problem != "" {
		return "request is not in the form of RFC 8785: " + problem
	}
	return ""
}

// disorder finds what keeps a JSON value from being canonical.
func disorder(raw jsontext.Value) string {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	last := map[int][]uint16{}
	for {
		kind := d.PeekKind()
		depth := d.StackDepth()
		container, length := d.StackIndex(depth)
		if kind == '0' {
			spelled, err := d.ReadValue()
			if err != nil {
				return ""
			}
			if plain, err := attest.JCSBytes(spelled); err != nil || !bytes.Equal(plain, spelled) {
				return fmt.Sprintf("number %.40s", spelled)
			}
			continue
		}
		if kind == '{' {
			delete(last, depth+1)
		}
		token, err := d.ReadToken()
		if err != nil {
			return ""
		}
		if container != '{' || kind != '"' || length%2 != 0 {
			continue
		}
		name := token.String()
		units := utf16.Encode([]rune(name))
		if before, ok := last[depth]; ok && slices.Compare(before, units) > 0 {
			return fmt.Sprintf("name %.40q does not stand in order", name)
		}
		last[depth] = units
	}
}

func (m mppChallenge) amount() string {
	if m.request != nil && !isDigits(str(m.request, "amount")) {
		return "amount is no string of digits"
	}
	return ""
}

func (m mppChallenge) currency() string {
	if m.request != nil && str(m.request, "currency") == "" {
		return "no currency"
	}
	return ""
}

func (m mppChallenge) recipient() string {
	if m.request == nil || !slices.Contains([]string{"evm", "solana", "tempo", "usdc"}, m.params["method"]) {
		return ""
	}
	if str(m.request, "recipient") == "" {
		return "no recipient"
	}
	return ""
}

func (m mppChallenge) expired() string {
	at := m.view.startedAt()
	expires := m.params["expires"]
	if expires == "" {
		return ""
	}
	t, err := time.Parse(time.RFC3339, expires)
	switch {
	case err != nil:
		return "expires is no time of RFC 3339"
	case !t.After(at):
		return fmt.Sprintf("expired at %s and was issued at %s", t.UTC().Format(time.RFC3339),
			at.UTC().Format(time.RFC3339))
	}
	return ""
}

// apart is the one field beside Authorization that a challenge may name for its credential.
const apart = "Payment-Authorization"

func (m mppChallenge) otherField() string {
	if field, named := m.params["header"]; named && field != apart {
		return fmt.Sprintf("header is %s and may be %s alone", quoted(field), apart)
	}
	return ""
}

func (m mppChallenge) plainHTTP() string {
	if m.view.overTLS() {
		return ""
	}
	return "served over plain HTTP"
}

// quoted shows a door's own word, bounded.
func quoted(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%.*q…", most, s)
	}
	return fmt.Sprintf("%q", s)
}
