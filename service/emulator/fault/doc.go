// Package fault injects faults. A rule says where (the API, the proxy, the way to a target,
// a webhook, a job), for which calls and how often, and what then happens: latency, a
// status, a burst of 429, a call that is lost before or after it was accepted, a cut or
// dribbling body, a CAPTCHA page, changed markup, a webhook that comes late, twice or never.
//
// An [Engine] holds the rules and decides; [Web.Handler], [Engine.Transport] and
// [Action.Conn] apply its verdicts to HTTP servers, HTTP clients and connections. The
// scenario sets the first rules, and the control API changes them while the emulator runs.
// The names are those of other fault injectors.
//
// The same rules, seed and order of calls give the same verdicts: the n-th call that a
// rule matches draws from a generator that is seeded by (seed, rule, n) alone.
//
// An Engine is safe for concurrent use. With no rule at a point, a call costs one atomic
// load.
package fault
