package templates

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"
	texttemplate "text/template"
	"unicode/utf8"

	"store.example/agentstore/corpus/derive"
)

// filler sets everything that a value holds at random: texts of its own, numbers at their ends,
// lists and pointers of every length down to none.
type filler struct {
	*rand.Rand
	texts []string
}

func (r filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.texts[r.IntN(len(r.texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 0, 1, 2, -1, 1234567, math.MaxInt64, math.MinInt64}[r.IntN(8)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Pointer:
		if v.SetZero(); r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem())
		}
	case reflect.Slice:
		if v.SetZero(); r.IntN(4) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 5))
			for i := range v.Len() {
				r.fill(v.Index(i))
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(key)
			r.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Array:
		if v.SetZero(); r.IntN(3) > 0 {
			for i := range v.Len() {
				r.fill(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.fill(v.Field(i))
			}
		}
	default:
		panic(fmt.Sprintf("nothing fills a %v", v.Type()))
	}
}

// fill fills with texts that are hostile.
func fill(r *rand.Rand, v reflect.Value) { filler{r, hostile}.fill(v) }

// YearPath is the address of the rounds of a year, for the templates of these tests.
func (v HostView) YearPath(year string) string { return derive.HostYearPath(year, v.Host.Host) }

// Entry is the address of the round, for the templates of these tests.
func (l TimelineLine) Entry() string { return derive.RoundPath(l.Sequence) }

// wellFormed are the hostile texts that are texts.
var wellFormed = slices.DeleteFunc(slices.Clone(hostile), func(s string) bool { return !utf8.ValidString(s) })

// randomView is a view of which every part is there or not, on its own.
func randomView(r *rand.Rand) *HostView {
	v := new(HostView)
	fill(r, reflect.ValueOf(v).Elem())
	v.Chrome = &Chrome{Title: hostile[r.IntN(len(hostile))], BaseURL: "https://store.example",
		Header: "<p>head</p>", Footer: "<p>foot</p>"}
	for i := range v.Weeks {
		v.Weeks[i] = weekMarks[r.IntN(len(weekMarks))]
		v.Weeks[i].Week = fmt.Sprintf("2026-W%02d", i+1)
	}
	for i := range v.Older { // which stand in addresses, and are of weeks that were checked
		v.Older[i] = fmt.Sprint(2026 - i)
	}
	if len(v.Address) > 0 && v.Payment == nil {
		v.Address = nil
	}
	for _, badge := range []*string{&v.Badge, &v.DoorBadge} { // ours, whatever the door is called
		if *badge != "" {
			*badge = "https://store.example/badge.svg?of=" + url.QueryEscape(*badge)
		}
	}
	return v
}

// What is written in Go is held against templates that are there for these tests alone, beside the
// pieces that all share.
var (
	telling       = map[string]any{"correctionssay": func() string { return correctionsSay }}
	referenceHTML = sync.OnceValue(func() *template.Template {
		return template.Must(template.Must(
			template.New("").Funcs(functions).Funcs(telling).Funcs(map[string]any{"timelinewords": func() Markup {
				return Markup(regexp.MustCompile("`([a-z_]+)`").ReplaceAllString(timelineWords, "<code>$1</code>"))
			}}).ParseFS(files, "html/*.html")).ParseGlob("testdata/*.html"))
	})
	referenceText = sync.OnceValue(func() *texttemplate.Template {
		return texttemplate.Must(texttemplate.New("").Funcs(functions).Funcs(telling).Funcs(
			map[string]any{"timelinewords": func() string { return timelineWords }}).Option(
			"missingkey=error").ParseGlob("testdata/*.md"))
	})
)

// drawnWeeks is the drawing of a host's weeks.
func drawnWeeks(host string, marks []WeekMark, legend string) Markup {
	var w htmlWriter
	w.weeks(host, marks, legend)
	return Markup(w.b)
}

// TestHostFormsAreWhatATemplateWrites holds the page that is written in Go, and its twin, against
// the same as templates.
func TestHostFormsAreWhatATemplateWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		v := randomView(r)
		// The drawing of the weeks has a test of its own.
		data := struct {
			*HostView
			Weeks Markup
		}{HostView: v}
		if len(v.Weeks) > 0 {
			data.Weeks = drawnWeeks(v.Host.Host, v.Weeks, v.Legend)
		}
		for _, form := range []struct {
			name    string
			execute func(to io.Writer, name string, data any) error
			tidy    func([]byte) []byte
			write   func(dst []byte, v *HostView) ([]byte, error)
		}{{"host.html", referenceHTML().ExecuteTemplate, bytes.Clone, AppendHost},
			{"host.md", referenceText().ExecuteTemplate, tidy, AppendHostMarkdown}} {
			var b bytes.Buffer
			if err := form.execute(&b, form.name, data); err != nil {
				t.Fatal(err)
			}
			want := form.tidy(b.Bytes())
			got, err := form.write([]byte("before"), v)
			if err != nil || string(got) != "before"+string(want) {
				got, at := got[len("before"):], 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Fatalf("%s of view %d, from byte %d: %v\n%.200q\nwant %.200q", form.name, i, at, err, got[at:],
					want[at:])
			}
		}
	}
}

// TestHostDocumentIsWhatTheLibraryWrites holds the JSON that is written member by member against
// that of the library, over hosts of which every member is set at random: a member that the writer
// does not know is seen here.
func TestHostDocumentIsWhatTheLibraryWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var written, left, refused int
	room := new(HostRoom) // one host after the other is written in it
	for i := range 4000 {
		var h derive.Host
		texts := hostile
		if i%2 == 0 {
			texts = wellFormed
		}
		filler{r, texts}.fill(reflect.ValueOf(&h).Elem())
		want, wantErr := document(h)
		got, err := hostDocument(room, &h)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || string(got) != string(want) {
			t.Fatalf("host %d: %v\n%s\nwant %v\n%s", i, err, got, wantErr, want)
		}
		w := jsonWriter{}
		switch appendHost(&w, reflect.ValueOf(&h).Elem()); {
		case err != nil:
			refused++
		case w.odd:
			left++
		default:
			written++
		}
	}
	if written < 500 || left == 0 || refused == 0 {
		t.Errorf("%d hosts were written here, %d left to the library and %d refused by it: too few of a kind", written,
			left, refused)
	}
}
