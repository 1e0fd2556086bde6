package generator

import "store.example/agentstore/content"

// product describes a good in the words of schema.org, with an offer for each amount that it is
// sold at. It says what the entry of the catalogue says.
type product struct {
	Context     string  `json:"@context"`
	Type        string  `json:"@type"`
	ID          string  `json:"sku"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	URL         string  `json:"url"`
	Image       string  `json:"image"`
	Offers      []offer `json:"offers"`
}

type offer struct {
	Type         string `json:"@type"`
	Name         string `json:"name"`
	Price        string `json:"price"`
	Currency     string `json:"priceCurrency"` // no currency of ISO 4217: the symbol of the token
	URL          string `json:"url"`
	Availability string `json:"availability"`
	Seller       seller `json:"seller"`
}

type seller struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (s *source) product(g *content.Good) product {
	it, available := s.item(g), "https://schema.org/InStock"
	if it.Stock || it.WeeklyInventory > 0 {
		available = "https://schema.org/LimitedAvailability" // how many are left, the door says
	}
	p := product{Context: "https://schema.org", Type: "Product", ID: it.ID, Name: it.Name, Description: it.Description,
		URL: it.ItemPage, Image: s.base + "/preview/store.png"}
	for _, t := range it.Tiers {
		p.Offers = append(p.Offers, offer{Type: "Offer", Name: t.Name, Price: t.USDC, Currency: "USDC", URL: it.BuyURL,
			Availability: available, Seller: seller{"Organization", s.Site.Config.Title, s.base}})
	}
	return p
}
