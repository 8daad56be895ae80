package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
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

// Request makes the request by which Call calls a tool, without the key, once the session
// has begun. session stands for the session's identifier, which the endpoint gives.
func Request(ctx context.Context, address, session, tool string, args json.RawMessage) (*http.Request, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	params, err := encoded(&mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, model.BadField("args", "%w", err)
	}
	id, err := jsonrpc.MakeID(2.0) // after initialize
	if err != nil {
		return nil, err
	}
	body, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: id, Method: "tools/call", Params: params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, model.BadField("profile", "agent_url is not an address")
	}
	for _, h := range [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"Mcp-Protocol-Version", protocol},
		{"Mcp-Session-Id", session},
	} {
		req.Header.Set(h[0], h[1])
	}
	return req, nil
}
