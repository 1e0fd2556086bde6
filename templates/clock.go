package templates

import (
	"strings"

	"store.example/agentstore/content"
)

// PorchView is the porch in one hour, /porch.
type PorchView struct {
	Chrome                                   *Chrome
	Page                                     Page
	Drawing                                  Markup
	Line                                     string
	Hour, Until                              string // RFC 3339 UTC
	Season, Weather, WeatherSays, SealedWeek string
	Seats                                    int
}

// Clocked is the hour as HH:MM.
func (v PorchView) Clocked() string { return v.Hour[len("2006-01-02T"):len("2006-01-02T15:04")] }

func (*PorchView) template() string { return "porch" }

// HowAssigned says which sign a wallet has.
const HowAssigned = "The SHA-256 of \"store-zodiac/v1\", a line feed and the address in lower case; its first eight " +
	"bytes as a big-endian number, modulo twelve, count the signs in their order from 0. EVM addresses with their " +
	"0x, Solana addresses as their base58 in lower case."

// ZodiacView is the twelve signs, /zodiac.
type ZodiacView struct {
	Chrome  *Chrome
	Page    Page
	Body    Prose
	Drawing Markup
	Signs   []content.Sign
}

// HowAssigned says which sign a wallet has.
func (ZodiacView) HowAssigned() string { return HowAssigned }

func (*ZodiacView) template() string { return "zodiac" }

// SignView is the page of a wallet's sign, /zodiac/{address}.
type SignView struct {
	Chrome        *Chrome
	Page          Page
	Drawing       Markup
	Address       string // in lower case
	Week          string // ISO week
	Starts, Until string // UTC dates, the second that of the next week
	Heading       string
	Text          string // paragraphs between empty lines; "" for none, and then Empty says why
	Empty         Emptiness
}

// HowAssigned says which sign a wallet has.
func (SignView) HowAssigned() string { return HowAssigned }

// Paragraphs of the text.
func (v SignView) Paragraphs() []string { return strings.Split(v.Text, "\n\n") }

func (*SignView) template() string { return "sign" }

// ArchiveView is the index of the zodiac's weeks that are over, /zodiac/archive.
type ArchiveView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	Price  string        // of one page, USDC
	Weeks  []ArchiveWeek // the newest first
	Older  int           // further weeks, which are in the JSON alone
}

// ArchiveWeek is one week of it.
type ArchiveWeek struct {
	Week  string
	Pages []ArchivePage
}

// ArchivePage is a page of one sign.
type ArchivePage struct{ Sign, Title, Href string }

// Empty says why there is none.
func (v ArchiveView) Empty() Emptiness {
	return Emptiness{Says: "No week is over yet.",
		Why: "A week's pages come here on the Monday after it. While it lasts they are free, at the address of a " +
			"wallet."}
}

func (*ArchiveView) template() string { return "archive" }

// DirectoryView is the keeper's reviews of neighbours, /directory.
type DirectoryView struct {
	Chrome     *Chrome
	Page       Page
	Body       Prose
	Neighbours []content.Neighbour
}

// Empty says why there is none.
func (v DirectoryView) Empty() Emptiness {
	return Emptiness{Says: "The keeper has reviewed nobody.", Why: "A review is written after a visit."}
}

func (*DirectoryView) template() string { return "directory" }
