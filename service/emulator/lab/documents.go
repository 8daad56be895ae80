package lab

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Base is the site's address as clients of the emulator write it.
const Base = "http://lab.test"

// Document is a page of the site that can be searched.
type Document struct {
	URL, Title, Description string
	// Text is the article's text, paragraphs apart by an empty line.
	Text string
	// Category is one of guides, care, reviews, recipes, docs, news, places, videos.
	Category  string
	Published time.Time // midnight UTC
	// Facts are what the article says of its subject, by a name in lower case: "price",
	// "main ingredient". All of them can be read on the article's page, or stand beside it
	// in the search results.
	Facts map[string]string
}

// Documents gives every document of the site, newest knowledge last, the same at every
// call. They are the pages under /docs/, and what /search finds.
func Documents() []Document {
	all := articles()
	out := make([]Document, len(all))
	for i, a := range all {
		out[i] = a.Document
	}
	return out
}

// article is a document with what else its page and its search results show.
type article struct {
	Document
	Slug string
	// Topic is what it is about, in lower case: "brass desk lamp".
	Topic            string
	Question, Answer string
	// Source is who published it: a site's name, a channel.
	Source string
	// Shown are the facts on its page.
	Shown []fact
	// Coordinates are those of a place.
	Coordinates string
	Rating      float64
	// Length is that of a video, m:ss.
	Length string
}

type fact struct{ Name, Value string }

// Paragraphs are those of the text.
func (a *article) Paragraphs() []string {
	return slices.DeleteFunc(strings.Split(a.Text, "\n\n"), func(p string) bool { return p == "" })
}

// Product is what of the shop's the article is about, or nil.
func (a *article) Product() *product {
	if p, ok := productOf(a.Topic); ok {
		return &p
	}
	return nil
}

//go:embed seeds
var seeds embed.FS

// rows reads a table of seeds: one row a line, columns apart by "|".
func rows(name string, columns int) [][]string {
	b, err := seeds.ReadFile("seeds/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	var out [][]string
	for line := range strings.Lines(string(b)) {
		cols := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(cols) != columns {
			panic(fmt.Sprintf("seeds/%s: %d columns in %q", name, len(cols), line))
		}
		out = append(out, cols)
	}
	return out
}

// articles builds them all; it takes well under a millisecond.
func articles() []article {
	var out []article
	for _, build := range [...]func([]article) []article{productArticles, recipeArticles, docArticles, newsArticles, placeArticles, videoArticles} {
		out = build(out)
	}
	for i := range out {
		a := &out[i]
		a.Slug = slugOf(a.Title)
		a.URL = Base + "/docs/" + a.Slug
		a.Facts = map[string]string{"topic": a.Topic, "publisher": a.Source}
		for _, f := range a.Shown {
			a.Facts[strings.ToLower(f.Name)] = f.Value
		}
		if a.Rating > 0 {
			a.Facts["rating"] = stars(a.Rating)
		}
		if p := a.Product(); p != nil {
			a.Facts["availability"] = p.Availability()
		}
		if _, city, ok := strings.Cut(a.Facts["address"], ", "); ok {
			a.Facts["city"] = city
		} else if a.Category == "news" {
			a.Facts["city"] = a.Facts["place"]
		}
	}
	return out
}

// day is the n-th of a series of dates that are spread over a year.
func day(n int) time.Time { return time.Date(2025, time.July, 1+n*11%365, 0, 0, 0, 0, time.UTC) }

func productArticles(out []article) []article {
	for i, r := range rows("products.txt", 7) {
		p, _ := productAt(i + 1)
		name, lower := r[0], strings.ToLower(r[0])
		facts := []fact{{"Material", r[1]}, {"Made for", r[2]}, {"Price", p.Price()}, {"SKU", p.SKU}}
		guide := article{Topic: lower, Question: "How do I choose a " + lower + "?", Answer: r[3], Source: "Lab Guides", Shown: facts}
		guide.Document = Document{
			Title: "How to choose a " + lower, Category: "guides", Published: day(i),
			Description: fmt.Sprintf("A %s is made for %s. What to look for before you buy one.", lower, r[2]),
			Text: fmt.Sprintf("A %s of %s is made for %s. %s\n\nThe lab's shop sells one for %s under the number %s. %s",
				lower, r[1], r[2], r[3], p.Price(), p.SKU, r[6]),
		}
		care := article{Topic: lower, Question: r[5], Answer: r[6], Source: "Workshop Notes", Shown: facts}
		care.Document = Document{
			Title: name + ": care and cleaning", Category: "care", Published: day(i + 40),
			Description: r[4],
			Text:        fmt.Sprintf("%s\n\n%s %s\n\n%s is what it is made of, and that decides how it is cleaned.", r[4], r[5], r[6], capital(r[1])),
		}
		review := article{Topic: lower, Question: "Is the " + lower + " worth its price?", Source: "Shelf Test", Shown: facts}
		review.Answer = fmt.Sprintf("At %s it is, if you need it for %s.", p.Price(), r[2])
		var said []string
		sum := 0
		for _, rv := range p.Reviews() {
			said = append(said, fmt.Sprintf("%s gives it %d of 5: %s", rv.Author, rv.Rating, rv.Text))
			sum += rv.Rating
		}
		review.Rating = float64(sum*10/len(said)) / 10
		review.Document = Document{
			Title: name + " review", Category: "reviews", Published: day(i + 80),
			Description: fmt.Sprintf("We used the %s for a month. %.1f of 5, %s at %s.", lower, review.Rating, strings.ToLower(p.Availability()), p.Price()),
			Text: fmt.Sprintf("We used the %s for a month, for %s.\n\n%s\n\nVerdict: %s", lower, r[2],
				strings.Join(said, "\n\n"), review.Answer),
		}
		out = append(out, guide, care, review)
	}
	return out
}

func recipeArticles(out []article) []article {
	for i, r := range rows("recipes.txt", 6) {
		lower := strings.ToLower(r[0])
		a := article{
			Topic: lower, Source: "Millbrook Kitchen", Rating: 4 + float64(i%10)/10,
			Question: fmt.Sprintf("How long does %s take?", lower),
			Answer:   fmt.Sprintf("It takes %s minutes and serves %s.", r[2], r[3]),
			Shown:    []fact{{"Time", r[2] + " minutes"}, {"Serves", r[3]}, {"Main ingredient", r[1]}},
		}
		var steps strings.Builder
		for n, step := range strings.Split(r[5], ";") {
			fmt.Fprintf(&steps, "%d. %s.\n\n", n+1, capital(step))
		}
		a.Document = Document{
			Title: r[0] + " recipe", Category: "recipes", Published: day(i + 13),
			Description: fmt.Sprintf("%s with %s, ready in %s minutes for %s people.", r[0], r[4], r[2], r[3]),
			Text: fmt.Sprintf("You need %s, and also %s. %s\n\n%s%s keeps for two days in a cool place.",
				r[1], r[4], a.Answer, steps.String(), r[0]),
		}
		out = append(out, a)
	}
	return out
}

func docArticles(out []article) []article {
	for i, r := range rows("docs.txt", 5) {
		a := article{Topic: strings.ToLower(r[0]), Question: r[3], Answer: r[4], Source: "Lab Docs"}
		a.Document = Document{
			Title: r[0], Category: "docs", Published: day(i + 7),
			Description: r[1],
			Text:        fmt.Sprintf("%s\n\n%s\n\n%s %s", r[1], r[2], r[3], r[4]),
		}
		out = append(out, a)
	}
	return out
}

func newsArticles(out []article) []article {
	for _, r := range rows("news.txt", 5) {
		a := article{Topic: strings.ToLower(r[2]), Source: r[2] + " Herald", Shown: []fact{{"Place", r[2]}}}
		a.Document = Document{
			Title: r[1], Category: "news", Published: dateOf(r[0]),
			Description: r[3],
			Text:        fmt.Sprintf("%s. %s\n\n%s\n\nReported from %s.", r[2], r[3], r[4], r[2]),
		}
		out = append(out, a)
	}
	return out
}

func placeArticles(out []article) []article {
	for i, r := range rows("places.txt", 7) {
		a := article{
			Topic: strings.ToLower(r[0]), Source: "Town Guide", Coordinates: r[5], Rating: 3.5 + float64(i*3%15)/10,
			Question: fmt.Sprintf("When is %s open?", r[0]), Answer: r[4] + ".",
			Shown: []fact{{"Kind", r[1]}, {"Address", r[2]}, {"Opened", r[3]}, {"Hours", r[4]}},
		}
		a.Document = Document{
			Title: r[0], Category: "places", Published: day(i + 55),
			Description: r[6],
			Text:        fmt.Sprintf("%s\n\n%s is a %s at %s. It opened in %s.\n\nHours: %s.", r[6], r[0], strings.ToLower(r[1]), r[2], r[3], r[4]),
		}
		out = append(out, a)
	}
	return out
}

func videoArticles(out []article) []article {
	for _, r := range rows("videos.txt", 5) {
		a := article{Topic: strings.ToLower(r[1]), Source: r[2], Length: r[3], Shown: []fact{{"Channel", r[2]}, {"Length", r[3]}}}
		a.Document = Document{
			Title: r[1] + " (video)", Category: "videos", Published: dateOf(r[0]),
			Description: r[4],
			Text:        fmt.Sprintf("%s\n\nA video by %s, %s long.", r[4], r[2], r[3]),
		}
		out = append(out, a)
	}
	return out
}

func dateOf(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return t
}

// slugOf makes a path segment of a title.
func slugOf(title string) string {
	var b strings.Builder
	for _, word := range words(title) {
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(word)
	}
	return b.String()
}

// words gives the lower-case words of a text: runs of letters and digits.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r <= 127
	})
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func stars(rating float64) string { return strconv.FormatFloat(rating, 'f', 1, 64) }
