package lab

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// index finds articles by words: all words of the query where some article has them
// all, else any of them; the rarer a word and the higher up it stands, the better.
type index struct {
	articles []article
	bySlug   map[string]int
	postings map[string][]posting
}

type posting struct {
	article int
	weight  float64
}

// Weights of where a word stands.
const (
	inTitle       = 8
	inDescription = 3
	inText        = 1
)

func newIndex() *index {
	x := &index{articles: articles(), bySlug: map[string]int{}, postings: map[string][]posting{}}
	for i, a := range x.articles {
		x.bySlug[a.Slug] = i
		weights := map[string]float64{}
		for _, part := range [...]struct {
			text   string
			weight float64
		}{{a.Title, inTitle}, {a.Category, inDescription}, {a.Description, inDescription}, {a.Text, inText}} {
			for _, w := range words(part.text) {
				weights[stem(w)] += part.weight
			}
		}
		for w, weight := range weights {
			x.postings[w] = append(x.postings[w], posting{i, weight})
		}
	}
	return x
}

// stem takes the plural off.
func stem(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// maxQueryWords bounds how much of a query is looked up.
const maxQueryWords = 16

// find gives the positions of the articles for a query, best first; keep chooses which
// count.
func (x *index) find(query string, keep func(*article) bool) []int {
	terms := termsOf(query, false)
	if len(terms) == 0 {
		terms = termsOf(query, true)
	}
	score, matched := map[int]float64{}, map[int]int{}
	for _, w := range terms {
		list := x.postings[w]
		idf := math.Log(1 + float64(len(x.articles))/float64(1+len(list)))
		for _, p := range list {
			if keep(&x.articles[p.article]) {
				score[p.article] += idf * p.weight / (p.weight + 4)
				matched[p.article]++
			}
		}
	}
	most := 0
	for _, n := range matched {
		most = max(most, n)
	}
	var out []int
	for i := range score {
		if most < len(terms) || matched[i] == most {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return out
}

// termsOf gives the different words of a query, those on nearly every page on demand
// only.
func termsOf(query string, all bool) []string {
	var terms []string
	for _, w := range words(query) {
		if w = stem(w); (all || !stopWord(w)) && len(terms) < maxQueryWords && !slices.Contains(terms, w) {
			terms = append(terms, w)
		}
	}
	return terms
}

// stopWord reports whether a word is on nearly every page.
func stopWord(w string) bool {
	switch w {
	case "a", "an", "and", "are", "at", "by", "do", "doe", "for", "from", "how", "i", "in", "is", "it", "of", "on", "or",
		"the", "thi", "to", "what", "when", "which", "who", "with":
		return true
	}
	return false
}
