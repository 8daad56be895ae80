package page

import (
	"fmt"
	"strings"
	"testing"
)

func markdown(t *testing.T, html string) string {
	t.Helper()
	md, err := Markdown([]byte(html), "http://lab.test/")
	if err != nil {
		t.Fatal(err)
	}
	return md
}

func TestLongListsKeepEveryItemAndItsNumber(t *testing.T) {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "<li>item %d</li>", i+1)
	}
	got := markdown(t, "<ol>"+b.String()+"</ol>")
	for _, n := range []int{1, 500, 501, 1000, 1001, 1200} {
		if !strings.Contains(got+"\n", fmt.Sprintf("%d. item %d\n", n, n)) {
			t.Errorf("no item %d", n)
		}
	}
	if n := strings.Count(markdown(t, "<ul>"+b.String()+"</ul>"), "- item"); n != 1200 {
		t.Errorf("%d items", n)
	}
}

func TestGroupedElementsKeepTheirOrder(t *testing.T) {
	var b, want strings.Builder
	for i := range 300_000 / 100 {
		fmt.Fprintf(&b, "<b>w%d</b> ", i)
		fmt.Fprintf(&want, "w%d ", i)
	}
	got := strings.Join(strings.Fields(strings.ReplaceAll(markdown(t, "<p>"+b.String()), "*", "")), " ")
	if got != strings.TrimSpace(want.String()) {
		t.Errorf("%.200s", got)
	}
}

func TestTablesAreBoundedInCells(t *testing.T) {
	if got := markdown(t, `<table><tr><th>A</th><th>B</th></tr><tr><td colspan="2">both</td></tr></table>`); !strings.Contains(got, "| A ") || !strings.Contains(got, "| both ") {
		t.Errorf("an ordinary table: %s", got)
	}
	for name, html := range map[string]string{
		"a span without end": `<table><tr><td colspan="2000000000" rowspan="2000000000">one</td><td>two</td></tr><tr><td>three</td></tr></table>`,
		"a wide and a long one": "<table><tr>" + strings.Repeat("<td>w", 2000) + "</tr>" + strings.Repeat("<tr><td>one<td>two", 2000) +
			"<tr><td>three</table>",
		"spans that add up": "<table>" + strings.Repeat(`<tr><td colspan="100" rowspan="100">x`, 1000) + "<tr><td>one<td>two<td>three</table>",
	} {
		got := markdown(t, html)
		if len(got) > 1<<20 || !strings.Contains(got, "one") || !strings.Contains(got, "two") || !strings.Contains(got, "three") {
			t.Errorf("%s: %d bytes, %.200s", name, len(got), got)
		}
	}
	many := strings.Repeat("<table>"+strings.Repeat("<tr><td>a<td>b", 100)+"</table>", 300) + "<p>end"
	if got := markdown(t, many); strings.Count(got, "|---") > 2*maxCells/200+2 || strings.Count(got, "a") < 30_000 || !strings.HasSuffix(got, "end") {
		t.Errorf("%d tables of %d cells", strings.Count(got, "|---"), strings.Count(got, "a"))
	}
}
