package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Program is the SQLite that writes the databases, a module of WebAssembly. It asks its host for
// files, time and chance alone, by the names that package sqlite3 gives these, so that a browser
// that has functions of these names reads the databases with the very program that wrote them. The
// caller must not change it.
func Program() []byte { return sqlite3.Binary }

// ProgramDigest begins the SHA-256 of Program, which tells versions apart in a file's name.
func ProgramDigest() string {
	sum := sha256.Sum256(sqlite3.Binary)
	return hex.EncodeToString(sum[:8])
}

// Question is a question that one may begin with.
type Question struct{ Title, Query string }

// newest is the week of the newest round in a database. The rounds are few, the rows many.
const newest = `(SELECT week FROM rounds ORDER BY sequence DESC LIMIT 1)`

// questions are those that read little of the file: one week of it, one host, or the rounds.
var questions = []Question{
	{"Hosts by verdict, in the newest week", `
SELECT verdict, count(*) AS hosts
FROM rows
WHERE week = ` + newest + `
GROUP BY verdict
ORDER BY hosts DESC`},
	{"Checks that failed most, in the newest week", `
SELECT f.value AS name, count(*) AS hosts
FROM rows, json_each(rows.failed) AS f
WHERE week = ` + newest + `
GROUP BY f.value
ORDER BY hosts DESC, name`},
	{"Lowest prices in USDC, network by network", `
SELECT n.value AS network, count(*) AS hosts,
  sum(offer_min_micro_usdc < 10000) AS below_1_cent,
  sum(offer_min_micro_usdc BETWEEN 10000 AND 99999) AS below_10_cents,
  sum(offer_min_micro_usdc BETWEEN 100000 AND 999999) AS below_1_dollar,
  sum(offer_min_micro_usdc >= 1000000) AS more
FROM rows, json_each(rows.offer_networks) AS n
WHERE week = ` + newest + ` AND verdict = 'ready'
GROUP BY n.value
ORDER BY hosts DESC, network`},
	{"Verdicts that changed, in the newest week", `
SELECT host, was, verdict
FROM (
  SELECT host, verdict, (
    SELECT verdict FROM observations AS before
    WHERE before.host = now.host AND before.sequence < now.sequence
    ORDER BY sequence DESC LIMIT 1) AS was
  FROM observations AS now
  WHERE week = ` + newest + `)
WHERE was <> verdict
ORDER BY host`},
	{"One host, week by week", `
SELECT week, verdict, reached_level, failed, offer_min_micro_usdc
FROM rows
WHERE host = 'HOST'
ORDER BY sequence`},
	{"How each round went", `
SELECT week, due, probed, not_probed, suspect, control_failed
FROM rounds
ORDER BY sequence DESC`},
	{"Tables and views", `
SELECT type, name, sql
FROM sqlite_schema
WHERE type IN ('table', 'view')
ORDER BY type, name`},
}

// Questions are questions to begin with, of which one is about a host.
func Questions(host string) []Question {
	out := make([]Question, len(questions))
	for i, q := range questions {
		out[i] = Question{q.Title, strings.ReplaceAll(strings.TrimSpace(q.Query), "HOST",
			strings.ReplaceAll(host, "'", "''"))}
	}
	return out
}
