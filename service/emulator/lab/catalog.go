package lab

import (
	"fmt"
	"strings"
)

type product struct {
	n        int // of the product that it is a variant of
	sku      string
	name     string
	variant  string // "" for the product itself
	category string
	cents    int
	stock    int
}

type review struct {
	author string
	rating int
	text   string
}

// Products is the number of products on the shop's first page; /product/1 to
// /product/N exist. With its variants the shop has five times as many.
const Products = 12

// variants come after the products, in this order.
const variants = 4

func productName(n int) string {
	return [...]string{
		"Brass desk lamp", "Walnut tray", "Linen notebook", "Steel water bottle",
		"Ceramic pour-over", "Wool blanket", "Cork yoga block", "Enamel camping mug",
		"Oak picture frame", "Copper measuring cup", "Canvas tool roll", "Glass storage jar",
	}[n-1]
}

// categories are the shop's departments.
func categories() []string {
	return []string{"lighting", "kitchen", "paper", "outdoor", "home", "workshop"}
}

func categoryOf(n int) string {
	return categories()[[...]int{0, 1, 2, 3, 1, 4, 3, 3, 4, 1, 5, 1}[n-1]]
}

func productAt(n int) (product, bool) {
	if n < 1 || n > Products {
		return product{}, false
	}
	return product{
		n:        n,
		sku:      fmt.Sprintf("LAB-%04d", 1000+n*7),
		name:     productName(n),
		category: categoryOf(n),
		cents:    1250 + n*n*175%9000,
		stock:    (n * 5) % 6, // two of the twelve are sold out
	}, true
}

// catalog is everything in the shop: the products, then their variants.
func catalog() []product {
	out := make([]product, 0, Products*(1+variants))
	for n := range Products {
		p, _ := productAt(n + 1)
		out = append(out, p)
	}
	for v, name := range [variants]string{"small", "large", "pair", "imperfect"} {
		for n := range Products {
			p, _ := productAt(n + 1)
			p.variant = name
			p.sku += "-" + strings.ToUpper(name[:1])
			p.name += ", " + name
			p.cents = p.cents * [variants]int{80, 130, 190, 60}[v] / 100
			p.stock = (p.stock + v + 1) % 5
			out = append(out, p)
		}
	}
	return out
}

// productOf finds a product by its name in lower case.
func productOf(topic string) (product, bool) {
	for n := range Products {
		if p, _ := productAt(n + 1); strings.EqualFold(p.name, topic) {
			return p, true
		}
	}
	return product{}, false
}

// productBySKU finds a product or a variant by its number.
func productBySKU(sku string) (product, bool) {
	for _, p := range catalog() {
		if p.sku == sku {
			return p, true
		}
	}
	return product{}, false
}

func (p product) price() string { return fmt.Sprintf("$%d.%02d", p.cents/100, p.cents%100) }

func (p product) availability() string {
	if p.stock == 0 {
		return "Sold out"
	}
	return "In stock"
}

func (p product) reviews() []review {
	authors := [...]string{"R. Okafor", "M. Lindqvist", "T. Sato", "A. Moreau"}
	texts := [...]string{
		"Does what it should; the finish is better than the picture.",
		"Arrived quickly, one corner was dented.",
		"Bought a second one for the office.",
		"Smaller than I expected, read the measures first.",
	}
	rs := make([]review, 0, 3)
	for i := range 2 + p.n%2 {
		rs = append(rs, review{
			author: authors[(p.n+i)%len(authors)],
			rating: 3 + (p.n+i)%3,
			text:   texts[(p.n*3+i)%len(texts)],
		})
	}
	return rs
}
