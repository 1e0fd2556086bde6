package visitors_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/visitors"
)

// opened demands that what is signed under an id holds, and reads it.
func (s shop) opened(id, class string) map[string]any {
	s.t.Helper()
	name, proof, ok, err := s.desk.Signed(s.t.Context(), id)
	if err != nil || !ok || name != class {
		s.t.Fatalf("%s: %q, %v, %v", id, name, ok, err)
	}
	a, by, err := attest.OpenArtifact(proof, attest.SpecimenRing())
	if err != nil || a.ID != id || a.Class != class || by.Status != attest.SignerCurrent {
		s.t.Fatalf("%s: %+v, %+v, %v", id, a, by, err)
	}
	var v map[string]any
	if err := unmarshal(proof.SignedPayload, &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// TestALetterIsAnswered: received, read, replied; the reply is signed, the letter's text is in no
// answer and in nothing that is signed but as a digest that its writer can show.
func TestALetterIsAnswered(t *testing.T) {
	s, ctx := mem(t), t.Context()
	const secret = "Dear keeper, my wallet is under the mat."
	left := s.post(201, ann, "/api/letter", map[string]any{"letter": secret, "from_name": "Ada"})
	id := left["letter_id"].(string)
	look := func(want string) map[string]any {
		t.Helper()
		for _, accept := range []string{"", "text/html", "text/markdown"} {
			if said := s.text(200, from{address: ben.address, accept: accept}, "GET", "/api/letter/"+id,
				""); strings.Contains(
				said, "wallet") || strings.Contains(said, "Ada") {
				t.Errorf("the letter is told: %s", said)
			}
		}
		v := s.want(200, ben, "GET", "/api/letter/"+id, "")
		if v["status"] != want {
			t.Errorf("status %v, want %s", v["status"], want)
		}
		if _, has := v["reply"]; has != (want == "replied") ||
			fmt.Sprint(v["signed"].(map[string]any)["signed_payload"]) == "" {
			t.Errorf("%s: %v", want, v)
		}
		return v
	}
	look("received")
	wrote := left["wrote"].(map[string]any)
	salt := must[[]byte](t)(hex.DecodeString(wrote["salt"].(string)))
	sum := sha256.Sum256(append(salt, secret...))
	digest := "sha256-salted:" + hex.EncodeToString(sum[:])
	if got := s.opened(id, attest.ClassLetter); got["wrote"] != digest || got["status"] != "received" {
		t.Errorf("signed: %v", got)
	}
	must[visitors.Post](t)(s.desk.ReadLetter(ctx, id, true))
	look("received")
	must[visitors.Post](t)(s.desk.ReadLetter(ctx, id, false))
	if v := look("read"); v["read_at"] == nil {
		t.Error("nobody is told when it was read")
	}
	must[visitors.Post](t)(s.desk.ReplyLetter(ctx, id, "Move it.", true))
	look("read")
	must[visitors.Post](t)(s.desk.ReplyLetter(ctx, id, "Move it.", false))
	if v := look("replied"); v["reply"] != "Move it." || v["made_by"] != "The keeper" || v["replied_at"] == nil {
		t.Errorf("replied: %v", v)
	}
	if got := s.opened(id, attest.ClassLetter); got["wrote"] != digest || got["reply"] != "Move it." {
		t.Errorf("signed: %v", got)
	}
	if _, err := s.desk.ReplyLetter(ctx, id, "Or not.", false); err == nil {
		t.Error("a letter is answered twice")
	}
	if _, err := s.desk.ReplyLetter(ctx, "let_abcdefghij2345672345", "x", false); err == nil {
		t.Error("a letter that nobody wrote is answered")
	}
	must[visitors.Post](t)(s.desk.ReadLetter(ctx, id, false))
	look("replied")
	for _, bad := range []string{"", strings.Repeat("a", 4001), "a\u202eb"} {
		if _, err := s.desk.ReplyLetter(ctx, id, bad, false); err == nil {
			t.Errorf("a reply of %d bytes is signed", len(bad))
		}
	}
}

// TestTwoKeepersAtOnce: of many who answer, quote or publish the same thing at once, one does.
func TestTwoKeepersAtOnce(t *testing.T) {
	s, ctx := mem(t), t.Context()
	letter := s.post(201, ann, "/api/letter", writes["letter"])["letter_id"].(string)
	request := s.post(201, ann, "/api/request", writes["request"])["request_id"].(string)
	tip := s.post(201, ann, "/api/tip", writes["tip"])["tip_id"].(string)
	for name, work := range map[string]func(n int) error{
		"reply": func(n int) error {
			_, err := s.desk.ReplyLetter(ctx, letter, fmt.Sprint("Reply ", n), false)
			return err
		},
		"quote": func(n int) error { _, err := s.desk.Quote(ctx, request, int64(n+1)*1e6, false); return err },
		"publish": func(n int) error {
			_, _, err := s.desk.PublishTip(ctx, tip, visitors.TipPage{Slug: fmt.Sprint("hinge-", n), Title: "Hinge",
				Summary: "About a hinge."}, false)
			return err
		},
	} {
		var done atomic.Int64
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				if work(n) == nil {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if done.Load() != 1 {
			t.Errorf("%s: %d did it", name, done.Load())
		}
	}
	if _, err := s.desk.DeclineRequest(ctx, request, false); err == nil {
		t.Error("what was quoted is declined")
	}
}

// TestAGuestbookEntryIsReviewed: it is shown at once, kept by the keeper, hidden by him from
// everybody, and shown again; its signer's sticker stands throughout and holds no word of it.
func TestAGuestbookEntryIsReviewed(t *testing.T) {
	s, ctx := mem(t), t.Context()
	v := s.post(201, ann, "/api/guestbook", map[string]any{"name": "Ada", "message": "A rude word."})
	id := v["entry"].(map[string]any)["id"].(string)
	sticker := v["sticker"].(map[string]any)["stamp_id"].(string)
	if strings.Contains(fmt.Sprint(keys(t, s.db, "stamp")), "signature") {
		t.Error("the sticker was signed before anybody asked for it")
	}
	shown := func() bool { return strings.Contains(s.text(200, ben, "GET", "/api/guestbook", ""), "A rude word.") }
	piles := func() int { return must[[]visitors.Pile](t)(s.desk.Waiting(ctx))[1].Count }
	for i, step := range []struct {
		do    func() error
		shown bool
		waits int
	}{
		{func() error { return nil }, true, 1},
		{func() error { _, err := s.desk.Review(ctx, id, true, true); return err }, true, 1},
		{func() error { _, err := s.desk.Review(ctx, id, true, false); return err }, false, 0},
		{func() error { _, err := s.desk.Review(ctx, id, true, false); return err }, false, 0},
		{func() error { _, err := s.desk.Review(ctx, id, false, false); return err }, true, 0},
	} {
		if err := step.do(); err != nil || shown() != step.shown || piles() != step.waits {
			t.Errorf("step %d: shown %v, %d wait, %v", i+1, shown(), piles(), err)
		}
		got := s.opened(sticker, attest.ClassSticker)
		if got["entry"] != id || strings.Contains(fmt.Sprint(got), "Ada") || strings.Contains(fmt.Sprint(got),
			"rude") {
			t.Errorf("the sticker says %v", got)
		}
	}
	if !strings.Contains(fmt.Sprint(keys(t, s.db, "stamp")), "signature") {
		t.Error("the sticker's signature was not kept")
	}
	if _, err := s.desk.Review(ctx, "gst_abcdefghij2345672345", true, false); err == nil {
		t.Error("what nobody wrote is hidden")
	}
}

// TestAStampIsOfItsWeek: its drawing is the week's, the line the keeper's where he wrote one, and a
// stamp that was given keeps both.
func TestAStampIsOfItsWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 24, 9, 0, 0, 0, time.UTC))) // the key is in force by then
		s, ctx := mem(t), t.Context()
		var drawings []string
		for i, line := range []string{"", "The week of the goose.", ""} {
			now := time.Now().UTC()
			year, n := now.ISOWeek()
			week := fmt.Sprintf("%d-W%02d", year, n)
			if line != "" {
				if err := s.desk.SetLine(ctx, week, "Nothing.", true); err != nil {
					t.Fatal(err)
				}
				if err := s.desk.SetLine(ctx, week, line, false); err != nil {
					t.Fatal(err)
				}
			}
			v := s.want(201, ann, "POST", "/api/stamp", "")["stamp"].(map[string]any)
			got := s.opened(v["stamp_id"].(string), attest.ClassStamp)
			if got["week"] != week || line != "" && got["line"] != line || got["line"] == "Nothing." {
				t.Errorf("week %d: %v", i, got)
			}
			drawings = append(drawings, s.text(200, ann, "GET", strings.TrimPrefix(v["svg_url"].(string), base), ""))
			time.Sleep(7 * 24 * time.Hour)
		}
		for i, a := range drawings {
			for _, b := range drawings[:i] {
				if path(a) == path(b) {
					t.Error("two weeks have one drawing")
				}
			}
		}
		for week, line := range map[string]string{"2026-48": "x", "2026-W54": "x", "2026-W48": "",
			"2026-W47": "a\nb"} {
			if err := s.desk.SetLine(ctx, week, line, false); err == nil {
				t.Errorf("%q of %q is set", line, week)
			}
		}
	})
}

// path is a drawing without its words.
func path(svg string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(svg, "<") {
		if strings.HasPrefix(part, "circle") || strings.HasPrefix(part, "ellipse") {
			b.WriteString(part)
		}
	}
	return b.String()
}

// TestATipBecomesAPage: what is published is credited, and no word of the visitor's is front
// matter, markup or a placeholder.
func TestATipBecomesAPage(t *testing.T) {
	s, ctx := mem(t), t.Context()
	id := s.post(201, ann, "/api/tip", map[string]any{"contributor_name": `Ada "+++" <b>`,
		"tip": "+++\ntitle = \"Mine\"\n+++\n{base_url} <script>alert(1)</script>\n# Oil\n1. the " +
			"hinge"})["tip_id"].(string)
	for _, bad := range []visitors.TipPage{{}, {Slug: "../x", Title: "T", Summary: "S"}, {Slug: "A", Title: "T",
		Summary: "S"}, {Slug: "a--b", Title: "T", Summary: "S"}, {Slug: "a", Summary: "S"}, {Slug: "a", Title: "T"},
		{Slug: strings.Repeat("a", 61), Title: "T", Summary: "S"}, {Slug: "a", Title: "T\nx", Summary: "S"}} {
		if _, _, err := s.desk.PublishTip(ctx, id, bad, false); err == nil {
			t.Errorf("%+v is a page", bad)
		}
	}
	page := visitors.TipPage{Slug: "the-hinge", Title: `The "hinge"`, Summary: "How to oil it."}
	if _, _, err := s.desk.PublishTip(ctx, id, page, true); err != nil {
		t.Fatal(err)
	}
	p, file, err := s.desk.PublishTip(ctx, id, page, false)
	if err != nil || p.State != visitors.StatePublished {
		t.Fatal(p.State, err)
	}
	want := "+++\ntitle = \"The \\\"hinge\\\"\"\nsummary = \"How to oil it.\"\ndate = \"" +
		p.At.Format(time.DateOnly) +
		"\"\n+++\n\\+\\+\\+\ntitle \\= \\\"Mine\\\"\n\\+\\+\\+\n\\{base\\_url\\} " +
		"\\<script\\>alert\\(1\\)\\<\\/script\\>\n" +
		"\\# Oil\n1\\. the hinge\n\nTold by Ada \\\"\\+\\+\\+\\\" \\<b\\>.\n"
	if string(file) != want {
		t.Errorf("the page is\n%s\nwant\n%s", file, want)
	}
	// Who was interrupted gets the file again, and nobody another one.
	if _, again, err := s.desk.PublishTip(ctx, id, page, false); err != nil || string(again) != want {
		t.Errorf("again: %v", err)
	}
	page.Slug = "another"
	if _, _, err := s.desk.PublishTip(ctx, id, page, false); err == nil {
		t.Error("a tip is published twice")
	}
	if _, err := s.desk.Decline(ctx, id, false); err == nil {
		t.Error("a published tip is declined")
	}
}

// TestARequestIsQuoted: filed at no price, then at one that is signed, or declined.
func TestARequestIsQuoted(t *testing.T) {
	s, ctx := mem(t), t.Context()
	for value, want := range map[any]int{"0": 201, "1000000": 201, "1000000.000001": 400, "-1": 400, "1e3": 400,
		"2.5000001": 400, "": 400, "much": 400, true: 400, 2.5: 201, 7: 201} {
		who := from{address: ann.address, agent: fmt.Sprint(value)}
		s.post(want, who, "/api/request", with("request", "offer_usdc", value))
	}
	s.post(400, ben, "/api/request", map[string]any{"description": "x", "contact": "y"})
	v := s.post(201, ben, "/api/request", with("request", "suggest_listing", "rocks.example"))
	id := v["request_id"].(string)
	price := func() (n int64, err error) {
		err = s.db.View(ctx, func(tx ledger.Tx) (err error) {
			n, err = goods.CommissionPrice(tx, id)
			return err
		})
		return n, err
	}
	if n, err := price(); n != 0 || err == nil {
		t.Errorf("before the quote it costs %d, %v", n, err)
	}
	if got := s.opened(id, attest.ClassRequest); got["status"] != "filed" {
		t.Errorf("signed: %v", got)
	}
	for _, bad := range []int64{0, -1, 9_999, 1e12 + 1} {
		if _, err := s.desk.Quote(ctx, id, bad, false); err == nil {
			t.Errorf("a quote of %d is signed", bad)
		}
	}
	must[visitors.Post](t)(s.desk.Quote(ctx, id, 12_500_000, true))
	if _, err := price(); err == nil {
		t.Error("a dry run quotes")
	}
	p := must[visitors.Post](t)(s.desk.Quote(ctx, id, 12_500_000, false))
	if n, err := price(); n != 12_500_000 || err != nil || p.Offer != 5_000_000 || p.Listing != "rocks.example" {
		t.Errorf("it costs %d, %v; %+v", n, err, p)
	}
	if got := s.opened(id, attest.ClassRequest); got["status"] != "quoted" || got["price_usdc"] != "12.5" {
		t.Errorf("signed: %v", got)
	}
	page, _, err := s.desk.Entries(ctx, visitors.KindRequest, true, "", 10)
	if err != nil || len(page) != 1 || page[0].ID != id {
		t.Errorf("done: %v, %v", page, err)
	}
	other := must2(s.desk.Entries(ctx, visitors.KindRequest, false, "", 10))
	declined := must[visitors.Post](t)(s.desk.Decline(ctx, other[0].ID, false))
	if _, err := s.desk.Quote(ctx, declined.ID, 1e6, false); err == nil {
		t.Error("what was declined is quoted")
	}
}

func must2[T any](v T, _ string, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestListsAreReadInPages: each entry comes once, whatever the length of a page, for visitors
// the newest first and for the keeper the oldest.
func TestListsAreReadInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unlimited(t, ledger.NewMem(ledger.MemOptions{}))
		const n = 230
		for i := range n {
			s.post(201, ann, "/api/guestbook", map[string]any{"name": "Ada", "message": fmt.Sprintf("no. %03d", i)})
			if i%3 == 0 {
				time.Sleep(time.Second) // several in one second, too
			}
		}
		seen := make(map[string]bool)
		for next := "/api/guestbook"; next != ""; {
			v := s.want(200, ann, "GET", next, "")
			entries := v["entries"].([]any)
			if len(entries) > 50 {
				t.Fatalf("a page of %d", len(entries))
			}
			for _, e := range entries {
				seen[e.(map[string]any)["message"].(string)] = true
			}
			next, _ = v["next"].(string)
			next = strings.TrimPrefix(next, base)
		}
		if len(seen) != n {
			t.Errorf("visitors read %d of %d", len(seen), n)
		}
		for _, size := range []int{1, 7, 200, 1000} {
			var all []visitors.Post
			for after := ""; ; {
				page, next, err := s.desk.Entries(context.Background(), visitors.KindGuestbook, false, after, size)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, page...)
				if after = next; next == "" {
					break
				}
			}
			if len(all) != n {
				t.Errorf("by %d the keeper reads %d of %d", size, len(all), n)
			}
			for i := range all[1:] {
				if all[i+1].At.Before(all[i].At) {
					t.Errorf("by %d: no. %d is older than the one before", size, i+1)
				}
			}
		}
		for _, bad := range []string{"x", "1.gst_x", "99999999999999.gst_abcdefghij2345672345"} {
			s.want(400, ann, "GET", "/api/guestbook?before="+bad, "")
			if _, _, err := s.desk.Entries(t.Context(), visitors.KindGuestbook, false, bad, 1); err == nil {
				t.Errorf("%q is a place", bad)
			}
		}
	})
}
