package jobs

import (
	"bufio"
	"bytes"
	"strings"
)

const (
	maxRobotsBytes = 500 << 10 // RFC 9309 2.5
	// A file may be written to make matching slow: rules times lengths are bounded.
	maxRobotsRules   = 1000
	maxRobotsPattern = 512
	maxRobotsPath    = 2048
)

// robots are the rules of a robots.txt for everybody ("*", RFC 9309): no target knows
// a crawler of ours by name. The zero value allows everything.
type robots struct {
	rules []robotsRule
	none  bool // nothing is allowed
}

type robotsRule struct {
	pattern string
	allow   bool
}

// parseRobots takes any bytes; lines it does not know are passed over.
func parseRobots(b []byte) robots {
	if len(b) > maxRobotsBytes {
		b = b[:maxRobotsBytes]
	}
	var r robots
	ours, inAgents := false, false
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, maxRobotsBytes+1)
	for sc.Scan() && len(r.rules) < maxRobotsRules {
		l, _, _ := strings.Cut(sc.Text(), "#")
		name, value, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "user-agent":
			if !inAgents {
				ours = false
			}
			inAgents = true
			ours = ours || value == "*"
		case "allow", "disallow":
			inAgents = false
			if ours && value != "" && len(value) <= maxRobotsPattern {
				r.rules = append(r.rules, robotsRule{value, strings.EqualFold(strings.TrimSpace(name), "allow")})
			}
		}
	}
	return r
}

// allows decides by the longest pattern that matches; of two as long, the one that
// allows (RFC 9309 2.2.2). path has the query with it.
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

// robotsMatch matches from the path's beginning; "*" is any bytes, "$" at the end is
// the path's end.
func robotsMatch(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	if !whole {
		pattern += "*"
	}
	// The last star is the only place to go back to, so this takes pattern times path
	// steps at most.
	p, s, star, from := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, s
			p++
		case p < len(pattern) && pattern[p] == path[s]:
			p++
			s++
		case star >= 0:
			from++
			p, s = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
