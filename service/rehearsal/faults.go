package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rule is a fault to add. Fields holds what else it says, as text and by the names of the
// control interface: where ("zone", "host", "path", …), which calls ("from", "times",
// "probability", …) and the action's own values ("delay", "status", …).
type Rule struct {
	Point, Action string
	Fields        map[string]string
}

// wire is the rule as the control interface takes it: numbers as numbers.
func (r Rule) wire() (map[string]any, error) {
	out := map[string]any{"point": r.Point, "action": r.Action}
	for name, v := range r.Fields {
		if v == "" {
			continue
		}
		switch name {
		case "status", "after", "chunk", "rate", "copies", "nth", "from", "until", "every", "times":
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is not a whole number", name, v)
			}
			out[name] = n
		case "probability":
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is not a number from 0 to 1", name, v)
			}
			out[name] = f
		case "accepted", "off":
			out[name] = v == "true"
		default:
			out[name] = v
		}
	}
	return out, nil
}

// Fault is a rule that the emulator holds.
type Fault struct {
	Rule
	ID    string
	Off   bool
	Added time.Time // by the emulator's clock
	// Calls matched the rule while it was on; Hits of them were hit.
	Calls, Hits int64
}

// UnmarshalJSON reads what the control interface gives.
func (f *Fault) UnmarshalJSON(b []byte) error {
	var known struct {
		ID     string    `json:"id"`
		Point  string    `json:"point"`
		Action string    `json:"action"`
		Off    bool      `json:"off"`
		Added  time.Time `json:"added"`
		Calls  int64     `json:"calls"`
		Hits   int64     `json:"hits"`
	}
	if err := json.Unmarshal(b, &known); err != nil {
		return fmt.Errorf("reading a fault: %w", err)
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(b, &all) // the same object once more
	*f = Fault{
		Rule: Rule{Point: known.Point, Action: known.Action, Fields: map[string]string{}},
		ID:   known.ID, Off: known.Off, Added: known.Added, Calls: known.Calls, Hits: known.Hits,
	}
	for name, raw := range all {
		switch name {
		case "id", "point", "action", "off", "added", "calls", "hits":
		default:
			text := string(raw)
			if s := ""; json.Unmarshal(raw, &s) == nil {
				text = s
			}
			f.Fields[name] = text
		}
	}
	return nil
}

// narrowing are the fields that say which calls a rule is about and which of them it
// hits, in the order in which they are read.
func narrowing() []string {
	return []string{"zone", "product", "host", "path", "method", "dataset", "nth", "from", "until", "every", "times", "probability", "at", "in", "for"}
}

// Scope says which calls a rule is about, such as "zone=isp_demo from=10"; "every call"
// where it is not narrowed down.
func (r Rule) Scope() string {
	if s := r.fieldText(narrowing()); s != "" {
		return s
	}
	return "every call"
}

// Effect says what a rule does, such as "latency delay=300ms".
func (r Rule) Effect() string {
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Fields)), func(name string) bool { return slices.Contains(narrowing(), name) })
	s := r.fieldText(rest)
	switch {
	case s == "":
		return r.Action
	case strings.HasPrefix(s, r.Action+"="): // such as "status=503"
		return s
	default:
		return r.Action + " " + s
	}
}

func (r Rule) fieldText(names []string) string {
	var out []string
	for _, name := range names {
		if v := r.Fields[name]; v != "" {
			out = append(out, name+"="+v)
		}
	}
	return strings.Join(out, " ")
}

// Faults lists the faults, in the order in which they are asked.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	return c.faults(ctx, http.MethodGet, nil)
}

func (c *Client) faults(ctx context.Context, method string, body any) ([]Fault, error) {
	var a struct {
		Faults []Fault `json:"faults"`
	}
	err := c.call(ctx, method, "/faults", nil, body, &a)
	return a.Faults, err
}

// AddFault adds a rule. A *RefusedError names what is wrong with it.
func (c *Client) AddFault(ctx context.Context, r Rule) (Fault, error) {
	body, err := r.wire()
	if err != nil {
		return Fault{}, err
	}
	added, err := c.faults(ctx, http.MethodPost, body)
	if err != nil {
		return Fault{}, err
	}
	if len(added) != 1 {
		return Fault{}, fmt.Errorf("adding a fault: the emulator added %d", len(added))
	}
	return added[0], nil
}

// TurnFault switches a fault on or off; its counters go on.
func (c *Client) TurnFault(ctx context.Context, id string, on bool) error {
	word := "/off"
	if on {
		word = "/on"
	}
	return c.call(ctx, http.MethodPost, "/faults/"+url.PathEscape(id)+word, nil, nil, &Fault{})
}

// RemoveFault forgets a fault.
func (c *Client) RemoveFault(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/faults/"+url.PathEscape(id), nil, nil, &struct{}{})
}
