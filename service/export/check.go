package export

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

// What each program checks an answer by, in its language. A line "-- NAME --" begins a part that stands in the programs
// that need it (checked), and <<NAME>> stands for a value.
var (
	//go:embed check/python.py
	pythonCheck string
	//go:embed check/go.txt
	goCheck string
	//go:embed check/node.mjs
	nodeCheck string
	//go:embed check/browser.mjs
	browserCheck string
)

// checked are the parts of its check that a program needs.
func (c call) checked() map[string]bool {
	page := !strings.EqualFold(c.Request.Method, http.MethodHead)
	api := !c.byProxy() && c.remote == ""
	return map[string]bool{
		"": true, "page": page, "required": page && len(c.Request.Required) > 0,
		// What comes through a tunnel that the service does not look into is the target's own.
		"service": !c.byProxy() || !c.secure() || !c.Request.Zone.Product.Network() || c.Request.Zone.NeedsCA(),
		"api":     api, "wrapped": api && c.Request.Format == model.FormatJSON,
	}
}

// check writes the functions by which a program checks its answer. text and pattern write a string and a pattern of the
// language, indent stands before the lines of a list.
func (c call) check(code, indent string, text, pattern func(string) string) string {
	status, failures := dialect.ReportedBy()
	signs := model.KnownWallSigns()
	var walls, required []string
	for _, p := range signs.Alone {
		walls = append(walls, indent+pattern(p)+",")
	}
	for _, path := range c.Request.Required {
		required = append(required, text(path))
	}
	with, parts := true, c.checked()
	var b strings.Builder
	for line := range strings.Lines(code) {
		if name, ok := strings.CutPrefix(line, "-- "); ok {
			with = parts[strings.TrimSpace(strings.TrimSuffix(name, "--\n"))]
		} else if with {
			b.WriteString(line)
		}
	}
	return strings.NewReplacer(
		"<<walls>>", strings.Join(walls, "\n"), "<<title>>", pattern(signs.Title), "<<widget>>", pattern(signs.Widget),
		"<<field>>", pattern(signs.Field), "<<header>>", pattern(signs.Header), "<<unread>>", pattern(signs.Unread),
		"<<script>>", pattern(signs.Script), "<<script text>>", pattern(signs.ScriptText),
		"<<required>>", strings.Join(required, ", "), "<<status>>", text(strings.ToLower(status)),
		"<<at work>>", pattern(dialect.AtWork()), "<<failure>>", pattern(`\n(?:`+strings.ToLower(strings.Join(failures, "|"))+`|proxy-status: [^\n]*\berror)[:=][ \t]*([^\s][^\n]*)`),
	).Replace(b.String())
}

// The patterns of a language.
func pyPattern(p string) string { return `r"` + p + `"` }

func goPattern(p string) string { return "`" + p + "`" }

func jsPattern(p string) string { return "/" + strings.ReplaceAll(p, "/", `\/`) + "/i" }

// asksForGzip is the header with a line for the only coding that a program undoes, in place of those of the form.
func (c call) asksForGzip() call {
	isCoding := func(l line) bool { return l.name == "Accept-Encoding" }
	c.recoded = slices.ContainsFunc(c.header, func(l line) bool { return isCoding(l) && l.value != "gzip" })
	c.header = append(slices.DeleteFunc(slices.Clone(c.header), isCoding), line{"Accept-Encoding", "gzip"})
	return c
}
