package importers

import (
	"regexp"
	"strings"

	"zonedeck/model"
)

// part is one part of a multipart body.
type part struct{ name, file, kind, content string }

// formValue is a value of -F: the content, which may be in quotes, and the type behind it.
var formValue = regexp.MustCompile(`(?s)^("(?:[^"\\]|\\.)*"|[^;]*)(?:;\s*type=(\S.*))?$`)

// addPart takes a part of a multipart body, as name=content;type=kind.
func (c *call) addPart(option, spelled, value string) error {
	name, content, ok := strings.Cut(value, "=")
	m := formValue.FindStringSubmatch(content)
	switch {
	case !ok:
		return refuse("%s: write it as name=content", spelled)
	case option == "form-string":
		m = []string{"", content, ""}
	case strings.HasPrefix(content, "@"), strings.HasPrefix(content, "<"):
		return noFile(spelled)
	case m == nil:
		return refuse("%s: of what follows the content, ;type= alone is read", spelled)
	case strings.HasPrefix(m[1], `"`) && len(m[1]) > 1:
		m[1] = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[1][1 : len(m[1])-1])
	}
	c.parts = append(c.parts, part{name: name, kind: m[2], content: m[1]})
	return nil
}

// multipart writes the body of a form, and its type.
func multipart(parts []part) (body, kind string) {
	boundary, all := "zonedeck-form", ""
	for _, p := range parts {
		all += p.content
	}
	for strings.Contains(all, boundary) {
		boundary += "-x"
	}
	quoted := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + quoted.Replace(p.name) + `"`)
		if p.file != "" {
			b.WriteString(`; filename="` + quoted.Replace(p.file) + `"`)
		}
		if p.kind != "" {
			b.WriteString("\r\nContent-Type: " + model.Line(p.kind, 200))
		}
		b.WriteString("\r\n\r\n" + p.content + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n", "multipart/form-data; boundary=" + boundary
}
