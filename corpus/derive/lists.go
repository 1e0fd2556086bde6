package derive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// The sizes of pages. A full page of the index or of the feed never changes; pages are numbered
// from the oldest.
const (
	IndexPageLimit = 25
	FeedPageLimit  = 100
	TiersPageLimit = 100
)

// pageOf is what stands on a page of a list, counted from 1, or on its head, 0: what fills no page
// yet. Next is the full page that it leads to, 0 for none.
func pageOf(page, all, limit int) (from, to, next int) {
	if page == 0 {
		return all / limit * limit, all, all / limit
	}
	return (page - 1) * limit, page * limit, page - 1
}

// DatasetView is /corpus.json: a schema.org Dataset with the chain of rounds.
type DatasetView struct {
	DatasetFacts
	PerSubject string        `json:"per_subject"`
	Started    string        `json:"started,omitzero"`
	Entries    int64         `json:"entries"`
	Chain      ChainState    `json:"chain"`
	Verify     []string      `json:"how_to_verify"`
	Limits     []string      `json:"honest_limits"`
	Latest     *DatasetEntry `json:"latest"` // null while there is no round
	Index      []DatasetLine `json:"index"`  // oldest first
}

// DatasetFacts is what is said of the record in the words of schema.org, which the page of the
// record says too.
type DatasetFacts struct {
	Context     string     `json:"@context"`
	Type        string     `json:"@type"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	URL         string     `json:"url"`
	License     string     `json:"license"`
	Free        bool       `json:"isAccessibleForFree"`
	Temporal    string     `json:"temporalCoverage,omitzero"`
	Technique   string     `json:"measurementTechnique"`
	Measured    []string   `json:"variableMeasured"`
	Files       []DataFile `json:"distribution"`
}

// DataFile is one way to have the data.
type DataFile struct {
	Type   string `json:"@type"`
	Name   string `json:"name"`
	Format string `json:"encodingFormat"`
	URL    string `json:"contentUrl"`
}

// ChainState says what was recomputed when this was made.
type ChainState struct {
	Intact  bool   `json:"intact"`
	Entries int64  `json:"entries"`
	Checked string `json:"checked"`
}

// DatasetEntry is a round with where it is.
type DatasetEntry struct {
	Cited
	TakenAt string `json:"taken_at"`
	URL     string `json:"url"`
}

// DatasetLine is one round of the chain.
type DatasetLine struct {
	Sequence      int64         `json:"sequence"`
	Week          string        `json:"week"`
	TakenAt       string        `json:"taken_at"`
	Digest        attest.Digest `json:"digest"`
	Previous      attest.Digest `json:"previous_digest"`
	ProofOfTime   string        `json:"ots_status"` // none while no calendar was asked
	ProofURL      string        `json:"ots_url,omitzero"`
	HostsObserved int64         `json:"hosts_observed"`
	URL           string        `json:"url"`
}

// Dataset describes the record and lists its chain. Name is the site's.
func (b *Book) Dataset(name string, files []DataFile) DatasetView {
	base := b.BaseURL
	facts := DatasetFacts{
		Context: "https://schema.org", Type: "Dataset", Name: name + ": the record of x402 doors", URL: base +
			"/corpus", License: "https://creativecommons.org/licenses/by/4.0/", Free: true,
		Description: "A signed, append-only weekly census of doors that ask to be paid over x402. Every row is " +
			"signed, every round is chained to the one before it, and the store counts its own gaps against itself.",
		Technique: "One unpaid request a week to one door of each host, judged by a versioned battery of checks; a " +
			"control door of the store's own is walked beside them.",
		Measured: []string{"verdict", "reached_level", "failed checks", "advisories", "protocols",
			"offer: networks, schemes, prices, digests of addresses"},
		Files: files,
	}
	v := DatasetView{
		DatasetFacts: facts, PerSubject: base + "/corpus/host/{host}.json", Entries: int64(len(b.Rounds)),
		Chain: ChainState{Intact: true, Entries: int64(len(b.Rounds)),
			Checked: "Every header's signature and digest, and that each names the digest of the one before it, when " +
				"this file was made. It is not made if one does not fit."},
		Verify: []string{
			"The digest of a round is the SHA-256 of its header's canonical bytes without digest and signature; " +
				"previous_digest names the round before.",
			"Each row carries an ed25519 signature by the key at " + base +
				"/.well-known/store-signing-key and stands in the log under " + base +
				"/corpus/log/ (C2SP tlog-tiles).", "A clone is checked without a network: see " + base + "/verify.",
		},
		Limits: CannotSee(), Index: []DatasetLine{},
	}
	for i, r := range b.Rounds {
		v.Index = append(v.Index, b.line(i, r))
	}
	if n := len(b.Rounds); n > 0 {
		first, last := b.Rounds[0], b.Rounds[n-1]
		v.Started, v.Temporal = first.TakenAt, first.TakenAt[:len("2026-01-02")]+"/"+last.TakenAt[:len("2026-01-02")]
		v.Latest = &DatasetEntry{Cited: cite(last), TakenAt: last.TakenAt, URL: base + RoundPath(last.Sequence)}
	}
	return v
}

func (b *Book) line(i int, r record.Round) DatasetLine {
	l := DatasetLine{Sequence: r.Sequence, Week: r.Week, TakenAt: r.TakenAt, Digest: r.Digest,
		Previous:    r.PreviousDigest,
		ProofOfTime: "none", HostsObserved: r.Coverage.Probed, URL: b.BaseURL + RoundPath(r.Sequence)}
	if b.Proofs[i] != "" {
		l.ProofOfTime, l.ProofURL = b.Proofs[i], b.BaseURL+ProofPath(r.Sequence)
	}
	return l
}

// ProofPath is the address of a round's proof of time below the base URL.
func ProofPath(sequence int64) string { return "/corpus/" + strconv.FormatInt(sequence, 10) + ".ots" }

// IndexView is /corpus/index.json and its pages.
type IndexView struct {
	Format       string       `json:"format"`
	Page         int          `json:"page,omitzero"` // from 1; 0 for the head
	Entries      []IndexEntry `json:"entries"`       // newest first
	Latest       *IndexEntry  `json:"latest,omitzero"`
	Listed       int64        `json:"listed"`     // rounds on this page and those it leads to
	Unreadable   int64        `json:"unreadable"` // a site with an unreadable round is not published
	HasMore      bool         `json:"has_more"`
	Next         string       `json:"next,omitzero"` // a path
	PageLimit    int64        `json:"page_limit"`
	Verification string       `json:"verification"`
	Completeness string       `json:"completeness"`
}

// IndexEntry is one round.
type IndexEntry struct {
	Sequence int64         `json:"sequence"`
	Status   string        `json:"status"` // sealed
	Week     string        `json:"week"`
	Digest   attest.Digest `json:"digest"`
	URL      string        `json:"url"`
}

// IndexPages is how many full pages the index has.
func (b *Book) IndexPages() int { return len(b.Rounds) / IndexPageLimit }

// Index is a page of rounds, counted from 1, or the head: the rounds that fill no page yet.
func (b *Book) Index(page int) IndexView {
	v := IndexView{Format: "store-corpus-index/v1", Page: page, Entries: []IndexEntry{},
		PageLimit:    IndexPageLimit,
		Verification: "not_performed: this page lists digests; follow url and check the signature",
		Completeness: "Every sealed round stands on exactly one page or on the head. Follow next down to page 1."}
	from, to, next := pageOf(page, len(b.Rounds), IndexPageLimit)
	entry := func(r record.Round) IndexEntry {
		return IndexEntry{Sequence: r.Sequence, Status: "sealed", Week: r.Week, Digest: r.Digest, URL: b.BaseURL +
			RoundPath(r.Sequence)}
	}
	for _, r := range slices.Backward(b.Rounds[from:to]) {
		v.Entries = append(v.Entries, entry(r))
	}
	if r := b.newest(); page == 0 && r != nil {
		e := entry(*r)
		v.Latest = &e
	}
	v.Listed = int64(to)
	if next > 0 {
		v.HasMore, v.Next = true, fmt.Sprintf("/corpus/index/%d.json", next)
	}
	return v
}

// TiersView is /corpus/tiers.json and its pages: the hosts in the order of their names, on purpose.
type TiersView struct {
	Format     string           `json:"format"`
	Page       int              `json:"page,omitzero"`
	Pages      int              `json:"pages"`
	ByTier     map[string]int64 `json:"by_tier"`
	TotalHosts int64            `json:"total_hosts"`
	WeeksRead  int64            `json:"weeks_read"`
	LatestWeek string           `json:"latest_week,omitzero"`
	Rules      []tier.TierWords `json:"rules,omitzero"`
	Order      string           `json:"order"`
	Hosts      []TierLine       `json:"hosts,omitzero"`
	HasMore    bool             `json:"has_more"`
	Next       string           `json:"next,omitzero"` // a path
	From       Source           `json:"derived_from"`
}

// TierLine is one host of the list.
type TierLine struct {
	tier.Standing
	RowsURL string `json:"rows_url"`
	PageURL string `json:"passport_url"`
}

// TiersPages is how many pages the list of hosts has.
func (b *Book) TiersPages() int { return (b.Hosts() + TiersPageLimit - 1) / TiersPageLimit }

// Hosts is how many hosts the record knows.
func (b *Book) Hosts() int {
	if b.Roll == nil {
		return 0
	}
	return b.Roll.Len()
}

// Tiers is a page of hosts, counted from 1, or the head, which counts the tiers and names the
// rules.
func (b *Book) Tiers(page int) TiersView {
	v := TiersView{Format: "store-tiers/v1", Page: page, Pages: b.TiersPages(), ByTier: map[string]int64{},
		TotalHosts: int64(b.Hosts()), WeeksRead: int64(len(b.Rounds)),
		Order: "By the bytes of the host's name. There is no ranking.", From: b.source()}
	for _, t := range tier.TierNames() {
		v.ByTier[t] = 0
	}
	if page == 0 {
		v.Rules = tier.Rules()
	}
	if b.Roll != nil {
		maps.Copy(v.ByTier, b.Roll.ByTier)
	}
	if r := b.newest(); r != nil {
		v.LatestWeek = r.Week
	}
	if v.HasMore = page < v.Pages; v.HasMore {
		v.Next = fmt.Sprintf("/corpus/tiers/%d.json", page+1)
	}
	if page == 0 {
		return v
	}
	for i := (page - 1) * TiersPageLimit; i < min(page*TiersPageLimit, b.Hosts()); i++ {
		s := b.Roll.Standing(i)
		page := b.BaseURL + HostPath(s.Host)
		v.Hosts = append(v.Hosts, TierLine{Standing: s, PageURL: page, RowsURL: page + ".json"})
	}
	return v
}

// FeedView is /corpus/feed.json and its pages: what was born between rounds.
type FeedView struct {
	Format       string               `json:"format"`
	Page         int                  `json:"page,omitzero"`
	Observations []record.Observation `json:"observations"` // oldest first, each signed by itself
	Total        int64                `json:"total"`        // up to and with this page
	Verification string               `json:"verification"`
	HasMore      bool                 `json:"has_more"`
	Next         string               `json:"next,omitzero"` // a path, to older ones
	PageLimit    int64                `json:"page_limit"`
}

// FeedPages is how many full pages the feed has.
func (b *Book) FeedPages() int { return len(b.Feed) / FeedPageLimit }

// FeedPage is a page of observations, counted from 1, or the head: those that fill no page yet.
func (b *Book) FeedPage(page int) FeedView {
	from, to, next := pageOf(page, len(b.Feed), FeedPageLimit)
	v := FeedView{Format: "store-feed/v1", Page: page, Observations: make([]record.Observation, 0, to-from),
		Total: int64(to), PageLimit: FeedPageLimit,
		Verification: "Each observation is signed over its compact JSON in the order of its members, without " +
			"signature, and is a leaf of the log. What strangers wrote stands there as salted digests; while it is " +
			"public, the text and its salt are at /corpus/words/<sha256>.json."}
	for _, o := range b.Feed[from:to] {
		v.Observations = append(v.Observations, o.Bare())
	}
	if next > 0 {
		v.HasMore, v.Next = true, fmt.Sprintf("/corpus/feed/%d.json", next)
	}
	return v
}
