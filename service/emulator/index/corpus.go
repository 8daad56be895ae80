package index

import (
	"cmp"
	"crypto/sha256"
	"math"
	"net/url"
	"slices"
	"strings"
)

// The usual constants of BM25.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// How often a word of each part counts.
const (
	titleWeight       = 3
	descriptionWeight = 2
	categoryWeight    = 2
)

// Corpus is a full-text index over documents. It never changes.
type Corpus struct {
	docs     []entry
	postings map[string][]posting
	average  float64 // weighted words in a document
}

type entry struct {
	Document
	length float64
	// lower is everything that can be read in the document, for phrases and keywords.
	lower string
	// print is the same for documents with the same words.
	print [sha256.Size]byte
}

type posting struct {
	doc  int32
	freq float32
}

// NewCorpus indexes the documents.
func NewCorpus(docs []Document) *Corpus {
	c := &Corpus{docs: make([]entry, len(docs)), postings: map[string][]posting{}}
	total := 0.0
	for i, d := range docs {
		e := entry{Document: d.cut()}
		freq := map[string]float32{}
		for _, part := range [...]struct {
			text   string
			weight float32
		}{{e.Title, titleWeight}, {e.Description, descriptionWeight}, {e.Category, categoryWeight}, {e.Text, 1}} {
			for _, w := range words(part.text) {
				freq[w] += part.weight
				e.length += float64(part.weight)
			}
		}
		e.lower = strings.Join(rawWords(strings.Join([]string{e.Title, e.Description, e.Category, e.Text}, "\n")), " ")
		e.print = sha256.Sum256([]byte(strings.Join(rawWords(e.Title+"\n"+e.Text), " ")))
		for w, f := range freq {
			c.postings[w] = append(c.postings[w], posting{int32(i), f})
		}
		c.docs[i] = e
		total += e.length
	}
	c.average = total / float64(max(len(docs), 1))
	return c
}

// Len is the number of documents.
func (c *Corpus) Len() int { return len(c.docs) }

// scores rates the documents that hold at least one of the terms, from 0 to 1: 1 would be
// a document about nothing but these terms. A term that no document holds lowers all.
func (c *Corpus) scores(terms []string) map[int]float64 {
	terms = slices.Compact(slices.Sorted(slices.Values(terms)))
	n, best := float64(len(c.docs)), 0.0
	out := map[int]float64{}
	for _, t := range terms {
		ps := c.postings[t]
		idf := math.Log(1 + (n-float64(len(ps))+0.5)/(float64(len(ps))+0.5))
		best += idf * (bm25K + 1)
		for _, p := range ps {
			f := float64(p.freq)
			out[int(p.doc)] += idf * f * (bm25K + 1) / (f + bm25K*(1-bm25B+bm25B*c.docs[p.doc].length/c.average))
		}
	}
	for i := range out {
		out[i] /= best
	}
	return out
}

// hit is a document that was found; score is from 0 to 1.
type hit struct {
	doc   int
	score float64
}

// ranked are the hits, the best first; equal ones in the documents' order.
func ranked(scores map[int]float64) []hit {
	hits := make([]hit, 0, len(scores))
	for i, s := range scores {
		hits = append(hits, hit{i, s})
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
	})
	return hits
}

// holds tells whether all words of the keyword stand in the document, one after the
// other.
func (e *entry) holds(keyword string) bool {
	k := strings.Join(rawWords(keyword), " ")
	return k != "" && strings.Contains(" "+e.lower+" ", " "+k+" ")
}

// host is the host of the document's address, without port.
func (e *entry) host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// asked is a search text, taken apart: "quoted words" have to stand as they are, -word
// must not occur, site:host narrows to a host and those below it.
type asked struct {
	terms   []string
	phrases []string
	without []string
	site    string
}

func parseAsked(text string) asked {
	var a asked
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			if len(rawWords(part)) > 0 {
				a.phrases = append(a.phrases, part)
				a.terms = append(a.terms, words(part)...)
			}
			continue
		}
		for _, w := range strings.Fields(part) {
			switch site, isSite := strings.CutPrefix(strings.ToLower(w), "site:"); {
			case isSite:
				host, _, _ := strings.Cut(site, "/")
				a.site = host
			case len(w) > 1 && w[0] == '-':
				a.without = append(a.without, w[1:])
			default:
				a.terms = append(a.terms, words(w)...)
			}
		}
	}
	return a
}

// allows tells whether the document meets what the text demands beside its words.
func (a asked) allows(e *entry) bool {
	if a.site != "" {
		if h := e.host(); h != a.site && !strings.HasSuffix(h, "."+a.site) {
			return false
		}
	}
	for _, p := range a.phrases {
		if !e.holds(p) {
			return false
		}
	}
	return !slices.ContainsFunc(a.without, e.holds)
}
