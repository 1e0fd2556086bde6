package generator

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/templates"
)

// table is everything that is published but the manifest, which covers it.
func table() []output {
	return slices.Concat(shopRows(), recordRows(), apartRows(), ownRows())
}

// apartRows are the documents whose files package bulk makes in the tree. They make nothing here,
// and stand in the table so that it names every file.
func apartRows() (rows []output) {
	for _, name := range []string{"bulk", "bulk_dictionary", "bulk_rows", "bulk_csv", "bulk_parquet",
		"bulk_database", "git_packs", "git_heads"} {
		rows = append(rows, output{name: name, stream: func(*source) iter.Seq2[unit, error] {
			return func(func(unit, error) bool) {}
		}})
	}
	return rows
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
		{name: "store_corpus_v1_forms", deps: depsForms, render: ready(rule.Forms), bare: true},
		{name: "store_evidence_v1", program: &evidenceFormat},
		{name: "store_corpus_vectors_index", stream: vectorIndex, render: renderHeld, bare: true},
		{name: "store_corpus_vectors", stream: vectorUnits, render: renderHeld, bare: true},
		{name: "store_callback_v1", prose: "spec/store-callback-v1"},
		{name: "store_report_v1", prose: "spec/store-report-v1"},
		{name: "find", deps: depsFind, render: renderFind},
		{name: "find_index", deps: depsFindIndex, render: renderFindIndex, bare: true},
		{name: "find_index_script", deps: depsFindIndex, render: renderFindIndex, bare: true},
		{name: "verify_papers", render: asset("papers.js")},
		{name: "verify_run", deps: depsVerifier, render: renderVerifier},
		{name: "verify_script", render: asset("verify.js")},
		{name: "verify_worker", render: asset("worker.js")},
		{name: "verify_program", stream: verifierFiles, render: renderBytes, bare: true,
			files: []api.Representation{{MediaType: "application/octet-stream", Path: "verify/{file}"}}},
		{name: "try", deps: depsPage("try"), render: renderTry},
		{name: "try_script", render: asset("try.js")},
		{name: "docs_style", render: asset("docs.css")},
		{name: "door_style", render: asset("door.css")},
		{name: "copy_script", render: asset("copy.js")},
		{name: "door_script", render: asset("door.js")},
		{name: "wallet_script", render: asset("wallet.js")},
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
		{name: "webmcp", render: asset("webmcp.js")},
		{name: "webmcp_demo", render: asset("webmcp-demo.js")},
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
		{name: "style", render: asset("style.css")},
		{name: "favicon", render: asset("favicon.svg")},
		{name: "old_favicon", render: asset("favicon.ico"), bare: true},
		{name: "touch_icon", render: asset("touch-icon.png"), bare: true},
		{name: "web_manifest", deps: depsConfig, render: renderWebManifest},
		{name: "preview_store", render: asset("preview.png"), bare: true},
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
		{name: "allowed_signers", stream: signersUnit, render: renderSigners},
		{name: "query", deps: depsQuery, render: renderQuery},
		{name: "query_style", render: asset("ask.css")},
		{name: "query_script", render: asset("ask.js")},
		{name: "query_worker", render: asset("askworker.js")},
		{name: "query_program", stream: programUnit, render: renderBytes, bare: true},
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

func goodKeys(s *source) []string    { return s.ids }
func problemKeys(s *source) []string { return s.codes }

func depsHeaders(s *source, _ int, d *digester) {
	depsConfig(s, 0, d)
	d.text(ownKeys(s)...)
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

// recordRows are the rows of what is derived from the signed record.
func recordRows() []output {
	return []output{
		{name: "corpus", deps: depsCorpus, render: renderCorpus},
		{name: "corpus_index", deps: depsViews, bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, _ unit) any { return b.Index(0) })},
		{name: "corpus_index_page", stream: numbered((*derive.Book).IndexPages, func(s *source, n int, d *digester) {
			d.text(s.base)
			for _, r := range s.rounds[(n-1)*derive.IndexPageLimit : n*derive.IndexPageLimit] {
				d.round(r)
			}
		}), bare: true, render: viewJSON(func(_ *source, b *derive.Book,
			u unit) any {
			return b.Index(u.value.(int))
		})},
		{name: "round_proof", stream: proofUnits, bare: true, render: renderProof},
		{name: "host", stream: hostPages, list: hostPageNames, place: derive.HostName, render: renderHost,
			sum: hostSum},
		{name: "trajectory", deps: depsRecord("record/trajectory"),
			render: sheet("record/trajectory", (*derive.Book).Trajectory, templates.TrajectorySheet)},
		{name: "corpus_diff_file", stream: weekly(0, func(_, n int) int { return n }), bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, u unit) any { return b.Since(u.value.(int)) })},
		{name: "corpus_changes", stream: weekly(1, func(i, _ int) int { return i + 1 }), bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, u unit) any { return b.Weekly(u.value.(int)) })},
		{name: "week", stream: weekly(0, func(i, _ int) int { return i + 1 }), render: renderWeek},
		{name: "wallet_facts", deps: depsViews, bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, _ unit) any { return b.WalletsNow() })},
		{name: "tiers", deps: depsViews, bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, _ unit) any { return b.Tiers(0) })},
		{name: "tiers_page", stream: numbered((*derive.Book).TiersPages, func(s *source, _ int, d *digester) {
			s.page(d, "record/hosts")
			s.ofRecord(d)
		}), list: numberedList((*derive.Book).TiersPages), render: renderTiers},
		{name: "corpus_brief", deps: depsRecord("record/brief"), render: sheet("record/brief", (*derive.Book).Brief,
			templates.BriefSheet)},
		{name: "fresh_set", deps: depsRecord("record/fresh-set"),
			render: sheet("record/fresh-set", (*derive.Book).Fresh, templates.FreshSheet)},
		{name: "registry", deps: depsRecord("record/registry"),
			render: sheet("record/registry", (*derive.Book).Registry, templates.RegistrySheet)},
		{name: "inflows", deps: depsRecord("record/inflows"), render: sheet("record/inflows", (*derive.Book).Inflows,
			templates.InflowsSheet)},
		{name: "scorers", deps: depsPage("record/scorers"), render: renderScorers},
		{name: "atlas", deps: depsAtlas, bare: true, render: renderAtlas},
		{name: "corpus_feed", deps: depsRecordFeed, render: renderRecordFeed, bare: true},
		{name: "feed", deps: depsViews, bare: true,
			render: viewJSON(func(_ *source, b *derive.Book, _ unit) any { return b.FeedPage(0) })},
		{name: "feed_page", stream: numbered((*derive.Book).FeedPages, func(s *source, n int, d *digester) {
			for _, o := range s.feed[(n-1)*derive.FeedPageLimit : n*derive.FeedPageLimit] {
				d.text(o.Signature.String())
			}
		}), bare: true, render: viewJSON(func(_ *source, b *derive.Book,
			u unit) any {
			return b.FeedPage(u.value.(int))
		})},
		{name: "search", deps: depsViews, bare: true, render: renderSearch},
		{name: "search_shard", stream: shardUnits, bare: true, render: renderShard},
		{name: "search_script_head", deps: depsViews, bare: true, render: asScript(renderSearch)},
		{name: "search_script_shards", stream: shardUnits, bare: true, render: asScript(renderShard)},
		{name: "search_script", render: asset("search.js")},
		{name: "okf", deps: depsViews, bare: true, render: renderOKFIndex},
		{name: "okf_concepts", stream: okfUnits, bare: true, render: renderOKF},
	}
}
