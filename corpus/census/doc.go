// Package census walks, once a week, the doors that the record knows by name, and seals what it saw
// as one round. It judges nothing (package probe does), makes no request by itself (the guarded
// client does), keeps nothing by itself (a Store does, which many processes share) and owns no
// clock: what the world decides is handed in, so that a scripted street and a scripted clock give
// the same round to the byte.
//
//	report, err := census.Run(ctx, census.Config{Owner: owner, Store: store, Client: client, Control: control,
//		Sources: []census.Source{census.Discovery(…), census.Declared(…), census.List(…), census.Revisits(…)},
//		Record: record, Writer: writer})
//
// A week goes through phases: one process reads the sources and writes the roster; any number of
// processes walk it, each taking shards under leases; one closes the week and seals the round.
// Whoever dies is replaced when its lease runs out. A host is written down as begun before its door
// is touched, so that it is walked once at most: what was begun and not finished is not_probed for
// the reason interrupted, and is not repeated in that week.
//
// The round stays open until a process with a Writer finds every host finished. Walkers
// (Config.Writer nil) hold no key and leave it open, so that hosts which declare themselves in the
// week are still added and walked (Hourly, which begins a round like any walker).
//
// # Who is walked, and when
//
// Nobody captures a roster. A source has a deadline (Config.SourceTime). Hosts that only declared
// themselves have quotas: DeclaredPerDomain a registrable domain by the Public Suffix List with its
// private section, a fortieth of the cap a domain of ICANN's section, a quarter of the cap
// together, and a tenth beside the cap for those who declare themselves in the week; the others are
// over_quota until the next week. One door of a registrable domain and one of an address are walked
// at a time, and requests to an address are spaced as those to a host are (fetch.Config.Spacing).
//
// # From elsewhere
//
// Walkers at other places (Config.Vantages) are handed the closed roster when its order is dealt
// (VantageRoster), walk it by WalkElsewhere, and hand over what they saw before the round is
// sealed. Each verdict of theirs is reached again from what it was judged by; it counts where the
// walker's own control door held at that time, and then stands in the host's row. Where two places
// disagree the row is not_ready, and the path at fault.
//
// # What it takes
//
// Measured by
//
//	make bench ARGS='-only census'
//
// on one core of a machine that was busy with other work: 3,000 doors, 256 of them walked at once,
// of which 50 % are 20 to 98 ms away, 30 % up to 395 ms, 10 % up to 1,480 ms, 5 % refuse, 3 % do
// not exist and 2 % never answer. A whole census, from the reading of the list to the sealed round,
// with its ledger on disk, its evidence and its raw recordings, made 0.65 to 0.79 of the doors a
// second of a bare loop of GETs over TLS with as many at once. A door took 1.95 ms of processor
// (the loop 0.82 ms) and 1.2 socket-seconds (the loop 1.0), most of them the distance and the dead.
//
// On paper, 1,000,000 doors in 10 minutes are 1,667 a second: 3.3 such cores, and 2,000 sockets
// open at once, so four processes with 512 workers each on a PostgreSQL ledger. A process writes at
// most 50 transactions a second; some 5 KB a door go through the ledger, 8 MB a second. Whoever
// reads the sources holds the merged roster in memory, some 500 bytes a host. Sealing is one
// process's work, after the walks: 0.12 ms a row, two minutes of one core for the million, less
// with more of them, since rows are signed on all.
package census
