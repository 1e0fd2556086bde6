package keeper

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"

	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/templates"
)

//go:embed desk.html desk.css
var files embed.FS

func serveStyle(w http.ResponseWriter) {
	own, err := files.ReadFile("desk.css")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(append(templates.Asset("style.css"), own...))
}

var functions = template.FuncMap{
	"usdc": content.FormatUSDC,
	"when": func(t time.Time) string {
		if t.IsZero() {
			return "–"
		}
		return t.UTC().Format("2006-01-02 15:04")
	},
	"short": templates.Short,
	"table": tableOf,
	"lines": func(s string) []string { return strings.Split(s, "\n") },
}

// a page of the desk: a row.
type page struct {
	nav     string // its name in the header, "" for none
	path    string // below the session's; one that ends with a slash has an argument after it
	methods []string
	serve   func(v *visit, arg string)
}

// match reports whether a path is the page's, and its argument.
func (p page) match(path string) (arg string, ok bool) {
	if p.path != "" && strings.HasSuffix(p.path, "/") {
		arg, ok = strings.CutPrefix(path, p.path)
		return arg, ok && arg != "" && !strings.Contains(arg, "/")
	}
	return "", path == p.path
}

// pages are all of them.
func pages() []page {
	get, both := []string{http.MethodGet}, []string{http.MethodGet, http.MethodPost}
	return []page{
		{"Today", "", get, (*visit).today},
		{"Purchases", "find", get, (*visit).find},
		{"Sales", "sales", get, (*visit).sales},
		{"Books", "books", get, (*visit).books},
		{"Bounties", "bounties", both, (*visit).bounties},
		{"", "books.csv", get, (*visit).books},
		{"", "books.json", get, (*visit).books},
		{"", "order/", both, (*visit).order},
		{"", "note/", both, (*visit).note},
		{"", "logout", []string{http.MethodPost}, (*visit).logout},
	}
}

func (v *visit) today(string) {
	today, err := v.cfg.Desk.Today(v.r.Context())
	if err != nil {
		v.broken(err)
		return
	}
	v.page("today", "Today", today)
}

func (v *visit) logout(string) {
	http.SetCookie(v.w, &http.Cookie{Name: cookieName, Path: v.base, MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	http.Redirect(v.w, v.r, "/", http.StatusSeeOther)
}

func (v *visit) find(string) {
	type result struct {
		Query, Says string
		Found
	}
	res := result{Query: strings.TrimSpace(v.r.URL.Query().Get("q"))}
	if res.Query != "" {
		found, err := v.cfg.Desk.Find(v.r.Context(), res.Query)
		switch {
		case err == ErrQuery:
			res.Says = "This is none of what purchases are found by."
		case err != nil:
			v.broken(err)
			return
		case len(found.Purchases) == 0:
			res.Says = "Nothing was found."
		}
		res.Found, res.Query = found, screen.Text(res.Query)
	}
	v.page("find", "Purchases", res)
}

func (v *visit) sales(string) {
	s, err := v.cfg.Desk.Sales(v.r.Context(), weeksShown)
	if err != nil {
		v.broken(err)
		return
	}
	v.page("sales", "Sales", struct {
		Sales
		Money, Conversion template.HTML
	}{s, moneyChart(s), conversionChart(s)})
}

// books shows the comparison of a month, the present one unless another is asked for, as a page,
// CSV or JSON.
func (v *visit) books(string) {
	month := v.r.URL.Query().Get("month")
	if month == "" {
		month = time.Now().UTC().Format("2006-01")
	}
	b, err := v.cfg.Desk.Books(v.r.Context(), month)
	switch {
	case errors.Is(err, ErrMonth):
		v.refuse(http.StatusNotFound, "Books are of a month, such as 2026-11.")
		return
	case err != nil:
		v.broken(err)
		return
	}
	_, form, _ := strings.Cut(v.r.URL.Path, "/books.")
	if form == "" {
		at, _ := time.Parse("2006-01", month) // Books has read it
		v.page("books", "The books of "+month, struct {
			Books
			Before, After string
		}{b, at.AddDate(0, -1, 0).Format("2006-01"), at.AddDate(0, 1, 0).Format("2006-01")})
		return
	}
	v.w.Header().Set("Content-Disposition", `attachment; filename="books-`+month+"."+form+`"`)
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	if form == "csv" {
		err = b.CSV(v.w)
	} else {
		v.w.Header().Set("Content-Type", "application/json")
		err = json.NewEncoder(v.w).Encode(b)
	}
	if err != nil {
		v.cfg.Log.Debug("the books were not taken whole", "err", err)
	}
}

// orderView is an order on its page.
type orderView struct {
	till.HumanOrder
	Asked   []string
	URL     string
	Agent   string
	USDC    string
	Left    string
	Says    string
	Text    string // as it was written before
	Link    string
	Preview bool
	Open    bool
}

func (v *visit) orderView(o till.HumanOrder) orderView {
	p := o.Purchase
	view := orderView{HumanOrder: o, URL: screen.Text(p.Inputs["url"]), Agent: screen.Text(p.Inputs["agent_name"]),
		USDC: content.FormatUSDC(p.Amount), Open: o.Status() == till.OrderQueued && p.Final}
	for line := range strings.SplitSeq(p.Inputs["detail"], "\n") {
		view.Asked = append(view.Asked, screen.Text(line))
	}
	switch late := o.Late(); {
	case o.Status() == till.OrderReversed:
		view.Left = "The chain took its payment back: nothing is to be done."
	case !o.Work.CompletedAt.IsZero():
		view.Left = "Completed on " + o.Work.CompletedAt.Format("2006-01-02 15:04") + "."
	case late > 0:
		view.Left = screen.Count(int(late.Hours()), "hour") + " past its window: " + view.USDC +
			" USDC are owed, and it is still open."
	default:
		view.Left = "Left: " + screen.Count(int(-late.Hours()), "hour") + "."
	}
	return view
}

func (v *visit) order(id string) {
	o, ok, err := v.cfg.Till.HumanOrder(v.r.Context(), id)
	switch {
	case err != nil:
		v.broken(err)
		return
	case !ok:
		v.refuse(http.StatusNotFound, "There is no such order.")
		return
	}
	view := v.orderView(o)
	if v.r.Method == http.MethodPost {
		v.answer(view)
		return
	}
	v.page("order", view.Name, view)
}

// answer answers an order. Where somebody was first, at another desk, it says so: an order is
// answered once.
func (v *visit) answer(view orderView) {
	a := till.Answer{Text: unixLines(v.r.PostForm.Get("text")), Link: strings.TrimSpace(v.r.PostForm.Get("link"))}
	view.Text, view.Link = a.Text, a.Link
	file, err := v.file()
	a.File = file
	if err == nil {
		err = a.Check()
	}
	if err == nil && v.r.PostForm.Get("do") != "deliver" {
		view.Preview = true
		_, err = v.cfg.Till.AnswerOrder(v.r.Context(), view.ID, a, true)
	} else if err == nil {
		if _, err = v.cfg.Till.AnswerOrder(v.r.Context(), view.ID, a, false); err == nil {
			v.goTo("order/" + view.ID)
			return
		}
	}
	if err != nil {
		view.Preview, view.Says = false, err.Error()
		v.w.WriteHeader(http.StatusConflict)
	}
	v.page("order", view.Name, view)
}

// file is the file that a form came with, nil for none.
func (v *visit) file() (*till.AnswerFile, error) {
	if v.r.MultipartForm == nil || len(v.r.MultipartForm.File["file"]) == 0 {
		return nil, nil
	}
	head := v.r.MultipartForm.File["file"][0]
	if head.Filename == "" || head.Size == 0 {
		return nil, nil
	}
	if head.Size > till.MaxAnswerFile {
		return nil, fmt.Errorf("the file has %d bytes, and may have %d", head.Size, till.MaxAnswerFile)
	}
	f, err := head.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return &till.AnswerFile{Name: fileName(head.Filename), Data: data}, err
}

// fileName is the name of a file with what its readers' machines may stumble over left out.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r > unicode.MaxASCII || r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return -1
		}
		return r
	}, s)
}

// unixLines is what was written in a form, whose lines browsers end with CR and LF.
func unixLines(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }

type noteView struct {
	Month, Text, Says string
	Preview, Signed   bool
}

func (v *visit) note(month string) {
	view := noteView{Month: month}
	if at, err := time.Parse("2006-01", month); err != nil || at.Format("2006-01") != month {
		v.refuse(http.StatusNotFound, "A note is of a month, such as 2026-11.")
		return
	}
	if v.r.Method == http.MethodPost {
		view.Text = unixLines(v.r.PostForm.Get("text"))
		sign := v.r.PostForm.Get("do") == "deliver"
		if _, err := v.cfg.Till.WriteNote(v.r.Context(), month, view.Text, !sign); err != nil {
			v.w.WriteHeader(http.StatusConflict)
			view.Says = err.Error()
		} else {
			view.Preview, view.Signed = !sign, sign
		}
	}
	v.page("note", "The note of "+month, view)
}

// weeksShown is how many weeks the page of sales has.
const weeksShown = 13

// soldTable is a table of what was sold.
type soldTable struct {
	Title, Name string
	Asked       bool // with how often terms were asked for
	List        any
}

func tableOf(title, name string, asked bool, list any) soldTable {
	return soldTable{title, name, asked, list}
}
