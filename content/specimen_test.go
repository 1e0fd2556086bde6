package content

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// row is what is fixed of a good.
type row struct {
	id, price string
	deserves  bool   // may be paid what it deserves
	input     string // name, ? if optional, and its limit
	kind      string
	once      bool
	weekly    int // how many the keeper takes in a week, within 168 hours; 0: delivered at once
}

var shelf = []row{
	{"hello", "0.5", false, "", KindGreeting, false, 0},
	{"small_blessing", "0.005", false, "", KindBlessing, false, 0},
	{"daily_fortune", "0.01", false, "", KindDaily, false, 0},
	{"the_confession", "0.01", false, "detail 500", KindConfession, false, 0},
	{"spot_check", "0.25", false, "url? 2048 host? 253", KindSpot, false, 0},
	{"good_buyer", "0.99", false, "url 2048 max_usd? 20 no_spend_controls? 5", KindBuyer, false, 0},
	{"phantom_check", "0.25", false, "url 2048", KindPhantom, false, 0},
	{"context_anchor", "1", false, "summary 4000", KindAnchor, false, 0},
	{"bitcoin_anchor", "1", false, "digest 64 label? 120", KindBitcoin, false, 0},
	{"passport_refresh", "1", false, "host 253", KindRefresh, false, 0},
	{"dibs", "2", false, "detail 600", KindClaim, false, 0},
	{"signature_agent_card", "2", false, "url 2048", KindCard, false, 0},
	{"recurring_patronage", "3", false, "pass_id? 64", KindPass, false, 0},
	{"quick_judgment", "3", false, "detail 600", KindHuman, false, 5},
	{"nomenclature", "3", true, "detail? 600", KindName, false, 0},
	{"a2a_repair_kit", "3", false, "url 2048", KindRepair, false, 0},
	{"onpage_audit", "3", false, "url 2048", KindOnpage, false, 0},
	{"jar_of_tuesday", "4", true, "", KindTuesday, true, 0},
	{"conformance_watch", "5", false, "url 2048", KindDays, false, 0},
	{"standing_watch", "5", false, "url 2048", KindHours, false, 0},
	{"pet_rock", "5", true, "", KindRock, false, 0},
	{"luckies", "5", true, "", KindLuckies, false, 0},
	{"service_audit", "5", false, "url 2048", KindAudit, false, 0},
	{"launch_check", "5", false, "url? 2048 host? 253", KindLaunch, false, 0},
	{"provenance_check", "5", false, "address 64", KindProvenance, false, 0},
	{"grudge", "6", true, "detail? 600", KindGrudge, false, 0},
	{"smoker_blessing", "7", true, "", KindBlessing, false, 0},
	{"portrait", "8", true, "", KindPortrait, false, 0},
	{"the_drawer", "9", true, "", KindDrawer, true, 0},
	{"a_secret", "10", true, "", KindSecret, true, 0},
	{"retired_word", "15", true, "detail? 40", KindWord, true, 0},
	{"human_witness", "15", false, "detail 600", KindHuman, false, 2},
	{"certificate_of_patronage", "20", true, "", KindPatronage, false, 0},
	{"the_collab", "25", true, "detail 600", KindHuman, false, 2},
	{"phone_call", "25", false, "detail 600", KindHuman, false, 3},
	{"app_gutcheck", "50", false, "detail 600 url? 2048", KindHuman, false, 2},
}

func TestShelfIsAsDecided(t *testing.T) {
	var got []row
	for _, g := range load(t).Goods {
		r := row{g.ID, g.PriceUSDC(), g.PayWhatItDeserves, "", g.Kind, g.Stock, g.WeeklyInventory}
		for i, in := range g.Inputs {
			if i > 0 {
				r.input += " "
			}
			r.input += in.Name + map[bool]string{true: " ", false: "? "}[in.Required] + strconv.Itoa(in.Max)
		}
		human, term := r.weekly > 0, g.Kind == KindDays || g.Kind == KindHours
		if human != (g.Fulfilment == Human) || human != (g.WindowHours == 168) || term != (g.Fulfilment == Term) {
			t.Errorf("%s is %s, %d a week within %d hours", g.ID, g.Fulfilment, r.weekly, g.WindowHours)
		}
		want := map[string]string{KindAnchor: "context_anchor", KindBitcoin: "bitcoin_anchor",
			KindSpot: "service_audit", KindLaunch: "service_audit", KindBuyer: "service_audit",
			KindRefresh: "service_audit",
			KindCard:    "service_audit", KindAudit: "service_audit", KindRepair: "service_audit",
			KindDays: "service_audit", KindHours: "service_audit", KindOnpage: "onpage_audit",
			KindProvenance: "provenance_check"}[g.Kind]
		if g.Artifact != cmp.Or(want, "certificate") {
			t.Errorf("%s gives a %s", g.ID, g.Artifact)
		}
		got = append(got, r)
	}
	if diff := gocmp.Diff(shelf, got, gocmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("shelf (-decided +loaded):\n%s", diff)
	}
}

func TestProblemPages(t *testing.T) {
	want := map[string]int{
		"bad_since": 400, "body_too_large": 413, "budget_spent": 429, "claim_challenge_invalid": 400,
		"claim_signature_invalid": 403, "gone": 410, "header_too_large": 431, "idempotency_conflict": 422,
		"idempotency_in_flight": 409, "idempotency_key_invalid": 400, "idempotency_keys_disagree": 400, "internal": 500,
		"invalid_input": 400, "ledger_unavailable": 503, "method_not_allowed": 405, "no_callback": 409,
		"not_acceptable": 406,
		"not_found":      404, "own_host_refused": 400, "page_unreadable": 503, "payment_already_used": 409,
		"not_read": 409, "opted_out": 409, "target_held": 409, "upstream_failed": 409,
		"payment_invalid": 402, "payment_not_settled": 409, "payment_refused_for_now": 429, "payment_required": 402,
		"payment_unknown": 503, "precondition_failed": 412, "range_not_satisfiable": 416, "poll_too_soon": 429,
		"rate_limited": 429, "read_today": 429, "request_timeout": 408, "settlement_unavailable": 503,
		"sign_in_refused": 402, "sold_out": 409,
		"signature_invalid": 400,
		"payment_reversed":  409, "refund_owed": 409, "store_closed": 503, "target_refused": 400, "unauthorized": 401,
		"unsupported_media_type": 415, "url_missing": 400, "url_unparseable": 400, "word_already_retired": 409,
		"already_signed": 409, "identity_unavailable": 503, "not_quoted": 409,
		"already_claimed": 409, "domain_paid_this_week": 409, "expired": 410, "not_open": 409,
		"note_refused": 403, "payouts_disabled": 503,
		"screen_unavailable": 503, "screened": 403, "settlement_mismatch": 422, "settlement_not_final": 409,
		"settlement_predates": 422, "transfer_failed": 422,
		"account_not_provisioned": 503, "bad_nonce": 401, "bad_provider_key": 401, "bad_request": 400,
		"bad_signature": 401, "bad_timestamp": 401, "counter_closed": 503, "credit_ceiling": 409,
		"cross_site_refused": 403, "daily_cap": 429, "desk_rate_limited": 429, "missing_headers": 401,
		"not_at_the_counter": 404, "order_lost": 409, "order_released": 409,
		"replayed": 409, "stale_timestamp": 401, "unknown_account": 404,
	}
	got := map[string]int{}
	for _, p := range load(t).Problems() {
		got[p.Code()] = p.Status
		at := -1
		for _, part := range []string{"## What happened\n", "\n## Were you billed\n", "\n## What to do next\n"} {
			i := strings.Index(p.Body, part)
			if i <= at || strings.Count(p.Body, part) != 1 {
				t.Errorf("%s: %q is missing, twice or out of order", p.Name, part)
			}
			at = i
		}
		if strings.ContainsRune(p.Title+p.Summary+p.Body, '!') {
			t.Errorf("%s: raises its voice", p.Name)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("problem pages (-want +got):\n%s", diff)
	}
}

// texts gives every text of the site under the place where it stands.
func texts(s *Site) map[string][]string {
	all := map[string][]string{}
	add := func(where string, ts ...string) {
		for _, t := range ts {
			if t != "" {
				all[where] = append(all[where], t)
			}
		}
	}
	paragraphs := func(where, body string) {
		inCode := false
		for _, p := range regexp.MustCompile(`\n\n|\n(?:- |\d+\. |\|)`).Split(body, -1) {
			if strings.Contains(p, "```") {
				inCode = strings.Count(p, "```")%2 == 1 != inCode
				continue
			}
			// What is left of the line below a table's head says nothing.
			if !inCode && !strings.HasPrefix(p, "#") && !strings.HasPrefix(p, "|") && strings.Trim(p, "-| ") != "" {
				add(where, strings.TrimSpace(p))
			}
		}
	}
	for _, g := range s.Goods {
		add("shelf/"+g.ID, g.Name, g.Subtitle, g.Description, g.WhatItReads, g.Signs, g.DoesNotProve,
			g.Certificate.Note, g.Certificate.Attests, g.Certificate.Purpose)
		add("shelf/"+g.ID, g.Constraints...)
		for _, in := range g.Inputs {
			add("shelf/"+g.ID, in.Help)
		}
		paragraphs("shelf/"+g.ID, g.Body)
	}
	for _, p := range s.Pages {
		add("pages/"+p.Name, p.Summary)
		paragraphs("pages/"+p.Name, p.Body)
	}
	for _, pool := range s.Pools {
		for _, e := range pool.Entries {
			add("pools/"+pool.Name, e.Text)
		}
	}
	for _, i := range s.Issues {
		if i.Publication.Name == "almanac" || i.Publication.Name == "gazette" {
			continue // which are older than this rule and committed to
		}
		add(i.ID, i.Summary)
		paragraphs(i.ID, i.Body)
	}
	for _, lists := range []map[string][]string{s.Porch.Parts, s.Porch.Seasons, s.Porch.Weathers, s.Porch.Weekdays} {
		for name, lines := range lists {
			add("porch/"+name, lines...)
		}
	}
	for _, n := range s.Directory {
		add("directory", n.Review)
	}
	for _, sign := range Signs {
		add("signs", sign.Says)
	}
	return all
}

func TestNoTextIsSaidTwice(t *testing.T) {
	seen := map[string]string{}
	for where, ts := range texts(load(t)) {
		for _, text := range ts {
			key := strings.ToLower(strings.Join(strings.Fields(text), " "))
			if other, is := seen[key]; is {
				t.Errorf("%s and %s both say %q", where, other, text)
			}
			seen[key] = where
		}
	}
}

// TestWordsWeDoNotUse keeps out words that claim what the store does not know,
// and words that nobody says. The pool of words to retire may hold the latter.
func TestWordsWeDoNotUse(t *testing.T) {
	claims := regexp.MustCompile(
		`(?i)\b(trusted|trustless|trustworthy|safe|safely|safer|score|scores|scored|guaranteed?)\b`)
	tired := regexp.MustCompile(
		`(?i)\b(seamless(ly)?|leverage|unlock|empower|robust|cutting-edge|delve|delight(ed|ful)?|elevate|effortless(ly)?|curated|bespoke|vibrant|journey|tapestry|game.changer|world-class|revolution\w*|simply|amazing|excited?)\b`)
	for where, ts := range texts(load(t)) {
		for _, text := range ts {
			if w := claims.FindString(text); w != "" {
				t.Errorf("%s says %q: %s", where, w, text)
			}
			if w := tired.FindString(text); w != "" && where != "pools/words" {
				t.Errorf("%s says %q: %s", where, w, text)
			}
			if strings.ContainsRune(text, '!') && !strings.HasPrefix(where, "pools/") {
				t.Errorf("%s raises its voice: %s", where, text)
			}
			if strings.Contains(text, "—") {
				t.Errorf("%s has a long dash: %s", where, text)
			}
		}
	}
}

func TestEveryEntryEndsAsASentence(t *testing.T) {
	for _, pool := range load(t).Pools {
		if len(pool.Entries) < 42 {
			t.Errorf("%s holds %d entries, the specimen keeps at least 42", pool.Name, len(pool.Entries))
		}
		for _, e := range pool.Entries {
			if !strings.ContainsAny(e.Text[len(e.Text)-1:], ".?\"") {
				t.Errorf("%s: %q does not end", pool.Name, e.Text)
			}
			if first := e.Text[:1]; first != strings.ToUpper(first) {
				t.Errorf("%s: %q does not begin", pool.Name, e.Text)
			}
		}
	}
}

func TestEveryTuesdayIsATuesday(t *testing.T) {
	s := load(t)
	for _, e := range s.Pools["tuesdays"].Entries {
		if e.Date.Weekday() != time.Tuesday || e.Date.After(s.Config.Date) {
			t.Errorf("%s is a %s", e.Date.Format(time.DateOnly), e.Date.Weekday())
		}
	}
}

func TestRetiredWordTakesWordsOnly(t *testing.T) {
	g, _ := load(t).Good("retired_word")
	word := regexp.MustCompile(g.Inputs[0].Pattern)
	for _, good := range []string{"synergy", "low-hanging fruit", "naïveté", "R&D", "don’t", "n/a", "日本"} {
		if !word.MatchString(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", " x", "<b>", "a\nb", "https://x.example", "x@y", "🙂", "-"} {
		if word.MatchString(bad) {
			t.Errorf("%q is taken for a word", bad)
		}
	}
	for _, e := range load(t).Pools["words"].Entries {
		if !word.MatchString(e.Word) || len(e.Word) > g.Inputs[0].Max {
			t.Errorf("the keeper could not retire %q", e.Word)
		}
	}
}

func TestMachinePageHasNoHeadings(t *testing.T) {
	p, _ := load(t).Page("llms")
	for line := range strings.Lines(p.Body) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			t.Errorf("llms.txt is free text before its sections, found %q", line)
		}
	}
}
