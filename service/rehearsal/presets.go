package rehearsal

import "slices"

// Preset is a fault that is often wanted.
type Preset struct {
	Name string
	// Rehearses says what can be seen with it.
	Rehearses string
	Rule      Rule
}

// Presets are the common faults: the failures that service.md 7 documents, and what goes
// wrong around them.
func Presets() []Preset {
	rule := func(point, action string, pairs ...string) Rule {
		r := Rule{Point: point, Action: action, Fields: map[string]string{}}
		for pair := range slices.Chunk(pairs, 2) {
			r.Fields[pair[0]] = pair[1]
		}
		return r
	}
	return []Preset{
		{"the target sends 429 five times", "waiting as Retry-After asks", rule("target", "too_fast", "retry_after", "2s", "times", "5")},
		{"a CAPTCHA from the third request on", "a page with status 200 that is a failure", rule("target", "captcha", "from", "3")},
		{"the target refuses with 403", "access restriction", rule("target", "status", "status", "403")},
		{"the target takes 5 s", "time limits", rule("target", "latency", "delay", "5s")},
		{"the target's markup changes", "parsing drift", rule("target", "drift")},
		{"every third target answer is a 503", "retries", rule("target", "status", "status", "503", "every", "3")},
		{"the body ends after 1 KB", "a cut answer", rule("target", "cut", "after", "1024")},
		{"the API is slow by 3 s", "a service under load", rule("api", "latency", "delay", "3s")},
		{"a trigger's answer is lost", "a job that may have started", rule("api", "drop", "path", "/datasets/v3/trigger", "accepted", "true", "times", "1")},
		{"the proxy resets connections", "native access that breaks", rule("proxy", "reset", "probability", "0.3")},
		{"webhooks come 90 s late", "polling beside webhooks", rule("webhook", "late", "delay", "90s")},
		{"every webhook comes twice", "receivers that must not count twice", rule("webhook", "twice", "copies", "2")},
		{"no webhook comes", "polling instead of webhooks", rule("webhook", "never")},
		{"jobs fail", "a failed snapshot", rule("job", "fail", "message", "rehearsed")},
	}
}

// Points are where a fault can be.
func Points() []string { return []string{"api", "proxy", "target", "webhook", "job"} }

// Actions are what a fault at the rule's point can do.
func (r Rule) Actions() []string {
	served := []string{"latency", "status", "too_fast", "error", "drop", "reset", "hang", "cut", "dribble", "bandwidth", "malformed", "empty"}
	switch r.Point {
	case "api", "proxy":
		return served
	case "target":
		return append(served, "captcha", "drift")
	case "webhook":
		return []string{"late", "twice", "never", "status"}
	case "job":
		return []string{"latency", "error", "fail"}
	default:
		return nil
	}
}

// Values are the fields that the rule's action takes at its point, beside delay.
func (r Rule) Values() []string {
	switch {
	case r.Point == "webhook" && r.Action == "status":
		return []string{"status"}
	case r.Point == "job" && r.Action == "error":
		return []string{"code", "message"}
	}
	switch r.Action {
	case "status":
		return []string{"status", "accepted"}
	case "too_fast":
		return []string{"retry_after", "accepted"}
	case "error":
		return []string{"code", "message", "status"}
	case "drop", "hang", "malformed":
		return []string{"accepted"}
	case "reset":
		return []string{"after", "accepted"}
	case "cut":
		return []string{"after"}
	case "dribble":
		return []string{"pause", "chunk"}
	case "bandwidth":
		return []string{"rate"}
	case "twice":
		return []string{"copies"}
	case "fail":
		return []string{"message"}
	default:
		return nil
	}
}
