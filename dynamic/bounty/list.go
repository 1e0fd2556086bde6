package bounty

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// Shown is how long a bounty is listed from its posting.
const Shown = 35 * 24 * time.Hour

// maxShown bounds the list.
const maxShown = 500

// Board is the bounty board.
type Board struct {
	HowToClaim    []string    `json:"how_to_claim"`
	Rules         []string    `json:"the_rules"`
	Method        string      `json:"method"`
	Bounties      []View      `json:"bounties"` // the newest first
	OpenCount     int         `json:"open_count"`
	Week          string      `json:"week"`
	Budget        float64     `json:"weekly_budget_usd"`
	Spent         float64     `json:"spent_this_week_usd"`
	Enabled       bool        `json:"payouts_enabled"`
	WhyNot        string      `json:"why_not_enabled,omitzero"`
	Screen        ScreenState `json:"screen"`
	FloatIsShort  bool        `json:"float_is_short"` // claims are taken, and wait for the keeper to fill it
	BudgetReopens string      `json:"budget_reopens_at"`
}

// View is a bounty as everybody reads it.
type View struct {
	ID            string  `json:"bounty_id"`
	TargetURL     string  `json:"target_url"`
	Domain        string  `json:"domain"`
	Host          string  `json:"host"`
	Network       string  `json:"network"`
	Asset         string  `json:"asset"`
	PayTo         string  `json:"pay_to"`
	Amount        string  `json:"amount_atomic"`
	AmountUSD     float64 `json:"amount_usd"`
	RewardUSD     float64 `json:"reward_usd"`
	Reward        string  `json:"reward_atomic"`
	PayoutNetwork string  `json:"payout_network"`
	OpenedAt      string  `json:"opened_at"`
	OpenedBlock   uint64  `json:"opened_block"`
	ExpiresAt     string  `json:"expires_at"`
	Status        string  `json:"status"`
	Note          string  `json:"note,omitzero"`
	PaidTx        string  `json:"paid_tx,omitzero"` // that redeemed the reward
}

func view(b *Bounty, now time.Time) View {
	v := View{ID: b.ID, TargetURL: b.URL, Domain: b.Domain, Host: b.Host, Network: b.Network, Asset: b.Asset,
		PayTo: b.PayTo, Amount: strconv.FormatInt(b.Amount, 10), AmountUSD: usd(b.Amount), RewardUSD: usd(b.Reward),
		Reward: strconv.FormatInt(b.Reward, 10), PayoutNetwork: b.PayoutNetwork,
		OpenedAt: b.Opened.UTC().Format(time.RFC3339), OpenedBlock: b.OpenedBlock,
		ExpiresAt: b.Expires.UTC().Format(time.RFC3339), Status: b.Status(now), Note: b.Note}
	if b.Claim != nil && b.Claim.Paid != nil {
		v.PaidTx = b.Claim.Paid.Tx
	}
	return v
}

// board reads the board as it stands.
func (d *Service) board(r *http.Request) (Board, error) {
	out := Board{Method: "A claim is judged on the chain that the door is paid on, at finalized depth: the " +
		"transaction must use an authorization of the payer's that moves exactly amount_atomic of asset to pay_to, " +
		"in a block after opened_block. What was taken stands as a paid walk on the host's page, with its transaction.",
		HowToClaim: []string{
			"Buy at target_url as you would anywhere, at the price in amount_atomic; keep the transaction.",
			"Wait until its block is final.",
			"POST " + d.cfg.BaseURL + "/api/bounty-claim with bounty_id, tx_hash, payer and payout_to. A claim " +
				"publishes the transaction on the host's page.",
			"Redeem the authorization that comes back, from any account that has gas. It pays payout_to alone.",
		},
		Rules: []string{
			"Each bounty is paid once, each settlement is good for one bounty, and a domain has one payout a week.",
			fmt.Sprintf("A reward is at most %s USDC; all rewards of an ISO week are at most %s USDC.",
				content.FormatUSDC(MaxReward), content.FormatUSDC(WeeklyBudget)),
			fmt.Sprintf("A bounty is open for %d days. The claim has to arrive before it expires.",
				OpenFor/(24*time.Hour)),
			"payout_to is the payer, or an address that the payer signed for. A payer on Solana names an EVM address " +
				"and signs for it.",
			"A report is published as the payer's word, so that a claim with one is signed by the payer.",
			"Nothing is paid to addresses on the keeper's lists, and nothing at all while they cannot be read.",
			"A refusal holds nothing: the same claim may be sent again.",
		}}
	var now time.Time
	err := d.cfg.DB.View(r.Context(), func(tx ledger.Tx) error {
		now = tx.Now().UTC()
		all, err := since(tx, now.Add(-Shown))
		if err != nil {
			return err
		}
		out.Bounties, out.OpenCount, out.Week = []View{}, 0, record.ISOWeek(now)
		for _, b := range all[:min(len(all), maxShown)] {
			v := view(&b, now)
			if v.Status == StatusOpen {
				out.OpenCount++
			}
			out.Bounties = append(out.Bounties, v)
		}
		spent, err := spentIn(tx, out.Week)
		out.Budget, out.Spent = usd(WeeklyBudget), usd(spent)
		return err
	})
	if err != nil {
		return out, down(err)
	}
	out.BudgetReopens = monday(now).AddDate(0, 0, 7).Format(time.RFC3339)
	var closed error
	out.Screen, closed = d.cfg.Screen.State()
	switch {
	case d.cfg.Account == nil:
		out.WhyNot = "No account that pays is configured."
	case closed != nil:
		out.WhyNot = "The lists of addresses that nothing is paid to cannot be read."
	}
	out.Enabled = out.WhyNot == ""
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.float {
		out.FloatIsShort = out.FloatIsShort || f.Short()
	}
	return out, nil
}

// getBoard answers GET /api/bounties and GET /bounties: JSON, or a page or its twin, by Accept.
func (d *Service) getBoard(w http.ResponseWriter, r *http.Request) error {
	out, err := d.board(r)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=60")
	return route.Answer(w, r, http.StatusOK, out, func() *templates.SheetView {
		v := sheet(out)
		v.Chrome = d.cfg.Chrome()
		return v
	})
}

// sheet is the board as a page.
func sheet(b Board) *templates.SheetView {
	v := &templates.SheetView{Page: templates.Page{Title: "Bounties", Path: "/bounties", Summary: "Rewards for " +
		"buying once at a door, and showing the transaction."}}
	if len(b.Bounties) == 0 {
		v.Empty = &templates.Emptiness{Says: "No bounty is posted.", Why: "The keeper posts one where nobody has " +
			"walked through a door that asks for money, and the record has only what an unpaid look can see."}
	}
	t := &templates.Table{Caption: "Bounties that are not open any more, the newest first",
		Head: []templates.Column{{Name: "Host"}, {Name: "Pays, USDC", Number: true}, {Name: "Status"}, {Name: "Until"},
			{Name: "Bounty"}}}
	marks := map[string]string{StatusHeld: "unknown", StatusPaid: "good", StatusExpired: "unknown"}
	for _, x := range b.Bounties {
		if x.Status == StatusOpen {
			v.Sections = append(v.Sections, openSection(x))
			continue
		}
		t.Rows = append(t.Rows, []templates.Cell{{Text: x.Host, Mono: true}, {Text: amount(x.RewardUSD)},
			{Text: x.Status, Mark: marks[x.Status]}, {Text: x.ExpiresAt[:10]}, {Text: x.ID, Mono: true}})
	}
	paid := "Claims are taken."
	if !b.Enabled {
		paid = "Claims are not taken at the moment. " + b.WhyNot
	} else if b.FloatIsShort {
		paid = "Claims are taken, and wait until the keeper has filled the account that pays."
	}
	if len(t.Rows) > 0 {
		v.Sections = append(v.Sections, templates.Section{ID: "earlier", Title: "Earlier", Table: t})
	}
	v.Sections = append(v.Sections,
		templates.Section{ID: "week", Title: "This week", Says: []string{fmt.Sprintf("Of %s USDC for %s, %s are paid "+
			"out; it begins anew at %s. %s", amount(b.Budget), b.Week, amount(b.Spent), b.BudgetReopens, paid)}},
		templates.Section{ID: "how", Title: "How to claim", Steps: b.HowToClaim},
		templates.Section{ID: "rules", Title: "The rules", Says: append(b.Rules, b.Method)})
	return v
}

// openSection is a bounty that may be claimed.
func openSection(x View) templates.Section {
	s := templates.Section{ID: x.ID, Title: amount(x.RewardUSD) + " USDC for a purchase at " + x.Host,
		Facts: []templates.Fact{{Name: "Door", Value: x.TargetURL, Mono: true},
			{Name: "Costs", Value: amount(x.AmountUSD) + " USDC on " + x.Network},
			{Name: "Pays", Value: amount(x.RewardUSD) + " USDC on " + x.PayoutNetwork},
			{Name: "Open until", Value: x.ExpiresAt}, {Name: "Bounty", Value: x.ID, Mono: true}}}
	if x.Note != "" {
		s.Facts = append(s.Facts, templates.Fact{Name: "The keeper notes", Value: x.Note})
	}
	return s
}

func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// BudgetClaims is the budget that claims spend: each reads a chain.
const BudgetClaims = "bounty_claims"

// BudgetReports is the budget that reports of purchases spend: each reads a door and a chain.
const BudgetReports = "purchase_reports"

const tag = "bounties"

// maxBody bounds a claim: every field at its longest, each character escaped.
const maxBody = 64 << 10

// Rows are the routes of this board.
func (d *Service) Rows() []route.Row {
	board := route.Answers[Board](http.StatusOK, "The board", 503)
	const about = "Rewards for buying once at a named door and showing the transaction. Statuses are open, held " +
		"(claimed, the authorization not redeemed), paid and expired."
	return []route.Row{
		{Name: "bounties", Method: http.MethodGet, Pattern: "/api/bounties", Serve: api.Ledger,
			Tag: tag, Summary: "The bounty board", Description: about, Responses: board,
			Handle: d.getBoard},
		{Name: "bounties_page", Method: http.MethodGet, Pattern: "/bounties", Serve: api.Ledger,
			Tag: tag, Summary: "The bounty board, as a page for people", Description: about,
			Responses: board, Handle: d.getBoard},
		{Name: "bounty_claim", Method: http.MethodPost, Pattern: "/api/bounty-claim",
			Serve: api.Private, Budget: BudgetClaims, Tag: tag,
			Summary: "Claim a bounty with the transaction of your purchase",
			Description: "The settlement is read from its chain at finalized depth. The reward comes back as a " +
				"signed EIP-3009 authorization that anybody may redeem and that pays payout_to alone. The same claim " +
				"again gets the same answer, and a fresh authorization where the last one has expired.",
			Body: &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[ClaimRequest](), Limit: maxBody,
				Description: "bounty_id, tx_hash, payer, payout_to, and what else there is"},
			Responses: route.OK[Claimed]("Taken, with the authorization that pays", 400, 403, 404, 409, 410, 413, 415,
				422, 429, 503),
			Handle: d.postClaim},
		{Name: "purchase_report", Method: http.MethodPost, Pattern: "/api/purchase-report",
			Serve: api.Private, Budget: BudgetReports, Tag: tag,
			Summary: "Put a purchase at a door on the record, as its seller or anybody",
			Description: "The payer signs what is told, the door is asked for its terms, and each transaction is " +
				"read from its chain at finalized depth. It becomes a paid walk, with what the door answered as the " +
				"walker's word: /corpus/purchases counts such walks apart from the store's own, in no rate. The same " +
				"report again gets the same answer.",
			Body: &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[buyer.PurchaseReport](), Limit: maxBody,
				Description: "url, by, network, tx_hash, payer, payer_signature, and what the door answered"},
			Responses: route.OK[Reported]("Taken: the number of the observation", 400, 403, 409, 413, 415, 422, 429,
				503),
			Handle: d.postReport},
	}
}
