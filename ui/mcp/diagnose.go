package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/model"
	"zonedeck/service/fetch"
)

// diagnoseIn are the arguments of diagnose.
type diagnoseIn struct {
	Where

	Answer  string   `json:"answer" jsonschema:"a saved answer: status line, headers, an empty line, the body, as curl -i prints it"`
	Via     string   `json:"via,omitempty" jsonschema:"how the answer came: native (when left out: the target's own or the proxy's) or api (the service's)"`
	Dialect string   `json:"dialect,omitempty" jsonschema:"dialect of the service's headers; whichever knows them when left out"`
	URL     string   `json:"url,omitempty" jsonschema:"what was asked for"`
	Require []string `json:"require,omitempty" jsonschema:"fields that must be present: CSS selectors, or paths into JSON"`
}

// diagnosis is a verdict as an agent sees it.
type diagnosis struct {
	OK        bool     `json:"ok"`
	Class     string   `json:"class"`
	Cause     string   `json:"cause"`
	Rule      string   `json:"rule" jsonschema:"which rule decided the class"`
	Steps     []string `json:"steps" jsonschema:"what to do next"`
	Untrusted said     `json:"untrusted"`
}

// said is what came from outside in a verdict.
type said struct {
	Note     string   `json:"note"`
	Summary  string   `json:"summary"`
	Evidence []string `json:"evidence"`
}

func newDiagnosis(d model.Diagnosis) diagnosis {
	out := diagnosis{
		OK: d.OK(), Class: string(d.Class), Cause: string(d.Cause), Rule: d.Rule, Steps: []string{},
		Untrusted: said{Note: untrusted, Summary: d.Summary, Evidence: []string{}},
	}
	for _, s := range d.Steps {
		out.Steps = append(out.Steps, s.Text)
	}
	for _, e := range d.Evidence {
		out.Untrusted.Evidence = append(out.Untrusted.Evidence, e.Text)
	}
	return out
}

func (s *Server) addDiagnose(srv *sdk.Server) {
	add(s, srv, tool[diagnoseIn, diagnosis]{
		name: "diagnose", reads: true,
		help: "Say what class a saved answer has, and which rule decided. Nothing is sent.",
		asks: func(in diagnoseIn) model.Activity { return model.Activity{URL: model.Line(in.URL, model.MaxURL)} },
		does: func(ctx context.Context, c *call, in diagnoseIn) (diagnosis, string, error) {
			r, err := c.Diagnose(ctx, fetch.Saved{
				Answer: strings.NewReader(in.Answer), Via: model.Via(in.Via), Dialect: in.Dialect, URL: in.URL, Required: in.Require,
			})
			return newDiagnosis(r.Diagnosis), model.ClassWord(r.Diagnosis.Class, r.Diagnosis.Cause), err
		},
	})
}
