package attest

import (
	"regexp"
	"strings"
)

// The classes of what is signed for visitors, who paid nothing. None holds a word that a visitor
// wrote: their texts are in them as salted digests, or not at all.
const (
	ClassLetter  = "letter"
	ClassRequest = "commission_request"
	ClassStamp   = "visit_stamp"
	ClassSticker = "guestbook_sticker"
)

// Letter says that a letter came, and once it is answered, with what.
type Letter struct {
	LetterID     string `json:"letter_id,omitzero"`
	Class        string `json:"class,omitzero"`  // ClassLetter
	Date         string `json:"date,omitzero"`   // when it was received, RFC 3339 UTC
	Status       string `json:"status,omitzero"` // received | replied
	Wrote        string `json:"wrote,omitzero"`  // salted digest of the letter; its writer has the salt
	RepliedAt    string `json:"replied_at,omitzero"`
	Reply        string `json:"reply,omitzero"`
	MadeBy       string `json:"made_by,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Request says that work was asked for, and once it is quoted, at what price it is done.
type Request struct {
	RequestID    string `json:"request_id,omitzero"`
	Class        string `json:"class,omitzero"`  // ClassRequest
	Date         string `json:"date,omitzero"`   // when it was filed
	Status       string `json:"status,omitzero"` // filed | quoted
	Asked        string `json:"asked,omitzero"`  // salted digest of the description
	QuotedAt     string `json:"quoted_at,omitzero"`
	PriceUSDC    string `json:"price_usdc,omitzero"`
	WindowHours  int    `json:"window_hours,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Stamp says that somebody was here in a week. Its fields are declared in the order of RFC 8785, so
// that what is given away free costs one signature (see SignPayload).
type Stamp struct {
	Class        string `json:"class,omitzero"` // ClassStamp
	Date         string `json:"date,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
	Line         string `json:"line,omitzero"` // the week's, by the keeper
	StampID      string `json:"stamp_id,omitzero"`
	Week         string `json:"week,omitzero"` // ISO week, YYYY-Www
}

// Sticker says that somebody signed the guestbook. Its fields are in the order of RFC 8785, too.
type Sticker struct {
	Class        string `json:"class,omitzero"` // ClassSticker
	Date         string `json:"date,omitzero"`
	Entry        string `json:"entry,omitzero"` // id of the entry
	FromTheStore string `json:"from_the_store,omitzero"`
	Identity     string `json:"identity,omitzero"` // who proved it was they, "" for nobody
	Line         string `json:"line,omitzero"`
	StampID      string `json:"stamp_id,omitzero"`
}

var (
	weekForm  = regexp.MustCompile(`^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$`)
	entryForm = regexp.MustCompile(`^gst_[a-z2-7]{20}$`)
)

// isSalted accepts a salted digest: the word and 64 digits.
func isSalted(s string) bool {
	digest, ok := strings.CutPrefix(s, "sha256-salted:")
	return ok && len(digest) == 64 && strings.Trim(digest, "0123456789abcdef") == ""
}

var visitorPayloads = []payload{
	{ClassLetter, "let_", read(func(l Letter) (Artifact, error) {
		done := l.Status == "replied"
		return Artifact{l.Class, l.LetterID, l.Date}, demand(isSalted(l.Wrote) && (done || l.Status == "received") &&
			done == isTime(l.RepliedAt) && done == (l.Reply != "") && done == (l.MadeBy != ""),
			"wrote, and what its status asks for must be present")
	})},
	{ClassRequest, "req_", read(func(r Request) (Artifact, error) {
		quoted := r.Status == "quoted"
		return Artifact{r.Class, r.RequestID, r.Date}, demand(isSalted(r.Asked) && (quoted || r.Status == "filed") &&
			quoted == isTime(r.QuotedAt) && quoted == isDecimal(r.PriceUSDC) && quoted == (r.WindowHours > 0),
			"asked, and what its status asks for must be present")
	})},
	{ClassStamp, "stamp_", read(func(s Stamp) (Artifact, error) {
		return Artifact{s.Class, s.StampID, s.Date}, demand(weekForm.MatchString(s.Week) && s.Line != "",
			"week and line must be present")
	})},
	{ClassSticker, "stamp_", read(func(s Sticker) (Artifact, error) {
		return Artifact{s.Class, s.StampID, s.Date}, demand(entryForm.MatchString(s.Entry) && s.Line != "",
			"entry and line must be present")
	})},
}
