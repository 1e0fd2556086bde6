package api

// recordFiles are the files of the record itself, and those that hold all of it.
var recordFiles = []Document{
	{
		Name: "round", Path: "/corpus/{sequence}.json", Summary: "One signed round of the record.",
		Description: "The header as it was signed, under `round`, and its rows as they were signed, each on a line " +
			"of its own, under `rows`. " +
			"A round of more than 20,000 rows has `parts` in their place: where each part is, how many rows it has, " +
			"and the SHA-256 of its bytes, which the header holds too.",
		Tag: tagRecord, Params: []Param{Sequence}, Files: pages("/corpus/{sequence}.json", JSON),
		Cache: Immutable,
	},
	{
		Name: "round_parts", Summary: "The rows of a large round, part by part.",
		Files: []Representation{{MediaType: JSONLines, Path: "corpus/parts/{part...}.jsonl"}}, Cache: Immutable,
		Tag: tagRecord,
	},
	{
		Name: "log_checkpoint", Path: "/corpus/log/checkpoint",
		Summary: "The last signed checkpoint of the record's transparency log.",
		Description: "A signed note (C2SP tlog-checkpoint). Tiles and entry bundles stand beside it as C2SP " +
			"tlog-tiles says, under `/corpus/log/tile/`.", Tag: tagRecord,
		Files: pages("/corpus/log/checkpoint", PlainText), Cache: Checked, Last: true,
	},
	{
		Name: "log_tiles", Summary: "Tiles and entry bundles of the log.",
		Files: []Representation{{MediaType: Binary, Path: "corpus/log/tile/{tile...}"}}, Cache: Immutable,
		Tag: tagRecord,
	},
	{
		Name: "log_checkpoints", Summary: "Every checkpoint that was signed, by the size of the log.",
		Files: []Representation{{MediaType: PlainText, Path: "corpus/log/checkpoints/{size}"}}, Cache: Immutable,
		Tag: tagRecord,
	},
	{
		Name: "log_policy", Path: "/corpus/log-policy",
		Summary: "Which heads of the log to take for good: its key, and the quorum of its witnesses.",
		Description: "A trust policy (C2SP tlog-policy), for `verify -policy FILE` on a clone. Its comments say what " +
			"it demands; whom to trust is yours to say.",
		Tag: tagRecord, Files: pages("/corpus/log-policy", PlainText), Cache: Checked,
	},
	{
		Name: "log_list", Path: "/corpus/log-list",
		Summary: "The entry of the log for lists of logs, to send to who runs a witness or a mirror.",
		Tag:     tagRecord, Files: pages("/corpus/log-list", PlainText), Cache: Checked,
	},
	{
		Name: "log_cosignatures", Summary: "What third parties signed under a checkpoint, by its size.",
		Files: []Representation{{MediaType: PlainText, Path: "corpus/log/cosignatures/{size}"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "evidence_packs", Summary: "The redacted judgement inputs of a round, part by part: one gzip member " +
			"each.",
		// may be withdrawn
		Files: []Representation{{MediaType: Gzip, Path: "corpus/evidence/{part...}.jsonl.gz"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "evidence_indexes", Summary: "Where in its pack each judgement input is, for requests with Range.",
		Files: []Representation{{MediaType: JSON, Path: "corpus/evidence/{part...}.index.json"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "words", Summary: "A text that a stranger wrote, with the salt under which an observation has its " +
			"digest.",
		// may be withdrawn
		Files: []Representation{{MediaType: JSON, Path: "corpus/words/{sha256}.json"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "bulk", Path: "/corpus/bulk/digests.json", Summary: "The bulk files of the record, with their digests.",
		Description: "The rows of each week as JSON lines (`rows-<week>.jsonl.gz`, each line a signed row) and as a " +
			"table (`rows-<week>.csv.gz`, `rows-<week>.parquet`), those of each year as a SQLite file " +
			"(`rows-<year>.sqlite`). The whole history is this list. " +
			"All of the record is cloned with `git clone <base_url>/corpus.git`.",
		Tag: tagRecord, Files: pages("/corpus/bulk/digests.json", JSON), Cache: Checked, Last: true,
	},
	{
		Name: "allowed_signers", Path: "/corpus/allowed-signers",
		Summary: "The keys that sign commits, as git reads them.",
		Description: "An allowed signers file of OpenSSH, for `git -c gpg.ssh.allowedSignersFile=FILE verify-commit " +
			"HEAD` in a clone of `<base_url>/corpus.git`. " +
			"The same keys stand in the signing-key document; compare them with one learned elsewhere.",
		Tag: tagRecord, Files: pages("/corpus/allowed-signers", PlainText), Cache: Checked,
	},
	{
		Name: "bulk_dictionary", Path: "/corpus/bulk/dictionary",
		Summary: "What each column, table and view of the bulk files means.", Tag: tagRecord,
		Files: pages("/corpus/bulk/dictionary", JSON, Markdown), Cache: Checked,
	},
	{
		Name: "bulk_rows", Summary: "The rows of one week, each line as it was signed.",
		Files: []Representation{{MediaType: Gzip, Path: "corpus/bulk/rows-{week}.jsonl.gz"}}, Cache: Immutable,
		Tag: tagRecord,
	},
	{
		// These have the columns of the dictionary, which may get more.
		Name: "bulk_csv", Summary: "The rows of one week as CSV.",
		Files: []Representation{{MediaType: Gzip, Path: "corpus/bulk/rows-{week}.csv.gz"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "bulk_parquet", Summary: "The rows of one week as Parquet.",
		Files: []Representation{{MediaType: Parquet, Path: "corpus/bulk/rows-{week}.parquet"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "bulk_database", Summary: "The rows of one year as a SQLite file.",
		Files: []Representation{{MediaType: SQLite, Path: "corpus/bulk/rows-{year}.sqlite"}}, Cache: Checked,
		Tag: tagRecord,
	},
	{
		Name: "query", Path: "/corpus/query", Summary: "Ask the record: questions in SQL, answered in the browser.",
		Description: "The page for people: SQLite runs in the reader's browser and reads the database of a year by " +
			"requests with Range, only the parts that a question needs.",
		Tag: tagRecord, Files: pages("/corpus/query", HTML, Markdown),
	},
	asset("query_style", "/corpus/query.css", CSS, "What /corpus/query adds to the style sheet."),
	asset("query_script", "/corpus/query.js", JavaScript, "The script of /corpus/query."),
	asset("query_worker", "/corpus/query/worker.js", JavaScript, "The script of its worker."),
	{
		// A version of SQLite has an address of its own.
		Name: "query_program", Summary: "SQLite as a program for browsers, by the digest of its bytes.",
		Files: []Representation{{MediaType: WebAssembly, Path: "corpus/query/{program}.wasm"}}, Cache: Immutable,
		Hidden: true,
	},
	{
		Name: "git_packs", Summary: "Packs of the record's git repository and their indexes.",
		Files: []Representation{{MediaType: Binary, Path: "corpus.git/objects/pack/{pack}"}}, Cache: Immutable,
		Tag: tagRecord,
	},
	{
		// info/refs must not come as application/x-git-upload-pack-advertisement: there is no such
		// service.
		Name: "git_heads", Summary: "Where the record's git repository stands: HEAD, refs and the list of packs.",
		Files: []Representation{{MediaType: PlainText, Path: "corpus.git/{file...}"}}, Cache: Checked, Last: true,
		Tag: tagRecord,
	},
}
