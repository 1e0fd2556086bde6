package bulk

// fileMeanings are the files that hold no columns, with what is in them.
var fileMeanings = []DictionaryFile{
	{Name: evidenceName("<week>", endingWARC), Meaning: "What the rows of a round were judged by, its walks to the " +
		"control door and its opt-outs among it, and what the refreshes and errata were judged by that were logged " +
		"since the round before it: WARC 1.1, a gzip member a record. Bodies are not published, and so there are " +
		"metadata records alone, no responses. A walk is a record of what was judged, then one for each exchange: " +
		"each block is the exact line of JSON, with its newline. What was withdrawn is in no file; its row " +
		"stands. A week without evidence has no file.",
		Fields: []DictionaryField{
			{"WARC-Date", "when the exchange began; of what was judged, when the first one did"},
			{"WARC-Target-URI", "the url of the block; what no URI may hold is percent-encoded, and the field is " +
				"absent where the url is no address even so"},
			{"WARC-Concurrent-To", "of an exchange: the record of what was judged"},
			{"Store-Evidence-Digest", "the SHA-256 of the blocks of the walk together, which the row has as its " +
				"evidence_digest: join those of one digest in the order of Store-Evidence-Line"},
			{"Store-Evidence-Line", "which line of how many the block is; the first says what was judged"},
			{"Store-Signed-In", "the file of the record that names the digest under a signature: the part of the " +
				"row, the header of the round for a walk to the control door, or an observation"},
		}},
	{Name: evidenceName("<week>", endingCDXJ), Meaning: "The index of that file: a line for each record with a " +
		"target, sorted by bytes. It is the target as a key (SURT), the date in 14 digits, and JSON.",
		Fields: []DictionaryField{
			{"url", "WARC-Target-URI"},
			{"mime", "the media type of the block"},
			{"status", "the HTTP status that the exchange had; absent where none came, and for what was judged"},
			{"digest", "WARC-Block-Digest"},
			{"length", "bytes of the gzip member"},
			{"offset", "where the gzip member begins in the file"},
			{"filename", "the file"},
		}},
}
