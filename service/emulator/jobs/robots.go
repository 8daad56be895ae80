package jobs

import (
	"bytes"
	"strings"

	"zonedeck/service/emulator/fault"
)

const (
	maxRobotsBytes = 500 << 10 // RFC 9309 2.5
	// A file may be written to make matching slow: rules times lengths are bounded.
	maxRobotsRules   = 1000
	maxRobotsPattern = 512
	maxRobotsPath    = 2048
)

// robots are the rules of a robots.txt for every crawler ("*", RFC 9309): no target knows
// the emulator's by name. The zero value allows everything.
type robots struct {
	rules []robotsRule
	none  bool // nothing is allowed
}

type robotsRule struct {
	pattern string
	allow   bool
}

// parseRobots takes any bytes and skips lines it does not know.
func parseRobots(b []byte) robots {
	b = b[:min(len(b), maxRobotsBytes)]
	var r robots
	forAll, inAgents := false, false
	for l := range bytes.Lines(b) {
		l, _, _ := strings.Cut(string(l), "#")
		name, value, ok := strings.Cut(l, ":")
		if !ok || len(r.rules) == maxRobotsRules {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "user-agent":
			if !inAgents {
				forAll = false
			}
			inAgents = true
			forAll = forAll || value == "*"
		case "allow", "disallow":
			inAgents = false
			if forAll && value != "" && len(value) <= maxRobotsPattern {
				r.rules = append(r.rules, robotsRule{value, strings.EqualFold(strings.TrimSpace(name), "allow")})
			}
		}
	}
	return r
}

// allows decides by the longest pattern that matches, and for allowing where two are as
// long (RFC 9309 2.2.2). path includes the query.
func (r robots) allows(path string) bool {
	if r.none {
		return false
	}
	path = path[:min(len(path), maxRobotsPath)]
	longest, allow := -1, true
	for _, rule := range r.rules {
		n := len(rule.pattern)
		if n < longest || n == longest && allow || !robotsMatch(rule.pattern, path) {
			continue
		}
		longest, allow = n, rule.allow
	}
	return allow
}

// robotsMatch matches from the path's beginning: "*" is any bytes, "$" at the end is the
// end of the path.
func robotsMatch(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	switch {
	case !whole:
		pattern += "*"
	case pattern == "":
		return path == ""
	}
	return fault.Glob(pattern, path)
}
