package street

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/botauth"
)

// The kinds of sights, by the instrument that reads them.
const (
	SightCard      = "a2a"      // an agent card
	SightDirectory = "bot-auth" // a directory of keys, or a card of a signature agent
	SightPage      = "onpage"   // an HTML page
)

// A Sight is a row beside the doors: a document that one of the other instruments reads, and what
// it must say of it.
type Sight struct {
	Kind, Name string
	Doc        string // what is wrong or right with it
	Path       string
	Verdict    string            // the report's
	Checks     map[string]string // name → state, of the checks that are reached and must say something else than pass

	serve func(*visit)
}

// Host is where the sight stands.
func (s Sight) Host() string { return s.Name + "." + s.Kind + "." + Domain }

// URL is the sight's address.
func (s Sight) URL() string { return "https://" + s.Host() + s.Path }

// Sights returns every row.
func Sights() []Sight {
	all := append(append(cardSights(), directorySights()...), pageSights()...)
	for i := range all {
		s := &all[i]
		if s.Path == "" {
			s.Path = map[string]string{SightCard: "/.well-known/agent-card.json", SightDirectory: botauth.Path,
				SightPage: "/"}[s.Kind]
		}
	}
	return all
}

// asDoors are the sights as the street needs them to find their hosts.
func asDoors(sights []Sight) []Door {
	var out []Door
	for i := range sights {
		s := &sights[i]
		out = append(out, Door{Name: s.Kind + " " + s.Name, Host: s.Host(), Doc: s.Doc, serve: s.serve, at: s.Path})
	}
	return out
}

// send answers with a body of a media type.
func (v *visit) send(mediaType string, body string, header ...string) {
	h := v.ResponseWriter.Header()
	h.Set("Content-Type", mediaType)
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	io.WriteString(v.ResponseWriter, body) // a caller who is gone is told by the next read
}

// cardText is a right agent card of version 0.3.0.
const cardText = `{"additionalInterfaces":[{"transport":"JSONRPC","url":"https://HOST/a2a"}],"capabilities":{"streaming":false},` +
	`"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],"description":"Sells the weather.","name":"Weather",` +
	`"preferredTransport":"JSONRPC","protocolVersion":"0.3.0","provider":{"organization":"Weather","url":"https://HOST"},` +
	`"security":[{"key":[]}],"securitySchemes":{"key":{"in":"header","name":"X-Key","type":"apiKey"}},` +
	`"skills":[{"description":"The weather of one city.","id":"weather","name":"Weather","tags":["weather"]}],"url":"https://HOST/a2a","version":"1.0.0"}`

// cardOfOne is a right card of A2A 1.0.
const cardOfOne = `{"capabilities":{"streaming":false},"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],"description":"Sells the weather.",` +
	`"name":"Weather","skills":[{"description":"The weather of one city.","id":"weather","name":"Weather","tags":["weather"]}],` +
	`"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://HOST/a2a"}],"version":"1.0.0"}`

// cardSights are agent cards.
func cardSights() []Sight {
	card := func(text string, changes ...string) func(*visit) {
		return func(v *visit) {
			v.send("application/json", strings.NewReplacer(append(changes, "HOST", v.Host)...).Replace(text),
				"Cache-Control", "public, max-age=300", "Etag", `"1"`)
		}
	}
	// signed hangs the seller's signature over all other members on a card, and changes it
	// afterwards.
	signed := func(changes ...string) func(*visit) {
		return func(v *visit) {
			text := strings.ReplaceAll(cardText, "HOST", v.Host)
			payload, err := attest.JCSBytes([]byte(text))
			if err != nil {
				panic(err) // the row's own literal
			}
			b64 := base64.RawURLEncoding.EncodeToString
			protected := b64(encode(object{"alg": "EdDSA", "kid": attest.DIDURL(v.Host, v.street.seller.KID())}))
			signature := b64(v.street.seller.Sign([]byte(protected + "." + b64(payload))))
			text = strings.NewReplacer(changes...).Replace(strings.TrimSuffix(text, "}"))
			v.send("application/json", text+`,"signatures":[{"protected":"`+protected+`","signature":"`+signature+
				`"}]}`, "Cache-Control", "public, max-age=300", "Etag", `"1"`)
		}
	}
	fails := func(name, state string) map[string]string { return map[string]string{name: state} }
	return []Sight{
		{Kind: SightCard, Name: "right", Doc: "A card of 0.3.0 with nothing wrong.", Verdict: "pass",
			serve: card(cardText)},
		{Kind: SightCard, Name: "signed", Doc: "A card signed by the key that its host publishes.", Verdict: "pass",
			serve: signed()},
		{Kind: SightCard, Name: "of-one", Doc: "A card of version 1.0.", Verdict: "not_judged", serve: card(cardOfOne)},
		{Kind: SightCard, Name: "altered", Doc: "A card that was changed after it was signed.", Verdict: "fail",
			Checks: fails("signature-valid", "fail"), serve: signed("Sells the weather.", "Sells the sun.")},
		{Kind: SightCard, Name: "without-name", Doc: "A card without a name.", Verdict: "fail",
			Checks: fails("schema", "fail"), serve: card(cardText, `"name":"Weather","preferred`, `"preferred`)},
		{Kind: SightCard, Name: "other-host", Doc: "A card that sends its callers to another host.", Verdict: "warn",
			Checks: fails("urls", "warn"), serve: card(cardText, `"url":"https://HOST/a2a","version"`,
				`"url":"https://elsewhere.example/a2a","version"`,
				`{"transport":"JSONRPC","url":"https://HOST/a2a"}`,
				`{"transport":"JSONRPC","url":"https://elsewhere.example/a2a"}`)},
		{Kind: SightCard, Name: "cut-off", Doc: "A card that breaks off.", Verdict: "fail",
			Checks: fails("json", "fail"), serve: card(cardText, `,"version":"1.0.0"}`, ``)},
		{Kind: SightCard, Name: "as-page", Doc: "An application that answers every path with its page.",
			Verdict: "fail", Checks: map[string]string{"caching": "warn", "content-type": "warn", "json": "fail"},
			serve: func(v *visit) {
				v.send("text/html; charset=utf-8", "<!doctype html><title>App</title>")
			}},
		{Kind: SightCard, Name: "absent", Doc: "No card.", Verdict: "absent", Checks: fails("card-found", "absent"),
			serve: func(v *visit) { http.NotFound(v.ResponseWriter, v.Request) }},
	}
}

// sightKey makes a key of the street's from a word.
func sightKey(word string) *attest.Key {
	k, err := attest.Generate(bytes.NewReader([]byte((word + strings.Repeat(".", 32))[:32])))
	if err != nil {
		panic(err) // 32 bytes
	}
	return k
}

// directorySights are directories of keys for signed requests.
func directorySights() []Sight {
	// directory serves one for an authority, "" for its own, with its times in days from now.
	directory := func(authority string, from, until int, change func(body []byte, h http.Header) []byte,
		words ...string) func(*visit) {
		return func(v *visit) {
			of, day, now := authority, 24*time.Hour, v.street.now().Truncate(time.Hour)
			if of == "" {
				of = v.Host
			}
			var keys []*attest.Key
			for _, w := range words {
				keys = append(keys, sightKey(w))
			}
			body, header, err := botauth.Directory(of, now.Add(time.Duration(from)*day),
				now.Add(time.Duration(until)*day), keys...)
			if err != nil {
				panic(err) // the row's own literals
			}
			if change != nil {
				body = change(body, header)
			}
			maps.Copy(v.ResponseWriter.Header(), header)
			v.ResponseWriter.Write(body)
		}
	}
	keep := func(name, value string) func([]byte, http.Header) []byte {
		return func(b []byte, h http.Header) []byte {
			if h.Del(name); value != "" {
				h.Set(name, value)
			}
			return b
		}
	}
	replaced := func(old, new string) func([]byte, http.Header) []byte {
		return func(b []byte, _ http.Header) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	return []Sight{
		{Kind: SightDirectory, Name: "right", Doc: "A directory of two keys, signed by both.", Verdict: "pass",
			serve: directory("", -1, 30, nil, "one", "two")},
		{Kind: SightDirectory, Name: "of-another", Doc: "A directory that was signed for another host.",
			Verdict: "fail", Checks: map[string]string{"proof-of-possession": "fail"},
			serve: directory("elsewhere.example", -1, 30, nil, "one")},
		{Kind: SightDirectory, Name: "expired", Doc: "A directory whose only key has expired.", Verdict: "fail",
			Checks: map[string]string{"key-validity": "fail", "proof-of-possession": "fail"},
			serve:  directory("", -30, -1, nil, "one")},
		{Kind: SightDirectory, Name: "unsigned", Doc: "A directory without a signature.", Verdict: "fail",
			Checks: map[string]string{"proof-of-possession": "fail"},
			serve:  directory("", -1, 30, keep("Signature", ""), "one")},
		{Kind: SightDirectory, Name: "other-type", Doc: "A directory as plain JSON.", Verdict: "fail",
			Checks: map[string]string{"content-type": "fail"},
			serve:  directory("", -1, 30, keep("Content-Type", "application/json"), "one")},
		{Kind: SightDirectory, Name: "private",
			Doc: "A directory into which a private key was put after it was signed.", Verdict: "fail",
			Checks: map[string]string{"no-private-keys": "fail", "content-digest": "fail", "key-validity": "fail",
				"proof-of-possession": "unverifiable"},
			serve: directory("", -1, 30, replaced(`"kty":"OKP"`, `"kty":"OKP","d":"AAAA"`), "one")},
		{Kind: SightDirectory, Name: "empty", Doc: "A directory of no keys.", Verdict: "fail",
			Checks: map[string]string{"jwks-parses": "fail"},
			serve:  directory("", -1, 30, func([]byte, http.Header) []byte { return []byte(`{"keys":[]}`) }, "one")},
		{Kind: SightDirectory, Name: "absent", Doc: "No directory.", Verdict: "absent",
			Checks: map[string]string{"status-200": "absent"},
			serve:  func(v *visit) { http.NotFound(v.ResponseWriter, v.Request) }},
	}
}

// pageText is a page with nothing wrong.
const pageText = `<!doctype html><html lang="en"><head><title>The weather of one city</title>
<meta name="description" content="What the weather of one city is, sold by the request to whoever sends a signed payment.">
<link rel="canonical" href="https://HOST/"><script type="application/ld+json">{"@context":"https://schema.org","@type":"WebSite"}</script></head>
<body><h1>Weather</h1><h2 id="price">Price</h2><p>One cent. <a href="#price">Again</a>.</p></body></html>`

// pageSights are pages for people.
func pageSights() []Sight {
	page := func(changes ...string) func(*visit) {
		return func(v *visit) {
			v.send("text/html; charset=utf-8",
				strings.NewReplacer(append(changes, "HOST", v.Host)...).Replace(pageText))
		}
	}
	return []Sight{
		{Kind: SightPage, Name: "right", Doc: "A page with nothing wrong.", Verdict: "pass", serve: page()},
		{Kind: SightPage, Name: "untitled", Doc: "A page without a title.", Verdict: "fail",
			Checks: map[string]string{"title": "fail"}, serve: page("<title>The weather of one city</title>", "")},
		{Kind: SightPage, Name: "hidden", Doc: "A page that asks not to be found.", Verdict: "warn",
			Checks: map[string]string{"robots-noindex": "warn"},
			serve:  page("<link", `<meta name="robots" content="noindex"><link`)},
		{Kind: SightPage, Name: "speechless", Doc: "A page that does not say its language.", Verdict: "warn",
			Checks: map[string]string{"lang": "warn"}, serve: page(` lang="en"`, "")},
		{Kind: SightPage, Name: "misled", Doc: "A page that names another as the right one.", Verdict: "warn",
			Checks: map[string]string{"canonical": "warn"},
			serve:  page("https://HOST/\"", "https://elsewhere.example/\"")},
		{Kind: SightPage, Name: "broken-data", Doc: "A page whose structured data do not parse.", Verdict: "fail",
			Checks: map[string]string{"structured-data": "fail"},
			serve:  page(`{"@context":"https://schema.org","@type":"WebSite"}`, `{"@context":}`)},
		{Kind: SightPage, Name: "down", Doc: "A page that is down for repairs.", Verdict: "unreachable",
			serve: func(v *visit) { v.json(http.StatusServiceUnavailable, object{}) }},
	}
}
