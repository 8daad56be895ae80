// Package pace keeps calls below what the service and its targets put up with (service.md 7: "lower
// concurrency, back off"): how many calls of a zone, and of it to a host, go at once, by what came of those
// before them (a [Limiter], by the rules of [Zone] and [Pace]). [Refusals] counts the service's answers of HTTP 429 for service/exchange.
package pace
