package api

// recordDocuments are the published views of the signed record.
var recordDocuments = []Document{
	{
		Name: "corpus", Path: "/corpus", Summary: "The record: a signed weekly census of doors, with its chain.",
		Description: "The JSON is a schema.org Dataset that lists every round of the chain with its digest and the " +
			"state of its proof of time.",
		Tag: tagRecord, Files: pages("/corpus", JSON, Markdown, HTML),
	},
	feed("corpus", "The rounds of the record, an entry a week, as an Atom feed.", tagRecord),
	{
		Name: "corpus_index", Path: "/corpus/index.json",
		Summary: "The rounds, newest first: the head of a paged list.",
		Description: "Holds the rounds that fill no page of 25 yet. `next` is the path of the newest full page; " +
			"follow it down to page 1.", Tag: tagRecord, Files: pages("/corpus/index.json", JSON),
	},
	{
		Name: "corpus_index_page", Path: "/corpus/index/{page}.json",
		Summary: "A full page of 25 rounds, which never changes.", Tag: tagRecord,
		Params: []Param{PageNumber}, Files: pages("/corpus/index/{page}.json", JSON), Cache: Immutable,
	},
	{
		Name: "round_proof", Path: "/corpus/{sequence}.ots", Summary: "The OpenTimestamps proof of a round's digest.",
		Description: "The merge of all that calendars answered and that was added since. The message is the round's " +
			"digest.",
		Tag: tagRecord, Params: []Param{Sequence}, Files: pages("/corpus/{sequence}.ots", Binary),
	},
	{
		Name: "host", Path: "/corpus/host/{host}", Summary: "What the record shows of one host.",
		Description: "Tier with its count of count, coverage, gaps by reason, one row a round, the payment address " +
			"by digest, a citation with an inclusion proof. An unsigned summary that cites signed rows.",
		Tag: tagRecord, Params: []Param{HostName}, Files: pages("/corpus/host/{host}", JSON, Markdown,
			HTML),
	},
	{
		Name: "round_headers", Path: "/corpus/headers/{sequence}.json", Summary: "The signed header of one round.",
		Description: "With log, host index and keys all that `verify -follow` reads.", Tag: tagRecord,
		Params: []Param{Sequence}, Files: pages("/corpus/headers/{sequence}.json", JSON), Cache: Immutable,
	},
	{
		Name: "host_index", Summary: "The index over every host ever seen, of each of the two newest rounds.",
		Description: "Below the number of a round: C2SP tlog-tiles, and `first.txt`, the first host of each bundle. " +
			"A clone has those of all rounds.",
		Tag: tagRecord, Files: []Representation{{MediaType: Binary, Path: "corpus/hosts/{file...}"}},
		Cache: Immutable,
	},
	{
		Name: "key_ring", Path: "/corpus/keys.json", Summary: "The public keys of the record.",
		Tag: tagRecord, Files: pages("/corpus/keys.json", JSON), Cache: Checked,
	},
	{
		Name: "trajectory", Path: "/corpus/trajectory",
		Summary: "One point for each round: counts with their denominators.", Tag: tagRecord,
		Files: pages("/corpus/trajectory", JSON, Markdown, HTML),
	},
	{
		Name: "errors", Path: "/corpus/errors",
		Summary: "How often this record was wrong, by week, check and cause.",
		Description: "Verdicts as they were signed, corrections known to date, and the rate with its denominator. " +
			"The page says how each is counted, and has a program that counts them from the signed files.",
		Tag: tagRecord, Files: pages("/corpus/errors", JSON, Markdown, HTML),
	},
	{
		Name: "errors_feed", Path: "/corpus/errors.atom", Tag: tagRecord,
		Summary: "Verdicts of the record that were corrected, the newest first, as an Atom feed.",
		Files:   pages("/corpus/errors.atom", Atom),
	},
	{
		Name: "purchases", Path: "/corpus/purchases",
		Summary: "What came of purchases at doors, by week: tried, delivered, charged, charged twice.",
		Description: "Each purchase of the store's own wallet, whatever came of it, with denominators, and apart " +
			"from them what sellers and strangers told of; the newest with outcome and body digest.",
		Tag: tagRecord, Files: pages("/corpus/purchases", JSON, Markdown, HTML),
	},
	{
		Name: "purchases_feed", Path: "/corpus/purchases.atom", Tag: tagRecord,
		Summary: "Purchases at doors, the newest first, as an Atom feed.",
		Files:   pages("/corpus/purchases.atom", Atom),
	},
	{
		Name: "corpus_diff_file", Path: "/corpus/diff/{week}.json",
		Summary: "What changed from a week's round to the newest.",
		Description: "Doors that appeared or disappeared, changes of verdict, drift in declared terms. The same " +
			"bytes as `/corpus/diff.json?since={week}`.", Tag: tagRecord, Params: []Param{Week},
		Files: pages("/corpus/diff/{week}.json", JSON), Query: &QueryAddress{
			Name: "corpus_diff", Path: "/corpus/diff.json",
			Summary: "What changed since a week, up to the newest round.", Malformed: "bad_since", Known: "known_weeks",
			Missing: "round of", Description: "The same bytes as the file `/corpus/diff/{since}.json`. An unknown " +
				"week is 404, a malformed one 400; both list `known_weeks`.",
			Param: Param{Name: "since", In: QueryP, Type: "string", MaxLength: 40,
				Description: "An ISO week for which there is a round, such as 2026-W40."},
		},
	},
	{
		Name: "corpus_changes", Path: "/corpus/changes/{week}.json",
		Summary: "What a week's round changed of the one before it.", Tag: tagRecord, Params: []Param{Week},
		Files: pages("/corpus/changes/{week}.json", JSON), Cache: Immutable,
	},
	{
		Name: "week", Path: "/corpus/week/{week}",
		Summary: "One week: what its round saw, from which sources, and what it changed of the one before it.",
		Tag:     tagRecord, Params: []Param{Week}, Files: pages("/corpus/week/{week}", JSON, Markdown, HTML),
	},
	{
		Name: "wallet_facts", Path: "/corpus/wallet-facts.json",
		Summary:     "Counts of advertised addresses, and of those shared across doors.",
		Description: "No names and no addresses.", Tag: tagRecord, Files: pages("/corpus/wallet-facts.json",
			JSON),
	},
	{
		Name: "tiers", Path: "/corpus/tiers.json", Summary: "How many hosts have each tier, and the rules.",
		Description: "`next` leads to the hosts themselves, by name.",
		Tag:         tagRecord, Files: pages("/corpus/tiers.json", JSON),
	},
	{
		Name: "tiers_page", Path: "/corpus/tiers/{page}", Summary: "A page of 100 hosts with their tiers, by name.",
		Tag: tagRecord, Params: []Param{PageNumber}, Files: pages("/corpus/tiers/{page}", JSON, Markdown,
			HTML),
	},
	{
		Name: "corpus_brief", Path: "/corpus/brief", Summary: "The newest week in brief.",
		Tag: tagRecord, Files: pages("/corpus/brief", JSON, Markdown, HTML), Tool: "read_binder",
	},
	{
		Name: "fresh_set", Path: "/fresh-set", Summary: "This week's doors with a conformant challenge, their rails " +
			"and their cheapest ask.",
		Tag: tagRecord, Files: pages("/fresh-set", JSON, Markdown, HTML),
	},
	{
		Name: "registry", Path: "/registry", Summary: "What ready doors asked for, week by week.",
		Tag: tagRecord, Files: pages("/registry", JSON, Markdown, HTML),
	},
	{
		Name: "inflows", Path: "/inflows", Summary: "USDC seen arriving at advertised addresses, by network and week.",
		Tag: tagRecord, Files: pages("/inflows", JSON, Markdown, HTML),
	},
	{
		Name: "scorers", Path: "/scorers", Summary: "How to pull, verify, cite, reproduce and observe again.",
		Tag: tagRecord, Files: pages("/scorers", JSON, Markdown, HTML),
	},
	{
		Name: "atlas", Path: "/atlas.json", Summary: "Everything here, arranged by what one wants to do.",
		Description: "A schema.org Collection: tasks, journeys of several steps, and every address with its price.",
		Tag:         tagAgents, Files: pages("/atlas.json", JSON),
	},
	{
		Name: "feed", Path: "/corpus/feed.json", Summary: "What was born between rounds, each signed: the head of a " +
			"paged list.",
		Description: "Paid walks and refreshes, declarations, standing notes, retired words, tips, key events.",
		Tag:         tagRecord, Files: pages("/corpus/feed.json", JSON),
	},
	{
		Name: "feed_page", Path: "/corpus/feed/{page}.json",
		Summary: "A full page of 100 observations, which never changes.", Tag: tagRecord,
		Params: []Param{PageNumber}, Files: pages("/corpus/feed/{page}.json", JSON), Cache: Immutable,
	},
	{
		Name: "search", Path: "/corpus/search.json", Summary: "Which shards the search index of hosts has.",
		Description: "A shard is named by the start of what it holds: look a name up in the longest shard that it " +
			"begins with.",
		Tag: tagRecord, Files: pages("/corpus/search.json", JSON),
	},
	{
		Name: "search_shard", Path: "/corpus/search/{shard}.json", Summary: "One shard of the search index.",
		Tag: tagRecord, Params: []Param{{
			Name: "shard", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 200,
			Pattern: "^[a-z0-9_-]+$", Description: "The name of a shard.",
		}},
		Files: pages("/corpus/search/{shard}.json", JSON),
	},
	{
		Name: "search_script_head", Summary: "The names of the shards as a script, for a folder that is opened " +
			"without a server.",
		Files: []Representation{{MediaType: JavaScript, Path: "corpus/search.js"}}, Hidden: true,
	},
	{
		Name: "search_script_shards", Summary: "The shards as scripts.",
		Files: []Representation{{MediaType: JavaScript, Path: "corpus/search/{shard}.js"}}, Hidden: true,
	},
	{
		Name: "search_script", Path: "/search.js",
		Summary: "The script of the search, which is needed for nothing else.", Files: pages("/search.js", JavaScript),
		Hidden: true,
	},
	{
		Name: "okf", Path: "/okf/index.md", Summary: "The same evidence as a bundle of linked Markdown (OKF 0.2).",
		Tag: tagRecord, Files: pages("/okf/index.md", Markdown),
	},
	{
		Name: "okf_concepts", Summary: "The concepts of the bundle.",
		Files: []Representation{{MediaType: Markdown, Path: "okf/{concept...}.md"}}, Tag: tagRecord,
	},
}

// PageNumber is the number of a page of a list as a path parameter.
var PageNumber = Param{
	Name: "page", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 9,
	Pattern: "^[1-9][0-9]{0,8}$", Description: "The number of a page, from 1.",
}

// Week is an ISO week as a path parameter.
var Week = Param{
	Name: "week", In: Path, Type: "string", Required: true, MinLength: 8, MaxLength: 8,
	Pattern: "^[0-9]{4}-W[0-9]{2}$", Description: "An ISO week for which there is a round, such as 2026-W40.",
}

// HostName is a host as it stands in addresses: its name in lower case, or h- and the SHA-256 of a
// name that could not stand in a path.
var HostName = Param{
	Name: "host", In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 253,
	Description: "The host in lower case and ASCII form; one of more than 200 bytes, or that could not stand in a " +
		"path, as h- and the SHA-256 of it in hex. Another spelling is sent to this one.",
}
