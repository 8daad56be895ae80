package index

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// extractor reads values out of documents. It is made once, because compiling its
// patterns takes time that no command should pay at its start.
type extractor struct {
	money, stars, rated, year, number, email, phone, sku, author, compare *regexp.Regexp
}

func newExtractor() *extractor {
	return &extractor{
		money:   regexp.MustCompile(`[$€£]\s?\d[\d,]*(?:\.\d{1,2})?`),
		stars:   regexp.MustCompile(`(?i)\b(\d(?:\.\d)?)\s*(?:stars?\b|(?:out of|of|/)\s*5\b)`),
		rated:   regexp.MustCompile(`(?i)\b(?:rated|rating(?: of)?|rating:)\s*(\d(?:\.\d)?)\b`),
		year:    regexp.MustCompile(`\b(?:1[89]|20)\d\d\b`),
		number:  regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`),
		email:   regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`),
		phone:   regexp.MustCompile(`\+\d[\d ()-]{6,16}\d`),
		sku:     regexp.MustCompile(`\b[A-Z]{2,6}-\d{2,8}\b`),
		author:  regexp.MustCompile(`(?:^|[\s(])[Bb]y ((?:\p{Lu}\.|\p{Lu}[\p{L}'-]+)(?: (?:\p{Lu}\.|\p{Lu}[\p{L}'-]+)){0,3})`),
		compare: regexp.MustCompile(`(?i)(under|below|less than|cheaper than|fewer than|at most|no more than|up to|<=|<|over|above|more than|greater than|higher than|better than|at least|>=|>|after|since|before|until)\s*[$€£]?\s*(\d{4}-\d{2}-\d{2}|\d[\d,]*(?:\.\d+)?)\s*(k\b|m\b|thousand\b|million\b)?`),
	}
}

// value is what the document says about a column: a string, a float64, or nothing. The
// column's name decides; nothing is inferred beyond what can be read.
func (x *extractor) value(e *entry, name string) (any, bool) {
	parts := columnWords(name)
	if len(parts) == 0 {
		return nil, false
	}
	if v, ok := labelled(e, parts); ok {
		return v, true
	}
	if v, ok := known(e, parts); ok {
		return v, v != ""
	}
	return x.read(e, parts)
}

// columnWords are the words of a column's name: employee_count, "Employee count" and
// employeeCount are the same.
func columnWords(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return rawWords(b.String())
}

// labelled is the value of a line or sentence of the form "Employee count: 120".
func labelled(e *entry, parts []string) (any, bool) {
	for s := range sentences(e.Text) {
		label, v, ok := strings.Cut(s, ":")
		if !ok || len(label) > 80 || !slices.Equal(rawWords(label), parts) {
			continue
		}
		if v = strings.TrimRight(strings.TrimSpace(v), ". "); v != "" {
			return typed(cutText(v, 500)), true
		}
	}
	return nil, false
}

// typed is a number where the text is nothing but one.
func typed(v string) any {
	if n, err := strconv.ParseFloat(strings.ReplaceAll(v, ",", ""), 64); err == nil && v[0] >= '0' && v[0] <= '9' {
		return n
	}
	return v
}

// known is what the index knows about each document. The bool says whether the column
// is of that sort; the value may be empty all the same.
func known(e *entry, parts []string) (any, bool) {
	if isAny(parts, "published", "publication") && isAny(parts, "year") {
		if e.Published.IsZero() {
			return "", true
		}
		return float64(e.Published.Year()), true
	}
	last := parts[len(parts)-1]
	switch own := ownNoun(e, parts); {
	case own && (last == "name" || last == "title" || last == "headline"):
		return e.Title, true
	case own && (last == "url" || last == "link" || last == "source"):
		return e.URL, true
	case own && (last == "description" || last == "summary"):
		return e.Description, true
	case own && (last == "category" || last == "section" || last == "topic"):
		return e.Category, true
	case own && last == "language":
		return e.Language, true
	case own && last == "country":
		return e.Country, true
	case isAny(parts, "published", "publication", "updated") || len(parts) == 1 && last == "date":
		if e.Published.IsZero() {
			return "", true
		}
		return e.Published.UTC().Format(time.DateOnly), true
	}
	return nil, false
}

// ownNoun tells whether a name such as product_name is about the document itself, not
// about something else in it (cto_name).
func ownNoun(e *entry, parts []string) bool {
	kind := words(e.Category)
	for _, p := range parts[:len(parts)-1] {
		switch p {
		case "page", "document", "item", "entity", "record", "article", "product", "source":
			continue
		}
		if !slices.Contains(kind, term(p)) {
			return false
		}
	}
	return true
}

func isAny(parts []string, any ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(any, p) })
}

// read looks for the value in the document's text.
func (x *extractor) read(e *entry, parts []string) (any, bool) {
	text := e.Description + "\n" + e.Text
	switch {
	case isAny(parts, "price", "cost"):
		return found(x.money.FindString(text))
	case isAny(parts, "rating", "stars", "score"):
		for _, re := range [...]*regexp.Regexp{x.stars, x.rated} {
			if m := re.FindStringSubmatch(text); m != nil {
				return typed(m[1]), true
			}
		}
		return nil, false
	case isAny(parts, "email", "mail"):
		return found(x.email.FindString(text))
	case isAny(parts, "phone", "telephone"):
		return found(x.phone.FindString(text))
	case isAny(parts, "sku"):
		return found(x.sku.FindString(text))
	case isAny(parts, "author", "byline", "writer"):
		if m := x.author.FindStringSubmatch(text); m != nil {
			return m[1], true
		}
		return nil, false
	case isAny(parts, "availability", "stock"):
		for _, state := range [...]string{"In stock", "Out of stock", "Sold out"} {
			if e.holds(state) {
				return state, true
			}
		}
		return nil, false
	}
	return x.counted(text, parts)
}

func found(v string) (any, bool) {
	if v == "" {
		return nil, false
	}
	return v, true
}

// counted is a year or a number that stands beside the column's word: "founded in 2018"
// for founded_year, "120 employees" for employee_count.
func (x *extractor) counted(text string, parts []string) (any, bool) {
	isYear, isCount := isAny(parts, "year", "date"), isAny(parts, "count", "number", "amount", "total")
	if !isYear && !isCount {
		return x.since(text, parts)
	}
	var about []string
	for _, p := range parts {
		switch p {
		case "year", "date", "count", "number", "amount", "total", "of":
		default:
			about = append(about, term(p))
		}
	}
	if len(about) == 0 {
		return nil, false
	}
	for s := range sentences(text) {
		if isYear {
			if v := x.year.FindString(s); v != "" && containsAll(words(s), about) {
				n, err := strconv.ParseFloat(v, 64)
				return n, err == nil
			}
			continue
		}
		for _, at := range x.number.FindAllStringIndex(s, 20) {
			if next := words(cutText(s[at[1]:], 80)); len(next) >= len(about) && slices.Equal(next[:len(about)], about) {
				n, err := strconv.ParseFloat(strings.ReplaceAll(s[at[0]:at[1]], ",", ""), 64)
				return n, err == nil
			}
		}
	}
	return nil, false
}

// since is the year of "opened in 1987", for a column that is called opened.
func (x *extractor) since(text string, parts []string) (any, bool) {
	lower, phrase := strings.ToLower(text), strings.Join(parts, " ")+" in "
	for at := 0; ; {
		i := strings.Index(lower[at:], phrase)
		if i < 0 {
			return nil, false
		}
		at += i + len(phrase)
		if y := x.year.FindStringIndex(cutText(lower[at:], 5)); y != nil && y[0] == 0 {
			n, err := strconv.ParseFloat(lower[at:at+y[1]], 64)
			return n, err == nil
		}
	}
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}

// meets tells whether the document shows that a constraint holds. What it does not show
// does not hold.
func (x *extractor) meets(e *entry, c column) bool {
	text := c.Description
	if text == "" {
		text = strings.Join(columnWords(c.Name), " ")
	}
	if m := x.compare.FindStringSubmatch(text); m != nil {
		return x.compared(e, c, strings.ToLower(m[1]), m[2], strings.ToLower(m[3]))
	}
	a := parseAsked(text)
	if len(a.phrases) > 0 {
		return a.allows(e)
	}
	var want []string
	for _, w := range rawWords(text) {
		if t := term(w); t != "" && !isAsking(w) && t != "category" && t != "mention" {
			want = append(want, t)
		}
	}
	return len(want) > 0 && containsAll(words(e.lower), want)
}

// compared is a constraint with a number or a date in it.
func (x *extractor) compared(e *entry, c column, op, limit, unit string) bool {
	if day, err := time.Parse(time.DateOnly, limit); err == nil {
		return !e.Published.IsZero() && holdsOrder(op, float64(e.Published.Unix()), float64(day.Unix()))
	}
	want, err := strconv.ParseFloat(strings.ReplaceAll(limit, ",", ""), 64)
	if err != nil {
		return false
	}
	switch unit {
	case "k", "thousand":
		want *= 1e3
	case "m", "million":
		want *= 1e6
	}
	all := append(columnWords(c.Name), rawWords(c.Description)...)
	if isAny(all, "published", "publication") {
		return !e.Published.IsZero() && holdsOrder(op, float64(e.Published.Year()), want)
	}
	for _, field := range [...][2]string{{"price", "cost"}, {"rating", "rated"}} {
		if isAny(all, field[:]...) {
			return x.numberHolds(e, field[0], op, want)
		}
	}
	return x.numberHolds(e, c.Name, op, want)
}

func (x *extractor) numberHolds(e *entry, name, op string, want float64) bool {
	v, ok := x.value(e, name)
	if !ok {
		return false
	}
	n, isNumber := v.(float64)
	if text, isText := v.(string); isText {
		parsed, err := strconv.ParseFloat(strings.ReplaceAll(x.number.FindString(text), ",", ""), 64)
		n, isNumber = parsed, err == nil
	}
	return isNumber && holdsOrder(op, n, want)
}

func holdsOrder(op string, have, want float64) bool {
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
