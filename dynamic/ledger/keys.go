package ledger

import (
	"encoding/hex"
	"fmt"
	"time"
)

// The layout of the whole ledger. Every key begins with one of these names; a
// slash stands for the end of a part. Names are permanent: a backup of any age
// must mean the same for ever.
const (
	// purchase/<purchase id>: the journal record of one purchase.
	prefixPurchase = "purchase"
	// settlement/<settlement id>: the payments that one settlement settles, and
	// the transactions that were signed for it.
	prefixSettlement = "settlement"
	// auth/<network>/<asset>/<method>/<payer>/<nonce>, on Solana
	// auth/<network>/<sha256 of the message>: which purchase a payment
	// authorization was claimed by. Never deleted.
	prefixAuth = "auth"
	// slot/<payer>/<sha256 of the idempotency key, hex>: which purchase has
	// the slot. In place of a key, a zero byte and an order's fingerprint: the
	// payer's newest purchases of that order.
	prefixSlot = "slot"
	// credit/<network>/<tx>/<log index>: which purchase a transfer paid for.
	prefixCredit = "credit"
	// counter/<name>: the last number given out, in decimal.
	prefixCounter = "counter"
	// cert/<cert_id>: the purchase, number and signed bytes of a certificate.
	prefixCert = "cert"
	// patron/<number>: which certificate has this patron number.
	prefixPatron = "patron"
	// relayer/<network>/<address>/…: the nonces of a relayer key and the
	// signed transactions that hold them.
	prefixRelayer = "relayer"
	// due/<job>/<unix seconds>/<id>: the queue of a job, work to be done from
	// that second on; see package schedule.
	prefixDue = "due"
	// task/<job>/<id>: when a piece of work is due, and who does it.
	prefixTask = "task"
	// lease/<job>: who may do a job, until when, under which fencing number.
	prefixLease = "lease"
	// goods/<kind or item>/…: the memory of a kind of goods.
	prefixGoods = "goods"
	// nonce/<use>/…: single-use numbers of challenges, with their end.
	prefixNonce = "nonce"
	// payer/<payer>/<unix seconds>/<purchase id>: the purchases of one payer,
	// oldest first.
	prefixPayer = "payer"
	// budget/<name>/…: what is used of a limit.
	prefixBudget = "budget"
	// notsettled/<payer>/<unix seconds>/<purchase id>: payments that did not
	// go through.
	prefixNotSettled = "notsettled"
	// body/<purchase id>: the answer that a purchase was delivered with.
	prefixBody = "body"
	// artifact/<id>/<purchase id>: what was signed beside a certificate. One that is
	// extended has a record for each purchase.
	prefixArtifact = "artifact"
	// order/<order_id>: which purchase the keeper is to complete.
	prefixOrder = "order"
	// orderfile/<order_id>/<sha256, hex>: a file that the keeper delivered.
	prefixOrderFile = "orderfile"
	// note/<YYYY-MM>: the keeper's note of a month.
	prefixNote = "note"
	// look/<check_id>: a visit that was bought, until it is made or missed.
	prefixLook = "look"
	// watch/<order_id>: a term of readings and what they came to.
	prefixWatch = "watch"
	// launch/<order_id>: a purchase at a stranger's door, and what came of it.
	prefixLaunch = "launch"
	// callback/<order_id>: the word that is sent of a completed order, and what
	// became of it.
	prefixCallback = "callback"
	// timestamp/<sha256, hex>: what calendars answered about a digest.
	prefixTimestamp = "timestamp"
	// census/…: the rosters, walks and rows of weekly rounds; see package
	// roster.
	prefixCensus = "census"
	// bought/<journal>/open/<id> and bought/<journal>/done/<id>: the purchases of
	// a wallet of the store's own; bought/<journal>/nonce/<nonce> and
	// bought/<journal>/key/<sha256 of the idempotency key, hex>: what they used.
	prefixBought = "bought"
	// debt/<debt_id>: what is owed for a purchase, and how it is paid back.
	prefixDebt = "debt"
	// visit/…: what visitors left and by how much they are limited; see package
	// visitors.
	prefixVisit = "visit"
	// quote/<request id>: what the keeper asks for work that a visitor requested.
	prefixQuote = "quote"
	// bounty/…: rewards for purchases at strangers' doors; see package bounty.
	prefixBounty = "bounty"
	// account/…: what is sold on account, and what is owed for it; see package
	// account.
	prefixAccount = "account"
	// channel/<network>/row/<channel id>: what was sold out of a payer's channel;
	// channel/<network>/open/<channel id>: that it has something to be claimed;
	// channel/<network>/refund/<channel id>: that its payer asked for what is left;
	// channel/<network>/settling/<settlement id>: a claim, a sweep or a refund under way;
	// channel/<network>/claimed/<channel id>/<sum in all>: the transaction that claimed so much;
	// channel/<network>/watch: up to where the chain was looked at.
	prefixChannel = "channel"
	// meta/<name>: facts about the ledger itself; meta/format is its format's
	// number, see [Format].
	prefixMeta = "meta"
)

// PurchaseKey is purchase/<id>.
func PurchaseKey(id string) []byte { return Key(prefixPurchase, id) }

// Purchases is the range of all purchases, in the order of their ids.
func Purchases() (from, to []byte) { return Prefix(Key(prefixPurchase)) }

// SettlementKey is settlement/<id>.
func SettlementKey(id string) []byte { return Key(prefixSettlement, id) }

// AuthKey is auth/<claim…>, where claim is the list that makes an authorization
// unique: network, asset, method, payer, nonce; or network and message digest. An
// order of which there are several offers is claimed beside: "order" and its name.
// The caller has brought each to its one spelling (addresses in lower case).
func AuthKey(claim ...string) []byte { return Key(append([]string{prefixAuth}, claim...)...) }

// SlotKey is slot/<payer>/<hex of digest>, where digest is the SHA-256 of the
// idempotency key.
func SlotKey(payer string, digest [32]byte) []byte {
	return Key(prefixSlot, payer, hex.EncodeToString(digest[:]))
}

// CreditKey is credit/<network>/<tx>/<log index>.
func CreditKey(network, tx string, logIndex uint64) []byte {
	return Key(prefixCredit, network, tx, Number(logIndex))
}

// CounterKey is counter/<name>.
func CounterKey(name string) []byte { return Key(prefixCounter, name) }

// CertKey is cert/<cert_id>.
func CertKey(id string) []byte { return Key(prefixCert, id) }

// PatronKey is patron/<number>. Numbers begin at 1 and sort by value.
func PatronKey(number int64) []byte { return Key(prefixPatron, Number(uint64(number))) }

// RelayerKey is relayer/<network>/<address>/<rest…>.
func RelayerKey(network, address string, rest ...string) []byte {
	return Key(append([]string{prefixRelayer, network, address}, rest...)...)
}

// DueKey is due/<job>/<unix seconds of at>/<id>.
func DueKey(job string, at time.Time, id string) []byte {
	return Key(prefixDue, job, seconds(at), id)
}

// Due is the range of a job's work that is due at now, oldest first.
func Due(job string, now time.Time) (from, to []byte) {
	from, _ = Prefix(Key(prefixDue, job))
	_, to = Prefix(Key(prefixDue, job, seconds(now)))
	return from, to
}

// DueAll is the range of all queues.
func DueAll() (from, to []byte) { return Prefix(Key(prefixDue)) }

// TaskKey is task/<job>/<id…>.
func TaskKey(job string, id ...string) []byte {
	return Key(append([]string{prefixTask, job}, id...)...)
}

// LeaseKey is lease/<job>.
func LeaseKey(job string) []byte { return Key(prefixLease, job) }

// GoodsKey is goods/<kind>/<rest…>, where kind is a kind of goods or an item.
func GoodsKey(kind string, rest ...string) []byte {
	return Key(append([]string{prefixGoods, kind}, rest...)...)
}

// NonceKey is nonce/<use>/<rest…>.
func NonceKey(use string, rest ...string) []byte {
	return Key(append([]string{prefixNonce, use}, rest...)...)
}

// PayerKey is payer/<payer>/<unix seconds of at>/<purchase id>.
func PayerKey(payer string, at time.Time, id string) []byte {
	return Key(prefixPayer, payer, seconds(at), id)
}

// PayerPurchases is the range of one payer's entries.
func PayerPurchases(payer string) (from, to []byte) { return Prefix(Key(prefixPayer, payer)) }

// BudgetKey is budget/<name>/<rest…>.
func BudgetKey(name string, rest ...string) []byte {
	return Key(append([]string{prefixBudget, name}, rest...)...)
}

// CensusKey is census/<parts…>.
func CensusKey(parts ...string) []byte { return Key(append([]string{prefixCensus}, parts...)...) }

// BoughtKey is bought/<journal>/<kind>/<rest…>.
func BoughtKey(journal, kind string, rest ...string) []byte {
	return Key(append([]string{prefixBought, journal, kind}, rest...)...)
}

// VisitKey is visit/<parts…>.
func VisitKey(parts ...string) []byte { return Key(append([]string{prefixVisit}, parts...)...) }

// AccountKey is account/<parts…>.
func AccountKey(parts ...string) []byte { return Key(append([]string{prefixAccount}, parts...)...) }

// ChannelKey is channel/<network>/row/<channel id>.
func ChannelKey(network, id string) []byte { return Key(prefixChannel, network, "row", id) }

// ChannelRows is the range of all channels of a network, in the order of their ids.
func ChannelRows(network string) (from, to []byte) {
	return Prefix(Key(prefixChannel, network, "row"))
}

// OpenChannelKey is channel/<network>/open/<channel id>.
func OpenChannelKey(network, id string) []byte { return Key(prefixChannel, network, "open", id) }

// OpenChannels is the range of a network's channels that have something to be claimed.
func OpenChannels(network string) (from, to []byte) {
	return Prefix(Key(prefixChannel, network, "open"))
}

// RefundKey is channel/<network>/refund/<channel id>.
func RefundKey(network, id string) []byte { return Key(prefixChannel, network, "refund", id) }

// Refunds is the range of a network's channels whose payers asked for what is left.
func Refunds(network string) (from, to []byte) {
	return Prefix(Key(prefixChannel, network, "refund"))
}

// ChannelWorkKey is channel/<network>/settling/<settlement id>.
func ChannelWorkKey(network, id string) []byte { return Key(prefixChannel, network, "settling", id) }

// ChannelWork is the range of a network's claims, sweeps and refunds under way.
func ChannelWork(network string) (from, to []byte) {
	return Prefix(Key(prefixChannel, network, "settling"))
}

// ChannelClaimKey is channel/<network>/claimed/<channel id>/<sum in all, atomic units>.
func ChannelClaimKey(network, id string, sum int64) []byte {
	return Key(prefixChannel, network, "claimed", id, Number(uint64(sum)))
}

// ChannelClaims is the range of a channel's claims of a sum or more, the least first.
func ChannelClaims(network, id string, sum int64) (from, to []byte) {
	_, to = Prefix(Key(prefixChannel, network, "claimed", id))
	return ChannelClaimKey(network, id, sum), to
}

// ChannelWatchKey is channel/<network>/watch.
func ChannelWatchKey(network string) []byte { return Key(prefixChannel, network, "watch") }

// QuoteKey is quote/<request id>.
func QuoteKey(request string) []byte { return Key(prefixQuote, request) }

// BountyKey is bounty/<parts…>.
func BountyKey(parts ...string) []byte { return Key(append([]string{prefixBounty}, parts...)...) }

// MetaKey is meta/<name>.
func MetaKey(name string) []byte { return Key(prefixMeta, name) }

// BackupKey has when a backup was last taken, as JSON.
func BackupKey() []byte { return MetaKey("backup") }

// ClosedKey is there while a restored ledger has not been reopened.
func ClosedKey() []byte { return MetaKey("closed") }

// NotSettledKey is notsettled/<payer>/<unix seconds>/<purchase id>: a payment that did not go
// through.
func NotSettledKey(payer string, at time.Time, id string) []byte {
	return Key(prefixNotSettled, payer, seconds(at), id)
}

// NotSettled is the range of one payer's payments that did not go through, oldest first.
func NotSettled(payer string) (from, to []byte) { return Prefix(Key(prefixNotSettled, payer)) }

// NotSettledAt is the time in a key of that range.
func NotSettledAt(key []byte) (time.Time, error) {
	parts, err := Parts(key)
	if err != nil || len(parts) != 4 {
		return time.Time{}, fmt.Errorf("ledger: %s is no key of %s", KeyText(key), prefixNotSettled)
	}
	n, err := ParseNumber(parts[2])
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(n), 0).UTC(), nil
}

// BodyKey is body/<purchase id>: the answer that a purchase was delivered with.
func BodyKey(id string) []byte { return Key(prefixBody, id) }

// ArtifactKey is artifact/<id>/<purchase id>.
func ArtifactKey(id, purchase string) []byte { return Key(prefixArtifact, id, purchase) }

// Artifacts is the range of what was signed under one id.
func Artifacts(id string) (from, to []byte) { return Prefix(Key(prefixArtifact, id)) }

// OrderKey is order/<order_id>.
func OrderKey(id string) []byte { return Key(prefixOrder, id) }

// Orders is the range of all orders, in the order of their ids.
func Orders() (from, to []byte) { return Prefix(Key(prefixOrder)) }

// OrderFileKey is orderfile/<order_id>/<digest>.
func OrderFileKey(id, digest string) []byte { return Key(prefixOrderFile, id, digest) }

// NoteKey is note/<month>.
func NoteKey(month string) []byte { return Key(prefixNote, month) }

// Notes is the range of all notes, oldest first.
func Notes() (from, to []byte) { return Prefix(Key(prefixNote)) }

// LaterKey is artifact/<id>/<purchase id>/later: what was signed under the id
// once the time came that it was promised for.
func LaterKey(id, purchase string) []byte { return Key(prefixArtifact, id, purchase, "later") }

// LookKey is look/<check_id>.
func LookKey(id string) []byte { return Key(prefixLook, id) }

// WatchKey is watch/<order_id>.
func WatchKey(order string) []byte { return Key(prefixWatch, order) }

// LaunchKey is launch/<order_id>.
func LaunchKey(order string) []byte { return Key(prefixLaunch, order) }

// CallbackKey is callback/<order_id>.
func CallbackKey(order string) []byte { return Key(prefixCallback, order) }

// Callbacks is the range of all messages to buyers, in the order of the ids of their orders.
func Callbacks() (from, to []byte) { return Prefix(Key(prefixCallback)) }

// TimestampKey is timestamp/<digest>.
func TimestampKey(digest string) []byte { return Key(prefixTimestamp, digest) }

// DebtKey is debt/<debt_id>.
func DebtKey(id string) []byte { return Key(prefixDebt, id) }

// Debts is the range of what is owed.
func Debts() (from, to []byte) { return Prefix(Key(prefixDebt)) }

// ArtifactsOf is the range of what was signed under all ids of a prefix, such as pass_.
func ArtifactsOf(prefix string) (from, to []byte) {
	return Key(prefixArtifact, prefix), Key(prefixArtifact, prefix+"~")
}

// Credits is the range of what a transaction's transfers paid for.
func Credits(network, tx string) (from, to []byte) { return Prefix(Key(prefixCredit, network, tx)) }

// CreditsOf is the range of what all transfers of a network paid for.
func CreditsOf(network string) (from, to []byte) { return Prefix(Key(prefixCredit, network)) }
