package templates

import (
	_ "embed"
	"net/url"
)

// QueryView is the page that asks the database of a year in the reader's browser.
type QueryView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	// Program is the address of SQLite, "" where there is no database to ask. Years are those of
	// the databases, the newest first.
	Program string
	Years   []string
	// Questions are those that one may begin with.
	Questions []Question
}

func (*QueryView) template() string { return "query" }

// Question is a question in SQL.
type Question struct{ Title, Query string }

// Link is the address of the question on its page. What stands behind the # is sent to no server.
func (q Question) Link() string { return "#" + url.Values{"q": {q.Query}}.Encode() }
