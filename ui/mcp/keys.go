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
		asks: func(view.KeysCheckArgs) model.Activity { return model.Activity{} },
		does: checkKeys,
	})
}

func checkKeys(ctx context.Context, c *call, in view.KeysCheckArgs) (view.AgentKeys, string, error) {
	if in.WithinDays < 0 || in.WithinDays > 3650 {
		return view.AgentKeys{}, "", fmt.Errorf("within_days %d: write at most 3650", in.WithinDays)
	}
	within := time.Duration(in.WithinDays) * 24 * time.Hour
	if within == 0 {
		within = model.SoonDays * 24 * time.Hour
	}
	keys, findings, err := c.CheckKeys(ctx, within)
	if err != nil {
		return view.AgentKeys{}, "", err
	}
	out := view.AgentKeys{Keys: []view.AgentKey{}, Findings: []view.AgentFinding{}}
	now := c.Now()
	for _, k := range keys {
		one := view.AgentKey{
			Name: k.Name, Level: k.Level.String(), Duty: string(k.Duty), State: k.State(now, within).String(),
			Expires: k.Expires.String(), Rotation: k.Rotation.State(now, within).String(),
		}
		if n, ok := k.Expires.DaysLeft(now); ok {
			one.ExpiryDays = &n
		}
		if n, ok := k.Rotation.DaysLeft(now); ok {
			one.RotationDays = &n
		}
		out.Keys = append(out.Keys, one)
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
