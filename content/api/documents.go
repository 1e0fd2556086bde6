package api

import (
	"path"
	"strings"
)

// Media types of the files the service publishes.
const (
	HTML        = "text/html; charset=utf-8"
	Markdown    = "text/markdown; charset=utf-8"
	JSON        = "application/json"
	DIDJSON     = "application/did+json"
	OpenAPIJSON = "application/vnd.oai.openapi+json;version=3.1"
	PlainText   = "text/plain; charset=utf-8"
	XML         = "application/xml"
	Atom        = "application/atom+xml"
	CSS         = "text/css; charset=utf-8"
	SVG         = "image/svg+xml"
	PNG         = "image/png"
	ICO         = "image/x-icon"
	WebManifest = "application/manifest+json"
	JavaScript  = "text/javascript; charset=utf-8"
	JSONLines   = "application/jsonl"
	Gzip        = "application/gzip"
	SQLite      = "application/vnd.sqlite3"
	WebAssembly = "application/wasm"
	Parquet     = "application/vnd.apache.parquet"
	Binary      = "application/octet-stream"
)

// Cache says how long a copy of a document may be used unasked.
type Cache string

const (
	Immutable Cache = "immutable" // the bytes at this URL never change
	Short     Cache = "short"     // changes with a build: five minutes
	Checked   Cache = "checked"   // asked about on every use: keys, manifests, errors
)

// Control is the Cache-Control value of the class.
func (c Cache) Control() string {
	switch c {
	case Immutable:
		return "public, max-age=31536000, immutable"
	case Checked:
		return "public, no-cache"
	default:
		return "public, max-age=300"
	}
}

// Representation is one form of a document: a file below public/. Path may hold the parameter of
// the document's path, as in menu/{item_id}.json. A family without a URL path may have a parameter
// that takes slashes, as in corpus/log/tile/{tile...}; its files answer at their own paths.
type Representation struct {
	MediaType string
	Path      string
}

// Document is a published file that is also a route. The generator renders it (a renderer for each
// Name), the server answers it; neither describes it again.
type Document struct {
	Name string // operationId of its route and metrics label; permanent
	// URL path: /menu/{item_id}; empty: a file, or a family of files, that answers at its own path
	// alone
	Path        string
	Summary     string // one line
	Description string // Markdown
	Tag         string
	Params      []Param
	Files       []Representation // the representations; the first is what a client without a preference gets
	Serve       Serve            // follows: Negotiated where there is more than one representation, and File otherwise
	Cache       Cache            // Short unless the row says otherwise
	InSitemap   bool             // follows: it has a page at an address
	NoIndex     bool             // its pages are reached from others, and search engines are told to leave them out
	Hidden      bool             // served, but no part of the API description (style sheet, icon)
	Tool        string
	TreeOnly    bool // answered where the tree has it, without a route: any other address of the form is nobody's
	Last        bool // it says of others that they are there, and is put in its place after them
	// Asked says that a server answers a query q with what it finds, in the same forms.
	Asked bool
	// Query is an address that answers a query with one file of the family, nil for none.
	Query *QueryAddress
}

// QueryAddress answers /corpus/diff.json?since=2026-W40 with the bytes of the file whose parameter
// is that value. A value that no file has is 404, a malformed one 400. Without a value it answers
// Without, and 400 where that is empty. The refusals list the values that there are as a member
// called Known.
type QueryAddress struct {
	Name        string // of its route
	Path        string
	Param       Param  // in the query; not Required, so that the handler answers for its absence
	Malformed   string // problem code
	Known       string // known_weeks
	Missing     string // what there is not where no file has the value: "round of"
	Without     string // path of the document that is answered without a value
	Tool        string
	Summary     string
	Description string
}

// FileFor maps a URL path to the file below public/ that holds its representation of a media type.
// A page is a folder with an index.html; a twin has the path's own name with the extension of its
// type:
//
//	FileFor("/", HTML) == "index.html"          FileFor("/", Markdown) == "index.md"
//	FileFor("/what", HTML) == "what/index.html" FileFor("/what", Markdown) == "what.md"
//	FileFor("/what", JSON) == "what.json"       FileFor("/menu.json", Markdown) == "menu.md"
//
// The last segment of a host's page is a name with dots of its own, and .md is a country: both
// texts stand in its folder.
//
//	FileFor("/corpus/host/a.md", HTML) == "corpus/host/a.md/index.html"  FileFor("/corpus/host/a.md", Markdown) == "corpus/host/a.md/index.md"
//
// A path that ends in an extension names its file itself, except for its twins of other types; so
// does a well-known one without an extension, which has no twins.
func FileFor(urlPath, mediaType string) string {
	p := strings.TrimPrefix(urlPath, "/")
	ext := extension(mediaType)
	own := path.Ext(p)
	switch {
	case ofHost(p) && mediaType == HTML:
		return p + "/index.html"
	case ofHost(p) && mediaType == Markdown:
		return p + "/index.md"
	case ofHost(p):
		return p + ext
	case own == ext && ext != "", own == "" && strings.HasPrefix(p, ".well-known/"):
		return p
	case p == "":
		return "index" + ext
	case own == ".json" || own == ".md":
		return strings.TrimSuffix(p, own) + ext
	case mediaType == HTML:
		return p + "/index.html"
	default:
		return p + ext
	}
}

// ofHost reports whether the last segment of a path is the name of a host.
func ofHost(p string) bool {
	return strings.HasPrefix(p, "corpus/host/") || strings.HasPrefix(p, "corpus/weeks/")
}

func extension(mediaType string) string {
	switch mediaType {
	case HTML:
		return ".html"
	case Markdown:
		return ".md"
	case JSON, DIDJSON, OpenAPIJSON, AICatalog:
		return ".json"
	case XML:
		return ".xml"
	case Atom:
		return ".atom"
	case CSS:
		return ".css"
	case SVG:
		return ".svg"
	case PNG:
		return ".png"
	case ICO:
		return ".ico"
	case WebManifest:
		return ".webmanifest"
	case JavaScript:
		return ".js"
	default:
		return ""
	}
}

// pages makes the representations of a URL path, the default first.
func pages(urlPath string, mediaTypes ...string) []Representation {
	files := make([]Representation, len(mediaTypes))
	for i, t := range mediaTypes {
		files[i] = Representation{MediaType: t, Path: FileFor(urlPath, t)}
	}
	return files
}

// asset is a file that a page needs and nobody asks for by itself.
func asset(name, path, mediaType, summary string) Document {
	return Document{Name: name, Path: path, Summary: summary, Files: pages(path, mediaType), Hidden: true}
}

// feed is the Atom feed of the page of a name.
func feed(name, summary, tag string) Document {
	at := "/" + name + ".atom"
	return Document{Name: name + "_feed", Path: at, Summary: summary, Tag: tag, Files: pages(at, Atom)}
}

// Twins are the representations that also stand at a URL of their own: all but the page of a folder
// and the file that the document's own path names.
func (d Document) Twins() []Representation {
	if d.Path == "" {
		return nil
	}
	var twins []Representation
	for _, f := range d.Files {
		if f.MediaType != HTML && "/"+f.Path != d.Path {
			twins = append(twins, f)
		}
	}
	return twins
}

// TwinName is the name of a twin's route.
func (d Document) TwinName(f Representation) string {
	return d.Name + "_" + strings.TrimPrefix(extension(f.MediaType), ".")
}

// OwnPaths describes the files of a document without a path, which answer at their own: for the
// description of the API alone, since no handler is needed for them.
func (d Document) OwnPaths() []Route {
	if d.Path != "" || d.Hidden {
		return nil
	}
	var routes []Route
	for i, f := range d.Files {
		r := Route{Name: d.Name, Method: "GET", Pattern: "/" + f.Path, Summary: d.Summary, Description: d.Description,
			Tag: d.Tag, Serve: File,
			Responses: []Response{{Status: 200, ContentType: f.MediaType}}}
		if i > 0 {
			r.Name += "_" + strings.TrimPrefix(extension(f.MediaType), ".")
		}
		if head, rest, family := strings.Cut(r.Pattern, "{"); family {
			name, tail, _ := strings.Cut(rest, "}")
			p := Param{In: Path, Type: "string", Required: true, MinLength: 1, MaxLength: 200,
				Description: "Which of the files."}
			var deep bool
			if p.Name, deep = strings.CutSuffix(name, "..."); deep {
				p.Description = "Which of the files; it may hold slashes."
			}
			r.Pattern, r.Params = head+"{"+p.Name+"}"+tail, []Param{p}
		}
		routes = append(routes, r)
	}
	return routes
}

// Routes describes the routes of a document: its own and those of its twins. None for a file
// without a URL.
func (d Document) Routes() []Route {
	if d.Path == "" || d.TreeOnly {
		return nil
	}
	main := Route{
		Name: d.Name, Method: "GET", Pattern: d.Path, Summary: d.Summary, Description: d.Description,
		Tag: d.Tag, Params: d.Params, Serve: d.Serve, Internal: d.Hidden, Tool: d.Tool,
	}
	for _, f := range d.Files {
		main.Responses = append(main.Responses, Response{Status: 200, ContentType: f.MediaType})
	}
	noRange := Response{Status: 416, ContentType: "application/problem+json",
		Description: "The Range is beyond the end."}
	main.Responses = append(main.Responses, noRange)
	if d.Asked {
		main.Responses = append(main.Responses, Response{Status: 400, ContentType: "application/problem+json",
			Description: "What is asked for is too long or malformed."})
	}
	if len(d.Files) > 1 {
		main.Responses = append(main.Responses, Response{Status: 406, ContentType: "application/problem+json",
			Description: "Accept refuses every representation."})
	}
	routes := []Route{main}
	for _, f := range d.Twins() {
		twin := main
		kind := strings.TrimPrefix(extension(f.MediaType), ".")
		twin.Name, twin.Tool = d.TwinName(f), ""
		twin.Pattern = "/" + f.Path
		twin.Summary = strings.TrimSuffix(d.Summary, ".") + ", as " + kindName(kind)
		twin.Description = "The same bytes as `" + d.Path + "` asked for with `Accept: " + bare(f.MediaType) + "`."
		twin.Serve = File
		twin.Responses = []Response{{Status: 200, ContentType: f.MediaType}, noRange}
		routes = append(routes, twin)
	}
	if q := d.Query; q != nil {
		refusal := func(status int, says string) Response {
			return Response{Status: status, ContentType: "application/problem+json", Description: says}
		}
		routes = append(routes, Route{
			Name: q.Name, Method: "GET", Pattern: q.Path, Summary: q.Summary, Description: q.Description, Tag: d.Tag,
			Params: []Param{q.Param}, Serve: Query, Tool: q.Tool,
			Responses: []Response{{Status: 200, ContentType: d.Files[0].MediaType}, noRange,
				refusal(400, "The value is missing or malformed."), refusal(404, "There is nothing for this value.")},
		})
	}
	return routes
}

func kindName(ext string) string {
	switch ext {
	case "md":
		return "Markdown"
	case "json":
		return "JSON"
	default:
		return ext
	}
}

// bare is a media type without its parameters.
func bare(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return t
}
