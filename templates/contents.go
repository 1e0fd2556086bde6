package templates

// Contents are the links beside a page of the documentation: to all of it, and into the page.
type Contents struct {
	Path   string // of the page that they stand on
	Groups []LinkGroup
	Here   []Link
}

// LinkGroup is links under one title.
type LinkGroup struct {
	Title string
	Links []Link
}

// MovedView is a page that leads on at once, for an address that people type.
type MovedView struct {
	Chrome *Chrome
	Page   Page
	To     Link   // for people
	Data   string // address of the same for programs
}

// RenderMoved returns the page.
func RenderMoved(v MovedView) ([]byte, error) { return renderHTML("moved.html", &v) }
