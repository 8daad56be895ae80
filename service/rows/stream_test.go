package rows

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// taken is what came of a stream, a line each.
type taken struct {
	lines []string
	n     int
	stop  error
}

func (got *taken) Take(r Record) error {
	if got.n++; got.n > 100 {
		return got.stop
	}
	line := fmt.Sprint(r.Number)
	for _, name := range []string{"Link", "n", "page of shop", "q", "sku", "url"} {
		if v, ok := r.Values[name]; ok {
			line += " " + name + "=" + string(v)
		}
	}
	got.lines = append(got.lines, line)
	return got.stop
}

func (got *taken) Reject(p Problem) { got.lines = append(got.lines, fmt.Sprint("bad ", p.Row)) }

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name, kind, column, text string
		want                     string // rows, then the bad ones
		err                      string
	}{
		{name: "lines", text: "\ufeffhttp://a.test/1\n\n# no\nhttp://a.test/2\nhttp://a b\n", want: `1 url="http://a.test/1"|4 url="http://a.test/2"|bad 5`},
		{name: "a table keeps the names of its columns", text: "sku,Link,url\n7,http://a.test/,x\n,,\n8,http://b.test/,y\n", want: `2 Link="http://a.test/" sku="7" url="x"|4 Link="http://b.test/" sku="8" url="y"`},
		{name: "a table that is known by a wanted column", text: "a,sku\n1,7\n", want: `2 sku="7"`},
		{name: "a column with another name", kind: "csv", column: "page of shop", text: "page of shop;n\nhttp://a.test/;1\n", want: `2 n="1" page of shop="http://a.test/" url="http://a.test/"`},
		{name: "a column that is missing", kind: "csv", column: "link", text: "url,n\nx,1\n", err: `there is no column "link"; the header has "url, n"`},
		{
			name: "a column beside one of that name", kind: "csv", column: "Link", text: "url,Link\nhttp://a.test/1,http://a.test/2\nhttp://a.test/3,\nhttp://a.test/4\n",
			want: `2 Link="http://a.test/2" url="http://a.test/2"|3 Link="" url=""|4`,
		},
		{name: "NDJSON", text: "{\"q\":\"a\",\"n\":1}\nnot\n\"http://a.test/\"\n", want: `1 n=1 q="a"|bad 2|3 url="http://a.test/"`},
		{name: "an array", text: `["http://a.test/1",{"url":"http://a.test/2"}]`, want: `1 url="http://a.test/1"|2 url="http://a.test/2"`},
		{name: "no text", text: "a\x00b", err: "not text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got taken
			_, err := Stream(strings.NewReader(c.text), c.kind, c.column, []string{"sku"}, &got)
			if joined := strings.Join(got.lines, "|"); c.err == "" && (err != nil || joined != c.want) {
				t.Errorf("got %s, %v; want %s", joined, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v; want %q", err, c.err)
			}
		})
	}
}

func TestAStreamHoldsOneRow(t *testing.T) {
	text := "url\n" + strings.Repeat("http://a.test/\n", 20_000)
	var got taken
	perRow := testing.AllocsPerRun(1, func() {
		if _, err := Stream(strings.NewReader(text), "csv", "", nil, &got); err != nil {
			t.Fatal(err)
		}
	}) / 20_000
	if got.n != 40_000 || perRow > 30 {
		t.Errorf("%d rows, %.0f allocations each", got.n, perRow)
	}
	got = taken{stop: errors.New("enough")}
	if _, err := Stream(strings.NewReader(text), "", "", nil, &got); !errors.Is(err, got.stop) || got.n != 1 {
		t.Errorf("error %v after %d rows; want %v after one", err, got.n, got.stop)
	}
}
