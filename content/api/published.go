package api

import (
	"cmp"
	"slices"
)

// Documents is the one table of published files that are routes. The generator renders each row by
// its Name, the server answers each row from the published tree, and both are tested to be
// complete. Names and paths are permanent.
var Documents = complete(slices.Concat(storeDocuments, recordFiles, agentDocuments, mcpDocuments, discoveryDocuments,
	recordDocuments, ownDocuments))

// complete adds what follows from the rest of a row.
func complete(docs []Document) []Document {
	for i := range docs {
		d := &docs[i]
		d.Serve, d.Cache = File, cmp.Or(d.Cache, Short)
		if len(d.Files) > 1 {
			d.Serve = Negotiated
		}
		d.InSitemap = d.Path != "" && !d.NoIndex &&
			slices.ContainsFunc(d.Files, func(r Representation) bool { return r.MediaType == HTML })
	}
	return docs
}

// ownDocuments stand behind all others, since any address is of their form.
var ownDocuments = []Document{
	{
		Name: "own_page", Path: "/{page...}", Summary: "A page of the keeper's own.",
		Files: pages("/{page...}", HTML, Markdown), Hidden: true, TreeOnly: true,
	},
}

// storeDocuments are the pages of the shop and its instruments, and the record as it stands.
var storeDocuments = []Document{
	{
		Name: "home", Path: "/", Summary: "The storefront.",
		Description: "What is sold, at what price, and how it is bought and verified.",
		Tag:         tagStorefront, Files: pages("/", HTML, Markdown),
	},
	{
		Name: "menu", Path: "/menu.json", Summary: "The catalogue: every good with its price and buy URL.",
		Description: "Every good on the shelf with its price, fulfilment, inputs and buy URL, and pointers to what " +
			"is free.",
		Tag: tagStorefront, Files: pages("/menu.json", JSON, Markdown),
	},
	{
		Name: "menu_item", Path: "/menu/{item_id}", Summary: "One good.",
		Description: "One good of the catalogue: JSON, Markdown, or a page for browsers.",
		Tag:         tagStorefront, Params: []Param{ItemID},
		Files: pages("/menu/{item_id}", JSON, Markdown, HTML),
	},
	{
		Name: "what", Path: "/what", Summary: "A short overview for whoever approves a spending.",
		Description: "What this is, what it costs at most, what a payment can and cannot do.",
		Tag:         tagStorefront, Files: pages("/what", JSON, Markdown, HTML),
	},
	{
		Name: "running", Path: "/running", Summary: "How a keeper makes and runs a store of their own.",
		Description: "The commands and the daily work.",
		Tag:         tagStorefront, Files: pages("/running", HTML, Markdown),
	},
	{
		Name: "configuration", Path: "/running/configuration",
		Summary: "Every key of a store's configuration, with its meaning.",
		Tag:     tagStorefront, Files: pages("/running/configuration", HTML, Markdown),
	},
	{
		Name: "glossary", Path: "/glossary",
		Summary: "The words of the pages for people, beside those of the record and the API.",
		Tag:     tagStorefront, Files: pages("/glossary", HTML, Markdown),
	},
	{
		Name: "clients", Path: "/docs/clients", Summary: "Which of several ways to pay each known client takes.",
		Tag: tagStorefront, Files: pages("/docs/clients", HTML, Markdown),
	},
	{
		Name: "running_page", Path: "/running/{topic}", Summary: "One recipe for who runs a store.",
		Tag: tagStorefront,
		Params: []Param{{Name: "topic", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 40,
			Pattern: "^[a-z0-9]+$", Description: "The recipe, such as container."}},
		Files: pages("/running/{topic}", HTML, Markdown),
	},
	{
		Name: "pricing", Path: "/pricing.md", Summary: "All prices in one table.",
		Tag: tagStorefront, Files: pages("/pricing.md", Markdown),
	},
	{
		Name: "pricing_page", Path: "/pricing", Summary: "All prices in one table, for people.",
		Tag: tagStorefront, Files: pages("/pricing", HTML),
	},
	{
		Name: "menu_page", Path: "/menu", Summary: "Leads people to the shelves, and programs to /menu.json.",
		Tag: tagStorefront, Files: pages("/menu", HTML), NoIndex: true,
	},
	{
		Name: "api_page", Path: "/api", Summary: "Leads people to /docs/api, and programs to /openapi.json.",
		Tag: tagStorefront, Files: pages("/api", HTML), NoIndex: true,
	},
	{
		Name: "verify_guide", Path: "/verify", Summary: "How to verify what the store signed, without the store.",
		Tag: tagSigning, Files: pages("/verify", HTML, Markdown),
	},
	{
		Name: "llms", Path: "/llms.txt", Summary: "The guide for language models.",
		Tag: tagAgents, Files: pages("/llms.txt", PlainText),
	},
	{
		Name: "llms_full", Path: "/llms-full.txt",
		Summary: "The guide for language models: the same bytes as /llms.txt.", Tag: tagAgents,
		Files: pages("/llms-full.txt", PlainText),
	},
	{
		Name: "guide_section", Path: "/guide/{topic}.md", Summary: "One section of the guide for language models.",
		Tag: tagAgents,
		Params: []Param{{Name: "topic", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 40,
			Pattern: "^[a-z]+$", Description: "The name of a section of /llms.txt in lower case."}},
		Files: pages("/guide/{topic}.md", Markdown),
		Query: &QueryAddress{
			Name: "guide", Path: "/guide", Summary: "The store's guide, or one section of it.",
			Malformed: "invalid_input", Known: "known_topics", Missing: "section called", Without: "/llms.txt",
			Tool: "read_store_guide", Description: "Without a topic, the bytes of `/llms.txt`. With one, those of " +
				"`/guide/{topic}.md`. An unknown topic is 404, a malformed one 400; both list `known_topics`.",
			Param: Param{Name: "topic", In: QueryP, Type: "string", MaxLength: 40,
				Description: "The name of a section in lower case, such as free or goods."},
		},
	},
	{
		Name: "almanac", Path: "/almanac", Summary: "The index of the almanac, newest first.",
		Description: "Each page with its title, date, price, and a signed commitment to its text, which tells " +
			"nothing of it. The index is free; a page is bought at its address.",
		Tag: tagStorefront, Files: pages("/almanac", JSON, Markdown, HTML),
	},
	{
		Name: "gazette", Path: "/gazette", Summary: "The index of the gazette, newest issue first.",
		Description: "Each issue with its title, date, price, and a signed commitment to its text, which tells " +
			"nothing of it. The index is free; an issue is bought at its address.",
		Tag: tagStorefront, Files: pages("/gazette", JSON, Markdown, HTML),
	},
	feed("almanac", "The newest pages of the almanac, as an Atom feed.", tagStorefront),
	feed("gazette", "The newest issues of the gazette, as an Atom feed.", tagStorefront),
	{
		Name: "zodiac", Path: "/zodiac", Summary: "The twelve signs.",
		Description: "The signs, and by what rule a wallet has one of them, for ever. A wallet's own page is at " +
			"`/zodiac/{address}`.",
		Tag: tagStorefront, Files: pages("/zodiac", JSON, Markdown, HTML),
	},
	{
		Name: "zodiac_archive", Path: "/zodiac/archive", Summary: "The index of the zodiac's weeks that are over.",
		Description: "Each page of a week and a sign with its title, price, and a signed commitment to its text, " +
			"which tells nothing of it. The index is free; a page is bought at its address.",
		Tag: tagStorefront, Files: pages("/zodiac/archive", JSON, Markdown, HTML),
	},
	{
		Name: "tips", Path: "/tips", Summary: "The index of tips, newest first.",
		Description: "Each tip with its title, who is credited with it, its price, and a signed commitment to its " +
			"text, which tells nothing of it. The index is free; a tip is bought at its address.",
		Tag: tagStorefront, Files: pages("/tips", JSON, Markdown, HTML),
	},
	{
		Name: "directory", Path: "/directory", Summary: "Reviews of neighbours, a line each.",
		Description: "What the keeper has to say of services, projects and kinds of endpoints nearby: opinions, and " +
			"no readings.",
		Tag: tagStorefront, Files: pages("/directory", JSON, Markdown, HTML),
	},
	{
		Name: "retired_words", Path: "/retired-words", Summary: "The public register of retired words.",
		Description: "Words that a patron retired, with the date of each. JSON, Markdown, or a page for browsers.",
		Tag:         tagStorefront, Files: pages("/retired-words", JSON, Markdown, HTML),
	},
	{
		Name: "problems", Path: "/problems", Summary: "Every problem code.",
		Tag: tagAgents, Files: pages("/problems", HTML, Markdown),
	},
	{
		Name: "problem", Path: "/problems/{code}", Summary: "What a problem code means and what to do about it.",
		Description: "The page that the `type` of a problem document names.",
		Tag:         tagAgents,
		Params: []Param{{
			Name: "code", In: Path, Type: "string", Required: true, MinLength: 3, MaxLength: 60,
			Pattern: "^[a-z][a-z0-9_]*$", Description: "A problem code, such as sold_out.",
		}},
		Files: pages("/problems/{code}", HTML, Markdown),
	},
	{
		Name: "store_attestation_v1", Path: "/spec/store-attestation/v1",
		Summary:     "The format of what the store signs, version 1.",
		Description: "The artifact format with its stability promise and test vectors.", Tag: tagSigning,
		Files: pages("/spec/store-attestation/v1", HTML, Markdown),
	},
	{
		Name: "store_bundle_v1", Path: "/spec/store-bundle/v1",
		Summary: "The format of a bundle of evidence, version 1.",
		Description: "One file that shows rows of the record, where they stand and who signed them, checked without " +
			"a network.", Tag: tagSigning, Files: pages("/spec/store-bundle/v1", HTML, Markdown),
	},
	{
		Name: "store_corpus_v1", Path: "/spec/store-corpus/v1", Summary: "The format of the signed record, version 1.",
		Description: "Every byte of the record that is signed or hashed. With store-evidence/v1 and the rules it is " +
			"enough to write a verifier.",
		Tag: tagSigning, Files: pages("/spec/store-corpus/v1", HTML, Markdown),
	},
	{
		Name: "store_corpus_v1_rules", Path: "/spec/store-corpus/v1/rules",
		Summary: "What a verifier of the signed record refuses: a name for each rule, in their order.",
		Tag:     tagSigning, Files: pages("/spec/store-corpus/v1/rules", HTML, Markdown),
	},
	{
		Name: "store_corpus_v1_forms", Path: "/spec/store-corpus/v1/forms.txt",
		Summary: "The forms of the signed record, for programs: of every object its members and what each may be.",
		Description: "A text with a line for each form; how it is read stands in its head. A verifier that reads it " +
			"needs none of these forms in its own code.",
		Tag: tagSigning, Files: pages("/spec/store-corpus/v1/forms.txt", PlainText), Cache: Checked,
	},
	{
		Name: "store_evidence_v1", Path: "/spec/store-evidence/v1",
		Summary:     "The format of what the rows of the record were judged by, version 1.",
		Description: "Judgements, exchanges, opt-outs, and the packs that hold them, byte for byte.",
		Tag:         tagSigning, Files: pages("/spec/store-evidence/v1", HTML, Markdown),
	},
	{
		Name: "store_corpus_vectors_index", Path: "/spec/vectors/index.json",
		Summary: "The test vectors of store-corpus/v1: records that hold, and records that break one rule each.",
		Tag:     tagSigning, Files: pages("/spec/vectors/index.json", JSON), Cache: Checked,
	},
	{
		Name: "store_corpus_vectors", Summary: "One vector: its files, and the rule that it breaks.",
		Files: []Representation{{MediaType: JSON, Path: "spec/vectors/{name...}.json"}}, Cache: Checked,
		Tag: tagSigning,
	},
	{
		Name: "battery", Path: "/spec/batteries/{version}.json", Cache: Checked,
		Summary:     "What a battery asks of a door.",
		Description: "Its checks in their order. The header of a round carries the SHA-256 of this file.",
		Params: []Param{{Name: "version", In: Path, Type: "string", Required: true, MinLength: 2, MaxLength: 16,
			Pattern: "^v[1-9][0-9]*$", Description: "The version, such as v2."}},
		Tag: tagSigning, Files: pages("/spec/batteries/{version}.json", JSON),
	},
	{
		Name: "store_report_v1", Path: "/spec/store-report/v1",
		Summary: "What the reports of the instruments have in common, version 1.",
		Description: "The words, members and order of the reports on doors, cards, directories, pages and signed " +
			"offers.", Tag: tagSigning, Files: pages("/spec/store-report/v1", HTML, Markdown),
	},
	{
		Name: "store_callback_v1", Path: "/spec/store-callback/v1",
		Summary:     "How a receiver is told of a completed order, version 1.",
		Description: "The message, its signatures and the keys that check them, the tries, and a vector.",
		Tag:         tagSigning, Files: pages("/spec/store-callback/v1", HTML, Markdown),
	},
	{
		Name: "sign_in_v1", Path: "/spec/sign-in/v1",
		Summary:     "What a wallet gets by signing in in place of paying again, version 1.",
		Description: "What it opens, at which door and for how long; what is signed; what is refused.",
		Tag:         tagSigning, Files: pages("/spec/sign-in/v1", HTML, Markdown),
	},
	{
		Name: "mpp_usdc_v1", Path: "/spec/mpp-usdc/v1",
		Summary: "How the MPP method usdc is offered and paid, version 1.",
		Description: "What is offered where, what is signed, with vectors, one order, the field of a credential, " +
			"refusals.",
		Tag: tagSigning, Files: pages("/spec/mpp-usdc/v1", HTML, Markdown),
	},
	{
		Name: "delivery_receipt_v1", Path: "/spec/delivery-receipt/v1",
		Summary:     "The signed statement which body answered which payment, version 1.",
		Description: "What is hashed, what a repeat changes, how the right of the key is shown, and vectors.",
		Tag:         tagSigning, Files: pages("/spec/delivery-receipt/v1", HTML, Markdown),
	},
	{
		Name: "find", Path: "/search", Summary: "The search over goods, pages and hosts.",
		Description: "With `q` the goods and pages that say its words in a title, a heading or their prose. " +
			"Without it a list of them, which is what a static copy answers to either.",
		Tag: tagStorefront, Files: pages("/search", HTML, Markdown), Asked: true,
		Params: []Param{{Name: "q", In: QueryP, Type: "string", MaxLength: QueryLength, Example: "refund",
			Description: "What is looked for, a few words."}},
	},
	{
		Name: "find_index", Path: "/search/pages.json", Summary: "The index of the search: what each page says.",
		Description: "Title, summary, and heading by heading the prose of goods and pages, bounded in all. " +
			"Hosts have an index of their own, `/corpus/search.json`.",
		Tag: tagStorefront, Files: pages("/search/pages.json", JSON),
	},
	{
		Name: "find_index_script", Summary: "The index as a script, for a folder that is opened without a server.",
		Files: []Representation{{MediaType: JavaScript, Path: "search/pages.js"}}, Hidden: true,
	},
	asset("verify_papers", "/verify/papers.js", JavaScript, "The script of /verify."),
	{
		Name: "verify_run", Path: "/verify/run", Summary: "Check a bundle or a clone in the browser.",
		Description: "The page for people: the verifier runs in the reader's browser and sends nothing. The same " +
			"check is a program, cmd/verify.",
		Tag: tagSigning, Files: pages("/verify/run", HTML, Markdown),
	},
	asset("verify_script", "/verify/run.js", JavaScript, "The script of /verify/run."),
	asset("verify_worker", "/verify/worker.js", JavaScript, "The script of its worker."),
	{
		Name: "try", Path: "/try", Summary: "Paste a URL and read the report.",
		Description: "The form for people. Works without a script; what it posts is described at POST /try.",
		Tag:         tagInstruments, Files: pages("/try", HTML, Markdown),
	},
	{
		Name: "criteria", Path: "/criteria", Summary: "What is asked of a door, in which words it is answered, how " +
			"tiers, coverage and gaps are counted, and what none of it proves.",
		Description: "Checks, advisories, ladder, verdicts, the rule by which two readings are compared, the rules " +
			"of tiers, how coverage and gaps are counted, and what each signed artifact is worth.",
		Tag: tagInstruments, Files: pages("/criteria", JSON, Markdown, HTML),
	},
	{
		Name: "laboratory", Path: "/criteria/laboratory",
		Summary: "What the stock client did at every kind of door, and what we said of it.",
		Description: "The table of the run that the release was tested by: verdict, failed checks, what the client " +
			"signed with its limits and without, whether that settled, and each difference by its reason.",
		Tag: tagInstruments, Files: pages("/criteria/laboratory", JSON, Markdown, HTML),
	},
	{
		Name: "defects", Path: "/defects", Summary: "The vocabulary of defects.",
		Description: "A stable name for each way in which a door is broken: what it asserts, what it costs, what " +
			"shows it and what would refute it. CC-BY-4.0.",
		Tag: tagInstruments, Files: pages("/defects", JSON, Markdown, HTML),
	},
	{
		Name: "defect", Path: "/defects/{id}", Summary: "One defect.",
		Tag: tagInstruments,
		Params: []Param{{
			Name: "id", In: Path, Type: "string", Required: true, MinLength: 3, MaxLength: 60,
			Pattern: "^[a-z0-9]+(-[a-z0-9]+)*$", Description: "The id of a defect, such as no-402.",
		}},
		Files: pages("/defects/{id}", HTML, Markdown),
	},
	{
		Name: "conformance_guide", Path: "/conformance",
		Summary: "Offers and receipts, fixtures, and doors to practise on.",
		Description: "How offers and receipts of any issuer are checked, the fixtures that a verifier is tried on, " +
			"and the practice doors with what a right buyer does at each.", Tag: tagInstruments,
		Files: pages("/conformance", JSON, Markdown, HTML),
	},
	{
		Name: "conformance_vectors", Path: "/.well-known/conformance/offer-receipt-vectors.json",
		Summary:     "The fixture set of the conformance desk.",
		Description: "The same bytes as GET /api/conformance/v1/fixtures.", Tag: tagInstruments,
		Files: pages("/.well-known/conformance/offer-receipt-vectors.json",
			JSON), Cache: Checked,
	},
	{
		Name: "openapi", Path: "/openapi.json", Summary: "This description of the API, OpenAPI 3.1.",
		Tag: tagAgents, Description: "As Markdown it is what `/api.md` is.",
		Files: pages("/openapi.json", JSON, Markdown),
	},
	{
		Name: "openapi_tools", Path: "/openapi-tools.json",
		Summary: "The free instruments as function-calling tool definitions.",
		Description: "Derived from the same table as /openapi.json: `tools` are the definitions, `calls` says how " +
			"each is made over HTTP.", Tag: tagAgents, Files: pages("/openapi-tools.json", JSON),
	},
	{
		Name: "api_guide", Path: "/api.md", Summary: "The API in Markdown.",
		Tag: tagAgents, Files: pages("/api.md", Markdown),
	},
	{
		Name: "deprecation", Path: "/deprecation", Summary: "Which versions are served, since when, and until when.",
		Description: "A version being retired is listed here with its date before its answers carry Deprecation and " +
			"Sunset.",
		Tag: tagAgents, Files: pages("/deprecation", JSON, Markdown, HTML),
	},
	{
		Name: "robots", Path: "/robots.txt", Summary: "What crawlers may read.",
		Tag: tagAgents, Files: pages("/robots.txt", PlainText),
	},
	{
		Name: "sitemap", Path: "/sitemap.xml", Summary: "All pages with the date they changed.",
		Tag: tagAgents, Files: pages("/sitemap.xml", XML),
	},
	{
		Name: "signing_key", Path: "/.well-known/store-signing-key",
		Summary: "The current ed25519 public key in hex, the retired ones, and their handovers.",
		Tag:     tagSigning, Files: pages("/.well-known/store-signing-key", JSON), Cache: Checked,
	},
	{
		Name: "did", Path: "/.well-known/did.json", Summary: "The did:web document with current and retired keys.",
		Tag: tagSigning, Files: pages("/.well-known/did.json", DIDJSON), Cache: Checked,
	},
	{
		Name: "anchor_log", Path: "/.well-known/anchor-log.json",
		Summary: "A hash chain over the state of the identity key, anchored to Bitcoin.",
		Description: "One entry for each handover of the identity key and each count of artifacts that the signed " +
			"record holds, each with the OpenTimestamps proof of its digest as far as there is one.",
		Tag: tagSigning, Files: pages("/.well-known/anchor-log.json", JSON), Cache: Checked,
	},
	{
		Name: "security_txt", Path: "/.well-known/security.txt",
		Summary: "Where to report a security problem (RFC 9116).", Tag: tagAgents,
		Files: pages("/.well-known/security.txt", PlainText),
	},
	asset("style", "/style.css", CSS, "The one style sheet."),
	asset("copy_script", "/copy.js", JavaScript, "The script of every page: it adds buttons that copy."),
	asset("try_script", "/try.js", JavaScript, "It adds to /try and is needed for nothing."),
	asset("docs_style", "/docs.css", CSS, "What a page with contents beside it adds to the style sheet."),
	asset("door_style", "/door.css", CSS, "What a paid door's page adds to the style sheet."),
	asset("door_script", "/door.js", JavaScript, "Pays at a paid door with a wallet of the browser."),
	{
		Name: "holds", Path: "/holds",
		Summary: "Where money is that is held for an order, and how its payer takes it back.",
		Description: "For people, with a form that takes it back by a wallet of the browser; a program calls the " +
			"contract by what the order says.",
		Tag: tagStorefront, Files: pages("/holds", HTML, Markdown),
	},
	asset("reclaim_script", "/reclaim.js", JavaScript, "Takes back what is held, with a wallet of the browser."),
	asset("wallet_script", "/wallet.js", JavaScript, "Has a wallet of the browser sign, for the pages that pay."),
	asset("favicon", "/favicon.svg", SVG, "The stamp."),
	asset("old_favicon", "/favicon.ico", ICO, "The icon that browsers ask for unasked."),
	asset("touch_icon", "/apple-touch-icon.png", PNG, "The icon of a home screen."),
	asset("web_manifest", "/site.webmanifest", WebManifest,
		"Name, colours and icons of the site, for who puts it on a home screen."),
	asset("preview_store", "/preview/store.png", PNG, "The picture beside links to the site."),
	{
		Name: "not_found", Summary: "What a browser is shown at an unknown address.",
		Files: []Representation{{MediaType: HTML, Path: "404.html"}}, Cache: Checked, Hidden: true,
	},
	{
		Name: "cdn_headers", Summary: "The header fields of every route, for a content network that reads _headers.",
		Files: []Representation{{MediaType: PlainText, Path: "_headers"}}, Cache: Checked, Hidden: true,
	},
}

// The tags by which the API description groups its routes.
const (
	tagStorefront  = "storefront"
	tagAgents      = "agents"
	tagSigning     = "signing"
	tagInstruments = "instruments"
	tagRecord      = "record"
)

// ItemID is the id of a good as a path parameter.
var ItemID = Param{
	Name: "item_id", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 60,
	Pattern: "^[a-z][a-z0-9_]*$", Description: "The id of a good. The catalogue lists them.",
}

// Sequence is the number of a round as a path parameter.
var Sequence = Param{
	Name: "sequence", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 9,
	Pattern: "^[1-9][0-9]{0,8}$", Description: "The number of a round, from 1. The index lists them.",
}
