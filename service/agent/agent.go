package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// protocol is the version of MCP that is asked for: the last one that begins with
// initialize, which servers of today answer.
const protocol = "2025-06-18"

// maxTools bounds the tools of one endpoint, maxPages the answers that list them.
const (
	maxTools = 1000
	maxPages = 50
)

// Place is where the tools are, and the key to call them with.
type Place struct {
	Wire    *exchange.Wire
	Profile model.Profile
	Dialect dialect.Dialect
	KeyName string
	Key     keystore.Secret
	// Mask masks the key, and whatever else is secret in a call.
	Mask exchange.Mask
	// Timer measures the phases.
	Timer func() time.Time
}

// Tool is one tool of an endpoint. All of it is remote text.
type Tool struct {
	Name, Title, Description string
	// Inputs are the fields of its arguments, in the order of the schema.
	Inputs []Input
}

// Answer is what a conversation came to.
type Answer struct {
	// Content is what the tool returned, and its type.
	Content     []byte
	ContentType string
	// Failed says that the tool itself reported an error; Content is its text.
	Failed bool
	// Refused is the error of JSON-RPC by which the call was answered, or nil.
	Refused *RefusedError
	// Exchanges are the HTTP exchanges, in their order; Phases what they were for.
	Exchanges []*exchange.Relayed
	Phases    []model.Phase
	Total     time.Duration
}

// RefusedError is an error of JSON-RPC.
type RefusedError struct {
	Code int64
	Text string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Text) }

// Invalid reports whether the call itself was at fault: an unknown tool, wrong arguments.
func (e *RefusedError) Invalid() bool {
	switch e.Code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
		return true
	default:
		return false
	}
}

// talk is one conversation.
type talk struct {
	place  Place
	relay  *exchange.Relay
	answer Answer
	began  time.Time
	last   time.Time
}

// begin opens a session. It ends with close.
func (p Place) begin(ctx context.Context) (*talk, *mcp.ClientSession, error) {
	t := &talk{place: p, relay: p.Wire.NewRelay(ctx, p.Profile, p.KeyName, p.Key, p.Dialect.TokenParam(), p.Mask), began: p.Timer()}
	t.last = t.began
	client := mcp.NewClient(&mcp.Implementation{Name: "zonedeck", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: p.Profile.AgentURL, HTTPClient: t.relay.Client(), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: exchange.RelayBytes,
	}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	t.phase("initialize")
	return t, session, err
}

func (t *talk) phase(name string) {
	now := t.place.Timer()
	t.answer.Phases = append(t.answer.Phases, model.Phase{Name: name, Duration: now.Sub(t.last)})
	t.last = now
}

// end gives what was seen, with the error that ended the conversation: nil, too, where the
// answer says all of it.
func (t *talk) end(ctx context.Context, err error) (Answer, error) {
	t.answer.Total = t.last.Sub(t.began)
	t.answer.Exchanges = t.relay.Exchanges()
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), exchange.ErrTimeout):
		return t.answer, context.Cause(ctx)
	case errors.As(err, &rpc):
		t.answer.Refused, err = &RefusedError{Code: rpc.Code, Text: model.Line(rpc.Message, 500)}, nil
	}
	return t.answer, err
}

// Tools lists the tools of the endpoint, by name. The answer says how it went; an error is
// that of Call.
func Tools(ctx context.Context, p Place) ([]Tool, Answer, error) {
	t, session, err := p.begin(ctx)
	if err != nil {
		answer, err := t.end(ctx, err)
		return nil, answer, err
	}
	defer func() { _ = session.Close() }() // a session that stays open ends by itself
	var tools []Tool
	cursor := ""
	for range maxPages {
		page, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			t.phase("tools/list")
			answer, err := t.end(ctx, err)
			return nil, answer, err
		}
		for _, tool := range page.Tools {
			if len(tools) < maxTools && len(tool.Name) <= maxName {
				tools = append(tools, newTool(tool))
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	t.phase("tools/list")
	answer, err := t.end(ctx, nil)
	return tools, answer, err
}

// Call calls a tool with arguments, a JSON object. How it went is in the answer: the HTTP
// exchanges, an error of JSON-RPC, or one of the tool itself. An error is why there is no
// answer: an *exchange.Error, an *pace.TooFastError, what the library could not read,
// or the context's cause.
func Call(ctx context.Context, p Place, tool string, args json.RawMessage) (Answer, error) {
	t, session, err := p.begin(ctx)
	if err != nil {
		return t.end(ctx, err)
	}
	defer func() { _ = session.Close() }() // a session that stays open ends by itself
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	t.phase("tools/call")
	if err == nil {
		err = t.keepResult(result)
	}
	return t.end(ctx, err)
}

// keepResult keeps what a tool returned.
func (t *talk) keepResult(r *mcp.CallToolResult) (err error) {
	t.answer.Failed = r.IsError
	t.answer.Content, t.answer.ContentType, err = content(r)
	t.place.Mask.Bytes(t.answer.Content) // once more, now that it is decoded
	return err
}
