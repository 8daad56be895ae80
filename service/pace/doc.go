// Package pace keeps calls below what the service and its targets put up with (service.md 7: "lower
// concurrency, back off"). [Refusals] counts the service's answers of HTTP 429 for service/exchange.
package pace
