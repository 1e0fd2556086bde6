package templates

import (
	"cmp"
	"fmt"
	"slices"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
)

// purchasesShown is how many purchases the page lists; the JSON beside it has more.
const purchasesShown = 30

// PurchasesSheet is /corpus/purchases.
func PurchasesSheet(v SheetView, p derive.PurchasesView) SheetView {
	if len(p.Weeks) == 0 {
		v.Empty = &Emptiness{Says: "Nothing is here yet.", Why: derive.NoPurchases}
		return v
	}
	shown := p.Weeks[max(0, len(p.Weeks)-tableWeeks):]
	own := &Table{Caption: fmt.Sprintf("Our own purchases, the last %d of %s with a purchase, newest first", len(shown),
		screen.Count(int64(len(p.Weeks)), "week")), Dense: true, Head: heads("Week", "#Delivered of tried",
		"#Charged of tried", "#Charged, not delivered", "#In 10,000", "#Delivered, not charged", "#Charged twice")}
	told := &Table{Caption: "What others told of, the same weeks", Dense: true, Head: heads("Week",
		"#Sellers: delivered of told", "#Charged twice", "#Strangers: delivered of told", "#Charged twice",
		"#No outcome told")}
	for _, w := range slices.Backward(shown) {
		rate := words("–")
		if w.Rate != nil {
			rate = num(*w.Rate)
		}
		own.Rows = append(own.Rows, []Cell{mono(w.Week), share(w.Own.Delivered, w.Own.Tried),
			share(w.Own.Charged, w.Own.Tried), share(w.Own.NotDelivered, w.Own.Charged), rate,
			share(w.Own.NotCharged, w.Own.Delivered), share(w.Own.ChargedTwice, w.Own.AskedTwice)})
		told.Rows = append(told.Rows, []Cell{mono(w.Week), share(w.BySellers.Delivered, w.BySellers.Tried),
			share(w.BySellers.ChargedTwice, w.BySellers.AskedTwice),
			share(w.ByStrangers.Delivered, w.ByStrangers.Tried),
			share(w.ByStrangers.ChargedTwice, w.ByStrangers.AskedTwice), num(w.Untold)})
	}
	list := &Table{Caption: fmt.Sprintf("The newest %d of %s", min(purchasesShown, len(p.Newest)),
		screen.Count(int64(len(p.Newest))+p.LeftOut, "purchase")), Dense: true,
		Head: heads("When", "Host", "By", "Outcome", "#USDC", "Charged twice", "Body")}
	for _, one := range p.Newest[:min(purchasesShown, len(p.Newest))] {
		body := ""
		if one.Claim != nil {
			body = one.Claim.BodySHA256
		}
		list.Rows = append(list.Rows, []Cell{mono(one.At), {Text: one.Host, Href: derive.HostPath(one.Host)},
			words(cmp.Or(boughtBy[one.By], "untold")), words(InWords(cmp.Or(one.Outcome, "untold"))),
			{Text: one.USDC, Mono: true}, words(InWords(one.ChargedTwice)), mono(cmp.Or(short(body), "–"))})
	}
	all := p.All
	v.Sections = []Section{
		{ID: "own", Title: "What we bought ourselves", Says: []string{fmt.Sprintf("Of %d purchases so far, %d were "+
			"answered with the good and %d were charged; of those, %d were charged and not delivered.", all.Own.Tried,
			all.Own.Delivered, all.Own.Charged, all.Own.NotDelivered)}, Table: own},
		{ID: "told", Title: "What others told of", Says: []string{"Whoever tells of a purchase chooses which. That " +
			"its money moved was read on the network; the rest is the walker's word, and in no rate."}, Table: told},
		{ID: "bought", Title: "Purchases", Table: list},
	}
	return v
}

// short is the beginning of a digest.
func short(digest string) string {
	if len(digest) < 16 {
		return digest
	}
	return digest[:16] + "…"
}

// boughtBy says in words who bought.
var boughtBy = map[string]string{
	record.BoughtByStore:    "this store",
	record.BoughtBySeller:   "its seller, they say",
	record.BoughtByStranger: "a stranger",
}
