package agentcard

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// read judges everything that the first exchange can answer.
func (j *judge) read() {
	if !j.found() {
		return
	}
	j.headers()
	raw := j.x.Response.Body
	switch v, err := parse(raw); {
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		j.set(4, Fail, "NOT_JSON", "it begins with a byte order mark")
	case !utf8.Valid(raw):
		j.set(4, Fail, "NOT_JSON", "it is not UTF-8")
	case j.x.Response.Truncated:
		j.set(4, Fail, "NOT_JSON", "it is longer than %d bytes, which is where reading stopped", len(raw))
	case errors.Is(err, errDuplicate):
		j.set(4, Fail, "DUPLICATE_KEY", "%v", err)
	case err != nil:
		j.set(4, Fail, "NOT_JSON", "%v", err)
	case object(v) == nil:
		j.set(4, Fail, "NOT_JSON", "it is not an object")
	default:
		j.card = object(v)
		j.set(4, Pass, "", "one JSON object of %d bytes", len(raw))
	}
	if j.card == nil {
		return
	}
	j.dialect()
	j.schema()
	j.kit()
	j.versions()
	j.transports()
	j.urls()
	j.security()
	j.readSignatures()
}

// found judges the status, and whether there is anything to read.
func (j *judge) found() bool {
	path := ""
	if u, err := url.Parse(j.asked.URL); err == nil {
		path = u.Path
	}
	switch s := j.x.Response.Status; {
	case s == 0 || j.x.Error.Stage != "" || s >= 500:
		j.set(1, Unreachable, "", "status %d %s", s, j.x.Error.Text)
	case s == http.StatusNotFound || s == http.StatusGone:
		j.set(1, Absent, "NOT_PUBLISHED", "status %d", s)
	case s >= 300 && s < 400:
		j.set(1, Fail, "REDIRECT", "status %d; redirects are not followed", s)
		j.set(2, Warn, "REDIRECT", "it redirects to %.200q", j.x.Response.Header.Get("Location"))
	case s != http.StatusOK:
		j.set(1, Fail, "STATUS", "status %d", s)
	case strings.HasSuffix(path, "/.well-known/agent.json"):
		j.set(1, Warn, "LEGACY_PATH", "found at the path of 0.2")
		j.set(2, Pass, "", "no redirect")
		return true
	default:
		j.set(1, Pass, "", "status 200")
		j.set(2, Pass, "", "no redirect")
		return true
	}
	return false
}

func (j *judge) headers() {
	h := j.x.Response.Header
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || t != "application/json" && !strings.HasSuffix(t, "+json") {
		j.set(3, Warn, "CONTENT_TYPE", "%.100q", h.Get("Content-Type"))
	} else {
		j.set(3, Pass, "", "%s", t)
	}
	cache := strings.Contains(strings.Join(h.Values("Cache-Control"), ", "), "max-age=")
	tag := h.Get("Etag") != ""
	if cache && tag {
		j.set(19, Pass, "", "Cache-Control with max-age, and an ETag")
	} else {
		j.set(19, Warn, "CACHING", "max-age: %t, ETag: %t", cache, tag)
	}
}

func (j *judge) dialect() {
	_, one := j.card["supportedInterfaces"]
	_, old := j.card["url"]
	version := text(j.card["protocolVersion"])
	switch {
	case one && old:
		j.Dialect = DialectHybrid
	case one:
		j.Dialect = Dialect10
	case old && strings.HasPrefix(version, "0.2"):
		j.Dialect = Dialect02
	case old && version != "":
		j.Dialect = Dialect03
	default:
		j.set(5, Fail, "UNKNOWN_DIALECT", "neither url with protocolVersion nor supportedInterfaces")
		return
	}
	j.set(5, Pass, "", "%s", j.Dialect)
}

func (j *judge) schema() {
	problems := card03.check(nil, "", j.card)
	j.ValidCard = len(problems) == 0
	if j.Dialect == Dialect10 {
		j.Gaps = append(j.Gaps, "readers of 0.3.0 find no url and no protocolVersion: the card is one of 1.0 alone")
		problems, j.Checks[5].Source = card10.check(nil, "", j.card), sourceOne
	}
	if j.Dialect == DialectHybrid {
		problems = card10.check(problems, "", j.card)
	} else if j.Dialect != Dialect10 {
		j.Gaps = append(j.Gaps, "readers of 1.0 find no supportedInterfaces")
	}
	if len(problems) > 0 {
		j.set(6, Fail, "SCHEMA", "%d members are not as the schema of %s wants them", len(problems), j.Dialect)
		j.where(6, problems)
		return
	}
	j.set(6, Pass, "", "valid under the schema of %s", j.Dialect)
}

var mediaType = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9*][A-Za-z0-9!#$&^_.+*-]*(;.*)?$`)

// kit judges what the conformance kit wants beyond the schema.
func (j *judge) kit() {
	var wrong, odd []string
	skills := list(j.card["skills"])
	if len(skills) == 0 {
		wrong = note(wrong, "/skills", "is empty")
	}
	seen := map[string]bool{}
	for i, s := range skills {
		id := text(object(s)["id"])
		if id != "" && seen[id] {
			wrong = note(wrong, fmt.Sprintf("/skills/%d/id", i), "is another skill's too")
		}
		seen[id] = true
		for _, name := range []string{"inputModes", "outputModes"} {
			odd = modes(odd, fmt.Sprintf("/skills/%d/%s", i, name), object(s)[name])
		}
	}
	for _, name := range []string{"defaultInputModes", "defaultOutputModes"} {
		odd = modes(odd, "/"+name, j.card[name])
		if l := list(j.card[name]); l != nil && len(l) == 0 {
			odd = note(odd, "/"+name, "is empty")
		}
	}
	if v, ok := j.card["version"].(string); ok && strings.TrimSpace(v) == "" {
		wrong = note(wrong, "/version", "is empty")
	}
	switch {
	case wrong != nil:
		j.set(7, Fail, "KIT", "the conformance kit refuses the card")
		j.where(7, append(wrong, odd...))
	case odd != nil:
		j.set(7, Warn, "MEDIA_TYPE", "some modes are not media types")
		j.where(7, odd)
	default:
		j.set(7, Pass, "", "skills with ids of their own, modes that are media types")
	}
}

func modes(problems []string, at string, v node) []string {
	for i, m := range list(v) {
		if s, ok := m.(string); ok && !mediaType.MatchString(s) {
			problems = note(problems, fmt.Sprintf("%s/%d", at, i), "is not a media type")
		}
	}
	return problems
}

func (j *judge) versions() {
	switch v := text(j.card["protocolVersion"]); {
	case j.Dialect == Dialect10:
		j.set(8, NotChecked, "", "a card of 1.0 names a version for each interface")
	case v == CardVersion:
		j.set(8, Pass, "", "0.3.0")
	default:
		j.set(8, Warn, "VERSION", "protocolVersion is %.40q", v)
	}
}

func (j *judge) transports() {
	if j.Dialect == Dialect10 {
		j.set(9, NotChecked, "", "a card of 1.0 has no preferredTransport")
		j.set(10, NotChecked, "", "a card of 1.0 has supportedInterfaces instead")
		return
	}
	main := text(j.card["preferredTransport"])
	if main == "" {
		main = "JSONRPC"
		j.set(9, Warn, "IMPLICIT_TRANSPORT", "it is left out, and means JSONRPC")
	} else {
		j.set(9, Pass, "", "%.40s", main)
	}
	more := list(j.card["additionalInterfaces"])
	by := map[string]string{text(j.card["url"]): main}
	repeated := len(more) == 0
	var conflicts []string
	for i, v := range more {
		at, transport := text(object(v)["url"]), text(object(v)["transport"])
		repeated = repeated || at == text(j.card["url"]) && transport == main
		if had, ok := by[at]; ok && had != transport {
			conflicts = note(conflicts, fmt.Sprintf("/additionalInterfaces/%d", i), "gives a URL a second transport")
		}
		by[at] = transport
	}
	switch {
	case conflicts != nil:
		j.set(10, Fail, "CONFLICT", "one URL with two transports")
		j.where(10, conflicts)
	case !repeated:
		j.set(10, Warn, "MAIN_NOT_REPEATED", "additionalInterfaces does not repeat the main URL and transport")
	default:
		j.set(10, Pass, "", "no URL has two transports")
	}
}

// urls judges every URL of the card. Whether hosts resolve is not asked: one GET is made, and no
// other name looked up.
func (j *judge) urls() {
	host := ""
	if u, err := url.Parse(j.asked.URL); err == nil {
		host = u.Hostname()
	}
	var wrong, foreign []string
	check := func(at string, v node, own bool) {
		s, ok := v.(string)
		if !ok {
			return
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Scheme != "https" || u.Host == "":
			wrong = note(wrong, at, "is not an absolute https URL")
		case own && u.Hostname() != host:
			foreign = note(foreign, at, "is on another host than the card")
		}
	}
	check("/url", j.card["url"], true)
	for _, name := range []string{"iconUrl", "documentationUrl"} {
		check("/"+name, j.card[name], false)
	}
	check("/provider/url", object(j.card["provider"])["url"], false)
	for _, name := range []string{"additionalInterfaces", "supportedInterfaces"} {
		for i, v := range list(j.card[name]) {
			check(fmt.Sprintf("/%s/%d/url", name, i), object(v)["url"], true)
		}
	}
	switch {
	case wrong != nil:
		j.set(11, Fail, "NOT_HTTPS", "%d URLs are not absolute https URLs", len(wrong))
		j.where(11, wrong)
	case foreign != nil:
		j.set(11, Warn, "FOREIGN_HOST", "the agent answers on another host than its card")
		j.where(11, foreign)
	default:
		j.set(11, Pass, "", "absolute https URLs, the agent's on the card's host")
	}
}

var secrets = regexp.MustCompile(
	`-----BEGIN [A-Z ]*PRIVATE KEY|\bsk_live_[0-9A-Za-z]{16}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{30}|` +
		`\bxox[abprs]-[0-9A-Za-z-]{20}|\bAIza[0-9A-Za-z_-]{35}|\bsk-(ant-|proj-)?[0-9A-Za-z_-]{32}`)

func (j *judge) security() {
	var wrong []string
	dangling := func(at string, requirements node, one bool) {
		for i, r := range list(requirements) {
			names := object(r)
			if one {
				names = object(names["schemes"])
			}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if _, ok := object(j.card["securitySchemes"])[name]; !ok {
					wrong = note(wrong, fmt.Sprintf("%s/%d", at, i),
						fmt.Sprintf("names the scheme %.60q, which is not defined", name))
				}
			}
		}
	}
	dangling("/security", j.card["security"], false)
	dangling("/securityRequirements", j.card["securityRequirements"], true)
	for i, s := range list(j.card["skills"]) {
		dangling(fmt.Sprintf("/skills/%d/security", i), object(s)["security"], false)
		dangling(fmt.Sprintf("/skills/%d/securityRequirements", i), object(s)["securityRequirements"], true)
	}
	secret := secretIn(nil, "", map[string]node(j.card))
	switch {
	case secret != nil:
		j.set(12, Fail, "SECRET", "the card seems to hold a secret; revoke it, it has been published")
		j.where(12, secret)
	case wrong != nil:
		j.set(12, Fail, "DANGLING_SECURITY", "security names schemes that are not defined")
		j.where(12, wrong)
	default:
		j.set(12, Pass, "", "every scheme that is named is defined, and no secret was recognised")
	}
}

// secretIn names where secrets stand. It never repeats them.
func secretIn(problems []string, at string, v node) []string {
	switch v := v.(type) {
	case string:
		if secrets.MatchString(v) {
			return note(problems, at, "looks like a secret")
		}
	case []node:
		for i, m := range v {
			problems = secretIn(problems, fmt.Sprintf("%s/%d", at, i), m)
		}
	case map[string]node:
		if text(v["kty"]) != "" && text(v["d"]) != "" {
			problems = note(problems, at, "is a private key")
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			problems = secretIn(problems, at+"/"+name, v[name])
		}
	}
	return problems
}
