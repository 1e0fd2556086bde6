package bulk

// observed is the condition under which a row is an observation of its host, as package derive has
// it: what our own instrument spoiled says nothing about a door.
const observed = `verdict <> 'not_probed' AND NOT (verdict = 'unreachable' AND fault = 'instrument')`

// table is a table of the database beside the rows.
type table struct {
	name, meaning, columns string
}

var tables = []table{
	{"record", "one row: which record this is, and up to where it goes",
		`origin TEXT NOT NULL, rounds INTEGER NOT NULL, rows INTEGER NOT NULL, log_size INTEGER NOT NULL, log_root TEXT NOT NULL`},
	{"rounds", "the signed header of each round, without its rows; suspect rounds say little about a host that they " +
		"did not observe",
		`sequence INTEGER PRIMARY KEY, week TEXT NOT NULL, taken_at TEXT NOT NULL, battery TEXT NOT NULL, first_leaf INTEGER NOT NULL, rows INTEGER NOT NULL,
		due INTEGER NOT NULL, probed INTEGER NOT NULL, not_probed INTEGER NOT NULL, capped INTEGER NOT NULL, suspect INTEGER NOT NULL,
		control_walks INTEGER NOT NULL, control_failed INTEGER NOT NULL, digest TEXT NOT NULL, header TEXT NOT NULL`},
}

// indexes are made after all rows are in.
var indexes = []string{
	`CREATE INDEX rows_host ON rows(host, sequence)`,
	`CREATE INDEX rows_week ON rows(week, verdict)`,
	`CREATE INDEX rows_verdict ON rows(verdict, sequence)`,
}

// view answers a question that is asked often.
type view struct {
	name, question, query string
}

var views = []view{
	{"observations", "Which rows say something about their host?",
		`SELECT * FROM rows WHERE ` + observed},
	{"latest", "What was last observed at each host?",
		`SELECT * FROM rows AS r WHERE leaf = (SELECT leaf FROM rows AS n WHERE n.host = r.host AND n.verdict <> 'not_probed' AND NOT (n.verdict = 'unreachable' AND n.fault = 'instrument') ORDER BY n.sequence DESC LIMIT 1)`},
	{"hosts", "How many rounds saw each host, and how many found it ready?",
		`SELECT host, min(week) AS first_week, max(week) AS last_week, count(*) AS rounds,
		sum(` + observed + `) AS observed, sum(verdict = 'ready') AS ready, sum(NOT (` + observed + `)) AS gaps FROM rows GROUP BY host`},
	{"weeks", "How did each week go, gaps included?",
		`SELECT sequence, week, count(*) AS hosts, sum(` + observed +
			`) AS observed, sum(verdict = 'ready') AS ready, sum(verdict = 'not_ready') AS not_ready,
		sum(verdict = 'unreachable') AS unreachable, sum(verdict = 'not_probed') AS not_probed FROM rows GROUP BY sequence, week`},
	{"gaps", "Why did we not observe hosts, week by week?",
		`SELECT sequence, week, coalesce(reason, 'instrument_degraded') AS reason, count(*) AS hosts FROM rows WHERE NOT (` + observed + `) GROUP BY sequence, week, 3`},
	{"failures", "Which checks failed at how many hosts, week by week?",
		`SELECT sequence, week, f.value AS name, count(*) AS hosts FROM rows, json_each(rows.failed) AS f GROUP BY sequence, week, f.value`},
	{"changes", "When did a verdict differ from the one observed before it?",
		`SELECT host, sequence, week, was, verdict FROM (SELECT host, sequence, week, verdict,
		lag(verdict) OVER (PARTITION BY host ORDER BY sequence) AS was FROM rows WHERE ` + observed + `) WHERE was <> verdict`},
	{"addresses", "Under which address digests did hosts ask to be paid?",
		`SELECT json_extract(p.value, '$.network') AS network, json_extract(p.value, '$.digest') AS digest, host, sequence, week
		FROM rows, json_each(rows.offer_pay_to) AS p`},
	{"prices", "What did ready hosts ask, network by network?",
		`SELECT host, sequence, week, n.value AS network, offer_min_micro_usdc, offer_max_micro_usdc
		FROM rows, json_each(rows.offer_networks) AS n WHERE verdict = 'ready'`},
}
