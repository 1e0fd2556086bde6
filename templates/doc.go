// Package templates turns typed views into the bytes of pages: HTML for
// people, Markdown twins for agents. Both halves of the store use it, the
// generator for files and the server for what it renders on request, so that a
// page looks the same wherever it was made.
//
// Each page is a [View] and a template for each of its forms. A view holds facts
// and nothing else; the same view gives the page and its twin, so that neither
// can say more than the other. Rendering reads no clock, no file and no
// network and depends on its view alone.
//
//	b, err := templates.HTML(&templates.ItemView{Chrome: chrome, Page: page, Good: good, …})
//
// The package owns the look: one style sheet, [Style], with the colours as
// tokens, each with a light and a dark value.
package templates

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"sync"
	texttemplate "text/template"

	"store.example/agentstore/content"
	"store.example/agentstore/templates/drawing"
)

//go:embed style.css docs.css ask.css ask.js askworker.js favicon.svg copy.js search.js try.js papers.js verify.js wallet.js reclaim.js door.js door.css webmcp.js webmcp-demo.js worker.js html text
var files embed.FS

var style = Asset("style.css")

// pictures are what is served beside files, and changes no page.
//
//go:embed favicon.ico touch-icon.png preview.png
var pictures embed.FS

// Asset returns a file of this folder that is served as it stands: a script, a picture, a style
// sheet. Of the two sheets that most first visits load, comments are left out. It panics for a name
// that there is not.
func Asset(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		b, err = pictures.ReadFile(name)
	}
	if err != nil {
		panic(err) // the embedded files are part of the program
	}
	if name == "style.css" || name == "door.css" {
		b = []byte(compact(string(b)))
	}
	return b
}

// compact takes the comments out of a style sheet, and the blanks that mean nothing: they are a
// sixth of ours, which every first visit loads and every certificate holds. It knows our sheets,
// in which no string holds what it takes, and leaves each rule on its line.
func compact(sheet string) string {
	var b strings.Builder
	for rest := sheet; rest != ""; {
		rule, after, _ := strings.Cut(rest, "/*")
		b.WriteString(rule)
		_, rest, _ = strings.Cut(after, "*/")
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, blanks.Replace(line))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

var blanks = strings.NewReplacer(": ", ":", ", ", ",", "; }", "}", "; ", ";", " { ", "{", " {", "{")

// WebMCPPath is where that script is.
const WebMCPPath = "/webmcp.js"

// MostPage bounds PageSize: what a reader on a poor line waits for.
const MostPage = 40_000

// PageSize is how many bytes a page in HTML is with the styles that it is read with.
func PageSize(page []byte) int {
	size := len(page) + len(style)
	for at, more := range map[string]string{"/docs.css": "docs.css", "/door.css": "door.css",
		"/corpus/query.css": "ask.css"} {
		if bytes.Contains(page, []byte(`href="`+at+`"`)) {
			size += len(Asset(more))
		}
	}
	return size
}

// ContentSecurityPolicy is the policy of every page: nothing from elsewhere, of
// scripts our own file alone, and of inline styles only the style sheet (in certificates) and that
// of the drawings, by their digests (CSP Level 3, section 6.7).
func ContentSecurityPolicy() string { return policy() }

var policy = sync.OnceValue(func() string {
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src 'self' " + hash(style) + " " + hash([]byte(drawing.Style)) +
		"; img-src 'self' data:; manifest-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'self'; frame-ancestors 'none'"
})

// Digest is the SHA-256 in hex over every template, the style sheet and the
// icon: pages made under another digest are stale. What is written in Go is not
// in it: who changes the bytes of such a page says so in the generator, which
// keeps a generation for that.
func Digest() string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // the embedded files are part of the program
	}
	return hex.EncodeToString(h.Sum(nil))
}

// functions are what every template may call.
var functions = map[string]any{
	"usdc":   content.FormatUSDC,
	"short":  Short,
	"join":   strings.Join,
	"few":    few,
	"css":    func() template.CSS { return template.CSS(style) },
	"cell":   cell,
	"line":   oneLine,
	"quoted": quoted,
	"said":   said,
	"code":   code,
	"narrow": func(s string) string { shown, _ := narrow(s); return shown },
	"cut":    func(s string) bool { _, cut := narrow(s); return cut },
	// classes are those of a cell in its column.
	"classes": classes,
	"ordinal": func(i int) int { return i + 1 },
	"wide":    func() Markup { return Wide },
}

// parsed on first import; a template that does not parse is a programmer's
// error that every test would meet.
var (
	htmlPages = template.Must(template.New("").Funcs(functions).ParseFS(files, "html/*.html"))
	textPages = texttemplate.Must(texttemplate.New("").Funcs(functions).Option("missingkey=error").ParseFS(files,
		"text/*.md"))
)

// rendered appends what a template makes of a view.
func rendered(to []byte, pages interface {
	ExecuteTemplate(io.Writer, string, any) error
}, name string, view any) ([]byte, error) {
	b := bytes.NewBuffer(to)
	if err := pages.ExecuteTemplate(b, name, view); err != nil {
		return nil, fmt.Errorf("rendering %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// View is what a page and its twin are made from, each by the template of the view's name.
type View interface{ template() string }

// HTML returns the page of a view.
func HTML(v View) ([]byte, error) { return AppendHTML(nil, v) }

// AppendHTML appends the page of a view, for who makes many in one memory.
func AppendHTML(to []byte, v View) ([]byte, error) {
	return rendered(to, htmlPages, v.template()+".html", v)
}

// Markdown returns the twin of a view's page.
func Markdown(v View) ([]byte, error) { return AppendMarkdown(nil, v) }

// AppendMarkdown appends it.
func AppendMarkdown(to []byte, v View) ([]byte, error) { return appendText(to, v.template()+".md", v) }

func renderHTML(name string, view any) ([]byte, error) { return rendered(nil, htmlPages, name, view) }

func renderText(name string, view any) ([]byte, error) { return appendText(nil, name, view) }

func appendText(to []byte, name string, view any) ([]byte, error) {
	b, err := rendered(to, textPages, name, view)
	if err != nil {
		return nil, err
	}
	return append(to, tidy(b[len(to):])...), nil
}

// tidy takes the blanks that template actions leave: at most one empty line in
// a row, none at the start, one line feed at the end. Fenced blocks are kept.
// It writes over b, which never gets longer but for that line feed.
func tidy(b []byte) []byte {
	out := b[:0]
	blank, fenced := true, false
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\n")
		if bytes.HasPrefix(line, []byte("```")) {
			fenced = !fenced
		}
		if !fenced {
			for len(line) > 0 && (line[len(line)-1] == ' ' || line[len(line)-1] == '\t') {
				line = line[:len(line)-1]
			}
			if len(line) == 0 {
				if blank {
					continue
				}
				blank = true
				out = append(out, '\n')
				continue
			}
		}
		blank = false
		out = append(append(out, line...), '\n')
	}
	return append(bytes.TrimRight(out, "\n"), '\n')
}

// Short shortens a long token in the middle: 3f2a9c81…b17e04d2.
func Short(s string) string {
	if len(s) <= 20 {
		return s
	}
	return s[:8] + "…" + s[len(s)-8:]
}

// LinkedData is the element that holds a value as JSON-LD. The encoder writes <, > and & by their
// numbers, so that no text in it ends the element.
func LinkedData(v any) (Markup, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding linked data: %w", err)
	}
	return Markup(`<script type="application/ld+json">` + string(b) + "</script>\n"), nil
}

// classes are those of a cell in its column.
func classes(c Cell, head Column) string {
	var all []string
	if head.Number {
		all = append(all, "num")
	} else if c.Mono && (len(c.Text) <= maxWord || !strings.Contains(c.Text, " ")) {
		all = append(all, "n")
	} else if c.Mono {
		all = append(all, "mono") // a list, which may wrap
	}
	if c.Mark != "" {
		all = append(all, c.Mark)
	}
	return strings.Join(all, " ")
}

// shellQuote quotes s for a POSIX shell when it must be.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:%@=+,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
