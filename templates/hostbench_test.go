package templates_test

import (
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/templates"
)

// BenchmarkHost makes the three forms of the page of a host with twelve weeks, an offer, a paid
// walk and a proof, as a build of the record does; reused makes them in slices that it made before.
func BenchmarkHost(b *testing.B) {
	host, c := hostsOf(b, corpustest.Write(b, 500))["standing.example"], chrome(b)
	if len(host.Timeline) != 12 || host.Payment == nil || len(host.PaidWalks) == 0 || host.Citation.Inclusion == "" {
		b.Fatalf("the host lacks a part of a page: %+v", host)
	}
	view, err := templates.NewHostView(c, host)
	if err != nil {
		b.Fatal(err)
	}
	var page, twin []byte
	var room templates.HostRoom
	for _, part := range []struct {
		name string
		make func() error
	}{
		{"view", func() error { _, err := templates.NewHostView(c, host); return err }},
		{"html", func() error { _, err := templates.RenderHost(view); return err }},
		{"markdown", func() error { _, err := templates.RenderHostMarkdown(view); return err }},
		{"reused", func() error {
			v, err := templates.NewHostViewIn(&room, c, host)
			if err != nil {
				return err
			}
			if page, err = templates.AppendHost(page[:0], &v); err != nil {
				return err
			}
			twin, err = templates.AppendHostMarkdown(twin[:0], &v)
			return err
		}},
		{"all", func() error {
			v, err := templates.NewHostView(c, host)
			if err != nil {
				return err
			}
			if _, err := templates.RenderHost(v); err != nil {
				return err
			}
			_, err = templates.RenderHostMarkdown(v)
			return err
		}},
	} {
		b.Run(part.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := part.make(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
