package view

import (
	"time"

	"zonedeck/model"
)

// Probe is what "proxy test --json" prints (docs/schema/proxy-test.json).
type Probe struct {
	SchemaVersion  Version             `json:"schema_version"`
	OK             bool                `json:"ok"`
	Class          string              `json:"class" enum:"class"`
	Cause          string              `json:"cause"`
	Summary        string              `json:"summary"`
	Evidence       []Evidence          `json:"evidence"`
	Zone           string              `json:"zone"`
	Proxy          string              `json:"proxy"`
	Username       string              `json:"username"`
	Target         string              `json:"target"`
	Steps          []ProbeStep         `json:"steps"`
	ConnectStatus  int                 `json:"connect_status" minimum:"0"`
	ConnectHead    []string            `json:"connect_head"`
	ConnectHeaders map[string][]string `json:"connect_headers"`
	Code           string              `json:"code"`
	Reason         string              `json:"reason"`
	Chain          []Certificate       `json:"chain"`
	Trust          *model.TrustReport  `json:"trust"`
	OuterProxies   []model.EnvSetting  `json:"outer_proxies"`
	Status         int                 `json:"status" minimum:"0"`
	Exits          []string            `json:"exits"`
	Sticky         *bool               `json:"sticky"`
	Country        string              `json:"country"`
	Rotation       *ExitRotation       `json:"rotation"`
	TimingMS       Timing              `json:"timing_ms"`
}

// ProbeStep is one step of a login.
type ProbeStep struct {
	Name   string   `json:"name" enum:"CONNECT|TLS|connect|request"`
	State  string   `json:"state" enum:"done|failed|not_needed|not_reached"`
	TookMS *float64 `json:"took_ms" minimum:"0"`
	Text   string   `json:"text"`
}

// Certificate is one of the chain that was presented.
type Certificate struct {
	Subject    string   `json:"subject"`
	Issuer     string   `json:"issuer"`
	Names      []string `json:"names"`
	NotBefore  string   `json:"not_before"`
	NotAfter   string   `json:"not_after"`
	SHA256     string   `json:"sha256" pattern:"^[0-9a-f]{64}$"`
	SelfSigned bool     `json:"self_signed"`
}

// ExitRotation is how the exits changed over several calls.
type ExitRotation struct {
	Session     string     `json:"session"`
	Repeat      int        `json:"repeat" minimum:"1"`
	Calls       []ExitCall `json:"calls"`
	KnownExits  int        `json:"known_exits" minimum:"0"`
	UniqueExits int        `json:"unique_exits" minimum:"0"`
	RepeatRate  *float64   `json:"repeat_rate" minimum:"0" maximum:"1"`
	Changes     []int      `json:"changes" minimum:"2"`
	Text        string     `json:"text"`
	Reason      string     `json:"reason"`
}

// ExitCall is one call of a measurement of exits.
type ExitCall struct {
	Exit    string   `json:"exit"`
	Country string   `json:"country"`
	Class   string   `json:"class"`
	Cause   string   `json:"cause"`
	TotalMS *float64 `json:"total_ms" minimum:"0"`
}

// NewProbe is a test of a login; trust and rotation are nil where they were not looked at.
func NewProbe(r model.ProbeResult, trust *model.TrustReport, outer []model.EnvSetting, rotation *model.Grid) Probe {
	out := Probe{
		OK: r.Diagnosis.OK(), Class: string(r.Diagnosis.Class),
		Cause: string(r.Diagnosis.Cause), Summary: r.Diagnosis.Summary, Evidence: evidence(r.Diagnosis),
		Zone: string(r.Zone.Name), Proxy: r.Proxy, Username: r.Username, Target: r.Target,
		ConnectStatus: r.ConnectStatus, ConnectHead: list(r.ConnectHead), ConnectHeaders: r.ConnectHeader,
		Code: r.Code, Reason: r.Reason, Trust: trust, OuterProxies: outer, Status: r.TargetStatus,
		Exits: list(r.Exits), Sticky: known(r.Sticky, r.StickyRun), Country: r.Country, TimingMS: newTiming(r.Timing),
		Steps: each(r.Steps(), func(s model.ProbeStep) ProbeStep {
			return ProbeStep{s.Name, string(s.State), measured(s.Duration), s.Text}
		}),
		Chain: each(r.Chain.Certificates, func(c model.Certificate) Certificate {
			return Certificate{c.Subject, c.Issuer, list(c.Names), c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339), c.SHA256, c.SelfSigned}
		}),
	}
	if out.ConnectHeaders == nil {
		out.ConnectHeaders = map[string][]string{}
	}
	if rotation != nil {
		out.Rotation = newExitRotation(*rotation)
	}
	return out
}

func newExitRotation(g model.Grid) *ExitRotation {
	c := g.Cells[0]
	return &ExitRotation{
		Session: c.Session, Repeat: g.Repeat, KnownExits: c.KnownExits(), UniqueExits: len(c.Exits()),
		Changes: list(c.ExitChanges()), RepeatRate: known(c.RepeatRate()), Text: g.Verdict().Text, Reason: c.Ended,
		Calls: each(c.Runs, func(r model.Run) ExitCall {
			return ExitCall{r.Login.Exit, r.Login.Country, string(r.Class), string(r.Cause), measured(r.Total)}
		}),
	}
}

// ProxyURL is what "proxy url --json" prints (docs/schema/proxy-url.json).
type ProxyURL struct {
	SchemaVersion Version `json:"schema_version"`
	URL           string  `json:"url"`
	Proxy         string  `json:"proxy"`
	Username      string  `json:"username"`
	Password      string  `json:"password"`
	Masked        bool    `json:"masked"`
	Zone          string  `json:"zone"`
	NeedsCA       bool    `json:"needs_ca"`
	CA            string  `json:"ca"`
}
