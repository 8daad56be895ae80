// Package fault makes things go wrong on purpose: rules say at which point (the API, the
// proxy, the way to a target, a webhook, a job), for which calls and how often, and what
// then happens: latency, a status, a burst of 429, a call that is lost before or after it
// was accepted, a cut or dribbling body, a CAPTCHA page, changed markup, a webhook that is
// late, comes twice or never.
//
// An [Engine] holds the rules and decides; [Engine.Handler], [Engine.Transport] and
// [Action.Conn] do to HTTP servers, HTTP clients and connections what was decided. The
// scenario brings rules at the start, the control API changes them while the emulator
// runs. Names follow what other fault injectors call these things.
//
// The same rules, seed and order of calls give the same verdicts: the n-th call that a
// rule matches draws from a generator of (seed, rule, n) and of nothing else.
//
// An Engine is safe for concurrent use. With no rule at a point, a call costs one atomic
// load.
package fault
