package agentcard

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxRepaired bounds a card that is repaired, in bytes as it is written then.
const MaxRepaired = 64 << 10

// A Repair is a card of CardVersion that the official schema accepts, made from one as it was
// served.
type Repair struct {
	// Card is the whole card, one line of ASCII.
	Card string `json:"card_json"`
	// Changed says by JSON pointer what was changed, and what somebody has to fill in.
	Changed []string `json:"changed"`
	// Left counts further changes.
	Left int `json:"changes_left_out,omitzero"`
}

// maxChanges bounds the list of changes.
const maxChanges = 60

// mender repairs one card.
type mender struct {
	Repair
	host string
}

func (m *mender) say(at, what string) {
	if len(m.Changed) == maxChanges {
		m.Left++
		return
	}
	m.Changed = append(m.Changed, strings.ToValidUTF8(fmt.Sprintf("%.200s %s", at, what), "?"))
}

// NewRepair repairs what a host served as its card; of what is no JSON object nothing is kept. It
// takes out what is not as the schema wants it, mends what has one meaning, fills in what is
// required, and leaves out secrets, and signatures of what it changed. ok is false for a card that
// is longer than MaxRepaired.
func NewRepair(served []byte, host string) (r Repair, ok bool) {
	m := mender{host: host}
	v, err := parse(bytes.TrimPrefix(served, []byte("\xef\xbb\xbf")))
	card := object(v)
	if err != nil || card == nil || !utf8.Valid(served) {
		m.say("/", "is no JSON object that can be read; this is a card to begin with")
		card = map[string]node{}
	}
	if secretIn(nil, "", card) != nil {
		card, _ = m.withoutSecrets("", card).(map[string]node)
	}
	m.fromOne(card)
	if text(card["protocolVersion"]) != CardVersion {
		card["protocolVersion"] = CardVersion
		m.say("/protocolVersion", "is "+CardVersion)
	}
	m.object("", card, card03)
	if _, there := card["signatures"]; there && len(m.Changed) > 0 {
		delete(card, "signatures")
		m.say("/signatures", "is left out: it was of the card before; sign this one anew")
	}
	b := write(nil, card, true)
	if len(b) > MaxRepaired || card03.check(nil, "", card) != nil {
		return Repair{}, false
	}
	m.Card = string(b)
	return m.Repair, true
}

// fromOne takes over what a card of 1.0 says in other members.
func (m *mender) fromOne(card map[string]node) {
	first := list(card["supportedInterfaces"])
	if len(first) == 0 || text(card["url"]) != "" {
		return
	}
	if at := text(object(first[0])["url"]); at != "" {
		card["url"] = at
		m.say("/url", "is that of the first of supportedInterfaces")
	}
	if by := text(object(first[0])["protocolBinding"]); by != "" && card["preferredTransport"] == nil {
		card["preferredTransport"] = by
		m.say("/preferredTransport", "is that of the first of supportedInterfaces")
	}
}

// object brings an object into a shape, as far as can be.
func (m *mender) object(at string, o map[string]node, s shape) {
	for _, f := range s {
		here := at + "/" + f.name
		v, there := o[f.name]
		if there && f.check(nil, here, v) != nil {
			if mended := m.mend(here, f, v); mended != nil && f.check(nil, here, mended) == nil {
				o[f.name] = mended
				m.say(here, "was mended")
				continue
			}
			delete(o, f.name)
			m.say(here, "was not as the schema wants it and is left out")
			there = false
		}
		if !there && f.required {
			if v := m.fill(here, f, o); v != nil {
				o[f.name] = v
				m.say(here, "was missing: look at what stands there now")
			}
		}
	}
}

// mend gives another form to a member that can only have been meant so, nil for none.
func (m *mender) mend(at string, f field, v node) node {
	switch f.kind {
	case kindText:
		if n, ok := v.(number); ok {
			return string(n)
		}
	case kindTexts:
		if s := text(v); s != "" {
			return []node{s}
		}
		return slices.DeleteFunc(slices.Clone(list(v)), func(e node) bool { _, is := e.(string); return !is })
	case kindBool:
		switch text(v) {
		case "true", "yes":
			return true
		case "false", "no":
			return false
		}
	case kindObject:
		if o := object(v); o != nil {
			m.object(at, o, *f.of)
			return o
		}
	case kindList:
		var kept []node
		for i, e := range list(v) {
			here := fmt.Sprintf("%s/%d", at, i)
			o := object(e)
			if o != nil {
				m.object(here, o, *f.of)
			}
			if o == nil || f.of.check(nil, here, o) != nil {
				m.say(here, "is left out")
				continue
			}
			kept = append(kept, o)
		}
		if kept == nil {
			kept = []node{}
		}
		return kept
	}
	return nil
}

// fill is what stands for a required member that is missing, nil where nothing can.
func (m *mender) fill(at string, f field, beside map[string]node) node {
	skill := strings.HasPrefix(at, "/skills/")
	switch {
	case f.kind == kindTexts && skill, f.kind == kindList && at == "/skills":
		return []node{}
	case f.kind == kindTexts:
		return []node{"text/plain"}
	case f.kind == kindObject && at == "/capabilities":
		return map[string]node{}
	case skill && f.name == "id":
		return strings.ReplaceAll(strings.TrimPrefix(at[:strings.LastIndex(at, "/")], "/"), "/", "-")
	case skill && f.name == "name":
		return beside["id"]
	case skill && f.name == "description":
		return beside["name"]
	case at == "/name":
		return m.host
	case at == "/description":
		return "The agent at " + m.host + "."
	case at == "/url":
		return "https://" + m.host + "/"
	case at == "/version":
		return "1.0.0"
	}
	return nil
}

// withoutSecrets is a value without the members and elements that look like secrets.
func (m *mender) withoutSecrets(at string, v node) node {
	bad := func(at string, part node) bool {
		o := object(part)
		if s, is := part.(string); is && secrets.MatchString(s) || text(o["kty"]) != "" && text(o["d"]) != "" {
			m.say(at, "looks like a secret and is left out; revoke it")
			return true
		}
		return false
	}
	switch v := v.(type) {
	case map[string]node:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := at + "/" + name
			if bad(here, v[name]) {
				delete(v, name)
				continue
			}
			v[name] = m.withoutSecrets(here, v[name])
		}
	case []node:
		var kept []node
		for i, e := range v {
			if here := fmt.Sprintf("%s/%d", at, i); !bad(here, e) {
				kept = append(kept, m.withoutSecrets(here, e))
			}
		}
		return kept
	}
	return v
}
