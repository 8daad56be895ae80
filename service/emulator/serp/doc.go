// Package serp turns a page of search results into the JSON of the SERP product (public
// documentation: general, organic, paid, knowledge_graph, people_also_ask, related_searches,
// pagination and the verticals), and reads the search addresses of several engines.
//
// The SERP product and agent access call it. It reads the markup of the lab's search page,
// whatever engine the address names, because only lab pages can be fetched here:
// lab.test/search?engine=bing (or yandex) chooses which engine's parameters and rules hold. All
// functions are pure and safe for concurrent use. Pages are remote bytes: size, number of items
// and length of texts are bounded, links are http or https.
package serp
