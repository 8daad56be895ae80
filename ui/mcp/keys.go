package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/view"
)

func (s *Server) addKeys(srv *sdk.Server) {
	add(s, srv, tool[view.KeysCheckArgs, view.AgentKeys]{
		name: "keys_check", reads: true,
		help: "Say how the keys of a profile stand: expiry, rotation and permissions. No values, no fingerprints.",
		asks: func(view.KeysCheckArgs) model.HistoryEntry { return model.HistoryEntry{} },
		run:  checkKeys,
	})
}

func checkKeys(ctx context.Context, c *call, in view.KeysCheckArgs) (view.AgentKeys, string, error) {
	days, err := bounded("within_days", in.WithinDays, model.SoonDays, 3650)
	if err != nil {
		return view.AgentKeys{}, "", err
	}
	within := time.Duration(days) * 24 * time.Hour
	keys, findings, err := c.CheckKeys(ctx, within)
	if err != nil {
		return view.AgentKeys{}, "", err
	}
	out := view.AgentKeys{Keys: []view.AgentKey{}, Findings: []view.AgentFinding{}}
	for _, k := range keys {
		out.Keys = append(out.Keys, view.NewAgentKey(k, c.Now(), within))
	}
	bad := 0
	for _, f := range findings {
		out.Findings = append(out.Findings, view.AgentFinding{Rule: f.Rule, Key: f.Key, Severity: f.Severity, Text: f.Text, Fix: f.Fix})
		if f.Severity == keystore.SeverityError {
			bad++
		}
	}
	return out, fmt.Sprintf("keys: %d, errors of the lint: %d", len(keys), bad), nil
}
