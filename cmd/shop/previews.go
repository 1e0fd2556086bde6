package shop

import (
	"context"
	"net/url"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/generator"
	"store.example/agentstore/templates"
)

// previews draws the pictures beside links that no build makes: of hosts, and of what the store
// signed (see generator.DrawHostPreview).
type previews struct {
	shop *Shop
	// turn holds a token while nobody draws. A picture is 10 ms of a processor, and strangers may
	// ask for one of each of a million hosts: they wait for each other and for nobody else.
	turn chan struct{}
}

func newPreviews(s *Shop) previews {
	p := previews{shop: s, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// draw waits for its turn. sign is the name of the store, and foot a page's address in short.
func (p previews) draw(ctx context.Context, path string, picture func(sign, foot string) ([]byte, error)) ([]byte,
	error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.turn:
	}
	defer func() { p.turn <- struct{}{} }()
	host := p.shop.Config.BaseURL
	if u, err := url.Parse(host); err == nil {
		host = u.Host
	}
	return picture(p.shop.chrome().Title, host+path)
}

// hostPreviews renders the picture of a host's page.
type hostPreviews struct {
	previews
	dynamic.HostPages
}

// Render draws it.
func (p hostPreviews) Render(ctx context.Context, name, _ string) ([]byte, error) {
	host, err := p.Describe(name)
	if err != nil {
		return nil, err
	}
	return p.draw(ctx, "/corpus", func(sign, foot string) ([]byte, error) {
		return generator.DrawHostPreview(sign, foot, &host)
	})
}

// signedPreviews renders the picture of the page of something that was signed.
type signedPreviews struct {
	previews
	verify func(ctx context.Context, id string) (counter.Verification, bool, error)
}

// Canonical is the id as it is.
func (signedPreviews) Canonical(id string) string { return id }

// Render draws it.
func (p signedPreviews) Render(ctx context.Context, id, _ string) ([]byte, error) {
	v, ok, err := p.verify(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &problem.Error{Code: "not_found", Detail: "Nothing was issued under this id, so that there is no " +
			"picture of it.", Next: "GET " + p.shop.Config.BaseURL + "/api/verify/{id} says how ids begin."}
	}
	says := p.shop.previewOf(v)
	return p.draw(ctx, "/api/verify/"+id, says.Draw)
}

// previewOf is what the picture of something signed shows.
func (s *Shop) previewOf(v counter.Verification) generator.SignedPreview {
	p := generator.SignedPreview{Title: nameOfClass(v.ArtifactClass), Says: "Signed by this store."}
	if c := v.Certificate; c != nil {
		p = generator.SignedPreview{Title: c.Item, Says: generator.SaysOf(*c), Paid: c.PaidUSDC}
		if g, ok := s.Site.Now().Good(c.Item); ok {
			p.Title = g.Name
		}
	}
	switch {
	case !v.Valid:
		p.Stamp = templates.StateInvalid
	case v.Status == "reversed":
		p.Stamp = templates.StateReversed
	}
	return p
}

// nameOfClass is a class in words: "Context anchor".
func nameOfClass(class string) string {
	if class == "" {
		class = attest.ClassCertificate
	}
	words := strings.ReplaceAll(class, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// sharing says of the page of something signed what others show beside a link to it.
func (s *Shop) sharing(v *templates.CertificateView, signed counter.Verification) {
	p := s.previewOf(signed)
	v.Page.Preview = templates.Preview{Path: "/preview/verify/" + v.ID + ".png", Alt: p.Title + ": " + p.Says}
	v.Page.Summary = p.Says
}
