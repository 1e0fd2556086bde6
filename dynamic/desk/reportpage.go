package desk

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/signable"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/visible"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"

	"github.com/go-json-experiment/json"
)

// KeptReport is a reading at an address of its own.
type KeptReport struct {
	Version   string `json:"version"` // v1
	ReportURL string `json:"report_url"`
	URL       string `json:"url"` // of the door, without its query
	Host      string `json:"host"`
	MadeAt    string `json:"made_at"`
	KeptUntil string `json:"kept_until"`
	WhatItIs  string `json:"what_this_is"`
	// OnRecord is what the signed record holds of the host now.
	OnRecord OnRecord `json:"on_record"`
	// Told is what the caller was told when it was read; Report is what the same battery makes of
	// the same bytes, and Rejudged what later ones do.
	Told     probe.Reading `json:"told"`
	Report   probe.Report  `json:"report"`
	Rejudged []Rejudged    `json:"rejudged"`
	// Judgement is what all of it rests on, as published, in base64: a store-judgement/v1. Beside
	// it is the SHA-256 of its bytes.
	Judgement       []byte   `json:"judgement"`
	JudgementSHA256 string   `json:"judgement_sha256"`
	NextSteps       []string `json:"next_steps"`
}

// OnRecord is a host's standing in the record.
type OnRecord struct {
	NeverMet bool   `json:"never_met"`
	Tier     *Tier  `json:"tier"`
	HostURL  string `json:"host_url,omitzero"`
}

// Rejudged is what a later battery makes of the same bytes.
type Rejudged struct {
	Version    string        `json:"version"`
	Verdict    probe.Verdict `json:"verdict"`
	Says       string        `json:"says"`
	Difference string        `json:"difference"`
}

const notTheRecord = "One look at one moment, kept for 30 days because its caller asked for an address. It is not " +
	"the record: it is not signed, and stands in no round and no tier."

// maxReadable bounds a report as it is shown; what it rests on is bounded by MaxReport.
const maxReadable = 4 << 20

// readable is a report whose words from strangers neither move the cursor nor turn the writing.
func readable(r probe.Report) (out probe.Report, err error) {
	b, err := signable.Of(r, maxReadable, visible.Text)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, err
	}
	out.Others = r.Others
	return out, nil
}

// keptReport judges what is kept once more and puts the record beside it.
func (d *Desk) keptReport(r *http.Request, id string) (KeptReport, error) {
	kept, err := d.report(r.Context(), id)
	if err != nil {
		return KeptReport{}, err
	}
	j, err := probe.DecodeJudgement([]byte(kept.Judgement))
	if err != nil {
		return KeptReport{}, fmt.Errorf("reading report %s: %w", id, err)
	}
	report, err := j.Judge()
	if err != nil {
		return KeptReport{}, fmt.Errorf("judging report %s: %w", id, err)
	}
	if report, err = readable(report); err != nil {
		return KeptReport{}, fmt.Errorf("showing report %s: %w", id, err)
	}
	u, err := url.Parse(j.URL)
	if err != nil {
		return KeptReport{}, fmt.Errorf("reading report %s: %w", id, err)
	}
	held, err := d.cfg.Record.Host(r.Context(), u.Hostname())
	if err != nil {
		return KeptReport{}, err
	}
	out := KeptReport{Version: "v1", ReportURL: d.cfg.BaseURL + "/r/" + id, URL: visible.Text(j.URL),
		Host: visible.Text(u.Hostname()), MadeAt: kept.Made.Format(time.RFC3339),
		KeptUntil: kept.Made.Add(ReportsKept).Format(time.RFC3339), WhatItIs: notTheRecord,
		OnRecord: OnRecord{NeverMet: held.NeverMet, Tier: held.Tier}, Told: kept.Told, Report: report,
		Rejudged: rejudged(report), Judgement: []byte(kept.Judgement),
		JudgementSHA256: attest.Digest(sha256.Sum256([]byte(kept.Judgement))).String(),
		NextSteps: []string{"POST the door's URL to " + d.cfg.BaseURL + "/api/look/v1 reads it now and sets it " +
			"against the record.", "GET " + d.cfg.BaseURL + "/criteria says how verdicts and tiers are counted."}}
	if !held.NeverMet {
		out.OnRecord.HostURL = d.cfg.BaseURL + derive.HostPath(u.Hostname())
	}
	return out, nil
}

// rejudged is what every battery later than the report's own makes of the same bytes.
func rejudged(r probe.Report) []Rejudged {
	out := []Rejudged{}
	versions := probe.Versions()
	for _, also := range r.Others {
		if slices.Index(versions, also.Version) < slices.Index(versions, r.Version) {
			continue
		}
		out = append(out, Rejudged{Version: also.Version, Verdict: also.Verdict, Difference: also.Difference,
			Says: "Same bytes, " + also.Version + " says " + verdictWords(also.Verdict) + "."})
	}
	return out
}

// reportPage answers with a kept report as a page, in Markdown or as JSON.
func (d *Desk) reportPage(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	h.Set("X-Robots-Tag", "noindex")
	kept, err := d.keptReport(r, route.Inputs(r).String("id"))
	if err != nil {
		return err
	}
	mediaType := wanted(strings.Join(r.Header.Values("Accept"), ","))
	if mediaType == api.JSON {
		return writeJSON(w, kept)
	}
	render := templates.HTML
	if mediaType == api.Markdown {
		render = templates.Markdown
	}
	b, err := render(d.reportView(r.URL.Path, kept))
	if err != nil {
		return err
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // the client went away: nobody is left to tell
	return nil
}

func (d *Desk) reportView(path string, kept KeptReport) *templates.KeptReportView {
	v := &templates.KeptReportView{Chrome: d.cfg.Chrome(), Page: templates.Page{Title: "A reading of " + kept.Host,
		Path: path, NoIndex: true}, WhatItIs: kept.WhatItIs, Reading: readingView(Preflight{Report: kept.Report}),
		MadeAt: kept.MadeAt, KeptUntil: kept.KeptUntil, Tier: "never met in a round",
		Told: verdictWords(kept.Told.Verdict) + " under battery " + kept.Told.Battery}
	if t := kept.OnRecord.Tier; t != nil {
		v.Tier = t.Line
	}
	if !kept.OnRecord.NeverMet {
		v.HostPage = strings.TrimPrefix(kept.OnRecord.HostURL, d.cfg.BaseURL)
	}
	for _, again := range kept.Rejudged {
		said := again.Says
		if again.Difference != "" {
			said += " " + again.Difference + "."
		}
		v.Rejudged = append(v.Rejudged, said)
	}
	return v
}

func reportFace() route.Face[*Desk] {
	return instrument(api.Route{
		Name: "kept_report", Method: http.MethodGet, Pattern: "/r/{id}", Serve: api.Private,
		Summary: "A reading that was given an address",
		Description: "What preflight, look and before-you-pay gave an address to, because `share` was true: a page, " +
			"Markdown or JSON, by Accept. It is kept for 30 days, without the query of the door's URL, and judged " +
			"again by later batteries. It is one look and not the record; the tier of the host stands beside it.",
		Params: []api.Param{{Name: "id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 64,
			Description: "As in report_url"}},
		Responses: append([]api.Response{
			{Status: http.StatusOK, ContentType: api.HTML, Description: "The report, for people"},
			{Status: http.StatusOK, ContentType: api.Markdown, Description: "The report in Markdown"},
			{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[KeptReport](),
				Description: "The report"},
		}, problems(http.StatusNotFound, http.StatusGone, http.StatusServiceUnavailable)...),
	}, (*Desk).reportPage)
}
