package model

import "fmt"

// Product is what a zone gives access to (service.md 1). The zero value is
// "not known", which is what a profile says when it names no product.
type Product string

// The products of the service, as they are written in configuration files.
const (
	ProductUnknown     Product = ""
	ProductDatacenter  Product = "datacenter"
	ProductISP         Product = "isp"
	ProductResidential Product = "residential"
	ProductMobile      Product = "mobile"
	ProductUnlocker    Product = "unlocker"
	ProductSERP        Product = "serp"
	ProductBrowser     Product = "browser"
	ProductCrawl       Product = "crawl"
	ProductScrapers    Product = "scrapers"
	ProductDatasets    Product = "datasets"
	ProductDiscover    Product = "discover"
	ProductDeepLookup  Product = "deep_lookup"
	ProductAgent       Product = "agent"
)

// productFacts is what the contract says of one product.
type productFacts struct {
	label   string
	network bool // one of the four proxy networks
	native  bool // native access is supported (service.md 5.2)
	heavy   bool // treated as heavier than SERP (service.md 8)
	ca      bool // the client must trust the service's CA without an identity check (5.2 rule 3)
}

// products is in the order in which the contract names them.
var products = []Product{
	ProductDatacenter, ProductISP, ProductResidential, ProductMobile,
	ProductUnlocker, ProductSERP, ProductBrowser, ProductCrawl, ProductScrapers,
	ProductDatasets, ProductDiscover, ProductDeepLookup, ProductAgent,
}

func (p Product) facts() productFacts {
	switch p {
	case ProductDatacenter:
		return productFacts{label: "datacenter network", network: true, native: true}
	case ProductISP:
		return productFacts{label: "ISP network", network: true, native: true}
	case ProductResidential:
		return productFacts{label: "residential network", network: true, native: true, ca: true}
	case ProductMobile:
		return productFacts{label: "mobile network", network: true, native: true}
	case ProductUnlocker:
		return productFacts{label: "unlocker", native: true, ca: true}
	case ProductSERP:
		return productFacts{label: "search results (SERP)"}
	case ProductBrowser:
		return productFacts{label: "remote browser", native: true, heavy: true}
	case ProductCrawl:
		return productFacts{label: "crawl", heavy: true}
	case ProductScrapers:
		return productFacts{label: "ready-made scrapers"}
	case ProductDatasets:
		return productFacts{label: "data feeds (dataset jobs)"}
	case ProductDiscover:
		return productFacts{label: "discovery"}
	case ProductDeepLookup:
		return productFacts{label: "deep lookup"}
	case ProductAgent:
		return productFacts{label: "agent/MCP access"}
	default:
		return productFacts{label: "product not known"}
	}
}

// Products lists every product in the order of service.md 1.
func Products() []Product { return append([]Product(nil), products...) }

// ParseProduct reads a product name; the empty string is ProductUnknown.
func ParseProduct(s string) (Product, error) {
	if s == "" {
		return ProductUnknown, nil
	}
	for _, p := range products {
		if string(p) == s {
			return p, nil
		}
	}
	return ProductUnknown, fmt.Errorf("product %q is not one of %v", s, products)
}

// Label is the product's name in words.
func (p Product) Label() string { return p.facts().label }

// String is the product's name as configuration files write it.
func (p Product) String() string {
	if p == ProductUnknown {
		return "unknown"
	}
	return string(p)
}

// Network reports whether p is one of the four proxy networks.
func (p Product) Network() bool { return p.facts().network }

// APIAccess reports whether the product is reachable by API Access. All are:
// "all products are reached through one of two access methods" and the same
// zone can be addressed by either (service.md 1), while native access is
// limited to a list (5.2).
func (p Product) APIAccess() bool { return true }

// NativeAccess reports whether native access is supported: the four proxy
// networks, the unlocker and the remote browser (service.md 5.2). An unknown
// product reports true: the console cannot say no for a product it was not told.
func (p Product) NativeAccess() bool { return p == ProductUnknown || p.facts().native }

// Heavy reports whether the product counts as heavier than SERP (service.md 8).
func (p Product) Heavy() bool { return p.facts().heavy }
