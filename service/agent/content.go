package agent

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The types of what tools return.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// content is what a tool returned as one body: its texts, its one picture or sound, else
// its structured result; of several kinds the JSON that came.
func content(r *mcp.CallToolResult) (body []byte, contentType string, err error) {
	var texts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			if len(r.Content) == 1 {
				return c.Data, mediaType(c.MIMEType), nil
			}
		case *mcp.AudioContent:
			if len(r.Content) == 1 {
				return c.Data, mediaType(c.MIMEType), nil
			}
		}
	}
	switch {
	case len(r.Content) == 0 && r.StructuredContent != nil:
		body, err = json.Marshal(r.StructuredContent)
		return body, typeJSON, err
	case len(texts) < len(r.Content):
		body, err = json.Marshal(r.Content)
		if err != nil {
			err = fmt.Errorf("reading what the tool returned: %w", err)
		}
		return body, typeJSON, err
	}
	text := strings.Join(texts, "\n\n")
	if t := strings.TrimSpace(text); len(t) > 1 && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t)) {
		return []byte(text), typeJSON, nil
	}
	return []byte(text), typeText, nil
}

// mediaType is a type that a tool names, without anything but type and subtype.
func mediaType(s string) string {
	kind, _, err := mime.ParseMediaType(s)
	if err != nil {
		return "application/octet-stream"
	}
	return kind
}
