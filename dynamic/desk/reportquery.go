package desk

import (
	"net/url"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"

	"github.com/go-json-experiment/json/jsontext"
)

// withoutQuery takes the query of a door's URL out of a judgement: from every URL that was asked,
// and from wherever the door repeats it, whole or a parameter of it, as it was written or decoded.
// A query may be a customer's number or a token, and a report is passed on. A judgement of a URL
// without one is returned as it is.
func withoutQuery(j probe.Judgement) probe.Judgement {
	asked, query, found := strings.Cut(j.URL, "?")
	if !found {
		return j
	}
	drop := dropper(query)
	j.URL = asked
	evidence := make([]exchange.Redacted, len(j.Evidence))
	for i, e := range j.Evidence {
		e.URL, _, _ = strings.Cut(e.URL, "?")
		e.Error.Text = drop.Replace(e.Error.Text)
		e.Headers = dropLines(drop, e.Headers)
		e.Challenges = append([]exchange.Challenge{}, e.Challenges...)
		for k := range e.Challenges {
			c := &e.Challenges[k]
			c.Params = dropLines(drop, c.Params)
			c.Value = jsontext.Value(drop.Replace(string(c.Value)))
		}
		evidence[i] = e
	}
	j.Evidence = evidence
	return j
}

// dropper removes a query with its question mark, and what of it is long enough to be meant:
// parameters and their values.
func dropper(query string) *strings.Replacer {
	const meant = 8
	pieces := []string{query}
	for pair := range strings.SplitSeq(query, "&") {
		_, value, _ := strings.Cut(pair, "=")
		pieces = append(pieces, pair, value)
	}
	old := []string{"?" + query, ""}
	for _, s := range pieces {
		decoded, err := url.QueryUnescape(s)
		if err != nil {
			decoded = s
		}
		for _, s := range []string{s, decoded} {
			quoted, err := jsontext.AppendQuote(nil, s)
			if err == nil && len(s) >= meant { // else it holds what no text of a published form can
				old = append(old, s, "", string(quoted[1:len(quoted)-1]), "")
			}
		}
	}
	return strings.NewReplacer(old...)
}

// dropLines is the lines without the query. What was cut may have been cut within one.
func dropLines(drop *strings.Replacer, lines []exchange.HeaderLine) []exchange.HeaderLine {
	if lines == nil {
		return nil
	}
	out := make([]exchange.HeaderLine, len(lines))
	for i, h := range lines {
		h.Value = drop.Replace(h.Value)
		if h.Cut {
			h.Value, _, _ = strings.Cut(h.Value, "?")
		}
		out[i] = h
	}
	return out
}
