package dynamic

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/templates"
)

// HostPages renders the pages of hosts from the signed record, with the bytes that a build would
// write.
type HostPages struct {
	Archive *archive.Archive         // nil: there is no record
	Chrome  func() *templates.Chrome // of the tree in force
	BaseURL string
	// Spell returns a host in the record's spelling, as far as it is one: lower case, ASCII form,
	// no dot at its end.
	Spell func(host string) string
}

// Canonical is the host as it stands in addresses.
func (p HostPages) Canonical(name string) string {
	if isHashed(name) {
		return name
	}
	return derive.HostName(p.Spell(name))
}

// isHashed reports whether a name is a digest in place of a host.
func isHashed(name string) bool {
	sum, ok := strings.CutPrefix(name, "h-")
	return ok && len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}

// Render makes one representation of a host's page. A host that no round named has none, and the
// answer says where to ask and what to do.
func (p HostPages) Render(_ context.Context, name, mediaType string) ([]byte, error) {
	described, err := p.Describe(name)
	if err != nil {
		return nil, err
	}
	view, err := templates.NewHostView(p.Chrome(), described)
	if err != nil {
		return nil, err
	}
	switch mediaType {
	case api.HTML:
		return templates.RenderHost(view)
	case api.Markdown:
		return templates.RenderHostMarkdown(view)
	case api.JSON:
		return templates.HostJSON(view), nil
	}
	return nil, fmt.Errorf("rendering %s: there is no form of type %s", described.Host, mediaType)
}

// Describe is what the record in force shows of a host, by its name in addresses.
func (p HostPages) Describe(name string) (derive.Host, error) {
	s, h, err := p.history(name)
	if err != nil {
		return derive.Host{}, err
	}
	described, err := p.describe(s, h)
	if err != nil {
		return derive.Host{}, fmt.Errorf("describing %s: %w", h.Host, err)
	}
	return described, nil
}

// history is what the record in force holds of a host, by its name in addresses.
func (p HostPages) history(name string) (*archive.State, tier.History, error) {
	var s *archive.State
	if p.Archive != nil {
		s = p.Archive.Now()
	}
	if s == nil {
		return nil, tier.History{}, p.notMet(name)
	}
	host := name
	if isHashed(name) {
		spelled, ok, err := s.Index.Hashed(name[len("h-"):])
		if err != nil {
			return nil, tier.History{}, err
		}
		if !ok || derive.HostName(spelled) != name {
			return nil, tier.History{}, p.notMet(name)
		}
		host = spelled
	}
	h, ok, err := s.History(host)
	if err == nil && !ok {
		err = p.notMet(host)
	}
	return s, h, err
}

// describe puts together what is published of a host.
func (p HostPages) describe(s *archive.State, h tier.History) (derive.Host, error) {
	var failed error
	described, err := derive.DescribeHost(s.Rounds, h, tier.StandingOf(h), derive.HostParts{
		BaseURL: p.BaseURL, Feed: s.About(h.Host),
		Others: func(sequence int64, address record.PayTo) int64 {
			n, err := s.Others(sequence, address)
			if err != nil {
				failed = err
			}
			return n
		},
		Prove: s.Prove,
	})
	if failed != nil {
		return described, failed
	}
	described.Citation.License = derive.License
	return described, err
}

func (p HostPages) notMet(host string) error {
	why, declare := p.BaseURL+"/api/why/"+url.PathEscape(host), p.BaseURL+"/api/declare-door"
	said := "No round of the record has named this host. That is a fact about the store, not about the host."
	next, extra := "GET "+why+" says whether the host", map[string]any{"host": host}
	if isHashed(host) { // of a name that is too long or too odd to stand in an address, which its digest does not tell
		why = p.BaseURL + "/api/why/{host}"
		said = "No round of the record has named a host whose name has this SHA-256. Only names that are too long or " +
			"too odd for an address stand at their digest. That is a fact about the store, not about a host."
		next, extra = "GET "+why+", with the bare name of the host itself, says whether it",
			map[string]any{"host_sha256": host[len("h-"):]}
	}
	extra["never_met"], extra["why_url"], extra["declare_url"] = true, why, declare
	return &problem.Error{Code: "not_found", Detail: said, Extra: extra,
		Next: next + " is on the roster and what stopped a walk. POST {\"host\": …} to " + declare +
			" has the host's own list of doors read now."}
}
