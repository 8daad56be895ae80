package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/service/view"
)

func (s *Server) addDiagnose(srv *sdk.Server) {
	add(s, srv, tool[view.DiagnoseArgs, view.AgentDiagnosis]{
		name: "diagnose", reads: true,
		help: "Say what class a saved answer has, and which rule decided. Nothing is sent.",
		asks: func(in view.DiagnoseArgs) model.HistoryEntry {
			return model.HistoryEntry{URL: model.Line(in.URL, model.MaxURL)}
		},
		run: func(ctx context.Context, c *call, in view.DiagnoseArgs) (view.AgentDiagnosis, string, error) {
			r, err := c.Diagnose(ctx, fetch.Saved{
				Answer: strings.NewReader(in.Answer), Via: model.Via(in.Via), Dialect: in.Dialect, URL: in.URL, Required: in.Require,
			})
			return view.NewAgentDiagnosis(r.Diagnosis), model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause), err
		},
	})
}
