// Package bulk writes the record as whole files for those who want all of it: rows as JSON lines,
// as CSV and as a SQLite database, what each week added, a dictionary of every column, and a git
// repository that any web server can serve.
//
//	corpus/bulk/rows.jsonl.gz              every signed row, its exact bytes, a line each, oldest round first
//	corpus/bulk/delta-2026-W47.jsonl.gz    the rows of one week; all deltas in order, joined, are rows.jsonl.gz
//	corpus/bulk/rows.csv.gz                the same rows as a table
//	corpus/bulk/rows.sqlite                the same table with indexes and views
//	corpus/bulk/dictionary.json, .md       what each column, table and view means
//	corpus/bulk/digests.json               the digest of each of these, and of what record they were made
//	corpus.git/                            the record's own files as a repository for git clone, see Repository
//
// These bytes depend on the versions of the libraries that compress and lay out pages, and so they
// are made once for a state of the record: [Write] keeps files that digests.json knows to be of the
// same rounds, deltas for ever, and [Repository] only ever adds. A build with other libraries
// leaves them as they are. That is why they stand in a site's manifest and are yet outside the
// promise that a build gives the same bytes everywhere.
//
// All files are written as the record is read, so that memory does not follow the number of rows.
package bulk
