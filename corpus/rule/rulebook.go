// This file says of every rule of the record what breaks it, as the page of the rules does.
// A verifier names rules and needs none of it.

package rule

// RuleEntry says of a rule what breaks it, in words of the page.
type RuleEntry struct {
	Rule Rule
	Says string
}

// RuleTable holds every rule once, in the order in which a verifier comes to it. It returns a list
// of the caller's own.
func RuleTable() []RuleEntry {
	return []RuleEntry{
		{FileKind, "A link, a device, or anything else that is neither a file nor a folder."},
		{FileName, "Two names that differ in case alone."},
		{FileSize, "A file that is larger than its bound."},
		{FileMissing, "A file that has to be there and is not."},
		{RingForm, "A ring or a handover that is not of its form, or is spelt in another way."},
		{RingKey, "Not one key for each purpose in its order, a key twice, or a `kid` that is not the " +
			"thumbprint of its key."},
		{RingHandover, "Handovers that do not lead from each purpose's first key to its current one, or whose " +
			"dates or last heads do not agree."},
		{RingSignature, "A handover that the outgoing key did not sign."},
		{RingKnown, "A ring that is not the one that the verifier holds, and neither goes on from it nor is " +
			"its beginning."},
		{ManifestForm, "A manifest that is not of its form, or is spelt in another way."},
		{ManifestKey, "A manifest by a key that is no identity key of the ring."},
		{ManifestSignature, "A manifest whose signature does not fit."},
		{ManifestRoot, "Sums or a root that are not those of its parts, or parts that are out of place."},
		{ManifestPart, "A part that is missing, unknown, or not the one that the manifest commits to."},
		{ManifestMissing, "A file that the manifest lists and that is not there."},
		{ManifestAdded, "A file that the manifest does not list."},
		{ManifestChanged, "A file that is not of its size and digest in the manifest."},
		{RoundForm, "A header that is not of its form, or is spelt in another way."},
		{RoundBattery, "A battery that is not known, or a digest that is not that of its document."},
		{RoundParts, "Parts that are too long, too short, or do not add up to its `rows`."},
		{RoundControl, "Control walks that do not add up."},
		{RoundInflows, "Inflows of no time, or a network whose reason or addresses left out do not go with " +
			"`read`."},
		{RoundDigest, "A `digest` that is not that of the header."},
		{RoundWeek, "A `taken_at` before its week begins, more than thirteen weeks after it ends, or more " +
			"than a day " +
			"later than a time at which it was there: that of a cosignature by a known witness."},
		{RoundKey, "A header by no identity key in force at `taken_at`."},
		{RoundSignature, "A header whose signature does not fit."},
		{RoundSequence, "A header that stands in the place of another."},
		{RoundPrevious, "A `previous_digest` that is not the digest of the round before."},
		{RoundOrigin, "An origin that is not that of the round before."},
		{RoundLater, "A week or a time that is not later than that of the round before."},
		{RoundLot, "No lot, though the round before has one."},
		{RoundProbed, "A `previous_probed` that is not what the round before counts."},
		{ObservationForm, "An observation that is not of its form or its kind, has a text in it, or is spelt in " +
			"another way."},
		{ObservationKey, "An observation by no identity key in force when it is dated."},
		{ObservationSignature, "An observation whose signature does not fit."},
		{ObservationNumber, "An observation that stands in the place of another."},
		{HandoverTold, "A handover that is told twice, or that the ring does not have."},
		{IssuedFalls, "Counts of artifacts that fall."},
		{IssuedWeek, "A tree of certificates of weeks that one before it is of."},
		{ObservationDate, "An observation dated more than a day before the round that it follows in the " +
			"log, more " +
			"than a day after the one that follows it, or more than a day later than a time at which it was there."},
		{ProofHeader, "A block header that is not of its form."},
		{ProofForm, "A proof of time that is not of its form."},
		{ProofDigest, "A proof that is not of the digest of its round or anchor."},
		{ProofBlock, "A proof that a block header at hand contradicts."},
		{ProofDate, "A round or an anchor that is dated more than a day after a block at hand that holds it."},
		{LotTwice, "A roster that is closed twice."},
		{RoundPlace, "Rows that do not begin in the log where what stands before them ends."},
		{PartDigest, "A part that is not of its digest."},
		{PartRows, "A part with another number of rows than its round says, or without a newline at its end."},
		{RowForm, "A row that is not of its form, or is spelt in another way."},
		{RowURL, "A `url` that is no address of the row's host over https."},
		{RowWalk, "A row with a member that its verdict does not have, or without one that it has, or " +
			"`ready` at a level " +
			"below the first that its battery calls so."},
		{RowKey, "A row by another key than its round."},
		{RowSignature, "A row whose signature does not fit."},
		{RowRound, "A row of another log, round or week."},
		{RowDate, "An `observed_at` before the week of the round, more than a day after it, or after its " +
			"`taken_at`; a " +
			"minute is allowed before and at `taken_at`."},
		{RowVantage, "A vantage whose `id` is no walker's key in force at `taken_at`, or two looks that rest on " +
			"one judgement."},
		{RowSorted, "Rows that are not sorted by host, or a host twice."},
		{EvidencePair, "A pack without its index, or the reverse."},
		{EvidenceIndex, "An index that is not of its form, or not as long as its pack."},
		{EvidenceWithdrawn, "A judgement that is there although an observation withdrew it."},
		{EvidenceMissing, "A judgement that is not there although none withdrew it."},
		{EvidenceNamed, "A judgement that no row, or no control walk, names."},
		{EvidenceGzip, "A member that is no gzip as it is written here."},
		{EvidenceDigest, "A judgement that is too long or not of its digest."},
		{JudgementForm, "A judgement or an opt-out that is not of its form."},
		{JudgementDoor, "A judgement of another door or time than what rests on it, by another battery, " +
			"or an opt-out of " +
			"another host."},
		{JudgementVerdict, "A row, a refresh, an erratum or control figures that say something else than their " +
			"judgements give. This takes the battery."},
		{RowPrevious, "A `previous_leaf` that is not the host's row before."},
		{RoundCoverage, "Counts that are not those of the rows: `coverage`, `walked`."},
		{LotClosed, "A lot of a roster that no observation closed before the round's rows."},
		{LotRoster, "A lot of another roster than the one that was closed, or than the rows give."},
		{LotTurn, "A host beyond the cap whose turn came before that of one that has its place."},
		{LotHeight, "A lot by another block than the one that was fixed."},
		{LotOwn, "A value of the keeper's own that is not the one that was fixed."},
		{LotDate, "A block that was there when the roster was closed."},
		{LotWork, "A block that does not meet the difficulty that it states."},
		{LotWalk, "A roster that was closed more than a minute after a host of it was walked, or a block " +
			"that is " +
			"dated more than two hours after."},
		{IndexFold, "A file of a host index that is not what all rows up to its round give."},
		{LogTile, "A tile or a bundle of the log that is not what rounds and observations give."},
		{LogHandover, "A log that is another, or shorter, at a head at which its key changed hands."},
		{CheckpointForm, "A checkpoint that is not of its form, or has further lines."},
		{CheckpointKey, "A checkpoint by no log key, or by one that was not in force at its size."},
		{CheckpointSignature, "A checkpoint whose signature does not fit."},
		{CheckpointTree, "A checkpoint of another size or root than the log has there, or of another log."},
		{CosignatureForm, "A cosignature that is not of its form."},
		{LogRemembered, "A log that does not go on from a checkpoint that the verifier remembers."},
		{ErratumRow, "An erratum of a leaf that is no row of a round taken before."},
		{WithdrawnBasis, "A withdrawal of what an erratum that counts rests on, or, in the same week, a refresh."},
		{ErratumBasis, "An erratum to a verdict that rests on a look of another week than its row, or by " +
			"an older battery, or on a paid walk " +
			"of another door or week, or one that failed, or gives another verdict than `ready`. An " +
			"`instrument_error` of a row without a verdict or with the same one, whose checks are not those that " +
			"were told falsely, or that rests on a look which is not the row's own, or of a row whose own was " +
			"withdrawn before it."},
		{WordsMissing, "Words that are not there although none withdrew them."},
		{WordsWithdrawn, "Words that are there although an observation withdrew them."},
		{WordsForm, "A file of words that is not of its form."},
		{WordsDigest, "Words that are not of their digest."},
		{WordsSalt, "Two words under one salt."},
		{FileUnknown, "A file that nothing asks for."},
	}
}
