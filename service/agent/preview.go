package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
)

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
