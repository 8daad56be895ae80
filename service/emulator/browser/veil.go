package browser

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// veil hides targets from a client: Chromium's internal pages, whose scripts have more access
// than those of web pages, and the tabs that prime a browser context.
type veil struct {
	s *session

	mu       sync.Mutex
	contexts map[string]bool   // browser contexts that are not ready for the client
	hidden   map[string]bool   // targets
	shut     map[string]bool   // sessions with hidden targets
	targets  map[string]string // the client's sessions and their targets
	next     int64             // of the emulator's commands on the client's plane
	asked    map[int64]bool
}

// firstID is the first id of the emulator's commands on the client's plane. Clients count from 1.
const firstID = 1 << 30

func newVeil(s *session) *veil {
	return &veil{
		s: s, next: firstID, contexts: map[string]bool{}, hidden: map[string]bool{}, shut: map[string]bool{},
		targets: map[string]string{}, asked: map[int64]bool{},
	}
}

// cover hides a browser context and its targets, or shows them again.
func (v *veil) cover(browserContext string, hidden bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contexts[browserContext] = hidden
}

// locked reports whether a session of the client is attached to a hidden target.
func (v *veil) locked(session string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shut[session]
}

func (v *veil) target(session string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok := v.targets[session]
	return id, ok
}

// session returns a client's session with a target, or "".
func (v *veil) session(target string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for session, id := range v.targets {
		if id == target {
			return session
		}
	}
	return ""
}

// hides reports whether to keep a message from the client, and tracks its targets.
func (v *veil) hides(raw []byte) bool {
	e := readEnvelope(raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.method == "" {
		asked := v.asked[e.id]
		delete(v.asked, e.id)
		return asked
	}
	if v.shut[e.session] {
		return true
	}
	switch e.method {
	case "Target.targetCreated", "Target.targetInfoChanged":
		return v.hiddenTarget(gjson.GetBytes(raw, "params.targetInfo"))
	case "Target.attachedToTarget":
		if v.hiddenTarget(gjson.GetBytes(raw, "params.targetInfo")) {
			v.shut[e.attached] = true
			v.detach(e)
			return true
		}
		v.targets[e.attached] = gjson.GetBytes(raw, "params.targetInfo.targetId").String()
	case "Target.detachedFromTarget":
		hidden := v.shut[e.attached]
		delete(v.shut, e.attached)
		delete(v.targets, e.attached)
		return hidden
	case "Target.targetDestroyed", "Target.targetCrashed":
		id := gjson.GetBytes(raw, "params.targetId").String()
		hidden := v.hidden[id]
		if e.method == "Target.targetDestroyed" {
			delete(v.hidden, id)
		}
		return hidden
	}
	return false
}

// hidesInfo reports whether to keep a target of a list from the client.
func (v *veil) hidesInfo(info json.RawMessage) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hiddenTarget(gjson.ParseBytes(info))
}

// hiddenTarget reports whether to hide a target by its description. The caller holds v.mu.
func (v *veil) hiddenTarget(info gjson.Result) bool {
	id := info.Get("targetId").String()
	if v.contexts[info.Get("browserContextId").String()] || privileged(info.Get("url").String()) || info.Get("type").String() == "browser_ui" {
		v.hidden[id] = true
	}
	return v.hidden[id]
}

// detach ends a client's session with a hidden target, which also resumes a target that waits
// for its debugger. The caller holds v.mu.
func (v *veil) detach(e envelope) {
	v.next++
	v.asked[v.next] = true
	c := command{
		id: fmt.Appendf(nil, "%d", v.next), method: "Target.detachFromTarget", session: e.session,
		params: fmt.Appendf(nil, `{"sessionId":%s}`, quoted(e.attached)),
	}
	v.s.spawn(func() {
		// Fails only if Chromium, and so the session, has ended.
		_ = v.s.chrom.mux.send(c.encode())
	})
}
