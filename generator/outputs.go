package generator

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule/rulebook"
	"store.example/agentstore/templates"
)

// output is a row of the table: one published file or a family of them. The
// paths and media types of its files are those of the document of the same
// name in content/api; a row whose document has a parameter is a family with
// one unit for each value. A parameter {name...} takes values with slashes.
//
// A unit's files depend on what was added to its digest and on nothing else;
// every unit depends on the shared parts of the pages besides. A dependency
// that is left out shows as a difference between an incremental build and a
// full one, which a test over random edits looks for.
type output struct {
	// name of the row, and of its document.
	name string
	// keys lists the values of a small family in increasing byte order, and deps
	// adds what its unit i depends on. Without keys there is a single unit, 0.
	keys func(s *source) []string
	deps func(s *source, i int, d *digester)
	// stream yields the units of a family that may be too large to be held, such
	// as one over hosts, in increasing byte order of their keys. It stands in
	// place of keys and deps. A row without a parameter may stream one unit with
	// an empty key, or none.
	stream func(s *source) iter.Seq2[unit, error]

	// list yields the keys of a stream alone, where that takes less; nil for none.
	list func(s *source) iter.Seq2[string, error]

	// place is what stands for a key in paths; nil: the key itself.
	place func(key string) string

	// One of three makes the representations of a unit. render returns one, which
	// stands until the next is made; made is the digest of what the unit was made
	// from. write is for what may be too
	// large for memory. copy names the file of the record's folder that is
	// published as it stands.
	render func(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error)
	write  func(s *source, u unit, mediaType string, w io.Writer) error
	copy   func(u unit) string
	// sum is the SHA-256 of a file that was rendered, where its renderer has worked
	// it out; nil for nowhere.
	sum func(u unit, mediaType string) (attest.Digest, bool)

	// prose names the page of the site whose text is all that a row's page holds, and program is
	// the one whose text comes with the program: either stands in place of deps and render.
	prose   string
	program *programPage

	// bare says that the units do not depend on the shared parts of the pages.
	bare bool
	// files are the representations when the row has no document.
	files []api.Representation
	// parameter is filled in when the table is made: "{item_id}".
	parameter string
}

// unit is one member of a family, or the single one of a row.
type unit struct {
	// key is the value of the parameter.
	key string
	// at is the unit's place in a family that lists its keys.
	at int
	// made adds what a streamed unit depends on. It is called by a worker, at
	// most once, and must not touch what the stream goes on with.
	made func(d *digester)
	// value is what the stream hands to the renderer.
	value any
	// row is the unit's, and scratch memory of the worker.
	row     *output
	scratch *scratch
}

// scratch is memory that a worker uses again for each unit.
type scratch struct {
	file []byte // a renderer may make a file in it, which is done with when the next one is made
	// what the forms of a unit share may stand in it, which is done with when the next unit is made
	rows record.HistoryRoom // the same for rows
	host derive.HostRoom    // and for what is derived from them
	page *derive.TiersView  // the page of the list of hosts that was made last
}

// table is everything that is published but the manifest, which covers it.
func table() []output {
	return slices.Concat(shopRows(), recordRows(), ownRows())
}

// ownRows stand behind all others, since any name is of their form.
func ownRows() []output {
	return []output{{name: "own_page", keys: ownKeys, deps: depsOwn, render: renderOwn}}
}

func shopRows() []output {
	return []output{
		{name: "home", deps: depsHome, render: renderHome},
		{name: "menu", deps: depsCatalogue, render: renderMenu},
		{name: "menu_item", keys: goodKeys, deps: depsGood, render: renderGood},
		{name: "what", deps: depsWhat, render: renderWhat},
		{name: "pricing", deps: depsPricing, render: renderPricing},
		{name: "pricing_page", deps: depsPricing, render: renderPricingPage},
		{name: "menu_page", render: renderMoved("The catalogue", "The shelves", "/#shelves", "/menu.json")},
		{name: "api_page", render: renderMoved("{title}: the API", "The API for people", "/docs/api", "/openapi.json")},
		{name: "verify_guide", deps: depsVerify, render: renderVerify},
		{name: "llms", deps: depsLLMs, render: renderLLMs},
		{name: "llms_full", deps: depsLLMs, render: renderLLMs},
		{name: "guide_section", keys: guideTopics, deps: depsLLMs, render: renderGuideSection},
		{name: "almanac", deps: depsPublication("almanac"), render: renderPublication("almanac")},
		{name: "almanac_feed", deps: depsPublication("almanac"), render: renderPublicationFeed("almanac")},
		{name: "gazette_feed", deps: depsPublication("gazette"), render: renderPublicationFeed("gazette")},
		{name: "gazette", deps: depsPublication("gazette"), render: renderPublication("gazette")},
		{name: "zodiac", deps: depsZodiac, render: renderZodiac},
		{name: "zodiac_archive", deps: depsPublication("zodiac"), render: renderArchive},
		{name: "tips", deps: depsPublication("tips"), render: renderPublication("tips")},
		{name: "directory", deps: depsDirectory, render: renderDirectory},
		{name: "retired_words", deps: depsWords, render: renderWords},
		{name: "problems", deps: depsProblems, render: renderProblems},
		{name: "problem", keys: problemKeys, deps: depsProblem, render: renderProblem},
		{name: "store_attestation_v1", deps: depsPage("spec/store-attestation-v1"), render: renderSpec},
		{name: "running", prose: "running"},
		{name: "running_page", keys: topicsIn(runningFolder), deps: depsTopics(runningFolder),
			render: renderTopics(runningFolder)},
		{name: "glossary", program: &glossary},
		{name: "configuration", program: &configuration},
		{name: "store_bundle_v1", prose: "spec/store-bundle-v1"},
		{name: "store_corpus_v1", prose: "spec/store-corpus-v1"},
		{name: "store_corpus_v1_rules", program: &recordRules},
		{name: "store_corpus_v1_forms", deps: depsForms, render: ready(rulebook.Forms), bare: true},
		{name: "store_evidence_v1", program: &evidenceFormat},
		{name: "store_corpus_vectors_index", stream: vectorIndex, render: renderHeld, bare: true},
		{name: "store_corpus_vectors", stream: vectorUnits, render: renderHeld, bare: true},
		{name: "store_callback_v1", prose: "spec/store-callback-v1"},
		{name: "store_report_v1", prose: "spec/store-report-v1"},
		{name: "find", deps: depsFind, render: renderFind},
		{name: "find_index", deps: depsFindIndex, render: renderFindIndex, bare: true},
		{name: "find_index_script", deps: depsFindIndex, render: renderFindIndex, bare: true},
		{name: "verify_papers", render: ready(templates.PapersScript)},
		{name: "verify_run", deps: depsVerifier, render: renderVerifier},
		{name: "verify_script", render: ready(templates.VerifierScript)},
		{name: "verify_worker", render: ready(templates.VerifierWorker)},
		{name: "verify_program", stream: verifierFiles, render: renderBytes, bare: true,
			files: []api.Representation{{MediaType: "application/octet-stream", Path: "verify/{file}"}}},
		{name: "try", deps: depsPage("try"), render: renderTry},
		{name: "try_script", render: ready(templates.Script)},
		{name: "docs_style", render: ready(templates.DocsStyle)},
		{name: "door_style", render: ready(templates.DoorStyle)},
		{name: "copy_script", render: ready(templates.CopyScript)},
		{name: "door_script", render: ready(templates.DoorScript)},
		{name: "wallet_script", render: ready(templates.WalletScript)},
		{name: "criteria", deps: depsPage("criteria"), render: renderCriteria},
		{name: "battery", keys: batteryKeys, render: renderBattery},
		{name: "defects", deps: depsPage("defects"), render: renderDefects},
		{name: "defect", keys: defectKeys, render: renderDefect},
		{name: "conformance_guide", deps: depsConformance, render: renderConformance},
		{name: "conformance_vectors", deps: depsRing, render: renderVectors},
		{name: "agents", prose: "agents"},
		{name: "auth", prose: "auth"},
		{name: "protected_resource", deps: depsConfig, render: renderProtectedResource},
		{name: "api_catalog", render: renderAPICatalog},
		{name: "mcp", deps: depsPage("mcp"), render: renderMCPGuide},
		{name: "webmcp", render: ready(templates.WebMCP)},
		{name: "webmcp_demo", render: ready(templates.WebMCPDemo)},
		{name: "mcp_locator", render: renderMCPLocator},
		{name: "mcp_card", render: renderMCPCard(0)},
		{name: "mcp_verifier_card", render: renderMCPCard(1)},
		{name: "mcp_docs_card", render: renderMCPCard(2)},
		{name: "ai_catalog", render: renderAICatalog},
		{name: "agent_card", deps: depsAgentCard, render: renderAgentCard},
		{name: "skill", deps: depsPage("skill"), render: renderSkill},
		{name: "skill_file", deps: depsPage("skill"), render: renderSkill},
		{name: "skills_index", deps: depsPage("skill"), render: renderSkillsIndex},
		{name: "ucp", deps: depsRing, render: renderUCP},
		{name: "trust", deps: depsTrust, render: renderTrust},
		{name: "trust_schema", render: renderTrustSchema},
		{name: "x402", deps: depsPaid, render: renderX402},
		{name: "docs", prose: "docs"},
		{name: "docs_goods", program: &goodsReference},
		{name: "docs_api", program: &apiReference},
		{name: "docs_api_group", keys: apiGroups, deps: depsAPI, render: renderAPIGroup},
		{name: "docs_page", keys: topicsIn(docsFolder), deps: depsTopics(docsFolder), render: renderTopics(docsFolder)},
		{name: "openapi", deps: depsAPI, render: renderOpenAPI},
		{name: "openapi_tools", deps: depsAPI, render: renderTools},
		{name: "api_guide", deps: depsAPI, render: renderAPIGuide},
		{name: "deprecation", deps: depsDeprecation, render: renderDeprecation},
		{name: "robots", deps: depsRobots, render: renderRobots},
		{name: "sitemap", stream: sitemapUnit, render: renderSitemap},
		{name: "sitemap_parts", stream: sitemapParts, render: renderSitemapPart,
			files: []api.Representation{{MediaType: api.XML, Path: "sitemaps/{part}.xml"}}},
		{name: "signing_key", deps: depsRing, render: renderSigningKey},
		{name: "did", deps: depsRing, render: renderDID},
		{name: "anchor_log", stream: anchorLogUnit, render: renderHeld, bare: true},
		{name: "security_txt", deps: depsConfig, render: renderSecurityText},
		{name: "style", render: ready(templates.Style)},
		{name: "favicon", render: ready(templates.Favicon)},
		{name: "old_favicon", render: ready(templates.OldFavicon), bare: true},
		{name: "touch_icon", render: ready(templates.TouchIcon), bare: true},
		{name: "web_manifest", deps: depsConfig, render: renderWebManifest},
		{name: "preview_store", render: ready(templates.Preview), bare: true},
		{name: "not_found", deps: depsPage("404"), render: renderNotFound},
		{name: "cdn_headers", deps: depsHeaders, render: renderHeaders},
		{name: "round", stream: roundUnits, write: writeRound, bare: true},
		{name: "round_parts", stream: partUnits, write: writePart, bare: true},
		{name: "round_headers", stream: sealedFiles("/header.json", 0), copy: copied, bare: true},
		{name: "host_index", stream: sealedFiles("/hosts/", 2), copy: copied, bare: true},
		{name: "key_ring", stream: recordRing, render: renderHeld, bare: true},
		{name: "log_checkpoint", stream: recordCheckpoint, render: renderHeld, bare: true},
		{name: "log_tiles", stream: recordFiles("log/tile", true, wholeName), copy: copied, bare: true},
		{name: "log_checkpoints", stream: recordFiles("log/checkpoints", true, wholeName), copy: copied, bare: true},
		{name: "log_cosignatures", stream: recordFiles("log/cosignatures", false, wholeName), copy: copied, bare: true},
		{name: "log_policy", stream: policyUnit, render: renderPolicy, bare: true},
		{name: "bulk", stream: madeApart},
		{name: "allowed_signers", stream: signersUnit, render: renderSigners},
		{name: "bulk_dictionary", stream: madeApart},
		{name: "bulk_rows", stream: madeApart},
		{name: "bulk_csv", stream: madeApart},
		{name: "bulk_parquet", stream: madeApart},
		{name: "bulk_database", stream: madeApart},
		{name: "query", deps: depsQuery, render: renderQuery},
		{name: "query_style", render: ready(templates.AskStyle)},
		{name: "query_script", render: ready(templates.AskScript)},
		{name: "query_worker", render: ready(templates.AskWorker)},
		{name: "query_program", stream: programUnit, render: renderBytes, bare: true},
		{name: "git_packs", stream: madeApart},
		{name: "git_heads", stream: madeApart},
		{name: "evidence_packs", stream: recordFiles("evidence", true, suffixed(".jsonl.gz")), copy: copied,
			bare: true},
		{name: "words", stream: recordFiles("words", true, suffixed(".json")), copy: copied, bare: true},
		{name: "evidence_indexes", stream: recordFiles("evidence", true, suffixed(".index.json")), copy: copied,
			bare: true},
	}
}

// prepare gives each row the files of its document.
func prepare(rows []output) ([]output, error) {
	seen := make(map[string]bool)
	for i := range rows {
		row := &rows[i]
		if seen[row.name] {
			return nil, fmt.Errorf("output %s stands twice in the table", row.name)
		}
		seen[row.name] = true
		switch {
		case row.prose != "":
			row.deps, row.render = depsPage(row.prose), renderProse(row.prose)
		case row.program != nil:
			row.deps, row.render = row.program.deps, row.program.render
		}
		if row.files == nil {
			doc, ok := documents[row.name]
			if !ok {
				return nil, fmt.Errorf("output %s is no document of the API", row.name)
			}
			row.files = doc.Files
		}
		for _, f := range row.files {
			start, end := strings.IndexByte(f.Path, '{'), strings.IndexByte(f.Path, '}')
			if row.stream == nil && (start >= 0) != (row.keys != nil) {
				return nil, fmt.Errorf("output %s: %s and the row disagree about being a family", row.name, f.Path)
			}
			if start >= 0 {
				row.parameter = f.Path[start : end+1]
			}
		}
	}
	return rows, nil
}

// units yields what a row consists of, in increasing byte order of the keys.
func (o *output) units(s *source) iter.Seq2[unit, error] {
	if o.stream != nil {
		return o.stream(s)
	}
	return func(yield func(unit, error) bool) {
		keys := []string{""}
		if o.keys != nil {
			keys = o.keys(s)
		}
		for i, key := range keys {
			if !yield(unit{key: key, at: i}, nil) {
				return
			}
		}
	}
}

// names yields the keys of a row alone.
func (o *output) names(s *source) iter.Seq2[string, error] {
	if o.list != nil {
		return o.list(s)
	}
	return func(yield func(string, error) bool) {
		for u, err := range o.units(s) {
			if !yield(u.key, err) {
				return
			}
		}
	}
}

// path is the file of a unit.
func (o *output) path(f api.Representation, key string) string {
	if o.parameter == "" {
		return f.Path
	}
	return strings.Replace(f.Path, o.parameter, o.placed(key), 1)
}

func (o *output) placed(key string) string {
	if o.place == nil {
		return key
	}
	return o.place(key)
}

// digest is of everything that a unit is made from.
func (o *output) digest(s *source, u unit, d *digester) attest.Digest {
	d.text(o.name)
	if !o.bare {
		d.digest(s.shared)
	}
	switch {
	case o.stream != nil:
		u.made(d)
	case o.deps != nil:
		o.deps(s, u.at, d)
	}
	return d.sum()
}

// twin is a page in one of its two forms, in the memory of the worker.
func (u unit) twin(v templates.View, mediaType string) (body []byte, err error) {
	switch mediaType {
	case api.HTML:
		body, err = templates.AppendHTML(u.scratch.file[:0], v)
	case api.Markdown:
		body, err = templates.AppendMarkdown(u.scratch.file[:0], v)
	default:
		return unknown(mediaType)
	}
	u.scratch.file = body
	return body, err
}

// unknown is the error of a renderer that is asked for a media type it does
// not make.
func unknown(mediaType string) ([]byte, error) {
	return nil, fmt.Errorf("no renderer for %s", mediaType)
}

func goodKeys(s *source) []string    { return s.ids }
func problemKeys(s *source) []string { return s.codes }

func depsHeaders(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	d.text(ownKeys(s)...)
}
func depsConfig(s *source, _ int, d *digester) { d.config(s.Site.Config) }
func depsCatalogue(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	d.digest(s.catalogue)
	s.retired(d)
}
func depsGood(s *source, i int, d *digester) {
	d.digest(s.goodFacts[i])
	d.text(s.goods[i].Body)
	d.number(int64(s.goods[i].Line))
}
func depsHome(s *source, _ int, d *digester) {
	s.page(d, "index")
	depsCatalogue(s, 0, d)
	s.ofRecord(d)
}
func depsWhat(s *source, _ int, d *digester) {
	s.page(d, "what")
	depsCatalogue(s, 0, d)
	depsRing(s, 0, d)
}
func depsPricing(s *source, _ int, d *digester) { s.page(d, "pricing"); depsCatalogue(s, 0, d) }
func depsVerify(s *source, _ int, d *digester) {
	s.page(d, "verify")
	s.depsVerifying(d, "record/clone")
	depsRing(s, 0, d)
}
func depsLLMs(s *source, _ int, d *digester) {
	s.page(d, "llms")
	depsCatalogue(s, 0, d)
	d.digest(s.api)
}
func depsAPI(s *source, _ int, d *digester) {
	s.page(d, "llms")
	depsCatalogue(s, 0, d)
	d.digest(s.api)
	d.text(s.networks()...)
}
func depsRobots(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	d.digest(s.api)
}
func depsDeprecation(s *source, _ int, d *digester) { d.digest(s.api) }

func depsWords(s *source, _ int, d *digester) {
	for _, w := range s.words {
		d.text(w.Word, w.Epitaph, w.Date)
		d.number(w.Number)
	}
	_, sold := s.wordGood()
	d.flag(sold)
}

func depsProblem(s *source, i int, d *digester) { s.page(d, "problems/"+s.codes[i]) }

func depsProblems(s *source, _ int, d *digester) {
	for i := range s.codes {
		depsProblem(s, i, d)
	}
}

func depsRing(s *source, _ int, d *digester) {
	for _, k := range s.Ring.Current {
		d.text(string(k.Purpose), k.KID, k.Since)
	}
	for _, k := range s.Ring.Retired {
		d.text(string(k.Purpose), k.KID, k.Since, k.RetiredOn)
	}
	for _, h := range s.Ring.Handovers {
		d.text(h.FromKID, h.ToKID, h.Effective, h.Reason, h.Signature.String())
	}
}

func (s *source) page(d *digester, name string) {
	if p, ok := s.Site.Page(name); ok {
		d.page(&p)
	}
}

func (s *source) retired(d *digester) {
	for _, r := range s.Site.Retired {
		d.text(r.ID, r.FoldedInto, r.Reason)
	}
}

// viewOf is the head of the page of a unit.
func (s *source) viewOf(u unit, title, summary string, made attest.Digest) templates.Page {
	p := templates.Page{Title: title, Summary: summary, Made: made.String(), Reload: s.reload}
	p.Path = strings.Replace(documents[u.row.name].Path, u.row.parameter, u.key, 1)
	for _, f := range u.row.files {
		switch f.MediaType {
		case api.Markdown:
			p.Twin = "/" + u.row.path(f, u.key)
		case api.JSON:
			p.Data = "/" + u.row.path(f, u.key)
		}
	}
	return p
}
