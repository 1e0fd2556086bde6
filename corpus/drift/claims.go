package drift

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/probe"
)

// A claim is what one entry of a document says of the door.
type claim struct {
	by     string
	doc    *document
	method said
	terms  []term
	inputs *inputs // nil where it says nothing of them
}

// claimOf reads an entry that has the form of a facilitator's resource or of a challenge.
func claimOf(d *document, entry node) claim {
	return claim{by: d.by, doc: d, method: methodOf(entry), terms: termsOf(entry), inputs: inputsOf(entry)}
}

// reference is the address that an entry names.
func reference(entry node) string {
	return cmp.Or(entry.first("url", "resource").text, entry.get("resource", "url").said().text,
		entry.first("endpoint", "path").text)
}

// listed reads the file at /.well-known/x402. Terms beside its list are those of every door that
// has none of its own.
func listed(d *document, door *url.URL) []claim {
	var out []claim
	for _, name := range []string{"resources", "items", "endpoints", "services"} {
		for _, entry := range d.value.get(name).items() {
			ref, method := reference(entry), said{}
			if text, ok := entry.value.(string); ok {
				ref = strings.TrimSpace(text)
				if m, rest, ok := strings.Cut(ref, " "); ok {
					method, ref = asMethod(said{m, entry.at}), rest
				}
			}
			if !names(ref, d, door) {
				continue
			}
			c := claimOf(d, entry)
			if method.text != "" {
				c.method = method
			}
			if len(c.terms) == 0 {
				c.terms = termsOf(d.value)
			}
			out = append(out, c)
		}
	}
	return out
}

// described reads the operations of an OpenAPI description that are paid for (OpenAPI 3.1, sections
// 4.8.5 and 4.8.8). Offers of MPP are a declaration of their own.
func described(d *document, door *url.URL) []claim {
	bases := []string{""}
	servers := d.value.get("servers").items()
	for _, s := range servers[:min(len(servers), 16)] {
		if b, err := door.Parse(s.get("url").said().text); err == nil && b.Host == door.Host {
			bases = append(bases, strings.TrimSuffix(b.Path, "/"))
		}
	}
	var plain, templates []claim
	for _, path := range d.value.get("paths").members() {
		template := path.at.LastToken()
		if !slices.ContainsFunc(bases, func(b string) bool { return probe.FitsTemplate(b+template, door.Path) }) {
			continue
		}
		for _, operation := range path.members() {
			method := asMethod(said{operation.at.LastToken(), operation.at})
			info := operation.get("x-payment-info")
			if method.text == "" || !info.there() && !operation.get("responses", "402").there() {
				continue
			}
			claims := operationClaims(d, info, claim{by: OpenAPI, doc: d, method: method,
				inputs: operationInputs(d.value, path, operation)})
			if strings.Contains(template, "{") {
				templates = append(templates, claims...)
			} else {
				plain = append(plain, claims...)
			}
		}
	}
	if len(plain) > 0 { // a path without variables is matched before one with
		return plain
	}
	return templates
}

// operationClaims reads an x-payment-info: offers of MPP, prices of x402, or both.
func operationClaims(d *document, info node, of claim) []claim {
	var offers []term
	offer := func(n node) {
		t := termOf(n, MPP)
		t.network, t.chain = n.first("method"), ""
		offers = append(offers, t)
	}
	all := info.get("offers").items()
	for _, o := range all[:min(len(all), probe.MaxEntries)] {
		offer(o)
	}
	if info.get("intent").there() {
		offer(info)
	} else {
		of.terms = termsOf(info)
	}
	for _, protocol := range info.get("protocols").items() {
		if t := termOf(protocol.get("x402"), X402); t.says() {
			of.terms = append(of.terms, t)
		}
	}
	switch {
	case len(offers) == 0:
		return []claim{of}
	case len(of.terms) == 0:
		of.by, of.terms = MPP, offers
		return []claim{of}
	}
	return []claim{of, {by: MPP, doc: d, terms: offers}}
}

// agentCard reads the extensions and skills of an agent card. What names no address of its own is
// about the agent's.
func agentCard(d *document, door *url.URL) []claim {
	entries := d.value.get("skills").items()
	for _, e := range d.value.get("capabilities", "extensions").items() {
		if strings.Contains(e.get("uri").said().text, "x402") {
			entries = append(entries, e.get("params"))
		}
	}
	var out []claim
	for _, entry := range entries {
		if names(cmp.Or(reference(entry), d.value.get("url").said().text), d, door) {
			out = append(out, claimOf(d, entry))
		}
	}
	return out
}

// tools reads the tools of a server card or of an answer to tools/list, and what the card says
// under _meta: terms there are in the form of a challenge, which names its resource.
func tools(d *document, door *url.URL) []claim {
	var out []claim
	entries := slices.Concat([]node{d.value}, d.value.get("tools").items(), d.value.get("result", "tools").items())
	for _, tool := range entries {
		for _, meta := range tool.get("_meta").members() {
			if !names(reference(meta), d, door) {
				continue
			}
			c := claimOf(d, meta)
			if c.inputs == nil {
				c.inputs = inputsOf(node{tool.value, tool.at})
			}
			out = append(out, c)
		}
	}
	return out
}

// endpoint is the first endpoint of a server card that is the host's own, "" for none.
func endpoint(d *document, door *url.URL) string {
	base, err := url.Parse(d.url)
	if err != nil || d.problem != "" {
		return ""
	}
	for _, remote := range d.value.get("remotes").items() {
		ref := remote.get("url").said().text
		u, err := base.Parse(ref)
		if err == nil && ref != "" && u.Scheme == door.Scheme && u.Host == door.Host && u.User == nil {
			u.Fragment, u.RawFragment = "", ""
			return u.String()
		}
	}
	return ""
}
