package templates

import (
	"html/template"

	"store.example/agentstore/content"
)

// Markup is HTML or SVG made by this program, put into pages as it stands.
type Markup = template.HTML

// StorefrontView is the page a person is shown first, /.
type StorefrontView struct {
	Chrome *Chrome
	Page   Page
	// Intro stands before the shelves, Body after them.
	Intro, Body Prose
	// Window holds a few drawings to look at, with where they are sold.
	Window []WindowItem
	// Shelves holds every good once.
	Shelves []Shelf
	// Proof is what the shop can show for itself; nil where its record is not for publication.
	Proof *Proof
	// First is the good to begin with, the zero value where nothing is sold.
	First content.Good
	// Try says that strangers' endpoints are checked here.
	Try bool
	// Free lists what costs nothing.
	Free []Pointer
}

// WindowItem is a drawing in the shop window.
type WindowItem struct {
	Drawing
	Href string
}

// Shelf is a group of goods under one heading.
type Shelf struct {
	ID, Name, Note string
	Goods          []*content.Good
}

// Pointer is a link with a sentence.
type Pointer struct {
	Text, Href, Note string
}

// FirstURL is the door of the good to begin with.
func (v StorefrontView) FirstURL() string { return BuyURL(v.Chrome.BaseURL, v.First.ID) }

func (*StorefrontView) template() string { return "storefront" }
