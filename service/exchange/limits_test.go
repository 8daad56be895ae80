package exchange

import (
	"testing"

	"zonedeck/model"
)

// service.md 8: the browser and crawl products are treated as heavier than the SERP
// product.
func TestHeavyProductsGetFewerPlacesAndMoreTime(t *testing.T) {
	light := LimitOf(model.ProductSERP)
	for _, p := range []model.Product{model.ProductBrowser, model.ProductCrawl} {
		if heavy := LimitOf(p); heavy.Concurrency < 1 || heavy.Concurrency >= light.Concurrency || heavy.Timeout <= light.Timeout {
			t.Errorf("%s: %d at once for %v, beside SERP's %d for %v", p, heavy.Concurrency, heavy.Timeout, light.Concurrency, light.Timeout)
		}
	}
}

func TestEveryProductHasALimitWithItsReason(t *testing.T) {
	for _, p := range append(model.Products(), "", "something new") {
		if l := LimitOf(p); l.Product != p || l.Concurrency < 1 || l.Timeout <= 0 || l.Reason == "" {
			t.Errorf("%q: %+v", p, l)
		}
	}
	unknown, unnamed := LimitOf("something new"), LimitOf("")
	if unknown.Product = unnamed.Product; unknown != unnamed {
		t.Error("two products that are not known differ")
	}
}

// What the comment of KeyRate says of public documentation.
func TestOneKeyStaysBelowAThousandCallsAMinute(t *testing.T) {
	if calls := KeyBurst + 60*KeyRate; calls > 1000 {
		t.Errorf("%d calls in a minute", calls)
	}
}
