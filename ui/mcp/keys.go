package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/keystore"
	"zonedeck/model"
)

type keysIn struct {
	Where

	WithinDays int `json:"within_days,omitempty" jsonschema:"how long before a clock runs out a key counts as due soon; 14 when left out"`
}

// keyOut is a key as an agent sees it: nothing of its value.
type keyOut struct {
	Name         string `json:"name"`
	Level        string `json:"level"`
	Duty         string `json:"duty,omitempty"`
	State        string `json:"state"`
	Expires      string `json:"expires"`
	ExpiryDays   *int   `json:"expiry_days_left,omitempty"`
	Rotation     string `json:"rotation_state"`
	RotationDays *int   `json:"rotation_days_left,omitempty"`
}

type findingOut struct {
	Rule     string `json:"rule"`
	Key      string `json:"key"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Fix      string `json:"fix"`
}

type keysOut struct {
	Keys     []keyOut     `json:"keys"`
	Findings []findingOut `json:"findings"`
}

func (s *Server) addKeys(srv *sdk.Server) {
	add(s, srv, tool[keysIn, keysOut]{
		name: "keys_check", reads: true,
		help: "Say how the keys of a profile stand: expiry, rotation and permissions. No values, no fingerprints.",
		asks: func(keysIn) model.Activity { return model.Activity{} },
		does: checkKeys,
	})
}

func checkKeys(ctx context.Context, c *call, in keysIn) (keysOut, string, error) {
	if in.WithinDays < 0 || in.WithinDays > 3650 {
		return keysOut{}, "", fmt.Errorf("within_days %d: write at most 3650", in.WithinDays)
	}
	within := time.Duration(in.WithinDays) * 24 * time.Hour
	if within == 0 {
		within = model.SoonDays * 24 * time.Hour
	}
	keys, findings, err := c.CheckKeys(ctx, within)
	if err != nil {
		return keysOut{}, "", err
	}
	out := keysOut{Keys: []keyOut{}, Findings: []findingOut{}}
	now := c.Now()
	for _, k := range keys {
		one := keyOut{
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
		out.Findings = append(out.Findings, findingOut{Rule: f.Rule, Key: f.Key, Severity: f.Severity, Text: f.Text, Fix: f.Fix})
		if f.Severity == keystore.SeverityError {
			bad++
		}
	}
	return out, fmt.Sprintf("keys: %d, errors of the lint: %d", len(keys), bad), nil
}
