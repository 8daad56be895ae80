package lab

import (
	"fmt"
	"slices"
	"strings"
)

type product struct {
	N        int // of the product that it is a variant of
	SKU      string
	Name     string
	variant  string // "" for the product itself
	Category string
	Cents    int
	stock    int
}

type review struct {
	Author string
	Rating int
	Text   string
}

// Products is the number of products on the shop's first page; /product/1 to
// /product/N exist. With its variants the shop has five times as many.
const Products = 12

// variants come after the products, in this order.
const variants = 4

func categories() []string {
	return []string{"lighting", "kitchen", "paper", "outdoor", "home", "workshop"}
}

// catalog is everything in the shop: the products, then their variants.
func catalog() []product {
	out := make([]product, 0, Products*(1+variants))
	for i, p := range [Products]product{
		{Name: "Brass desk lamp", Category: "lighting"},
		{Name: "Walnut tray", Category: "kitchen"},
		{Name: "Linen notebook", Category: "paper"},
		{Name: "Steel water bottle", Category: "outdoor"},
		{Name: "Ceramic pour-over", Category: "kitchen"},
		{Name: "Wool blanket", Category: "home"},
		{Name: "Cork yoga block", Category: "outdoor"},
		{Name: "Enamel camping mug", Category: "outdoor"},
		{Name: "Oak picture frame", Category: "home"},
		{Name: "Copper measuring cup", Category: "kitchen"},
		{Name: "Canvas tool roll", Category: "workshop"},
		{Name: "Glass storage jar", Category: "kitchen"},
	} {
		p.N, p.SKU = i+1, fmt.Sprintf("LAB-%04d", 1007+i*7)
		p.Cents = 1250 + p.N*p.N*175%9000
		p.stock = p.N * 5 % 6 // two of the twelve are sold out
		out = append(out, p)
	}
	for v, name := range [variants]string{"small", "large", "pair", "imperfect"} {
		for _, p := range out[:Products] {
			p.variant = name
			p.SKU += "-" + strings.ToUpper(name[:1])
			p.Name += ", " + name
			p.Cents = p.Cents * [variants]int{80, 130, 190, 60}[v] / 100
			p.stock = (p.stock + v + 1) % 5
			out = append(out, p)
		}
	}
	return out
}

// productWhere finds the first wanted product or variant.
func productWhere(is func(product) bool) (product, bool) {
	all := catalog()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return product{}, false
}

// ID is how the shop's boxes name a product: its number, or the article number of a variant.
func (p product) ID() string {
	if p.variant != "" {
		return p.SKU
	}
	return fmt.Sprint(p.N)
}

// Link is the product's page.
func (p product) Link() string {
	if p.variant != "" {
		return "/shop/product/" + p.SKU
	}
	return fmt.Sprintf("/product/%d", p.N)
}

// Price is the price in dollars, as the page shows it.
func (p product) Price() string { return fmt.Sprintf("$%d.%02d", p.Cents/100, p.Cents%100) }

// Dollars are the price without its cents.
func (p product) Dollars() int { return p.Cents / 100 }

// Available reports whether it is in stock.
func (p product) Available() bool { return p.stock > 0 }

// Availability is the text of Available.
func (p product) Availability() string {
	if p.Available() {
		return "In stock"
	}
	return "Sold out"
}

// Reviews returns two or three reviews.
func (p product) Reviews() []review {
	authors := [...]string{"R. Okafor", "M. Lindqvist", "T. Sato", "A. Moreau"}
	texts := [...]string{
		"Does what it should; the finish is better than the picture.",
		"Arrived quickly, one corner was dented.",
		"Bought a second one for the office.",
		"Smaller than I expected, read the measures first.",
	}
	rs := make([]review, 2+p.N%2)
	for i := range rs {
		rs[i] = review{authors[(p.N+i)%len(authors)], 3 + (p.N+i)%3, texts[(p.N*3+i)%len(texts)]}
	}
	return rs
}
