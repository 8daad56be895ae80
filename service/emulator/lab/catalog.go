package lab

import "fmt"

type product struct {
	n     int
	sku   string
	name  string
	cents int
	stock int
}

type review struct {
	author string
	rating int
	text   string
}

var productNames = [...]string{
	"Brass desk lamp", "Walnut tray", "Linen notebook", "Steel water bottle",
	"Ceramic pour-over", "Wool blanket", "Cork yoga block", "Enamel camping mug",
	"Oak picture frame", "Copper measuring cup", "Canvas tool roll", "Glass storage jar",
}

// Products is the number of products in the shop; /product/1 to /product/N exist.
const Products = len(productNames)

func productAt(n int) (product, bool) {
	if n < 1 || n > Products {
		return product{}, false
	}
	return product{
		n:     n,
		sku:   fmt.Sprintf("LAB-%04d", 1000+n*7),
		name:  productNames[n-1],
		cents: 1250 + n*n*175%9000,
		stock: (n * 5) % 6, // two of the twelve are sold out
	}, true
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
