package index

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// value is the fact for a column: a string or a float64.
func (d *document) value(column string) (any, bool) {
	for parts := nameWords(column); len(parts) > 0; parts = parts[1:] {
		if v, ok := d.facts[factName(strings.Join(parts, " "))]; ok {
			return v, v != ""
		}
		if last := len(parts) - 1; last > 0 && slices.Contains([]string{"year", "date", "count"}, parts[last]) {
			if v, ok := d.facts[factName(strings.Join(parts[:last], " "))]; ok {
				return v, v != ""
			}
		}
		if !d.isItself(parts[0]) {
			break
		}
	}
	return nil, false
}

// nameWords are the words of a column's name: employee_count, "Employee count" and
// employeeCount are the same.
func nameWords(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return words(b.String())
}

// factName is the name of a fact that has synonyms.
func factName(name string) string { return cmp.Or(synonyms[name], name) }

var synonyms = map[string]string{
	"title": "name", "headline": "name",
	"link": "url", "source": "url",
	"summary": "description",
	"section": "category",
	"date":    "published", "publication": "published", "updated": "published",
	"publication year": "published year",
	"cost":             "price", "prices": "price",
	"stars": "rating", "score": "rating", "rated": "rating", "ratings": "rating",
	"stock": "availability", "available": "availability",
	"byline": "author", "writer": "author",
	"mail":      "email",
	"telephone": "phone",
}

// isItself reports whether a column's first word names the document itself, as in
// product_name, and not something in it, as in cto_name.
func (d *document) isItself(word string) bool {
	switch word {
	case "page", "document", "item", "entity", "record", "article", "product", "source":
		return true
	}
	return word == strings.TrimSuffix(strings.ToLower(d.Category), "s")
}

// comparisons is the pattern of a constraint with a number or a date in it, compiled on
// first use.
var comparisons = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(under|below|less than|cheaper than|fewer than|at most|no more than|up to|<=|<|over|above|more than|greater than|higher than|better than|at least|>=|>|after|since|before|until)\s*[$€£]?\s*(\d{4}-\d{2}-\d{2}|\d[\d,]*(?:\.\d+)?)\s*(k\b|m\b|thousand\b|million\b)?`)
})

// meets reports whether a document meets a constraint.
func (c *corpus) meets(ctx context.Context, h hit, constraint column) (bool, error) {
	text := constraint.Description
	if text == "" {
		text = strings.Join(nameWords(constraint.Name), " ")
	}
	if m := comparisons().FindStringSubmatch(text); m != nil {
		return h.doc.compares(constraint, strings.ToLower(m[1]), m[2], strings.ToLower(m[3])), nil
	}
	wanted := parseQuery(text)
	all := quoted(wanted.phrases)
	if len(all) == 0 {
		all = quoted(slices.DeleteFunc(wanted.terms, func(w string) bool { return isAsking(w) || w == "category" || w == "mentions" }))
	}
	if len(all) == 0 {
		return false, nil
	}
	return c.holds(ctx, h.number, strings.Join(all, " AND "))
}

func (d *document) compares(c column, op, limit, unit string) bool {
	if day, err := time.Parse(time.DateOnly, limit); err == nil {
		return !d.Published.IsZero() && inOrder(op, float64(d.Published.Unix()), float64(day.Unix()))
	}
	want, ok := amount(limit)
	if !ok {
		return false
	}
	switch unit {
	case "k", "thousand":
		want *= 1e3
	case "m", "million":
		want *= 1e6
	}
	// The column's name or one of its texts contains the fact's name.
	for _, name := range slices.Concat([]string{c.Name}, nameWords(c.Name), words(c.Description)) {
		if factName(name) == "published" {
			name = "published year"
		}
		switch v, _ := d.value(name); v := v.(type) {
		case float64:
			return inOrder(op, v, want)
		case string:
			if n, ok := amount(v); ok {
				return inOrder(op, n, want)
			}
		}
	}
	return false
}

func inOrder(op string, have, want float64) bool {
	switch op {
	case "under", "below", "less than", "cheaper than", "fewer than", "before", "<":
		return have < want
	case "at most", "no more than", "up to", "until", "<=":
		return have <= want
	case "at least", "since", ">=":
		return have >= want
	default: // over, above, more than, greater than, higher than, better than, after, >
		return have > want
	}
}
