package pages

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

// Table is everything that is published but the manifest, which covers it.
func Table() []Output {
	return slices.Concat(shopRows(), RecordRows(), apartRows(), ownRows())
}

// apartRows are the documents whose files package bulk makes in the tree. They make nothing here,
// and stand in the table so that it names every file.
func apartRows() (rows []Output) {
	for _, name := range []string{"bulk", "bulk_dictionary", "bulk_rows", "bulk_csv", "bulk_parquet",
		"bulk_database", "git_packs", "git_heads"} {
		rows = append(rows, Output{Name: name, Stream: func(*Source) iter.Seq2[Unit, error] {
			return func(func(Unit, error) bool) {}
		}})
	}
	return rows
}

// ownRows stand behind all others, since any name is of their form.
func ownRows() []Output {
	return []Output{{Name: "own_page", keys: ownKeys, deps: depsOwn, Render: renderOwn}}
}

func shopRows() []Output {
	return []Output{
		{Name: "home", deps: depsHome, Render: renderHome},
		{Name: "menu", deps: depsCatalogue, Render: renderMenu},
		{Name: "menu_item", keys: goodKeys, deps: depsGood, Render: renderGood},
		{Name: "what", deps: depsWhat, Render: renderWhat},
		{Name: "pricing", deps: depsPricing, Render: renderPricing},
		{Name: "pricing_page", deps: depsPricing, Render: renderPricingPage},
		{Name: "menu_page", Render: renderMoved("The catalogue", "The shelves", "/#shelves", "/menu.json")},
		{Name: "api_page", Render: renderMoved("{title}: the API", "The API for people", "/docs/api", "/openapi.json")},
		{Name: "verify_guide", deps: depsVerify, Render: renderVerify},
		{Name: "llms", deps: depsLLMs, Render: renderLLMs},
		{Name: "llms_full", deps: depsLLMs, Render: renderLLMs},
		{Name: "guide_section", keys: guideTopics, deps: depsLLMs, Render: renderGuideSection},
		{Name: "almanac", deps: depsPublication("almanac"), Render: renderPublication("almanac")},
		{Name: "almanac_feed", deps: depsPublication("almanac"), Render: renderPublicationFeed("almanac")},
		{Name: "gazette_feed", deps: depsPublication("gazette"), Render: renderPublicationFeed("gazette")},
		{Name: "gazette", deps: depsPublication("gazette"), Render: renderPublication("gazette")},
		{Name: "zodiac", deps: depsZodiac, Render: renderZodiac},
		{Name: "zodiac_archive", deps: depsPublication("zodiac"), Render: renderArchive},
		{Name: "tips", deps: depsPublication("tips"), Render: renderPublication("tips")},
		{Name: "directory", deps: depsDirectory, Render: renderDirectory},
		{Name: "retired_words", deps: depsWords, Render: renderWords},
		{Name: "problems", deps: depsProblems, Render: renderProblems},
		{Name: "problem", keys: problemKeys, deps: depsProblem, Render: renderProblem},
		{Name: "store_attestation_v1", deps: depsPage("spec/store-attestation-v1"), Render: renderSpec},
		{Name: "running", prose: "running"},
		{Name: "running_page", keys: topicsIn(runningFolder), deps: depsTopics(runningFolder),
			Render: renderTopics(runningFolder)},
		{Name: "glossary", program: &glossary},
		{Name: "clients", program: &clients},
		{Name: "configuration", program: &configuration},
		{Name: "store_bundle_v1", prose: "spec/store-bundle-v1"},
		{Name: "store_corpus_v1", prose: "spec/store-corpus-v1"},
		{Name: "store_corpus_v1_rules", program: &recordRules},
		{Name: "store_corpus_v1_forms", deps: depsForms, Render: ready(rule.Forms), bare: true},
		{Name: "store_evidence_v1", program: &evidenceFormat},
		{Name: "store_corpus_vectors_index", Stream: vectorIndex, Render: renderHeld, bare: true},
		{Name: "store_corpus_vectors", Stream: vectorUnits, Render: renderHeld, bare: true},
		{Name: "store_callback_v1", prose: "spec/store-callback-v1"},
		{Name: "sign_in_v1", prose: "spec/sign-in-v1"},
		{Name: "mpp_usdc_v1", prose: "spec/mpp-usdc-v1"},
		{Name: "delivery_receipt_v1", prose: "spec/delivery-receipt-v1"},
		{Name: "store_report_v1", prose: "spec/store-report-v1"},
		{Name: "find", deps: depsFind, Render: renderFind},
		{Name: "find_index", deps: depsFindIndex, Render: renderFindIndex, bare: true},
		{Name: "find_index_script", deps: depsFindIndex, Render: renderFindIndex, bare: true},
		{Name: "verify_papers", Render: asset("papers.js")},
		{Name: "verify_run", deps: depsVerifier, Render: renderVerifier},
		{Name: "verify_script", Render: asset("verify.js")},
		{Name: "verify_worker", Render: asset("worker.js")},
		{Name: "verify_program", Stream: verifierFiles, Render: renderBytes, bare: true,
			Files: []api.Representation{{MediaType: "application/octet-stream", Path: "verify/{file}"}}},
		{Name: "try", deps: depsPage("try"), Render: renderTry},
		{Name: "try_script", Render: asset("try.js")},
		{Name: "docs_style", Render: asset("docs.css")},
		{Name: "door_style", Render: asset("door.css")},
		{Name: "copy_script", Render: asset("copy.js")},
		{Name: "door_script", Render: asset("door.js")},
		{Name: "holds", deps: depsPage("holds"), Render: renderHolds},
		{Name: "reclaim_script", Render: asset("reclaim.js")},
		{Name: "wallet_script", Render: asset("wallet.js")},
		{Name: "criteria", deps: depsPage("criteria"), Render: renderCriteria},
		{Name: "battery", keys: batteryKeys, Render: renderBattery},
		{Name: "laboratory", deps: depsPage("record/laboratory"), Render: renderLaboratory},
		{Name: "defects", deps: depsPage("defects"), Render: renderDefects},
		{Name: "defect", keys: defectKeys, Render: renderDefect},
		{Name: "conformance_guide", deps: depsConformance, Render: renderConformance},
		{Name: "conformance_vectors", deps: depsRing, Render: renderVectors},
		{Name: "agents", prose: "agents"},
		{Name: "auth", prose: "auth"},
		{Name: "protected_resource", deps: depsConfig, Render: renderProtectedResource},
		{Name: "api_catalog", Render: renderAPICatalog},
		{Name: "mcp", deps: depsPage("mcp"), Render: renderMCPGuide},
		{Name: "webmcp", Render: asset("webmcp.js")},
		{Name: "webmcp_demo", Render: asset("webmcp-demo.js")},
		{Name: "mcp_locator", Render: renderMCPLocator},
		{Name: "mcp_card", Render: renderMCPCard(0)},
		{Name: "mcp_verifier_card", Render: renderMCPCard(1)},
		{Name: "mcp_docs_card", Render: renderMCPCard(2)},
		{Name: "ai_catalog", Render: renderAICatalog},
		{Name: "agent_card", deps: depsAgentCard, Render: renderAgentCard},
		{Name: "skill", deps: depsPage("skill"), Render: renderSkill},
		{Name: "skill_file", deps: depsPage("skill"), Render: renderSkill},
		{Name: "skills_index", deps: depsPage("skill"), Render: renderSkillsIndex},
		{Name: "ucp", deps: depsRing, Render: renderUCP},
		{Name: "trust", deps: depsTrust, Render: renderTrust},
		{Name: "trust_schema", Render: renderTrustSchema},
		{Name: "x402", deps: depsPaid, Render: renderX402},
		{Name: "listing_mcp", deps: depsConfig, Render: renderListingMCP},
		{Name: "listing_mpp", deps: depsPaid, Render: renderListingMPP},
		{Name: "listing_pay", deps: depsPaid, Render: renderListingPay},
		{Name: "listing_a2a", deps: depsConfig, Render: renderListingA2A},
		{Name: "docs", prose: "docs"},
		{Name: "docs_goods", program: &goodsReference},
		{Name: "docs_api", program: &apiReference},
		{Name: "docs_api_group", keys: apiGroups, deps: depsAPI, Render: renderAPIGroup},
		{Name: "docs_page", keys: topicsIn(docsFolder), deps: depsTopics(docsFolder), Render: renderTopics(docsFolder)},
		{Name: "openapi", deps: depsAPI, Render: renderOpenAPI},
		{Name: "openapi_tools", deps: depsAPI, Render: renderTools},
		{Name: "api_guide", deps: depsAPI, Render: renderAPIGuide},
		{Name: "deprecation", deps: depsDeprecation, Render: renderDeprecation},
		{Name: "robots", deps: depsRobots, Render: renderRobots},
		{Name: "sitemap", Stream: sitemapUnit, Render: renderSitemap},
		{Name: "sitemap_parts", Stream: sitemapParts, Render: renderSitemapPart,
			Files: []api.Representation{{MediaType: api.XML, Path: "sitemaps/{part}.xml"}}},
		{Name: "signing_key", deps: depsRing, Render: renderSigningKey},
		{Name: "did", deps: depsRing, Render: renderDID},
		{Name: "anchor_log", Stream: anchorLogUnit, Render: renderHeld, bare: true},
		{Name: "security_txt", deps: depsConfig, Render: renderSecurityText},
		{Name: "style", Render: asset("style.css")},
		{Name: "favicon", Render: asset("favicon.svg")},
		{Name: "old_favicon", Render: asset("favicon.ico"), bare: true},
		{Name: "touch_icon", Render: asset("touch-icon.png"), bare: true},
		{Name: "web_manifest", deps: depsConfig, Render: renderWebManifest},
		{Name: "preview_store", Render: asset("preview.png"), bare: true},
		{Name: "not_found", deps: depsPage("404"), Render: renderNotFound},
		{Name: "cdn_headers", deps: depsHeaders, Render: renderHeaders},
		{Name: "round", Stream: roundUnits, Write: writeRound, bare: true},
		{Name: "round_parts", Stream: partUnits, Write: writePart, bare: true},
		{Name: "round_headers", Stream: sealedFiles("/header.json", 0), Copy: copied, bare: true},
		{Name: "host_index", Stream: sealedFiles("/hosts/", 2), Copy: copied, bare: true},
		{Name: "key_ring", Stream: recordRing, Render: renderHeld, bare: true},
		{Name: "log_checkpoint", Stream: recordCheckpoint, Render: renderHeld, bare: true},
		{Name: "log_tiles", Stream: recordFiles("log/tile", true, wholeName), Copy: copied, bare: true},
		{Name: "log_checkpoints", Stream: recordFiles("log/checkpoints", true, wholeName), Copy: copied, bare: true},
		{Name: "log_cosignatures", Stream: recordFiles("log/cosignatures", false, wholeName), Copy: copied, bare: true},
		{Name: "log_policy", Stream: logText((*Source).policy), Render: renderText, bare: true},
		{Name: "log_list", Stream: logText((*Source).logList), Render: renderText, bare: true},
		{Name: "allowed_signers", Stream: signersUnit, Render: renderSigners},
		{Name: "query", deps: depsQuery, Render: renderQuery},
		{Name: "query_style", Render: asset("ask.css")},
		{Name: "query_script", Render: asset("ask.js")},
		{Name: "query_worker", Render: asset("askworker.js")},
		{Name: "query_program", Stream: programUnit, Render: renderBytes, bare: true},
		{Name: "evidence_packs", Stream: recordFiles("evidence", true, suffixed(".jsonl.gz")), Copy: copied,
			bare: true},
		{Name: "words", Stream: recordFiles("words", true, suffixed(".json")), Copy: copied, bare: true},
		{Name: "evidence_indexes", Stream: recordFiles("evidence", true, suffixed(".index.json")), Copy: copied,
			bare: true},
	}
}

// Prepare gives each row the files of its document.
func Prepare(rows []Output) ([]Output, error) {
	seen := make(map[string]bool)
	for i := range rows {
		row := &rows[i]
		if seen[row.Name] {
			return nil, fmt.Errorf("output %s stands twice in the table", row.Name)
		}
		seen[row.Name] = true
		switch {
		case row.prose != "":
			row.deps, row.Render = depsPage(row.prose), renderProse(row.prose)
		case row.program != nil:
			row.deps, row.Render = row.program.deps, row.program.render
		}
		if row.Files == nil {
			doc, ok := Documents[row.Name]
			if !ok {
				return nil, fmt.Errorf("output %s is no document of the API", row.Name)
			}
			row.Files = doc.Files
		}
		for _, f := range row.Files {
			start, end := strings.IndexByte(f.Path, '{'), strings.IndexByte(f.Path, '}')
			if row.Stream == nil && (start >= 0) != (row.keys != nil) {
				return nil, fmt.Errorf("output %s: %s and the row disagree about being a family", row.Name, f.Path)
			}
			if start >= 0 {
				row.parameter = f.Path[start : end+1]
			}
		}
	}
	return rows, nil
}

func goodKeys(s *Source) []string    { return s.ids }
func problemKeys(s *Source) []string { return s.codes }

func depsHeaders(s *Source, _ int, d *Digester) {
	depsConfig(s, 0, d)
	d.text(ownKeys(s)...)
}
func depsGood(s *Source, i int, d *Digester) {
	d.digest(s.goodFacts[i])
	d.text(s.goods[i].Body)
	d.number(int64(s.goods[i].Line))
}
func depsHome(s *Source, _ int, d *Digester) {
	s.page(d, "index")
	depsCatalogue(s, 0, d)
	s.ofRecord(d)
}
func depsWhat(s *Source, _ int, d *Digester) {
	s.page(d, "what")
	depsCatalogue(s, 0, d)
	depsRing(s, 0, d)
}
func depsPricing(s *Source, _ int, d *Digester) { s.page(d, "pricing"); depsCatalogue(s, 0, d) }
func depsVerify(s *Source, _ int, d *Digester) {
	s.page(d, "verify")
	s.depsVerifying(d, "record/clone")
	depsRing(s, 0, d)
}
func depsLLMs(s *Source, _ int, d *Digester) {
	s.page(d, "llms")
	depsCatalogue(s, 0, d)
	d.digest(s.api)
}
func depsRobots(s *Source, _ int, d *Digester) {
	depsConfig(s, 0, d)
	d.digest(s.api)
}
func depsDeprecation(s *Source, _ int, d *Digester) { d.digest(s.api) }

func depsWords(s *Source, _ int, d *Digester) {
	for _, w := range s.words {
		d.text(w.Word, w.Epitaph, w.Date)
		d.number(w.Number)
	}
	_, sold := s.wordGood()
	d.flag(sold)
}

func depsProblem(s *Source, i int, d *Digester) { s.page(d, "problems/"+s.codes[i]) }

func depsProblems(s *Source, _ int, d *Digester) {
	for i := range s.codes {
		depsProblem(s, i, d)
	}
}

// RecordRows are the rows of what is derived from the signed record.
func RecordRows() []Output {
	return []Output{
		{Name: "corpus", deps: depsCorpus, Render: renderCorpus},
		{Name: "corpus_index", deps: depsViews, bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, _ Unit) any { return b.Index(0) })},
		{Name: "corpus_index_page", Stream: numbered((*derive.Book).IndexPages, func(s *Source, n int, d *Digester) {
			d.text(s.Base)
			for _, r := range s.Rounds[(n-1)*derive.IndexPageLimit : n*derive.IndexPageLimit] {
				d.round(r)
			}
		}), bare: true, Render: viewJSON(func(_ *Source, b *derive.Book,
			u Unit) any {
			return b.Index(u.value.(int))
		})},
		{Name: "round_proof", Stream: proofUnits, bare: true, Render: renderProof},
		{Name: "host", Stream: hostPages, list: hostPageNames, place: derive.HostName, Render: renderHost,
			Sum: hostSum},
		{Name: "trajectory", deps: depsRecord("record/trajectory"),
			Render: sheet("record/trajectory", (*derive.Book).Trajectory, templates.TrajectorySheet)},
		{Name: "errors", deps: depsRecord("record/errors"),
			Render: sheet("record/errors", (*derive.Book).Errors, templates.ErrorsSheet)},
		{Name: "errors_feed", deps: depsRecordFeed, Render: renderErrorsFeed, bare: true},
		{Name: "purchases", deps: depsRecord("record/purchases"),
			Render: sheet("record/purchases", (*derive.Book).Purchases, templates.PurchasesSheet)},
		{Name: "purchases_feed", deps: depsRecordFeed, Render: renderPurchasesFeed, bare: true},
		{Name: "corpus_diff_file", Stream: weekly(0, func(_, n int) int { return n }), bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, u Unit) any { return b.Since(u.value.(int)) })},
		{Name: "corpus_changes", Stream: weekly(1, func(i, _ int) int { return i + 1 }), bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, u Unit) any { return b.Weekly(u.value.(int)) })},
		{Name: "week", Stream: weekly(0, func(i, _ int) int { return i + 1 }), Render: renderWeek},
		{Name: "wallet_facts", deps: depsViews, bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, _ Unit) any { return b.WalletsNow() })},
		{Name: "tiers", deps: depsViews, bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, _ Unit) any { return b.Tiers(0) })},
		{Name: "tiers_page", Stream: numbered((*derive.Book).TiersPages, func(s *Source, _ int, d *Digester) {
			s.page(d, "record/hosts")
			s.ofRecord(d)
		}), list: numberedList((*derive.Book).TiersPages), Render: renderTiers},
		{Name: "corpus_brief", deps: depsRecord("record/brief"), Render: sheet("record/brief", (*derive.Book).Brief,
			templates.BriefSheet)},
		{Name: "fresh_set", deps: depsRecord("record/fresh-set"),
			Render: sheet("record/fresh-set", (*derive.Book).Fresh, templates.FreshSheet)},
		{Name: "registry", deps: depsRecord("record/registry"),
			Render: sheet("record/registry", (*derive.Book).Registry, templates.RegistrySheet)},
		{Name: "inflows", deps: depsRecord("record/inflows"), Render: sheet("record/inflows", (*derive.Book).Inflows,
			templates.InflowsSheet)},
		{Name: "scorers", deps: depsPage("record/scorers"), Render: renderScorers},
		{Name: "atlas", deps: depsAtlas, bare: true, Render: renderAtlas},
		{Name: "corpus_feed", deps: depsRecordFeed, Render: renderRecordFeed, bare: true},
		{Name: "feed", deps: depsViews, bare: true,
			Render: viewJSON(func(_ *Source, b *derive.Book, _ Unit) any { return b.FeedPage(0) })},
		{Name: "feed_page", Stream: numbered((*derive.Book).FeedPages, func(s *Source, n int, d *Digester) {
			for _, o := range s.Feed[(n-1)*derive.FeedPageLimit : n*derive.FeedPageLimit] {
				d.text(o.Signature.String())
			}
		}), bare: true, Render: viewJSON(func(_ *Source, b *derive.Book,
			u Unit) any {
			return b.FeedPage(u.value.(int))
		})},
		{Name: "search", deps: depsViews, bare: true, Render: renderSearch},
		{Name: "search_shard", Stream: shardUnits, bare: true, Render: renderShard},
		{Name: "search_script_head", deps: depsViews, bare: true, Render: asScript(renderSearch)},
		{Name: "search_script_shards", Stream: shardUnits, bare: true, Render: asScript(renderShard)},
		{Name: "search_script", Render: asset("search.js")},
		{Name: "okf", deps: depsViews, bare: true, Render: renderOKFIndex},
		{Name: "okf_concepts", Stream: okfUnits, bare: true, Render: renderOKF},
	}
}
