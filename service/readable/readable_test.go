package readable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func markdown(t *testing.T, page, url string) Text {
	t.Helper()
	got, err := Markdown(strings.NewReader(page), int64(len(page)), url)
	noerr.Must(t, err)
	return got
}

func TestAPageIsRead(t *testing.T) {
	got := markdown(t, `<html><head><title>x</title><style>p{}</style><script>no()</script></head><body>
<h1>Shop</h1><p>Two <b>shoes</b>, <a href="/shoe?a=1">one</a>.</p><ul><li>red<li>blue</ul>
<table><tr><th>Name</th><th>Price</th></tr><tr><td>Shoe</td><td>5</td></tr></table></body>`, "http://lab.test/shop/")
	for _, want := range []string{"# Shop", "Two **shoes**, [one](http://lab.test/shoe?a=1).", "- red", "| Shoe | 5     |"} {
		if !strings.Contains(got.Markdown, want) {
			t.Errorf("no %q in\n%s", want, got.Markdown)
		}
	}
	if strings.Contains(got.Markdown, "no()") || strings.Contains(got.Markdown, "p{}") || got.Cut || got.Tables {
		t.Errorf("%+v", got)
	}
}

// Pages that would take minutes or gigabytes without bounds: this test then runs into the
// deadline of all tests.
func TestCraftedPagesStayWithinBounds(t *testing.T) {
	for name, page := range map[string]string{
		"siblings": strings.Repeat("<p>a", 300_000),
		"items":    "<ol>" + strings.Repeat("<li>a", 200_000) + "</ol>",
		"rows":     "<table>" + strings.Repeat("<tr><td>a", 150_000) + "<tr>" + strings.Repeat("<td>b", 10_000) + "</table>",
		"spans":    "<table><tr><td colspan=99999999 rowspan=99999999>a</table>",
		"nested":   strings.Repeat("<div>", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Markdown(strings.NewReader(page), int64(len(page)), "")
			if name == "nested" {
				if err == nil {
					t.Error("a page of 100,000 nested elements was read")
				}
				return
			}
			if err != nil || !strings.Contains(got.Markdown, "a") || got.Tables != (name == "rows") {
				t.Errorf("%d bytes, tables %v: %v", len(got.Markdown), got.Tables, err)
			}
		})
	}
}

// A list that is put into groups still has all its items, in their order.
func TestWhatIsGroupedIsWhole(t *testing.T) {
	for _, list := range []string{"ul", "ol", `ol start="8"`} {
		began := 1
		if strings.Contains(list, "8") {
			began = 8
		}
		var page, want strings.Builder
		page.WriteString("<" + list + ">")
		for i := range 2*maxSiblings + 7 {
			fmt.Fprintf(&page, "\n<li>item%d.</li>", i+began)
			fmt.Fprintf(&want, "item%d.", i+began)
		}
		page.WriteString("</" + list[:2] + "><p>after")
		got := markdown(t, page.String(), "").Markdown
		if !strings.HasSuffix(got, "\n\nafter") || strings.Join(regexp.MustCompile(`item\d+\.`).FindAllString(got, -1), "") != want.String() {
			t.Errorf("%s:\n%s", list, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if n, item, ok := strings.Cut(line, ". item"); list != "ul" && ok && number(t, n) != number(t, item) {
				t.Errorf("%q has another number", line)
				break
			}
			if strings.Count(line, "item") > 1 || strings.Contains(line, "item") && !regexp.MustCompile(`^(- |\d+\. )item`).MatchString(line) {
				t.Errorf("%s: %q is no item", list, line)
				break
			}
		}
	}
}

func number(t *testing.T, item string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSuffix(item, "."))
	noerr.Must(t, err)
	return n
}

func TestOfALargePageTheBeginning(t *testing.T) {
	page := "<p>begin</p>" + strings.Repeat("<p>filler filler filler</p>", MaxInput/26) + "<p>THE END</p>"
	got := markdown(t, page, "")
	if !got.Cut || !strings.HasPrefix(got.Markdown, "begin") || strings.Contains(got.Markdown, "THE END") {
		t.Errorf("cut %v, %d bytes", got.Cut, len(got.Markdown))
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<h1>a</h1><p>b", "http://lab.test/")
	f.Add("<table><tr><td>\x00<a href='javascript:x'>", ":")
	f.Fuzz(func(_ *testing.T, page, url string) {
		if len(page) > 1<<16 {
			return
		}
		_, _ = Markdown(strings.NewReader(page), int64(len(page)), url)
	})
}
