// Package bulk writes the record as files for those who want all of it: the rows of each week as
// JSON lines, as CSV and as Parquet, those of each year as a SQLite database, a dictionary of every
// column, and a git repository that any web server can serve. The whole history is the list of its
// weeks, digests.json.
//
//	corpus/bulk/rows-2026-W47.jsonl.gz     the signed rows of a week, their exact bytes, a line each
//	corpus/bulk/rows-2026-W47.csv.gz       the same rows as a table
//	corpus/bulk/rows-2026-W47.parquet      the same table for columnar readers
//	corpus/bulk/rows-2026.sqlite           the table of a year's weeks, with indexes and views
//	corpus/bulk/dictionary.json, .md       what each column, table and view means
//	corpus/bulk/digests.json               the digest of each of these, and of what record they were made
//	corpus.git/                            the record's own files as a repository for git clone, see Repository
//
// These bytes depend on the versions of the libraries that compress and lay out pages, and so they
// are made once for a state of the record: [Write] keeps files that digests.json knows to be of the
// same rounds, and [Repository] only ever adds. A build with other libraries leaves them as they
// are. That is why they stand in a site's manifest and are yet outside the promise that a build
// gives the same bytes everywhere.
//
// All files are written as the record is read, so that memory does not follow the number of rows.
package bulk
