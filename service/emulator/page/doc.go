// Package page reads HTML pages: their markdown, text, title and links, and whether
// a page is a block or a CAPTCHA.
//
// The unlocker, the crawl, the scrapers, agent access and the SERP product call it. All functions
// are pure and safe for concurrent use. Pages are remote bytes: input above [MaxBytes] is refused
// or cut, nesting is bounded by the HTML parser, and nothing read here is used as a path.
package page
