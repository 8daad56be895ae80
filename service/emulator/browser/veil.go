package browser

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// veil hides from a client what is not for it: Chromium's own pages, from
// which a script reaches more than a page of the web does, and the tabs that we open
// for a moment to prime a browser context.
type veil struct {
	s *session

	mu       sync.Mutex
	contexts map[string]bool   // browser contexts that are not the client's yet
	hidden   map[string]bool   // targets
	shut     map[string]bool   // sessions with hidden targets
	targets  map[string]string // the client's sessions and their targets
	next     int64             // of the emulator's commands on the client's plane
	asked    map[int64]bool
}

// firstID is where the ids of the emulator's commands on the client's plane begin. Clients
// count from 1.
const firstID = 1 << 30

func (v *veil) begin(s *session) {
	v.s, v.next = s, firstID
	v.contexts, v.hidden, v.shut = map[string]bool{}, map[string]bool{}, map[string]bool{}
	v.targets, v.asked = map[string]string{}, map[int64]bool{}
}

// cover hides a browser context and what is in it until uncover.
func (v *veil) cover(browserContext string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contexts[browserContext] = true
}

func (v *veil) uncover(browserContext string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.contexts, browserContext)
}

// locked tells whether a session of the client's is with a hidden target.
func (v *veil) locked(session string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shut[session]
}

// target is the target of a client's session.
func (v *veil) target(session string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok := v.targets[session]
	return id, ok
}

// session is a client's session with a target, or the empty string.
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

// hides looks at a message for the client, and tells whether it stays here.
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

// hidesInfo tells whether a target of a list stays here.
func (v *veil) hidesInfo(info json.RawMessage) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hiddenTarget(gjson.ParseBytes(info))
}

// hiddenTarget decides on a target's description. v.mu is held.
func (v *veil) hiddenTarget(info gjson.Result) bool {
	id := info.Get("targetId").String()
	if v.contexts[info.Get("browserContextId").String()] || privileged(info.Get("url").String()) || info.Get("type").String() == "browser_ui" {
		v.hidden[id] = true
	}
	return v.hidden[id]
}

// detach ends a client's session with a hidden target, which also lets a target go on
// that waits for its debugger. v.mu is held.
func (v *veil) detach(e envelope) {
	v.next++
	v.asked[v.next] = true
	c := command{
		id: fmt.Appendf(nil, "%d", v.next), method: "Target.detachFromTarget", session: e.session,
		params: fmt.Appendf(nil, `{"sessionId":%s}`, quoted(e.attached)),
	}
	v.s.spawn(func() {
		// It fails when Chromium is gone, and the session with it.
		_ = v.s.chrom.mux.send(c.encode())
	})
}
