package generator

import (
	"iter"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/templates"
)

// hostPages streams the hosts as long as they have files: above a configured number, the server
// renders their pages on request.
func hostPages(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if ok, err := s.hostFiles(); !ok || err != nil {
			if err != nil {
				yield(unit{}, err)
			}
			return
		}
		hostUnits(s)(yield)
	}
}

// hostPageNames lists the same.
func hostPageNames(s *source) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if ok, err := s.hostFiles(); !ok || err != nil {
			if err != nil {
				yield("", err)
			}
			return
		}
		hostNames(s)(yield)
	}
}

// hostFiles reports whether hosts have files.
func (s *source) hostFiles() (bool, error) {
	if s.MaxHostFiles == 0 {
		return true, nil
	}
	n, err := s.hostCount()
	return n <= s.MaxHostFiles, err
}

// renderHost makes one form of a host's page. One worker makes all of them, one after the other,
// from one view.
func renderHost(s *source, u unit, mediaType string, _ attest.Digest) ([]byte, error) {
	h := u.value.(*hostRows)
	if h.view == nil {
		v, err := s.viewHost(h)
		if err != nil {
			return nil, err
		}
		h.view = &v
	}
	switch mediaType {
	case api.HTML:
		return templates.RenderHost(*h.view)
	case api.Markdown:
		return templates.RenderHostMarkdown(*h.view)
	case api.JSON:
		return templates.HostJSON(*h.view), nil
	}
	return unknown(mediaType)
}

// hostSum is the digest of a host's JSON, which its page shows.
func hostSum(u unit, mediaType string) (attest.Digest, bool) {
	h := u.value.(*hostRows)
	if mediaType != api.JSON || h.view == nil {
		return attest.Digest{}, false
	}
	return h.view.JSONSum(), true
}

// viewHost puts together what the forms of a host's page share. It parses the rows, since most
// hosts of most builds are not rendered.
func (s *source) viewHost(h *hostRows) (templates.HostView, error) {
	b, err := s.book()
	if err != nil {
		return templates.HostView{}, err
	}
	rows, err := h.raw.Parse()
	if err != nil {
		return templates.HostView{}, err
	}
	s.errata.Correct(rows.Rows)
	history := tier.HistoryOf(s.rounds, rows, h.feed)
	host, err := derive.DescribeHost(s.rounds, history, tier.Of(history), derive.HostParts{
		BaseURL: s.base, Feed: h.feed, Others: b.Others,
		Prove: s.prover.Prove,
	})
	if err != nil {
		return templates.HostView{}, err
	}
	host.Citation.License = derive.License
	v, err := templates.NewHostView(s.chrome, host)
	v.Page.Reload = s.reload
	return v, err
}
