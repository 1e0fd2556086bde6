// Package rulebook says of every rule of the record what breaks it, as the page of the rules does.
// A verifier names rules and needs none of it.
package rulebook

import "store.example/agentstore/corpus/rule"

// Entry says of a rule what breaks it, in words of the page.
type Entry struct {
	Rule rule.Rule
	Says string
}

// Table holds every rule once, in the order in which a verifier comes to it. It returns a list of
// the caller's own.
func Table() []Entry {
	return []Entry{
		{rule.FileKind, "A link, a device, or anything else that is neither a file nor a folder."},
		{rule.FileName, "Two names that differ in case alone."},
		{rule.FileSize, "A file that is larger than its bound."},
		{rule.FileMissing, "A file that has to be there and is not."},
		{rule.RingForm, "A ring or a handover that is not of its form, or is spelt in another way."},
		{rule.RingKey, "Not one key for each purpose in its order, a key twice, or a `kid` that is not the " +
			"thumbprint of its key."},
		{rule.RingHandover, "Handovers that do not lead from each purpose's first key to its current one, or whose " +
			"dates or last heads do not agree."},
		{rule.RingSignature, "A handover that the outgoing key did not sign."},
		{rule.RingKnown, "A ring that is not the one that the verifier holds, and neither goes on from it nor is " +
			"its beginning."},
		{rule.ManifestForm, "A manifest that is not of its form, or is spelt in another way."},
		{rule.ManifestKey, "A manifest by a key that is no identity key of the ring."},
		{rule.ManifestSignature, "A manifest whose signature does not fit."},
		{rule.ManifestRoot, "Sums or a root that are not those of its parts, or parts that are out of place."},
		{rule.ManifestPart, "A part that is missing, unknown, or not the one that the manifest commits to."},
		{rule.ManifestMissing, "A file that the manifest lists and that is not there."},
		{rule.ManifestAdded, "A file that the manifest does not list."},
		{rule.ManifestChanged, "A file that is not of its size and digest in the manifest."},
		{rule.RoundForm, "A header that is not of its form, or is spelt in another way."},
		{rule.RoundBattery, "A battery that is not known, or a digest that is not that of its document."},
		{rule.RoundParts, "Parts that are too long, too short, or do not add up to its `rows`."},
		{rule.RoundControl, "Control walks that do not add up."},
		{rule.RoundInflows, "Inflows of no time, or a network whose reason or addresses left out do not go with " +
			"`read`."},
		{rule.RoundDigest, "A `digest` that is not that of the header."},
		{rule.RoundWeek, "A `taken_at` before its week begins, more than thirteen weeks after it ends, or more " +
			"than a day " +
			"later than a time at which it was there: that of a cosignature by a known witness."},
		{rule.RoundKey, "A header by no identity key in force at `taken_at`."},
		{rule.RoundSignature, "A header whose signature does not fit."},
		{rule.RoundSequence, "A header that stands in the place of another."},
		{rule.RoundPrevious, "A `previous_digest` that is not the digest of the round before."},
		{rule.RoundOrigin, "An origin that is not that of the round before."},
		{rule.RoundLater, "A week or a time that is not later than that of the round before."},
		{rule.RoundLot, "No lot, though the round before has one."},
		{rule.RoundProbed, "A `previous_probed` that is not what the round before counts."},
		{rule.ObservationForm, "An observation that is not of its form or its kind, has a text in it, or is spelt in " +
			"another way."},
		{rule.ObservationKey, "An observation by no identity key in force when it is dated."},
		{rule.ObservationSignature, "An observation whose signature does not fit."},
		{rule.ObservationNumber, "An observation that stands in the place of another."},
		{rule.HandoverTold, "A handover that is told twice, or that the ring does not have."},
		{rule.IssuedFalls, "Counts of artifacts that fall."},
		{rule.IssuedWeek, "A tree of certificates of weeks that one before it is of."},
		{rule.ObservationDate, "An observation dated more than a day before the round that it follows in the " +
			"log, more " +
			"than a day after the one that follows it, or more than a day later than a time at which it was there."},
		{rule.ProofHeader, "A block header that is not of its form."},
		{rule.ProofForm, "A proof of time that is not of its form."},
		{rule.ProofDigest, "A proof that is not of the digest of its round or anchor."},
		{rule.ProofBlock, "A proof that a block header at hand contradicts."},
		{rule.ProofDate, "A round or an anchor that is dated more than a day after a block at hand that holds it."},
		{rule.LotTwice, "A roster that is closed twice."},
		{rule.RoundPlace, "Rows that do not begin in the log where what stands before them ends."},
		{rule.PartDigest, "A part that is not of its digest."},
		{rule.PartRows, "A part with another number of rows than its round says, or without a newline at its end."},
		{rule.RowForm, "A row that is not of its form, or is spelt in another way."},
		{rule.RowURL, "A `url` that is no address of the row's host over https."},
		{rule.RowWalk, "A row with a member that its verdict does not have, or without one that it has, or " +
			"`ready` at a level " +
			"below the first that its battery calls so."},
		{rule.RowKey, "A row by another key than its round."},
		{rule.RowSignature, "A row whose signature does not fit."},
		{rule.RowRound, "A row of another log, round or week."},
		{rule.RowDate, "An `observed_at` before the week of the round, more than a day after it, or after its " +
			"`taken_at`; a " +
			"minute is allowed before and at `taken_at`."},
		{rule.RowVantage, "A vantage whose `id` is no walker's key in force at `taken_at`, or two looks that rest on " +
			"one judgement."},
		{rule.RowSorted, "Rows that are not sorted by host, or a host twice."},
		{rule.EvidencePair, "A pack without its index, or the reverse."},
		{rule.EvidenceIndex, "An index that is not of its form, or not as long as its pack."},
		{rule.EvidenceWithdrawn, "A judgement that is there although an observation withdrew it."},
		{rule.EvidenceMissing, "A judgement that is not there although none withdrew it."},
		{rule.EvidenceNamed, "A judgement that no row, or no control walk, names."},
		{rule.EvidenceGzip, "A member that is no gzip as it is written here."},
		{rule.EvidenceDigest, "A judgement that is too long or not of its digest."},
		{rule.JudgementForm, "A judgement or an opt-out that is not of its form."},
		{rule.JudgementDoor, "A judgement of another door or time than what rests on it, by another battery, " +
			"or an opt-out of " +
			"another host."},
		{rule.JudgementVerdict, "A row, a refresh, an erratum or control figures that say something else than their " +
			"judgements give. This takes the battery."},
		{rule.RowPrevious, "A `previous_leaf` that is not the host's row before."},
		{rule.RoundCoverage, "Counts that are not those of the rows: `coverage`, `walked`."},
		{rule.LotClosed, "A lot of a roster that no observation closed before the round's rows."},
		{rule.LotRoster, "A lot of another roster than the one that was closed, or than the rows give."},
		{rule.LotTurn, "A host beyond the cap whose turn came before that of one that has its place."},
		{rule.LotHeight, "A lot by another block than the one that was fixed."},
		{rule.LotOwn, "A value of the keeper's own that is not the one that was fixed."},
		{rule.LotDate, "A block that was there when the roster was closed."},
		{rule.LotWork, "A block that does not meet the difficulty that it states."},
		{rule.LotWalk, "A roster that was closed more than a minute after a host of it was walked, or a block " +
			"that is " +
			"dated more than two hours after."},
		{rule.IndexFold, "A file of a host index that is not what all rows up to its round give."},
		{rule.LogTile, "A tile or a bundle of the log that is not what rounds and observations give."},
		{rule.LogHandover, "A log that is another, or shorter, at a head at which its key changed hands."},
		{rule.CheckpointForm, "A checkpoint that is not of its form, or has further lines."},
		{rule.CheckpointKey, "A checkpoint by no log key, or by one that was not in force at its size."},
		{rule.CheckpointSignature, "A checkpoint whose signature does not fit."},
		{rule.CheckpointTree, "A checkpoint of another size or root than the log has there, or of another log."},
		{rule.CosignatureForm, "A cosignature that is not of its form."},
		{rule.LogRemembered, "A log that does not go on from a checkpoint that the verifier remembers."},
		{rule.ErratumRow, "An erratum of a leaf that is no row of a round taken before."},
		{rule.WithdrawnBasis, "A withdrawal of what an erratum that counts rests on, or, in the same week, a refresh."},
		{rule.ErratumBasis, "An erratum to a verdict that rests on a look of another week than its row, or by " +
			"an older battery, or on a paid walk " +
			"of another door or week, or one that failed, or gives another verdict than `ready`."},
		{rule.WordsMissing, "Words that are not there although none withdrew them."},
		{rule.WordsWithdrawn, "Words that are there although an observation withdrew them."},
		{rule.WordsForm, "A file of words that is not of its form."},
		{rule.WordsDigest, "Words that are not of their digest."},
		{rule.WordsSalt, "Two words under one salt."},
		{rule.FileUnknown, "A file that nothing asks for."},
	}
}
