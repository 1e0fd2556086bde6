package shop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/generator"
)

// ViewDir is where a configuration keeps the host index of its record: beside the twins unless it
// says otherwise. It is empty for a configuration that has neither.
func ViewDir(c *Config) string {
	if c.View == "" && c.Twins != "" {
		return filepath.Join(filepath.Dir(c.Twins), "view")
	}
	return c.View
}

// errNoViewDir is a record with nowhere to put its index.
var errNoViewDir = errors.New("view, the folder of the record's index, is not configured, and the record has rounds")

// BuildView builds the index of the configured record, if it has a round. What a server holds open
// follows it.
func BuildView(ctx context.Context, c *Config) error {
	if c.Record == "" {
		return nil
	}
	ring, err := Ring(c)
	if err != nil {
		return err
	}
	record, err := record.Open(os.DirFS(c.Record), ring)
	if err != nil || len(record.Rounds()) == 0 {
		return err
	}
	if ViewDir(c) == "" {
		return errNoViewDir
	}
	return hostindex.Build(ctx, record, ViewDir(c))
}

// openArchive opens the configured record for answering, nil for a store that keeps none.
func (s *Shop) openArchive(ctx context.Context) (*archive.Archive, error) {
	c := &s.Config
	if c.Record == "" {
		return nil, nil
	}
	if err := generator.RecordIsNewer(os.DirFS(c.Record)); err != nil {
		return nil, err
	}
	if ViewDir(c) == "" {
		return nil, BuildView(ctx, c) // fails if there is something to answer from
	}
	a, err := archive.Open(ctx, archive.Config{Record: c.Record, Index: ViewDir(c), Ring: s.Ring,
		Log: s.Log})
	if err != nil {
		return nil, err
	}
	s.runs = append(s.runs, a.Run)
	return a, nil
}

// speller spells hosts as the census does, by the rules of the client that walks them; what is no
// public name is only put in lower case.
func speller(client *fetch.Client) func(host string) string {
	return func(host string) string {
		plain := strings.TrimRight(strings.ToLower(host), ".")
		door, err := client.Parse("https://"+host+"/", fetch.Rule{})
		if err != nil {
			return plain
		}
		u, err := url.Parse(door)
		if err != nil || u.Path != "/" || u.RawQuery != "" {
			return plain
		}
		return u.Hostname()
	}
}

// refused says why a client never asks at a host, "" where it would.
func refused(client *fetch.Client) func(host string) string {
	return func(host string) string {
		_, err := client.Parse("https://"+host+"/", fetch.Rule{})
		if refusal, ok := errors.AsType[*fetch.Refusal](err); ok {
			return refusal.Reason
		}
		return ""
	}
}

// lastRow finds a host's last row in the record, and when its round was taken.
func lastRow(a *archive.Archive) func(host string) (record.Row, string, bool, error) {
	if a == nil {
		return nil
	}
	return func(host string) (record.Row, string, bool, error) {
		s := a.Now()
		if s == nil {
			return record.Row{}, "", false, nil
		}
		h, ok, err := s.Rows(host)
		if err != nil || !ok || len(h.Rows) == 0 {
			return record.Row{}, "", false, err
		}
		row := h.Rows[len(h.Rows)-1].Row
		return row, s.Rounds[row.Sequence-1].TakenAt, true, nil
	}
}

// recorded finds what the record holds of an artifact, for its verification. It stands there once
// it was exported and logged.
func recorded(a *archive.Archive) func(counter.Recorded) (*counter.Inclusion, error) {
	if a == nil {
		return nil
	}
	return func(what counter.Recorded) (*counter.Inclusion, error) {
		s := a.Now()
		if s == nil {
			return nil, nil
		}
		o, ok := s.Word(what.Word)
		if digest, is := strings.CutPrefix(what.Attests, "sha256:"); !ok && is {
			o, ok = s.Refreshed(digest)
		}
		if !ok {
			return nil, nil
		}
		id := fmt.Sprintf("%s_%d", archive.ClassObservation, o.Number)
		g, ok, err := s.Signed(id)
		if err != nil || !ok {
			return nil, err
		}
		in := inclusion(id, g)
		in.Kind, in.At = o.Kind, o.At
		return in, nil
	}
}

// issuedIn finds the tree that a certificate stands in, once the observation with its root was
// exported and logged.
func (s *Shop) issuedIn() func(context.Context, till.CertRecord) (*counter.IssuedIn, error) {
	if s.archive == nil {
		return nil
	}
	return func(ctx context.Context, rec till.CertRecord) (in *counter.IssuedIn, err error) {
		state := s.archive.Now()
		if rec.Week == "" || state == nil {
			return nil, nil
		}
		var p *feed.CertificateProof
		err = s.DB.View(ctx, func(tx ledger.Tx) error {
			p, err = feed.ProveCertificate(tx, rec.Week, rec.Proof.SignedPayload)
			return err
		})
		if err != nil || p == nil {
			return nil, err
		}
		id := fmt.Sprintf("%s_%d", archive.ClassObservation, p.Observation)
		g, ok, err := state.Signed(id)
		if err != nil || !ok {
			return nil, err
		}
		o := state.Feed[p.Observation-1]
		if o.Issued == nil || o.Issued.Certificates == nil || *o.Issued.Certificates != p.IssuedTree {
			return nil, fmt.Errorf("observation %d has another tree than the ledger", p.Observation)
		}
		in = &counter.IssuedIn{Through: p.Through, Size: p.Size, Root: p.Root, Index: p.Index, Hashes: p.Hashes,
			Observation: inclusion(id, g),
			How: "The leaf is the 32 bytes of artifact_hash. Its RFC 6962 leaf hash and hashes give root, which " +
				"observation.entry holds. verify -ring FILE checks all of it in this answer."}
		in.Observation.Kind, in.Observation.At = o.Kind, o.At
		return in, nil
	}
}

// keyPlace says where the log shows an identity key; nil where it does not, or cannot be read.
func (s *Shop) keyPlace(kid string) *attest.KeyPlace {
	state := s.archive.Now()
	if state == nil {
		return nil
	}
	p, err := state.KeyPlace(kid)
	if err != nil {
		s.Log.Error("where the log shows the signing key cannot be read", "err", err)
	}
	return p
}

func inclusion(id string, g archive.Signed) *counter.Inclusion {
	in := &counter.Inclusion{ID: id, Kind: g.Class, Leaf: g.Leaf, LogSize: g.Size, Entry: string(g.Entry),
		Proof: string(g.Proof.Text()),
		How: "entry is signed by itself. Its RFC 6962 leaf hash and the hashes of proof give the root of the " +
			"checkpoint at the proof's end, which the log's key signed."}
	if g.Class == archive.ClassRound {
		in.How = "entry names the digest of signed_payload and of the file of the header. Its RFC 6962 leaf hash and " +
			"the hashes of proof give the root of the checkpoint at the proof's end, which the log's key signed."
	}
	return in
}

// classes are the artifacts that are verified: certificates, and what stands in the record under an
// id of its own.
func (s *Shop) classes() []counter.Class {
	all := slices.Clone(counter.Issued)
	all[0].Page = s.certificatePage
	for i := range all[1:] {
		all[i+1].Page, all[i+1].Markdown = s.artifactPage, s.artifactText
	}
	all = slices.Concat(all, s.visitorClasses(), []counter.Class{s.bountyClass()})
	if s.archive == nil {
		return all
	}
	for _, name := range []string{archive.ClassRound, archive.ClassRow, archive.ClassObservation} {
		all = append(all, counter.Class{Name: name, Prefix: name + "_", Page: s.recordPage,
			Load: func(_ *counter.Counter, _ context.Context, id string) (*counter.Verification, error) {
				return sealed(s.archive, id)
			},
			DoesNotProve: "It proves what the store saw and signed, and that it stands in its log; not that the door " +
				"was so for anybody else, before or after."})
	}
	return all
}

// sealed verifies what stands in the record under an id of its own, nil for nothing.
func sealed(a *archive.Archive, id string) (*counter.Verification, error) {
	s := a.Now()
	if s == nil {
		return nil, nil
	}
	g, ok, err := s.Signed(id)
	if err != nil || !ok {
		return nil, err
	}
	sum := sha256.Sum256(g.Payload)
	v := &counter.Verification{Valid: true, ArtifactClass: g.Class, NotCovered: []string{},
		ArtifactHash: hex.EncodeToString(sum[:]), SignedBy: &g.Signer,
		Proof: &attest.Proof{Signature: g.Signature, PublicKey: g.Signer.Public, Algorithm: attest.Algorithm,
			SignedPayload: string(g.Payload)},
		HowTo: "Check signature (ed25519, hex) over the bytes of signed_payload with public_key. Proof of " +
			"inclusion: see inclusion.",
		Inclusion: inclusion(id, g)}
	if err := json.Unmarshal(g.Raw, &v.Report); err != nil {
		return nil, err
	}
	for d := jsontext.NewDecoder(bytes.NewReader(g.Payload)); ; {
		t, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return v, nil
		}
		if err != nil {
			return nil, err
		}
		if t.Kind() != '"' || d.StackDepth() != 1 {
			continue
		}
		v.Proof.SignatureCovers = append(v.Proof.SignatureCovers, t.String())
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
}
