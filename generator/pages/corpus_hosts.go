package pages

import (
	"bufio"
	"encoding/json/v2"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/templates"
)

// hostPages streams the hosts as long as they have files: above a configured number, the server
// renders their pages on request.
func hostPages(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if ok, err := s.hostFiles(); !ok || err != nil {
			if err != nil {
				yield(Unit{}, err)
			}
			return
		}
		hostUnits(s)(yield)
	}
}

// hostPageNames lists the same.
func hostPageNames(s *Source) iter.Seq2[string, error] {
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
func (s *Source) hostFiles() (bool, error) {
	if s.MaxHostFiles == 0 {
		return true, nil
	}
	n, err := s.hostCount()
	return n <= s.MaxHostFiles, err
}

// renderHost makes one form of a host's page. One worker makes all of them, one after the other,
// from one view.
func renderHost(s *Source, u Unit, mediaType string, _ attest.Digest) ([]byte, error) {
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
func hostSum(u Unit, mediaType string) (attest.Digest, bool) {
	h := u.value.(*hostRows)
	if mediaType != api.JSON || h.view == nil {
		return attest.Digest{}, false
	}
	return h.view.JSONSum(), true
}

// viewHost puts together what the forms of a host's page share. It parses the rows, since most
// hosts of most builds are not rendered.
func (s *Source) viewHost(h *hostRows) (templates.HostView, error) {
	b, err := s.book()
	if err != nil {
		return templates.HostView{}, err
	}
	rows, err := h.raw.Parse()
	if err != nil {
		return templates.HostView{}, err
	}
	s.errata.Correct(rows.Rows)
	history := tier.HistoryOf(s.Rounds, rows, h.feed)
	host, err := derive.DescribeHost(s.Rounds, history, tier.StandingOf(history), derive.HostParts{
		BaseURL: s.Base, Feed: h.feed, Others: b.Others,
		Prove: s.prover.Prove,
	})
	if err != nil {
		return templates.HostView{}, err
	}
	host.Citation.License = derive.License
	v, err := templates.NewHostView(s.chrome, host)
	v.Page.Reload = s.Reload
	return v, err
}

// hostUnits streams a unit for each host of the record. It depends on all rounds, since a round
// without the host is part of its history too, and on the observations of the host. The rounds
// commit to its rows. Its value is a *hostRows.
func hostUnits(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		if s.Record == nil {
			return
		}
		for raw, err := range s.Record.RawHistories() {
			h := &hostRows{raw: raw, feed: s.about[raw.Host]}
			u := Unit{Key: raw.Host, value: h}
			u.Made = func(d *Digester) {
				d.digest(s.chain)
				for _, o := range h.feed {
					d.number(o.Number)
					d.text(o.Signature.String())
					if o.Note != nil {
						d.text(o.Note.Statement.Text) // until it is withdrawn
					}
				}
				s.corrections(d, raw)
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// corrections adds the errata of a host's rows.
func (s *Source) corrections(d *Digester, h record.RawHistory) {
	if len(s.errata) == 0 {
		return
	}
	for _, row := range h.Rows {
		if o, ok := s.errata[row.Leaf]; ok {
			d.text(o.Signature.String())
		}
	}
}

// correctionsBefore adds the errata of rows before a leaf.
func (s *Source) correctionsBefore(d *Digester, leaf int64) {
	for _, o := range s.Feed {
		if o.Erratum != nil && o.Erratum.Leaf < leaf {
			d.text(o.Signature.String())
		}
	}
}

// hostRows is what the record holds of a host.
type hostRows struct {
	raw  record.RawHistory
	feed []record.Observation // about the host, oldest first
	view *templates.HostView  // made by whoever renders it first
}

// digestRounds is over all rounds.
func (s *Source) digestRounds() attest.Digest {
	d := NewDigester()
	for _, r := range s.Rounds {
		d.round(r)
	}
	return d.sum()
}

// aboutHosts sorts the observations that are about a host to it.
func aboutHosts(feed []record.Observation) map[string][]record.Observation {
	about := make(map[string][]record.Observation)
	for _, o := range feed {
		if host := o.Subject(); host != "" {
			about[host] = append(about[host], o)
		}
	}
	return about
}

// hostNames yields the hosts of the record in order.
func hostNames(s *Source) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		b, err := s.book()
		if err != nil {
			yield("", err)
			return
		}
		for i := range b.Hosts() {
			if !yield(b.Roll.Host(i), nil) {
				return
			}
		}
	}
}

// hostCount is how many hosts the record knows.
func (s *Source) hostCount() (int, error) {
	b, err := s.book()
	if err != nil {
		return 0, err
	}
	return b.Hosts(), nil
}

// InlineRows is how many rows a round may have to be published in one file with its header. A
// larger one names its parts, which are files of their own.
const InlineRows = 20_000

// partAddress is one part of a large round.
type partAddress struct {
	URL    string        `json:"url"`
	Rows   int64         `json:"rows"`
	SHA256 attest.Digest `json:"sha256"` // of the file at the URL, as the header says
}

// roundUnits streams the rounds by the bytes of their numbers.
func roundUnits(s *Source) iter.Seq2[Unit, error] {
	rounds := slices.Clone(s.Rounds)
	number := func(r record.Round) string { return strconv.FormatInt(r.Sequence, 10) }
	slices.SortFunc(rounds, func(a, b record.Round) int { return strings.Compare(number(a), number(b)) })
	return func(yield func(Unit, error) bool) {
		for _, r := range rounds {
			if !yield(Unit{Key: number(r), value: r, Made: func(d *Digester) { d.round(r) }}, nil) {
				return
			}
		}
	}
}

// round adds a whole round: its digest covers the header, which covers the rows.
func (d *Digester) round(r record.Round) {
	d.digest(r.Digest)
	d.text(r.Signature.String())
}

// writeRound writes a round's header and its rows, or where these are, as they were signed: the
// header follows "round": and each row has a line.
func writeRound(s *Source, u Unit, _ string, w io.Writer) error {
	r := u.value.(record.Round)
	header, err := s.Record.Header(r.Sequence)
	if err != nil {
		return fmt.Errorf("reading header: %w", err)
	}
	b := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(b, `{"format":"store-snapshot/v1","round":%s,`, header)
	if r.Rows > InlineRows {
		addresses := make([]partAddress, len(r.Parts))
		for i, p := range r.Parts {
			addresses[i] = partAddress{URL: "/" + partFile(partKey(r.Sequence, i)), Rows: p.Rows, SHA256: p.SHA256}
		}
		list, err := json.Marshal(addresses)
		if err != nil {
			return fmt.Errorf("encoding the addresses of parts: %w", err)
		}
		fmt.Fprintf(b, "\"parts\":%s}\n", list)
		return b.Flush()
	}
	b.WriteString(`"rows":[`)
	between := "\n"
	for row, err := range s.Record.RawRows(r.Sequence) {
		if err != nil {
			return err
		}
		b.WriteString(between)
		b.Write(row)
		between = ",\n"
	}
	b.WriteString("\n]}\n")
	return b.Flush() // the writer keeps its first error
}

func partKey(sequence int64, i int) string { return fmt.Sprintf("%d/%06d", sequence, i+1) }
func partFile(key string) string           { return "corpus/parts/" + key + ".jsonl" }

// partUnits streams the parts of large rounds.
func partUnits(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		for u := range roundUnits(s) {
			r := u.value.(record.Round)
			if r.Rows <= InlineRows {
				continue
			}
			for i, p := range r.Parts {
				part := Unit{Key: partKey(r.Sequence, i), value: roundPart{r.Sequence, i},
					Made: func(d *Digester) { d.digest(p.SHA256) }}
				if !yield(part, nil) {
					return
				}
			}
		}
	}
}

type roundPart struct {
	sequence int64
	at       int
}

// writePart writes the rows of a part, each with its newline: the bytes whose digest is in the
// header.
func writePart(s *Source, u Unit, _ string, w io.Writer) error {
	p := u.value.(roundPart)
	rows, err := s.Record.Part(p.sequence, p.at)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	for _, row := range rows {
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.Flush()
}
