package pages

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// renderProtectedResource says, in the form of RFC 9728, that there is nothing to log in to: it
// names no authorization server and no way to send a token.
func renderProtectedResource(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	return indented(struct {
		Resource      string   `json:"resource"`
		Name          string   `json:"resource_name"`
		Documentation string   `json:"resource_documentation"`
		Methods       []string `json:"bearer_methods_supported"`
	}{s.Base, s.Site.Config.Title, s.Base + "/auth.md", []string{}})
}

// link is a target of RFC 9264.
type link struct {
	Href  string `json:"href"`
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// linkContext is what links begin at, with those of each relation.
type linkContext struct {
	Anchor      string `json:"anchor"`
	Item        []link `json:"item,omitempty"`
	ServiceDesc []link `json:"service-desc,omitempty"`
	ServiceDoc  []link `json:"service-doc,omitempty"`
	ServiceMeta []link `json:"service-meta,omitempty"`
	Status      []link `json:"status,omitempty"`
}

// renderAPICatalog lists the HTTP API and the MCP doors (RFC 9727, in the form of RFC 9264).
func renderAPICatalog(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	web := linkContext{Anchor: s.Base + "/",
		ServiceDesc: []link{{Href: s.Base + "/openapi.json", Type: api.OpenAPIJSON}},
		ServiceDoc: []link{{Href: s.Base + "/docs", Type: "text/html"},
			{Href: s.Base + "/api.md", Type: "text/markdown"},
			{Href: s.Base + "/auth.md", Type: "text/markdown"}},
		ServiceMeta: []link{{Href: s.Base + "/.well-known/did.json", Type: api.DIDJSON},
			{Href: s.Base + "/.well-known/trust.json", Type: api.JSON},
			{Href: s.Base + "/.well-known/ucp", Type: api.JSON},
			{Href: s.Base + "/.well-known/x402", Type: api.JSON},
			{Href: s.Base + "/.well-known/agent-skills/index.json", Type: api.JSON},
			{Href: s.Base + "/openapi-tools.json", Type: api.JSON}},
		Status: []link{{Href: s.Base + "/deprecation", Type: "text/html"}}}
	all := linkContext{Anchor: s.Base + api.APICatalogPath, Item: []link{{Href: web.Anchor, Title: "The HTTP API"}}}
	contexts := []linkContext{all, web}
	for _, d := range api.MCPDoors {
		contexts[0].Item = append(contexts[0].Item, link{Href: s.Base + d.Path, Title: d.Title})
		contexts = append(contexts, linkContext{Anchor: s.Base + d.Path,
			ServiceDesc: []link{{Href: s.Base + d.Card(), Type: api.ServerCard}},
			ServiceDoc:  []link{{Href: s.Base + "/mcp.md", Type: "text/markdown"}}})
	}
	contexts[0].Item = append(contexts[0].Item, link{Href: s.Base + api.A2APath, Title: "The free tools over A2A"})
	contexts = append(contexts, linkContext{Anchor: s.Base + api.A2APath,
		ServiceDesc: []link{{Href: s.Base + "/.well-known/agent-card.json", Type: api.JSON}},
		ServiceDoc:  []link{{Href: s.Base + "/agents.md", Type: "text/markdown"}}})
	return indented(struct {
		Linkset []linkContext `json:"linkset"`
	}{contexts})
}

// colourOfPaper is the background of pages by day.
const colourOfPaper = "#f7f2e6"

// renderWebManifest follows the Web Application Manifest of the W3C. The site is one of pages, so
// that it opens in the browser.
func renderWebManifest(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	type icon struct {
		Source string `json:"src"`
		Sizes  string `json:"sizes"`
		Type   string `json:"type"`
	}
	return indented(struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Start       string `json:"start_url"`
		Display     string `json:"display"`
		Background  string `json:"background_color"`
		Theme       string `json:"theme_color"`
		Icons       []icon `json:"icons"`
	}{s.Site.Config.Title, s.Site.Config.Tagline, "/", "browser", colourOfPaper, colourOfPaper,
		[]icon{{"/favicon.svg", "any", api.SVG}, {"/apple-touch-icon.png", "180x180", api.PNG}}})
}

// logText is a plain text of the record's log, if there is a log.
func logText(of func(*Source) ([]byte, error)) func(*Source) iter.Seq2[Unit, error] {
	return func(s *Source) iter.Seq2[Unit, error] {
		return func(yield func(Unit, error) bool) {
			if s.Record == nil || s.Record.Log.Head().Size == 0 {
				return
			}
			text, err := of(s)
			yield(Unit{value: text, Made: func(d *Digester) { d.text(string(text)) }}, err)
		}
	}
}

func renderText(_ *Source, u Unit, mediaType string, _ attest.Digest) ([]byte, error) {
	if mediaType != api.PlainText {
		return unknown(mediaType)
	}
	return u.value.([]byte), nil
}

// shownDaily is how often a day, at most, a witness is shown the log's head: every six hours, and
// after a census by hand.
const shownDaily = 24

// logList is the log's entry in the list of logs that witnesses and mirrors are configured by, in
// the form of witness-network.org.
func (s *Source) logList() ([]byte, error) {
	key, ok := s.Ring.For(attest.PurposeLog)
	if !ok {
		return nil, fmt.Errorf("%w: a record, and no key of its log", ErrInput)
	}
	origin := s.Record.Log.Head().Origin
	return fmt.Appendf(nil, "# The entry of this log in a list of logs, as witnesses and mirrors read them.\n"+
		"# Tiles are at %s/corpus/log (c2sp.org/tlog-tiles).\n"+
		"# A new key of the log is told here and in /.well-known/store-signing-key; lists never change one.\n"+
		"logs/v0\n\nvkey %s\norigin %s\nqpd %d\ncontact %s\n", s.Base,
		tlog.VerifierKey(origin, ed25519.PublicKey(key.Public)), origin, shownDaily, s.Site.Config.Contact), nil
}

// policy demands the log's key that is in force, and more than half of the witnesses. A key that
// was handed over may sign no new head, which a policy could not say of it.
func (s *Source) policy() ([]byte, error) {
	key, ok := s.Ring.For(attest.PurposeLog)
	if !ok {
		return nil, fmt.Errorf("%w: a record, and no key of its log", ErrInput)
	}
	origin := s.Record.Log.Head().Origin
	p := tlog.Policy{Logs: []tlog.PolicyLog{{Origin: origin, Public: key.Public, URL: s.Base + "/corpus/log"}},
		Quorum: "none"}
	demands := "No witness is named here: the signature of the log's key is all that is demanded."
	cosigned, err := fs.ReadDir(s.Corpus, tlog.Path("cosignatures"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if n := len(cosigned); n > 0 {
		demands += fmt.Sprintf("\n# Others cosigned %d of its checkpoints: their lines stand in "+
			"log/cosignatures of a clone, "+
			"for who knows their keys.", n)
	}
	if n := len(s.Witnesses); n > 0 {
		group := tlog.PolicyGroup{Name: "witnesses", Least: n/2 + 1}
		for i, w := range s.Witnesses {
			as := fmt.Sprintf("W%d", i+1)
			p.Witnesses = append(p.Witnesses, tlog.PolicyWitness{As: as, Witness: w})
			group.Members = append(group.Members, as)
		}
		p.Groups, p.Quorum = []tlog.PolicyGroup{group}, group.Name
		demands = fmt.Sprintf("It demands the signature of the log's key and the cosignatures of %d of %d witnesses, "+
			"under one head.", group.Least, n)
	}
	comment := []string{
		"How to tell a head of the log " + origin + " that everybody sees (c2sp.org/tlog-policy).",
		demands,
		"Heads that were signed before the log's key was handed over are signed by an older key of",
		"/.well-known/store-signing-key, which this file does not name.",
		"Whom to trust is yours to say: change this file, and then: verify -policy FILE CLONE",
	}
	text := append([]byte("# "+strings.Join(comment, "\n# ")+"\n\n"), p.Text()...)
	// What is published is what others can read.
	_, err = tlog.ParsePolicy(text)
	return text, err
}

// trustSchema is the form of trust.json, which is ours: others use the name for other things.
const trustSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": %q,
  "title": "store-trust/v1",
  "type": "object",
  "required": ["$schema", "version", "service", "keeper", "contact", "signing_keys", "claims", "not_claimed"],
  "properties": {
    "$schema": {"type": "string", "format": "uri"},
    "version": {"const": 1},
    "service": {"type": "string", "format": "uri"},
    "keeper": {"type": "string", "minLength": 1},
    "contact": {"type": "string", "minLength": 1},
    "signing_keys": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "required": ["kid", "public_key_hex", "since", "status"],
        "properties": {
          "kid": {"type": "string", "pattern": "^did:web:"},
          "public_key_hex": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
          "since": {"type": "string"},
          "status": {"enum": ["current", "retired"]},
          "retired_on": {"type": "string"}
        }
      }
    },
    "claims": {
      "type": "array",
      "minItems": 1,
      "items": {
        "type": "object",
        "required": ["claim", "check"],
        "properties": {
          "claim": {"type": "string", "minLength": 1},
          "check": {"type": "string", "format": "uri"}
        }
      }
    },
    "not_claimed": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
  }
}
`

func renderTrustSchema(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	return fmt.Appendf(nil, trustSchema, s.Base+api.TrustSchema), nil
}

type trustKey struct {
	KID       string `json:"kid"`
	Public    string `json:"public_key_hex"`
	Since     string `json:"since"`
	Status    string `json:"status"`
	RetiredOn string `json:"retired_on,omitzero"`
}

type trustClaim struct {
	Claim string `json:"claim"`
	Check string `json:"check"`
}

// notClaimed is what nobody should read into anything that is signed here.
var notClaimed = []string{
	"It is no escrow, guarantor, dispute court, rating or ranking.",
	"A reading of a door says what one request saw at one time. It says nothing of delivery or of the operator.",
	"A certificate proves that the store issued it with those fields on that date, and nothing of what a buyer wrote " +
		"into it.",
	"Nobody else has audited the store. What can be checked is checked by you, at the addresses above.",
}

// renderTrust says who keeps the store, what is claimed with where to check it, and what is not.
func renderTrust(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	cfg := s.Site.Config
	doc := struct {
		Schema     string       `json:"$schema"`
		Version    int          `json:"version"`
		Service    string       `json:"service"`
		Keeper     string       `json:"keeper"`
		Contact    string       `json:"contact"`
		Security   string       `json:"security"`
		DID        string       `json:"did"`
		Keys       []trustKey   `json:"signing_keys"`
		Claims     []trustClaim `json:"claims"`
		NotClaimed []string     `json:"not_claimed"`
	}{
		Schema: s.Base + api.TrustSchema, Version: 1, Service: s.Base, Keeper: cfg.Keeper, Contact: cfg.Contact,
		Security: s.Base + "/.well-known/security.txt", DID: s.Base + "/.well-known/did.json", NotClaimed: notClaimed,
		Claims: []trustClaim{
			{"Everything signed here verifies free, without an account.", s.Base + "/verify.md"},
			{"The files of this site are those that the signed manifest lists.",
				s.Base + "/" + attest.PublicLayout().Head()},
			{"The goods are made before the payment is settled, and a delivery that fails takes no money.",
				s.Base + "/agents.md"},
			{"No account, key or session is issued or asked for.", s.Base + "/auth.md"},
			{"The record of readings is appended to and never rewritten.", s.Base + "/corpus.json"},
		},
	}
	id := s.Ring.Identity()
	doc.Keys = append(doc.Keys, trustKey{attest.DIDURL(s.host, id.KID), id.Public.String(), id.Since, "current", ""})
	for _, k := range s.Ring.Retired {
		if k.Purpose == attest.PurposeIdentity {
			doc.Keys = append(doc.Keys, trustKey{attest.DIDURL(s.host, k.KID), k.Public.String(), k.Since, "retired",
				k.RetiredOn})
		}
	}
	return indented(doc)
}

func depsTrust(s *Source, _ int, d *Digester) {
	depsConfig(s, 0, d)
	depsRing(s, 0, d)
}
