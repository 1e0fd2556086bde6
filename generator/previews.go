package generator

import (
	"encoding/binary"
	"fmt"
	"iter"
	"sync"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator/picture"
	"store.example/agentstore/templates"
)

// The pictures beside links to pages: one of the site, one for each good and for each week of the
// record, and one for pages that list hosts (see templates.Preview). A picture of a week stays when
// the next one is sealed, since who was shown a link then may look at its picture later. Those of
// hosts and of what the store signed are drawn on request (see previewsdrawn.go).

// colourOfPaper is the background of pages by day.
const colourOfPaper = "#f7f2e6"

// drawn holds pictures by what they show. Most of what changes a page changes nothing in its
// picture, and a process that builds again and again, as watch does, draws each one once.
var drawn struct {
	sync.Mutex
	files map[string][]byte
}

// mostDrawn is how many pictures are held before all are let go: 512 are some 6 MB.
const mostDrawn = 512

func draw(p picture.Preview) ([]byte, error) {
	key := fmt.Sprintf("%#v", p)
	drawn.Lock()
	file, ok := drawn.files[key]
	drawn.Unlock()
	if ok {
		return file, nil
	}
	file, err := picture.Draw(p)
	if err != nil {
		return nil, err
	}
	drawn.Lock()
	defer drawn.Unlock()
	if drawn.files == nil || len(drawn.files) >= mostDrawn {
		drawn.files = make(map[string][]byte)
	}
	drawn.files[key] = file
	return file, nil
}

func depsStorePreview(s *source, _ int, d *digester) {
	s.page(d, "index")
	d.text(s.Site.Config.Title, s.Site.Config.Tagline, s.host)
	d.number(int64(len(s.goods)))
}

func renderStorePreview(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	p, err := s.need("index")
	if err != nil {
		return nil, err
	}
	tag := fmt.Sprintf("%d goods", len(s.goods))
	if len(s.goods) == 1 {
		tag = "1 good"
	}
	return draw(picture.Preview{Sign: s.Site.Config.Title, Title: p.Title, Says: s.Site.Config.Tagline,
		Tag: tag, Foot: s.host})
}

func renderHostPreview(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	return draw(picture.Preview{Sign: s.Site.Config.Title, Title: "The hosts of the record",
		Says: "What a signed weekly census saw of their doors, week by week, with the store's own gaps counted.",
		Foot: s.host + "/corpus"})
}

func depsGoodPreview(s *source, i int, d *digester) {
	d.text(s.Site.Config.Title, s.host)
	d.digest(s.goodFacts[i])
}

func renderGoodPreview(s *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	g := s.goods[u.at]
	return draw(picture.Preview{Sign: s.Site.Config.Title, Title: g.Name, Says: g.Description,
		Tag: g.PriceUSDC() + " USDC", Foot: s.host + "/menu/" + g.ID})
}

// goodPreview is the picture of a good's page.
func goodPreview(g *content.Good) templates.Preview {
	return templates.Preview{Path: "/preview/good/" + g.ID + ".png", Alt: g.Name + ", " + g.PriceUSDC() + " USDC"}
}

// weekPreviews streams the rounds by their weeks. The figures of a week are of its round
// and the errata of its rows alone.
func weekPreviews(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for i, r := range s.rounds {
			u := unit{key: r.Week, value: i, made: func(d *digester) {
				d.text(s.Site.Config.Title, s.host)
				d.round(r)
				for _, o := range s.feed {
					if e := o.Erratum; e != nil && r.FirstLeaf <= e.Leaf && e.Leaf < r.RoundLeaf() {
						d.text(o.Signature.String())
					}
				}
			}}
			if !yield(u, nil) {
				return
			}
		}
	}
}

func renderWeekPreview(s *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	w := b.Figures[u.value.(int)].Week
	return draw(picture.Preview{Sign: s.Site.Config.Title, Title: "The record, " + w.Week,
		Says: fmt.Sprintf("%d of %d hosts were probed.", w.HostsProbed, w.HostsDue), Foot: s.host + "/corpus",
		Counts: []picture.Count{{Name: "ready", Mark: picture.Good, N: w.Ready},
			{Name: "not ready", Mark: picture.Bad, N: w.NotReady},
			{Name: "unreachable", Mark: picture.Unknown, N: w.Unreachable},
			{Name: "not observed", Mark: picture.Unobserved, N: w.HostsDue - w.Ready - w.NotReady - w.Unreachable}}})
}

// hostsPreview is the picture of pages that list hosts.
var hostsPreview = templates.Preview{Path: "/preview/host.png",
	Alt: "The hosts of the record: what a signed weekly census saw of them"}

// certificatePreview is that of the specimen's certificate, for pages that say what one is.
var certificatePreview = templates.Preview{Path: "/preview/certificate.png",
	Alt: "A certificate of the specimen, which proves nothing"}

func renderCertificatePreview(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	signed, err := specimen()
	if err != nil {
		return nil, err
	}
	says := SignedPreview{Title: "Hello", Says: SaysOf(signed.Certificate), Paid: signed.Certificate.PaidUSDC,
		Stamp: "specimen"}
	return says.Draw(s.Site.Config.Title, s.host+"/verify") // no address has the specimen itself
}

// newestWeek is the picture of pages that show the newest week, that of the site while there is
// none.
func (s *source) newestWeek() templates.Preview {
	if len(s.rounds) == 0 {
		return templates.Preview{}
	}
	return weekPreview(s.rounds[len(s.rounds)-1])
}

// weekPreview is the picture of a week. Its figures follow the errata, so that what stands beside
// it tells none of the round's own.
func weekPreview(r record.Round) templates.Preview {
	return templates.Preview{Path: "/preview/week/" + r.Week + ".png", Alt: fmt.Sprintf(
		"The record, %s: what was seen of %d hosts", r.Week, r.Rows)}
}

func renderTouchIcon(*source, unit, string, attest.Digest) ([]byte, error) { return picture.Icon() }

// renderOldFavicon is the same picture as the one image of an ICO file, which every browser asks
// for where no page named another icon.
func renderOldFavicon(*source, unit, string, attest.Digest) ([]byte, error) {
	icon, err := picture.Icon()
	if err != nil {
		return nil, err
	}
	const head, size = 6 + 16, byte(picture.IconSize) // a directory of one entry
	b := []byte{0, 0, 1, 0, 1, 0, size, size, 0, 0, 1, 0, 32, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(icon)))
	return append(binary.LittleEndian.AppendUint32(b, head), icon...), nil
}

// renderWebManifest follows the Web Application Manifest of the W3C. The site is one of pages, so
// that it opens in the browser.
func renderWebManifest(s *source, _ unit, _ string, _ attest.Digest) ([]byte, error) {
	type icon struct {
		Source string `json:"src"`
		Sizes  string `json:"sizes"`
		Type   string `json:"type"`
	}
	return indented(struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Start       string `json:"start_url"`
		Display     string `json:"display"`
		Background  string `json:"background_color"`
		Theme       string `json:"theme_color"`
		Icons       []icon `json:"icons"`
	}{s.Site.Config.Title, s.Site.Config.Tagline, "/", "browser", colourOfPaper, colourOfPaper,
		[]icon{{"/favicon.svg", "any", api.SVG}, {"/apple-touch-icon.png", "180x180", api.PNG}}})
}
