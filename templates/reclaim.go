package templates

// ReclaimView is the page that tells of payments which are held, and takes one back by a wallet of
// the browser once its deadline is over.
type ReclaimView struct {
	Chrome *Chrome
	Page   Page
	Body   Prose
	Escrow string // the contract that holds them, on every network
	// Networks are the names of networks by their CAIP-2 ids, as JSON.
	Networks string
}

func (*ReclaimView) template() string { return "reclaim" }
