// Package readable turns an HTML page into text that is read: Markdown with links and
// tables, as far as the page's first bytes go. It is pure and safe for concurrent use.
package readable

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// MaxInput bounds a conversion, in bytes.
const MaxInput = 4 << 20

// Text is a page as Markdown.
type Text struct {
	Markdown string
	// Cut says that only the first MaxInput bytes of the page were converted; Tables that
	// there were too many cells, so that tables are left as their words.
	Cut, Tables bool
}

// Markdown converts a page of size bytes. The content type names the charset, if any;
// addresses in the text are made absolute by pageURL.
func Markdown(r io.ReaderAt, size int64, contentType, pageURL string) (Text, error) {
	t := Text{Cut: size > MaxInput}
	in, err := charset.NewReader(io.NewSectionReader(r, 0, min(size, MaxInput)), contentType)
	if err != nil {
		return t, fmt.Errorf("read the page: %w", err)
	}
	doc, err := html.Parse(in)
	if err != nil {
		return t, fmt.Errorf("read the page: %w", err)
	}
	t.Tables = tame(doc)
	plugins := []converter.Plugin{base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()}
	if !t.Tables {
		plugins = append(plugins, table.NewTablePlugin())
	}
	var options []converter.ConvertOptionFunc
	if u, err := url.Parse(pageURL); err == nil && u.Host != "" {
		options = append(options, converter.WithDomain(u.Scheme+"://"+u.Host))
	}
	out, err := converter.NewConverter(converter.WithPlugins(plugins...)).ConvertNode(doc, options...)
	if err != nil {
		return t, fmt.Errorf("converting the page to text: %w", err)
	}
	t.Markdown = strings.TrimSpace(string(out))
	return t, nil
}
